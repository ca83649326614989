ln -s . me
