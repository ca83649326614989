mkdir code/app/.git
