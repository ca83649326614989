/* Answers: what a program gets of them, and when the connections end. */
#include "http_kit.h"

#include "gate/gate.h"

#include "base/str.h"

#define GET  "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"
#define HEAD "HEAD / HTTP/1.1\r\nHost: ok.test\r\n\r\n"
#define OLD  "GET / HTTP/1.0\r\n\r\n"
#define KEEP "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
#define LAST "GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"
#define OK   "HTTP/1.1 200 OK\r\n"
#define CL   "Connection: close\r\n"

static const size_t steps[] = {0, 1, 2, 3, 7, 64};

enum end {
	STAYS, /* both connections are kept */
	CLOSE, /* the call ends, all is well */
	ENDS,  /* likewise, when the server has closed */
	BREAKS /* the answer is cut off */
};

struct row {
	const char *ask, *in, *out;
	enum end end;
};

static void expect_answer(const struct row *row, size_t step)
{
	struct pair *p = pair_new();

	p->step = step;
	(void)client(p, row->ask);
	(void)to_server(p);
	size_t taken = server(p, row->in);
	if (row->end == STAYS || row->end == ENDS) {
		assert_int_equal(taken, strlen(row->in));
		assert_int_equal(http_state(p->http), HTTP_GOING);
		assert_int_equal(http_idle(p->http), row->end == STAYS);
	}
	if (row->end == ENDS) {
		http_server_ended(p->http);
	}
	const char *got = to_client(p);
	/* Pieces of a chunked body are chunks of their own. */
	if ((step == 0 || strstr(row->out, "chunked") == NULL) && strcmp(got, row->out) != 0) {
		fail_msg("in %zu steps\n%s\nbecame\n%s\nnot\n%s", step, row->in, got, row->out);
	}
	assert_int_equal(http_state(p->http), row->end == STAYS    ? HTTP_GOING
					      : row->end == BREAKS ? HTTP_BROKEN
								   : HTTP_CLOSE);
	if (row->end == STAYS) {
		assert_true(http_wants_client(p->http));
		http_server_ended(p->http);
		assert_int_equal(http_state(p->http), HTTP_CLOSE);
		assert_string_equal(to_client(p), "");
	}
	assert_string_equal(to_server(p), "");
	pair_end(p);
}

static void test_answers(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		/* framed by length */
		{GET, OK "Content-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\n\r\nhi", STAYS},
		{GET, OK "x-A:  b \r\nCONTENT-length:\t02\r\nX-a: c\r\n\r\nhi", OK "x-A: b\r\nCONTENT-length: 2\r\nX-a: c\r\n\r\nhi", STAYS},
		{GET, OK "Content-Length: 0\r\n\r\n", OK "Content-Length: 0\r\n\r\n", STAYS},
		{GET, "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", STAYS},
		{GET, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", STAYS},
		{GET, "HTTP/1.1 999 \xc3\xa4 x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 999 \xc3\xa4 x\r\nContent-Length: 0\r\n\r\n", STAYS},
		{GET, "\r\n\n" OK "Content-Length: 0\r\n\r\n", OK "Content-Length: 0\r\n\r\n", STAYS},
		{LAST, OK "Content-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\n" CL "\r\nhi", CLOSE},
		{GET, OK "Connection: Close\r\nContent-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\n" CL "\r\nhi", CLOSE},
		{GET, OK "Connection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\nProxy-Connection: x\r\nUpgrade: h2c\r\nTrailer: x\r\n"
		      "Content-Length: 2\r\n\r\nhi",
		 OK "Keep-Alive: timeout=5\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", STAYS},
		/* in chunks */
		{GET, OK "Transfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2\r\nhi\r\n00B\r\n0123456789a\r\n0\r\n\r\n",
		 OK "Trailer: T\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nb\r\n0123456789a\r\n0\r\n\r\n", STAYS},
		{GET, OK "Transfer-Encoding: Chunked\r\n\r\n2;x=\"y\";z\r\nhi\r\n0;last\r\nT: v\r\nConnection: x\r\nS: \r\n\r\n",
		 OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nT: v\r\nS: \r\n\r\n", STAYS},
		/* both: the coding counts, and this is the last on the connection */
		{GET, OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		 OK "Transfer-Encoding: chunked\r\n" CL "\r\n2\r\nhi\r\n0\r\n\r\n", CLOSE},
		/* until the server closes */
		{GET, OK "\r\nhi", OK CL "\r\nhi", ENDS},
		{GET, OK "\r\n", OK CL "\r\n", ENDS},
		{GET, "HTTP/1.0 200 OK\r\n\r\nhi", OK CL "\r\nhi", ENDS},
		{GET, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\n" CL "\r\nhi", CLOSE},
		{GET, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
		 OK "Content-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", STAYS},
		/* without a body */
		{HEAD, OK "Content-Length: 5\r\n\r\n", OK "Content-Length: 5\r\n\r\n", STAYS},
		{HEAD, OK "Transfer-Encoding: chunked\r\n\r\n", OK "\r\n", STAYS},
		{HEAD, OK "\r\n", OK "\r\n", STAYS},
		{GET, "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", STAYS},
		{GET, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", STAYS},
		{GET, "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 5\r\n\r\n", STAYS},
		{GET, "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n", STAYS},
		/* provisional ones first */
		{GET, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\nConnection: x\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi",
		 "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi", STAYS},
		{OLD, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\n" CL "\r\nhi", CLOSE},
		/* to a client of HTTP/1.0, which knows no chunks */
		{OLD, OK "Transfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2\r\nhi\r\n3\r\n...\r\n0\r\nT: v\r\n\r\n", OK CL "\r\nhi...", CLOSE},
		{KEEP, OK "Content-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", STAYS},
		{KEEP, OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", OK CL "\r\nhi", CLOSE},
		/* put in order: RFC 9112 sections 2.2, 5.1 and 5.2 */
		{GET, "HTTP/1.1 200 OK\nContent-Length: 2\nA: b\n\nhi", OK "Content-Length: 2\r\nA: b\r\n\r\nhi", STAYS},
		{GET, OK "A: b\r\n  c\r\n\td\r\nContent-Length : 2\r\nno line\r\nB(ad: x\r\n\r\nhi", OK "A: b  c\td\r\nContent-Length: 2\r\n\r\nhi", STAYS},
		{GET, OK " fold: x\r\nContent-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\n\r\nhi", STAYS},
		/* more than was asked for: never taken for the next request's answer */
		{GET, OK "Content-Length: 2\r\n\r\nhi" OK "Content-Length: 4\r\n\r\nevil", OK "Content-Length: 2\r\n\r\nhi", CLOSE},
		{HEAD, OK "Content-Length: 2\r\n\r\nhi", OK "Content-Length: 2\r\n\r\n", CLOSE},
		{GET, "HTTP/1.1 204 No Content\r\n\r\nhi", "HTTP/1.1 204 No Content\r\n\r\n", CLOSE},
		/* cut off in the middle */
		{GET, OK "Transfer-Encoding: chunked\r\n\r\n2 \r\nhi\r\n", OK "Transfer-Encoding: chunked\r\n\r\n", BREAKS},
		{GET, OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi0\r\n\r\n", OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", BREAKS},
		{GET, OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: \x01\r\n\r\n", OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", BREAKS},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
			expect_answer(&rows[i], steps[k]);
		}
	}
}

/* What is no answer: 502, and nothing of it passes. */
static void test_broken(void **state)
{
	/* clang-format off */
	static const char *const rows[] = {
		"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/0.9 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
		"<html>", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 +20 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n", "HTTP/1.1 200OK\r\n\r\n", "HTTP/1.1 200 O\x01K\r\n\r\n",
		OK "A: \x01\r\n\r\n", OK "A: b\r\n \x02\r\n\r\n", OK "A: b\rB: c\r\n\r\n",
		OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", OK "Content-Length: 2, 2\r\n\r\nhi", OK "Content-Length: +2\r\n\r\nhi",
		OK "Content-Length: -1\r\n\r\nhi", OK "Content-Length: x\r\n\r\nhi", OK "Content-Length: 99999999999999999999\r\n\r\n",
		OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", OK "Transfer-Encoding: identity\r\n\r\nhi",
		OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		/* nobody asked for another protocol */
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
			struct pair *p = pair_new();

			p->step = steps[k];
			(void)client(p, GET);
			(void)server(p, rows[i]);
			if (http_state(p->http) != HTTP_BROKEN) {
				fail_msg("passed: %s", rows[i]);
			}
			expect_page(p, 502);
			pair_end(p);
		}
	}
}

static void test_websocket(void **state)
{
	static const char ask[] = "GET /ws HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\n"
				  "Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";
	static const char yes[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n"
				  "Connection: upgrade\r\nSec-WebSocket-Accept: a\r\n\r\n";
	static const char *const no[] = {
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
	};
	char more[512];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
		struct pair *p = pair_new();

		p->step = steps[k];
		assert_int_equal(client(p, ask), sizeof(ask) - 1);
		assert_string_equal(p->last, "GET /ws ok.test:80 upgrade");
		/* Nothing passes before the server has agreed. */
		assert_int_equal(client(p, "GET /evil HTTP/1.1\r\n"), 0);
		(void)to_server(p);
		snprintf(more, sizeof(more), "%s\x81\x02hi", yes);
		/* Where frames begin, our part ends. */
		assert_int_equal(server(p, more), sizeof(yes) - 1);
		assert_int_equal(http_state(p->http), HTTP_RAW);
		assert_string_equal(
			to_client(p),
			"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: a\r\n"
			"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
		assert_false(http_wants_client(p->http));
		assert_false(http_wants_server(p->http));
		pair_end(p);
	}
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		struct pair *p = pair_new();

		(void)client(p, ask);
		(void)server(p, no[i]);
		assert_int_equal(http_state(p->http), HTTP_BROKEN);
		expect_page(p, 502);
		pair_end(p);
	}
	/* The server would rather not: an answer like any other. */
	struct pair *p = pair_new();
	(void)client(p, ask);
	(void)server(p, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(http_state(p->http), HTTP_GOING);
	assert_true(http_idle(p->http));
	pair_end(p);
}

/* What comes goes out at once: events, lines of JSON, a byte. */
static void test_streamed(void **state)
{
	struct pair *p = pair_new();

	(void)state;
	(void)client(p, GET);
	(void)server(p, OK "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
	assert_non_null(strstr(to_client(p), "chunked\r\n\r\n"));
	for (int i = 0; i < 5; i++) {
		(void)server(p, "9\r\ndata: x\n\n\r\n");
		assert_string_equal(to_client(p), "9\r\ndata: x\n\n\r\n");
	}
	(void)server(p, "5\r\nab");
	assert_string_equal(to_client(p), "2\r\nab\r\n");
	(void)server(p, "c");
	assert_string_equal(to_client(p), "1\r\nc\r\n");
	assert_false(http_idle(p->http));
	http_server_ended(p->http); /* not whole: no last chunk */
	assert_string_equal(to_client(p), "");
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	pair_end(p);
}

/* The answer comes before the request is complete. */
static void test_early(void **state)
{
	static const char ask[] = "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 60\r\n\r\n";
	static const char evil[] = "GET /evil HTTP/1.1\r\nHost: evil.test\r\n\r\n";
	struct pair *p = pair_new();

	(void)state;
	(void)client(p, ask);
	(void)client(p, "first ");
	(void)server(p, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n");
	/* It is not over yet: the body passes on. */
	assert_int_equal(client(p, "second "), 7);
	assert_non_null(strstr(to_server(p), "\r\n\r\nfirst second "));
	(void)server(p, "no");
	assert_string_equal(to_client(p),
			    "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n" CL "\r\nno");
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	/* A server that has stopped reading the body would take this for a request. */
	assert_int_equal(client(p, evil), 0);
	assert_string_equal(to_server(p), "");
	pair_end(p);

	/* Both ways at once, the request ends first. */
	p = pair_new();
	(void)client(p, "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n");
	(void)server(p, OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
	(void)client(p, "1\r\nA\r\n0\r\n\r\n");
	(void)server(p, "1\r\nb\r\n0\r\n\r\n");
	assert_string_equal(to_client(p), OK "Transfer-Encoding: chunked\r\n" CL
					     "\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
	assert_non_null(strstr(to_server(p), "1\r\nA\r\n0\r\n\r\n"));
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	pair_end(p);
}

static void test_server_ends(void **state)
{
	struct pair *p = pair_new();

	(void)state;
	(void)client(p, GET); /* instead of an answer */
	http_server_ended(p->http);
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	expect_page(p, 502);
	pair_end(p);

	p = pair_new(); /* within its head */
	(void)client(p, GET);
	(void)server(p, "HTTP/1.1 2");
	http_server_ended(p->http);
	expect_page(p, 502);
	pair_end(p);

	p = pair_new(); /* within its body */
	(void)client(p, GET);
	(void)server(p, OK "Content-Length: 2\r\n\r\nh");
	(void)to_client(p);
	http_server_ended(p->http);
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	assert_string_equal(to_client(p), "");
	pair_end(p);

	/* A kept connection ends just when it is used again: clients know what that means, and a
	 * 502 they would believe. */
	p = pair_new();
	(void)client(p, GET);
	(void)server(p, OK "Content-Length: 0\r\n\r\n");
	(void)to_client(p);
	(void)client(p, GET);
	http_server_ended(p->http);
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	assert_string_equal(to_client(p), "");
	pair_end(p);

	p = pair_new(); /* something said that nobody asked for */
	(void)client(p, GET);
	(void)server(p, OK "Content-Length: 0\r\n\r\n");
	(void)to_client(p);
	(void)server(p, "HTTP/1.1 408 Request Timeout\r\n\r\n");
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	assert_string_equal(to_client(p), "");
	pair_end(p);
}

/* The caller's own refusals. */
static void test_refuse(void **state)
{
	const struct http_refusal refusal = {.status = 504, .why = "no answer in 30 s"};
	struct pair *p = pair_new();
	const char *why = NULL;

	(void)state;
	(void)client(p, GET);
	http_refuse(p->http, &refusal);
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	const char *page = to_client(p);
	assert_non_null(strstr(page, "HTTP/1.1 504 Gateway Timeout\r\n"));
	assert_non_null(strstr(page, "lnk: the request failed: no answer in 30 s\n"));
	assert_int_equal(http_refused(p->http, &why), 0);
	pair_end(p);

	p = pair_new(); /* too late for a page */
	(void)client(p, GET);
	(void)server(p, OK "Content-Length: 2\r\n\r\nh");
	(void)to_client(p);
	http_refuse(p->http, &refusal);
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	assert_string_equal(to_client(p), "");
	pair_end(p);
}

/* The user's own proxy wants a password: the program cannot know it. */
static void test_proxy(void **state)
{
	struct pair *p = pair_with((struct http_config){.absolute = true});

	(void)state;
	(void)client(p, GET);
	(void)server(p, "HTTP/1.1 407 Proxy Authentication Required\r\n"
			"Proxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	expect_page(p, 502);
	pair_end(p);
}

/* A program that does not read stops the server; what both may hold is bounded. */
static void test_memory(void **state)
{
	static char junk[4096];
	struct pair *p = pair_new();
	size_t total = 0, n = 0;

	(void)state;
	memset(junk, 'x', sizeof(junk));
	(void)client(p, "POST / HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n");
	while (http_wants_client(p->http)) {
		(void)client(p, "1\r\nx\r\n");
	}
	(void)server(p, OK "Content-Length: 1073741824\r\n\r\n");
	while ((n = feed(p, true, junk, sizeof(junk))) > 0) {
		total += n;
	}
	assert_int_equal(http_state(p->http), HTTP_GOING);
	assert_false(http_wants_server(p->http));
	assert_true(total >= HTTP_QUEUE_MAX - 4096 && total <= HTTP_QUEUE_MAX + 16384);
	assert_true(http_memory(p->http) <= GATE_CALL_LATE);
	while (total < 1073741824) {
		struct http_out *out = http_to_client(p->http);
		size_t left = 1073741824 - total;

		http_written(out, out->n);
		total += feed(p, true, junk, left < sizeof(junk) ? left : sizeof(junk));
	}
	assert_int_equal(http_state(p->http), HTTP_CLOSE); /* the request is not complete */
	pair_end(p);

	/* A head without an end. */
	p = pair_new();
	(void)client(p, GET);
	(void)server(p, OK "X: ");
	while (feed(p, true, junk, sizeof(junk)) > 0) {
		assert_true(http_memory(p->http) <= GATE_CALL_EARLY);
	}
	expect_page(p, 502);
	pair_end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),   cmocka_unit_test(test_broken),
		cmocka_unit_test(test_websocket), cmocka_unit_test(test_streamed),
		cmocka_unit_test(test_early),     cmocka_unit_test(test_server_ends),
		cmocka_unit_test(test_refuse),    cmocka_unit_test(test_proxy),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
