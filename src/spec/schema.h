/* The spec as a JSON Schema (2020-12), for editors and other programs to check one with. */
#ifndef LNK_SPEC_SCHEMA_H
#define LNK_SPEC_SCHEMA_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the schema, made from the table of keys. It accepts whatever lnk accepts on some system,
 * and refuses what is wrong in form: unknown keys, types, ranges, empty lists and sections, "*"
 * beside others, missing main keys. What a value means (is this address private?) it cannot say.
 * No key stands beside "$ref", so that readers of older drafts take it, too. False when memory or
 * the disk is full. */
bool schema_print(FILE *out);

#endif
