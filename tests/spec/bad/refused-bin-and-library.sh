mkdir -p bin/x Library/Caches
