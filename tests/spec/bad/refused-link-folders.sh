mkdir -p .config/link .local/state/link .local/share/link/x .cache/link; ln -s .config conf
