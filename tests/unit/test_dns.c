/* DNS queries of every good and broken shape. */
#include "dns_kit.h"

#include <arpa/inet.h>

/* --- questions ------------------------------------------------------------------------------ */

static void test_question(void **state)
{
	struct packet p = asking("wWw.Ex-4_Mple.COM", DNS_AAAA, 0);
	struct dns_query query = must_read(&p);

	(void)state;
	assert_int_equal(query.id, ID);
	assert_int_equal(query.type, DNS_AAAA);
	assert_int_equal(query.klass, DNS_IN);
	assert_int_equal(query.opcode, 0);
	assert_true(query.recursion);
	assert_false(query.unchecked || query.edns || query.signatures || query.reverse);
	assert_true(query.plain);
	assert_string_equal(query.name, "www.ex-4_mple.com");
	assert_int_equal(query.question_len, p.n - HEADER_LEN);
	p = header(0x0010, 1, 0, 0, 0);
	put_name(&p, "a");
	put16(&p, 0xffff);
	put16(&p, 3);
	query = must_read(&p);
	assert_int_equal(query.type, 0xffff);
	assert_int_equal(query.klass, 3);
	assert_true(query.unchecked && !query.recursion);
	/* AA, TC, RA, Z, AD and an RCODE mean nothing in a query. */
	p = header(0x0600 | 0x00ef, 1, 0, 0, 0);
	put_question(&p, "a", DNS_A);
	query = must_read(&p);
	assert_true(!query.unchecked && !query.recursion && query.opcode == 0);
}

static void test_names(void **state)
{
	static const struct {
		const char *bytes, *text;
		size_t len;
		bool plain;
	} rows[] = {
		{"\0", "", 1, true},
		{"\1a\0", "a", 3, true},
		{"\3a.b\1c\0", "a?b.c", 7, false},
		{"\3a\0b\0", "a?b", 5, false},
		{"\3a b\0", "a b", 5, false},
		{"\1*\2ok\0", "*.ok", 6, false},
		{"\2\xff\x01\0", "\xff\x01", 4, false},
		{"\4b\xc3\xbc"
		 "c\0",
		 "b\xc3\xbc"
		 "c",
		 6, false},
		{"\2\xc0\x0c\0", "\xc0\x0c", 4, false}, /* a label's bytes, no pointer */
	};
	struct dns_query query;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct packet p = header(RD, 1, 0, 0, 0);

		put(&p, rows[i].bytes, rows[i].len);
		put16(&p, DNS_A);
		put16(&p, DNS_IN);
		query = must_read(&p);
		assert_string_equal(query.name, rows[i].text);
		assert_int_equal(query.plain, rows[i].plain);
		assert_false(query.reverse);
	}
	/* As long as a name may be: in few labels, and in many. */
	struct packet p = asking(longest(), DNS_A, 0);
	query = must_read(&p);
	assert_true(query.plain);
	assert_string_equal(query.name, longest());
	assert_int_equal(query.question_len, DNS_QUESTION_MAX);
	p = header(RD, 1, 0, 0, 0);
	for (int i = 0; i < 127; i++) {
		put(&p, "\1z", 2);
	}
	put_question(&p, "", DNS_A);
	query = must_read(&p);
	assert_int_equal(strlen(query.name), HOST_MAX - 1);
	assert_int_equal(query.question_len, DNS_QUESTION_MAX);
}

static void test_every_byte(void **state)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		struct packet p = header(RD, 1, 0, 0, 0);
		char text[] = {(char)c, '\0'};

		put(&p, (unsigned char[]){1, (unsigned char)c, 0}, 3);
		put16(&p, DNS_A);
		put16(&p, DNS_IN);
		struct dns_query query = must_read(&p);
		text[0] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : text[0];
		text[0] = c == 0 || c == '.' ? '?' : text[0];
		assert_string_equal(query.name, text);
		assert_int_equal(query.plain, strchr(fine, text[0]) != NULL);
	}
}

static void test_broken_names(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{"\xc0\x0c", 2},    /* a pointer to itself */
		{"\xc0\x00", 2},    /* into the header */
		{"\xc0\x0e", 2},    /* forward, over itself */
		{"\1a\xc0\x0c", 4}, /* back, which would never end */
		{"\1a\xc0\x0e", 4}, /* to itself */
		{"\xff\xff", 2},    /* far out */
		{"\x40\0", 2},      /* kinds of labels that are no more */
		{"\x80\0", 2},      /* and never were */
		{"\1a\x41"
		 "bitstring\0",
		 13},        /* RFC 2673 */
		{"\3ab", 3}, /* reaches into the type */
		{"\77", 1},  /* and beyond the packet */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct packet p = header(RD, 1, 0, 0, 0);

		put(&p, rows[i].bytes, rows[i].len);
		put16(&p, DNS_A);
		put16(&p, DNS_IN);
		assert_int_equal(how_read(&p), DNS_FORMERR);
	}
	/* The packet ends where the next label would begin. */
	for (size_t n = 1; n < 40; n++) {
		struct packet p = header(RD, 1, 0, 0, 0);

		put(&p, &(unsigned char){(unsigned char)n}, 1);
		put(&p, longest(), n);
		assert_int_equal(how_read(&p), DNS_FORMERR);
	}
	/* A label of 64 bytes, and names that are one byte too long. */
	struct packet p = header(RD, 1, 0, 0, 0);
	put(&p, "\x40", 1);
	put(&p, longest(), 63);
	put(&p, "x", 1);
	put_question(&p, "", DNS_A);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	char name[HOST_MAX + 1];
	snprintf(name, sizeof(name), "%sx", longest());
	p = asking(name, DNS_A, 0);
	assert_int_equal(p.n, HEADER_LEN + DNS_QUESTION_MAX + 1);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	p = header(RD, 1, 0, 0, 0);
	for (int i = 0; i < 500; i++) {
		put(&p, "\1z", 2);
	}
	put_question(&p, "", DNS_A);
	assert_int_equal(how_read(&p), DNS_FORMERR);
}

static void test_headers(void **state)
{
	static const unsigned counts[][4] = {
		{0, 0, 0, 0}, {2, 0, 0, 0}, {0xffff, 0, 0, 0}, {1, 1, 0, 0},
		{1, 0, 1, 0}, {1, 0, 0, 1}, {1, 0, 0, 0xffff}, {1, 0xffff, 0xffff, 0xffff},
	};
	struct dns_query query;
	struct packet p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		const unsigned *c = counts[i];

		p = header(RD, c[0], c[1], c[2], c[3]);
		put_question(&p, "ok.test", DNS_A);
		assert_int_equal(read_as(&p, &query), DNS_FORMERR);
		assert_int_equal(query.id, ID);
		assert_true(query.recursion);
	}
	/* Two that are really there are one too many, and so is none at all. */
	p = header(RD, 2, 0, 0, 0);
	put_question(&p, "ok.test", DNS_A);
	put_question(&p, "evil.test", DNS_A);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	p = header(RD, 0, 0, 0, 0);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	/* An answer among the counted, as RFC 1996 has it for NOTIFY. */
	p = header(RD, 1, 1, 0, 0);
	put_question(&p, "ok.test", DNS_A);
	put_name(&p, "ok.test");
	put_record(&p, DNS_A, DNS_IN, 1, 0);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	/* Other operations are told so without being read. */
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		p = header(RD | opcode << 11, 7, 7, 7, 7);
		assert_int_equal(read_as(&p, &query), DNS_NOTIMP);
		assert_int_equal(query.opcode, opcode);
		assert_int_equal(query.id, ID);
	}
	/* Answers are not answered, whatever else they are: else two servers would talk for ever.
	 */
	for (unsigned opcode = 0; opcode < 16; opcode++) {
		p = asking("ok.test", DNS_A, 0);
		p.v[2] = (unsigned char)(0x80 | opcode << 3);
		assert_int_equal(how_read(&p), DNS_DROP);
	}
}

static void test_lengths(void **state)
{
	struct packet p = asking("ok.test", DNS_A, 1);
	struct dns_query query;

	(void)state;
	put_opt(&p, 0, 4);
	put16(&p, 10);
	put16(&p, 0);
	for (size_t n = 0; n < p.n; n++) {
		assert_int_equal(read_n(&p, n, &query), n < HEADER_LEN ? DNS_DROP : DNS_FORMERR);
	}
	must_read(&p);
	put(&p, "", 1);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	p = asking("ok.test", DNS_A, 0);
	must_read(&p);
	put(&p, "\0", 1);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	/* As long as can be, and longer. */
	p = asking("ok.test", DNS_A, 1);
	put_opt(&p, 0, DNS_QUERY_MAX - p.n - 11);
	while (p.n < DNS_QUERY_MAX) {
		put(&p, "", 1);
	}
	must_read(&p);
	put(&p, "", 1);
	assert_int_equal(how_read(&p), DNS_DROP);
	assert_int_equal(read_n(&p, ROOM, &query), DNS_DROP);
}

/* --- EDNS ----------------------------------------------------------------------------------- */

static void test_edns(void **state)
{
	struct dns_query query;
	struct packet p = asking("ok.test", DNS_A, 1);

	(void)state;
	put_opt(&p, 0, 0);
	query = must_read(&p);
	assert_true(query.edns && !query.signatures);
	/* DO, and bits that mean nothing yet. */
	p = asking("ok.test", DNS_A, 1);
	put_opt(&p, 0xffff, 3);
	put(&p, "any", 3);
	query = must_read(&p);
	assert_true(query.edns && query.signatures);
	assert_string_equal(query.name, "ok.test");
	for (uint32_t version = 1; version < 256; version += 127) {
		p = asking("ok.test", DNS_A, 1);
		put_opt(&p, version << 16 | 0x8000, 0);
		assert_int_equal(read_as(&p, &query), DNS_BADVERS);
		assert_true(query.edns && query.signatures);
		assert_string_equal(query.name, "ok.test");
	}
	/* Beside other records, in any order: a TSIG (RFC 8945), and one of the question's name. */
	p = asking("ok.test", DNS_A, 3);
	put16(&p, 0xc00c);
	put_record(&p, 250, 255, 0, 2);
	put(&p, "xy", 2);
	put_opt(&p, 0x8000, 0);
	put(&p, "\1a\xc0\x0c", 4);
	put_record(&p, 16, DNS_IN, 0, 0);
	query = must_read(&p);
	assert_true(query.edns && query.signatures);
}

static void test_bad_edns(void **state)
{
	struct packet p = asking("ok.test", DNS_A, 2);

	(void)state;
	/* Two of them, even of the same words, whatever their version. */
	for (uint32_t i = 0; i < 4; i++) {
		p = asking("ok.test", DNS_A, 2);
		put_opt(&p, (i & 1) << 16, 0);
		put_opt(&p, (i >> 1) << 16, 0);
		assert_int_equal(how_read(&p), DNS_FORMERR);
	}
	/* One that has another name than the root, or a pointer to it. */
	p = asking("ok.test", DNS_A, 1);
	put_name(&p, "a");
	put_record(&p, 41, 1232, 0, 0);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	p = asking("ok.test", DNS_A, 1);
	put16(&p, 0xc000 | (HEADER_LEN + 8));
	put_record(&p, 41, 1232, 0, 0);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	/* More data than there is, less than there is, none counted. */
	p = asking("ok.test", DNS_A, 1);
	put_opt(&p, 0, 5);
	put(&p, "four", 4);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	p = asking("ok.test", DNS_A, 1);
	put_opt(&p, 0, 0xffff);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	p = asking("ok.test", DNS_A, 1);
	put_opt(&p, 0, 3);
	put(&p, "four", 4);
	assert_int_equal(how_read(&p), DNS_FORMERR);
	p = asking("ok.test", DNS_A, 0);
	put_opt(&p, 0, 0);
	assert_int_equal(how_read(&p), DNS_FORMERR);
}

static void test_broken_owners(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {{"", 0}, {"\1", 1}, {"\x40", 1}, {"\x80\0", 2}, {"\1a", 2}, {"\xc0", 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct packet p = asking("ok.test", DNS_A, 1);

		put(&p, rows[i].bytes, rows[i].len);
		assert_int_equal(how_read(&p), DNS_FORMERR);
		/* The end of the record comes, but where the name took its first bytes. */
		put_record(&p, 16, DNS_IN, 0, 0);
		assert_int_equal(how_read(&p), DNS_FORMERR);
	}
	/* Too long by one byte: with a pointer at its end, and without. */
	for (int longer = 0; longer < 2; longer++) {
		for (int pointer = 0; pointer < 2; pointer++) {
			struct packet p = asking("ok.test", DNS_A, 1);
			char name[HOST_MAX + 1];

			snprintf(name, sizeof(name), "%s%s", longest(), longer ? "x" : "");
			put_name(&p, name);
			if (pointer) { /* its last label ends a byte earlier then */
				p.v[p.n - 2 - 61 - longer]--;
				p.v[p.n - 2] = 0xc0;
				p.v[p.n - 1] = HEADER_LEN;
			}
			put_record(&p, 16, DNS_IN, 0, 0);
			assert_int_equal(how_read(&p), longer ? DNS_FORMERR : DNS_OK);
		}
	}
}

/* --- reverse names -------------------------------------------------------------------------- */

static void test_reverse(void **state)
{
	static const struct {
		const char *name, *addr; /* NULL: none */
	} rows[] = {
		{"4.3.2.1.in-addr.arpa", "1.2.3.4"},
		{"1.0.18.198.IN-ADDR.ARPA", "198.18.0.1"},
		{"255.255.255.255.in-addr.arpa", "255.255.255.255"},
		{"0.0.0.0.in-addr.arpa", "0.0.0.0"},
		{NIBBLES_1 "8.b.d.0.1.0.0.2.ip6.arpa", "2001:db8::1"},
		{NIBBLES_1 "8.B.D.0.1.0.0.2.IP6.arpa", "2001:db8::1"},
		{NIBBLES_1 "0.0.0.0.0.0.0.0.ip6.arpa", "::1"},
		{"3.2.1.in-addr.arpa", NULL},
		{"5.4.3.2.1.in-addr.arpa", NULL},
		{"4.3.2.256.in-addr.arpa", NULL},
		{"4.3.2.01.in-addr.arpa", NULL},
		{"4.3.2.0001.in-addr.arpa", NULL},
		{"4294967297.3.2.1.in-addr.arpa", NULL},
		{"4.3.2.x.in-addr.arpa", NULL},
		{"4.3.2.-1.in-addr.arpa", NULL},
		{"4.3.2.1.in-addr.arpa.test", NULL},
		{"4.3.2.1.in-addr", NULL},
		{"4.3.2.1", NULL},
		{"4.3.2", NULL},
		{"in-addr.arpa", NULL},
		{"ip6.arpa", NULL},
		{"1.ip6.arpa", NULL},
		{NIBBLES_1 "8.b.d.0.1.0.0.2", NULL},
		{NIBBLES_1 "8.b.d.0.1.0.0.2.0.ip6.arpa", NULL},
		{NIBBLES_1 "8.b.d.0.1.0.0.g.ip6.arpa", NULL},
		{NIBBLES_1 "8.b.d.0.1.0.0.20.ip6.arpa", NULL},
		{NIBBLES_1 "8.b.d.0.1.0.0.ip6.arpa", NULL},
		{NIBBLES_1 "8.b.d.0.1.0.0.2.ip6.arpa.x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct packet p = asking(rows[i].name, DNS_PTR, 0);
		struct dns_query query = must_read(&p);
		char text[INET6_ADDRSTRLEN];

		assert_int_equal(query.reverse, rows[i].addr != NULL);
		if (query.reverse) {
			inet_ntop(query.reverse_addr.v6 ? AF_INET6 : AF_INET, query.reverse_addr.b,
				  text, sizeof(text));
			assert_string_equal(text, rows[i].addr);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question),      cmocka_unit_test(test_names),
		cmocka_unit_test(test_every_byte),    cmocka_unit_test(test_broken_names),
		cmocka_unit_test(test_headers),       cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_edns),          cmocka_unit_test(test_bad_edns),
		cmocka_unit_test(test_broken_owners), cmocka_unit_test(test_reverse),
	};

	return cmocka_run_group_tests_name("dns", tests, NULL, NULL);
}
