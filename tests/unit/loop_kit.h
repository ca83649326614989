/* For tests of what runs on the gate's loop: real sockets on the loopback, a loop that is turned by
 * hand, and a watch over descriptors. */
#ifndef LNK_TESTS_LOOP_KIT_H
#define LNK_TESTS_LOOP_KIT_H

#include "base/clock.h"
#include "base/fd.h"
#include "gate/gate.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* However slow the machine is. */
#define PATIENCE_MS 20000

static inline int kit_listen(int family, uint16_t *ret_port)
{
	struct sockaddr_in6 sa = {.sin6_family = (sa_family_t)family};
	struct sockaddr_in *in = (struct sockaddr_in *)&sa;
	socklen_t len = family == AF_INET6 ? sizeof(sa) : sizeof(*in);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (family == AF_INET6) {
		sa.sin6_addr = in6addr_loopback;
		sa.sin6_port = htons(*ret_port);
	} else {
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		in->sin_port = htons(*ret_port);
	}
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(fd, 128), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*ret_port = ntohs(sa.sin6_port); /* at the same place in both */
	return fd;
}

/* A connection to a listener of kit_listen(AF_INET): v[0] is the one that connected. */
static inline void kit_pair(int v[2])
{
	uint16_t port = 0;
	int listener = kit_listen(AF_INET, &port);
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	v[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(v[0], (struct sockaddr *)&sa, sizeof(sa)), 0);
	v[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(v[1] >= 0);
	fcntl(v[0], F_SETFL, O_NONBLOCK);
	close(listener);
}

static inline void kit_reset(int fd)
{
	struct linger now = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Turns the loop for so long. */
static inline void kit_spin(struct gate *gate, long ms)
{
	long end = clock_now_ms() + ms;

	do {
		uv_run(&gate->loop, UV_RUN_NOWAIT);
		usleep(200);
	} while (clock_now_ms() < end);
}

/* Turns the loop until `condition` holds. */
#define KIT_UNTIL(gate, condition)                                                                 \
	do {                                                                                       \
		long kit_end = clock_now_ms() + PATIENCE_MS;                                       \
		while (!(condition)) {                                                             \
			uv_run(&(gate)->loop, UV_RUN_NOWAIT);                                      \
			if (clock_now_ms() > kit_end) {                                            \
				fail_msg("waited in vain for %s", #condition);                     \
			}                                                                          \
		}                                                                                  \
	} while (0)

static inline unsigned kit_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir) != NULL) {
		n++;
	}
	closedir(dir);
	return n;
}

/* What has come, with the loop turned meanwhile, until `n` bytes, the end (*ret_end 0) or an error
 * (*ret_end its number). How many came. */
static inline size_t kit_read(struct gate *gate, int fd, char *buf, size_t n, int *ret_end)
{
	long end = clock_now_ms() + PATIENCE_MS;
	size_t have = 0;

	*ret_end = -1;
	while (have < n) {
		ssize_t got = recv(fd, buf + have, n - have, MSG_DONTWAIT);

		if (got == 0 || (got < 0 && errno != EAGAIN)) {
			*ret_end = got == 0 ? 0 : errno;
			break;
		}
		have += got > 0 ? (size_t)got : 0;
		if (clock_now_ms() > end) {
			fail_msg("waited in vain for %zu bytes, %zu came", n, have);
		}
		uv_run(&gate->loop, UV_RUN_NOWAIT);
	}
	return have;
}

/* Exactly this text comes next. */
static inline void kit_expect(struct gate *gate, int fd, const char *text)
{
	char buf[4096] = {0};
	int end;
	size_t n = kit_read(gate, fd, buf, strlen(text), &end);

	if (n != strlen(text)) {
		fail_msg("\"%s\" came, then %d, instead of \"%s\"", buf, end, text);
	}
	assert_string_equal(buf, text);
}

/* How the connection ends, and that nothing comes before: 0, or an errno value. */
static inline int kit_end(struct gate *gate, int fd)
{
	char byte;
	int end;

	if (kit_read(gate, fd, &byte, 1, &end) != 0) {
		fail_msg("a byte came before the end: %d", byte);
	}
	return end;
}

static inline void kit_send(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static inline struct gate *kit_gate(void)
{
	struct gate *gate = calloc(1, sizeof(*gate));

	signal(SIGPIPE, SIG_IGN);
	gate->routes = -1;
	gate->door = -1;
	gate->max_calls = 100;
	assert_int_equal(uv_loop_init(&gate->loop), 0);
	return gate;
}

/* Nothing is left on the loop. */
static inline void kit_gate_end(struct gate *gate)
{
	pipes_close(&gate->pipes);
	assert_int_equal(gate->pipes.lent, 0);
	uv_run(&gate->loop, UV_RUN_NOWAIT);
	assert_int_equal(uv_loop_close(&gate->loop), 0);
	free(gate);
}

#endif
