ln -s code/none gone
