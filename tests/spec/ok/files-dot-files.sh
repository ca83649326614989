mkdir code/lib
