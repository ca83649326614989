/* A set of strings in an arena, for "seen already?" over long lists; each can carry a pointer. */
#ifndef LNK_BASE_SET_H
#define LNK_BASE_SET_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct str_set {
	const char **slot;
	const void **data; /* beside each slot */
	size_t cap;        /* a power of two, or 0 */
	size_t n;
};

/* Adds `s` (borrowed). True when it was not there yet. */
bool str_set_add(struct str_set *set, struct arena *arena, const char *s);

bool str_set_has(const struct str_set *set, const char *s);

/* Adds or replaces `s` with a pointer (borrowed) that str_set_data gives back. */
void str_set_put(struct str_set *set, struct arena *arena, const char *s, const void *data);

/* The pointer put with `s`; NULL when there is none. */
const void *str_set_data(const struct str_set *set, const char *s);

#endif
