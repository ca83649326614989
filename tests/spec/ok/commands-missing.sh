mkdir -p tools/bin; printf "#!/bin/sh\n" > tools/bin/made; chmod +x tools/bin/made; touch plain
