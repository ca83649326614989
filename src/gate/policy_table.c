/* The plan's lists as hash tables: a look-up costs the same with 10,000 hosts as with one. */
#include "base/str.h"
#include "gate/policy_inner.h"

#include <stdlib.h>
#include <string.h>

/* "host:port" */
#define TCP_KEY_MAX (HOST_MAX + 6)

/* --- hosts and tcp ------------------------------------------------------------------------ */

/* A set with room for `n` strings: with 10,000 hosts most of the time would go into growing it. */
static struct str_set set_for(size_t n, struct arena *arena)
{
	struct str_set set = {.n = 0};

	if (n > 0) {
		set.cap = 16;
		while (set.cap <= n * 2) {
			set.cap *= 2;
		}
		set.slot = arena_alloc(arena, set.cap * sizeof(*set.slot));
		set.data = arena_alloc(arena, set.cap * sizeof(*set.data));
	}
	return set;
}

static bool is_wildcard(const char *pattern)
{
	return pattern[0] == '*' && pattern[1] == '.';
}

/* From the last entry to the first, so that of two that say the same the first is named. */
static void hosts_make(const struct net_host *v, size_t n, struct arena *arena,
		       struct host_table *ret_table)
{
	size_t wildcards = 0;

	for (size_t i = 0; i < n; i++) {
		wildcards += is_wildcard(v[i].pattern) ? 1 : 0;
	}
	ret_table->exact = set_for(n - wildcards, arena);
	ret_table->below = set_for(wildcards, arena);
	ret_table->any = NULL;
	for (size_t i = n; i-- > 0;) {
		const char *pattern = v[i].pattern;

		if (str_eq(pattern, "*")) {
			ret_table->any = &v[i];
		} else if (is_wildcard(pattern)) {
			str_set_put(&ret_table->below, arena, pattern + 2, &v[i]);
		} else {
			str_set_put(&ret_table->exact, arena, pattern, &v[i]);
		}
	}
}

const struct net_host *policy_hosts_find(const struct host_table *table, const char *host)
{
	const struct net_host *found = str_set_data(&table->exact, host);

	if (found != NULL || table->below.n == 0) {
		return found;
	}
	for (const char *dot = strchr(host, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
		found = str_set_data(&table->below, dot + 1);
		if (found != NULL) {
			return found;
		}
	}
	return NULL;
}

/* Writes "host:port"; false when the host is too long to be one. */
static bool tcp_key(const char *host, uint16_t port, char out[TCP_KEY_MAX])
{
	size_t n = strlen(host);
	char digits[5];
	size_t k = 0;

	if (n >= HOST_MAX) {
		return false;
	}
	memcpy(out, host, n);
	out[n++] = ':';
	for (unsigned rest = port; rest > 0 || k == 0; rest /= 10) {
		digits[k++] = (char)('0' + rest % 10);
	}
	while (k > 0) {
		out[n++] = digits[--k];
	}
	out[n] = '\0';
	return true;
}

static void tcp_make(const struct net_plan *plan, struct arena *arena, struct policy *policy)
{
	char key[TCP_KEY_MAX];

	policy->tcp = set_for(plan->tcp.n, arena);
	policy->tcp_hosts = set_for(plan->tcp.n, arena);
	for (size_t i = plan->tcp.n; i-- > 0;) {
		const struct net_tcp *tcp = &plan->tcp.v[i];

		if (tcp_key(tcp->host, tcp->port, key)) {
			str_set_put(&policy->tcp, arena, arena_strdup(arena, key), tcp);
			str_set_put(&policy->tcp_hosts, arena, tcp->host, tcp);
		}
	}
}

const struct net_tcp *policy_tcp_find(const struct policy *policy, const char *host, uint16_t port)
{
	char key[TCP_KEY_MAX];

	if (policy->tcp.n == 0 || !tcp_key(host, port, key)) {
		return NULL;
	}
	return str_set_data(&policy->tcp, key);
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
