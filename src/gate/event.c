#include "gate/event.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

struct event_fd {
	uv_poll_t poll;
	int fd;
	int wanted;
	bool broken;
	event_ready *ready;
	void *context;
};

struct event_timer {
	uv_timer_t timer;
	event_due *due;
	void *context;
};

static void free_handle(uv_handle_t *handle)
{
	free(handle->data);
}

/* libuv takes an error for urgent bytes where it comes alone and those are waited for. */
static bool is_error(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLPRI};

	return poll(&pollfd, 1, 0) > 0 && (pollfd.revents & POLLERR);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct event_fd *event = handle->data;

	if (status < 0 || ((events & UV_PRIORITIZED) && is_error(event->fd))) {
		uv_poll_stop(handle);
		event->wanted = 0;
		event->broken = true;
		events = EVENT_BROKEN;
	}
	event->ready(event->context, events);
}

struct event_fd *event_fd_new(uv_loop_t *loop, int fd, event_ready *ready, void *context)
{
	struct event_fd *event = calloc(1, sizeof(*event));

	if (event == NULL) {
		return NULL;
	}
	event->fd = fd;
	event->ready = ready;
	event->context = context;
	/* Fails without having begun to use the handle, so that it need not be closed. */
	if (uv_poll_init(loop, &event->poll, fd) < 0) {
		free(event);
		return NULL;
	}
	event->poll.data = event;
	return event;
}

void event_fd_want(struct event_fd *event, int events)
{
	if (event->broken || event->wanted == events) {
		return;
	}
	event->wanted = events;
	uv_poll_start(&event->poll, events, on_poll);
}

void event_fd_free(struct event_fd *event)
{
	if (event != NULL) {
		uv_close((uv_handle_t *)&event->poll, free_handle);
	}
}

static void on_timer(uv_timer_t *timer)
{
	struct event_timer *event = timer->data;

	event->due(event->context);
}

struct event_timer *event_timer_new(uv_loop_t *loop, event_due *due, void *context)
{
	struct event_timer *event = calloc(1, sizeof(*event));

	if (event == NULL) {
		return NULL;
	}
	uv_timer_init(loop, &event->timer);
	event->timer.data = event;
	event->due = due;
	event->context = context;
	return event;
}

void event_timer_start(struct event_timer *timer, uint64_t ms)
{
	uv_timer_start(&timer->timer, on_timer, ms, 0);
}

void event_timer_stop(struct event_timer *timer)
{
	uv_timer_stop(&timer->timer);
}

void event_timer_free(struct event_timer *timer)
{
	if (timer != NULL) {
		uv_close((uv_handle_t *)&timer->timer, free_handle);
	}
}
