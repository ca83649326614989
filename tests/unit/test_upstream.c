/* The user's proxy: read from the environment, used or not, and asked for a tunnel. */
#include "base/str.h"
#include "gate/upstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VARS_MAX 8

/* Reads `vars`, NULL at their end. */
static bool read_vars(const char *const *vars, struct arena *arena, struct upstream *u,
		      struct err *err)
{
	char *envp[VARS_MAX + 1] = {NULL};

	for (size_t i = 0; vars[i] != NULL; i++) {
		assert_true(i < VARS_MAX);
		envp[i] = arena_strdup(arena, vars[i]);
	}
	memset(u, 0, sizeof(*u));
	return upstream_read(envp, arena, u, err);
}

static void expect_proxy(const struct proxy *p, const char *host, unsigned port, const char *login)
{
	if (host == NULL) {
		assert_null(p);
		return;
	}
	assert_non_null(p);
	assert_string_equal(p->host, host);
	assert_int_equal(p->port, port);
	if (login == NULL) {
		assert_null(p->authorization);
	} else {
		assert_non_null(p->authorization);
		assert_string_equal(p->authorization, login);
	}
}

static void which_variable(void **state)
{
	static const struct {
		const char *vars[VARS_MAX];
		const char *https, *http;
	} rows[] = {
		{{NULL}, NULL, NULL},
		{{"PATH=/bin", "HTTPS_PROXYX=http://no"}, NULL, NULL},
		{{"HTTPS_PROXY=http://a"}, "a", NULL},
		{{"HTTP_PROXY=http://a"}, NULL, "a"},
		{{"ALL_PROXY=http://a"}, "a", "a"},
		{{"all_proxy=http://a"}, "a", "a"},
		{{"HTTPS_PROXY=http://upper", "https_proxy=http://lower"}, "lower", NULL},
		{{"HTTP_PROXY=http://upper", "http_proxy=http://lower"}, NULL, "lower"},
		{{"ALL_PROXY=http://all", "HTTPS_PROXY=http://a"}, "a", "all"},
		{{"ALL_PROXY=http://upper", "all_proxy=http://lower"}, "lower", "lower"},
		/* Empty is unset. */
		{{"https_proxy=", "HTTPS_PROXY=http://a"}, "a", NULL},
		{{"https_proxy=", "http_proxy=", "all_proxy="}, NULL, NULL},
		/* A request's header Proxy under a web server. */
		{{"REQUEST_METHOD=GET", "HTTP_PROXY=http://evil"}, NULL, NULL},
		{{"REQUEST_METHOD=GET", "HTTP_PROXY=http://evil", "http_proxy=http://a"},
		 NULL,
		 "a"},
		/* One that is not used need not be readable. */
		{{"ALL_PROXY=socks5://a", "HTTPS_PROXY=http://a", "HTTP_PROXY=http://b"}, "a", "b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_arena struct arena arena = {0};
		struct upstream u;
		struct err err;

		assert_true(read_vars(rows[i].vars, &arena, &u, &err));
		expect_proxy(u.https, rows[i].https, 80, NULL);
		expect_proxy(u.http, rows[i].http, 80, NULL);
		assert_null(u.no_proxy);
	}
}

static void values(void **state)
{
	static const struct {
		const char *value, *host;
		unsigned port;
		const char *login;
	} rows[] = {
		{"http://proxy.corp.example:3128", "proxy.corp.example", 3128, NULL},
		{"http://Proxy.Corp.Example.:3128/", "proxy.corp.example", 3128, NULL},
		{"HTTP://proxy:8080", "proxy", 8080, NULL},
		{"proxy:8080", "proxy", 8080, NULL},
		{"proxy", "proxy", 80, NULL},
		{"http://10.1.2.3:1", "10.1.2.3", 1, NULL},
		{"http://[fd00::1]:3128", "fd00::1", 3128, NULL},
		{"http://[fd00::1]", "fd00::1", 80, NULL},
		{"http://localhost:65535/?x#y", "localhost", 65535, NULL},
		{"http://proxy:", "proxy", 80, NULL},
		{"http://u:p@proxy:3128", "proxy", 3128, "Basic dTpw"},
		{"u:p@proxy:3128", "proxy", 3128, "Basic dTpw"},
		{"http://u@proxy", "proxy", 80, "Basic dTo="},
		{"http://u:@proxy", "proxy", 80, "Basic dTo="},
		{"http://:p@proxy", "proxy", 80, "Basic OnA="},
		/* RFC 7617 section 2's example. */
		{"http://Aladdin:open%20sesame@proxy", "proxy", 80,
		 "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
		{"http://u:a%40b%3ac%2F@proxy", "proxy", 80, "Basic dTphQGI6Yy8="},
		/* "@" and "%" as they are. */
		{"http://u:a@b@proxy", "proxy", 80, "Basic dTphQGI="},
		{"http://u:100%@proxy", "proxy", 80, "Basic dToxMDAl"},
		{"http://u:%zz%4@proxy", "proxy", 80, "Basic dTolenolNA=="},
		{"http://u:%0d%0aX@proxy", "proxy", 80, "Basic dToNClg="},
		{"http://u:\xc3\xbc@proxy", "proxy", 80, "Basic dTrDvA=="},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_arena struct arena arena = {0};
		const char *vars[] = {arena_printf(&arena, "https_proxy=%s", rows[i].value), NULL};
		struct upstream u;
		struct err err;

		if (!read_vars(vars, &arena, &u, &err)) {
			fail_msg("%s: %s", rows[i].value, err.msg);
		}
		expect_proxy(u.https, rows[i].host, rows[i].port, rows[i].login);
	}
}

static void unreadable_values(void **state)
{
	static const struct {
		const char *value, *says;
	} rows[] = {
		{"socks5://u:TOPSECRET@proxy:1080", "SOCKS"},
		{"socks5h://u:TOPSECRET@proxy:1080", "SOCKS"},
		{"https://u:TOPSECRET@proxy:443", "https://"},
		{"ftp://u:TOPSECRET@proxy", "http://"},
		{"http://u:TOPSECRET@", "host"},
		{"http://", "host"},
		{"%%%", "host"},
		{"http://u:TOPSECRET@pro xy", "host"},
		{"http://u:TOPSECRET@proxy\r\nX: y", "host"},
		{"http://u:TOPSECRET@[::1", "host"},
		{"http://u:TOPSECRET@::1:80", "host"},
		{"http://u:TOPSECRET@127.1:80", "host"},
		{"http://u:TOPSECRET@proxy:0", "port"},
		{"http://u:TOPSECRET@proxy:99999", "port"},
		{"http://u:TOPSECRET@proxy:3128x", "port"},
		{"http://u:TOPSECRET@proxy:-1", "port"},
		{"http://u:TOPSECRET@proxy:+80", "port"},
		{"http://u:TOPSECRET@proxy:4294967376", "port"},
	};
	static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "http_proxy",
					    "ALL_PROXY"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_arena struct arena arena = {0};
		const char *name = names[i % ARRAY_LEN(names)];
		const char *vars[] = {arena_printf(&arena, "%s=%s", name, rows[i].value), NULL};
		struct upstream u;
		struct err err;

		if (read_vars(vars, &arena, &u, &err)) {
			fail_msg("%s is taken", rows[i].value);
		}
		assert_int_equal(err.code, ERR_SETUP);
		assert_non_null(strstr(err.msg, name));
		assert_non_null(strstr(err.msg, rows[i].says));
		assert_null(strstr(err.msg, "TOPSECRET"));
		assert_null(strstr(err.hint, "TOPSECRET"));
		assert_null(strstr(err.msg, "proxy:"));
		assert_non_null(strstr(err.hint, name));
		assert_null(u.https);
	}
	/* A password of any length. */
	auto_arena struct arena arena = {0};
	char login[4000];
	struct upstream u;
	struct err err;
	memset(login, 'x', sizeof(login) - 1);
	login[sizeof(login) - 1] = '\0';
	const char *vars[] = {arena_printf(&arena, "https_proxy=http://%s@proxy", login), NULL};
	assert_false(read_vars(vars, &arena, &u, &err));
	login[1024] = '\0';
	vars[0] = arena_printf(&arena, "https_proxy=http://%s@proxy", login);
	assert_true(read_vars(vars, &arena, &u, &err));
	char out[UPSTREAM_CONNECT_MAX];
	char host[HOST_MAX];
	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	size_t n = upstream_connect_request(u.https, host, 65535, out);
	assert_true(n > 0 && n == strlen(out));
	assert_non_null(strstr(out, u.https->authorization));
}

static void when_it_is_used(void **state)
{
	static const struct {
		const char *no_proxy, *host;
		unsigned port;
		bool straight;
	} rows[] = {
		{"*", "any.test", 443, true},
		{"a.test,*", "any.test", 443, true},
		{"ok.test", "ok.test", 443, true},
		{"OK.Test.", "ok.test", 443, true},
		{"ok.test", "x.ok.test", 443, true},
		{"ok.test", "evilok.test", 443, false},
		{"ok.test", "ok.test.evil", 443, false},
		{".ok.test", "x.ok.test", 443, true},
		{".ok.test", "ok.test", 443, true},
		{".ok.test", "evilok.test", 443, false},
		{"*.ok.test", "x.ok.test", 443, true},
		{"x.ok.test", "ok.test", 443, false},
		{"a.test, ok.test", "ok.test", 443, true},
		{"a.test ok.test", "ok.test", 443, true},
		{",, ,ok.test,,", "ok.test", 443, true},
		{"ok.test:443", "ok.test", 443, true},
		{"ok.test:8443", "ok.test", 443, false},
		{"ok.test:", "ok.test", 443, false},
		{"ok.test:x", "ok.test", 443, false},
		{"10.0.0.5", "10.0.0.5", 443, true},
		{"10.0.0.5", "10.0.0.50", 443, false},
		{"10.0.0.0/8", "10.200.0.1", 443, true},
		{"10.0.0.0/8", "11.0.0.1", 443, false},
		{"0.0.0.0/0", "8.8.8.8", 443, true},
		{"0.0.0.0/0", "fd00::1", 443, false},
		{"::/0", "8.8.8.8", 443, false},
		{"10.0.0.0/33", "10.0.0.0", 443, false},
		{"10.0.0.0/", "10.0.0.0", 443, false},
		{"10.0.0.0/8", "10.example", 443, false},
		{"10.0.0.5:80", "10.0.0.5", 80, true},
		{"10.0.0.5:80", "10.0.0.5", 81, false},
		{"fd00::/8", "fd12::1", 443, true},
		{"fd00::/8", "fe00::1", 443, false},
		{"fd00::1", "fd00::1", 443, true},
		{"[fd00::1]", "fd00::1", 443, true},
		{"[fd00::1]:443", "fd00::1", 443, true},
		{"[fd00::1]:80", "fd00::1", 443, false},
		{"0.0", "10.0.0.0", 443, false},
		{"", "ok.test", 443, false},
		{".", "ok.test", 443, false},
		{"..", "ok.test", 443, false},
		{":443", "ok.test", 443, false},
		{"]", "ok.test", 443, false},
		{"[", "ok.test", 443, false},
		{"/", "ok.test", 443, false},
		{"localhost,127.0.0.1", "ok.test", 443, false},
	};
	static struct proxy tls = {.host = "tls", .port = 1}, plain = {.host = "plain", .port = 2};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct upstream u = {&tls, &plain, rows[i].no_proxy};
		const struct proxy *p =
			upstream_for(&u, false, rows[i].host, (uint16_t)rows[i].port);

		if (p != (rows[i].straight ? NULL : &tls)) {
			fail_msg("%s for %s:%u", rows[i].no_proxy, rows[i].host, rows[i].port);
		}
		p = upstream_for(&u, true, rows[i].host, (uint16_t)rows[i].port);
		assert_true(p == (rows[i].straight ? NULL : &plain));
	}
	const struct upstream one = {&tls, NULL, NULL};
	assert_true(upstream_for(&one, false, "ok.test", 443) == &tls);
	assert_null(upstream_for(&one, true, "ok.test", 80));
	/* An entry that no host can be. */
	char longest[600];
	memset(longest, 'a', sizeof(longest) - 1);
	memcpy(longest + 590, ",ok.test", 9);
	const struct upstream u = {&tls, NULL, longest};
	assert_null(upstream_for(&u, false, "ok.test", 443));
}

static void read_lists(void **state)
{
	auto_arena struct arena arena = {0};
	static const char *const both[] = {"NO_PROXY=upper", "no_proxy=lower", NULL};
	static const char *const upper[] = {"NO_PROXY=upper", "no_proxy=", NULL};
	struct upstream u;
	struct err err;

	(void)state;
	assert_true(read_vars(both, &arena, &u, &err));
	assert_string_equal(u.no_proxy, "lower");
	assert_true(read_vars(upper, &arena, &u, &err));
	assert_string_equal(u.no_proxy, "upper");
}

/* --- the tunnel --------------------------------------------------------------------------- */

static void asking_for_a_tunnel(void **state)
{
	const struct proxy plain = {.host = "p", .port = 1};
	const struct proxy login = {.host = "p", .port = 1, .authorization = "Basic dTpw"};
	char out[UPSTREAM_CONNECT_MAX];

	(void)state;
	size_t n = upstream_connect_request(&plain, "ok.test", 443, out);
	assert_string_equal(out, "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test:443\r\n\r\n");
	assert_int_equal(n, strlen(out));
	upstream_connect_request(&login, "fd00::1", 22, out);
	assert_string_equal(out, "CONNECT [fd00::1]:22 HTTP/1.1\r\nHost: [fd00::1]:22\r\n"
				 "Proxy-Authorization: Basic dTpw\r\n\r\n");
	static char big[3000] = "Basic ";
	memset(big + 6, 'x', sizeof(big) - 7);
	const struct proxy huge = {.host = "p", .port = 1, .authorization = big};
	assert_int_equal(upstream_connect_request(&huge, "ok.test", 443, out), 0);
	assert_int_equal(upstream_connect_request(&plain, big, 443, out), 0);
}

static void its_answer(void **state)
{
	static const struct {
		const char *bytes;
		long result; /* -2: the whole length */
		unsigned status;
	} rows[] = {
		{"HTTP/1.1 200 Connection established\r\n\r\n", -2, 200},
		{"HTTP/1.0 200 OK\r\nVia: x\r\n\r\n", -2, 200},
		{"HTTP/1.1 200\r\n\r\n", -2, 200},
		{"HTTP/1.1 299 \r\nContent-Length: 5\r\n\r\n", -2, 299},
		{"HTTP/1.1 200 OK\n\n", -2, 200},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", -2, 200},
		{"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 407 No\r\n", -1, 407},
		{"HTTP/1.1 407 Proxy Authentication Required\r\n", -1, 407},
		{"HTTP/1.1 502 ", -1, 502},
		{"HTTP/1.1 101 Switching\r\n\r\n", -1, 101},
		{"HTTP/1.1 301 Moved\r\n", -1, 301},
		{"HTTP/1.1 000 x\r\n\r\n", -1, 0},
		{"HTTP/2.0 200 OK\r\n\r\n", -1, 0},
		{"HTTP/1.1 2x0 OK\r\n\r\n", -1, 0},
		{"HTTP/1.1 2000 OK\r\n\r\n", -1, 0},
		{"HTTP/1.1  200 OK\r\n\r\n", -1, 0},
		{"ICY 200 OK\r\n\r\n", -1, 0},
		{"\r\n\r\n", -1, 0},
		{"SSH-2.0-OpenSSH_9.2\r\n", -1, 0},
		{"\x15\x03\x01", -1, 0},
		{"", 0, 0},
		{"HTTP/1.1 200", 0, 0},
		{"HTTP/1.1 200 OK\r\n", 0, 200},
		{"HTTP/1.1 200 OK\r\nVia: x\r\n\r", 0, 200},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].bytes);
		char *exact = malloc(len > 0 ? len : 1);
		unsigned status = 77;

		assert_non_null(exact);
		memcpy(exact, rows[i].bytes, len);
		long got = upstream_connect_answer(exact, len, &status);
		if (got != (rows[i].result == -2 ? (long)len : rows[i].result) ||
		    status != rows[i].status) {
			fail_msg("%s: %ld, %u", rows[i].bytes, got, status);
		}
		/* Of a good answer every shorter part wants more bytes. */
		for (size_t n = 0; rows[i].result == -2 && n < len; n++) {
			assert_int_equal(upstream_connect_answer(exact, n, &status), 0);
		}
		free(exact);
	}
	/* What follows is the tunnel's. */
	unsigned status;
	static const char more[] = "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n";
	assert_int_equal(upstream_connect_answer(more, sizeof(more) - 1, &status), 19);
	/* A head without end. */
	static char head[20000] = "HTTP/1.1 200 OK\r\nX: ";
	memset(head + 20, 'x', sizeof(head) - 20);
	assert_int_equal(upstream_connect_answer(head, 10000, &status), 0);
	assert_int_equal(upstream_connect_answer(head, sizeof(head), &status), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_variable),    cmocka_unit_test(values),
		cmocka_unit_test(unreadable_values), cmocka_unit_test(when_it_is_used),
		cmocka_unit_test(read_lists),        cmocka_unit_test(asking_for_a_tunnel),
		cmocka_unit_test(its_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
