/* What the two ends of bench/net share: a connection that may be TLS, and errors that end the
 * program. Both are measuring tools: plain, and of no use outside of bench/net. */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* One read or write of bulk data. */
#define CHUNK (256UL * 1024UL)

struct wire {
	int fd;
	SSL *ssl; /* NULL: plain */
};

static inline _Noreturn void fail(const char *what)
{
	fprintf(stderr, "bench/net: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* -1 with errno, EAGAIN where OpenSSL wants to wait, as with a plain socket. */
static inline ssize_t wire_result(const struct wire *wire, int n)
{
	if (n > 0)
		return n;
	int why = SSL_get_error(wire->ssl, n);
	if (why == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
		errno = EAGAIN;
	else if (why != SSL_ERROR_SYSCALL || errno == 0)
		errno = EPROTO;
	return -1;
}

static inline ssize_t wire_read(const struct wire *wire, void *buf, size_t len)
{
	if (!wire->ssl)
		return recv(wire->fd, buf, len, 0);
	errno = 0;
	return wire_result(wire, SSL_read(wire->ssl, buf, (int)len));
}

static inline ssize_t wire_write(const struct wire *wire, const void *buf, size_t len)
{
	if (!wire->ssl)
		return send(wire->fd, buf, len, MSG_NOSIGNAL);
	errno = 0;
	return wire_result(wire, SSL_write(wire->ssl, buf, (int)len));
}

/* As many descriptors as may be had: 10,000 calls want as many. */
static inline void raise_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		fail("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		fail("setrlimit");
}

#endif
