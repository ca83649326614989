mkdir -p code/app/.git/hooks code/app/.vscode code/app/.idea; touch code/app/.envrc
