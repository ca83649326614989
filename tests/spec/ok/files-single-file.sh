touch notes.txt
