/* What the program's questions are answered, what leaves the machine for them, and what is told. */
#include "resolver_kit.h"

static void test_granted(void **state)
{
	struct world *w = begin();

	(void)state;
	uint32_t addr = expect_address(w, "ok.test");
	/* One look-up, however often and for whatever is asked. */
	assert_int_equal(w->server.asked, 2);
	assert_int_equal(expect_address(w, "ok.test"), addr);
	expect_rcode(w, "ok.test", DNS_AAAA, DNS_NOERROR);
	expect_rcode(w, "ok.test", TYPE_HTTPS, DNS_NOERROR);
	expect_rcode(w, "ok.test", TYPE_MX, DNS_NOERROR);
	expect_rcode(w, "ok.test", TYPE_ANY, DNS_NOERROR);
	assert_int_equal(w->server.asked, 2);
	assert_int_equal(logged(w, "\"host\":\"ok.test\""), 1);
	assert_int_equal(logged(w, "\"verdict\":\"allowed\""), 1);
	/* What is no address is answered without a look-up. */
	expect_rcode(w, "a.ok.test", TYPE_MX, DNS_NOERROR);
	expect_rcode(w, "_xmpp._tcp.a.ok.test", TYPE_SRV, DNS_NOERROR);
	assert_int_equal(w->server.asked, 2);
	/* AAAA alone is, and has no record. */
	expect_rcode(w, "a.ok.test", DNS_AAAA, DNS_NOERROR);
	assert_int_equal(w->server.asked, 4);
	assert_int_not_equal(expect_address(w, "a.ok.test"), addr);
	assert_int_equal(w->server.asked, 4);
	assert_int_equal(logged(w, "\"verdict\":\"refused\""), 0);
	end(w);
}

static void test_hosts_file(void **state)
{
	struct world *w = begin();

	(void)state;
	expect_address(w, "nas.local");
	assert_int_equal(w->server.asked, 0);
	assert_int_equal(logged(w, "\"section\":\"lan\""), 1);
	end(w);
}

static void test_both_families(void **state)
{
	struct world *w = begin();
	struct packet p = asking("OK.test", DNS_A, 0);
	int fd[] = {asker(&w->udp6, sizeof(w->udp6)), asker4(w), asker(&w->udp6, sizeof(w->udp6))};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		send_packet(fd[i], &p);
	}
	for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
		struct reply reply = next_reply(w, fd[i]);

		assert_int_equal(reply.answers, 1);
		assert_string_equal(names_of(w->names, reply.addr), "ok.test");
		close(fd[i]);
	}
	assert_int_equal(w->server.asked, 2);
	end(w);
}

/* Nothing of it leaves the machine, in no type. */
static void test_refused(void **state)
{
	static const struct {
		const char *name;
		unsigned type;
		const char *told;
	} rows[] = {
		{"evil.test", DNS_A, "evil.test"},
		{"evil.test", TYPE_TXT, NULL},
		{"secret.data.evil.test", TYPE_TXT, "secret.data.evil.test"},
		{"evilok.test", TYPE_HTTPS, "evilok.test"},
		{"test", DNS_AAAA, "test"},
		{"local", TYPE_MX, "local"},
		{"_xmpp._tcp.other.test", TYPE_SRV, "other.test"},
		{"_dmarc.third.test", DNS_A, "_dmarc.third.test"},
		{"_odd", TYPE_SRV, "_odd"},
		{"1.2.3.4", DNS_A, "1.2.3.4"},
		{"a b.test", DNS_A, "a b.test"},
		{"caf\xc3\xa9.ok.test", DNS_A, "caf\xc3\xa9.ok.test"},
		{"*.ok.test", DNS_A, "*.ok.test"},
	};
	struct world *w = begin();
	char text[128];
	unsigned told = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect_rcode(w, rows[i].name, rows[i].type, DNS_NXDOMAIN);
		if (rows[i].told != NULL) {
			told++;
			snprintf(text, sizeof(text), "\"host\":\"%s\"", rows[i].told);
			if (logged(w, text) != 1) {
				fail_msg("%s: told %u times", text, logged(w, text));
			}
		}
		assert_int_equal(logged(w, "\"verdict\":\"refused\""), told);
	}
	assert_int_equal(w->server.asked, 0);
	end(w);
}

static void test_failures(void **state)
{
	struct world *w = begin();

	(void)state;
	for (int i = 0; i < 2; i++) { /* the second time as it is known */
		expect_rcode(w, "gone.test", DNS_A, DNS_NXDOMAIN);
		expect_rcode(w, "gone.test", DNS_AAAA, DNS_NXDOMAIN);
		expect_rcode(w, "broken.test", DNS_A, DNS_SERVFAIL);
		expect_rcode(w, "broken.test", DNS_AAAA, DNS_SERVFAIL);
		expect_rcode(w, "empty.test", DNS_A, DNS_NXDOMAIN);
	}
	assert_int_equal(w->server.asked, 6);
	/* Not for long. */
	kit_spin(w->gate, RESOLVE_FAILED_MS + 100);
	expect_rcode(w, "gone.test", DNS_A, DNS_NXDOMAIN);
	assert_int_equal(w->server.asked, 8);
	/* They are granted, each look-up once. */
	assert_int_equal(logged(w, "\"verdict\":\"allowed\""), 4);
	assert_int_equal(logged(w, "\"verdict\":\"refused\""), 0);
	end(w);
}

/* A proxy alone may know the names. */
static void test_proxied(void **state)
{
	struct world *w = begin_with(true);

	(void)state;
	expect_address(w, "gone.test");
	expect_address(w, "ok.test");
	expect_rcode(w, "ok.test", DNS_AAAA, DNS_NOERROR);
	expect_rcode(w, "evil.test", DNS_A, DNS_NXDOMAIN);
	assert_int_equal(w->server.asked, 0);
	end(w);
}

#define REVERSE_1 "0.0.0.0.0.0.0.0.ip6.arpa"

static void test_own_names(void **state)
{
	static const unsigned char loopback6[16] = {[15] = 1};
	static const char *const local[] = {"localhost", "LocalHost", "a.localhost"};
	struct world *w = begin();
	struct reply reply;
	char name[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(local); i++) {
		reply = ask(w, local[i], DNS_A);
		assert_int_equal(reply.addr, 0x7f000001);
		reply = ask(w, local[i], DNS_AAAA);
		assert_int_equal(reply.answers, 1);
		assert_memory_equal(reply.addr6, loopback6, 16);
		expect_rcode(w, local[i], TYPE_MX, DNS_NOERROR);
	}
	reply = ask(w, "1.0.0.127.in-addr.arpa", DNS_PTR);
	assert_string_equal(reply.name, "localhost");
	reply = ask(w, NIBBLES_1 REVERSE_1, DNS_PTR);
	assert_string_equal(reply.name, "localhost");
	expect_rcode(w, "1.0.0.127.in-addr.arpa", DNS_A, DNS_NOERROR);
	/* The address of a name, when it has one. */
	uint32_t addr = expect_address(w, "nas.local");
	snprintf(name, sizeof(name), "%u.%u.%u.%u.in-addr.arpa", addr & 255, addr >> 8 & 255,
		 addr >> 16 & 255, addr >> 24);
	reply = ask(w, name, DNS_PTR);
	assert_string_equal(reply.name, "nas.local");
	expect_rcode(w, name, TYPE_TXT, DNS_NOERROR);
	/* Others are unknown, and nothing to tell. */
	expect_rcode(w, "1.1.1.1.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN);
	expect_rcode(w, "9.9.18.198.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN);
	expect_rcode(w, NIBBLES_1 "8.b.d.0.1.0.0.2.ip6.arpa", DNS_PTR, DNS_NXDOMAIN);
	expect_rcode(w, "", 2, DNS_NOERROR); /* the root's name servers */
	assert_int_equal(logged(w, "refused"), 0);
	assert_int_equal(w->server.asked, 0);
	end(w);
}

static void test_probes(void **state)
{
	static const char *const probes[] = {"_dns.resolver.arpa", "resolver.arpa", "ipv4only.arpa",
					     "use-application-dns.net"};
	struct world *w = begin();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		expect_rcode(w, probes[i], i == 0 ? 64 : DNS_A, DNS_NXDOMAIN);
	}
	assert_int_equal(logged(w, "refused"), 0);
	expect_rcode(w, "a.use-application-dns.net", DNS_A, DNS_NXDOMAIN);
	expect_rcode(w, "notresolver.arpa", DNS_A, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 2);
	end(w);
}

static void test_odd_packets(void **state)
{
	struct world *w = begin();
	int fd = asker4(w);
	struct packet p = header(RD, 0, 0, 0, 0);

	(void)state;
	send_packet(fd, &p);
	assert_int_equal(next_reply(w, fd).rcode, DNS_RC_FORMERR);
	p = header(RD | 4 << 11, 1, 0, 0, 0);
	send_packet(fd, &p);
	assert_int_equal(next_reply(w, fd).rcode, DNS_RC_NOTIMP);
	p = asking("ok.test", DNS_A, 1);
	put_opt(&p, 1 << 16, 0);
	send_packet(fd, &p);
	assert_int_equal(next_reply(w, fd).rcode, 0);
	p = asking("ok.test", DNS_A, 0);
	p.v[p.n - 1] = 3; /* CHAOS */
	send_packet(fd, &p);
	assert_int_equal(next_reply(w, fd).rcode, DNS_REFUSED);
	/* No answer to those; the next one has its own. */
	p = asking("ok.test", DNS_A, 0);
	p.v[2] |= 0x80;
	send_packet(fd, &p);
	p.n = 11;
	send_packet(fd, &p);
	p.n = 0;
	send_packet(fd, &p);
	p = asking("ok.test", DNS_A, 1);
	put_opt(&p, 0, DNS_QUERY_MAX + 1 - p.n - 11);
	while (p.n <= DNS_QUERY_MAX) {
		put(&p, "", 1);
	}
	send_packet(fd, &p);
	p.n = 4000;
	send_packet(fd, &p);
	p = asking("localhost", DNS_A, 0);
	p.v[1] = 7;
	send_packet(fd, &p);
	assert_int_equal(next_reply(w, fd).id, (ID & 0xff00) | 7);
	kit_spin(w->gate, 20);
	assert_int_equal(recv(fd, p.v, sizeof(p.v), MSG_DONTWAIT), -1);
	assert_int_equal(w->server.asked, 0);
	close(fd);
	end(w);
}

/* --- what is told ------------------------------------------------------------------------------
 */

/* A look-up of a program is told once: its questions of all types, and with the domain behind. */
static void test_told_once(void **state)
{
	assert_int_equal(sethostname("box.home.test", 13), 0);
	struct world *w = begin();
	assert_int_equal(sethostname("box", 3), 0);

	(void)state;
	expect_rcode(w, "evil.test", DNS_A, DNS_NXDOMAIN);
	expect_rcode(w, "evil.test", DNS_AAAA, DNS_NXDOMAIN);
	expect_rcode(w, "evil.test", TYPE_HTTPS, DNS_NXDOMAIN);
	expect_rcode(w, "evil.test.home.test", DNS_A, DNS_NXDOMAIN);
	expect_rcode(w, "evil.test.home.test", DNS_AAAA, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 1);
	/* Libraries try it first where a name has no dots. */
	expect_rcode(w, "evil.home.test", DNS_A, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 2);
	expect_rcode(w, "evil", DNS_A, DNS_NXDOMAIN);
	expect_rcode(w, "evil", DNS_AAAA, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 2);
	/* The same question again is another look-up. */
	expect_rcode(w, "evil.test", DNS_A, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 3);
	expect_rcode(w, "evil.test", DNS_AAAA, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 3);
	/* And so is one later. */
	kit_spin(w->gate, TOLD_MS + 50);
	expect_rcode(w, "evil.test", TYPE_HTTPS, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 4);
	expect_rcode(w, "other.test", TYPE_HTTPS, DNS_NXDOMAIN);
	assert_int_equal(logged(w, "refused"), 5);
	end(w);
}

/* --- many at once ------------------------------------------------------------------------------
 */

/* `n` questions: for ok.test, or for a name of each one's own. */
static void ask_many(int fd, unsigned n, bool own)
{
	for (unsigned i = 0; i < n; i++) {
		char name[64] = "ok.test";

		if (own) {
			snprintf(name, sizeof(name), "n%u.ok.test", i);
		}
		struct packet p = asking(name, DNS_A, 0);
		p.v[0] = (unsigned char)(i >> 8);
		p.v[1] = (unsigned char)i;
		send_packet(fd, &p);
	}
}

/* Each of them has one answer. */
static void expect_many(struct world *w, int fd, unsigned n)
{
	bool *seen = calloc(n, sizeof(*seen));

	assert_non_null(seen);
	for (unsigned i = 0; i < n; i++) {
		struct reply reply = next_reply(w, fd);

		assert_in_range(reply.id, 0, n - 1);
		assert_false(seen[reply.id]);
		assert_int_equal(reply.answers, 1);
		seen[reply.id] = true;
	}
	free(seen);
}

static void test_one_look_up_for_many(void **state)
{
	struct world *w = begin();
	int fd = asker4(w);

	(void)state;
	w->server.hold = true;
	ask_many(fd, 200, false);
	KIT_UNTIL(w->gate, w->server.asked == 2);
	kit_spin(w->gate, 50);
	assert_int_equal(w->server.asked, 2);
	server_release(&w->server);
	expect_many(w, fd, 200);
	assert_int_equal(w->server.asked, 2);
	close(fd);
	end(w);
}

static void test_many_names(void **state)
{
	struct world *w = begin();
	int fd = asker4(w);

	(void)state;
	w->server.hold = true;
	ask_many(fd, 150, true);
	KIT_UNTIL(w->gate, w->server.asked == 2 * LOOKUPS_MAX);
	kit_spin(w->gate, 50);
	/* The others wait in line; what needs no look-up does not. */
	assert_int_equal(w->server.asked, 2 * LOOKUPS_MAX);
	assert_int_equal(ask(w, "localhost", DNS_A).answers, 1);
	expect_rcode(w, "evil.test", DNS_A, DNS_NXDOMAIN);
	server_release(&w->server);
	expect_many(w, fd, 150);
	assert_int_equal(w->server.asked, 300);
	close(fd);
	end(w);
}

/* Queries beyond QUERIES_MAX are told so at once, and those before are not lost. */
static void test_too_many(void **state)
{
	struct world *w = begin();
	int fd = asker4(w);

	(void)state;
	w->server.hold = true;
	for (unsigned i = 0; i < QUERIES_MAX; i += 64) {
		ask_many(fd, 64, false);
		kit_spin(w->gate, 2);
	}
	expect_rcode(w, "a.ok.test", DNS_A, DNS_SERVFAIL);
	expect_rcode(w, "ok.test", DNS_A, DNS_SERVFAIL);
	assert_int_equal(ask(w, "localhost", DNS_A).answers, 1);
	assert_int_equal(w->resolver->service->nqueries, QUERIES_MAX);
	server_release(&w->server);
	/* Of so many answers a socket may lose some. */
	KIT_UNTIL(w->gate, w->resolver->service->nqueries == 0);
	expect_address(w, "ok.test");
	close(fd);
	end(w);
}

/* The end comes while queries wait, for threads and in line. */
static void test_end_while_waiting(void **state)
{
	struct world *w = begin();
	int fd = asker4(w);

	(void)state;
	w->server.hold = true;
	ask_many(fd, 100, true);
	KIT_UNTIL(w->gate, w->server.asked == 2 * LOOKUPS_MAX);
	close(fd);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_granted),
		cmocka_unit_test(test_hosts_file),
		cmocka_unit_test(test_both_families),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_proxied),
		cmocka_unit_test(test_own_names),
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_odd_packets),
		cmocka_unit_test(test_told_once),
		cmocka_unit_test(test_one_look_up_for_many),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_end_while_waiting),
	};

	kit_world();
	return cmocka_run_group_tests_name("resolver", tests, NULL, NULL);
}
