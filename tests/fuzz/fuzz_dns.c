/* Fuzzes DNS messages. Whatever the bytes of a query:
 *
 * - what is taken, glibc's reader takes too, and finds the same question in it;
 * - what is taken has no end but its own: a byte less or more is refused;
 * - every answer is read by glibc: the same question byte for byte, the records that were meant,
 *   never cut off, and never longer than it may be; and none of them is taken for a query.
 *
 * Input: a packet. */
#include "fuzz.h"
#include "gate/dns.h"

#include <arpa/nameser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Id, flags and four counts. */
#define HEADER_LEN 12
/* Of an answer's records. */
#define TTL 30

/* A copy of exact size, so that a read beyond the end is seen. */
static unsigned char *exact(const void *data, size_t size)
{
	unsigned char *copy = malloc(size > 0 ? size : 1);

	REQUIRE(copy != NULL);
	if (size > 0) {
		memcpy(copy, data, size);
	}
	return copy;
}

static bool taken(enum dns_read how)
{
	return how == DNS_OK || how == DNS_BADVERS;
}

static enum dns_read how_read(const uint8_t *data, size_t size)
{
	unsigned char *copy = exact(data, size);
	struct dns_query query;
	enum dns_read how = dns_read(copy, size, &query);

	free(copy);
	return how;
}

/* --- the query ------------------------------------------------------------------------------ */

/* In its normal form: lower case, labels of 1 to 63 bytes. */
static void check_plain(const char *name)
{
	size_t label = 0;

	REQUIRE(strlen(name) < HOST_MAX);
	for (const char *p = name; name[0] != '\0'; p++) {
		if (*p == '.' || *p == '\0') {
			REQUIRE(label >= 1 && label <= 63);
			label = 0;
		} else {
			REQUIRE((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' ||
				*p == '_');
			label++;
		}
		if (*p == '\0') {
			return;
		}
	}
}

/* The name under in-addr.arpa or ip6.arpa that an address has is the one that was read. */
static void check_reverse(const struct dns_query *query)
{
	const unsigned char *b = query->reverse_addr.b;
	char name[HOST_MAX];
	size_t n = 0;

	REQUIRE(query->plain);
	if (query->reverse_addr.v6) {
		for (size_t i = 16; i-- > 0;) {
			n += (size_t)snprintf(name + n, sizeof(name) - n, "%x.%x.", b[i] & 15u,
					      (unsigned)b[i] >> 4);
		}
		snprintf(name + n, sizeof(name) - n, "ip6.arpa");
	} else {
		snprintf(name, sizeof(name), "%u.%u.%u.%u.in-addr.arpa", b[3], b[2], b[1], b[0]);
	}
	REQUIRE(strcmp(name, query->name) == 0);
}

/* glibc's reader and ours have read the same. */
static void check_query(const uint8_t *data, size_t size, const struct dns_query *query)
{
	ns_msg msg;
	ns_rr rr;
	bool edns = false;

	REQUIRE(ns_initparse(data, (int)size, &msg) == 0);
	REQUIRE(ns_msg_id(msg) == query->id);
	REQUIRE(ns_msg_getflag(msg, ns_f_rd) == query->recursion);
	REQUIRE(ns_msg_getflag(msg, ns_f_cd) == query->unchecked);
	REQUIRE(ns_msg_count(msg, ns_s_qd) == 1);
	REQUIRE(ns_parserr(&msg, ns_s_qd, 0, &rr) == 0);
	REQUIRE(ns_rr_type(rr) == query->type && ns_rr_class(rr) == query->klass);
	REQUIRE(strlen(query->name) < HOST_MAX);
	if (query->plain) {
		check_plain(query->name);
		REQUIRE(strcasecmp(strcmp(ns_rr_name(rr), ".") == 0 ? "" : ns_rr_name(rr),
				   query->name) == 0);
	}
	if (query->reverse) {
		check_reverse(query);
	}
	for (int i = 0; i < ns_msg_count(msg, ns_s_ar); i++) {
		/* A name that points astray makes the record unreadable; ours reads none. */
		if (ns_parserr(&msg, ns_s_ar, i, &rr) == 0 && ns_rr_type(rr) == ns_t_opt) {
			REQUIRE(!edns && query->edns);
			REQUIRE(query->signatures == ((ns_rr_ttl(rr) & 0x8000) != 0));
			edns = true;
		}
	}
	REQUIRE(edns || !query->edns);
}

/* One byte less is no query, and so is one more. */
static void check_ends(const uint8_t *data, size_t size)
{
	unsigned char *more = malloc(size + 1);

	REQUIRE(more != NULL);
	memcpy(more, data, size);
	more[size] = 0;
	REQUIRE(!taken(how_read(more, size + 1)));
	free(more);
	for (size_t n = size; n-- > 0;) {
		REQUIRE(how_read(data, n) == (n < HEADER_LEN ? DNS_DROP : DNS_FORMERR));
		/* Of long ones only some: the fuzzer's time is better spent. */
		n -= n > 200 ? n / 16 : 0;
	}
}

/* --- answers -------------------------------------------------------------------------------- */

/* The answer, with these numbers of records. Its first record, if it has one, is left in `rr`. */
static void check_answer(const struct dns_query *query, const unsigned char *out, size_t n,
			 unsigned rcode, unsigned answers, unsigned authority, ns_rr *rr)
{
	unsigned char *copy = exact(out, n);
	ns_msg msg;
	ns_rr opt;

	REQUIRE(n >= HEADER_LEN && n <= DNS_ANSWER_MAX);
	REQUIRE(how_read(out, n) == DNS_DROP);
	REQUIRE(ns_initparse(copy, (int)n, &msg) == 0);
	REQUIRE(ns_msg_id(msg) == query->id && ns_msg_getflag(msg, ns_f_qr));
	REQUIRE(ns_msg_getflag(msg, ns_f_opcode) == query->opcode);
	REQUIRE(ns_msg_getflag(msg, ns_f_rd) == query->recursion);
	REQUIRE(ns_msg_getflag(msg, ns_f_cd) == query->unchecked);
	REQUIRE(ns_msg_getflag(msg, ns_f_ra) && !ns_msg_getflag(msg, ns_f_aa));
	REQUIRE(!ns_msg_getflag(msg, ns_f_tc) && !ns_msg_getflag(msg, ns_f_ad));
	REQUIRE((unsigned)ns_msg_getflag(msg, ns_f_rcode) == (rcode & 15));
	REQUIRE(ns_msg_count(msg, ns_s_qd) == (query->question_len > 0));
	REQUIRE(query->question_len <= n - HEADER_LEN);
	REQUIRE(query->question_len == 0 ||
		memcmp(copy + HEADER_LEN, query->question, query->question_len) == 0);
	REQUIRE(ns_msg_count(msg, ns_s_an) == answers);
	REQUIRE(ns_msg_count(msg, ns_s_ns) == authority);
	REQUIRE(ns_msg_count(msg, ns_s_ar) == query->edns);
	if (query->edns) {
		REQUIRE(ns_parserr(&msg, ns_s_ar, 0, &opt) == 0);
		REQUIRE(strcmp(ns_rr_name(opt), ".") == 0 && ns_rr_type(opt) == ns_t_opt);
		REQUIRE(ns_rr_ttl(opt) ==
			((uint32_t)rcode >> 4 << 24 | (query->signatures ? 0x8000u : 0u)));
	}
	if (authority > 0) {
		REQUIRE(ns_parserr(&msg, ns_s_ns, 0, rr) == 0 && ns_rr_type(*rr) == ns_t_soa);
		REQUIRE(ns_rr_ttl(*rr) == DNS_NEGATIVE_TTL);
	}
	if (answers > 0) {
		REQUIRE(ns_parserr(&msg, ns_s_an, 0, rr) == 0 && ns_rr_ttl(*rr) == TTL);
		/* What it points to lies in the copy. */
		rr->rdata = out + (ns_rr_rdata(*rr) - copy);
	}
	free(copy);
}

/* The record is of the name that was asked for. */
static void check_owner(const struct dns_query *query, const ns_rr *rr, unsigned type, size_t len)
{
	REQUIRE(ns_rr_type(*rr) == type && ns_rr_class(*rr) == ns_c_in && ns_rr_rdlen(*rr) == len);
	if (query->plain && query->name[0] != '\0') {
		REQUIRE(strcasecmp(ns_rr_name(*rr), query->name) == 0);
	}
}

static void check_ptr(const struct dns_query *query, const char *name)
{
	unsigned char out[DNS_ANSWER_MAX];
	char read[NS_MAXDNAME];
	size_t n = dns_answer_ptr(query, name, TTL, out);
	ns_rr rr;

	if (name[0] == '\0' || query->question_len > DNS_QUESTION_MAX / 2) {
		check_answer(query, out, n, DNS_NXDOMAIN, 0, 1, &rr);
		return;
	}
	check_answer(query, out, n, DNS_NOERROR, 1, 0, &rr);
	check_owner(query, &rr, DNS_PTR, strlen(name) + 2);
	REQUIRE(ns_name_uncompress(out, out + n, ns_rr_rdata(rr), read, sizeof(read)) ==
		(int)strlen(name) + 2);
	REQUIRE(strcmp(read, name) == 0);
}

static void check_answers(const struct dns_query *query)
{
	unsigned char out[DNS_ANSWER_MAX];
	unsigned char addr6[16];
	ns_rr rr;

	check_answer(query, out, dns_answer_a(query, 0xc6120203, TTL, out), 0, 1, 0, &rr);
	check_owner(query, &rr, DNS_A, 4);
	REQUIRE(memcmp(ns_rr_rdata(rr), "\xc6\x12\2\3", 4) == 0);
	memset(addr6, query->id & 0xff, sizeof(addr6));
	check_answer(query, out, dns_answer_aaaa(query, addr6, TTL, out), 0, 1, 0, &rr);
	check_owner(query, &rr, DNS_AAAA, 16);
	REQUIRE(memcmp(ns_rr_rdata(rr), addr6, sizeof(addr6)) == 0);
	check_ptr(query, "localhost");
	if (query->plain) {
		check_ptr(query, query->name);
	}
	for (unsigned rcode = DNS_NOERROR; rcode <= DNS_REFUSED; rcode++) {
		size_t n = dns_answer_empty(query, (enum dns_rcode)rcode, out);

		check_answer(query, out, n, rcode, 0, rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN,
			     &rr);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char out[DNS_ANSWER_MAX];
	unsigned char *copy = exact(data, size);
	struct dns_query query;
	enum dns_read how = dns_read(copy, size, &query);
	size_t n = dns_answer_broken(&query, how, out);
	ns_rr rr;

	REQUIRE(taken(how) == (query.question != NULL) && taken(how) == (query.question_len > 0));
	if (taken(how)) {
		REQUIRE(query.question == copy + HEADER_LEN);
		check_query(copy, size, &query);
		check_ends(data, size);
		check_answers(&query);
	}
	if (how == DNS_OK || how == DNS_DROP) {
		REQUIRE(n == 0);
	} else {
		check_answer(&query, out, n,
			     how == DNS_FORMERR  ? DNS_RC_FORMERR
			     : how == DNS_NOTIMP ? DNS_RC_NOTIMP
						 : 16,
			     0, 0, &rr);
	}
	free(copy);
	return 0;
}
