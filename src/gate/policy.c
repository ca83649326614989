/* Which line grants a call: the rules of the sections. What is looked up lies in policy_table.c,
 * what a refusal says in policy_refuse.c. */
#include "gate/policy.h"

#include "base/str.h"
#include "base/testguard.h"
#include "gate/address.h"
#include "gate/policy_inner.h"

#include <string.h>

/* --- the rules of [internet] and [lan] for names ------------------------------------------- */

static void grant(enum gate_how how, enum gate_section section, const struct origin *from,
		  struct verdict *v)
{
	*v = (struct verdict){.how = how, .section = section, .from = from};
}

/* The entry of hosts in [internet] that holds this host, NULL. */
static const struct net_host *internet_entry(const struct policy *policy, const char *host)
{
	const struct net_host *found = policy_hosts_find(&policy->internet, host);

	if (found == NULL) {
		found = policy->internet.any;
	}
	if (found == NULL && !guard_on("hosts") && policy->plan->internet.n > 0) {
		found = &policy->plan->internet.v[0];
	}
	return found;
}

/* The line by which [internet] knows this host: hosts, else tcp; NULL. */
static const struct origin *internet_host(const struct policy *policy, const char *host)
{
	const struct net_host *found = internet_entry(policy, host);

	if (found != NULL) {
		return &found->from;
	}
	const struct net_tcp *tcp = policy_tcp_host_find(policy, host);
	return tcp != NULL ? &tcp->from : NULL;
}

/* By [internet], this host (name or text of an address) at this port. False: not granted, `v` says
 * so when [internet] knows the host at all. */
static bool internet_port(const struct policy *policy, const char *host, uint16_t port,
			  struct verdict *v)
{
	const struct net_tcp *tcp = policy_tcp_find(policy, host, port);

	if (tcp != NULL) {
		grant(GATE_RAW, GATE_INTERNET, &tcp->from, v);
		return true;
	}
	const struct net_host *found = internet_entry(policy, host);
	if (found != NULL && (port == 443 || port == 80)) {
		grant(port == 443 ? GATE_TLS : GATE_HTTP, GATE_INTERNET, &found->from, v);
		return true;
	}
	return false;
}

static bool is_this_machine(const char *name)
{
	static const char suffix[] = ".localhost";
	size_t n = strlen(name);

	return str_eq(name, "localhost") ||
	       (n >= sizeof(suffix) && str_eq(name + n - (sizeof(suffix) - 1), suffix));
}

/* What covers only the names below this one, for the refusal. */
static const char *apex_of(const struct policy *policy, const char *name)
{
	const struct net_host *found = policy_below_find(&policy->internet, name);

	if (found == NULL) {
		found = policy_below_find(&policy->lan, name);
	}
	return found != NULL ? found->pattern : NULL;
}

/* Granted or refused, the part that look-ups and calls share. NULL: `v` is the refusal. */
static const struct origin *name_line(const struct policy *policy, const char *name, uint16_t port,
				      struct verdict *v)
{
	const struct refused r = {policy, name, port, GATE_NONE};

	if (is_this_machine(name)) {
		refuse_loopback(&r, v);
		return NULL;
	}
	/* What resolvers take for an address is judged as one, or not at all. */
	if (host_ends_in_number(name)) {
		refuse_number(&r, v);
		return NULL;
	}
	const struct origin *from = internet_host(policy, name);
	if (from == NULL) {
		const struct net_host *found = policy_hosts_find(&policy->lan, name);
		from = found != NULL ? &found->from : NULL;
	}
	if (from == NULL) {
		refuse_name(&r, apex_of(policy, name), v);
	}
	return from;
}

bool policy_name(const struct policy *policy, const char *name, struct verdict *ret_verdict)
{
	struct verdict v;
	const struct origin *from = name_line(policy, name, 0, &v);

	if (from != NULL) {
		bool internet = internet_host(policy, name) != NULL;

		grant(GATE_RAW, internet ? GATE_INTERNET : GATE_LAN, from, &v);
	}
	if (ret_verdict != NULL) {
		*ret_verdict = v;
	}
	return from != NULL;
}

void policy_call_name(const struct policy *policy, const char *name, uint16_t port,
		      struct verdict *ret_verdict)
{
	const struct refused r = {policy, name, port, GATE_INTERNET};
	const struct net_host *lan;

	if (name_line(policy, name, port, ret_verdict) == NULL ||
	    internet_port(policy, name, port, ret_verdict)) {
		return;
	}
	lan = policy_hosts_find(&policy->lan, name);
	if (lan != NULL) {
		grant(GATE_RAW, GATE_LAN, &lan->from, ret_verdict);
		return;
	}
	/* A name of [internet] at a port that is not open there may have an address that [lan]
	 * grants; policy_address tells when the addresses are known. */
	if (policy->plan->ranges.n > 0) {
		grant(GATE_RAW, GATE_LAN, &policy->plan->ranges.v[0].from, ret_verdict);
	} else if (policy->lan.any != NULL) {
		grant(GATE_RAW, GATE_LAN, &policy->lan.any->from, ret_verdict);
	} else {
		refuse_port(&r, ret_verdict);
	}
}

/* --- addresses ---------------------------------------------------------------------------- */

/* What an address is to the rules, embedded ones unwrapped. */
struct judged {
	enum addr_class class; /* PUBLIC, PRIVATE, SHARED, LINK_LOCAL, LOOPBACK; else never */
	struct addr inner;     /* what it stands for; itself mostly */
	const char *why;       /* of a special one */
	bool metadata;
	bool carrier; /* stands for another, and is not dialled */
};

/* The well-known prefix of NAT64: on networks with IPv6 alone every IPv4 host has such an address.
 * It is as public as the address inside. The other carriers are refused: nobody needs them, and
 * where a packet to them comes out is not in our hands. */
static bool is_nat64(const struct addr *addr)
{
	static const struct addr prefix = {.v6 = true, .b = {0, 0x64, 0xff, 0x9b}};

	return addr->v6 && addr_same_prefix(addr, &prefix, 96);
}

static bool is_mapped(const struct addr *addr)
{
	static const struct addr prefix = {.v6 = true, .b = {[10] = 0xff, [11] = 0xff}};

	return addr->v6 && addr_same_prefix(addr, &prefix, 96);
}

/* NET_OWN_V6 (plan/door.h); its IPv4 fellow is of a range that is nobody's anyway. A unique local
 * address, which [lan] hosts = ["*"] would grant. */
static bool is_sandbox(const struct addr *addr)
{
	static const struct addr own = {.v6 = true, .b = {0xfd, 0x6c, 0x6e, 0x6b, [15] = 1}};

	return addr->v6 && addr_same_prefix(addr, &own, 128);
}

static struct judged judge(const struct addr *addr)
{
	struct judged j = {.inner = *addr, .metadata = address_is_metadata(addr)};
	struct addr inner;

	if (!guard_on("addresses")) {
		return (struct judged){.class = ADDR_PUBLIC, .inner = *addr};
	}
	j.class = addr_classify(addr, &j.why);
	if (is_sandbox(addr)) {
		j.class = ADDR_RESERVED;
		j.why = "the sandbox's own address";
	}
	if (!address_unwrap(addr, &inner)) {
		return j;
	}
	const char *inner_why = NULL;
	enum addr_class inner_class = addr_classify(&inner, &inner_why);
	if (is_mapped(addr)) {
		j.class = inner_class;
		j.inner = inner;
		j.why = inner_why;
	} else if (is_nat64(addr) && inner_class == ADDR_PUBLIC) {
		j.class = ADDR_PUBLIC;
		j.inner = inner;
	} else {
		j.carrier = true;
	}
	return j;
}

/* The refusals that no line opens. `name` NULL: the address was named. */
static bool never(const struct refused *r, const struct judged *j, const char *address,
		  struct verdict *v)
{
	if (j->metadata) {
		refuse_metadata(r, address, v);
	} else if (j->carrier) {
		refuse_carrier(r, address, j->why, v);
	} else if (j->class == ADDR_RESERVED || j->class == ADDR_CARRIER) {
		refuse_reserved(r, address, j->why, v);
	} else {
		return false;
	}
	return true;
}

/* The line of [lan] that grants an address of these classes, for a name or NULL. */
static const struct origin *lan_line(const struct policy *policy, const char *name,
				     const struct judged *j)
{
	const struct net_range *range = policy_range_find(&policy->ranges, &j->inner);

	if (range != NULL) {
		return &range->from;
	}
	if (name != NULL) {
		const struct net_host *found = policy_hosts_find(&policy->lan, name);

		if (found != NULL) {
			return &found->from;
		}
	}
	return policy->lan.any != NULL && j->class == ADDR_PRIVATE ? &policy->lan.any->from : NULL;
}

/* A public address that the program named. */
static void public_literal(const struct refused *r, const struct judged *j, struct verdict *v)
{
	char inner[ADDRESS_TEXT_MAX];

	/* Granted as it is, or as what it stands for. */
	if (internet_port(r->policy, r->host, r->port, v) ||
	    internet_port(r->policy, address_text(&j->inner, inner), r->port, v)) {
		return;
	}
	if (internet_host(r->policy, r->host) != NULL || internet_host(r->policy, inner) != NULL) {
		refuse_port(r, v);
	} else {
		refuse_name(r, NULL, v);
	}
}

/* 127.0.0.1 and ::1: the others of 127.0.0.0/8 stay the sandbox's own. */
static void loopback_literal(const struct refused *r, const struct judged *j, struct verdict *v)
{
	static const struct addr home = {.b = {127, 0, 0, 1}};
	const struct net_port *port = policy_port_find(r->policy, r->port);

	if (!j->inner.v6 && !addr_same_prefix(&j->inner, &home, 32)) {
		refuse_own(r, NULL, v);
		return;
	}
	if (port == NULL) {
		refuse_loopback(r, v);
		return;
	}
	grant(port->model ? GATE_MODEL : GATE_RAW, GATE_LOCALHOST, &port->from, v);
}

void policy_call_address(const struct policy *policy, const struct addr *addr, uint16_t port,
			 struct verdict *ret_verdict)
{
	char text[ADDRESS_TEXT_MAX];
	const struct judged j = judge(addr);
	struct refused r = {policy, address_text(addr, text), port, GATE_NONE};

	if (is_mapped(addr)) {
		address_text(&j.inner, text);
	}
	if (never(&r, &j, NULL, ret_verdict)) {
		return;
	}
	if (j.class == ADDR_LOOPBACK) {
		r.section = GATE_LOCALHOST;
		loopback_literal(&r, &j, ret_verdict);
		return;
	}
	if (j.class == ADDR_PUBLIC) {
		r.section = GATE_INTERNET;
		public_literal(&r, &j, ret_verdict);
		return;
	}
	const struct origin *from = lan_line(policy, NULL, &j);
	if (from != NULL) {
		grant(GATE_RAW, GATE_LAN, from, ret_verdict);
	} else {
		r.section = GATE_LAN;
		refuse_private(&r, NULL, j.class, ret_verdict);
	}
}

/* A public address of a name. */
static void public_of_name(const struct refused *r, const char *address, struct verdict *v)
{
	if (internet_port(r->policy, r->host, r->port, v)) {
		return;
	}
	if (internet_host(r->policy, r->host) != NULL) {
		refuse_port(r, v);
	} else if (policy_hosts_find(&r->policy->lan, r->host) != NULL) {
		refuse_public(r, address, v);
	} else {
		refuse_name(r, apex_of(r->policy, r->host), v);
	}
}

void policy_address(const struct policy *policy, const char *name, uint16_t port,
		    const struct addr *addr, struct verdict *ret_verdict)
{
	char text[ADDRESS_TEXT_MAX];

	if (name == NULL) {
		policy_call_address(policy, addr, port, ret_verdict);
		return;
	}
	const struct judged j = judge(addr);
	struct refused r = {policy, name, port, GATE_INTERNET};
	if (internet_host(policy, name) == NULL) {
		r.section = policy_hosts_find(&policy->lan, name) != NULL ? GATE_LAN : GATE_NONE;
	}
	address_text(addr, text);
	if (never(&r, &j, text, ret_verdict)) {
		return;
	}
	if (j.class == ADDR_LOOPBACK) {
		refuse_own(&r, text, ret_verdict);
		return;
	}
	if (j.class == ADDR_PUBLIC) {
		public_of_name(&r, text, ret_verdict);
		return;
	}
	const struct origin *from = lan_line(policy, name, &j);
	if (from != NULL && r.section != GATE_NONE) {
		grant(GATE_RAW, GATE_LAN, from, ret_verdict);
	} else {
		refuse_private(&r, text, j.class, ret_verdict);
	}
}

void policy_refuse_own(const struct policy *policy, const char *name, uint16_t port,
		       const struct addr *addr, struct verdict *ret_verdict)
{
	char text[ADDRESS_TEXT_MAX];
	const struct refused r = {policy, name != NULL ? name : address_text(addr, text), port,
				  GATE_NONE};

	refuse_own(&r, name != NULL ? address_text(addr, text) : NULL, ret_verdict);
}
