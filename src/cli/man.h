/* The man pages' lists, as scdoc(5) text, from the tables. script/man puts them into man/. */
#ifndef LNK_CLI_MAN_H
#define LNK_CLI_MAN_H

#include <stdio.h>

/* Every key of a spec, by section: for lnk-sandbox-spec(5). */
void man_keys(FILE *out);

/* The flags of run: for lnk-sandbox-run(1). */
void man_flags(FILE *out);

#endif
