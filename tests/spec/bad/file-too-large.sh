head -c 65537 /dev/zero | tr "\0" "#" > specs/file-too-large.toml
