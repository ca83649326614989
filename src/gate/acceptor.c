#include "gate/acceptor.h"

#include "base/fd.h"

#include <errno.h>
#include <sys/socket.h>

/* Connections taken in one go, before others of the loop have their turn. */
#define BURST 64
/* How long those that find no room wait before it is looked for again. */
#define AGAIN_MS 5

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_time(uv_timer_t *timer)
{
	struct acceptor *a = timer->data;

	uv_poll_start(&a->poll, UV_READABLE, on_readable);
}

/* Level-triggered: it would wake the loop for as long as somebody waits. */
static void pause_for_a_while(struct acceptor *a)
{
	uv_poll_stop(&a->poll);
	uv_timer_start(&a->again, on_time, AGAIN_MS, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct acceptor *a = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < BURST && a->fd >= 0; i++) {
		if (!a->room(a->context)) {
			pause_for_a_while(a);
			return;
		}
		int fd = accept4(a->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			a->take(a->context, fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			pause_for_a_while(a);
			return;
		}
		/* Anything else is about the one connection, which is gone: accept(2). */
	}
}

bool acceptor_start(struct acceptor *acceptor, uv_loop_t *loop, int fd)
{
	acceptor->fd = fd;
	if (uv_timer_init(loop, &acceptor->again) < 0 ||
	    uv_poll_init(loop, &acceptor->poll, fd) < 0) {
		return false;
	}
	acceptor->again.data = acceptor;
	acceptor->poll.data = acceptor;
	return uv_poll_start(&acceptor->poll, UV_READABLE, on_readable) == 0;
}

void acceptor_stop(struct acceptor *acceptor)
{
	if (acceptor->fd >= 0) {
		uv_timer_stop(&acceptor->again);
		uv_poll_stop(&acceptor->poll);
		fd_close(&acceptor->fd);
	}
}
