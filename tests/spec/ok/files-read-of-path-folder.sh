mkdir -p tools/bin
