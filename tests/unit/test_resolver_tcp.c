/* DNS over TCP: many queries on a connection, however they are cut; clients that are broken, silent
 * or do not read; and what happens when there are too many of them. */
#include "resolver_kit.h"

#include <sys/resource.h>

static int call_port(struct world *w, int family)
{
	struct sockaddr_in6 sa6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(w->tcp6),
				   .sin6_addr = in6addr_loopback};
	struct sockaddr_in sa4 = {.sin_family = AF_INET,
				  .sin_port = htons(w->tcp4),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bool v6 = family == AF_INET6;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd,
				 v6 ? (const struct sockaddr *)&sa6 : (const struct sockaddr *)&sa4,
				 v6 ? sizeof(sa6) : sizeof(sa4)),
			 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int client(struct world *w)
{
	return call_port(w, AF_INET);
}

#define FIFTY "x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x."

/* 210 bytes. */
static const char long_localhost[] = FIFTY FIFTY FIFTY FIFTY "localhost";

/* Appends a query with its length before it. */
static void put_query(struct packet *p, const char *name, unsigned id)
{
	struct packet query = asking(name, DNS_A, 0);

	query.v[0] = (unsigned char)(id >> 8);
	query.v[1] = (unsigned char)id;
	put16(p, (unsigned)query.n);
	put(p, query.v, query.n);
}

static void send_query(int fd, const char *name, unsigned id)
{
	struct packet p = {.n = 0};

	put_query(&p, name, id);
	send_packet(fd, &p);
}

static struct reply tcp_reply(struct world *w, int fd)
{
	unsigned char v[DNS_ANSWER_MAX];
	int ended;

	assert_int_equal(kit_read(w->gate, fd, (char *)v, 2, &ended), 2);
	size_t n = (size_t)v[0] << 8 | v[1];
	assert_in_range(n, HEADER_LEN, sizeof(v));
	assert_int_equal(kit_read(w->gate, fd, (char *)v, n, &ended), n);
	return reply_of(v, n);
}

static void expect_reply(struct world *w, int fd, unsigned id, unsigned answers)
{
	struct reply reply = tcp_reply(w, fd);

	if (reply.id != id || reply.answers != answers) {
		fail_msg("id %u with %u answers, not %u with %u", reply.id, reply.answers, id,
			 answers);
	}
}

/* For what it did, not for its silence. A reset, when something was not read, and an end are both
 * good. */
static void expect_closed(struct world *w, int fd)
{
	long start = clock_now_ms();
	int ended = kit_end(w->gate, fd);

	assert_true(ended == 0 || ended == ECONNRESET);
	assert_in_range(clock_now_ms() - start, 0, TCP_IDLE_MS - 1000);
	close(fd);
}

static void test_queries(void **state)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct world *w = begin();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		int fd = call_port(w, families[i]);

		send_query(fd, "ok.test", 1);
		expect_reply(w, fd, 1, 1);
		send_query(fd, "evil.test", 2);
		expect_reply(w, fd, 2, 0);
		/* After its last query the client sends no more, and has its answer all the same.
		 */
		w->server.hold = true;
		send_query(fd, i == 0 ? "a.ok.test" : "b.ok.test", 3);
		shutdown(fd, SHUT_WR);
		kit_spin(w->gate, 20);
		server_release(&w->server);
		expect_reply(w, fd, 3, 1);
		assert_int_equal(kit_end(w->gate, fd), 0);
		close(fd);
	}
	assert_int_equal(w->resolver->service->nclients, 0);
	end(w);
}

static void test_pieces(void **state)
{
	struct world *w = begin();
	struct packet p = {.n = 0};
	int fd = client(w);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		put_query(&p, "ok.test", i);
	}
	for (size_t i = 0; i < p.n; i++) {
		assert_int_equal(send(fd, p.v + i, 1, MSG_NOSIGNAL), 1);
		kit_spin(w->gate, 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		expect_reply(w, fd, i, 1);
	}
	/* All at once: more than there is room for. */
	p.n = 0;
	for (unsigned i = 0; i < 100; i++) {
		put_query(&p, "localhost", i);
	}
	send_packet(fd, &p);
	for (unsigned i = 0; i < 100; i++) {
		expect_reply(w, fd, i, 1);
	}
	close(fd);
	KIT_UNTIL(w->gate, w->resolver->service->nclients == 0);
	end(w);
}

/* Answers come as they are found; those that wait hold others up only when there is no room. */
static void test_order(void **state)
{
	struct world *w = begin();
	struct packet p = {.n = 0};
	int fd = client(w);
	bool seen[100] = {false};

	(void)state;
	w->server.hold = true;
	send_query(fd, "ok.test", 1);
	send_query(fd, "localhost", 2);
	expect_reply(w, fd, 2, 1);
	server_release(&w->server);
	expect_reply(w, fd, 1, 1);
	w->server.hold = true;
	for (unsigned i = 0; i < ARRAY_LEN(seen); i++) {
		put_query(&p, i % 2 == 0 ? "a.ok.test" : "b.ok.test", i);
	}
	send_packet(fd, &p);
	shutdown(fd, SHUT_WR);
	KIT_UNTIL(w->gate, w->resolver->service->nqueries > 20);
	kit_spin(w->gate, 20);
	assert_true(w->resolver->service->nqueries * (2 + DNS_ANSWER_MAX) <= TCP_OUT_MAX);
	server_release(&w->server);
	for (unsigned i = 0; i < ARRAY_LEN(seen); i++) {
		struct reply reply = tcp_reply(w, fd);

		assert_in_range(reply.id, 0, ARRAY_LEN(seen) - 1);
		assert_false(seen[reply.id]);
		seen[reply.id] = true;
	}
	assert_int_equal(kit_end(w->gate, fd), 0);
	close(fd);
	end(w);
}

static void test_broken(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} rows[] = {
		{"\0\0", 2},                              /* a query of no bytes */
		{"\0\x0b\0\0\0\0\0\1\0\0\0\0\0", 13},     /* no header */
		{"\4\xd1", 2},                            /* too long */
		{"\xff\xff", 2},                          /* likewise */
		{"\0\x0c\0\1\x80\0\0\0\0\0\0\0\0\0", 14}, /* an answer */
		{"GET / HTTP/1.1\r\n", 16},
	};
	struct world *w = begin();
	struct packet p = {.n = 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
		int fd = client(w);

		p.n = 0;
		if (i % 2 == 1) { /* what came before is answered, or not: it has ended */
			send_query(fd, "localhost", 1);
			expect_reply(w, fd, 1, 1);
		}
		put(&p, rows[i / 2].bytes, rows[i / 2].n);
		send_packet(fd, &p);
		expect_closed(w, fd);
	}
	/* A header is enough for an answer, and the connection goes on. */
	int fd = client(w);
	p.n = 0;
	put(&p, "\0\x0c\0\5\1\0\0\0\0\0\0\0\0\0", 14);
	send_packet(fd, &p);
	struct reply reply = tcp_reply(w, fd);
	assert_int_equal(reply.id, 5);
	assert_int_equal(reply.rcode, DNS_RC_FORMERR);
	send_query(fd, "localhost", 6);
	expect_reply(w, fd, 6, 1);
	/* The end comes in the middle of a query. */
	send_packet(fd, &(struct packet){.v = "\0\x20half", .n = 6});
	shutdown(fd, SHUT_WR);
	assert_int_equal(kit_end(w->gate, fd), 0);
	close(fd);
	end(w);
}

/* A client that sends and does not read is not read either; when it reads, nothing is lost. */
static void test_does_not_read(void **state)
{
	struct world *w = begin();
	struct packet p = {.n = 0};
	int fd = client(w);
	unsigned sent = 0;
	unsigned blocked = 0;
	size_t at = 0;

	(void)state;
	while (blocked < 100) {
		if (at == p.n) {
			p.n = at = 0;
			for (unsigned i = 0; i < 100; i++) {
				put_query(&p, "localhost", sent++ & 0xffff);
			}
		}
		ssize_t n = send(fd, p.v + at, p.n - at, MSG_NOSIGNAL);
		at += n > 0 ? (size_t)n : 0;
		blocked = n > 0 ? 0 : blocked + 1;
		assert_in_range(sent, 1, 1000000);
		kit_spin(w->gate, 0);
	}
	for (unsigned i = 0; i < sent; i++) {
		expect_reply(w, fd, i & 0xffff, 1);
		if (at < p.n) {
			ssize_t n = send(fd, p.v + at, p.n - at, MSG_NOSIGNAL);
			at += n > 0 ? (size_t)n : 0;
		}
	}
	shutdown(fd, SHUT_WR);
	assert_int_equal(kit_end(w->gate, fd), 0);
	close(fd);
	end(w);
}

/* Answers fill their place while some of its queries have come and are not taken: those are when
 * there is place again, even if nothing more comes. How many fit is the kernel's matter, so that
 * it is tried with many numbers. */
static void test_left_in_hand(void **state)
{
	struct world *w = begin();
	const int little = 2048;

	(void)state;
	/* What is accepted has it from the listener. */
	setsockopt(w->resolver->service->source[2].fd, SOL_SOCKET, SO_SNDBUF, &little,
		   sizeof(little));
	for (unsigned n = 4; n < 140; n++) {
		struct packet p = {.n = 0};
		int fd = client(w);

		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
		for (unsigned i = 0; i < n; i++) {
			p.n = 0;
			put_query(&p, long_localhost, i);
			send_packet(fd, &p);
		}
		kit_spin(w->gate, 2);
		for (unsigned i = 0; i < n; i++) {
			expect_reply(w, fd, i, 1);
		}
		close(fd);
	}
	end(w);
}

/* It goes away while its queries wait: others that wait for the same do not. */
static void test_gone(void **state)
{
	struct world *w = begin();
	int a = client(w), b = client(w), c = client(w);

	(void)state;
	w->server.hold = true;
	for (unsigned i = 0; i < 5; i++) {
		send_query(a, "ok.test", i);
		send_query(b, "ok.test", i);
		send_query(c, "a.ok.test", i);
	}
	KIT_UNTIL(w->gate, w->resolver->service->nqueries == 15);
	kit_reset(a);
	kit_reset(c);
	KIT_UNTIL(w->gate, w->resolver->service->nclients == 1);
	assert_int_equal(w->resolver->service->nqueries, 5);
	server_release(&w->server);
	for (unsigned i = 0; i < 5; i++) {
		expect_reply(w, b, i, 1);
	}
	close(b);
	/* The resolver's end comes while one waits, and another has sent half a query. */
	a = client(w);
	b = client(w);
	w->server.hold = true;
	send_query(a, "b.ok.test", 1);
	send_packet(b, &(struct packet){.v = "\0\x20half", .n = 6});
	KIT_UNTIL(w->gate, w->resolver->service->nqueries == 1);
	resolver_stop(w->resolver);
	w->resolver = NULL;
	kit_spin(w->gate, 5);
	expect_closed(w, a);
	expect_closed(w, b);
	end(w);
}

/* --- too many --------------------------------------------------------------------------------- */

static void test_too_many_clients(void **state)
{
	struct world *w = begin();
	int fd[TCP_CLIENTS_MAX + 2];

	(void)state;
	for (unsigned i = 0; i < TCP_CLIENTS_MAX; i++) {
		fd[i] = client(w);
		send_query(fd[i], "localhost", i);
		expect_reply(w, fd[i], i, 1);
	}
	assert_int_equal(w->resolver->service->nclients, TCP_CLIENTS_MAX);
	/* The first has been silent longest; but then it says something. */
	send_query(fd[0], "localhost", 7);
	expect_reply(w, fd[0], 7, 1);
	for (unsigned i = TCP_CLIENTS_MAX; i < ARRAY_LEN(fd); i++) {
		fd[i] = client(w);
		send_query(fd[i], "localhost", i);
		expect_reply(w, fd[i], i, 1);
	}
	assert_int_equal(w->resolver->service->nclients, TCP_CLIENTS_MAX);
	expect_closed(w, fd[1]);
	expect_closed(w, fd[2]);
	for (unsigned i = 0; i < ARRAY_LEN(fd); i++) {
		if (i != 1 && i != 2) {
			send_query(fd[i], "localhost", i);
			expect_reply(w, fd[i], i, 1);
			close(fd[i]);
		}
	}
	KIT_UNTIL(w->gate, w->resolver->service->nclients == 0);
	end(w);
}

static void allow_fds(rlim_t n)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Descriptors are out: silent clients give theirs up; when there is none, it is tried again. */
static void test_no_descriptors(void **state)
{
	struct world *w = begin();
	struct rlimit before;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	int a = client(w);
	send_query(a, "localhost", 1);
	expect_reply(w, a, 1, 1);
	int b = client(w);
	/* The lowest free one is what accept(2) would give. */
	int lowest = dup(a);
	close(lowest);
	allow_fds((rlim_t)lowest);
	send_query(b, "localhost", 2);
	expect_reply(w, b, 2, 1);
	expect_closed(w, a); /* which makes room for nobody: the limit is lower still */
	allow_fds(before.rlim_cur);
	int c = client(w);
	kit_reset(b);
	kit_spin(w->gate, 5); /* b is gone, c has come */
	kit_reset(c);
	KIT_UNTIL(w->gate, w->resolver->service->nclients == 0);
	/* Nobody has one to give up. */
	c = client(w);
	lowest = dup(c);
	close(lowest);
	allow_fds((rlim_t)lowest);
	send_query(c, "localhost", 3);
	kit_spin(w->gate, 200);
	assert_int_equal(w->resolver->service->nclients, 0);
	struct packet p = asking("localhost", DNS_A, 0);
	allow_fds(before.rlim_cur);
	int udp = asker4(w);
	send_packet(udp, &p);
	assert_int_equal(next_reply(w, udp).answers, 1);
	expect_reply(w, c, 3, 1);
	close(udp);
	close(c);
	end(w);
}

/* --- time --------------------------------------------------------------------------------------
 */

/* The silent are closed in the end: they said nothing, half of something, or do not read. One whose
 * name server takes its time is not. */
static void test_silent(void **state)
{
	struct world *w = begin();
	int silent = client(w), half = client(w), waiting = client(w), deaf = client(w);
	const int little = 2048;
	struct packet p = {.n = 0};

	(void)state;
	for (unsigned i = 0; i < 90; i++) {
		put_query(&p, "localhost", i);
	}
	setsockopt(deaf, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	w->server.hold = true;
	send_query(waiting, "ok.test", 1);
	send_packet(half, &(struct packet){.v = "\0\x20half", .n = 6});
	long start = clock_now_ms();
	for (unsigned n = 1; n > 0 || clock_now_ms() < start + 300;) {
		n = send(deaf, p.v, p.n, MSG_NOSIGNAL) > 0;
		kit_spin(w->gate, 1);
	}
	assert_int_equal(w->resolver->service->nclients, 4);
	start = clock_now_ms();
	kit_spin(w->gate, TCP_IDLE_MS / 2);
	if (clock_now_ms() - start < TCP_IDLE_MS - 500) {
		assert_int_equal(w->resolver->service->nclients, 4);
	}
	kit_spin(w->gate, TCP_IDLE_MS / 2 + 300);
	assert_int_equal(w->resolver->service->nclients, 1);
	expect_closed(w, silent);
	expect_closed(w, half);
	close(deaf);
	server_release(&w->server);
	expect_reply(w, waiting, 1, 1);
	close(waiting);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queries),        cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_order),          cmocka_unit_test(test_broken),
		cmocka_unit_test(test_does_not_read),  cmocka_unit_test(test_left_in_hand),
		cmocka_unit_test(test_gone),           cmocka_unit_test(test_too_many_clients),
		cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_silent),
	};

	kit_world();
	return cmocka_run_group_tests_name("resolver tcp", tests, NULL, NULL);
}
