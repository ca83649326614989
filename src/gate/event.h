/* Inside gate/: descriptors and moments waited for. Each watch is memory of its own that frees
 * itself when libuv has let go of it, so that whoever made it may end at any time. */
#ifndef LNK_GATE_EVENT_H
#define LNK_GATE_EVENT_H

#include <uv.h>

/* What a descriptor is ready for: UV_READABLE, UV_WRITABLE, UV_DISCONNECT, UV_PRIORITIZED, and
 * this one when it is broken: the watch has stopped then for good. What was received before can
 * still be read. */
#define EVENT_BROKEN 0x100

struct event_fd;
typedef void event_ready(void *context, int events);

/* Watches `fd` (borrowed; to be closed after event_fd_free) for nothing yet. NULL: memory is out.
 * Source: libuv's uv_poll_t, epoll(7). */
struct event_fd *event_fd_new(uv_loop_t *loop, int fd, event_ready *ready, void *context);
/* Waits for these events from now on; 0: for none. Costs nothing when they are the same. */
void event_fd_want(struct event_fd *event, int events);
/* `ready` will not be called again. NULL is fine. */
void event_fd_free(struct event_fd *event);

struct event_timer;
typedef void event_due(void *context);

/* Calls `due` once after `ms`; 0: when the loop turns, never from inside. NULL: memory is out. */
struct event_timer *event_timer_new(uv_loop_t *loop, event_due *due, void *context);
void event_timer_start(struct event_timer *timer, uint64_t ms);
void event_timer_stop(struct event_timer *timer);
void event_timer_free(struct event_timer *timer);

#endif
