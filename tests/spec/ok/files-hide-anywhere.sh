mkdir .ssh code/app/.git
