#include "base/set.h"

#include <stdint.h>
#include <string.h>

#define SET_FIRST 64

/* FNV-1a. The strings come from the user's own spec, one set a run: a flood only slows that run. */
static size_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *s != '\0'; s++) {
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	}
	return (size_t)h;
}

/* The slot of `s`, or the free one where it belongs. */
static size_t find(const struct str_set *set, const char *s)
{
	size_t i = hash(s) & (set->cap - 1);

	while (set->slot[i] != NULL && strcmp(set->slot[i], s) != 0) {
		i = (i + 1) & (set->cap - 1);
	}
	return i;
}

static void grow(struct str_set *set, struct arena *arena)
{
	struct str_set more = {.cap = set->cap == 0 ? SET_FIRST : set->cap * 2, .n = set->n};

	more.slot = arena_alloc(arena, more.cap * sizeof(*more.slot));
	more.data = arena_alloc(arena, more.cap * sizeof(*more.data));
	for (size_t i = 0; i < set->cap; i++) {
		if (set->slot[i] != NULL) {
			size_t at = find(&more, set->slot[i]);

			more.slot[at] = set->slot[i];
			more.data[at] = set->data[i];
		}
	}
	*set = more;
}

bool str_set_add(struct str_set *set, struct arena *arena, const char *s)
{
	if (set->n * 2 >= set->cap) {
		grow(set, arena);
	}
	size_t i = find(set, s);
	if (set->slot[i] != NULL) {
		return false;
	}
	set->slot[i] = s;
	set->n++;
	return true;
}

bool str_set_has(const struct str_set *set, const char *s)
{
	return set->cap > 0 && set->slot[find(set, s)] != NULL;
}

void str_set_put(struct str_set *set, struct arena *arena, const char *s, const void *data)
{
	str_set_add(set, arena, s);
	set->data[find(set, s)] = data;
}

const void *str_set_data(const struct str_set *set, const char *s)
{
	return str_set_has(set, s) ? set->data[find(set, s)] : NULL;
}
