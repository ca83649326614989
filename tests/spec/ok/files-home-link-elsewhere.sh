mkdir dotfiles; touch dotfiles/bashrc; ln -s dotfiles/bashrc .bashrc; ln -s .. .up
