/* What a query is answered, and what is told of it. No question leaves the machine as it came: for
 * a granted name its addresses are looked up, whatever else was asked; for others nothing is. */
#include "base/str.h"
#include "gate/dns.h"
#include "gate/resolver_inner.h"

#include <stdio.h>
#include <string.h>

static const unsigned char loopback6[16] = {[15] = 1};

static bool is_or_below(const char *name, const char *top)
{
	size_t n = strlen(name);
	size_t k = strlen(top);

	return n >= k && str_eq(name + n - k, top) && (n == k || name[n - k - 1] == '.');
}

static bool asks_address(const struct dns_query *query)
{
	return query->type == DNS_A || query->type == DNS_AAAA;
}

/* --- what is told --------------------------------------------------------------------------- */

static void tell_refused(struct resolver *r, const struct dns_query *query, const char *name,
			 const struct verdict *v)
{
	const struct decision d = {.section = v->section,
				   .host = name,
				   .allowed = false,
				   .why = v->why,
				   .hint = v->hint};

	if (told_is_new(&r->told, name, query->type, uv_now(r->config.loop))) {
		decisions_add(r->config.decisions, &d);
	}
}

/* A name that is granted, and that this machine does not find either: the program's own message is
 * the same as for a refusal, and would be taken for one. */
static void tell_failed(struct resolver *r, const struct dns_query *query, int status)
{
	bool none = status == UV_EAI_NONAME || status == UV_EAI_NODATA;
	struct verdict v;
	char hint[HOST_MAX + 64];

	if (!policy_name(r->config.policy, query->name, &v) ||
	    !told_is_new(&r->told, query->name, query->type, uv_now(r->config.loop))) {
		return;
	}
	snprintf(v.why, sizeof(v.why), "it is granted, but %s%s",
		 none ? "outside there is no such name, or it has no address"
		      : "could not be looked up outside: ",
		 none ? "" : uv_strerror(status));
	snprintf(hint, sizeof(hint), "see `getent hosts %s` outside", query->name);
	const struct decision d = {.section = v.section,
				   .host = query->name,
				   .failed = true,
				   .from = v.from,
				   .why = v.why,
				   .hint = hint};
	decisions_add(r->config.decisions, &d);
}

/* Told once for as long as its answer is known: when a question about it leaves the machine. */
static void tell_allowed(struct resolver *r, const char *name, const struct verdict *v)
{
	const struct decision d = {
		.section = v->section, .host = name, .allowed = true, .from = v->from};

	if (!resolver_knows(r, name)) {
		decisions_add(r->config.decisions, &d);
	}
}

/* Names that programs try on their own, without a host being meant: to tell of them, with a line
 * to add, would send the user the wrong way. */
static bool is_probe(const char *name)
{
	return is_or_below(name, "resolver.arpa") ||    /* RFC 9462: another kind of resolver? */
	       is_or_below(name, "ipv4only.arpa") ||    /* RFC 7050: a NAT64? */
	       str_eq(name, "use-application-dns.net"); /* Firefox: may it ask elsewhere? */
}

/* --- answers -------------------------------------------------------------------------------- */

/* RFC 6761 section 6.3: loopback, wherever it is asked. */
static size_t answer_localhost(const struct dns_query *query, unsigned char *out)
{
	if (query->type == DNS_A) {
		return dns_answer_a(query, 0x7f000001, ANSWER_TTL, out);
	}
	if (query->type == DNS_AAAA) {
		return dns_answer_aaaa(query, loopback6, ANSWER_TTL, out);
	}
	return dns_answer_empty(query, DNS_NOERROR, out);
}

static const char *name_behind(const struct resolver *r, const struct addr *addr)
{
	const unsigned char *b = addr->b;

	if (addr->v6) {
		return memcmp(b, loopback6, sizeof(loopback6)) == 0 ? "localhost" : NULL;
	}
	if (b[0] == 127) {
		return "localhost";
	}
	return names_of(r->config.names,
			(uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]);
}

/* Programs ask for the name of every address that they see, so that refusals are not told. */
static size_t answer_reverse(const struct resolver *r, const struct dns_query *query,
			     unsigned char *out)
{
	const char *name = name_behind(r, &query->reverse_addr);

	if (name == NULL) {
		return dns_answer_empty(query, DNS_NXDOMAIN, out);
	}
	return query->type == DNS_PTR ? dns_answer_ptr(query, name, ANSWER_TTL, out)
				      : dns_answer_empty(query, DNS_NOERROR, out);
}

static size_t answer_no_host(struct resolver *r, const struct dns_query *query, unsigned char *out)
{
	struct verdict v = {.how = GATE_REFUSED, .section = GATE_NONE};

	snprintf(v.why, sizeof(v.why), "no host has such a name");
	snprintf(v.hint, sizeof(v.hint),
		 "names are made of letters, digits, \"-\" and \"_\"; one in another script is "
		 "looked up in its xn-- form");
	tell_refused(r, query, query->name, &v);
	return dns_answer_empty(query, DNS_NXDOMAIN, out);
}

/* The host that is meant by "_xmpp-client._tcp.example.com" when a service of it is asked for, RFC
 * 2782 and 9460. An address may be asked for at any name, "_" included. */
static const char *host_of(const struct dns_query *query)
{
	const char *name = query->name;

	while (!asks_address(query) && name[0] == '_') {
		const char *dot = strchr(name, '.');

		if (dot == NULL) {
			break;
		}
		name = dot + 1;
	}
	return name;
}

static size_t answer_name(struct resolver *r, const struct dns_query *query, unsigned char *out)
{
	const char *name = host_of(query);
	struct verdict v;

	if (!policy_name(r->config.policy, name, &v)) {
		if (!is_probe(name)) {
			tell_refused(r, query, name, &v);
		}
		return dns_answer_empty(query, DNS_NXDOMAIN, out);
	}
	if (!asks_address(query)) {
		return dns_answer_empty(query, DNS_NOERROR, out);
	}
	if (r->config.proxied) {
		static const struct resolved unknown = {.status = 0};

		return answer_found(r, query, &unknown, out);
	}
	tell_allowed(r, name, &v);
	return 0;
}

size_t answer_at_once(struct resolver *resolver, const struct dns_query *query, unsigned char *out)
{
	if (query->klass != DNS_IN) {
		return dns_answer_empty(query, DNS_REFUSED, out);
	}
	if (query->name[0] == '\0') {
		/* The root is there; that it has no name servers is nobody's concern. */
		return dns_answer_empty(query, DNS_NOERROR, out);
	}
	if (!query->plain) {
		return answer_no_host(resolver, query, out);
	}
	if (is_or_below(query->name, "localhost")) {
		return answer_localhost(query, out);
	}
	if (query->reverse) {
		return answer_reverse(resolver, query, out);
	}
	return answer_name(resolver, query, out);
}

size_t answer_found(struct resolver *resolver, const struct dns_query *query,
		    const struct resolved *resolved, unsigned char *out)
{
	if (resolved->status != 0) {
		tell_failed(resolver, query, resolved->status);
	}
	if (resolved->status == UV_EAI_NONAME || resolved->status == UV_EAI_NODATA) {
		return dns_answer_empty(query, DNS_NXDOMAIN, out);
	}
	if (resolved->status != 0) {
		return dns_answer_empty(query, DNS_SERVFAIL, out);
	}
	if (query->type == DNS_AAAA) {
		return dns_answer_empty(query, DNS_NOERROR, out);
	}
	uint32_t addr = names_give(resolver->config.names, query->name);
	return addr != 0 ? dns_answer_a(query, addr, ANSWER_TTL, out)
			 : dns_answer_empty(query, DNS_SERVFAIL, out);
}
