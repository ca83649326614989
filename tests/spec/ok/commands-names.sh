mkdir -p tools/bin; printf "#!/bin/sh\n" > tools/bin/made; chmod +x tools/bin/made; ln -s made tools/bin/linked; cp tools/bin/made "tools/bin/["
