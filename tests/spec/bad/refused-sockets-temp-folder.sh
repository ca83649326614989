mkdir -p code/app/tmp
