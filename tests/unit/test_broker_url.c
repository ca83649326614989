/* Addresses to open: one written form for all that mean the same, and a refusal for all that could
 * mean something else than they show. */
#include "base/str.h"
#include "broker/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool read_exact(const char *s, size_t len, struct url *ret, struct err *err)
{
	/* Of exact size, so that a read beyond the end is seen. */
	char *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, s, len);
	memset(ret, 0x7f, sizeof(*ret));
	memset(err, 0, sizeof(*err));
	bool ok = url_read(copy, len, ret, err);
	free(copy);
	assert_true(ok == (err->code == 0));
	return ok;
}

static void written(void **state)
{
	static const struct {
		const char *given, *text, *host;
	} rows[] = {
		{"https://github.com/a/b?c=d&e#f", "https://github.com/a/b?c=d&e#f", "github.com"},
		{"HTTPS://GitHub.COM", "https://github.com/", "github.com"},
		{"HtTp://github.com.", "http://github.com/", "github.com"},
		{"https://github.com?x", "https://github.com/?x", "github.com"},
		{"https://github.com#x", "https://github.com/#x", "github.com"},
		{"https://github.com:443/", "https://github.com/", "github.com"},
		{"http://github.com:80/", "http://github.com/", "github.com"},
		{"http://github.com:443/", "http://github.com:443/", "github.com"},
		{"https://github.com:080/", "https://github.com:80/", "github.com"},
		{"https://github.com:8443/", "https://github.com:8443/", "github.com"},
		{"https://github.com:65535/", "https://github.com:65535/", "github.com"},
		{"https://1.1.1.1/", "https://1.1.1.1/", "1.1.1.1"},
		{"https://[2606:4700:0::1111]:8443/x", "https://[2606:4700::1111]:8443/x",
		 "2606:4700::1111"},
		{"https://[::ffff:1.1.1.1]/", "https://1.1.1.1/", "1.1.1.1"},
		{"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/",
		 "xn--bcher-kva.example"},
		{"https://my_host/", "https://my_host/", "my_host"},
		/* percent-encoding: digits in upper case, none where none is needed */
		{"https://a.b/%3a%2F%7e%41%2e", "https://a.b/%3A%2F~A.", "a.b"},
		{"https://a.b/%00%0a%20%25", "https://a.b/%00%0A%20%25", "a.b"},
		{"https://a.b/%2541", "https://a.b/%2541", "a.b"},
		{"https://a.b/\"<>'`{|}^[]", "https://a.b/%22%3C%3E%27%60%7B%7C%7D%5E%5B%5D",
		 "a.b"},
		{"https://a.b/b\xc3\xbc", "https://a.b/b%C3%BC", "a.b"},
		{"https://a.b/x#y#z", "https://a.b/x#y%23z", "a.b"},
		{"https://a.b/$(id);&!*,+", "https://a.b/$(id);&!*,+", "a.b"},
		/* an "@" and a ":" behind the authority are nothing special */
		{"https://a.b/@c:d", "https://a.b/@c:d", "a.b"},
		{"https://a.b?@c.d", "https://a.b/?@c.d", "a.b"},
		{"https://a.b#@c.d", "https://a.b/#@c.d", "a.b"},
		{"https://a.b//c.d/../e", "https://a.b//c.d/../e", "a.b"},
	};
	struct url url, again;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!read_exact(rows[i].given, strlen(rows[i].given), &url, &err)) {
			fail_msg("%s: %s", rows[i].given, err.msg);
		}
		assert_string_equal(url.text, rows[i].text);
		assert_string_equal(url.host, rows[i].host);
		assert_true(read_exact(url.text, strlen(url.text), &again, &err));
		assert_string_equal(again.text, url.text);
	}
}

/* With its length, because NULs are among them. */
#define BYTES(s) s, sizeof(s) - 1

static void refused(void **state)
{
	static const struct {
		const char *given;
		size_t len;
		const char *why;
	} rows[] = {
		{BYTES(""), "empty"},
		{BYTES("github.com"), "no address"},
		{BYTES("/etc/passwd"), "no address"},
		{BYTES("//github.com/"), "no address"},
		{BYTES("-https://github.com/"), "only http and https"},
		{BYTES("--help"), "no address"},
		{BYTES("file:///etc/passwd"), "only http and https"},
		{BYTES("FILE:///etc/passwd"), "only http and https"},
		{BYTES("javascript:alert(1)"), "only http and https"},
		{BYTES("JaVa\tScript:alert(1)"), "control character"},
		{BYTES("data:text/html,x"), "only http and https"},
		{BYTES("vscode://x/y"), "only http and https"},
		{BYTES("ftp://github.com/"), "only http and https"},
		{BYTES("view-source:https://github.com/"), "only http and https"},
		{BYTES("blob:https://github.com/"), "only http and https"},
		{BYTES("mailto:a@b.c"), "only http and https"},
		{BYTES("https:github.com"), "only http and https"},
		{BYTES("https:/github.com"), "only http and https"},
		{BYTES("https:///github.com"), "host"},
		{BYTES("https://"), "host"},
		{BYTES("https://?x"), "host"},
		{BYTES("https://:443/"), "host"},
		/* a user's name that looks like the host */
		{BYTES("https://bank.com@evil.com/"), "user's name"},
		{BYTES("https://bank.com:443@evil.com/"), "user's name"},
		{BYTES("https://@evil.com/"), "user's name"},
		{BYTES("https://bank.com\\@evil.com/"), "backslash"},
		{BYTES("https:\\\\evil.com/"), "backslash"},
		{BYTES("https://evil.com/\\x"), "backslash"},
		{BYTES("https://bank.com%2f@evil.com/"), "user's name"},
		{BYTES("https://bank.com%2fevil.com/"), "host"},
		{BYTES("https://evil%2ecom/"), "host"},
		/* bytes that do not show, or move */
		{BYTES(" https://github.com/"), "space"},
		{BYTES("https://github.com/ x"), "space"},
		{BYTES("https://github.com/\n"), "control character"},
		{BYTES("https://github.com/\r"), "control character"},
		{BYTES("https://git\thub.com/"), "control character"},
		{BYTES("ht\ntps://github.com/"), "control character"},
		{BYTES("https://github.com/\0x"), "control character"},
		{BYTES("https://evil.com\0.github.com/"), "control character"},
		{BYTES("https://github.com/\x1b[2J"), "control character"},
		{BYTES("https://github.com/\x7f"), "control character"},
		{BYTES("https://github.com/\xc2\x9b"), "shown"},
		{BYTES("https://github.com/\xe2\x80\xae"), "shown"}, /* U+202E */
		{BYTES("https://github.com/\xe2\x81\xa6"), "shown"}, /* U+2066 */
		{BYTES("https://github.com/\xe2\x80\x8f"), "shown"}, /* U+200F */
		{BYTES("https://github.com/\xff"), "shown"},
		{BYTES("https://github.com/\xc0\xaf"), "shown"},
		{BYTES("https://github.com/\xed\xa0\x80"), "shown"},
		/* hosts that are not ASCII, that are none, that are numbers in disguise */
		{BYTES("https://b\xc3\xbc"
		       "cher.example/"),
		 "ASCII"},
		{BYTES("https://g\xc4\xb1thub.com/"), "ASCII"},
		{BYTES("https://github\xe3\x80\x82"
		       "com/"),
		 "ASCII"},
		{BYTES("https://github..com/"), "host"},
		{BYTES("https://.github.com/"), "host"},
		{BYTES("https://github.com../"), "host"},
		{BYTES("https://-x.evil.com/"), "host"},
		{BYTES("https://git hub.com/"), "space"},
		{BYTES("https://a,b/"), "host"},
		{BYTES("https://*.com/"), "host"},
		{BYTES("https://2130706433/"), "host"},
		{BYTES("https://0x7f.1/"), "host"},
		{BYTES("https://0x7F000001/"), "host"},
		{BYTES("https://0177.0.0.1/"), "host"},
		{BYTES("https://127.1/"), "host"},
		{BYTES("https://1.2.3/"), "host"},
		{BYTES("https://1.1.1.1./"), "host"},
		{BYTES("https://256.1.1.1/"), "host"},
		{BYTES("https://a.0/"), "host"},
		{BYTES("https://[::1"), "host"},
		{BYTES("https://[::1]x/"), "host"},
		{BYTES("https://[fe80::1%25eth0]/"), "host"},
		{BYTES("https://[1.1.1.1]/"), "host"},
		{BYTES("https://[]/"), "host"},
		{BYTES("https://::1/"), "host"},
		/* ports */
		{BYTES("https://github.com:/"), "port"},
		{BYTES("https://github.com:0/"), "port"},
		{BYTES("https://github.com:65536/"), "port"},
		{BYTES("https://github.com:99999999999999999999/"), "port"},
		{BYTES("https://github.com:+443/"), "port"},
		{BYTES("https://github.com:443x/"), "port"},
		{BYTES("https://github.com:443:443/"), "port"},
		/* percent-encoding */
		{BYTES("https://github.com/%"), "\"%\""},
		{BYTES("https://github.com/%4"), "\"%\""},
		{BYTES("https://github.com/%zz"), "\"%\""},
		{BYTES("https://github.com/%u0041"), "\"%\""},
	};
	struct url url;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (read_exact(rows[i].given, rows[i].len, &url, &err)) {
			fail_msg("%s is taken as %s", rows[i].given, url.text);
		}
		if (strstr(err.msg, rows[i].why) == NULL) {
			fail_msg("%s: %s", rows[i].given, err.msg);
		}
		assert_string_not_equal(err.hint, "");
	}
}

static void lengths(void **state)
{
	char s[URL_MAX + 2];
	struct url url;
	struct err err;
	const size_t head = strlen("https://a.b/");

	(void)state;
	memset(s, 'x', sizeof(s));
	memcpy(s, "https://a.b/", head);
	assert_true(read_exact(s, URL_MAX, &url, &err));
	assert_int_equal(strlen(url.text), URL_MAX);
	assert_false(read_exact(s, URL_MAX + 1, &url, &err));
	/* What grows beyond it by being encoded, too. */
	s[URL_MAX - 1] = '"';
	assert_false(read_exact(s, URL_MAX, &url, &err));
	assert_non_null(strstr(err.msg, "2,048"));
	assert_false(read_exact(s, URL_MAX - 1, &url, &err) && strlen(url.text) > URL_MAX);
	memset(s + head, '"', URL_MAX - head);
	assert_false(read_exact(s, URL_MAX, &url, &err));
	/* The longest name. */
	memset(s, 'a', sizeof(s));
	memcpy(s, "https://", 8);
	for (size_t i = 0; i < 3; i++) {
		s[8 + 63 + i * 64] = '.';
	}
	s[8 + 253] = '/';
	assert_true(read_exact(s, 8 + 254, &url, &err));
	assert_int_equal(strlen(url.host), 253);
}

/* -1: refused; else the entry's index. */
static int grant(const char *text, const struct net_host *hosts, size_t n, struct err *err)
{
	struct url url;

	if (!read_exact(text, strlen(text), &url, err)) {
		fail_msg("%s: %s", text, err->msg);
	}
	const struct net_host *h = url_granted(&url, hosts, n, err);
	return h == NULL ? -1 : (int)(h - hosts);
}

static void granted(void **state)
{
	static const struct net_host some[] = {{.pattern = "github.com"},
					       {.pattern = "*.ok.test"},
					       {.pattern = "1.1.1.1"},
					       {.pattern = "nas.local"}};
	static const struct net_host any[] = {{.pattern = "*"}};
	static const struct net_host odd[] = {{.pattern = "*"}, {.pattern = "192.168.1.1"}};
	static const struct {
		const char *url;
		int some, any;
	} rows[] = {
		{"https://github.com/x", 0, 0},
		{"http://GITHUB.com.:8080/x", 0, 0},
		{"https://api.github.com/", -1, 0},
		{"https://github.com.evil.test/", -1, 0},
		{"https://evilgithub.com/", -1, 0},
		{"https://a.b.ok.test/", 1, 0},
		{"https://ok.test/", -1, 0},
		{"https://evilok.test/", -1, 0},
		{"https://1.1.1.1/", 2, 0},
		{"https://[::ffff:1.1.1.1]/", 2, 0},
		{"https://8.8.8.8/", -1, 0},
		{"https://nas.local/", 3, 0},
		{"https://router/", -1, 0},
		/* never by "*" */
		{"http://localhost:631/", -1, -1},
		{"http://x.localhost/", -1, -1},
		{"http://LOCALHOST./", -1, -1},
		{"http://localhost.localdomain/", -1, -1},
		{"http://ip6-localhost/", -1, -1},
		{"http://127.0.0.1:631/", -1, -1},
		{"http://[::1]:631/", -1, -1},
		{"http://[::ffff:127.0.0.1]/", -1, -1},
		{"http://[64:ff9b::7f00:1]/", -1, -1},
		{"http://0.0.0.0/", -1, -1},
		{"http://10.0.0.1/", -1, -1},
		{"http://192.168.1.1/", -1, -1},
		{"http://169.254.169.254/", -1, -1},
		{"http://100.100.100.200/", -1, -1},
		{"http://[fe80::1]/", -1, -1},
		{"http://[fd00::1]/", -1, -1},
		{"http://224.0.0.1/", -1, -1},
		{"http://255.255.255.255/", -1, -1},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int a = grant(rows[i].url, some, ARRAY_LEN(some), &err);

		if (a != rows[i].some || (a < 0 && (err.msg[0] == '\0' || err.hint[0] == '\0'))) {
			fail_msg("%s: %d", rows[i].url, a);
		}
		a = grant(rows[i].url, any, ARRAY_LEN(any), &err);
		if (a != rows[i].any) {
			fail_msg("%s, any: %d", rows[i].url, a);
		}
		assert_int_equal(grant(rows[i].url, any, 0, &err), -1);
	}
	/* An entry that names it is meant. */
	assert_int_equal(grant("http://192.168.1.1/", odd, ARRAY_LEN(odd), &err), 1);
	assert_int_equal(grant("https://api.github.com/", some, ARRAY_LEN(some), &err), -1);
	assert_non_null(strstr(err.hint, "hosts = [..., \"api.github.com\"]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written),
		cmocka_unit_test(refused),
		cmocka_unit_test(lengths),
		cmocka_unit_test(granted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
