ln -s /usr/share share
