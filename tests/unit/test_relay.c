/* Bytes both ways: whole, in order, with every kind of end; and what a relay holds meanwhile. */
#include "loop_kit.h"

#include "gate/relay.h"

#include <sys/resource.h>

#define MIB (1024UL * 1024UL)

struct world {
	struct gate *gate;
	int a[2], b[2]; /* [0] the far ends, [1] the relay's */
	struct relay *relay;
	int done; /* -1: not yet */
	unsigned fds;
};

static void on_done(void *context, int sys)
{
	struct world *w = context;

	assert_int_equal(w->done, -1);
	w->done = sys;
}

static void open_world(struct world *w)
{
	kit_pair(w->a);
	kit_pair(w->b);
	w->done = -1;
}

static struct world *begin_with(const char *first, const char *first_back)
{
	struct world *w = calloc(1, sizeof(*w));

	w->gate = kit_gate();
	w->fds = kit_fds();
	open_world(w);
	w->relay = relay_start(w->gate, w->a[1], w->b[1], first, first != NULL ? strlen(first) : 0,
			       first_back, first_back != NULL ? strlen(first_back) : 0, on_done, w);
	assert_non_null(w->relay);
	return w;
}

static struct world *begin(void)
{
	return begin_with(NULL, NULL);
}

static void end(struct world *w)
{
	relay_stop(w->relay);
	kit_spin(w->gate, 1);
	for (int i = 0; i < 2; i++) {
		fd_close(&w->a[i]);
		fd_close(&w->b[i]);
	}
	pipes_close(&w->gate->pipes);
	assert_int_equal(kit_fds(), w->fds);
	kit_gate_end(w->gate);
	free(w);
}

static void expect_counts(const struct world *w, uint64_t sent, uint64_t received)
{
	uint64_t s, r;

	relay_counts(w->relay, &s, &r);
	assert_int_equal(s, sent);
	assert_int_equal(r, received);
}

/* --- what passes ----------------------------------------------------------------------------- */

static void test_both_ways(void **state)
{
	struct world *w = begin_with("first ", "back ");

	(void)state;
	kit_send(w->a[0], "hello");
	kit_send(w->b[0], "world");
	kit_expect(w->gate, w->b[0], "first hello");
	kit_expect(w->gate, w->a[0], "back world");
	expect_counts(w, 11, 10);
	assert_int_equal(w->done, -1);
	end(w);
}

static void test_half_close(void **state)
{
	struct world *w = begin();

	(void)state;
	kit_send(w->a[0], "question");
	shutdown(w->a[0], SHUT_WR);
	kit_expect(w->gate, w->b[0], "question");
	assert_int_equal(kit_end(w->gate, w->b[0]), 0);
	assert_int_equal(w->done, -1);
	kit_send(w->b[0], "answer");
	kit_expect(w->gate, w->a[0], "answer");
	shutdown(w->b[0], SHUT_WR);
	assert_int_equal(kit_end(w->gate, w->a[0]), 0);
	KIT_UNTIL(w->gate, w->done == 0);
	expect_counts(w, 8, 6);
	end(w);
}

static void test_end_at_once(void **state)
{
	struct world *w = begin_with("all of it", NULL);

	(void)state;
	shutdown(w->a[0], SHUT_WR);
	shutdown(w->b[0], SHUT_WR);
	kit_expect(w->gate, w->b[0], "all of it");
	KIT_UNTIL(w->gate, w->done == 0);
	end(w);
}

/* --- bulk ------------------------------------------------------------------------------------ */

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i * 2654435761U >> 13);
}

struct bulk {
	int fd;
	size_t at, n;
};

static bool push(struct bulk *b)
{
	unsigned char buf[65536];
	size_t n = b->n - b->at < sizeof(buf) ? b->n - b->at : sizeof(buf);

	for (size_t i = 0; i < n; i++) {
		buf[i] = pattern(b->at + i);
	}
	ssize_t sent = n > 0 ? send(b->fd, buf, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
	b->at += sent > 0 ? (size_t)sent : 0;
	return b->at == b->n;
}

static bool pull(struct bulk *b)
{
	unsigned char buf[65536];
	ssize_t n = recv(b->fd, buf, sizeof(buf), MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] != pattern(b->at + (size_t)i)) {
			fail_msg("byte %zu is another one", b->at + (size_t)i);
		}
	}
	b->at += n > 0 ? (size_t)n : 0;
	assert_true(b->at <= b->n);
	return b->at == b->n;
}

static void bulk_both_ways(struct world *w, size_t n)
{
	struct bulk out = {w->a[0], 0, n}, in = {w->b[0], 0, n};
	struct bulk out_back = {w->b[0], 0, n}, in_back = {w->a[0], 0, n};
	bool over = false;

	while (!over) {
		bool sent = push(&out);

		sent = push(&out_back) && sent;
		uv_run(&w->gate->loop, UV_RUN_NOWAIT);
		over = pull(&in);
		over = pull(&in_back) && over && sent;
		assert_int_equal(w->done, -1);
	}
	expect_counts(w, n, n);
}

static void test_bulk(void **state)
{
	struct world *w = begin();

	(void)state;
	unsigned fds = kit_fds();
	bulk_both_ways(w, 48 * MIB);
	kit_spin(w->gate, 5);
	/* Pipes were used, and none is lent to a relay that has nothing to move. */
	assert_true(w->gate->pipes.nkept > 0);
	assert_int_equal(w->gate->pipes.lent, 0);
	assert_int_equal(kit_fds(), fds + 2 * w->gate->pipes.nkept);
	end(w);
}

static void test_bulk_without_pipes(void **state)
{
	struct world *w = begin();

	(void)state;
	w->gate->pipes.lent = PIPES_LENT_MAX;
	bulk_both_ways(w, 16 * MIB);
	assert_int_equal(w->gate->pipes.nkept, 0);
	w->gate->pipes.lent = 0;
	end(w);
}

/* --- ends in the middle ---------------------------------------------------------------------- */

static void test_reset(void **state)
{
	(void)state;
	for (int side = 0; side < 2; side++) {
		struct world *w = begin();

		kit_send(w->a[0], "x");
		kit_expect(w->gate, w->b[0], "x");
		kit_reset(side == 0 ? w->a[0] : w->b[0]);
		*(side == 0 ? &w->a[0] : &w->b[0]) = -1;
		KIT_UNTIL(w->gate, w->done != -1);
		assert_int_equal(w->done, ECONNRESET);
		end(w);
	}
}

/* A server that answers and goes away while it is still sent to: its answer arrives. */
static void test_answer_then_reset(void **state)
{
	struct world *w = begin();
	char buf[64] = {0};
	int how;

	(void)state;
	kit_send(w->a[0], "a question that nobody reads");
	kit_spin(w->gate, 5);
	kit_send(w->b[0], "answer");
	close(w->b[0]); /* with unread bytes: a reset */
	w->b[0] = -1;
	kit_send(w->a[0], "more");
	KIT_UNTIL(w->gate, w->done != -1);
	assert_int_equal(kit_read(w->gate, w->a[0], buf, 6, &how), 6);
	assert_string_equal(buf, "answer");
	end(w);
}

static void test_reset_before_start(void **state)
{
	struct world w = {.gate = kit_gate(), .done = -1};

	(void)state;
	open_world(&w);
	kit_reset(w.b[0]);
	w.relay = relay_start(w.gate, w.a[1], w.b[1], "x", 1, NULL, 0, on_done, &w);
	assert_int_equal(w.done, -1); /* never from inside */
	KIT_UNTIL(w.gate, w.done != -1);
	assert_int_not_equal(w.done, 0);
	relay_stop(w.relay);
	close(w.a[0]);
	close(w.a[1]);
	close(w.b[1]);
	kit_gate_end(w.gate);
}

static void test_refused_connection(void **state)
{
	struct world w = {.gate = kit_gate(), .done = -1};
	uint16_t port = 0;
	int listener = kit_listen(AF_INET, &port);
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	(void)state;
	close(listener);
	kit_pair(w.a);
	w.b[1] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	connect(w.b[1], (struct sockaddr *)&sa, sizeof(sa));
	w.relay = relay_start(w.gate, w.a[1], w.b[1], NULL, 0, NULL, 0, on_done, &w);
	KIT_UNTIL(w.gate, w.done != -1);
	assert_int_not_equal(w.done, 0);
	relay_stop(w.relay);
	close(w.a[0]);
	close(w.a[1]);
	close(w.b[1]);
	kit_gate_end(w.gate);
}

/* --- those who do not read ------------------------------------------------------------------- */

static size_t fill(struct gate *gate, int fd)
{
	char buf[65536];
	size_t total = 0;
	long quiet = clock_now_ms();

	memset(buf, 'z', sizeof(buf));
	while (clock_now_ms() - quiet < 100) {
		ssize_t n = send(fd, buf, sizeof(buf), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			total += (size_t)n;
			quiet = clock_now_ms();
		}
		uv_run(&gate->loop, UV_RUN_NOWAIT);
	}
	return total;
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void close_timer(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, NULL);
}

/* The loop sleeps: it is not woken by what cannot be helped. */
static void expect_sleep(struct gate *gate)
{
	uv_timer_t timer;

	uv_timer_init(&gate->loop, &timer);
	uv_update_time(&gate->loop);
	uv_timer_start(&timer, close_timer, 300, 0);
	uint64_t before = cpu_us();
	while (!uv_is_closing((uv_handle_t *)&timer)) {
		uv_run(&gate->loop, UV_RUN_ONCE);
	}
	uv_run(&gate->loop, UV_RUN_NOWAIT);
	assert_true(cpu_us() - before < 100000);
}

static void test_no_reader(void **state)
{
	struct world *w = begin();
	int end_of = -1;

	(void)state;
	size_t n = fill(w->gate, w->a[0]);
	uint64_t sent, received;
	relay_counts(w->relay, &sent, &received);
	assert_true(sent < n); /* the sender was stopped */
	assert_int_equal(w->done, -1);
	expect_sleep(w->gate);
	/* The other way is as open as before. */
	kit_send(w->b[0], "still here");
	kit_expect(w->gate, w->a[0], "still here");
	/* And all comes once it is read. */
	char *buf = malloc(n);
	assert_int_equal(kit_read(w->gate, w->b[0], buf, n, &end_of), n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(buf[i], 'z');
	}
	free(buf);
	expect_counts(w, n, 10);
	end(w);
}

/* A program that is gone while its server does not read. */
static void test_reset_behind_a_full_way(void **state)
{
	struct world *w = begin();

	(void)state;
	fill(w->gate, w->a[0]);
	kit_reset(w->a[0]);
	w->a[0] = -1;
	KIT_UNTIL(w->gate, w->done != -1);
	assert_int_equal(w->done, ECONNRESET);
	end(w);
}

/* Urgent bytes stand in splice's way, and wake whoever waits for nothing else. */
static void test_urgent(void **state)
{
	struct world *w = begin();
	struct bulk out = {w->a[0], 0, 4 * MIB}, in = {w->b[0], 0, 4 * MIB};
	bool sent = false;

	(void)state;
	for (int i = 0; !pull(&in); i++) {
		sent = sent || push(&out);
		if (i % 16 == 5 && !sent) {
			send(w->a[0], "!", 1, MSG_OOB | MSG_DONTWAIT);
		}
		uv_run(&w->gate->loop, UV_RUN_NOWAIT);
	}
	send(w->a[0], "!", 1, MSG_OOB);
	send(w->b[0], "!", 1, MSG_OOB);
	kit_spin(w->gate, 20);
	expect_sleep(w->gate);
	fill(w->gate, w->a[0]);
	send(w->b[0], "!", 1, MSG_OOB);
	kit_spin(w->gate, 20);
	expect_sleep(w->gate);
	end(w);
}

/* --- many of them ---------------------------------------------------------------------------- */

#define MANY 200

static void test_idle_holds_nothing(void **state)
{
	struct gate *gate = kit_gate();
	static struct world w[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		open_world(&w[i]);
	}
	unsigned fds = kit_fds();
	for (int i = 0; i < MANY; i++) {
		w[i].gate = gate;
		w[i].relay =
			relay_start(gate, w[i].a[1], w[i].b[1], "hi", 2, NULL, 0, on_done, &w[i]);
	}
	for (int i = 0; i < MANY; i++) {
		kit_expect(gate, w[i].b[0], "hi");
	}
	assert_int_equal(kit_fds(), fds);
	for (int i = 0; i < MANY; i++) {
		kit_send(w[i].b[0], "ho");
	}
	for (int i = 0; i < MANY; i++) {
		kit_expect(gate, w[i].a[0], "ho");
		relay_stop(w[i].relay);
		for (int j = 0; j < 2; j++) {
			close(w[i].a[j]);
			close(w[i].b[j]);
		}
	}
	kit_gate_end(gate);
}

/* More of them than there are pipes, none read. */
static void test_pipes_are_bounded(void **state)
{
	struct gate *gate = kit_gate();
	enum { N = PIPES_LENT_MAX + 20 };
	static struct world w[N];

	(void)state;
	for (int i = 0; i < N; i++) {
		int small = 16384;

		open_world(&w[i]);
		/* So that the test moves less. */
		setsockopt(w[i].b[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		setsockopt(w[i].b[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		w[i].relay =
			relay_start(gate, w[i].a[1], w[i].b[1], NULL, 0, NULL, 0, on_done, &w[i]);
	}
	unsigned fds = kit_fds();
	for (int round = 0; round < 30; round++) {
		char buf[65536] = {0};

		for (int i = 0; i < N; i++) {
			send(w[i].a[0], buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);
		}
		kit_spin(gate, 2);
	}
	assert_in_range(gate->pipes.lent, PIPES_LENT_MAX / 2, PIPES_LENT_MAX);
	assert_true(kit_fds() <= fds + 2 * (PIPES_LENT_MAX + PIPES_KEPT));
	for (int i = 0; i < N; i++) {
		relay_stop(w[i].relay);
		for (int j = 0; j < 2; j++) {
			close(w[i].a[j]);
			close(w[i].b[j]);
		}
	}
	assert_int_equal(gate->pipes.lent, 0);
	kit_gate_end(gate);
}

/* A call that moves all it can does not keep a small one waiting: of each turn it gets its part. */
static void test_fair(void **state)
{
	struct world *w = begin();
	struct world small = {.gate = w->gate};
	struct bulk out = {w->a[0], 0, 1024 * MIB}, in = {w->b[0], 0, 1024 * MIB};

	(void)state;
	open_world(&small);
	small.relay =
		relay_start(w->gate, small.a[1], small.b[1], NULL, 0, NULL, 0, on_done, &small);
	for (int i = 0; i < 200; i++) {
		char byte;
		uint64_t before, after, received;

		push(&out);
		push(&out);
		pull(&in);
		kit_send(small.a[0], "p");
		relay_counts(w->relay, &before, &received);
		uv_run(&w->gate->loop, UV_RUN_NOWAIT);
		uv_run(&w->gate->loop, UV_RUN_NOWAIT);
		relay_counts(w->relay, &after, &received);
		assert_true(after - before <= 4 * (RELAY_TURN + 128 * 1024));
		assert_int_equal(recv(small.b[0], &byte, 1, MSG_DONTWAIT), 1);
	}
	relay_stop(small.relay);
	for (int i = 0; i < 2; i++) {
		close(small.a[i]);
		close(small.b[i]);
	}
	end(w);
}

/* Stopped at any moment, nothing is left. */
static void test_stopped_anywhere(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 60; seed++) {
		struct world *w = begin_with("a", "b");
		struct bulk out = {w->a[0], 0, MIB}, back = {w->b[0], 0, MIB};

		for (unsigned i = 0; i < seed; i++) {
			push(&out);
			if (seed % 3 == 0) {
				push(&back);
			}
			if (i == 40 && seed % 2 == 0) {
				shutdown(w->a[0], SHUT_WR);
			}
			uv_run(&w->gate->loop, UV_RUN_NOWAIT);
		}
		end(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_half_close),
		cmocka_unit_test(test_end_at_once),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_bulk_without_pipes),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_answer_then_reset),
		cmocka_unit_test(test_reset_before_start),
		cmocka_unit_test(test_refused_connection),
		cmocka_unit_test(test_no_reader),
		cmocka_unit_test(test_reset_behind_a_full_way),
		cmocka_unit_test(test_urgent),
		cmocka_unit_test(test_idle_holds_nothing),
		cmocka_unit_test(test_pipes_are_bounded),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_stopped_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
