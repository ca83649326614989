/* --publish: calls from this machine's loopback to a server inside, by the real lnk-gate. */
#include "gate_kit.h"

#define HERE  18080 /* outside */
#define THERE 8080  /* inside */
#define MANY  150   /* more than wait at one time */

static struct run publishing(void)
{
	struct run r = new_run();

	r.publish[0] = (struct net_publish){.inside = THERE, .outside = HERE};
	return r;
}

static void aim(struct run *r)
{
	r->plan.publish.v = r->publish;
	r->plan.publish.n = r->publish[1].outside != 0 ? 2 : 1;
}

/* What init does meanwhile: hands out sockets of its namespace, until `fd` has something for us. */
static void be_init_until(struct run *r, int fd)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
			       {.fd = r->gate.door, .events = POLLIN}};

	for (;;) {
		assert_true(poll(fds, ARRAY_LEN(fds), PATIENCE_MS) > 0);
		if (fds[1].revents != 0) {
			enter(inside);
			bool ok = doorway_serve(r->gate.door);
			enter(outside);
			assert_true(ok);
		} else if (fds[0].revents != 0) {
			return;
		}
	}
}

/* A call from outside arrives at the server inside. */
static void assert_published(struct run *r, const char *from, int server)
{
	auto_close int out = call(outside, from, HERE);

	assert_true(out >= 0);
	be_init_until(r, server);
	auto_close int in = take_call(server);
	assert_passes(out, in, "GET / of a browser");
	assert_passes(in, out, "and the answer");
	/* A half that is closed is closed on the other side too. */
	shutdown(out, SHUT_WR);
	char byte;
	assert_int_equal(recv(in, &byte, 1, 0), 0);
	assert_passes(in, out, "still");
}

static void assert_reset(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void test_both_families(void **state)
{
	static const char *const loopback[] = {"127.0.0.1", "::1"};
	struct gate_report report;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(loopback); i++) {
		struct run r = publishing();

		aim(&r);
		run_begin(&r);
		auto_close int server = serve_at(inside, loopback[i], THERE);
		assert_published(&r, "127.0.0.1", server);
		assert_published(&r, "::1", server);
		run_end(&r, &report);
		assert_int_equal(report.n, 0);
		/* The port is free again. */
		assert_int_equal(call(outside, "127.0.0.1", HERE), -1);
	}
}

static void test_nobody_listens(void **state)
{
	struct run r = publishing();
	struct gate_report report;

	(void)state;
	aim(&r);
	run_begin(&r);
	auto_close int out = call(outside, "127.0.0.1", HERE);
	assert_true(out >= 0);
	be_init_until(&r, out);
	assert_reset(out);
	/* Started later, as dev servers are. */
	auto_close int server = serve_at(inside, "127.0.0.1", THERE);
	assert_published(&r, "127.0.0.1", server);
	run_end(&r, &report);
}

static void test_init_has_none(void **state)
{
	struct run r = publishing();
	struct gate_report report;
	const unsigned char none = DOOR_NONE;
	unsigned char request[2];

	(void)state;
	aim(&r);
	run_begin(&r);
	auto_close int server = serve_at(inside, "127.0.0.1", THERE);
	auto_close int out = call(outside, "127.0.0.1", HERE);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(recv(r.gate.door, request, sizeof(request), 0), sizeof(request));
		assert_int_equal(request[0], DOOR_SOCKET);
		assert_int_equal(request[1], i == 0 ? 4 : 6);
		assert_true(pass_send(r.gate.door, &none, sizeof(none), NULL, 0));
	}
	assert_reset(out);
	/* The next call is none the worse for it. */
	assert_published(&r, "127.0.0.1", server);
	run_end(&r, &report);
}

/* Answers that nobody asked for close the door, and nothing else. */
static void test_door_closed(void **state)
{
	struct run r = publishing();
	struct gate_report report;
	const unsigned char none = DOOR_NONE;

	(void)state;
	aim(&r);
	run_begin(&r);
	auto_close int out = call(outside, "127.0.0.1", HERE);
	assert_true(pass_send(r.gate.door, &none, sizeof(none), NULL, 0));
	assert_true(pass_send(r.gate.door, &none, sizeof(none), NULL, 0));
	assert_true(pass_send(r.gate.door, &none, sizeof(none), NULL, 0));
	assert_reset(out);
	while (call(outside, "127.0.0.1", HERE) >= 0) {
		usleep(1000);
	}
	assert_int_equal(errno, ECONNREFUSED);
	run_end(&r, &report);
}

static void test_many(void **state)
{
	struct run r = publishing();
	struct gate_report report;
	int out[MANY];
	int in[MANY];

	(void)state;
	aim(&r);
	run_begin(&r);
	auto_close int server = serve_at(inside, "127.0.0.1", THERE);
	for (size_t i = 0; i < MANY; i++) {
		out[i] = call(outside, "127.0.0.1", HERE);
		assert_true(out[i] >= 0);
	}
	for (size_t i = 0; i < MANY; i++) {
		be_init_until(&r, server);
		in[i] = take_call(server);
	}
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(send(out[i], &i, sizeof(i), MSG_NOSIGNAL), sizeof(i));
	}
	/* Each has its own, and none is lost. */
	bool seen[MANY] = {false};
	for (size_t i = 0; i < MANY; i++) {
		size_t which = MANY;

		assert_int_equal(recv(in[i], &which, sizeof(which), MSG_WAITALL), sizeof(which));
		assert_true(which < MANY && !seen[which]);
		seen[which] = true;
	}
	for (size_t i = 0; i < MANY; i++) {
		close(in[i]);
		close(out[i]);
	}
	run_end(&r, &report);
}

static void assert_refused(struct run *r, const char *says, const char *hint)
{
	struct gate_report report;
	bool died;

	aim(r);
	assert_true(run_start(r));
	assert_false(run_open(r));
	gate_failed(&r->gate, &r->err);
	assert_string_equal(r->err.file, "--publish");
	assert_int_equal(r->err.code, ERR_USAGE);
	assert_non_null(strstr(r->err.msg, says));
	assert_non_null(strstr(r->err.hint, hint));
	gate_finish(&r->gate, &report, &died);
	assert_true(died);
	fd_close(&r->gate.door);
}

static void test_busy_port(void **state)
{
	static const char *const loopback[] = {"127.0.0.1", "::1", "0.0.0.0", "::"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(loopback); i++) {
		auto_close int taken = serve_at(outside, loopback[i], HERE);
		assert_true(taken >= 0);
		struct run r = publishing();

		assert_refused(&r, "18080 of this machine is in use", "--publish 8080:18081");
	}
	/* Twice the same. */
	struct run r = publishing();
	r.publish[1] = (struct net_publish){.inside = THERE + 1, .outside = HERE};
	assert_refused(&r, "18080 of this machine is in use", "--publish 8081:18081");
}

static void test_granted_port(void **state)
{
	struct run r = publishing();

	(void)state;
	r.ports[0] = (struct net_port){.port = THERE};
	r.plan.ports.v = r.ports;
	r.plan.ports.n = 1;
	assert_refused(&r, "8080 is one of [localhost]", "publish another port");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_families), cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_init_has_none), cmocka_unit_test(test_door_closed),
		cmocka_unit_test(test_many),          cmocka_unit_test(test_busy_port),
		cmocka_unit_test(test_granted_port),
	};

	kit_start("127.0.0.1 localhost\n");
	return cmocka_run_group_tests_name("gate publish", tests, NULL, NULL);
}
