/* Small string helpers that more than one folder needs. */
#ifndef LNK_BASE_STR_H
#define LNK_BASE_STR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

bool str_eq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);

/* True when absolute normalised `path` is `folder` itself or lies below it. "/" holds all. */
bool path_within(const char *path, const char *folder);

/* The part after the last slash; `path` itself when there is none. Borrowed. */
const char *path_base(const char *path);

/* The folder that holds absolute `path`, in `arena`; "/" of "/" and of what lies in it. */
const char *path_parent(const char *path, struct arena *arena);

/* Edit distance with swaps of neighbours counted once, for "did you mean". Strings longer than
 * 64 bytes are as far as their length. */
size_t str_distance(const char *a, const char *b);

/* True when the `len` bytes at `s` are UTF-8, without NUL. A NUL follows them. */
bool str_is_utf8(const char *s, size_t len);

/* Copies `s` into `out` (of `cap` bytes, cap > 0) with control characters, bytes that are not
 * UTF-8 and bidirectional controls written as \xNN or \u{N}, so that a hostile name cannot move
 * the cursor. Cut to fit, always NUL-terminated. Returns `out`. */
const char *str_printable(const char *s, char *out, size_t cap);

#endif
