{ printf "x = "; printf "[%.0s" $(seq 10000); printf "]%.0s" $(seq 10000); echo; } > specs/toml-nested-arrays.toml
