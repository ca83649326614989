mkdir "specs/~backup"
