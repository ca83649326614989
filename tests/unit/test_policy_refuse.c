/* What a refusal tells: why, and the line to add. */
#include "policy_kit.h"

/* A call to `host` (name, or address literal), or with `addr` to that address of it. */
static void refusal(const struct kit *kit, const char *host, const char *addr, uint16_t port,
		    struct verdict *v)
{
	struct addr a;

	if (addr != NULL) {
		a = raw(addr);
		policy_address(kit->policy, host, port, &a, v);
	} else if (addr_parse(host, &a)) {
		policy_call_address(kit->policy, &a, port, v);
	} else if (port == 0) {
		policy_name(kit->policy, host, v);
	} else {
		policy_call_name(kit->policy, host, port, v);
	}
	assert_int_equal(v->how, GATE_REFUSED);
}

struct told {
	const char *host, *addr;
	uint16_t port;
	const char *why, *hint;
};

static void expect_told(const struct kit *kit, const struct told *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct verdict v;

		refusal(kit, rows[i].host, rows[i].addr, rows[i].port, &v);
		if (!str_eq(v.why, rows[i].why) || !str_eq(v.hint, rows[i].hint)) {
			fail_msg("%s port %u:\n  %s\n  %s\nnot\n  %s\n  %s", rows[i].host,
				 rows[i].port, v.why, v.hint, rows[i].why, rows[i].hint);
		}
	}
}

static void hints_in_a_file(void **state)
{
	static const char toml[] = "name = \"x\"\n"
				   "[internet]\n"
				   "hosts = [\"ok.test\",\n"
				   "\t\"*.wild.test\",\n"
				   "]\n"
				   "[localhost]\n"
				   "models = [11434]\n";
	static const struct told rows[] = {
		{"other.test", NULL, 0, "it is not among the hosts of [internet]",
		 "app.toml:4: add \"other.test\" to [internet] hosts"},
		{"other.test", NULL, 443, "it is not among the hosts of [internet]",
		 "app.toml:4: add \"other.test\" to [internet] hosts"},
		{"wild.test", NULL, 0,
		 "\"*.wild.test\" covers the names below it, not the name itself",
		 "app.toml:4: add \"wild.test\" to [internet] hosts"},
		{"nas.local", NULL, 0, "[lan] is closed", "add: [lan] hosts = [\"nas.local\"]"},
		{"nas", NULL, 0, "[lan] is closed", "add: [lan] hosts = [\"nas\"]"},
		{"ok.test", NULL, 22, "port 22 of it is not open",
		 "app.toml:4: add to [internet]: tcp = [\"ok.test:22\"]"},
		{"8.8.8.8", NULL, 53, "it is not among the hosts of [internet]",
		 "app.toml:4: add \"8.8.8.8\" to [internet] hosts, and tcp = [\"8.8.8.8:53\"]"},
		{"2606:4700::1111", NULL, 853, "it is not among the hosts of [internet]",
		 "app.toml:4: add \"2606:4700::1111\" to [internet] hosts, and tcp = "
		 "[\"[2606:4700::1111]:853\"]"},
		{"10.0.0.5", NULL, 80, "it is private, and [lan] is closed",
		 "add: [lan] hosts = [\"10.0.0.5\"]"},
		{"ok.test", "10.0.0.5", 80,
		 "its address 10.0.0.5 is private, and [internet] opens only public ones",
		 "add: [lan] hosts = [\"ok.test\"]"},
		{"ok.test", "100.64.1.1", 80,
		 "its address 100.64.1.1 is shared by a provider's customers, and [internet] opens "
		 "only public ones",
		 "add: [lan] hosts = [\"ok.test\"]"},
		{"127.0.0.1", NULL, 5432, "port 5432 of this machine is not open",
		 "app.toml:7: add to [localhost]: ports = [5432]"},
		{"127.0.0.2", NULL, 5432, "it is this machine's own address",
		 "call localhost:5432 instead; app.toml:7: add to [localhost]: ports = [5432]"},
		{"ok.test", "127.0.0.1", 11434, "its address 127.0.0.1 is this machine's own",
		 "call localhost:11434 instead"},
		{"localhost", NULL, 0, "it is this machine",
		 "call 127.0.0.1; ports of this machine are opened by [localhost]"},
		{"169.254.169.254", NULL, 80, "it is a cloud's metadata service",
		 "no line opens it, since it hands out this machine's logins; pass what the "
		 "program "
		 "needs by --env"},
		{"metadata.google.internal", NULL, 0, "it is a cloud's metadata service",
		 "no line opens it, since it hands out this machine's logins; pass what the "
		 "program "
		 "needs by --env"},
		{"ok.test", "169.254.169.254", 80,
		 "its address 169.254.169.254 is a cloud's metadata service",
		 "no line opens it, since it hands out this machine's logins; pass what the "
		 "program "
		 "needs by --env"},
		{"224.0.0.1", NULL, 80, "no host has this address (multicast)",
		 "no line opens it; call one machine, opened by [lan] hosts"},
		{"ok.test", "203.0.113.7", 80,
		 "no host has its address 203.0.113.7 (for documentation)",
		 "no line opens it; call the address or the name of the host that is meant"},
		{"2002:101:101::1", NULL, 443, "it only stands for another address (6to4)",
		 "no line opens it; call the IPv4 address that it stands for"},
		{"127.1", NULL, 80, "it looks like an address, and is no name",
		 "call it as an address: four decimal numbers"},
	};
	auto_kit kit;

	(void)state;
	kit_make(&kit, toml, NULL, 0);
	expect_told(&kit, rows, ARRAY_LEN(rows));
}

static void hints_where_lists_are(void **state)
{
	static const struct told rows[] = {
		{"new.test", NULL, 22, "it is not among the hosts of [internet]",
		 "app.toml:3: add \"new.test\" to [internet] hosts, and \"new.test:22\" to tcp"},
		{"both.test", "93.184.215.14", 5432, "port 5432 of it is not open",
		 "app.toml:4: add \"both.test:5432\" to [internet] tcp"},
		{"new.local", NULL, 0, "it is not among the hosts of [lan]",
		 "app.toml:7: add \"new.local\" to [lan] hosts"},
		{"10.0.0.8", NULL, 22, "it is private, and not among the hosts of [lan]",
		 "app.toml:7: add \"10.0.0.8\" to [lan] hosts"},
		{"nas.local", "93.184.215.14", 8443,
		 "its address 93.184.215.14 is public, and [lan] opens only private ones",
		 "app.toml:3: add \"nas.local\" to [internet] hosts, and \"nas.local:8443\" to "
		 "tcp"},
		{"127.0.0.1", NULL, 9, "port 9 of this machine is not open",
		 "app.toml:9: add 9 to [localhost] ports"},
	};
	auto_kit kit, any;
	struct verdict v;

	(void)state;
	kit_make(&kit, sections, NULL, 0);
	expect_told(&kit, rows, ARRAY_LEN(rows));
	kit_make(&any, "[lan]\nhosts = [\"*\"]\n", NULL, 0);
	refusal(&any, "100.64.0.1", NULL, 80, &v);
	assert_string_equal(
		v.why,
		"it is shared by a provider's customers, which \"*\" of [lan] does not cover");
	refusal(&any, "ok.test", NULL, 0, &v);
	assert_string_equal(v.why, "[internet] is closed");
	assert_string_equal(v.hint, "add: [internet] hosts = [\"ok.test\"]");
	refusal(&any, "127.0.0.1", NULL, 8080, &v);
	assert_string_equal(v.hint, "add: [localhost] ports = [8080]");
	refusal(&any, "8.8.8.8", NULL, 53, &v);
	assert_string_equal(v.hint,
			    "add: [internet] hosts = [\"8.8.8.8\"], and tcp = [\"8.8.8.8:53\"]");
}

static void hints_as_flags(void **state)
{
	static const struct spec_flag flags[] = {{SPEC_INTERNET_HOSTS, "ok.test"},
						 {SPEC_LOCALHOST_PORTS, "8080"}};
	static const struct told rows[] = {
		{"other.test", NULL, 0, "it is not among the hosts of [internet]",
		 "add --host other.test"},
		{"ok.test", NULL, 22, "port 22 of it is not open", "add --tcp ok.test:22"},
		{"2606:4700::1111", NULL, 22, "it is not among the hosts of [internet]",
		 "add --host 2606:4700::1111 --tcp '[2606:4700::1111]:22'"},
		{"10.0.0.5", NULL, 80, "it is private, and [lan] is closed", "add --lan 10.0.0.5"},
		{"127.0.0.1", NULL, 9, "port 9 of this machine is not open", "add --port 9"},
	};
	auto_kit kit, both;
	struct verdict v;

	(void)state;
	kit_make(&kit, NULL, flags, ARRAY_LEN(flags));
	expect_told(&kit, rows, ARRAY_LEN(rows));
	/* Beside a file: a key that flags gave is added to by flags, the others in the file. */
	kit_make(&both, "[internet]\nhosts = [\"a.test\"]\n[lan]\nhosts = [\"nas.local\"]\n", flags,
		 1);
	refusal(&both, "other.test", NULL, 0, &v);
	assert_string_equal(v.hint, "add --host other.test");
	refusal(&both, "new.local", NULL, 0, &v);
	assert_string_equal(v.hint, "app.toml:4: add \"new.local\" to [lan] hosts");
	refusal(&both, "127.0.0.1", NULL, 9, &v);
	assert_string_equal(v.hint, "add: [localhost] ports = [9]");
}

/* The longest of everything fits or is cut, and no array is overrun. */
static void long_texts(void **state)
{
	char name[HOST_MAX], file[400];
	struct arena arena = {0};
	struct verdict v;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	for (size_t i = 40; i < sizeof(name); i += 40) {
		name[i] = '.';
	}
	name[sizeof(name) - 1] = '\0';
	memset(file, 'f', sizeof(file) - 1);
	file[200] = '/';
	file[sizeof(file) - 1] = '\0';
	struct net_host host = {.pattern = "ok.test", .from = {.file = file, .line = 4000000000U}};
	struct net_plan plan = {.spec_file = file};
	ARENA_PUSH(&arena, &plan.internet, host);
	struct policy *policy = policy_make(&plan, &arena);
	policy_call_name(policy, name, 65535, &v);
	assert_int_equal(v.how, GATE_REFUSED);
	assert_true(strlen(v.hint) == sizeof(v.hint) - 1);
	policy_name(policy, name, &v);
	assert_non_null(strstr(v.hint, name));
	assert_null(strstr(v.hint, "/"));
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_in_a_file),
		cmocka_unit_test(hints_where_lists_are),
		cmocka_unit_test(hints_as_flags),
		cmocka_unit_test(long_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
