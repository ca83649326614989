mkdir -p tools/bin specs/bin; printf "#!/bin/sh\n" > tools/bin/made; chmod +x tools/bin/made; cp tools/bin/made specs/run
