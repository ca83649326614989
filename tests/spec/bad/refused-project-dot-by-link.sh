mkdir -p code/app/.git; ln -s code/app/.git repo
