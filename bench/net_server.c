/* The server of bench/net: HTTP/1.1, plain and TLS, one thread, thousands of connections.
 *
 *     net_server CERT KEY ADDRESS PORT plain|tls [ADDRESS PORT plain|tls]...
 *
 * GET /N answers N bytes; PUT reads its body and answers 3. Says "ready" once it listens. */
#define _GNU_SOURCE
#include "net_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>

struct conn {
	struct wire wire;
	bool listens, tls;
	bool last; /* the client asked to close after this answer */
	bool answering;
	uint32_t waits_for;
	uint64_t to_read, to_send;
	unsigned have; /* bytes of a head */
	char head[1024];
	unsigned reply_at, reply_len;
	char reply[128];
};

static char bulk[CHUNK];
static SSL_CTX *tls;
static int poller;

static void wait_for(struct conn *conn, uint32_t events)
{
	if (conn->waits_for == events)
		return;
	struct epoll_event event = {.events = events, .data.ptr = conn};
	if (epoll_ctl(poller, conn->waits_for ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, conn->wire.fd,
		      &event) < 0)
		fail("epoll_ctl");
	conn->waits_for = events;
}

static void end(struct conn *conn)
{
	if (conn->wire.ssl) {
		SSL_shutdown(conn->wire.ssl);
		SSL_free(conn->wire.ssl);
	}
	close(conn->wire.fd);
	free(conn);
}

static void listen_at(const char *address, const char *port, bool is_tls)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		fail(address);
	struct conn *conn = calloc(1, sizeof(*conn));
	if (!conn)
		fail("calloc");
	conn->listens = true;
	conn->tls = is_tls;
	conn->wire.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(conn->wire.fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(conn->wire.fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(conn->wire.fd, 16384) < 0)
		fail(address);
	wait_for(conn, EPOLLIN);
}

static void take(const struct conn *listener)
{
	for (;;) {
		int fd = accept4(listener->wire.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		struct conn *conn = calloc(1, sizeof(*conn));
		if (!conn)
			fail("calloc");
		conn->wire.fd = fd;
		if (listener->tls) {
			conn->wire.ssl = SSL_new(tls);
			SSL_set_fd(conn->wire.ssl, fd);
			SSL_set_accept_state(conn->wire.ssl);
		}
		wait_for(conn, EPOLLIN);
	}
}

/* A head is complete: what is to be read and answered. */
static void begin(struct conn *conn, unsigned head_len)
{
	conn->head[head_len - 1] = 0;
	const char *length = strcasestr(conn->head, "\ncontent-length:");
	conn->to_read = length ? strtoull(length + 16, NULL, 10) : 0;
	conn->to_send = 3;
	if (strncmp(conn->head, "GET /", 5) == 0)
		conn->to_send = strtoull(conn->head + 5, NULL, 10);
	conn->last = strcasestr(conn->head, "\nconnection: close") != NULL;
	conn->reply_len = (unsigned)snprintf(conn->reply, sizeof(conn->reply),
					     "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n%s\r\n",
					     (unsigned long long)conn->to_send,
					     conn->last ? "Connection: close\r\n" : "");
	conn->reply_at = 0;
	/* A short answer leaves with its head, as any server's does. */
	if (conn->to_send <= sizeof(conn->reply) - conn->reply_len) {
		memset(conn->reply + conn->reply_len, 'x', conn->to_send);
		conn->reply_len += (unsigned)conn->to_send;
		conn->to_send = 0;
	}
	unsigned more = conn->have - head_len;
	if (more > conn->to_read)
		fail("a request before its turn");
	conn->to_read -= more;
	conn->have = 0;
	conn->answering = true;
}

/* False: over. */
static bool read_some(struct conn *conn)
{
	static char sink[CHUNK];
	if (conn->answering) {
		size_t want = conn->to_read < sizeof(sink) ? conn->to_read : sizeof(sink);
		ssize_t n = wire_read(&conn->wire, sink, want);
		if (n > 0)
			conn->to_read -= (uint64_t)n;
		return n > 0 || (n < 0 && errno == EAGAIN);
	}
	ssize_t n = wire_read(&conn->wire, conn->head + conn->have,
			      sizeof(conn->head) - 1 - conn->have);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	conn->have += (unsigned)n;
	conn->head[conn->have] = 0;
	char *blank = strstr(conn->head, "\r\n\r\n");
	if (blank)
		begin(conn, (unsigned)(blank - conn->head) + 4);
	return blank || conn->have < sizeof(conn->head) - 1;
}

/* 1: all is written; 0: later; -1: over. */
static int write_some(struct conn *conn)
{
	while (conn->reply_at < conn->reply_len || conn->to_send > 0) {
		bool head = conn->reply_at < conn->reply_len;
		size_t len = conn->to_send < sizeof(bulk) ? conn->to_send : sizeof(bulk);
		ssize_t n = head ? wire_write(&conn->wire, conn->reply + conn->reply_at,
					      conn->reply_len - conn->reply_at)
				 : wire_write(&conn->wire, bulk, len);
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? 0 : -1;
		if (head)
			conn->reply_at += (unsigned)n;
		else
			conn->to_send -= (uint64_t)n;
	}
	return 1;
}

/* Goes on until it would block. */
static void serve(struct conn *conn)
{
	for (;;) {
		while (!conn->answering || conn->to_read > 0) {
			errno = 0;
			if (!read_some(conn)) {
				end(conn);
				return;
			}
			if (errno == EAGAIN) {
				wait_for(conn, EPOLLIN);
				return;
			}
		}
		int done = write_some(conn);
		if (done == 0) {
			wait_for(conn, EPOLLOUT);
			return;
		}
		if (done < 0 || conn->last) {
			end(conn);
			return;
		}
		conn->answering = false;
	}
}

int main(int argc, char **argv)
{
	if (argc < 6 || argc % 3 != 0) {
		fprintf(stderr, "use: net_server CERT KEY ADDRESS PORT plain|tls ...\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	raise_descriptors();
	poller = epoll_create1(EPOLL_CLOEXEC);
	tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	/* Every call is a whole handshake. */
	SSL_CTX_set_num_tickets(tls, 0);
	if (SSL_CTX_use_certificate_file(tls, argv[1], SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_use_PrivateKey_file(tls, argv[2], SSL_FILETYPE_PEM) != 1)
		fail(argv[1]);
	for (int i = 3; i + 2 < argc; i += 3)
		listen_at(argv[i], argv[i + 1], strcmp(argv[i + 2], "tls") == 0);
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event events[256];
		int n = epoll_wait(poller, events, 256, -1);
		if (n < 0 && errno != EINTR)
			fail("epoll_wait");
		for (int i = 0; i < n; i++) {
			struct conn *conn = events[i].data.ptr;
			if (conn->listens)
				take(conn);
			else
				serve(conn);
		}
	}
}
