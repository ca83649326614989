mkdir -p tools/bin; touch tools/bin/made
