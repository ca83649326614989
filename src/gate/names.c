/* Names and their addresses. A program with hosts = ["*"] chooses the names, so they lie in a
 * balanced tree (tsearch(3), red-black in glibc), which no choice of names makes slow; the
 * addresses are an index of their own. */
#include "gate/names.h"

#include "plan/door.h"

#include <assert.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES (NET_NAMES_LAST - NET_NAMES_FIRST + 1U)
static_assert(NAMES_MAX < ADDRESSES, "there is always a free address");

struct given {
	const char *name; /* the bytes behind this struct; a name alone can be searched for */
	uint32_t addr;
	uint32_t held;             /* open calls */
	struct given *prev, *next; /* among those without one, asked for longest ago first */
};

struct names {
	void *by_name; /* tsearch(3): of struct given, by name */
	/* 1 MiB of address space, of which only what was written to takes memory. */
	struct given *by_addr[ADDRESSES];
	struct given idle; /* the ring of those without an open call */
	uint32_t n;
	uint32_t next; /* where the search for a free address goes on */
};

struct names *names_new(void)
{
	struct names *names = calloc(1, sizeof(*names));

	if (names != NULL) {
		names->idle.prev = &names->idle;
		names->idle.next = &names->idle;
	}
	return names;
}

void names_free(struct names *names)
{
	if (names == NULL) {
		return;
	}
	tdestroy(names->by_name, free);
	free(names);
}

static int compare(const void *a, const void *b)
{
	const struct given *x = a;
	const struct given *y = b;

	return strcmp(x->name, y->name);
}

/* --- the ring ----------------------------------------------------------------------------- */

static void leave(struct given *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

static void join(struct names *names, struct given *e)
{
	e->prev = names->idle.prev;
	e->next = &names->idle;
	e->prev->next = e;
	names->idle.prev = e;
}

/* --- giving ------------------------------------------------------------------------------- */

/* Makes room for one more. False when every name has an open call. */
static bool make_room(struct names *names)
{
	struct given *oldest = names->idle.next;

	if (names->n < NAMES_MAX) {
		return true;
	}
	if (oldest == &names->idle) {
		return false;
	}
	leave(oldest);
	tdelete(oldest, &names->by_name, compare);
	names->by_addr[oldest->addr - NET_NAMES_FIRST] = NULL;
	names->n--;
	free(oldest);
	return true;
}

/* Round and round, so that an address that was given up is the last to be given again: a program
 * may still have it in mind. */
static uint32_t free_address(struct names *names)
{
	while (names->by_addr[names->next] != NULL) {
		names->next = (names->next + 1) % ADDRESSES;
	}
	uint32_t found = names->next;
	names->next = (found + 1) % ADDRESSES;
	return NET_NAMES_FIRST + found;
}

static uint32_t add(struct names *names, const char *name, size_t len)
{
	struct given *e = calloc(1, sizeof(*e) + len + 1);

	if (e == NULL) {
		return 0;
	}
	e->name = memcpy(e + 1, name, len);
	if (!make_room(names) || tsearch(e, &names->by_name, compare) == NULL) {
		free(e);
		return 0;
	}
	e->addr = free_address(names);
	names->by_addr[e->addr - NET_NAMES_FIRST] = e;
	names->n++;
	join(names, e);
	return e->addr;
}

uint32_t names_give(struct names *names, const char *name)
{
	const struct given wanted = {.name = name};
	size_t len = strnlen(name, HOST_MAX);

	if (len == 0 || len == HOST_MAX) {
		return 0;
	}
	struct given *const *found = tfind(&wanted, &names->by_name, compare);
	if (found == NULL) {
		return add(names, name, len);
	}
	if ((*found)->held == 0) {
		leave(*found);
		join(names, *found);
	}
	return (*found)->addr;
}

/* --- looking up --------------------------------------------------------------------------- */

static struct given *entry_of(const struct names *names, uint32_t addr)
{
	return addr >= NET_NAMES_FIRST && addr <= NET_NAMES_LAST
		       ? names->by_addr[addr - NET_NAMES_FIRST]
		       : NULL;
}

const char *names_of(const struct names *names, uint32_t addr)
{
	const struct given *e = entry_of(names, addr);

	return e != NULL ? e->name : NULL;
}

void names_hold(struct names *names, uint32_t addr)
{
	struct given *e = entry_of(names, addr);

	if (e != NULL && e->held++ == 0) {
		leave(e);
	}
}

void names_release(struct names *names, uint32_t addr)
{
	struct given *e = entry_of(names, addr);

	if (e != NULL && e->held > 0 && --e->held == 0) {
		join(names, e);
	}
}
