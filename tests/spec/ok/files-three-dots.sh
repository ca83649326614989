mkdir a..b
