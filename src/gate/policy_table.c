/* The plan's lists as hash tables: a look-up costs the same with 10,000 hosts as with one. */
#include "base/str.h"
#include "gate/policy_inner.h"

#include <stdlib.h>
#include <string.h>

/* --- hosts and tcp ------------------------------------------------------------------------ */

/* A table with room for `n` places, at most half full. */
static struct index index_for(size_t n, struct arena *arena)
{
	struct index index = {.n = n};

	if (n > 0) {
		index.cap = 16;
		while (index.cap < n * 2) {
			index.cap *= 2;
		}
		index.slot = arena_alloc(arena, index.cap * sizeof(*index.slot));
	}
	return index;
}

/* FNV-1a. The strings in the tables come from the user's own spec: a flood only slows that run. */
static size_t hash(const char *s, uint16_t port)
{
	uint64_t h = 0xcbf29ce484222325ULL ^ port;

	for (; *s != '\0'; s++) {
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	}
	return (size_t)(h ^ h >> 32);
}

/* The slot of the entry whose pattern, without its first `skip` bytes, is `host`; or the free one
 * where it belongs. */
static uint32_t *host_slot(const struct index *index, const struct net_host *v, size_t skip,
			   const char *host)
{
	size_t i = hash(host, 0) & (index->cap - 1);

	while (index->slot[i] != 0 && !str_eq(v[index->slot[i] - 1].pattern + skip, host)) {
		i = (i + 1) & (index->cap - 1);
	}
	return &index->slot[i];
}

static bool is_wildcard(const char *pattern)
{
	return pattern[0] == '*' && pattern[1] == '.';
}

/* What stands before the name in "*.name". */
#define WILDCARD_BYTES 2

/* From the last entry to the first, so that of two that say the same the first is named. */
static void hosts_make(const struct net_host *v, size_t n, struct arena *arena,
		       struct host_table *table)
{
	size_t wildcards = 0;

	for (size_t i = 0; i < n; i++) {
		wildcards += is_wildcard(v[i].pattern) ? 1 : 0;
	}
	table->v = v;
	table->exact = index_for(n - wildcards, arena);
	table->below = index_for(wildcards, arena);
	for (size_t i = n; i-- > 0;) {
		const char *pattern = v[i].pattern;
		uint32_t place = (uint32_t)i + 1;

		if (str_eq(pattern, "*")) {
			table->any = &v[i];
		} else if (is_wildcard(pattern)) {
			*host_slot(&table->below, v, WILDCARD_BYTES, pattern + WILDCARD_BYTES) =
				place;
		} else {
			*host_slot(&table->exact, v, 0, pattern) = place;
		}
	}
}

static const struct net_host *find(const struct host_table *table, const struct index *index,
				   size_t skip, const char *host)
{
	uint32_t place = index->n > 0 ? *host_slot(index, table->v, skip, host) : 0;

	return place != 0 ? &table->v[place - 1] : NULL;
}

const struct net_host *policy_below_find(const struct host_table *table, const char *host)
{
	return find(table, &table->below, WILDCARD_BYTES, host);
}

const struct net_host *policy_hosts_find(const struct host_table *table, const char *host)
{
	const struct net_host *found = find(table, &table->exact, 0, host);

	if (table->below.n == 0) {
		return found;
	}
	for (const char *dot = strchr(host, '.'); dot != NULL && found == NULL;
	     dot = strchr(dot + 1, '.')) {
		found = policy_below_find(table, dot + 1);
	}
	return found;
}

/* The slot of a host and port, or with port 0 of a host; or the free one where it belongs. */
static uint32_t *tcp_slot(const struct index *index, const struct net_tcp *v, const char *host,
			  uint16_t port)
{
	size_t i = hash(host, port) & (index->cap - 1);

	for (; index->slot[i] != 0; i = (i + 1) & (index->cap - 1)) {
		const struct net_tcp *tcp = &v[index->slot[i] - 1];

		if ((port == 0 || tcp->port == port) && str_eq(tcp->host, host)) {
			break;
		}
	}
	return &index->slot[i];
}

static void tcp_make(const struct net_plan *plan, struct arena *arena, struct policy *policy)
{
	policy->tcp = index_for(plan->tcp.n, arena);
	policy->tcp_hosts = index_for(plan->tcp.n, arena);
	for (size_t i = plan->tcp.n; i-- > 0;) {
		const struct net_tcp *tcp = &plan->tcp.v[i];
		uint32_t place = (uint32_t)i + 1;

		*tcp_slot(&policy->tcp, plan->tcp.v, tcp->host, tcp->port) = place;
		*tcp_slot(&policy->tcp_hosts, plan->tcp.v, tcp->host, 0) = place;
	}
}

static const struct net_tcp *find_tcp(const struct policy *policy, const struct index *index,
				      const char *host, uint16_t port)
{
	uint32_t place = index->n > 0 ? *tcp_slot(index, policy->plan->tcp.v, host, port) : 0;

	return place != 0 ? &policy->plan->tcp.v[place - 1] : NULL;
}

const struct net_tcp *policy_tcp_find(const struct policy *policy, const char *host, uint16_t port)
{
	return port != 0 ? find_tcp(policy, &policy->tcp, host, port) : NULL;
}

const struct net_tcp *policy_tcp_host_find(const struct policy *policy, const char *host)
{
	return find_tcp(policy, &policy->tcp_hosts, host, 0);
}

/* --- ranges ------------------------------------------------------------------------------- */

static void keep_bits(struct addr *a, unsigned bits)
{
	for (unsigned i = 0; i < sizeof(a->b); i++) {
		unsigned keep = bits >= (i + 1) * 8 ? 8 : bits > i * 8 ? bits - i * 8 : 0;

		a->b[i] = (unsigned char)(a->b[i] & (0xff00U >> keep));
	}
}

/* FNV-1a over the bytes of an address whose other bits are 0. */
static size_t range_hash(const struct addr *first, unsigned bits)
{
	uint64_t h = 0xcbf29ce484222325ULL ^ bits ^ (first->v6 ? 0x100U : 0U);

	for (size_t i = 0; i < sizeof(first->b); i++) {
		h = (h ^ first->b[i]) * 0x100000001b3ULL;
	}
	return (size_t)(h ^ h >> 32);
}

/* The slot of the range of `bits` bits that begins at `first`, or the free one for it. */
static const struct net_range **range_slot(const struct range_table *table,
					   const struct addr *first, unsigned bits)
{
	size_t i = range_hash(first, bits) & (table->cap - 1);

	for (;; i = (i + 1) & (table->cap - 1)) {
		const struct net_range *r = table->slot[i];

		if (r == NULL || (r->bits == bits && r->addr.v6 == first->v6 &&
				  addr_same_prefix(&r->addr, first, bits))) {
			return &table->slot[i];
		}
	}
}

static void ranges_make(const struct net_plan *plan, struct arena *arena, struct range_table *table)
{
	bool used[2][129] = {{false}};

	if (plan->ranges.n == 0) {
		return;
	}
	table->cap = 16;
	while (table->cap <= plan->ranges.n * 2) {
		table->cap *= 2;
	}
	table->slot = arena_alloc(arena, table->cap * sizeof(*table->slot));
	for (size_t i = plan->ranges.n; i-- > 0;) {
		const struct net_range *r = &plan->ranges.v[i];
		struct addr first = r->addr;

		keep_bits(&first, r->bits);
		*range_slot(table, &first, r->bits) = r;
		used[r->addr.v6 ? 1 : 0][r->bits] = true;
	}
	for (unsigned v6 = 0; v6 < 2; v6++) {
		for (unsigned bits = 129; bits-- > 0;) {
			if (used[v6][bits]) {
				table->length[v6][table->lengths[v6]++] = (unsigned char)bits;
			}
		}
	}
}

const struct net_range *policy_range_find(const struct range_table *table, const struct addr *addr)
{
	unsigned v6 = addr->v6 ? 1 : 0;

	for (size_t i = 0; i < table->lengths[v6]; i++) {
		struct addr first = *addr;

		keep_bits(&first, table->length[v6][i]);
		const struct net_range *r = *range_slot(table, &first, table->length[v6][i]);
		if (r != NULL) {
			return r;
		}
	}
	return NULL;
}

/* --- ports -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct net_port *const *x = a;
	const struct net_port *const *y = b;

	return (*x)->port != (*y)->port ? ((*x)->port < (*y)->port ? -1 : 1)
					: (*x > *y) - (*x < *y);
}

const struct net_port *policy_port_find(const struct policy *policy, uint16_t port)
{
	size_t low = 0;
	size_t high = policy->plan->ports.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (policy->ports[middle]->port < port) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < policy->plan->ports.n && policy->ports[low]->port == port ? policy->ports[low]
									       : NULL;
}

struct policy *policy_make(const struct net_plan *plan, struct arena *arena)
{
	struct policy *policy = arena_alloc(arena, sizeof(*policy));

	policy->plan = plan;
	hosts_make(plan->internet.v, plan->internet.n, arena, &policy->internet);
	hosts_make(plan->lan.v, plan->lan.n, arena, &policy->lan);
	tcp_make(plan, arena, policy);
	ranges_make(plan, arena, &policy->ranges);
	policy->ports = arena_alloc(arena, plan->ports.n * sizeof(*policy->ports));
	for (size_t i = 0; i < plan->ports.n; i++) {
		policy->ports[i] = &plan->ports.v[i];
	}
	if (plan->ports.n > 0) {
		qsort(policy->ports, plan->ports.n, sizeof(*policy->ports), by_number);
	}
	return policy;
}
