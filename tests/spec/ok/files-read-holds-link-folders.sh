mkdir -p .config/link .local/share/link
