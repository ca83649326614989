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
/* The longest question: a name (RFC 1035 section 3.1), type and class. */
#define DNS_QUESTION_MAX (255 + 4)
/* Seconds that a negative answer may be used again. */
#define DNS_NEGATIVE_TTL 2

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28 };
enum dns_class { DNS_IN = 1 };

struct dns_query {
	uint16_t id;
	uint16_t type;
	uint16_t klass;
	unsigned char opcode;
	bool recursion; /* RD, copied into the answer */
	bool unchecked; /* CD, likewise (RFC 4035 section 3.2.2) */
	bool edns;
	bool signatures;       /* DO, likewise (RFC 3225 section 3) */
	uint16_t question_len; /* bytes of the question as it came, for the copy; 0: not read */
	const unsigned char *question; /* borrowed from the packet */
	/* The name as text, no dot at the end; "" is the root. When `plain`, it is in lower case
	 * and made of [a-z0-9_-] labels. Else it is only to be shown: a byte that would end the
	 * text or a label stands there as "?". */
	char name[HOST_MAX];
	bool plain;
	bool reverse; /* the name is an address under in-addr.arpa or ip6.arpa, whatever the type */
	struct addr reverse_addr;
};

enum dns_read {
	DNS_OK,
	DNS_DROP,    /* no query, or not even a header: say nothing */
	DNS_FORMERR, /* a header, but broken beyond: answer with RCODE 1 */
	DNS_NOTIMP,  /* another opcode: RCODE 4 */
	DNS_BADVERS, /* EDNS of another version: RCODE 16 */
};

/* What stands in the header is set unless DNS_DROP; the question when DNS_OK or DNS_BADVERS. A
 * query has exactly one question (RFC 9619), no answers, and nothing behind its last record. */
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
 * short (`ttl` seconds). NOERROR without a record and NXDOMAIN carry an SOA so that they are not
 * cached for long; a query with EDNS gets EDNS. Addresses: IPv4 in host order, IPv6 as 16 bytes. */
size_t dns_answer_a(const struct dns_query *query, uint32_t addr, uint32_t ttl, unsigned char *out);
size_t dns_answer_aaaa(const struct dns_query *query, const unsigned char *addr, uint32_t ttl,
		       unsigned char *out);
/* `name`: text of labels between dots. */
size_t dns_answer_ptr(const struct dns_query *query, const char *name, uint32_t ttl,
		      unsigned char *out);
size_t dns_answer_empty(const struct dns_query *query, enum dns_rcode rcode, unsigned char *out);
/* For what dns_read did not take: the header, and the question where it was read. 0: say nothing.
 */
size_t dns_answer_broken(const struct dns_query *query, enum dns_read how, unsigned char *out);

#endif
