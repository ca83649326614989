#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for an ordinary spec and its plan in one block. */
#define ARENA_BLOCK_BYTES (64UL * 1024UL)

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(max_align_t) unsigned char data[];
};

static size_t round_up(size_t n)
{
	const size_t a = _Alignof(max_align_t);

	if (n > SIZE_MAX - a) {
		abort();
	}
	return (n + a - 1) / a * a;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	size_t need = round_up(size > 0 ? size : 1);
	struct arena_block *b = arena->head;

	if (b == NULL || b->size - b->used < need) {
		size_t room = need > ARENA_BLOCK_BYTES ? need : ARENA_BLOCK_BYTES;

		if (room > SIZE_MAX - sizeof(*b)) {
			abort();
		}
		b = malloc(sizeof(*b) + room);
		if (b == NULL) {
			abort();
		}
		b->used = 0;
		b->size = room;
		b->next = arena->head;
		arena->head = b;
	}
	void *p = b->data + b->used;
	b->used += need;
	/* Piece by piece, so that pages nobody uses are never touched. */
	return memset(p, 0, need);
}

char *arena_strndup(struct arena *arena, const char *s, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);

	if (len > 0) {
		memcpy(copy, s, len);
	}
	return copy;
}

char *arena_strdup(struct arena *arena, const char *s)
{
	return arena_strndup(arena, s, strlen(s));
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap;
	va_list again;

	if (fmt == NULL) {
		abort();
	}
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		abort();
	}
	char *s = arena_alloc(arena, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, again);
	va_end(again);
	return s;
}

void *arena_grow(struct arena *arena, const void *old, size_t n, size_t *cap, size_t elem_size)
{
	size_t more = *cap == 0 ? 8 : *cap * 2;

	if (more < *cap || more > SIZE_MAX / elem_size) {
		abort();
	}
	void *p = arena_alloc(arena, more * elem_size);
	if (n > 0) {
		memcpy(p, old, n * elem_size);
	}
	*cap = more;
	return p;
}

void arena_release(struct arena *arena)
{
	while (arena->head != NULL) {
		struct arena_block *next = arena->head->next;

		free(arena->head);
		arena->head = next;
	}
}
