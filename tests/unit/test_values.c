/* Values one by one: what they become, and what is refused. The messages have their tests in
 * tests/spec/bad; here it counts that they come, and name the right section. */
#include "base/str.h"
#include "spec/values.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct value_place file_place = {"/home/u/specs", "/home/u", true};
static const struct value_place flag_place = {"/home/u/code/app", "/home/u", false};

struct read {
	struct spec_item item;
	struct err err;
	bool ok;
};

/* A value is copied to memory of its exact size, so that a sanitizer sees a byte too far. */
static struct read read_bytes(struct arena *arena, enum spec_key key, const char *s, size_t len,
			      const struct value_place *place)
{
	struct read r = {.ok = false};
	char *exact = malloc(len + 1);

	assert_non_null(exact);
	memcpy(exact, s, len);
	exact[len] = '\0';
	r.ok = value_read(key, exact, len, place, arena, &r.item, &r.err);
	if (!r.ok) {
		assert_int_equal(r.err.code, ERR_SPEC);
		assert_true(r.err.msg[0] != '\0' && r.err.hint[0] != '\0');
		assert_int_equal(r.err.line, 0);
		assert_string_equal(r.err.file, "");
	}
	r.item.path = r.item.path != NULL ? arena_strdup(arena, r.item.path) : NULL;
	r.item.text = NULL;
	free(exact);
	return r;
}

static struct read read_text(struct arena *arena, enum spec_key key, const char *s,
			     const struct value_place *place)
{
	return read_bytes(arena, key, s, strlen(s), place);
}

static void expect_path(enum spec_key key, const char *s, const struct value_place *place,
			const char *expected)
{
	auto_arena struct arena arena = {0};
	struct read r = read_text(&arena, key, s, place);

	if (!r.ok) {
		fail_msg("\"%s\": %s", s, r.err.msg);
	}
	if (expected == NULL) {
		assert_null(r.item.path);
	} else {
		assert_string_equal(r.item.path, expected);
	}
}

static void expect_refused(enum spec_key key, const char *s, const struct value_place *place,
			   const char *in_text)
{
	auto_arena struct arena arena = {0};
	struct read r = read_text(&arena, key, s, place);
	char all[sizeof(r.err.msg) + sizeof(r.err.hint)];

	if (r.ok) {
		fail_msg("\"%s\" is taken", s);
	}
	snprintf(all, sizeof(all), "%s %s", r.err.msg, r.err.hint);
	if (strstr(all, in_text) == NULL) {
		fail_msg("\"%s\": nothing of \"%s\" in: %s", s, in_text, all);
	}
}

static void paths_in_normal_form(void **state)
{
	static const char *const cases[][2] = {
		{"/", "/"},
		{"//", "/"},
		{"/.", "/"},
		{"/a", "/a"},
		{"/a/", "/a"},
		{"///a//b///", "/a/b"},
		{"/a/./b/.", "/a/b"},
		{"~", "/home/u"},
		{"~/", "/home/u"},
		{"~//", "/home/u"},
		{"~/x", "/home/u/x"},
		{"~//x", "/home/u/x"},
		{"~/.ssh/./", "/home/u/.ssh"},
		{".", "/home/u/specs"},
		{"./", "/home/u/specs"},
		{"a", "/home/u/specs/a"},
		{"./a/b/", "/home/u/specs/a/b"},
		{"./~a", "/home/u/specs/~a"},
		{"a~", "/home/u/specs/a~"},
		{"...", "/home/u/specs/..."},
		{"..a", "/home/u/specs/..a"},
		{"a..", "/home/u/specs/a.."},
		{"a b", "/home/u/specs/a b"},
		{"a$B", "/home/u/specs/a$B"},
		{"$", "/home/u/specs/$"},
		{"$1", "/home/u/specs/$1"},
		{"\xc3\xa9", "/home/u/specs/\xc3\xa9"},
		{"\xff\xfe", "/home/u/specs/\xff\xfe"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect_path(SPEC_FILES_WRITE, cases[i][0], &file_place, cases[i][1]);
		expect_path(SPEC_FILES_HIDE, cases[i][0], &file_place, cases[i][1]);
	}
}

static void parents_are_for_flags_alone(void **state)
{
	static const char *const cases[][2] = {
		{"..", "/home/u/code"},   {"../x", "/home/u/code/x"},
		{"../../x", "/home/u/x"}, {"a/..", "/home/u/code/app"},
		{"~/..", "/home"},        {"/..", "/"},
		{"/../../a/../b", "/b"},  {"../../../../../../x", "/x"},
		{"../", "/home/u/code"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect_path(SPEC_FILES_READ, cases[i][0], &flag_place, cases[i][1]);
		expect_refused(SPEC_FILES_READ, cases[i][0], &file_place, "\"..\"");
		expect_refused(SPEC_FILES_HIDE, cases[i][0], &file_place, "\"..\"");
	}
	expect_path(SPEC_COMMANDS_ALLOW, "../bin/", &flag_place, "/home/u/code/bin");
	expect_refused(SPEC_COMMANDS_ALLOW, "../bin/", &file_place, "\"..\"");
}

static void paths_refused(void **state)
{
	static const char *const cases[][2] = {
		{"", "empty"},         {"*", "wildcard"},
		{"a/*/b", "\"a\""},    {"a?", "wildcard"},
		{"[a]", "wildcard"},   {"/*", "\"/\""},
		{"~root", "\"~\""},    {"~root/x", "\"~\""},
		{"$HOME", "variable"}, {"${HOME}/x", "variable"},
		{"$a", "variable"},    {"a\nb", "control"},
		{"\t", "control"},     {"\x7f", "control"},
		{"\x01", "control"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect_refused(SPEC_FILES_WRITE, cases[i][0], &file_place, cases[i][1]);
		expect_refused(SPEC_FILES_WRITE, cases[i][0], &flag_place, cases[i][1]);
	}
}

static void nul_bytes_are_refused_everywhere(void **state)
{
	auto_arena struct arena arena = {0};

	(void)state;
	for (enum spec_key key = 0; key < SPEC_KEY_COUNT; key++) {
		assert_false(read_bytes(&arena, key, "a\0b", 3, &flag_place).ok);
		assert_false(read_bytes(&arena, key, "\0", 1, &flag_place).ok);
		assert_false(read_bytes(&arena, key, "1\0", 2, &flag_place).ok);
		assert_false(read_bytes(&arena, key, "proxy\0", 6, &flag_place).ok);
		assert_false(read_bytes(&arena, key, "*\0", 2, &flag_place).ok);
	}
}

static void longest_paths(void **state)
{
	char name[PATH_MAX + 10];

	(void)state;
	memset(name, 'a', sizeof(name));
	for (size_t i = 0; i < sizeof(name); i += 200) {
		name[i] = '/';
	}
	name[PATH_MAX - 1] = '\0';
	expect_path(SPEC_FILES_READ, name, &file_place, name);
	expect_refused(SPEC_FILES_READ, name + 1, &file_place, "too long");
	name[PATH_MAX - 1] = 'a';
	name[PATH_MAX] = '\0';
	expect_refused(SPEC_FILES_READ, name, &file_place, "too long");

	memset(name, 'a', 256);
	name[0] = '/';
	name[256] = '\0';
	expect_path(SPEC_FILES_READ, name, &file_place, name);
	name[256] = 'a';
	name[257] = '\0';
	expect_refused(SPEC_FILES_READ, name, &file_place, "255");
}

static void commands(void **state)
{
	auto_arena struct arena arena = {0};
	struct read r;

	(void)state;
	expect_path(SPEC_COMMANDS_ALLOW, "git", &file_place, NULL);
	expect_path(SPEC_COMMANDS_ALLOW, "g++", &file_place, NULL);
	expect_path(SPEC_COMMANDS_ALLOW, "[", &file_place, NULL);
	expect_path(SPEC_COMMANDS_ALLOW, "*", &file_place, NULL);
	expect_path(SPEC_COMMANDS_ALLOW, "./git", &file_place, "/home/u/specs/git");
	expect_path(SPEC_COMMANDS_ALLOW, "/usr//bin/git", &file_place, "/usr/bin/git");
	r = read_text(&arena, SPEC_COMMANDS_ALLOW, "/usr/lib/git-core/", &file_place);
	assert_true(r.ok && r.item.folder);
	assert_string_equal(r.item.path, "/usr/lib/git-core");
	r = read_text(&arena, SPEC_COMMANDS_ALLOW, "/", &file_place);
	assert_true(r.ok && r.item.folder);
	r = read_text(&arena, SPEC_COMMANDS_ALLOW, "~/bin//", &file_place);
	assert_true(r.ok && r.item.folder);
	assert_string_equal(r.item.path, "/home/u/bin");
	r = read_text(&arena, SPEC_COMMANDS_ALLOW, "~/bin/x", &file_place);
	assert_true(r.ok && !r.item.folder);
	expect_refused(SPEC_COMMANDS_ALLOW, "", &file_place, "empty");
	expect_refused(SPEC_COMMANDS_ALLOW, "~", &file_place, "folder");
	expect_refused(SPEC_COMMANDS_ALLOW, ".", &file_place, "folder");
	expect_refused(SPEC_COMMANDS_ALLOW, "..", &file_place, "folder");
	expect_refused(SPEC_COMMANDS_ALLOW, "py*", &file_place, "wildcard");
	expect_refused(SPEC_COMMANDS_ALLOW, "**", &file_place, "wildcard");
	expect_refused(SPEC_COMMANDS_ALLOW, "/usr/bin/*", &file_place, "\"/usr/bin\"");
	expect_refused(SPEC_COMMANDS_ALLOW, "~root/x", &file_place, "\"~\"");
}

static void expect_host(enum spec_key key, const char *s, const char *expected)
{
	expect_path(key, s, &file_place, expected);
}

static void names(void **state)
{
	char label[300];

	(void)state;
	expect_host(SPEC_INTERNET_HOSTS, "*", "*");
	expect_host(SPEC_INTERNET_HOSTS, "GitHub.com", "github.com");
	expect_host(SPEC_INTERNET_HOSTS, "github.com.", "github.com");
	expect_host(SPEC_INTERNET_HOSTS, "*.GitHub.com.", "*.github.com");
	expect_host(SPEC_INTERNET_HOSTS, "a", "a");
	expect_host(SPEC_INTERNET_HOSTS, "_dmarc.a-b.example", "_dmarc.a-b.example");
	expect_host(SPEC_INTERNET_HOSTS, "1.example", "1.example");
	expect_host(SPEC_INTERNET_HOSTS, "0x.example", "0x.example");
	expect_host(SPEC_INTERNET_HOSTS, "a.0xyz", "a.0xyz");
	expect_host(SPEC_INTERNET_HOSTS, "localhost.example", "localhost.example");
	expect_host(SPEC_INTERNET_HOSTS, "mylocalhost", "mylocalhost");
	expect_host(SPEC_LAN_HOSTS, "nas.local", "nas.local");
	expect_host(SPEC_BROWSER_HOSTS, "*.github.io", "*.github.io");

	static const char *const bad[] = {
		"",         ".",          "..",          "a..b",        ".a",
		"a.b..",    "*.",         "*.*",         "**",          "*a",
		"a*",       "a.*",        "*.a.*",       "a b",         "a\tb",
		"a/b",      "http://a",   "a@b",         "a:80",        "a:b:c",
		"[::1]",    "fe80::1%1",  "\xc3\xbc.de", "a,b",         "a;b",
		"a'b",      "a\"b",       "a\\b",        "a?b",         "a#b",
		"a%41",     "-",          "1.2.3",       "0177.1",      "2130706433",
		"0x7f.1",   "0x7f000001", "0x",          "1.2.3.4.5",   "1.2.3.256",
		"01.2.3.4", "1.2.3.04",   "a.1",         "*.1",         "*.1.2.3.4",
		"1.2.3.4.", "localhost",  "a.localhost", "*.localhost",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (str_eq(bad[i], "-") || str_eq(bad[i], "1.2.3.4.")) {
			continue; /* a label of hyphens is a name; one dot at the end is dropped */
		}
		expect_refused(SPEC_INTERNET_HOSTS, bad[i], &file_place, "");
		expect_refused(SPEC_BROWSER_HOSTS, bad[i], &file_place, "");
		expect_refused(SPEC_LAN_HOSTS, bad[i], &file_place, "");
	}
	memset(label, 'a', sizeof(label));
	label[63] = '\0';
	expect_host(SPEC_INTERNET_HOSTS, label, label);
	label[63] = 'a';
	label[64] = '\0';
	expect_refused(SPEC_INTERNET_HOSTS, label, &file_place, "63");
	memset(label, 'a', sizeof(label));
	label[63] = label[127] = label[191] = '.';
	label[253] = '\0';
	expect_host(SPEC_INTERNET_HOSTS, label, label);
	label[253] = 'a';
	label[254] = '\0';
	expect_refused(SPEC_INTERNET_HOSTS, label, &file_place, "253");
}

static void addresses_have_their_section(void **state)
{
	static const struct {
		const char *text, *normal, *section; /* of the right section; NULL: nowhere */
	} cases[] = {
		{"8.8.8.8", "8.8.8.8", "[internet]"},
		{"::ffff:8.8.8.8", "8.8.8.8", "[internet]"},
		{"::FFFF:808:808", "8.8.8.8", "[internet]"},
		{"2606:4700::1111", "2606:4700::1111", "[internet]"},
		{"2606:4700:0:0:0:0:0:1111", "2606:4700::1111", "[internet]"},
		{"172.15.255.255", "172.15.255.255", "[internet]"},
		{"172.32.0.0", "172.32.0.0", "[internet]"},
		{"100.63.255.255", "100.63.255.255", "[internet]"},
		{"100.128.0.0", "100.128.0.0", "[internet]"},
		{"198.17.255.255", "198.17.255.255", "[internet]"},
		{"198.20.0.0", "198.20.0.0", "[internet]"},
		{"223.255.255.255", "223.255.255.255", "[internet]"},
		{"2001:200::1", "2001:200::1", "[internet]"},
		{"10.0.0.1", "10.0.0.1", "[lan]"},
		{"172.16.0.0", "172.16.0.0", "[lan]"},
		{"172.31.255.255", "172.31.255.255", "[lan]"},
		{"192.168.0.0", "192.168.0.0", "[lan]"},
		{"100.64.0.1", "100.64.0.1", "[lan]"},
		{"100.127.255.255", "100.127.255.255", "[lan]"},
		{"169.254.1.1", "169.254.1.1", "[lan]"},
		{"fd00::1", "fd00::1", "[lan]"},
		{"fc00::1", "fc00::1", "[lan]"},
		{"fe80::1", "fe80::1", "[lan]"},
		{"::ffff:192.168.1.1", "192.168.1.1", "[lan]"},
		{"127.0.0.1", NULL, "[localhost]"},
		{"127.255.255.255", NULL, "[localhost]"},
		{"::1", NULL, "[localhost]"},
		{"::ffff:127.0.0.1", NULL, "[localhost]"},
		{"0.0.0.0", NULL, ""},
		{"0.1.2.3", NULL, ""},
		{"192.0.0.1", NULL, ""},
		{"192.0.2.1", NULL, ""},
		{"192.88.99.1", NULL, ""},
		{"198.18.0.1", NULL, ""},
		{"198.19.255.255", NULL, ""},
		{"198.51.100.1", NULL, ""},
		{"203.0.113.1", NULL, ""},
		{"224.0.0.1", NULL, ""},
		{"240.0.0.1", NULL, ""},
		{"255.255.255.255", NULL, ""},
		{"::", NULL, ""},
		{"::2", NULL, ""},
		{"64:ff9b::a00:1", NULL, ""},
		{"64:ff9b:1::1", NULL, ""},
		{"2002:a00:1::", NULL, ""},
		{"2001::1", NULL, ""},
		{"2001:db8::1", NULL, ""},
		{"2001:2::1", NULL, ""},
		{"3fff::1", NULL, ""},
		{"4000::1", NULL, ""},
		{"100::1", NULL, ""},
		{"5f00::1", NULL, ""},
		{"fec0::1", NULL, ""},
		{"ff02::1", NULL, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *section = cases[i].section;

		if (str_eq(section, "[internet]")) {
			expect_host(SPEC_INTERNET_HOSTS, cases[i].text, cases[i].normal);
			expect_host(SPEC_BROWSER_HOSTS, cases[i].text, cases[i].normal);
			expect_refused(SPEC_LAN_HOSTS, cases[i].text, &file_place, section);
		} else if (str_eq(section, "[lan]")) {
			expect_host(SPEC_LAN_HOSTS, cases[i].text, cases[i].normal);
			expect_refused(SPEC_INTERNET_HOSTS, cases[i].text, &file_place, section);
			expect_refused(SPEC_BROWSER_HOSTS, cases[i].text, &file_place, "name");
		} else {
			expect_refused(SPEC_LAN_HOSTS, cases[i].text, &file_place, section);
			expect_refused(SPEC_INTERNET_HOSTS, cases[i].text, &file_place, section);
			expect_refused(SPEC_BROWSER_HOSTS, cases[i].text, &file_place, section);
		}
	}
}

static void metadata_services_get_no_tempting_hint(void **state)
{
	(void)state;
	expect_refused(SPEC_INTERNET_HOSTS, "169.254.169.254", &file_place, "leave it closed");
	expect_refused(SPEC_INTERNET_HOSTS, "fd00:ec2::254", &file_place, "leave it closed");
	expect_refused(SPEC_INTERNET_HOSTS, "100.100.100.200", &file_place, "leave it closed");
}

static void ranges(void **state)
{
	static const char *const good[][2] = {
		{"10.0.0.0/8", "10.0.0.0/8"},       {"10.1.2.3/32", "10.1.2.3/32"},
		{"172.16.0.0/12", "172.16.0.0/12"}, {"192.168.1.128/25", "192.168.1.128/25"},
		{"fc00::/7", "fc00::/7"},           {"fd00:0::/64", "fd00::/64"},
		{"100.64.0.0/10", "100.64.0.0/10"}, {"169.254.0.0/16", "169.254.0.0/16"},
		{"fe80::/10", "fe80::/10"},         {"fe80::1/128", "fe80::1/128"},
	};
	static const char *const bad[][2] = {
		{"10.0.0.1/8", "\"10.0.0.0/8\""},
		{"192.168.1.5/24", "\"192.168.1.0/24\""},
		{"fd00::1/64", "\"fd00::/64\""},
		{"0.0.0.0/0", "\"*\""},
		{"::/0", "\"*\""},
		{"10.0.0.0/7", "private"},
		{"172.16.0.0/11", "\"172.0.0.0/11\""},
		{"8.8.8.0/24", "[internet]"},
		{"192.168.0.0/15", "private"},
		{"fc00::/6", "private"},
		{"10.0.0.0/33", "range"},
		{"10.0.0.0/", "range"},
		{"10.0.0.0/08", "range"},
		{"10.0.0.0/+8", "range"},
		{"10.0.0.0/ 8", ""},
		{"10.0.0.0/8/8", "range"},
		{"10.0.0.0/255.0.0.0", "range"},
		{"fd00::/129", "range"},
		{"fd00::/1000", "range"},
		{"::ffff:10.0.0.0/104", "range"},
		{"127.0.0.0/8", "[localhost]"},
		{"::1/128", "[localhost]"},
		{"10/8", "range"},
		{"2001:db8::/32", "private"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		expect_host(SPEC_LAN_HOSTS, good[i][0], good[i][1]);
		expect_refused(SPEC_INTERNET_HOSTS, good[i][0], &file_place, "[lan]");
		expect_refused(SPEC_BROWSER_HOSTS, good[i][0], &file_place, "range");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		expect_refused(SPEC_LAN_HOSTS, bad[i][0], &file_place, bad[i][1]);
	}
}

static void hosts_with_ports(void **state)
{
	static const struct {
		const char *text, *host;
		int64_t port;
	} good[] = {
		{"GitHub.com.:22", "github.com", 22},
		{"a:1", "a", 1},
		{"a:65535", "a", 65535},
		{"1.1.1.1:53", "1.1.1.1", 53},
		{"[2606:4700::1111]:853", "2606:4700::1111", 853},
		{"[::ffff:8.8.8.8]:53", "8.8.8.8", 53},
	};
	static const char *const bad[] = {
		"",
		"a",
		"a:",
		":1",
		"a:0",
		"a:65536",
		"a:99999",
		"a:100000",
		"a:01",
		"a:+1",
		"a:-1",
		"a: 1",
		"a:1 ",
		"a:1x",
		"a:1:2",
		"*:1",
		"*.a:1",
		"[a]:1",
		"[1.1.1.1]:1",
		"[2606::1]",
		"[2606::1",
		"[2606::1]1",
		"[2606::1]:",
		"[]:1",
		"[:",
		"[",
		"]:1",
		"2606::1:1",
		"http://a:1",
		"a/b:1",
		"u@a:1",
		"10.0.0.1:1",
		"127.0.0.1:1",
		"[::1]:1",
		"[fd00::1]:1",
		"localhost:1",
		"1.2.3:1",
		"\xc3\xbc:1",
		"a..b:1",
		"224.0.0.1:1",
	};
	auto_arena struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct read r = read_text(&arena, SPEC_INTERNET_TCP, good[i].text, &file_place);

		assert_true(r.ok);
		assert_string_equal(r.item.path, good[i].host);
		assert_int_equal(r.item.number, good[i].port);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		expect_refused(SPEC_INTERNET_TCP, bad[i], &file_place, "");
	}
	expect_refused(SPEC_INTERNET_TCP, "10.0.0.1:1", &file_place, "[lan]");
	expect_refused(SPEC_INTERNET_TCP, "127.0.0.1:1", &file_place, "[localhost]");
}

static void numbers_and_words_of_flags(void **state)
{
	auto_arena struct arena arena = {0};
	static const struct {
		enum spec_key key;
		const char *text;
		int64_t number; /* -1: refused */
	} cases[] = {
		{SPEC_INTERNET_PER_MINUTE, "1", 1},
		{SPEC_INTERNET_PER_MINUTE, "007", 7},
		{SPEC_INTERNET_PER_MINUTE, "9223372036854775807", INT64_MAX},
		{SPEC_INTERNET_PER_MINUTE, "9223372036854775808", -1},
		{SPEC_INTERNET_PER_MINUTE, "0", -1},
		{SPEC_INTERNET_PER_MINUTE, "-1", -1},
		{SPEC_INTERNET_PER_MINUTE, "", -1},
		{SPEC_INTERNET_PER_MINUTE, "-", -1},
		{SPEC_INTERNET_PER_MINUTE, "+1", -1},
		{SPEC_INTERNET_PER_MINUTE, " 1", -1},
		{SPEC_INTERNET_PER_MINUTE, "1.0", -1},
		{SPEC_INTERNET_PER_MINUTE, "0x10", -1},
		{SPEC_LOCALHOST_PORTS, "1", 1},
		{SPEC_LOCALHOST_PORTS, "65535", 65535},
		{SPEC_LOCALHOST_PORTS, "65536", -1},
		{SPEC_LOCALHOST_PORTS, "0", -1},
		{SPEC_LOCALHOST_MODELS, "-1", -1},
		{SPEC_COMMANDS_DEVELOPER_TOOLS, "true", 1},
		{SPEC_COMMANDS_DEVELOPER_TOOLS, "false", 0},
		{SPEC_COMMANDS_DEVELOPER_TOOLS, "True", -1},
		{SPEC_COMMANDS_DEVELOPER_TOOLS, "1", -1},
		{SPEC_NETWORK_MODE, "proxy", 0},
		{SPEC_NETWORK_MODE, "host", 0},
		{SPEC_NETWORK_MODE, "Proxy", -1},
		{SPEC_NETWORK_MODE, "", -1},
		{SPEC_TOOLS_NAMES, "gh", 0},
		{SPEC_TOOLS_NAMES, "g++", 0},
		{SPEC_TOOLS_NAMES, "../gh", -1},
		{SPEC_TOOLS_NAMES, ".gh", -1},
		{SPEC_TOOLS_NAMES, "-gh", -1},
		{SPEC_TOOLS_NAMES, "*", -1},
		{SPEC_TOOLS_NAMES, "", -1},
		{SPEC_NAME, "app", 0},
		{SPEC_NAME, "", -1},
		{SPEC_NAME, "a\nb", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct read r = read_text(&arena, cases[i].key, cases[i].text, &flag_place);

		if (r.ok != (cases[i].number >= 0)) {
			fail_msg("case %zu, \"%s\"", i, cases[i].text);
		}
		if (r.ok) {
			assert_int_equal(r.item.number, cases[i].number);
		}
	}
}

static void numbers_of_toml(void **state)
{
	struct spec_item item = {.number = -7};
	struct err err;

	(void)state;
	assert_true(value_number(SPEC_VERSION, 0, &item, &err));
	assert_int_equal(item.number, 0);
	assert_false(value_number(SPEC_VERSION, -1, &item, &err));
	assert_false(value_number(SPEC_VERSION, INT64_MIN, &item, &err));
	assert_int_equal(item.number, 0);
	assert_true(value_number(SPEC_VERSION, INT64_MAX, &item, &err));
}

static void shown_values(void **state)
{
	char out[VALUE_SHOWN_MAX];
	char longer[200];

	(void)state;
	assert_string_equal(value_shown("a", 1, out), "\"a\"");
	assert_string_equal(value_shown("", 0, out), "\"\"");
	assert_string_equal(value_shown("a\0b", 3, out), "\"a\\x00b\"");
	assert_string_equal(value_shown("\0", 1, out), "\"\\x00\"");
	assert_string_equal(value_shown("\x1b[2J", 4, out), "\"\\x1b[2J\"");
	memset(longer, 'a', sizeof(longer));
	value_shown(longer, sizeof(longer), out);
	assert_int_equal(strlen(out), 60 + 2 + strlen("…"));
	memset(longer, '\0', sizeof(longer));
	assert_true(strlen(value_shown(longer, sizeof(longer), out)) < VALUE_SHOWN_MAX);
	memset(longer, 0x1b, sizeof(longer));
	assert_true(strlen(value_shown(longer, sizeof(longer), out)) < VALUE_SHOWN_MAX);
	for (size_t i = 0; i + 1 < sizeof(longer); i += 2) {
		memcpy(longer + i, "\xc3\xa9", 2);
	}
	/* 61 bytes would end in the middle of a character. */
	value_shown(longer + 1, 150, out);
	assert_non_null(strstr(out, "…"));
}

static void joined_names(void **state)
{
	auto_arena struct arena arena = {0};

	(void)state;
	assert_string_equal(value_join("/a/b", "c", &arena), "/a/b/c");
	assert_string_equal(value_join("/a/b", "../c", &arena), "/a/c");
	assert_string_equal(value_join("/", "c", &arena), "/c");
	assert_string_equal(value_join("/", "", &arena), "/");
	assert_string_equal(value_join("/", "/x//y/", &arena), "/x/y");
	assert_string_equal(value_join("/a//b/", "", &arena), "/a/b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_in_normal_form),
		cmocka_unit_test(parents_are_for_flags_alone),
		cmocka_unit_test(paths_refused),
		cmocka_unit_test(nul_bytes_are_refused_everywhere),
		cmocka_unit_test(longest_paths),
		cmocka_unit_test(commands),
		cmocka_unit_test(names),
		cmocka_unit_test(addresses_have_their_section),
		cmocka_unit_test(metadata_services_get_no_tempting_hint),
		cmocka_unit_test(ranges),
		cmocka_unit_test(hosts_with_ports),
		cmocka_unit_test(numbers_and_words_of_flags),
		cmocka_unit_test(numbers_of_toml),
		cmocka_unit_test(shown_values),
		cmocka_unit_test(joined_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
