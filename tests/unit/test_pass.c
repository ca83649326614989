/* Descriptors over a socket: they arrive, close-on-exec, and none is left open when a message is
 * refused. */
#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct pair {
	int a, b;
};

static struct pair pair_of(int type)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	return (struct pair){fds[0], fds[1]};
}

static void unpair(struct pair *p)
{
	fd_close(&p->a);
	fd_close(&p->b);
}

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL) {
		n++;
	}
	closedir(d);
	return n;
}

static void passes_what_is_given(void **state)
{
	struct pair p = pair_of(SOCK_SEQPACKET);
	int fds[PASS_MAX], got[PASS_MAX];
	char text[16];
	size_t n = 99;

	(void)state;
	for (size_t i = 0; i < PASS_MAX; i++) {
		fds[i] = memfd_create("test", MFD_CLOEXEC);
		assert_int_equal(pwrite(fds[i], &i, sizeof(i), 0), sizeof(i));
	}
	for (size_t count = 0; count <= PASS_MAX; count++) {
		assert_true(pass_send(p.a, "hello", 5, fds, count));
		assert_int_equal(pass_receive(p.b, text, sizeof(text), got, PASS_MAX, &n), 5);
		assert_memory_equal(text, "hello", 5);
		assert_int_equal(n, count);
		for (size_t i = 0; i < n; i++) {
			size_t which = 99;

			assert_true((fcntl(got[i], F_GETFD) & FD_CLOEXEC) != 0);
			assert_int_equal(pread(got[i], &which, sizeof(which), 0), sizeof(which));
			assert_int_equal(which, i);
			fd_close(&got[i]);
		}
	}
	for (size_t i = 0; i < PASS_MAX; i++) {
		fd_close(&fds[i]);
	}
	unpair(&p);
}

static void refuses_what_cannot_be_sent(void **state)
{
	struct pair p = pair_of(SOCK_SEQPACKET);
	int fds[PASS_MAX + 1] = {0};

	(void)state;
	assert_false(pass_send(p.a, "", 0, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_false(pass_send(p.a, "x", 1, fds, PASS_MAX + 1));
	assert_int_equal(errno, EINVAL);
	fds[0] = -1;
	assert_false(pass_send(p.a, "x", 1, fds, 1));
	assert_int_equal(errno, EBADF);
	fd_close(&p.b);
	/* No SIGPIPE. */
	assert_false(pass_send(p.a, "x", 1, NULL, 0));
	assert_int_equal(errno, EPIPE);
	unpair(&p);
}

static void tells_nothing_from_gone(void **state)
{
	struct pair p = pair_of(SOCK_SEQPACKET);
	char text[4];
	size_t n = 99;

	(void)state;
	assert_int_equal(pass_receive(p.b, text, sizeof(text), NULL, 0, &n), -1);
	assert_int_equal(errno, EAGAIN);
	fd_close(&p.a);
	assert_int_equal(pass_receive(p.b, text, sizeof(text), NULL, 0, &n), 0);
	assert_int_equal(n, 0);
	unpair(&p);
}

/* Sends one message by hand, with any number of descriptors in it. */
static void send_raw(int socket, const char *text, size_t len, unsigned nfds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(64 * sizeof(int))];
	} control = {.space = {0}};
	char copy[64];
	struct iovec iov = {.iov_base = copy, .iov_len = len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	memcpy(copy, text, len);
	if (nfds > 0) {
		int fds[64];

		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		for (unsigned i = 0; i < nfds; i++) {
			fds[i] = socket;
		}
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	assert_int_equal(sendmsg(socket, &m, 0), (ssize_t)len);
}

/* A hostile peer: whatever it sends, nothing stays open. */
static void nothing_stays_open(void **state)
{
	static const struct {
		size_t len;
		unsigned nfds;
		size_t cap, max;
	} rows[] = {
		{5, 0, 4, 0},                /* too long */
		{5, 2, 4, 2},                /* too long, with descriptors */
		{2, 1, 4, 0},                /* a descriptor nobody asked for */
		{2, 5, 4, 4},                /* one too many */
		{2, 9, 4, 8},                /* more than fit into the buffer */
		{2, 64, 4, 8},               /* many more */
		{2, 64, 4, 0}, {0, 3, 4, 8}, /* descriptors in an empty message */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pair p = pair_of(SOCK_SEQPACKET);
		unsigned before = open_fds();
		char text[16];
		int got[PASS_MAX];
		size_t n = 99;

		send_raw(p.a, "hello", rows[i].len, rows[i].nfds);
		assert_int_equal(pass_receive(p.b, text, rows[i].cap, got, rows[i].max, &n), -1);
		assert_int_equal(errno, EBADMSG);
		assert_int_equal(n, 0);
		assert_int_equal(open_fds(), before);
		/* The next message is fine. */
		assert_true(pass_send(p.a, "ok", 2, NULL, 0));
		assert_int_equal(pass_receive(p.b, text, 4, got, 0, &n), 2);
		unpair(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_what_is_given),
		cmocka_unit_test(refuses_what_cannot_be_sent),
		cmocka_unit_test(tells_nothing_from_gone),
		cmocka_unit_test(nothing_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
