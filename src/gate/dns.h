/* DNS messages: a query read, an answer written. Pure; every byte of a query is hostile.
 * Source: RFC 1035, 6891 (EDNS), 2308 (negative answers), 8482. */
#ifndef LNK_GATE_DNS_H
#define LNK_GATE_DNS_H

#include "gate/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No query that is answered is longer; longer ones are dropped (UDP) or end the connection (TCP).
 */
#define DNS_QUERY_MAX 1232
/* No answer of ours is longer: it has one record at most, and a copy of the question. */
#define DNS_ANSWER_MAX 512

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28 };

struct dns_query {
	uint16_t id;
	uint16_t type;
	uint16_t klass;
	bool recursion; /* RD, copied into the answer */
	bool edns;
	uint16_t question_len;         /* bytes of the question as it came, for the copy */
	const unsigned char *question; /* borrowed from the packet */
	char name[HOST_MAX]; /* lower case, no dot at the end; "" is the root. Only when `plain`. */
	bool plain;          /* the name is made of [a-z0-9_-] labels; others are NXDOMAIN */
	bool reverse;        /* a PTR question for an IPv4 address under in-addr.arpa */
	uint32_t reverse_addr; /* host order */
};

enum dns_read {
	DNS_OK,
	DNS_DROP,    /* no query, or not even a header: say nothing */
	DNS_FORMERR, /* a header, but broken beyond: answer with RCODE 1 */
	DNS_NOTIMP,  /* another opcode, or not exactly one question: RCODE 4 (or 1) */
	DNS_BADVERS, /* EDNS of another version */
};

/* `ret_query->id` is set unless DNS_DROP. */
enum dns_read dns_read(const unsigned char *packet, size_t len, struct dns_query *ret_query);

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_RC_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_RC_NOTIMP = 4,
	DNS_REFUSED = 5
};

/* Each writes an answer of ours into `out` (DNS_ANSWER_MAX bytes) and returns its length. TTLs are
 * short (`ttl` seconds). Negative answers carry an SOA so that they are not cached for long. */
size_t dns_answer_a(const struct dns_query *query, uint32_t addr, uint32_t ttl, unsigned char *out);
size_t dns_answer_ptr(const struct dns_query *query, const char *name, uint32_t ttl,
		      unsigned char *out);
size_t dns_answer_empty(const struct dns_query *query, enum dns_rcode rcode, unsigned char *out);
/* For what dns_read did not take: only the header and, where it could be read, nothing more. */
size_t dns_answer_broken(uint16_t id, enum dns_read how, unsigned char *out);

#endif
