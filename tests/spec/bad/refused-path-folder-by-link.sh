mkdir -p tools/bin; ln -s tools/bin t
