/* DNS answers, as glibc's reader sees them. */
#include "dns_kit.h"

#include <arpa/nameser.h>
#include <strings.h>

/* An answer in memory of its exact size, read by glibc. */
struct answer {
	unsigned char *v;
	size_t n;
	ns_msg msg;
};

static struct answer answer_of(const unsigned char *out, size_t n)
{
	struct answer a = {.v = malloc(n), .n = n};

	assert_in_range(n, HEADER_LEN, DNS_ANSWER_MAX);
	memcpy(a.v, out, n);
	assert_int_equal(ns_initparse(a.v, (int)n, &a.msg), 0);
	assert_int_equal(ns_msg_id(a.msg), ID);
	assert_int_equal(ns_msg_getflag(a.msg, ns_f_qr), 1);
	assert_int_equal(ns_msg_getflag(a.msg, ns_f_ra), 1);
	/* Never cut off, never vouched for, never from the source itself. */
	assert_int_equal(ns_msg_getflag(a.msg, ns_f_tc), 0);
	assert_int_equal(ns_msg_getflag(a.msg, ns_f_ad), 0);
	assert_int_equal(ns_msg_getflag(a.msg, ns_f_aa), 0);
	assert_int_equal(ns_msg_getflag(a.msg, ns_f_z), 0);
	return a;
}

static ns_rr record(struct answer *a, ns_sect section, int i)
{
	ns_rr rr;

	assert_int_equal(ns_parserr(&a->msg, section, i, &rr), 0);
	return rr;
}

/* Question and RCODE as they should be; how many records there are. */
static void expect_frame(struct answer *a, const struct dns_query *query, int rcode, int answers,
			 int authority)
{
	assert_int_equal(ns_msg_getflag(a->msg, ns_f_rcode), rcode);
	assert_int_equal(ns_msg_getflag(a->msg, ns_f_rd), query->recursion);
	assert_int_equal(ns_msg_getflag(a->msg, ns_f_cd), query->unchecked);
	assert_int_equal(ns_msg_getflag(a->msg, ns_f_opcode), query->opcode);
	assert_int_equal(ns_msg_count(a->msg, ns_s_qd), query->question_len > 0);
	assert_memory_equal(a->v + HEADER_LEN, query->question, query->question_len);
	assert_int_equal(ns_msg_count(a->msg, ns_s_an), answers);
	assert_int_equal(ns_msg_count(a->msg, ns_s_ns), authority);
	assert_int_equal(ns_msg_count(a->msg, ns_s_ar), query->edns);
	if (query->edns) {
		ns_rr opt = record(a, ns_s_ar, 0);

		assert_string_equal(ns_rr_name(opt), ".");
		assert_int_equal(ns_rr_type(opt), ns_t_opt);
		assert_int_equal(ns_rr_class(opt), DNS_QUERY_MAX);
		assert_int_equal(ns_rr_ttl(opt) & 0xffffff, query->signatures ? 0x8000 : 0);
		assert_int_equal(ns_rr_rdlen(opt), 0);
	}
	if (authority > 0) {
		ns_rr soa = record(a, ns_s_ns, 0);
		const unsigned char *minimum = ns_rr_rdata(soa) + ns_rr_rdlen(soa) - 4;

		assert_int_equal(ns_rr_type(soa), ns_t_soa);
		assert_int_equal(ns_rr_ttl(soa), DNS_NEGATIVE_TTL);
		assert_int_equal(ns_get32(minimum), DNS_NEGATIVE_TTL);
	}
}

static void expect_record(struct answer *a, const struct dns_query *query, unsigned type,
			  const void *data, size_t len)
{
	ns_rr rr = record(a, ns_s_an, 0);

	assert_int_equal(strcasecmp(ns_rr_name(rr), query->name), 0);
	assert_int_equal(ns_rr_type(rr), type);
	assert_int_equal(ns_rr_class(rr), DNS_IN);
	assert_int_equal(ns_rr_ttl(rr), 77);
	assert_int_equal(ns_rr_rdlen(rr), len);
	assert_memory_equal(ns_rr_rdata(rr), data, len);
}

/* Every kind of answer to that query. */
static void answer_all(const struct dns_query *query)
{
	static const unsigned char addr6[16] = {0x20, 1, 0xd, 0xb8, [15] = 7};
	static const enum dns_rcode rcodes[] = {DNS_NOERROR,  DNS_RC_FORMERR, DNS_SERVFAIL,
						DNS_NXDOMAIN, DNS_RC_NOTIMP,  DNS_REFUSED};
	unsigned char out[DNS_ANSWER_MAX];
	struct answer a = answer_of(out, dns_answer_a(query, 0xc6120001, 77, out));

	expect_frame(&a, query, 0, 1, 0);
	expect_record(&a, query, DNS_A, "\xc6\x12\0\1", 4);
	free(a.v);
	a = answer_of(out, dns_answer_aaaa(query, addr6, 77, out));
	expect_frame(&a, query, 0, 1, 0);
	expect_record(&a, query, DNS_AAAA, addr6, sizeof(addr6));
	free(a.v);
	for (size_t i = 0; i < ARRAY_LEN(rcodes); i++) {
		bool soa = rcodes[i] == DNS_NOERROR || rcodes[i] == DNS_NXDOMAIN;

		a = answer_of(out, dns_answer_empty(query, rcodes[i], out));
		expect_frame(&a, query, (int)rcodes[i], 0, soa);
		free(a.v);
	}
}

static void test_answers(void **state)
{
	static const char *const names[] = {"", "a", "wWw.OK.test", NULL};
	unsigned flags[] = {0, RD, 0x0010, RD | 0x0010};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names) * ARRAY_LEN(flags) * 3; i++) {
		const char *name = names[i % ARRAY_LEN(names)];
		size_t opt = i / ARRAY_LEN(names) % 3;
		struct packet p = header(flags[i / ARRAY_LEN(names) / 3], 1, 0, 0, opt > 0);

		put_question(&p, name != NULL ? name : longest(), DNS_A);
		if (opt > 0) {
			put_opt(&p, opt > 1 ? 0x8000 : 0, 0);
		}
		struct dns_query query = must_read(&p);
		if (query.name[0] != '\0') {
			answer_all(&query);
		}
		unsigned char out[DNS_ANSWER_MAX];
		struct answer a = answer_of(out, dns_answer_empty(&query, DNS_NOERROR, out));
		expect_frame(&a, &query, 0, 0, 1);
		free(a.v);
	}
}

/* Byte for byte. */
static void test_answer_bytes(void **state)
{
	static const unsigned char wanted[] = "\xbe\xef\x81\x80\0\1\0\1\0\0\0\1"
					      "\2Ok\4TEST\0\0\1\0\1"
					      "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\xc6\x12\0\1"
					      "\0\0\x29\4\xd0\0\0\x80\0\0";
	struct packet p = asking("Ok.TEST", DNS_A, 1);
	unsigned char out[DNS_ANSWER_MAX];

	(void)state;
	put_opt(&p, 0x8000, 0);
	struct dns_query query = must_read(&p);
	assert_int_equal(dns_answer_a(&query, 0xc6120001, 30, out), sizeof(wanted));
	assert_memory_equal(out, wanted, sizeof(wanted));
}

static void test_ptr(void **state)
{
	static const char *const names[] = {"localhost", "a.b", "www.ok.test", NULL};
	static const char longest_reverse[] = NIBBLES_1 "8.b.d.0.1.0.0.2.ip6.arpa";
	unsigned char out[DNS_ANSWER_MAX];
	struct packet p = asking(longest_reverse, DNS_PTR, 1);
	struct answer a;

	(void)state;
	put_opt(&p, 0, 0);
	struct dns_query query = must_read(&p);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *name = names[i] != NULL ? names[i] : longest();
		struct packet wanted = {.n = 0};

		put_name(&wanted, name);
		a = answer_of(out, dns_answer_ptr(&query, name, 77, out));
		expect_frame(&a, &query, 0, 1, 0);
		expect_record(&a, &query, DNS_PTR, wanted.v, wanted.n);
		free(a.v);
	}
	/* What would not fit is no name. */
	char name[HOST_MAX + 1];
	snprintf(name, sizeof(name), "%sx", longest());
	a = answer_of(out, dns_answer_ptr(&query, name, 77, out));
	expect_frame(&a, &query, DNS_NXDOMAIN, 0, 1);
	free(a.v);
	a = answer_of(out, dns_answer_ptr(&query, "", 77, out));
	expect_frame(&a, &query, DNS_NXDOMAIN, 0, 1);
	free(a.v);
	p = asking(longest(), DNS_PTR, 0);
	query = must_read(&p);
	a = answer_of(out, dns_answer_ptr(&query, longest(), 77, out));
	expect_frame(&a, &query, DNS_NXDOMAIN, 0, 1);
	free(a.v);
}

static void test_answers_to_broken(void **state)
{
	unsigned char out[DNS_ANSWER_MAX];
	struct packet p = header(RD | 0x0010, 0, 0, 0, 0);
	struct dns_query query;

	(void)state;
	assert_int_equal(read_as(&p, &query), DNS_FORMERR);
	struct answer a = answer_of(out, dns_answer_broken(&query, DNS_FORMERR, out));
	expect_frame(&a, &query, DNS_RC_FORMERR, 0, 0);
	assert_int_equal(a.n, HEADER_LEN);
	free(a.v);
	p = header(RD | 5 << 11, 1, 0, 0, 0); /* UPDATE */
	assert_int_equal(read_as(&p, &query), DNS_NOTIMP);
	a = answer_of(out, dns_answer_broken(&query, DNS_NOTIMP, out));
	expect_frame(&a, &query, DNS_RC_NOTIMP, 0, 0);
	assert_int_equal(a.n, HEADER_LEN);
	free(a.v);
	/* Its RCODE is in two places. */
	p = asking(longest(), DNS_A, 1);
	put_opt(&p, 0x018000, 0);
	assert_int_equal(read_as(&p, &query), DNS_BADVERS);
	a = answer_of(out, dns_answer_broken(&query, DNS_BADVERS, out));
	expect_frame(&a, &query, 0, 0, 0);
	assert_int_equal(ns_rr_ttl(record(&a, ns_s_ar, 0)) >> 24, 1);
	free(a.v);
	assert_int_equal(dns_answer_broken(&query, DNS_DROP, out), 0);
	assert_int_equal(dns_answer_broken(&query, DNS_OK, out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_answer_bytes),
		cmocka_unit_test(test_ptr),
		cmocka_unit_test(test_answers_to_broken),
	};

	return cmocka_run_group_tests_name("dns answer", tests, NULL, NULL);
}
