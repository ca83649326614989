/* Inside policy*.c only. */
#ifndef LNK_GATE_POLICY_INNER_H
#define LNK_GATE_POLICY_INNER_H

#include "gate/policy.h"

/* A hash table of places in a list of the plan, from 1; 0 is a free slot. With 10,000 hosts what
 * takes time is the memory, so there are no pointers in it. */
struct index {
	uint32_t *slot;
	size_t cap; /* a power of two, or 0 */
	size_t n;
};

/* Names, "*.name" and "*" of one section: places in `v`. */
struct host_table {
	const struct net_host *v;
	struct index exact; /* literals of [internet] too, as text */
	struct index below; /* by the "x" of "*.x" */
	const struct net_host *any;
};

/* Addresses and ranges of [lan] by their first bits. */
struct range_table {
	const struct net_range **slot;
	size_t cap; /* a power of two, or 0 */
	/* The lengths that there are, longest first: [0] of IPv4, [1] of IPv6. */
	unsigned char length[2][129];
	size_t lengths[2];
};

struct policy {
	const struct net_plan *plan;
	struct host_table internet, lan;
	struct index tcp;       /* of plan->tcp, by host and port */
	struct index tcp_hosts; /* by host alone */
	struct range_table ranges;
	const struct net_port **ports; /* plan->ports.n of them, by number */
};

/* The entry that names a host, or the nearest wildcard above it; not "*". NULL: none. */
const struct net_host *policy_hosts_find(const struct host_table *table, const char *host);
/* "*.host", which covers what is below it. NULL: none. */
const struct net_host *policy_below_find(const struct host_table *table, const char *host);
const struct net_tcp *policy_tcp_find(const struct policy *policy, const char *host, uint16_t port);
/* An entry of tcp for this host, whichever its port. */
const struct net_tcp *policy_tcp_host_find(const struct policy *policy, const char *host);
/* The narrowest range that holds an address. */
const struct net_range *policy_range_find(const struct range_table *table, const struct addr *addr);
const struct net_port *policy_port_find(const struct policy *policy, uint16_t port);

/* --- refusals: each fills `v` whole, with how GATE_REFUSED ------------------------------- */

/* What stands against a call to `host` (name or address) at `port` (0: a look-up). */
struct refused {
	const struct policy *policy;
	const char *host;
	uint16_t port;
	enum gate_section section;
};

/* No line names it: to be added to [internet], or to [lan] where the name tells that it is of the
 * user's network. `apex` is the wildcard that covers what is below it, or NULL. */
void refuse_name(const struct refused *r, const char *apex, struct verdict *v);
/* Of [internet], but not at this port. */
void refuse_port(const struct refused *r, struct verdict *v);
/* An address of the user's network that [lan] does not grant. `address` NULL: `host` is it. */
void refuse_private(const struct refused *r, const char *address, enum addr_class class,
		    struct verdict *v);
/* A name of [lan] alone, with a public address. */
void refuse_public(const struct refused *r, const char *address, struct verdict *v);
/* This machine's loopback at a port that is not granted, by an address or "localhost". */
void refuse_loopback(const struct refused *r, struct verdict *v);
/* What no line opens. `address` NULL: `host` is it. */
void refuse_metadata(const struct refused *r, const char *address, struct verdict *v);
void refuse_carrier(const struct refused *r, const char *address, const char *what,
		    struct verdict *v);
void refuse_reserved(const struct refused *r, const char *address, const char *what,
		     struct verdict *v);
void refuse_number(const struct refused *r, struct verdict *v);
/* Another name or address of this machine than localhost. */
void refuse_own(const struct refused *r, const char *address, struct verdict *v);

#endif
