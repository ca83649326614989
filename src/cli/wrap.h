/* Text broken at spaces, for help and tables. */
#ifndef LNK_CLI_WRAP_H
#define LNK_CLI_WRAP_H

#include <stdio.h>

/* Prints `text` and a newline. The cursor stands in column `at` (0 is the first); further lines
 * begin in column `indent`; no line is longer than `width` columns, but for single words that are.
 * A newline in `text` begins a new line at `indent`. Columns are counted in bytes: ASCII only. */
void wrap_print(FILE *out, unsigned at, unsigned indent, unsigned width, const char *text);

#endif
