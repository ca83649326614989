mkdir .ssh
