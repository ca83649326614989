/* What the network sections grant, as plain data: made from a spec by a pure function, printed by
 * --dry-run, carried to the gate as bytes. */
#ifndef LNK_PLAN_NETPLAN_H
#define LNK_PLAN_NETPLAN_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/facts.h"
#include "spec/spec.h"
#include "spec/values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An entry of hosts: a name, "*.name", "*", or an address literal in normal form. */
struct net_host {
	const char *pattern;
	struct origin from;
};

/* An entry of [internet] tcp. */
struct net_tcp {
	const char *host;
	uint16_t port;
	struct origin from;
};

/* An address (bits 32 or 128) or a range of [lan] hosts. */
struct net_range {
	struct addr addr;
	unsigned bits;
	struct origin from;
};

/* A port of [localhost]. */
struct net_port {
	uint16_t port;
	bool model; /* inference only */
	struct origin from;
};

/* --publish: `inside` of the sandbox is reached at `outside` of this machine's loopback. */
struct net_publish {
	uint16_t inside;
	uint16_t outside;
};

struct net_plan {
	bool host_mode; /* network.mode = "host": no namespace of its own, no gate */
	bool gate;      /* something is granted or published, so that there is a gate */
	FACT_LIST(struct net_host) internet;
	FACT_LIST(struct net_tcp) tcp;
	uint64_t per_minute; /* calls to [internet] a minute; 0: no bound */
	struct origin per_minute_from;
	FACT_LIST(struct net_host) lan; /* names and "*" (the private ranges) */
	FACT_LIST(struct net_range) ranges;
	FACT_LIST(struct net_port) ports;
	FACT_LIST(struct net_publish) publish;
	const char *spec_file; /* as named, for what a refusal tells; NULL: flags are the spec */
};

/* Fills `ret_plan` from the sections (not `publish`, which is no key). A port that is both in
 * `ports` and `models`, and whatever else needs no machine, was refused by spec_read. */
void net_plan_make(const struct spec *spec, struct arena *arena, struct net_plan *ret_plan);

/* The plan as bytes, and back. The bytes go from one process of lnk to another of the same build;
 * lengths and counts are checked all the same: false when they do not hold together. The strings of
 * a decoded plan live in `arena`. 10,000 hosts take under 2 ms either way. */
void net_plan_encode(const struct net_plan *plan, struct arena *arena, unsigned char **ret_bytes,
		     size_t *ret_len);
bool net_plan_decode(const unsigned char *bytes, size_t len, struct arena *arena,
		     struct net_plan *ret_plan);

#endif
