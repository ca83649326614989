/* Bodies that pass unread: how much of them may, and that the message ends where it did before. */
#include "http_kit.h"

#include "base/str.h"

#define GET  "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"
#define HEAD "HEAD / HTTP/1.1\r\nHost: ok.test\r\n\r\n"
#define PUT  "PUT / HTTP/1.1\r\nHost: ok.test\r\n"
#define OK   "HTTP/1.1 200 OK\r\n"

static struct pair *asked(const char *ask)
{
	struct pair *p = pair_new();

	assert_int_equal(client(p, ask), strlen(ask));
	(void)to_server(p);
	return p;
}

/* A request of 1 GiB, of which two bytes are fed, and the next one right behind it. */
static void test_request(void **state)
{
	struct pair *p = pair_new();

	(void)state;
	assert_int_equal(http_unread_client(p->http), 0);
	(void)client(p, PUT "Content-Length: 1073741824\r\n");
	assert_int_equal(http_unread_client(p->http), 0);
	(void)client(p, "\r\n");
	(void)to_server(p);
	assert_int_equal(http_unread_client(p->http), 1073741823);
	assert_int_equal(http_unread_server(p->http), 0);
	http_passed_client(p->http, 1000);
	assert_int_equal(http_unread_client(p->http), 1073740823);
	(void)client(p, "a");
	assert_string_equal(to_server(p), "a");
	http_passed_client(p->http, 0);
	http_passed_client(p->http, 1073740822);
	assert_int_equal(http_unread_client(p->http), 0);
	assert_true(http_wants_client(p->http));
	/* Only the last byte is this request's. */
	assert_int_equal(client(p, "z" GET), 1);
	assert_string_equal(to_server(p), "z");
	assert_false(http_wants_client(p->http));
	(void)server(p, OK "Content-Length: 0\r\n\r\n");
	assert_true(http_idle(p->http));
	assert_int_equal(client(p, GET), strlen(GET));
	assert_int_equal(p->judged, 2);
	pair_end(p);
}

static void test_answer(void **state)
{
	struct pair *p = asked(GET);

	(void)state;
	assert_int_equal(http_unread_server(p->http), 0);
	(void)server(p, OK "Content-Length: 100\r\n");
	assert_int_equal(http_unread_server(p->http), 0);
	(void)server(p, "\r\nfirst");
	assert_int_equal(http_unread_server(p->http), 94);
	assert_int_equal(http_unread_client(p->http), 0);
	http_passed_server(p->http, 94);
	assert_int_equal(http_unread_server(p->http), 0);
	(void)to_client(p);
	assert_false(http_idle(p->http));
	assert_int_equal(server(p, "z"), 1);
	assert_string_equal(to_client(p), "z");
	assert_true(http_idle(p->http));
	assert_int_equal(http_state(p->http), HTTP_GOING);
	pair_end(p);
}

/* It goes on to the end of the connection, which is a good one. */
static void test_answer_to_the_end(void **state)
{
	struct pair *p = asked(GET);

	(void)state;
	(void)server(p, OK "\r\n");
	assert_true(http_unread_server(p->http) == UINT64_MAX);
	http_passed_server(p->http, 1UL << 40);
	(void)to_client(p);
	(void)server(p, "more");
	assert_string_equal(to_client(p), "more");
	assert_true(http_unread_server(p->http) == UINT64_MAX);
	http_server_ended(p->http);
	assert_int_equal(http_unread_server(p->http), 0);
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	pair_end(p);
}

/* What ends within the bytes that passed unread is broken as ever. */
static void test_cut(void **state)
{
	struct pair *p = asked(GET);

	(void)state;
	(void)server(p, OK "Content-Length: 100\r\n\r\n");
	http_passed_server(p->http, 99);
	http_server_ended(p->http);
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	pair_end(p);
	p = asked(PUT "Content-Length: 100\r\n\r\n");
	http_passed_client(p->http, 99);
	http_client_ended(p->http);
	assert_int_equal(http_state(p->http), HTTP_BROKEN);
	assert_int_equal(http_unread_client(p->http), 0);
	pair_end(p);
}

/* The answer is whole before the request is: no more of it passes. */
static void test_early_answer(void **state)
{
	struct pair *p = asked(PUT "Content-Length: 100\r\n\r\n");

	(void)state;
	http_passed_client(p->http, 50);
	(void)server(p, OK "Content-Length: 9\r\n\r\n");
	assert_int_equal(http_unread_client(p->http), 49);
	assert_int_equal(http_unread_server(p->http), 8);
	http_passed_server(p->http, 8);
	(void)server(p, "z");
	assert_int_equal(http_state(p->http), HTTP_CLOSE);
	assert_int_equal(http_unread_client(p->http), 0);
	assert_int_equal(http_unread_server(p->http), 0);
	assert_int_equal(client(p, "more"), 0);
	pair_end(p);
}

/* Heads, chunks, bodies of one byte or none, and what is judged: all of it is fed. */
static void test_read(void **state)
{
	static const struct {
		const char *ask, *answer;
	} rows[] = {
		{GET, OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"},
		{GET, OK "Transfer-Encoding: chunked\r\nContent-Length: 100\r\n\r\n5\r\nhe"},
		{"GET / HTTP/1.0\r\n\r\n", OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"},
		{GET, OK "Content-Length: 1\r\n\r\n"},
		{GET, OK "Content-Length: 0\r\n\r\n"},
		{GET, "HTTP/1.1 103 Hints\r\nContent-Length: 100\r\n\r\n"},
		{GET, "HTTP/1.1 204 No\r\nContent-Length: 100\r\n\r\n"},
		{GET, "HTTP/1.1 304 Same\r\nContent-Length: 100\r\n\r\n"},
		{HEAD, OK "Content-Length: 100\r\n\r\n"},
		{HEAD, OK "\r\n"},
		{PUT "Content-Length: 1\r\n\r\n", ""},
		{PUT "Content-Length: 0\r\n\r\n", ""},
		{PUT "Transfer-Encoding: chunked\r\n\r\n64\r\nhello", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pair *p = asked(rows[i].ask);

		assert_int_equal(http_unread_client(p->http), 0);
		(void)server(p, rows[i].answer);
		assert_int_equal(http_unread_client(p->http), 0);
		assert_int_equal(http_unread_server(p->http), 0);
		pair_end(p);
	}
	struct pair *p = pair_with((struct http_config){.model = true, .port = 11434});
	(void)client(p, "POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n");
	assert_int_equal(http_unread_client(p->http), 0);
	(void)client(p, "{}  ");
	(void)server(p, OK "Content-Length: 100\r\n\r\n");
	assert_int_equal(http_unread_server(p->http), 0);
	pair_end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),           cmocka_unit_test(test_answer),
		cmocka_unit_test(test_answer_to_the_end), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_early_answer),      cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
