ln -s code/app current
