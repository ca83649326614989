/* What may be called: names, ports and addresses against specs. */
#include "policy_kit.h"

#include <time.h>

/* --- hosts as they come -------------------------------------------------------------------- */

static const char *normal(const char *s, size_t len, char out[HOST_MAX])
{
	/* In memory of its exact size. */
	char *exact = malloc(len > 0 ? len : 1);

	assert_non_null(exact);
	memcpy(exact, s, len);
	bool ok = host_normal(exact, len, out);
	free(exact);
	return ok ? out : NULL;
}

static void normal_hosts(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"ok.test", "ok.test"},
		{"OK.Test.", "ok.test"},
		{"a_b-c.x", "a_b-c.x"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"localhost", "localhost"},
		{"1.2.3.4", "1.2.3.4"},
		{"[2606:4700::1111]", "2606:4700::1111"},
		{"[2606:4700:0:0:0:0:0:1111]", "2606:4700::1111"},
		{"[::FFFF:10.0.0.1]", "10.0.0.1"},
		{"3com.com", "3com.com"},
		{"", NULL},
		{".", NULL},
		{"..", NULL},
		{".ok.test", NULL},
		{"ok..test", NULL},
		{"ok.test..", NULL},
		{"ok test", NULL},
		{"ok.test:443", NULL},
		{"ok.test/", NULL},
		{"ok.test\t", NULL},
		{"ok.test\r\n", NULL},
		{"user@ok.test", NULL},
		{"ok%2etest", NULL},
		{"*.ok.test", NULL},
		{"b\xc3\xbc"
		 "cher.example",
		 NULL},
		{"ok\xe3\x80\x82test", NULL}, /* an ideographic full stop */
		{"\xd9\xa1.2.3.4", NULL},     /* an Arabic digit */
		{"2606:4700::1111", NULL},
		{"[1.2.3.4]", NULL},
		{"[::1", NULL},
		{"[::1]x", NULL},
		{"[fe80::1%eth0]", NULL},
		{"[]", NULL},
		{"[:]", NULL},
		{"0177.0.0.1", NULL},
		{"127.1", NULL},
		{"2130706433", NULL},
		{"0x7f.1", NULL},
		{"0x7f000001", NULL},
		{"1.2.3", NULL},
		{"1.2.3.4.5", NULL},
		{"1.2.3.256", NULL},
		{"01.2.3.4", NULL},
		{"1.2.3.4.", NULL},
		{"a.0x", NULL},
		{"a.b.1", NULL},
		{"0", NULL},
	};
	char out[HOST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *got = normal(rows[i].in, strlen(rows[i].in), out);

		if ((got == NULL) != (rows[i].out == NULL) ||
		    (got != NULL && !str_eq(got, rows[i].out))) {
			fail_msg("\"%s\" becomes %s", rows[i].in, got != NULL ? got : "nothing");
		}
	}
	assert_null(normal("ok.test\0.evil", 13, out));
	assert_null(normal("[::1\0]", 6, out));
	/* Every byte that no name has. */
	for (unsigned c = 0; c < 256; c++) {
		char s[] = {'a', (char)c, 'b'};
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';

		assert_int_equal(normal(s, 3, out) != NULL, fine);
	}
}

static void lengths_of_hosts(void **state)
{
	char name[300], out[HOST_MAX];

	(void)state;
	memset(name, 'a', sizeof(name));
	assert_non_null(normal(name, 63, out));
	assert_null(normal(name, 64, out));
	for (size_t i = 0; i < sizeof(name); i += 50) {
		name[i] = '.';
	}
	/* 253 bytes from the second on, and a dot behind. */
	assert_non_null(normal(name + 1, 253, out));
	assert_int_equal(strlen(out), 253);
	assert_null(normal(name + 1, 254, out));
	name[254] = '.';
	assert_non_null(normal(name + 1, 254, out));
	assert_int_equal(strlen(out), 253);
	memset(name, '[', sizeof(name));
	assert_null(normal(name, sizeof(name), out));
}

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *host;
		bool matches;
	} rows[] = {
		{"*", "any.thing", true},
		{"ok.test", "ok.test", true},
		{"ok.test", "x.ok.test", false},
		{"*.ok.test", "x.ok.test", true},
		{"*.ok.test", "y.x.ok.test", true},
		{"*.ok.test", "ok.test", false},
		{"*.ok.test", "evilok.test", false},
		{"*.ok.test", ".ok.test", false},
		{"ok.test", "evilok.test", false},
		{"ok.test", "ok.test.evil.test", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (host_matches(rows[i].pattern, rows[i].host) != rows[i].matches) {
			fail_msg("%s %s", rows[i].pattern, rows[i].host);
		}
	}
}

/* --- look-ups ----------------------------------------------------------------------------- */

static void names_that_may_be_looked_up(void **state)
{
	static const struct {
		const char *name;
		enum gate_section section; /* GATE_NONE: refused */
		unsigned line;
	} rows[] = {
		{"ok.test", GATE_INTERNET, 2},
		{"a.api.ok.test", GATE_INTERNET, 2},
		{"b.a.api.ok.test", GATE_INTERNET, 2},
		{"loud.ok.test", GATE_INTERNET, 3},
		{"both.test", GATE_INTERNET, 2},
		{"nas.local", GATE_LAN, 6},
		{"a.office.lan", GATE_LAN, 6},
		{"api.ok.test", GATE_NONE, 0},
		{"office.lan", GATE_NONE, 0},
		{"evilok.test", GATE_NONE, 0},
		{"ok.test.evil.test", GATE_NONE, 0},
		{"x.ok.test", GATE_NONE, 0},
		{"test", GATE_NONE, 0},
		{"localhost", GATE_NONE, 0},
		{"a.localhost", GATE_NONE, 0},
		{"1.1.1.1", GATE_NONE, 0},
		{"", GATE_NONE, 0},
	};
	auto_kit kit;

	(void)state;
	kit_make(&kit, sections, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool granted = rows[i].section != GATE_NONE;
		struct verdict v;

		assert_int_equal(policy_name(kit.policy, rows[i].name, NULL), granted);
		assert_int_equal(policy_name(kit.policy, rows[i].name, &v), granted);
		assert_int_equal(v.section, rows[i].section);
		if (granted) {
			assert_int_equal(v.from->line, rows[i].line);
			assert_string_equal(v.why, "");
		} else {
			assert_int_equal(v.how, GATE_REFUSED);
			assert_null(v.from);
			assert_true(v.why[0] != '\0' && v.hint[0] != '\0');
		}
	}
}

static void any_name(void **state)
{
	auto_kit kit;

	(void)state;
	kit_make(&kit, "[internet]\nhosts = [\"*\"]\n", NULL, 0);
	assert_true(policy_name(kit.policy, "anything.at.all", NULL));
	assert_true(policy_name(kit.policy, "nas", NULL));
	assert_false(policy_name(kit.policy, "localhost", NULL));
	assert_false(policy_name(kit.policy, "x.localhost", NULL));
	assert_false(policy_name(kit.policy, "127.1", NULL));
	assert_false(policy_name(kit.policy, "8.8.8.8", NULL));
	/* The private ranges are addresses: no name is granted by them. */
	auto_kit lan;
	kit_make(&lan, "[lan]\nhosts = [\"*\"]\n", NULL, 0);
	assert_false(policy_name(lan.policy, "nas.local", NULL));
	assert_false(policy_name(lan.policy, "secret.evil.test", NULL));
}

/* --- calls -------------------------------------------------------------------------------- */

static void calls_to_names(void **state)
{
	static const struct {
		const char *name;
		uint16_t port;
		enum gate_how how;
		enum gate_section section;
	} rows[] = {
		{"ok.test", 443, GATE_TLS, GATE_INTERNET},
		{"ok.test", 80, GATE_HTTP, GATE_INTERNET},
		{"ok.test", 22, GATE_RAW, GATE_INTERNET},
		{"a.api.ok.test", 443, GATE_TLS, GATE_INTERNET},
		{"loud.ok.test", 443, GATE_RAW, GATE_INTERNET}, /* tcp says raw */
		{"loud.ok.test", 80, GATE_HTTP, GATE_INTERNET},
		{"both.test", 443, GATE_TLS, GATE_INTERNET},
		{"both.test", 5432, GATE_RAW, GATE_LAN},
		{"nas.local", 445, GATE_RAW, GATE_LAN},
		{"nas.local", 443, GATE_RAW, GATE_LAN},
		/* Maybe a private address that a range grants; the address tells. */
		{"ok.test", 5432, GATE_RAW, GATE_LAN},
		{"loud.ok.test", 0, GATE_RAW, GATE_LAN},
		{"evil.test", 443, GATE_REFUSED, GATE_NONE},
		{"evil.test", 22, GATE_REFUSED, GATE_NONE},
		{"api.ok.test", 443, GATE_REFUSED, GATE_NONE},
		{"localhost", 8080, GATE_REFUSED, GATE_NONE},
	};
	auto_kit kit;

	(void)state;
	kit_make(&kit, sections, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct verdict v;

		policy_call_name(kit.policy, rows[i].name, rows[i].port, &v);
		if (v.how != rows[i].how || v.section != rows[i].section ||
		    (v.from == NULL) != (v.how == GATE_REFUSED)) {
			fail_msg("%s:%u is %d of %d: %s", rows[i].name, rows[i].port, v.how,
				 v.section, v.why);
		}
	}
	auto_kit bare;
	struct verdict v;
	kit_make(&bare, "[internet]\nhosts = [\"ok.test\"]\n", NULL, 0);
	for (unsigned port = 0; port <= 65535; port++) {
		policy_call_name(bare.policy, "ok.test", (uint16_t)port, &v);
		assert_int_equal(v.how, port == 443  ? GATE_TLS
					: port == 80 ? GATE_HTTP
						     : GATE_REFUSED);
	}
}

static void calls_to_addresses(void **state)
{
	static const struct {
		const char *addr;
		uint16_t port;
		enum gate_how how;
		enum gate_section section;
	} rows[] = {
		{"1.1.1.1", 443, GATE_TLS, GATE_INTERNET},
		{"1.1.1.1", 80, GATE_HTTP, GATE_INTERNET},
		{"1.1.1.1", 853, GATE_RAW, GATE_INTERNET},
		{"1.1.1.1", 22, GATE_REFUSED, GATE_INTERNET},
		{"::ffff:1.1.1.1", 443, GATE_TLS, GATE_INTERNET},
		{"64:ff9b::1.1.1.1", 443, GATE_TLS, GATE_INTERNET}, /* NAT64 of what is granted */
		{"64:ff9b::1.1.1.1", 853, GATE_RAW, GATE_INTERNET},
		{"64:ff9b::1.1.1.2", 443, GATE_REFUSED, GATE_INTERNET},
		{"2606:4700::1111", 443, GATE_TLS, GATE_INTERNET},
		{"8.8.8.8", 443, GATE_REFUSED, GATE_INTERNET},
		{"2606:4700::1112", 443, GATE_REFUSED, GATE_INTERNET},
		{"192.168.1.0", 1, GATE_RAW, GATE_LAN},
		{"192.168.1.255", 65535, GATE_RAW, GATE_LAN},
		{"::ffff:192.168.1.3", 22, GATE_RAW, GATE_LAN},
		{"192.168.2.1", 80, GATE_REFUSED, GATE_LAN},
		{"10.0.0.7", 443, GATE_RAW, GATE_LAN},
		{"10.0.0.8", 443, GATE_REFUSED, GATE_LAN},
		{"fd12:3::1", 80, GATE_RAW, GATE_LAN},
		{"fd13::1", 80, GATE_REFUSED, GATE_LAN},
		{"100.64.0.9", 80, GATE_RAW, GATE_LAN},
		{"100.64.0.10", 80, GATE_REFUSED, GATE_LAN},
		{"169.254.1.1", 80, GATE_REFUSED, GATE_LAN},
		{"fe80::5", 80, GATE_RAW, GATE_LAN},
		{"127.0.0.1", 8080, GATE_RAW, GATE_LOCALHOST},
		{"::1", 8080, GATE_RAW, GATE_LOCALHOST},
		{"::ffff:127.0.0.1", 8080, GATE_RAW, GATE_LOCALHOST},
		{"127.0.0.1", 11434, GATE_MODEL, GATE_LOCALHOST},
		{"::1", 11434, GATE_MODEL, GATE_LOCALHOST},
		{"127.0.0.1", 8081, GATE_REFUSED, GATE_LOCALHOST},
		{"127.0.0.2", 8080, GATE_REFUSED, GATE_LOCALHOST},
		{"0.0.0.0", 8080, GATE_REFUSED, GATE_NONE},
		{"::", 8080, GATE_REFUSED, GATE_NONE},
		{"169.254.169.254", 80, GATE_REFUSED, GATE_NONE},
		{"fe80::a9fe:a9fe", 80, GATE_REFUSED, GATE_NONE}, /* in a range that is listed */
		{"64:ff9b::10.0.0.7", 80, GATE_REFUSED, GATE_NONE},
		{"64:ff9b::127.0.0.1", 8080, GATE_REFUSED, GATE_NONE},
		{"64:ff9b:1::1.1.1.1", 443, GATE_REFUSED, GATE_NONE},
		{"2002:101:101::1", 443, GATE_REFUSED, GATE_NONE},
		{"2001:0:101:101::fefe:fefe", 443, GATE_REFUSED, GATE_NONE},
		{"::1.1.1.1", 443, GATE_REFUSED, GATE_NONE},
		{"224.0.0.251", 5353, GATE_REFUSED, GATE_NONE},
		{"255.255.255.255", 80, GATE_REFUSED, GATE_NONE},
		{"ff02::1", 80, GATE_REFUSED, GATE_NONE},
		{"198.18.0.5", 443, GATE_REFUSED, GATE_NONE},
		{"fd6c:6e6b::1", 443, GATE_REFUSED, GATE_NONE},
		{"203.0.113.1", 443, GATE_REFUSED, GATE_NONE},
		{"2001:db8::1", 443, GATE_REFUSED, GATE_NONE},
		{"4000::1", 443, GATE_REFUSED, GATE_NONE},
	};
	auto_kit kit;

	(void)state;
	kit_make(&kit, sections, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct addr a = raw(rows[i].addr);
		struct verdict v;

		policy_call_address(kit.policy, &a, rows[i].port, &v);
		if (v.how != rows[i].how || v.section != rows[i].section ||
		    (v.from == NULL) != (v.how == GATE_REFUSED)) {
			fail_msg("%s port %u is %d of %d: %s", rows[i].addr, rows[i].port, v.how,
				 v.section, v.why);
		}
		if (v.how == GATE_REFUSED && (v.why[0] == '\0' || v.hint[0] == '\0')) {
			fail_msg("%s port %u is refused without a word", rows[i].addr,
				 rows[i].port);
		}
	}
}

static void the_private_ranges(void **state)
{
	static const struct {
		const char *addr;
		bool open;
	} rows[] = {
		{"10.1.2.3", true},        {"172.16.0.1", true},     {"172.32.0.1", false},
		{"192.168.9.9", true},     {"fd00::1", true},        {"100.64.0.1", false},
		{"169.254.1.1", false},    {"fe80::1", false},       {"127.0.0.1", false},
		{"8.8.8.8", false},        {"fd00:ec2::254", false}, {"fec0::1", false},
		{"::ffff:10.1.2.3", true},
	};
	auto_kit kit;

	(void)state;
	kit_make(&kit, "[lan]\nhosts = [\"*\"]\n", NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct addr a = raw(rows[i].addr);
		struct verdict v;

		policy_call_address(kit.policy, &a, 80, &v);
		if ((v.how == GATE_RAW) != rows[i].open) {
			fail_msg("%s: %s", rows[i].addr, v.why);
		}
	}
}

static void any_public_address(void **state)
{
	auto_kit kit;
	struct verdict v;
	struct addr a = raw("93.184.215.14");

	(void)state;
	kit_make(&kit, "[internet]\nhosts = [\"*\"]\ntcp = [\"93.184.215.14:22\"]\n", NULL, 0);
	policy_call_address(kit.policy, &a, 443, &v);
	assert_int_equal(v.how, GATE_TLS);
	policy_call_address(kit.policy, &a, 22, &v);
	assert_int_equal(v.how, GATE_RAW);
	policy_call_address(kit.policy, &a, 23, &v);
	assert_int_equal(v.how, GATE_REFUSED);
	a = raw("168.63.129.16"); /* Azure's */
	policy_call_address(kit.policy, &a, 80, &v);
	assert_int_equal(v.how, GATE_REFUSED);
	a = raw("10.0.0.1");
	policy_call_address(kit.policy, &a, 80, &v);
	assert_int_equal(v.how, GATE_REFUSED);
}

/* --- addresses of names ------------------------------------------------------------------- */

static void addresses_of_names(void **state)
{
	static const struct {
		const char *name, *addr;
		uint16_t port;
		enum gate_how how;
		enum gate_section section;
	} rows[] = {
		{"ok.test", "93.184.215.14", 443, GATE_TLS, GATE_INTERNET},
		{"ok.test", "2606:2800::1", 80, GATE_HTTP, GATE_INTERNET},
		{"ok.test", "93.184.215.14", 22, GATE_RAW, GATE_INTERNET},
		{"ok.test", "64:ff9b::93.184.215.14", 443, GATE_TLS, GATE_INTERNET},
		{"ok.test", "93.184.215.14", 5432, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "10.0.0.8", 443, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "::ffff:10.0.0.8", 443, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "64:ff9b::10.0.0.8", 443, GATE_REFUSED, GATE_INTERNET},
		/* Private, and [lan] grants the address itself. */
		{"ok.test", "10.0.0.7", 443, GATE_RAW, GATE_LAN},
		{"ok.test", "192.168.1.5", 5432, GATE_RAW, GATE_LAN},
		{"both.test", "10.9.9.9", 443, GATE_RAW, GATE_LAN},
		{"both.test", "93.184.215.14", 443, GATE_TLS, GATE_INTERNET},
		{"both.test", "93.184.215.14", 5432, GATE_REFUSED, GATE_INTERNET},
		{"nas.local", "10.9.9.9", 445, GATE_RAW, GATE_LAN},
		{"nas.local", "100.100.1.1", 445, GATE_RAW, GATE_LAN},
		{"nas.local", "169.254.3.3", 445, GATE_RAW, GATE_LAN},
		{"nas.local", "fe80::7", 445, GATE_RAW, GATE_LAN},
		{"nas.local", "93.184.215.14", 443, GATE_REFUSED, GATE_LAN},
		{"nas.local", "169.254.169.254", 80, GATE_REFUSED, GATE_LAN},
		{"nas.local", "127.0.0.1", 8080, GATE_REFUSED, GATE_LAN},
		{"ok.test", "127.0.0.1", 443, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "::1", 8080, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "0.0.0.0", 443, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "169.254.169.254", 80, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "fd00:ec2::254", 80, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "100.100.100.200", 80, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "64:ff9b::169.254.169.254", 80, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "2002:a9fe:a9fe::1", 80, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "239.1.1.1", 80, GATE_REFUSED, GATE_INTERNET},
		{"ok.test", "198.18.0.9", 443, GATE_REFUSED, GATE_INTERNET},
		{"evil.test", "93.184.215.14", 443, GATE_REFUSED, GATE_NONE},
		{"evil.test", "10.0.0.7", 443, GATE_REFUSED, GATE_NONE},
	};
	auto_kit kit;

	(void)state;
	kit_make(&kit, sections, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct addr a = raw(rows[i].addr);
		struct verdict v;

		policy_address(kit.policy, rows[i].name, rows[i].port, &a, &v);
		if (v.how != rows[i].how || v.section != rows[i].section) {
			fail_msg("%s at %s port %u is %d of %d: %s", rows[i].name, rows[i].addr,
				 rows[i].port, v.how, v.section, v.why);
		}
		if (v.how == GATE_REFUSED && (v.why[0] == '\0' || v.hint[0] == '\0')) {
			fail_msg("%s at %s is refused without a word", rows[i].name, rows[i].addr);
		}
	}
	struct addr a = raw("1.1.1.1");
	struct verdict v;
	policy_address(kit.policy, NULL, 853, &a, &v);
	assert_int_equal(v.how, GATE_RAW);
}

/* --- size --------------------------------------------------------------------------------- */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct net_plan large_plan(struct arena *arena, unsigned n)
{
	struct net_plan plan = {.spec_file = "app.toml"};
	const struct origin from = {.file = "app.toml", .line = 2};

	for (unsigned i = 0; i < n; i++) {
		struct net_range range = {.bits = 32, .from = from};
		const char *host = arena_printf(arena, "host-%u.example.com", i);

		ARENA_PUSH(arena, &plan.internet, (struct net_host){.pattern = host, .from = from});
		host = arena_printf(arena, "*.wild-%u.example.com", i);
		ARENA_PUSH(arena, &plan.internet, (struct net_host){.pattern = host, .from = from});
		range.addr.b[0] = 10;
		memcpy(range.addr.b + 1, &i, 3);
		ARENA_PUSH(arena, &plan.ranges, range);
	}
	return plan;
}

/* The time of one look-up, the best of some rounds. */
static double look_up_us(const struct policy *policy)
{
	double best = 1e9;

	for (unsigned round = 0; round < 5; round++) {
		double start = now_us();

		for (unsigned i = 0; i < 1000; i++) {
			struct addr a = {.b = {10, 77, 0, (unsigned char)i}};
			struct verdict v;

			assert_true(policy_name(policy, "x.y.wild-0.example.com", NULL));
			assert_false(policy_name(policy, "x.y.nowhere.example.org", NULL));
			policy_call_address(policy, &a, 80, &v);
		}
		double took = (now_us() - start) / 1000;
		best = took < best ? took : best;
	}
	return best;
}

/* 10,000 hosts: under 2 ms to make, and a look-up costs what it costs with one (the bounds here
 * are wide enough for an instrumented build). */
static void ten_thousand_hosts(void **state)
{
	struct arena arena = {0};
	struct net_plan large = large_plan(&arena, 10000);
	struct net_plan small = large_plan(&arena, 1);
	struct net_plan hosts = {.spec_file = "app.toml"};
	double made = 1e9;

	(void)state;
	for (size_t i = 0; i < large.internet.n; i += 2) {
		ARENA_PUSH(&arena, &hosts.internet, large.internet.v[i]);
	}
	for (unsigned i = 0; i < 5; i++) {
		auto_arena struct arena other = {0};
		double start = now_us();

		policy_make(&hosts, &other);
		double took = now_us() - start;
		made = took < made ? took : made;
	}
	double one = look_up_us(policy_make(&small, &arena));
	double many = look_up_us(policy_make(&large, &arena));
	print_message("# 10,000 hosts: made in %.2f ms; three look-ups take %.2f us, with one host "
		      "%.2f us\n",
		      made / 1000, many, one);
	assert_true(made < 20000);
	assert_true(many < one * 5 + 5);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_hosts),       cmocka_unit_test(lengths_of_hosts),
		cmocka_unit_test(patterns),           cmocka_unit_test(names_that_may_be_looked_up),
		cmocka_unit_test(any_name),           cmocka_unit_test(calls_to_names),
		cmocka_unit_test(calls_to_addresses), cmocka_unit_test(the_private_ranges),
		cmocka_unit_test(any_public_address), cmocka_unit_test(addresses_of_names),
		cmocka_unit_test(ten_thousand_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
