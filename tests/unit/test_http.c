/* Requests: what a server gets of them, and what it never sees. */
#include "http_kit.h"

#include "gate/gate.h"

#include "base/str.h"

#define HOST  "Host: ok.test\r\n"
#define GET   "GET / HTTP/1.1\r\n" HOST
#define POST  "POST /p HTTP/1.1\r\n" HOST
#define OUT   " HTTP/1.1\r\nHost: ok.test\r\n"
#define REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static const size_t steps[] = {0, 1, 2, 3, 7, 64};

struct row {
	const char *in, *out;
};

/* Both whole and in pieces the server gets exactly `out`. */
static void expect_passed(struct http_config config, const struct row *row)
{
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct pair *p = pair_with(config);

		p->step = steps[i];
		assert_int_equal(client(p, row->in), strlen(row->in));
		/* Pieces of a chunked body are chunks of their own. */
		if (steps[i] == 0 || strstr(row->out, "chunked") == NULL) {
			assert_string_equal(to_server(p), row->out);
		}
		assert_int_equal(http_state(p->http), HTTP_GOING);
		assert_true(http_needs_server(p->http));
		assert_false(http_wants_client(p->http));
		assert_int_equal(p->judged, 1);
		pair_end(p);
	}
}

static void test_passes(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{GET "\r\n", "GET /" OUT "\r\n"},
		{"GET /a?b=%41&c[]={}|\\\"'<>^` HTTP/1.1\r\n" HOST "\r\n", "GET /a?b=%41&c[]={}|\\\"'<>^`" OUT "\r\n"},
		{"\r\n\r\n" GET "\r\n", "GET /" OUT "\r\n"},
		/* Host is the call's, first, whatever it was; other headers keep order, case and value. */
		{"GET / HTTP/1.1\r\nX-b:  2 \t\r\nhOST:\tOK.Test.:80 \r\nx-A: a:b,  c\r\nX-b: 3\r\nEmpty:\r\n\r\n",
		 "GET /" OUT "X-b: 2\r\nx-A: a:b,  c\r\nX-b: 3\r\nEmpty: \r\n\r\n"},
		{GET "Bytes: \xc3\xa4\xff\tx\r\n\r\n", "GET /" OUT "Bytes: \xc3\xa4\xff\tx\r\n\r\n"},
		/* What is between the two of them stays between them. */
		{GET "Connection: keep-alive, X-Hop,, ,x-HOP2\r\nX-Hop: 1\r\nX-Hop2: 2\r\nX-Hop3: 3\r\nKeep-Alive: timeout=5\r\n"
		 "Proxy-Connection: x\r\nProxy-Authorization: Basic x\r\nTE: gzip\r\nTrailer: X\r\n\r\n",
		 "GET /" OUT "X-Hop3: 3\r\n\r\n"},
		{GET "TE: gzip;q=1, Trailers\r\nConnection: TE\r\n\r\n", "GET /" OUT "TE: trailers\r\nConnection: TE\r\n\r\n"},
		{GET "TE: trailers\r\nConnection: TE, close\r\n\r\n", "GET /" OUT "TE: trailers\r\nConnection: TE, close\r\n\r\n"},
		{GET "Connection: close\r\n\r\n", "GET /" OUT "Connection: close\r\n\r\n"},
		/* Framing and Host are not to be taken away by naming them. */
		{"POST / HTTP/1.1\r\n" HOST "Connection: Content-Length, Host\r\nContent-Length: 3\r\n\r\nabc",
		 "POST /" OUT "Content-Length: 3\r\n\r\nabc"},
		/* Upgrades: none but websocket's. */
		{GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n", "GET /" OUT "\r\n"},
		{GET "Upgrade: websocket\r\n\r\n", "GET /" OUT "\r\n"},
		{"GET / HTTP/1.0\r\n" HOST "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", "GET /" OUT "Connection: close\r\n\r\n"},
		{GET "Connection: keep-alive, Upgrade\r\nUpgrade: h2c, WebSocket\r\nSec-WebSocket-Key: k\r\n\r\n",
		 "GET /" OUT "Sec-WebSocket-Key: k\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"},
		/* Absolute-form. */
		{"GET http://ok.test/a?b HTTP/1.1\r\n" HOST "\r\n", "GET /a?b" OUT "\r\n"},
		{"GET HTTP://OK.test.:80/ HTTP/1.1\r\n" HOST "\r\n", "GET /" OUT "\r\n"},
		{"GET http://ok.test HTTP/1.1\r\n" HOST "\r\n", "GET /" OUT "\r\n"},
		{"GET http://ok.test?q=/ HTTP/1.1\r\n" HOST "\r\n", "GET /?q=/" OUT "\r\n"},
		{"OPTIONS http://ok.test HTTP/1.1\r\n" HOST "\r\n", "OPTIONS *" OUT "\r\n"},
		{"OPTIONS http://ok.test/ HTTP/1.1\r\n" HOST "\r\n", "OPTIONS /" OUT "\r\n"},
		{"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS *" OUT "\r\n"},
		/* Bodies. */
		{POST "content-LENGTH: 0005\r\nX: y\r\n\r\nhello", "POST /p" OUT "content-LENGTH: 5\r\nX: y\r\n\r\nhello"},
		{POST "Content-Length: 0\r\n\r\n", "POST /p" OUT "Content-Length: 0\r\n\r\n"},
		{POST "\r\n", "POST /p" OUT "\r\n"},
		{"GET / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", "GET /" OUT "Content-Length: 2\r\n\r\n{}"},
		{POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", "POST /p" OUT "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}"},
		{POST "transfer-encoding:\tCHUNKED \r\nTrailer: T\r\n\r\n3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n",
		 "POST /p" OUT "Trailer: T\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n"},
		{POST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "POST /p" OUT "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		/* Trailers: but what would say how to read the message, or where it goes. */
		{POST "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT-1:  v w \r\nHost: evil\r\nContent-Length: 9\r\nCookie: c\r\nE:\r\n\r\n",
		 "POST /p" OUT "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT-1: v w \r\nE: \r\n\r\n"},
		/* HTTP/1.0 */
		{"GET / HTTP/1.0\r\n\r\n", "GET /" OUT "Connection: close\r\n\r\n"},
		{"POST / HTTP/1.0\r\n" HOST "Connection: Keep-Alive\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
		 "POST /" OUT "Content-Length: 1\r\n\r\nx"},
		{"PROPFIND / HTTP/1.1\r\n" HOST "\r\n", "PROPFIND /" OUT "\r\n"},
		{"M-SEARCH / HTTP/1.1\r\n" HOST "\r\n", "M-SEARCH /" OUT "\r\n"},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect_passed((struct http_config){0}, &rows[i]);
	}
}

static void expect_refused(struct http_config config, const char *in, size_t len, unsigned status)
{
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct pair *p = pair_with(config);
		const char *why = NULL;

		p->step = steps[i];
		(void)feed(p, false, in, len);
		if (http_state(p->http) != HTTP_CLOSE) {
			fail_msg("passed: %s", in);
		}
		assert_false(http_needs_server(p->http));
		assert_string_equal(to_server(p), "");
		expect_page(p, status);
		assert_int_equal(p->judged, 0);
		assert_int_equal(http_refused(p->http, &why), status);
		assert_non_null(why);
		assert_false(http_wants_client(p->http));
		assert_int_equal(client(p, GET "\r\n"), 0);
		pair_end(p);
	}
}

/* Every one of them is a way to say two things at once, or nothing that can be relied upon. */
static void test_refused(void **state)
{
	/* clang-format off */
	static const char *const rows[] = {
		/* the first line */
		"GET / HTTP/1.1\n", "GET /\r\n", "GET / HTTP/0.9\r\n", "GET / HTTP/2.0\r\n", "GET / HTTP/1.2\r\n",
		"GET / HTTP/01.1\r\n", "GET / http/1.1\r\n", "GET  / HTTP/1.1\r\n", "GET /  HTTP/1.1\r\n",
		"GET\t/ HTTP/1.1\r\n", "GET / HTTP/1.1 \r\n", " GET / HTTP/1.1\r\n", "G(T / HTTP/1.1\r\n",
		"GET / x HTTP/1.1\r\n", "/ HTTP/1.1\r\n", "GET HTTP/1.1\r\n", "HTTP/1.1\r\n",
		"GET /\xc3\xa4 HTTP/1.1\r\n", "GET /a\tb HTTP/1.1\r\n", "GET /\x7f HTTP/1.1\r\n", "GET /\x01 HTTP/1.1\r\n",
		"GET /#f HTTP/1.1\r\n", "GET a/b HTTP/1.1\r\n", "GET * HTTP/1.1\r\n", "GET ok.test:80 HTTP/1.1\r\n",
		"GET https://ok.test/ HTTP/1.1\r\n", "GET ftp://ok.test/ HTTP/1.1\r\n", "GET http:///x HTTP/1.1\r\n",
		"GET http:/ok.test/ HTTP/1.1\r\n", "GET http://?x HTTP/1.1\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\x16\x03\x01\x02", "\r\nx\x01",
		"\n" GET "\r\n", "\r" GET "\r\n", "UNKNOWN / HTTP/1.1\r\n" HOST "\r\n", "get / HTTP/1.1\r\n" HOST "\r\n",
		"SETUP rtsp://x/ RTSP/1.0\r\n", "SETUP / HTTP/1.1\r\n" HOST "\r\n",
		"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
		/* Host */
		"GET / HTTP/1.1\r\n\r\n", GET HOST "\r\n", GET "Host: evil.test\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ok.test evil.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: ok.test, evil.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: u@ok.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: ok.test:443@evil.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ok.test:\r\n\r\n", "GET / HTTP/1.1\r\nHost: ok.test:+80\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ok.test:0\r\n\r\n", "GET / HTTP/1.1\r\nHost: ok.test:65536\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ok.test:080080\r\n\r\n", "GET / HTTP/1.1\r\nHost: ok.test:80:80\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ok%2etest\r\n\r\n", "GET / HTTP/1.1\r\nHost: http://ok.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ok..test\r\n\r\n", "GET / HTTP/1.1\r\nHost: ok.test/\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "GET / HTTP/1.1\r\nHost: ok.t\xc3\xa4st\r\n\r\n",
		"GET / HTTP/1.0\r\n" HOST HOST "\r\n",
		"GET http://ok.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "GET http://evil.test/ HTTP/1.1\r\n" HOST "\r\n",
		"GET http://ok.test:81/ HTTP/1.1\r\n" HOST "\r\n", "GET http://u@ok.test/ HTTP/1.1\r\n" HOST "\r\n",
		"GET http://ok.test/ HTTP/1.1\r\n\r\n", "GET http://evil.test/ HTTP/1.0\r\n\r\n",
		/* lines */
		GET "X : y\r\n\r\n", GET "X\t: y\r\n\r\n", GET " X: y\r\n\r\n", GET "X: y\r\n z\r\n\r\n", GET "X: y\r\n\tz\r\n\r\n",
		GET "X\r\n\r\n", GET ": y\r\n\r\n", GET "X: y\n\r\n", GET "X: y\r\r\n\r\n", GET "X: y\rZ: z\r\n\r\n",
		GET "X: \x01\r\n\r\n", GET "X: \x7f\r\n\r\n", GET "X: \x0b\r\n\r\n", GET "X(: y\r\n\r\n", GET "X\xc3: y\r\n\r\n",
		GET "X y: z\r\n\r\n", GET "\n", GET "\r\r\n", "GET / HTTP/1.1\r\n Host: ok.test\r\n\r\n",
		GET "Connection: a b\r\n\r\n", GET "Connection: \"close\"\r\n\r\n",
		GET "Connection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\r\n\r\n",
		/* framing */
		POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		POST "Content-Length: 5, 5\r\n\r\nhello", POST "Content-Length: +5\r\n\r\nhello", POST "Content-Length: -1\r\n\r\n",
		POST "Content-Length: 5 5\r\n\r\nhello", POST "Content-Length: 0x5\r\n\r\nhello", POST "Content-Length:\r\n\r\n",
		POST "Content-Length: 5.0\r\n\r\nhello", POST "Content-Length: 18446744073709551617\r\n\r\n",
		POST "Content-Length: 9999999999999999999\r\n\r\n", POST "Content_Length: 5\r\n\r\n", POST "Transfer_Encoding: chunked\r\n\r\n",
		POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		POST "Transfer-Encoding: identity\r\n\r\n", POST "Transfer-Encoding: gzip\r\n\r\n", POST "Transfer-Encoding:\r\n\r\n",
		POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
		POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
		POST "Transfer-Encoding: \x0b" "chunked\r\n\r\n0\r\n\r\n", POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", POST "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		/* websocket with what it may not have */
		"POST / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		GET "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nx",
	};
	static const char *const methods[] = {
		"CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test:443\r\n\r\n", "CONNECT / HTTP/1.1\r\n" HOST "\r\n",
		"TRACE / HTTP/1.1\r\n" HOST "\r\n",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect_refused((struct http_config){0}, rows[i], strlen(rows[i]), 400);
	}
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		expect_refused((struct http_config){0}, methods[i], strlen(methods[i]), 405);
	}
	expect_refused((struct http_config){0}, GET "X: a\0b\r\n\r\n",
		       sizeof(GET "X: a\0b\r\n\r\n") - 1, 400);
	expect_refused((struct http_config){0}, "GET /\0 HTTP/1.1\r\n", 18, 400);
}

/* A body that goes wrong after its head has gone out: the call ends, and nothing of the rest. */
static void test_bad_chunks(void **state)
{
	/* clang-format off */
	static const char *const rows[] = {
		"3;a=b\r\nabc\r\n0\r\n\r\n", "3;\r\nabc\r\n0\r\n\r\n", "3;a\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n",
		" 3\r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3\r\nabc0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n",
		"+3\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n", "g\r\n\r\n",
		"10000000000000003\r\nabc\r\n0\r\n\r\n", "fffffffffffffffff\r\n", "0\n\n", "0\r\n\n", "0;x\r\n\r\n", "0\r\rX\r\n",
		"0\r\nA: b\n\r\n", "0\r\nA : b\r\n\r\n", "0\r\nA: \x01\r\n\r\n", "0\r\nA: b\r\n\n", "0\r\n: b\r\n\r\n",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
			struct pair *p = pair_new();

			p->step = steps[k];
			(void)client(p, POST "Transfer-Encoding: chunked\r\n\r\n");
			assert_non_null(strstr(to_server(p), "Transfer-Encoding: chunked\r\n\r\n"));
			(void)client(p, rows[i]);
			if (http_state(p->http) != HTTP_CLOSE) {
				fail_msg("passed: %s", rows[i]);
			}
			/* No end of it: the server cannot take it for whole. */
			assert_null(strstr(to_server(p), "0\r\n"));
			expect_page(p, 400);
			pair_end(p);
		}
	}
}

static void test_judged(void **state)
{
	struct pair *p = pair_new();

	(void)state;
	(void)client(p, "GET http://OK.test:8080/a?b HTTP/1.1\r\nHost: ok.test.:8080\r\n\r\n");
	assert_string_equal(p->last, "GET /a?b ok.test:8080");
	/* What is written is the call's, even so. */
	assert_string_equal(to_server(p), "GET /a?b" OUT "\r\n");
	pair_end(p);

	p = pair_new();
	p->refuse = 403;
	(void)client(p, "POST / HTTP/1.1\r\nHost: Evil.Test\r\nContent-Length: 5\r\n\r\nhello");
	assert_string_equal(p->last, "POST / evil.test:80");
	assert_string_equal(to_server(p), "");
	assert_string_equal(
		to_client(p),
		"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
		"Content-Length: 56\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
		"lnk: the request was refused: no?such thing\nlnk: add it\n");
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	pair_end(p);

	p = pair_new();
	p->refuse = 429;
	(void)client(p, "HEAD / HTTP/1.1\r\n" HOST "\r\n");
	const char *page = to_client(p);
	assert_non_null(strstr(page, "\r\nRetry-After: 7\r\n"));
	assert_string_equal(strstr(page, "\r\n\r\n"), "\r\n\r\n"); /* HEAD: no body */
	pair_end(p);

	p = pair_with((struct http_config){.host = "fd00::1", .port = 8080});
	(void)client(p, "GET / HTTP/1.1\r\nHost: [FD00::1]:8080\r\n\r\n");
	assert_string_equal(to_server(p), "GET / HTTP/1.1\r\nHost: [fd00::1]:8080\r\n\r\n");
	pair_end(p);
}

static void test_absolute(void **state)
{
	static const struct row rows[] = {
		{GET "Proxy-Authorization: mine\r\n\r\n",
		 "GET http://ok.test/" OUT "Proxy-Authorization: Basic xyz\r\n\r\n"},
		{"OPTIONS * HTTP/1.1\r\n" HOST "\r\n",
		 "OPTIONS http://ok.test" OUT "Proxy-Authorization: Basic xyz\r\n\r\n"},
	};
	struct http_config config = {.absolute = true, .proxy_authorization = "Basic xyz"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect_passed(config, &rows[i]);
	}
}

/* The second request waits until the first one's answer is complete. */
static void test_pipelining(void **state)
{
	struct pair *p = pair_new();
	static const char first[] = "POST /1 HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx";
	static const char second[] = "GET /2 HTTP/1.1\r\n" HOST "\r\n";
	char both[256];

	(void)state;
	snprintf(both, sizeof(both), "%s%s", first, second);
	assert_int_equal(client(p, both), sizeof(first) - 1);
	assert_false(http_idle(p->http));
	assert_int_equal(client(p, second), 0);
	assert_non_null(strstr(to_server(p), "POST /1"));
	assert_int_equal(server(p, REPLY), strlen(REPLY));
	assert_true(http_idle(p->http));
	assert_string_equal(to_client(p), REPLY);
	assert_int_equal(client(p, second), sizeof(second) - 1);
	assert_string_equal(to_server(p), "GET /2" OUT "\r\n");
	assert_int_equal(p->judged, 2);
	/* The third is refused, after two that were answered. */
	(void)server(p, REPLY);
	(void)to_client(p);
	p->refuse = 403;
	(void)client(p, GET "\r\n");
	expect_page(p, 403);
	assert_string_equal(to_server(p), "");
	pair_end(p);
}

/* Heads of every size up to the bound, and beyond it. */
static void test_head_bound(void **state)
{
	char *head = malloc(TEXT_MAX);

	(void)state;
	assert_non_null(head);
	for (int over = 0; over < 2; over++) {
		size_t n = (size_t)sprintf(head, GET "X: ");
		size_t fill = HTTP_HEAD_MAX - n - 4 + (size_t)over;

		memset(head + n, 'x', fill);
		strcpy(head + n + fill, "\r\n\r\n");
		for (size_t step = 0; step <= 1000; step += 250) {
			struct pair *p = pair_new();

			p->step = step;
			(void)client(p, head);
			if (over) {
				expect_page(p, 431);
				assert_string_equal(to_server(p), "");
			} else {
				assert_int_equal(http_state(p->http), HTTP_GOING);
				assert_int_equal(strlen(to_server(p)), HTTP_HEAD_MAX);
			}
			pair_end(p);
		}
	}
	free(head);
}

/* A client that sends a head without an end, and a server that never reads a gigabyte. */
static void test_memory(void **state)
{
	struct pair *p = pair_new();
	char junk[4096];
	size_t total = 0, n = 0;

	(void)state;
	assert_true(http_memory(p->http) < 2048);
	memset(junk, 'x', sizeof(junk));
	(void)client(p, GET "X: ");
	while ((n = feed(p, false, junk, sizeof(junk))) > 0) {
		total += n;
		assert_true(http_memory(p->http) <= GATE_CALL_EARLY);
	}
	assert_true(total > HTTP_HEAD_MAX - 4096 && total < HTTP_HEAD_MAX);
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	pair_end(p);

	p = pair_new();
	(void)client(p, POST "Content-Length: 1073741824\r\n\r\n");
	total = 0;
	while ((n = feed(p, false, junk, sizeof(junk))) > 0) {
		total += n;
	}
	assert_int_equal(http_state(p->http), HTTP_GOING);
	assert_false(http_wants_client(p->http));
	assert_true(total >= HTTP_QUEUE_MAX - 4096 && total <= HTTP_QUEUE_MAX + 16384);
	assert_true(http_memory(p->http) <= GATE_CALL_LATE);
	/* What is written makes room again; all of it passes. */
	while (total < 1073741824) {
		struct http_out *out = http_to_server(p->http);
		size_t left = 1073741824 - total;

		http_written(out, out->n);
		total += feed(p, false, junk, left < sizeof(junk) ? left : sizeof(junk));
	}
	assert_false(http_wants_client(p->http));
	(void)to_server(p);
	assert_true(http_memory(p->http) < 8192);
	(void)server(p, REPLY);
	assert_string_equal(to_client(p), REPLY);
	assert_true(http_idle(p->http));
	pair_end(p);
}

static void test_client_ends(void **state)
{
	struct pair *p = pair_new();

	(void)state;
	http_client_ended(p->http);
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	assert_string_equal(to_client(p), "");
	pair_end(p);

	p = pair_new();
	(void)client(p, "GET / HT");
	http_client_ended(p->http);
	expect_page(p, 400);
	pair_end(p);

	p = pair_new(); /* within its body: never whole for the server */
	(void)client(p, POST "Content-Length: 5\r\n\r\nhe");
	http_client_ended(p->http);
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	pair_end(p);

	p = pair_new(); /* half-close after the request: the answer comes */
	(void)client(p, GET "\r\n");
	http_client_ended(p->http);
	(void)server(p, REPLY);
	assert_string_equal(to_client(p),
			    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	pair_end(p);
}

/* --- model runtimes ------------------------------------------------------------------------- */

#define MODEL ((struct http_config){.model = true, .host = "localhost", .port = 11434})
#define MOUT  " HTTP/1.1\r\nHost: localhost:11434\r\n"

static void test_model(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{"POST /api/chat HTTP/1.1\r\nHost: evil.test\r\nOrigin: http://evil.test\r\nReferer: http://evil.test/\r\n"
		 "Content-Length: 2\r\nA: b\r\n\r\n{}",
		 "POST /api/chat" MOUT "Content-Length: 2\r\nA: b\r\nConnection: close\r\n\r\n{}"},
		{"POST /api/chat HTTP/1.1\r\nHost: localhost:11434\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n"
		 "1\r\n{\r\n1\r\n}\r\n0\r\nT: x\r\n\r\n",
		 "POST /api/chat" MOUT "Content-Length: 2\r\nConnection: close\r\n\r\n{}"},
		{"GET /api/tags HTTP/1.1\r\nHost: localhost:11434\r\nContent-Length: 2\r\n\r\n{}",
		 "GET /api/tags" MOUT "Connection: close\r\n\r\n"},
		{"GET / HTTP/1.0\r\n\r\n", "GET /" MOUT "Connection: close\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n",
		 "GET /" MOUT "Connection: close\r\n\r\n"},
	};
	/* clang-format on */
	static const char upgrade[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
				      "Upgrade: websocket\r\n\r\n";
	static const char large[] =
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 33554433\r\n\r\n";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect_passed(MODEL, &rows[i]);
	}
	expect_refused(MODEL, upgrade, sizeof(upgrade) - 1, 405);
	expect_refused(MODEL, large, sizeof(large) - 1, 413);
}

static void test_model_judged(void **state)
{
	struct pair *p = pair_with(MODEL);

	(void)state;
	(void)client(p, "POST /api/chat HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
			"Content-Length: 7\r\n\r\n");
	assert_int_equal(p->partial, 1);
	assert_int_equal(p->judged, 0);
	assert_false(http_needs_server(p->http));
	assert_string_equal(to_client(p), "HTTP/1.1 100 Continue\r\n\r\n");
	(void)client(p, "{\"a\":1}");
	assert_string_equal(p->last, "POST /api/chat x:11434 {\"a\":1}");
	assert_int_equal(p->judged, 1);
	/* Expect stays here: the runtime gets the body with the head. */
	assert_string_equal(to_server(p),
			    "POST /api/chat" MOUT
			    "Content-Length: 7\r\nConnection: close\r\n\r\n{\"a\":1}");
	(void)server(p, REPLY);
	assert_string_equal(to_client(p),
			    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	assert_int_equal(http_state(p->http), HTTP_CLOSE); /* one request only */
	pair_end(p);

	/* Refused by its path, before four gigabytes come. */
	p = pair_with(MODEL);
	p->refuse = 403;
	(void)client(p, "POST /api/blobs/sha256:00 HTTP/1.1\r\nHost: x\r\n"
			"Transfer-Encoding: chunked\r\n\r\n");
	assert_int_equal(p->partial, 1);
	expect_page(p, 403);
	assert_false(http_needs_server(p->http));
	pair_end(p);

	/* Refused by its body. */
	p = pair_with(MODEL);
	(void)client(p, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n");
	p->refuse = 403;
	(void)client(p, "[]");
	expect_page(p, 403);
	assert_string_equal(to_server(p), "");
	pair_end(p);
}

/* 32 MiB pass, gathered as they come; a byte more does not. */
static void test_model_large(void **state)
{
	static char block[65536];

	(void)state;
	memset(block, ' ', sizeof(block));
	for (int over = 0; over < 2; over++) {
		struct pair *p = pair_with(MODEL);
		size_t left = HTTP_MODEL_BODY_MAX + (size_t)over, seen = 0;
		char chunk[32];

		(void)client(p, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
		assert_true(http_memory(p->http) < 8192);
		while (left > 0 && http_state(p->http) == HTTP_GOING) {
			size_t n = left < sizeof(block) ? left : sizeof(block);

			snprintf(chunk, sizeof(chunk), "%zx\r\n", n);
			(void)client(p, chunk);
			(void)feed(p, false, block, n);
			(void)client(p, "\r\n");
			left -= n;
			seen += n;
			assert_true(http_memory(p->http) < 2 * seen + 65536);
		}
		(void)client(p, "0\r\n\r\n");
		if (over) {
			expect_page(p, 413);
			assert_string_equal(to_server(p), "");
		} else {
			const char *sent = to_server(p);

			assert_non_null(strstr(sent, "Content-Length: 33554432\r\n"));
			assert_int_equal(strlen(strstr(sent, "\r\n\r\n")), HTTP_MODEL_BODY_MAX + 4);
			assert_true(http_memory(p->http) < 8192);
		}
		pair_end(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_chunks),   cmocka_unit_test(test_judged),
		cmocka_unit_test(test_absolute),     cmocka_unit_test(test_pipelining),
		cmocka_unit_test(test_head_bound),   cmocka_unit_test(test_memory),
		cmocka_unit_test(test_client_ends),  cmocka_unit_test(test_model),
		cmocka_unit_test(test_model_judged), cmocka_unit_test(test_model_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
