/* The network plan: what a spec's sections become, and that a plan comes back whole from its bytes,
 * or not at all. */
#include "plan_kit.h"

#include "base/str.h"

#include <time.h>

static const char every_key[] = "[internet]\n"
				"hosts = [\"Api.Example.com.\", \"*.wild.test\", \"1.1.1.1\",\n"
				"  \"2606:4700::1111\"]\n"
				"tcp = [\"api.example.com:22\", \"[2606:4700::1111]:853\"]\n"
				"per_minute = 600\n"
				"[lan]\n"
				"hosts = [\"nas.local\", \"192.168.1.0/24\", \"10.0.0.7\", "
				"\"fd00::/8\", \"fe80::1\", \"*.office.lan\"]\n"
				"[localhost]\n"
				"ports = [8080, 5432]\n"
				"models = [11434]\n";

static void sections_are_sorted(void **state)
{
	auto_arena struct arena arena = {0};
	struct net_plan p = plan_of(&arena, every_key, NULL, 0);

	(void)state;
	assert_false(p.host_mode);
	assert_true(p.gate);
	assert_string_equal(p.spec_file, "app.toml");
	assert_int_equal(p.internet.n, 4);
	assert_string_equal(p.internet.v[0].pattern, "api.example.com");
	assert_string_equal(p.internet.v[1].pattern, "*.wild.test");
	assert_string_equal(p.internet.v[3].pattern, "2606:4700::1111");
	assert_int_equal(p.internet.v[0].from.line, 2);
	assert_int_equal(p.internet.v[3].from.line, 3);
	assert_string_equal(p.internet.v[3].from.file, "app.toml");
	assert_int_equal(p.tcp.n, 2);
	assert_string_equal(p.tcp.v[1].host, "2606:4700::1111");
	assert_int_equal(p.tcp.v[1].port, 853);
	assert_int_equal(p.per_minute, 600);
	assert_int_equal(p.per_minute_from.line, 5);
	assert_int_equal(p.lan.n, 2);
	assert_string_equal(p.lan.v[0].pattern, "nas.local");
	assert_string_equal(p.lan.v[1].pattern, "*.office.lan");
	assert_int_equal(p.ranges.n, 4);
	assert_int_equal(p.ranges.v[0].bits, 24);
	assert_int_equal(p.ranges.v[1].bits, 32);
	assert_int_equal(p.ranges.v[1].addr.b[3], 7);
	assert_true(p.ranges.v[2].addr.v6);
	assert_int_equal(p.ranges.v[2].bits, 8);
	assert_int_equal(p.ranges.v[3].bits, 128);
	assert_int_equal(p.ports.n, 3);
	assert_int_equal(p.ports.v[1].port, 5432);
	assert_false(p.ports.v[1].model);
	assert_int_equal(p.ports.v[2].port, 11434);
	assert_true(p.ports.v[2].model);
	assert_int_equal(p.publish.n, 0);
}

static void a_gate_only_where_something_is_granted(void **state)
{
	static const struct {
		const char *toml;
		bool gate, host_mode;
	} rows[] = {
		{"[files]\nwrite = [\"w\"]\n", false, false},
		{"[network]\nmode = \"proxy\"\n", false, false},
		{"[network]\nmode = \"host\"\n", false, true},
		{"[network]\nmode = \"host\"\n[internet]\nhosts = [\"*\"]\n", false, true},
		{"[internet]\nhosts = [\"*\"]\n", true, false},
		{"[lan]\nhosts = [\"nas.local\"]\n", true, false},
		{"[lan]\nhosts = [\"10.0.0.0/8\"]\n", true, false},
		{"[lan]\nhosts = [\"*\"]\n", true, false},
		{"[localhost]\nports = [1]\n", true, false},
		{"[localhost]\nmodels = [1]\n", true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_arena struct arena arena = {0};
		struct net_plan p = plan_of(&arena, rows[i].toml, NULL, 0);

		if (p.gate != rows[i].gate || p.host_mode != rows[i].host_mode) {
			fail_msg("%s", rows[i].toml);
		}
	}
}

/* --- bytes -------------------------------------------------------------------------------- */

static void same_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL) {
		assert_true(a == b);
	} else {
		assert_string_equal(a, b);
	}
}

static void same_origin(const struct origin *a, const struct origin *b)
{
	same_text(a->file, b->file);
	same_text(a->flag, b->flag);
	assert_int_equal(a->line, b->line);
	assert_int_equal(a->col, b->col);
}

static void same_plan(const struct net_plan *a, const struct net_plan *b)
{
	assert_int_equal(a->host_mode, b->host_mode);
	assert_int_equal(a->gate, b->gate);
	assert_int_equal(a->per_minute, b->per_minute);
	same_origin(&a->per_minute_from, &b->per_minute_from);
	same_text(a->spec_file, b->spec_file);
	assert_int_equal(a->internet.n, b->internet.n);
	for (size_t i = 0; i < a->internet.n; i++) {
		assert_string_equal(a->internet.v[i].pattern, b->internet.v[i].pattern);
		same_origin(&a->internet.v[i].from, &b->internet.v[i].from);
	}
	assert_int_equal(a->tcp.n, b->tcp.n);
	for (size_t i = 0; i < a->tcp.n; i++) {
		assert_string_equal(a->tcp.v[i].host, b->tcp.v[i].host);
		assert_int_equal(a->tcp.v[i].port, b->tcp.v[i].port);
		same_origin(&a->tcp.v[i].from, &b->tcp.v[i].from);
	}
	assert_int_equal(a->lan.n, b->lan.n);
	for (size_t i = 0; i < a->lan.n; i++) {
		assert_string_equal(a->lan.v[i].pattern, b->lan.v[i].pattern);
		same_origin(&a->lan.v[i].from, &b->lan.v[i].from);
	}
	assert_int_equal(a->ranges.n, b->ranges.n);
	for (size_t i = 0; i < a->ranges.n; i++) {
		assert_int_equal(a->ranges.v[i].addr.v6, b->ranges.v[i].addr.v6);
		assert_memory_equal(a->ranges.v[i].addr.b, b->ranges.v[i].addr.b, 16);
		assert_int_equal(a->ranges.v[i].bits, b->ranges.v[i].bits);
		same_origin(&a->ranges.v[i].from, &b->ranges.v[i].from);
	}
	assert_int_equal(a->ports.n, b->ports.n);
	for (size_t i = 0; i < a->ports.n; i++) {
		assert_int_equal(a->ports.v[i].port, b->ports.v[i].port);
		assert_int_equal(a->ports.v[i].model, b->ports.v[i].model);
		same_origin(&a->ports.v[i].from, &b->ports.v[i].from);
	}
	assert_int_equal(a->publish.n, b->publish.n);
	for (size_t i = 0; i < a->publish.n; i++) {
		assert_int_equal(a->publish.v[i].inside, b->publish.v[i].inside);
		assert_int_equal(a->publish.v[i].outside, b->publish.v[i].outside);
	}
}

/* Bytes in memory of their exact size, freed before the plan is looked at: it borrows nothing. */
static bool decode_exact(const unsigned char *bytes, size_t len, struct arena *arena,
			 struct net_plan *ret_plan)
{
	unsigned char *exact = malloc(len > 0 ? len : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	bool ok = net_plan_decode(exact, len, arena, ret_plan);
	free(exact);
	return ok;
}

static struct net_plan full_plan(struct arena *arena)
{
	static const struct spec_flag flags[] = {{SPEC_LOCALHOST_MODELS, "11500"},
						 {SPEC_INTERNET_PER_MINUTE, "9223372036854775807"}};
	struct net_plan plan = plan_of(arena, every_key, flags, ARRAY_LEN(flags));

	ARENA_PUSH(arena, &plan.publish, (struct net_publish){3000, 3001});
	ARENA_PUSH(arena, &plan.publish, (struct net_publish){1, 65535});
	return plan;
}

static void comes_back_whole(void **state)
{
	auto_arena struct arena arena = {0};
	struct net_plan plans[] = {full_plan(&arena), {.spec_file = NULL}, {.host_mode = true}};

	(void)state;
	assert_string_equal(plans[0].per_minute_from.flag, "--per-minute");
	for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
		auto_arena struct arena other = {0};
		struct net_plan back;
		unsigned char *bytes;
		size_t len;

		net_plan_encode(&plans[i], &arena, &bytes, &len);
		assert_true(decode_exact(bytes, len, &other, &back));
		same_plan(&plans[i], &back);
	}
}

static void cut_short_is_refused(void **state)
{
	auto_arena struct arena arena = {0};
	struct net_plan plan = full_plan(&arena);
	struct net_plan back = {.per_minute = 77};
	unsigned char *bytes;
	size_t len;

	(void)state;
	net_plan_encode(&plan, &arena, &bytes, &len);
	for (size_t n = 0; n < len; n++) {
		assert_false(decode_exact(bytes, n, &arena, &back));
	}
	unsigned char *longer = arena_alloc(&arena, len + 1);
	memcpy(longer, bytes, len);
	assert_false(decode_exact(longer, len + 1, &arena, &back));
	/* The size of the strings, behind the magic number: one byte more than they have. */
	longer[4]++;
	assert_false(decode_exact(longer, len + 1, &arena, &back));
	/* What is refused leaves nothing behind. */
	assert_int_equal(back.per_minute, 77);
}

/* Every byte changed in several ways: never a crash, and what is taken holds what it promises. */
static void broken_bytes(void **state)
{
	static const unsigned char flips[] = {0x01, 0x80, 0xff, 0x40};
	auto_arena struct arena arena = {0};
	struct net_plan plan = full_plan(&arena);
	unsigned char *bytes;
	size_t len;
	unsigned refused = 0;

	(void)state;
	net_plan_encode(&plan, &arena, &bytes, &len);
	for (size_t i = 0; i < len * ARRAY_LEN(flips); i++) {
		auto_arena struct arena other = {0};
		struct net_plan back;
		unsigned char *at = &bytes[i / ARRAY_LEN(flips)];

		*at ^= flips[i % ARRAY_LEN(flips)];
		if (!decode_exact(bytes, len, &other, &back)) {
			refused++;
		} else {
			for (size_t k = 0; k < back.ports.n; k++) {
				assert_int_not_equal(back.ports.v[k].port, 0);
			}
			for (size_t k = 0; k < back.publish.n; k++) {
				assert_int_not_equal(back.publish.v[k].inside, 0);
			}
			for (size_t k = 0; k < back.ranges.n; k++) {
				assert_true(back.ranges.v[k].bits <=
					    (back.ranges.v[k].addr.v6 ? 128 : 32));
			}
			/* Whole strings, numbers that lead somewhere. */
			unsigned char *again;
			size_t again_len;
			net_plan_encode(&back, &other, &again, &again_len);
		}
		*at ^= flips[i % ARRAY_LEN(flips)];
	}
	assert_true(refused > len);
}

/* --- size --------------------------------------------------------------------------------- */

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The bound is 2 ms each; the test's is wide enough for an instrumented build. */
static void ten_thousand_hosts(void **state)
{
	auto_arena struct arena arena = {0};
	struct net_plan plan = {.gate = true, .spec_file = "app.toml"};
	double encode = 1e9, decode = 1e9;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		const struct net_host host = {
			.pattern = arena_printf(&arena, "host-%u.some.example.com", i),
			.from = {.file = "app.toml", .line = i + 2, .col = 2}};

		ARENA_PUSH(&arena, &plan.internet, host);
	}
	for (unsigned i = 0; i < 5; i++) {
		auto_arena struct arena other = {0};
		struct net_plan back;
		unsigned char *bytes;
		size_t len;
		double t0 = now_ms();

		net_plan_encode(&plan, &other, &bytes, &len);
		double t1 = now_ms();
		assert_true(net_plan_decode(bytes, len, &other, &back));
		double t2 = now_ms();
		encode = t1 - t0 < encode ? t1 - t0 : encode;
		decode = t2 - t1 < decode ? t2 - t1 : decode;
		assert_int_equal(back.internet.n, 10000);
		assert_string_equal(back.internet.v[9999].pattern, "host-9999.some.example.com");
	}
	print_message("# 10,000 hosts: encode %.2f ms, decode %.2f ms\n", encode, decode);
	assert_true(encode < 20 && decode < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_are_sorted),
		cmocka_unit_test(a_gate_only_where_something_is_granted),
		cmocka_unit_test(comes_back_whole),
		cmocka_unit_test(cut_short_is_refused),
		cmocka_unit_test(broken_bytes),
		cmocka_unit_test(ten_thousand_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
