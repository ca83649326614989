/* DNS over TCP, RFC 7766: queries with their length before them, as many at a time as there is room
 * for the answers, which come as they are found. A client that sends what is no query is closed,
 * and so is one that takes its time. */
#include "base/fd.h"
#include "gate/dns.h"
#include "gate/resolver_inner.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 2U
/* An answer with its length. */
#define ANSWER_ROOM (LENGTH + DNS_ANSWER_MAX)

struct client {
	struct ring link;
	struct dns_service *service;
	int fd;
	struct event_fd *event;
	struct event_timer *idle;
	struct ring queries; /* that wait for a look-up */
	unsigned waiting;
	bool busy;  /* steps already: answers that come meanwhile are only put down */
	bool ended; /* it will send no more */
	size_t nin, nout;
	unsigned char in[LENGTH + DNS_QUERY_MAX];
	unsigned char out[TCP_OUT_MAX];
};

static void end_client(struct client *c)
{
	queries_forget(c->service, &c->queries);
	ring_take(&c->link);
	c->service->nclients--;
	event_fd_free(c->event);
	event_timer_free(c->idle);
	fd_close(&c->fd);
	free(c);
}

/* It has done something useful: it is the last to be closed. */
static void progress(struct client *c)
{
	ring_take(&c->link);
	ring_add(&c->service->clients, &c->link);
	event_timer_start(c->idle, TCP_IDLE_MS);
}

/* Every query under way has its room. */
static bool has_room(const struct client *c)
{
	return c->nout + ((size_t)c->waiting + 1) * ANSWER_ROOM <= sizeof(c->out);
}

/* --- answers -------------------------------------------------------------------------------- */

static void step(struct client *c);

static void put_answer(struct client *c, const unsigned char *answer, size_t len)
{
	c->out[c->nout] = (unsigned char)(len >> 8);
	c->out[c->nout + 1] = (unsigned char)len;
	memcpy(c->out + c->nout + LENGTH, answer, len);
	c->nout += LENGTH + len;
}

static void answer_client(const struct asker *asker, const unsigned char *answer, size_t len)
{
	struct client *c = asker->context;

	c->waiting--;
	put_answer(c, answer, len);
	if (!c->busy) {
		step(c);
	}
}

/* False: the client is gone. */
static bool send_answers(struct client *c)
{
	while (c->nout > 0) {
		ssize_t n = send(c->fd, c->out, c->nout, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0) {
			return errno == EAGAIN;
		}
		c->nout -= (size_t)n;
		memmove(c->out, c->out + n, c->nout);
		progress(c);
	}
	return true;
}

/* --- queries -------------------------------------------------------------------------------- */

/* Takes the queries that are complete, while there is room. False: one of them is none. */
static bool take_queries(struct client *c)
{
	size_t at = 0;
	bool ok = true;

	while (ok && has_room(c) && c->nin - at >= LENGTH) {
		const struct asker asker = {
			.answer = answer_client, .context = c, .queries = &c->queries};
		size_t len = (size_t)c->in[at] << 8 | c->in[at + 1];

		if (len > DNS_QUERY_MAX) {
			return false;
		}
		if (c->nin - at < LENGTH + len) {
			break;
		}
		c->waiting++;
		ok = query_take(c->service, c->in + at + LENGTH, len, &asker);
		at += LENGTH + len;
		progress(c);
	}
	c->nin -= at;
	memmove(c->in, c->in + at, c->nin);
	return ok;
}

/* False: the client is gone. */
static bool receive(struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->nin, sizeof(c->in) - c->nin, MSG_DONTWAIT);

	if (n < 0) {
		return errno == EAGAIN;
	}
	c->ended = n == 0;
	c->nin += (size_t)n;
	return true;
}

/* True when there is a place to read to: a query that is complete is taken first. */
static bool may_read(const struct client *c)
{
	return !c->ended && c->nin < sizeof(c->in) && has_room(c);
}

/* Does all that can be done now. Frees the client when it is over. */
static void step(struct client *c)
{
	bool ok;

	c->busy = true;
	do {
		ok = take_queries(c) && send_answers(c);
		/* What was sent may have made room for queries that have come already. */
	} while (ok && c->nout == 0 && has_room(c) && c->nin >= LENGTH &&
		 c->nin - LENGTH >= ((size_t)c->in[0] << 8 | c->in[1]));
	c->busy = false;
	if (!ok || (c->ended && c->nout == 0 && c->waiting == 0)) {
		end_client(c);
		return;
	}
	event_fd_want(c->event, (may_read(c) ? UV_READABLE : 0) | (c->nout > 0 ? UV_WRITABLE : 0));
}

static void on_event(void *context, int events)
{
	struct client *c = context;

	if ((events & EVENT_BROKEN) != 0 || ((events & UV_READABLE) != 0 && !receive(c))) {
		end_client(c);
		return;
	}
	step(c);
}

/* --- clients -------------------------------------------------------------------------------- */

/* A name server outside may take longer, which is not the client's fault. */
static void on_idle(void *context)
{
	struct client *c = context;

	if (c->waiting > 0 && c->nout == 0) {
		event_timer_start(c->idle, TCP_IDLE_MS);
	} else {
		end_client(c);
	}
}

static void begin_client(struct dns_service *service, int fd)
{
	uv_loop_t *loop = service->resolver->config.loop;
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		fd_close(&fd);
		return;
	}
	c->service = service;
	c->fd = fd;
	ring_init(&c->queries);
	ring_add(&service->clients, &c->link);
	service->nclients++;
	c->event = event_fd_new(loop, fd, on_event, c);
	c->idle = event_timer_new(loop, on_idle, c);
	if (c->event == NULL || c->idle == NULL) {
		end_client(c);
		return;
	}
	event_fd_want(c->event, UV_READABLE);
	event_timer_start(c->idle, TCP_IDLE_MS);
}

/* False: there is none. */
static bool end_silent_client(struct dns_service *service)
{
	struct client *c = RING_OWNER(ring_first(&service->clients), struct client, link);

	if (c != NULL) {
		end_client(c);
	}
	return c != NULL;
}

static bool somebody_waits(const struct source *source)
{
	struct pollfd pollfd = {.fd = source->fd, .events = POLLIN};

	return poll(&pollfd, 1, 0) > 0;
}

void tcp_ready(struct source *source)
{
	struct dns_service *service = source->service;

	for (unsigned i = 0; i < TCP_CLIENTS_MAX; i++) {
		int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			if (service->nclients >= TCP_CLIENTS_MAX) {
				end_silent_client(service);
			}
			begin_client(service, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
			   errno == ENOBUFS) {
			/* Calls may have every descriptor; look-ups must go on. accept(2) says so
			 * even when nobody waits: the client that has just come must not end for
			 * that. */
			if (!somebody_waits(source)) {
				return;
			}
			if (!end_silent_client(service)) {
				source_pause(source);
				return;
			}
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

void tcp_end_all(struct dns_service *service)
{
	while (end_silent_client(service)) {
	}
}
