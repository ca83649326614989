/* CONNECT to the upstream proxy. The proxy is the user's own; what the server sends behind the
 * proxy's answer stays in the socket for whoever reads next. */
#include "gate/dial_inner.h"
#include "gate/event.h"
#include "gate/sock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* The head of the proxy's answer; a longer one is refused by upstream_connect_answer. */
#define ANSWER_MAX (17UL * 1024UL)

struct tunnel {
	int fd;
	struct event_fd *event;
	size_t ask_at, ask_len;
	size_t answer_len;
	tunnel_done *done;
	void *context;
	char ask[UPSTREAM_CONNECT_MAX];
	char answer[ANSWER_MAX];
};

static void fail(struct tunnel *t, unsigned status, int sys)
{
	event_fd_want(t->event, 0);
	t->done(t->context, false, status, sys);
}

static void send_request(struct tunnel *t)
{
	ssize_t n = send(t->fd, t->ask + t->ask_at, t->ask_len - t->ask_at, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN) {
		fail(t, 0, errno);
		return;
	}
	t->ask_at += n > 0 ? (size_t)n : 0;
	event_fd_want(t->event, t->ask_at < t->ask_len ? UV_WRITABLE : UV_READABLE);
}

/* Looks at what has come, and takes off no more than the answer's head. False: it is over. */
static bool read_answer(struct tunnel *t)
{
	unsigned status = 0;
	ssize_t n =
		recv(t->fd, t->answer + t->answer_len, sizeof(t->answer) - t->answer_len, MSG_PEEK);

	if (n < 0 && errno == EAGAIN) {
		return true;
	}
	if (n <= 0) {
		fail(t, 0, n < 0 ? errno : 0);
		return false;
	}
	long head = upstream_connect_answer(t->answer, t->answer_len + (size_t)n, &status);
	size_t used = head > 0 ? (size_t)head - t->answer_len : (size_t)n;
	n = recv(t->fd, t->answer + t->answer_len, used, 0);
	t->answer_len += used;
	if (head < 0 || n != (ssize_t)used || (head == 0 && t->answer_len == sizeof(t->answer))) {
		fail(t, status, 0);
		return false;
	}
	if (head > 0) {
		event_fd_want(t->event, 0);
		t->done(t->context, true, status, 0);
		return false;
	}
	return true;
}

static void on_ready(void *context, int events)
{
	struct tunnel *t = context;

	if (t->ask_at < t->ask_len && !(events & EVENT_BROKEN)) {
		send_request(t);
	} else if (read_answer(t) && (events & EVENT_BROKEN)) {
		/* Half an answer, and a reset behind it. */
		fail(t, 0, sock_error(t->fd));
	}
}

struct tunnel *tunnel_start(uv_loop_t *loop, int fd, const struct proxy *proxy, const char *host,
			    uint16_t port, tunnel_done *done, void *context)
{
	struct tunnel *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		return NULL;
	}
	t->fd = fd;
	t->done = done;
	t->context = context;
	t->ask_len = upstream_connect_request(proxy, host, port, t->ask);
	t->event = event_fd_new(loop, fd, on_ready, t);
	if (t->ask_len == 0 || t->event == NULL) {
		tunnel_free(t);
		return NULL;
	}
	event_fd_want(t->event, UV_WRITABLE);
	return t;
}

void tunnel_free(struct tunnel *tunnel)
{
	if (tunnel != NULL) {
		event_fd_free(tunnel->event);
		free(tunnel);
	}
}
