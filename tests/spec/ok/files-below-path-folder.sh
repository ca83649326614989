mkdir -p tools/bin/data
