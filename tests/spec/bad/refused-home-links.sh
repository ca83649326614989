mkdir -p dotfiles data/ssh/keys; touch dotfiles/bashrc; ln -s dotfiles/bashrc .bashrc; ln -s data/ssh .ssh
