/* Memory with one lifetime: everything of a spec and its plan is allocated here and released
 * together. Allocation failure ends the process (nothing sensible is left to do at start). */
#ifndef LNK_BASE_ARENA_H
#define LNK_BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *head;
};

/* Zeroed memory, aligned for any type. `size` may be 0. Never NULL. */
void *arena_alloc(struct arena *arena, size_t size);

/* Copy of `len` bytes of `s`, with a NUL added. */
char *arena_strndup(struct arena *arena, const char *s, size_t len);

/* Copy of the string `s`. */
char *arena_strdup(struct arena *arena, const char *s);

/* Formatted string. */
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A larger copy of an array of `n` elements, able to hold at least one more; `*cap` is updated.
 * The old array stays in the arena. Used by ARENA_PUSH only. */
void *arena_grow(struct arena *arena, const void *old, size_t n, size_t *cap, size_t elem_size);

/* Frees all of it and leaves an empty arena. NULL blocks are fine. */
void arena_release(struct arena *arena);

#define auto_arena __attribute__((cleanup(arena_release)))

/* Appends `value` to a list struct with the fields v, n and cap. */
#define ARENA_PUSH(arena, list, ...)                                                               \
	do {                                                                                       \
		if ((list)->n == (list)->cap) {                                                    \
			(list)->v = arena_grow((arena), (list)->v, (list)->n, &(list)->cap,        \
					       sizeof(*(list)->v));                                \
		}                                                                                  \
		(list)->v[(list)->n++] = (__VA_ARGS__);                                            \
	} while (0)

#endif
