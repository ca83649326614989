/* Look-ups: each name is asked for once at a time, whoever wants it, and the answer is kept for a
 * few seconds. Everything has an end: look-ups under way, those in line, those known. */
#include "gate/resolver.h"

#include "gate/resolver_inner.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum state { LOOKUP_LINE, LOOKUP_UNDER_WAY, LOOKUP_KNOWN };

struct lookup {
	struct ring link; /* in line, or known; in none while it is under way */
	const char *name; /* the bytes behind this struct */
	enum state state;
	uint64_t until_ms;   /* known: when it is forgotten */
	struct ring waiters; /* told in the order in which they came */
	struct resolved resolved;
};

/* Who wants to know. */
struct waiter {
	struct ring of_lookup, of_bucket;
	struct lookup *lookup; /* NULL while the answer is told */
	resolver_done *done;
	void *context;
};

static uint64_t now_ms(const struct resolver *r)
{
	return uv_now(r->config.loop);
}

/* --- rings ---------------------------------------------------------------------------------- */

void ring_init(struct ring *ring)
{
	*ring = (struct ring){.prev = ring, .next = ring};
}

void ring_add(struct ring *ring, struct ring *link)
{
	*link = (struct ring){.prev = ring->prev, .next = ring};
	ring->prev->next = link;
	ring->prev = link;
}

void ring_take(struct ring *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

struct ring *ring_first(const struct ring *ring)
{
	return ring->next != ring ? ring->next : NULL;
}

static struct lookup *first_of(const struct ring *ring)
{
	return RING_OWNER(ring_first(ring), struct lookup, link);
}

static struct waiter *first_waiter(const struct ring *waiters)
{
	return RING_OWNER(ring_first(waiters), struct waiter, of_lookup);
}

/* --- look-ups by name ----------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct lookup *x = a;
	const struct lookup *y = b;

	return strcmp(x->name, y->name);
}

static struct lookup *find(const struct resolver *r, const char *name)
{
	const struct lookup wanted = {.name = name};
	struct lookup *const *found = tfind(&wanted, &r->by_name, compare);

	return found != NULL ? *found : NULL;
}

static struct lookup *add(struct resolver *r, const char *name)
{
	size_t len = strlen(name);
	struct lookup *lookup = calloc(1, sizeof(*lookup) + len + 1);

	if (lookup == NULL) {
		return NULL;
	}
	lookup->name = memcpy(lookup + 1, name, len);
	ring_init(&lookup->waiters);
	if (tsearch(lookup, &r->by_name, compare) == NULL) {
		free(lookup);
		return NULL;
	}
	lookup->state = LOOKUP_LINE;
	ring_add(&r->line, &lookup->link);
	r->nline++;
	return lookup;
}

/* One in line that nobody wants any more, or one that is known. */
static void drop(struct resolver *r, struct lookup *lookup)
{
	*(lookup->state == LOOKUP_LINE ? &r->nline : &r->nknown) -= 1;
	ring_take(&lookup->link);
	tdelete(lookup, &r->by_name, compare);
	free(lookup);
}

/* The one of this name, made when there is none. NULL: there is no room. */
static struct lookup *find_or_add(struct resolver *r, const char *name)
{
	struct lookup *lookup = find(r, name);

	if (lookup != NULL && lookup->state == LOOKUP_KNOWN && now_ms(r) >= lookup->until_ms) {
		drop(r, lookup);
		lookup = NULL;
	}
	return lookup != NULL || r->nline >= LINE_LOOKUPS_MAX ? lookup : add(r, name);
}

bool resolver_knows(const struct resolver *resolver, const char *name)
{
	const struct lookup *lookup = find(resolver, name);

	return lookup != NULL &&
	       (lookup->state != LOOKUP_KNOWN || now_ms(resolver) < lookup->until_ms);
}

/* --- waiters -------------------------------------------------------------------------------- */

static struct ring *bucket_of(struct resolver *r, const void *context)
{
	/* The low bits of what malloc(3) gives say little. */
	return &r->bucket[(uintptr_t)context / 64 % WAITER_BUCKETS];
}

static bool wait_for(struct resolver *r, struct lookup *lookup, resolver_done *done, void *context)
{
	struct waiter *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		return false;
	}
	w->lookup = lookup;
	w->done = done;
	w->context = context;
	ring_add(&lookup->waiters, &w->of_lookup);
	ring_add(bucket_of(r, context), &w->of_bucket);
	return true;
}

static void free_waiter(struct waiter *w)
{
	ring_take(&w->of_lookup);
	ring_take(&w->of_bucket);
	free(w);
}

void resolver_forget(struct resolver *resolver, void *context)
{
	struct ring *bucket = bucket_of(resolver, context);
	struct ring *next;

	for (struct ring *link = bucket->next; link != bucket; link = next) {
		struct waiter *w = RING_OF(link, struct waiter, of_bucket);
		struct lookup *lookup = w->lookup;

		next = link->next;
		if (w->context != context) {
			continue;
		}
		free_waiter(w);
		if (lookup != NULL && lookup->state == LOOKUP_LINE &&
		    ring_first(&lookup->waiters) == NULL) {
			drop(resolver, lookup);
		}
	}
}

/* --- the way of a look-up ------------------------------------------------------------------- */

/* They may look up, forget each other, and so on: what they were waiting for need not be there any
 * more, only they themselves. */
static void tell(struct ring *waiters, const struct resolved *resolved)
{
	struct waiter *w;

	while ((w = first_waiter(waiters)) != NULL) {
		resolver_done *done = w->done;
		void *context = w->context;

		free_waiter(w);
		done(context, resolved);
	}
}

/* Known from here on, and told. */
static void conclude(struct resolver *r, struct lookup *lookup, const struct resolved *resolved)
{
	struct ring waiters;
	struct waiter *w;

	lookup->state = LOOKUP_KNOWN;
	lookup->resolved = *resolved;
	lookup->until_ms = now_ms(r) + (resolved->status == 0 ? RESOLVED_MS : RESOLVE_FAILED_MS);
	ring_add(&r->known, &lookup->link);
	r->nknown++;
	ring_init(&waiters);
	while ((w = first_waiter(&lookup->waiters)) != NULL) {
		w->lookup = NULL;
		ring_take(&w->of_lookup);
		ring_add(&waiters, &w->of_lookup);
	}
	while (r->nknown > KNOWN_LOOKUPS_MAX) {
		drop(r, first_of(&r->known));
	}
	tell(&waiters, resolved);
}

static void start_waiting(struct resolver *r)
{
	static const struct resolved failed = {.status = UV_EAI_AGAIN};
	struct lookup *lookup;

	while (r->nunder_way < LOOKUPS_MAX && (lookup = first_of(&r->line)) != NULL) {
		ring_take(&lookup->link);
		r->nline--;
		lookup->state = LOOKUP_UNDER_WAY;
		if (look_threads_start(r->threads, lookup, lookup->name)) {
			r->nunder_way++;
		} else {
			conclude(r, lookup, &failed);
		}
	}
}

static void on_found(void *context, struct lookup *lookup, const struct resolved *resolved)
{
	struct resolver *r = context;

	r->nunder_way--;
	conclude(r, lookup, resolved);
	start_waiting(r);
}

void resolver_look_up(struct resolver *resolver, const char *name, resolver_done *done,
		      void *context)
{
	struct resolved resolved = {.status = UV_EAI_AGAIN};
	struct lookup *lookup = find_or_add(resolver, name);

	if (lookup != NULL && lookup->state == LOOKUP_KNOWN) {
		resolved = lookup->resolved;
		done(context, &resolved);
	} else if (lookup != NULL && wait_for(resolver, lookup, done, context)) {
		start_waiting(resolver);
	} else {
		if (lookup != NULL && ring_first(&lookup->waiters) == NULL &&
		    lookup->state == LOOKUP_LINE) {
			drop(resolver, lookup);
		}
		done(context, &resolved);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

struct resolver *resolver_start(const struct resolver_config *config)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		return NULL;
	}
	r->config = *config;
	ring_init(&r->line);
	ring_init(&r->known);
	for (size_t i = 0; i < WAITER_BUCKETS; i++) {
		ring_init(&r->bucket[i]);
	}
	told_start(&r->told);
	r->threads = look_threads_new(config->loop, on_found, r);
	r->service = r->threads != NULL ? dns_service_start(r) : NULL;
	if (r->service == NULL) {
		look_threads_free(r->threads);
		free(r);
		return NULL;
	}
	return r;
}

static void free_lookup(void *data)
{
	struct lookup *lookup = data;
	struct ring *next;

	for (struct ring *link = lookup->waiters.next; link != &lookup->waiters; link = next) {
		next = link->next;
		free_waiter(RING_OF(link, struct waiter, of_lookup));
	}
	free(lookup);
}

void resolver_stop(struct resolver *resolver)
{
	if (resolver == NULL) {
		return;
	}
	dns_service_stop(resolver->service);
	look_threads_free(resolver->threads);
	tdestroy(resolver->by_name, free_lookup);
	free(resolver);
}
