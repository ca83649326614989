/* What may be called: pure decisions over a net_plan. Nothing here opens a socket. */
#ifndef LNK_GATE_POLICY_H
#define LNK_GATE_POLICY_H

#include "base/arena.h"
#include "plan/netplan.h"
#include "spec/host.h"

#include <stdbool.h>
#include <stdint.h>

enum gate_section { GATE_NONE, GATE_INTERNET, GATE_LAN, GATE_LOCALHOST };

/* How the bytes of a call are judged. */
enum gate_how {
	GATE_REFUSED,
	GATE_TLS,   /* a ClientHello whose server name is `host` */
	GATE_HTTP,  /* HTTP/1 requests whose Host is `host` */
	GATE_RAW,   /* anything */
	GATE_MODEL, /* HTTP/1 requests of the model table */
};

/* The decision on one call before anything was dialled. */
struct verdict {
	enum gate_how how;
	enum gate_section section;
	const struct origin *from; /* the line that grants it; NULL when refused */
	char why[160];             /* refused: one clause, printable */
	char hint[384];            /* refused: the line to add, or what to do instead */
};

/* Hash tables over the plan's lists: a look-up costs the same with 10,000 hosts as with one. */
struct policy;
struct policy *policy_make(const struct net_plan *plan, struct arena *arena);

/* May this name be looked up at all? `name` in normal form (lower case, no dot at the end). True
 * when [internet] hosts, tcp or [lan] hosts hold it. `ret_verdict` (may be NULL) gets the refusal.
 */
bool policy_name(const struct policy *policy, const char *name, struct verdict *ret_verdict);

/* A call to `name` (one that the resolver gave an address to) at `port`. Which of [internet] and
 * [lan] it is turns out when its addresses are classed (policy_address): `section` is the one to
 * try first, and `ret_verdict->how` the way bytes are judged in [internet]; in [lan] all is raw. */
void policy_call_name(const struct policy *policy, const char *name, uint16_t port,
		      struct verdict *ret_verdict);

/* A call to an address literal at `port`: granted as a literal, by a range, by "*", or a port of
 * [localhost] when it is loopback. Embedded IPv4 addresses are unwrapped before. */
void policy_call_address(const struct policy *policy, const struct addr *addr, uint16_t port,
			 struct verdict *ret_verdict);

/* May this vetted address, one of those that `name` has (NULL: the program named the address), be
 * dialled at `port`? Public for [internet]; private, shared or link-local for [lan], and only where
 * a name, range or "*" of [lan] grants it; never loopback, reserved, multicast, metadata services.
 * (That it is none of this machine's own is asked of the kernel: address.h.) The verdict's `how`
 * and `section` hold for this address. */
void policy_address(const struct policy *policy, const char *name, uint16_t port,
		    const struct addr *addr, struct verdict *ret_verdict);

/* Refuses an address that address_is_own() (address.h) found to be this machine's; `name` as in
 * policy_address. */
void policy_refuse_own(const struct policy *policy, const char *name, uint16_t port,
		       const struct addr *addr, struct verdict *ret_verdict);

#endif
