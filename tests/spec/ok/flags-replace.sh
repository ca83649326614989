mkdir code/lib code/other
