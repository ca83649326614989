/* Two flows, one each way. A flow reads from one socket only when everything it has read before is
 * written to the other: what waits is at most one piece. */
#include "gate/relay.h"

#include "gate/event.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A read that is copied. */
#define COPY_MAX (64UL * 1024UL)
/* A read of so much shows that a flow is in bulk; a turn of less that it is no more. Below a few
 * pages a copy is cheaper than a pipe. */
#define BULK_FROM  (16UL * 1024UL)
#define BULK_UNTIL (4UL * 1024UL)

static_assert(2 * PIPED_MAX <= GATE_CALL_LATE, "what waits in a call, both ways");

struct flow {
	uint64_t passed;
	unsigned char *held; /* copied, not written yet */
	size_t held_at, held_n;
	struct piped piped;
	bool bulk;
	bool ended; /* nothing more comes */
	bool shut;  /* nothing more goes: the end is passed on, or cannot be */
};

struct end {
	struct relay *relay;
	int fd;
	struct event_fd *event;
	bool broken; /* reads tell what is left, then the error: no need to wait for them */
	bool urgent; /* has sent urgent bytes, which would be told again and again */
};

struct relay {
	struct gate *gate;
	struct end end[2];
	struct flow flow[2];       /* from end[i] to end[1 - i] */
	struct event_timer *drain; /* running when an end is broken, and its bytes still pass */
	uint64_t drained;          /* bytes passed when it was started */
	int sys;
	bool finished;
	relay_done *done;
	void *context;
};

enum step {
	STEP_ON,    /* something was moved */
	STEP_WAIT,  /* nothing to read, or no room to write */
	STEP_BROKEN /* errno says why */
};

static bool waits(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static bool holds(const struct flow *f)
{
	return f->held_n > 0 || f->piped.n > 0;
}

static void drop_held(struct flow *f)
{
	free(f->held);
	f->held = NULL;
	f->held_at = f->held_n = 0;
}

static void close_flow(struct relay *r, struct flow *f)
{
	f->shut = true;
	drop_held(f);
	piped_end(&f->piped, &r->gate->pipes);
}

static bool hold(struct flow *f, const void *bytes, size_t n)
{
	if (n == 0) {
		return true;
	}
	f->held = malloc(n);
	if (f->held == NULL) {
		errno = ENOMEM;
		return false;
	}
	memcpy(f->held, bytes, n);
	f->held_at = 0;
	f->held_n = n;
	return true;
}

/* Writes what waits. */
static enum step put(struct flow *f, int to)
{
	bool piped = f->piped.n > 0;
	ssize_t n = piped ? piped_drain(&f->piped, to)
			  : send(to, f->held + f->held_at, f->held_n, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n <= 0) {
		return n < 0 && !waits() ? STEP_BROKEN : STEP_WAIT;
	}
	f->passed += (uint64_t)n;
	if (!piped) {
		f->held_at += (size_t)n;
		f->held_n -= (size_t)n;
		if (f->held_n == 0) {
			drop_held(f);
		}
	}
	return STEP_ON;
}

/* Reads a piece and writes what goes at once. STEP_BROKEN: `*ret_reading` tells which of both. */
static enum step copy(struct flow *f, int from, int to, bool *ret_reading)
{
	unsigned char buf[COPY_MAX];
	ssize_t n = recv(from, buf, sizeof(buf), MSG_DONTWAIT);

	*ret_reading = true;
	if (n < 0) {
		return waits() ? STEP_WAIT : STEP_BROKEN;
	}
	if (n == 0) {
		f->ended = true;
		return STEP_ON;
	}
	if ((size_t)n >= BULK_FROM) {
		f->bulk = true;
	}
	*ret_reading = false;
	ssize_t written = send(to, buf, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (written < 0 && !waits()) {
		return STEP_BROKEN;
	}
	size_t done = written > 0 ? (size_t)written : 0;
	f->passed += done;
	return hold(f, buf + done, (size_t)n - done) ? STEP_ON : STEP_BROKEN;
}

static enum step take_by_pipe(struct flow *f, int from)
{
	ssize_t n = piped_fill(&f->piped, from, PIPED_MAX);

	if (n < 0) {
		return waits() ? STEP_WAIT : STEP_BROKEN;
	}
	if (n == 0) {
		f->ended = true;
	}
	return STEP_ON;
}

static bool has_pipe(struct relay *r, struct flow *f)
{
	return f->piped.pipe[0] >= 0 || (f->bulk && piped_ready(&f->piped, &r->gate->pipes));
}

/* One step of a flow. */
static enum step step(struct relay *r, int i, bool moved, bool *ret_reading)
{
	struct flow *f = &r->flow[i];
	int from = r->end[i].fd;
	int to = r->end[1 - i].fd;

	*ret_reading = false;
	if (holds(f)) {
		return put(f, to);
	}
	if (f->ended) {
		shutdown(to, SHUT_WR);
		close_flow(r, f);
		return STEP_ON;
	}
	if (has_pipe(r, f)) {
		*ret_reading = true;
		enum step s = take_by_pipe(f, from);
		/* splice(2) does not step over urgent data, recv(2) does. */
		if (s != STEP_WAIT || moved) {
			return s;
		}
	}
	return copy(f, from, to, ret_reading);
}

static void broke(struct relay *r, int i, int sys, bool reading)
{
	if (r->sys == 0) {
		r->sys = sys != 0 ? sys : ECONNRESET;
	}
	close_flow(r, &r->flow[i]);
	/* What the one that takes no more bytes has said before still reaches the other; what
	 * would go to the one that sent a reset does not. */
	if (reading) {
		close_flow(r, &r->flow[1 - i]);
	}
}

/* Moves bytes from end i to the other one. */
static void pump(struct relay *r, int i)
{
	struct flow *f = &r->flow[i];
	uint64_t until = f->passed + RELAY_TURN;
	uint64_t begin = f->passed;
	enum step s = STEP_ON;
	bool reading = false;

	while (!f->shut && s == STEP_ON && (f->passed < until || r->end[i].broken)) {
		s = step(r, i, f->passed > begin, &reading);
	}
	if (s == STEP_BROKEN) {
		broke(r, i, errno, reading);
	} else if (s == STEP_WAIT && r->end[i].broken && !holds(f)) {
		broke(r, i, ECONNRESET, true);
	}
	if (!holds(f)) {
		piped_end(&f->piped, &r->gate->pipes);
	}
	if (f->passed - begin < BULK_UNTIL) {
		f->bulk = false;
	}
}

static void want(struct relay *r, int i)
{
	struct end *end = &r->end[i];
	const struct flow *out = &r->flow[i];
	const struct flow *in = &r->flow[1 - i];
	/* A reset is told to whoever waits for anything at all. */
	int events = end->urgent ? 0 : UV_PRIORITIZED;

	if (!out->shut && !out->ended && !holds(out)) {
		events |= UV_READABLE;
	}
	if (!in->shut && (holds(in) || in->ended)) {
		events |= UV_WRITABLE;
	}
	event_fd_want(end->event, events);
}

static void settle(struct relay *r);

static uint64_t passed(const struct relay *r)
{
	return r->flow[0].passed + r->flow[1].passed;
}

static void on_drain(void *context)
{
	struct relay *r = context;

	if (r->finished) {
		return;
	}
	if (passed(r) == r->drained) {
		broke(r, 0, ECONNRESET, true);
		settle(r);
		return;
	}
	r->drained = passed(r);
	event_timer_start(r->drain, RELAY_DRAIN_MS);
}

/* What a broken end has sent before is passed on only as long as it is read. */
static bool drain(struct relay *r)
{
	if ((!r->end[0].broken && !r->end[1].broken) || r->drain != NULL) {
		return true;
	}
	r->drain = event_timer_new(&r->gate->loop, on_drain, r);
	if (r->drain == NULL) {
		return false;
	}
	r->drained = passed(r);
	event_timer_start(r->drain, RELAY_DRAIN_MS);
	return true;
}

static void settle(struct relay *r)
{
	if (!drain(r)) {
		broke(r, 0, ENOMEM, true);
	}

	if (r->flow[0].shut && r->flow[1].shut) {
		event_timer_free(r->drain);
		r->drain = NULL;
		r->finished = true;
		event_fd_want(r->end[0].event, 0);
		event_fd_want(r->end[1].event, 0);
		r->done(r->context, r->sys);
		return;
	}
	want(r, 0);
	want(r, 1);
}

static void on_ready(void *context, int events)
{
	struct end *end = context;
	struct relay *r = end->relay;
	int i = end == &r->end[0] ? 0 : 1;

	if (r->finished) {
		return;
	}
	if (events & EVENT_BROKEN) {
		end->broken = true;
	} else if (events & UV_PRIORITIZED) {
		end->urgent = true;
	}
	if (events & (UV_READABLE | EVENT_BROKEN)) {
		pump(r, i);
	}
	if (events & (UV_WRITABLE | EVENT_BROKEN)) {
		pump(r, 1 - i);
	}
	settle(r);
}

struct relay *relay_start(struct gate *gate, int a, int b, const void *first, size_t len,
			  const void *first_back, size_t len_back, relay_done *done, void *context)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		return NULL;
	}
	*r = (struct relay){
		.gate = gate,
		.end = {{.relay = r, .fd = a}, {.relay = r, .fd = b}},
		.flow = {{.piped = PIPED_NONE}, {.piped = PIPED_NONE}},
		.done = done,
		.context = context,
	};
	for (int i = 0; i < 2; i++) {
		r->end[i].event = event_fd_new(&gate->loop, r->end[i].fd, on_ready, &r->end[i]);
	}
	if (r->end[0].event == NULL || r->end[1].event == NULL || !hold(&r->flow[0], first, len) ||
	    !hold(&r->flow[1], first_back, len_back)) {
		relay_stop(r);
		return NULL;
	}
	want(r, 0);
	want(r, 1);
	return r;
}

void relay_stop(struct relay *relay)
{
	if (relay == NULL) {
		return;
	}
	event_timer_free(relay->drain);
	for (int i = 0; i < 2; i++) {
		event_fd_free(relay->end[i].event);
		close_flow(relay, &relay->flow[i]);
	}
	free(relay);
}

void relay_counts(const struct relay *relay, uint64_t *ret_sent, uint64_t *ret_received)
{
	*ret_sent = relay->flow[0].passed;
	*ret_received = relay->flow[1].passed;
}
