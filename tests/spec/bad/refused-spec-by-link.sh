mkdir real other; mv specs/refused-spec-by-link.toml real/s.toml; ln -s ../real/s.toml other/l.toml; ln -s ../other/l.toml specs/refused-spec-by-link.toml
