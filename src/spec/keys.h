/* The table of keys (keys.def, sections.def): look-ups, and what is printed from it. */
#ifndef LNK_SPEC_KEYS_H
#define LNK_SPEC_KEYS_H

#include "base/err.h"
#include "spec/spec.h"

#include <stdio.h>

/* The operating systems whose tables a section may hold. */
#define KEYS_OS_COUNT 2
/* "linux", "macos"; by enum spec_os. */
extern const char *const keys_os[KEYS_OS_COUNT];

/* The key of `section` with this name (len bytes, may hold NULs), or SPEC_KEY_COUNT. */
enum spec_key keys_find(enum spec_section section, const char *name, size_t len);

/* The section with this name, or SPEC_SECTION_COUNT. The root has none. */
enum spec_section keys_find_section(const char *name, size_t len);

/* The operating system with this name, or KEYS_OS_COUNT. */
unsigned keys_find_os(const char *name, size_t len);

/* "a list of strings", "true or false" … what TOML holds for this type. Static. */
const char *keys_type_text(enum spec_type type);

/* Puts what an unknown key of `section` (the root included) should probably have been into the
 * message and hint of `err`, which already says that it is unknown. `in` is the table's name as
 * the user wrote it: "files.linux". */
void keys_suggest(enum spec_section section, const char *in, const char *name, size_t len,
		  struct err *err);

/* The main keys of a section in words: "write or read". */
const char *keys_main_text(enum spec_section section, char *out, size_t cap);

/* What `lnk sandbox spec --keys` prints: a table of all keys, then the fields of each table, one
 * line a table, in the alphabet's order, then the defaults. */
void keys_print(FILE *out);

#endif
