mkdir -p .ssh .config/app; ln -s .ssh keys; ln -s ../.config code/conf
