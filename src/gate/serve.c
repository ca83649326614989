/* Job: everything that the gate's loop waits for by itself: control, door, and the socket where
 * the program's calls arrive. The door's other end is init, the control's is the supervisor: both
 * are lnk's own and out of the program's reach. */
#include "gate/serve.h"

#include "base/fd.h"
#include "base/pass.h"
#include "gate/acceptor.h"
#include "gate/call.h"
#include "gate/control.h"
#include "plan/door.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>

/* So many calls at one time leave the heap in pieces; when all of them are over, what they had goes
 * back to the system. */
#define MANY_CALLS 256
#define TIDY_MS    2000

struct server {
	struct gate *gate;
	struct publish *publish;
	struct err *err;
	struct acceptor calls;
	uv_poll_t control, door;
	uv_timer_t tidy;
	bool started; /* the listeners have come */
	bool many;    /* since memory was tidied */
	bool ok;
};

static void stop(struct server *s, bool ok)
{
	s->ok = ok;
	uv_stop(&s->gate->loop);
}

/* --- calls -------------------------------------------------------------------------------- */

static bool room(void *context)
{
	const struct gate *gate = ((struct server *)context)->gate;

	return gate->ncalls < gate->max_calls;
}

static void on_tidy(uv_timer_t *timer)
{
	struct server *s = timer->data;

	if (s->many && s->gate->ncalls == 0) {
		s->many = false;
		uv_timer_stop(&s->tidy);
		malloc_trim(0);
	}
}

static void take(void *context, int fd)
{
	struct server *s = context;

	call_accept(s->gate, fd);
	if (s->gate->ncalls >= MANY_CALLS && !s->many) {
		s->many = true;
		uv_timer_start(&s->tidy, on_tidy, TIDY_MS, TIDY_MS);
	}
}

/* --- the door ----------------------------------------------------------------------------- */

static bool start_resolver(struct server *s, int fds[DOOR_FDS])
{
	const struct upstream *up = &s->gate->upstream;
	const struct resolver_config config = {.loop = &s->gate->loop,
					       .policy = s->gate->policy,
					       .names = s->gate->names,
					       .decisions = s->gate->decisions,
					       .udp4 = fds[DOOR_UDP4],
					       .udp6 = fds[DOOR_UDP6],
					       .tcp4 = fds[DOOR_DNS4],
					       .tcp6 = fds[DOOR_DNS6],
					       .proxied = s->gate->ask || up->https != NULL ||
							  up->http != NULL};

	s->gate->resolver = resolver_start(&config);
	return s->gate->resolver != NULL;
}

static bool start(struct server *s, int fds[DOOR_FDS])
{
	const unsigned char ready = DOOR_READY;

	s->started = true;
	s->calls.room = room;
	s->calls.take = take;
	s->calls.context = s;
	if (!start_resolver(s, fds) || !acceptor_start(&s->calls, &s->gate->loop, fds[DOOR_TCP])) {
		return err_set(s->err, ERR_SETUP, ENOMEM, "the gate cannot serve its sockets");
	}
	publish_serve(s->publish, s->gate);
	/* A failure shows as the closed door. */
	pass_send(s->gate->door, &ready, sizeof(ready), NULL, 0);
	return true;
}

/* The sandbox is gone, or about to be; the supervisor will say so. */
static void close_door(struct server *s)
{
	uv_poll_stop(&s->door);
	publish_end(s->publish);
}

/* False: nothing that init says. */
static bool obey_init(struct server *s, unsigned char message, int *fds, size_t nfds)
{
	if (message == DOOR_LISTENERS && !s->started && (nfds == DOOR_FDS || nfds == DOOR_UDP6)) {
		if (!start(s, fds)) {
			stop(s, false);
		}
		return true;
	}
	if (message == DOOR_SOCKET && nfds == 1) {
		return publish_answer(s->publish, fds[0]);
	}
	return message == DOOR_NONE && nfds == 0 && publish_answer(s->publish, -1);
}

static void on_door(uv_poll_t *poll, int status, int events)
{
	struct server *s = poll->data;
	int fds[DOOR_FDS] = {-1, -1, -1, -1, -1};
	unsigned char message;
	size_t nfds;
	ssize_t n = pass_receive(s->gate->door, &message, sizeof(message), fds, DOOR_FDS, &nfds);

	(void)status;
	(void)events;
	if (n < 0 && errno == EAGAIN) {
		return;
	}
	/* No descriptor was left for the socket that came. */
	bool cut = n < 0 && errno == EBADMSG && s->started && publish_answer(s->publish, -1);
	if (!cut && (n != sizeof(message) || !obey_init(s, message, fds, nfds))) {
		close_door(s);
	}
}

/* --- control ------------------------------------------------------------------------------ */

static void send_report(struct server *s)
{
	struct gate_refusal refusals[GATE_REFUSALS_MAX];
	struct control msg = {.kind = CONTROL_REFUSAL};
	uint32_t n = decisions_report(s->gate->decisions, refusals, &msg.more);
	uint32_t more = msg.more;

	/* Nothing else is left to do while the supervisor reads. */
	fcntl(CONTROL_FD, F_SETFL, 0);
	msg.more = 0;
	for (uint32_t i = 0; i < n; i++) {
		msg.u.refusal = refusals[i];
		if (!pass_send(CONTROL_FD, &msg, control_len(msg.kind), NULL, 0)) {
			return;
		}
	}
	msg.kind = CONTROL_REPORTED;
	msg.more = more;
	msg.lost = decisions_lost(s->gate->decisions);
	pass_send(CONTROL_FD, &msg, control_len(msg.kind), NULL, 0);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	struct server *s = poll->data;
	struct control msg;
	size_t nfds;
	ssize_t n = pass_receive(CONTROL_FD, &msg, sizeof(msg), NULL, 0, &nfds);

	(void)status;
	(void)events;
	if (n < 0 && errno == EAGAIN) {
		return;
	}
	if (n == (ssize_t)control_len(CONTROL_END) && msg.kind == CONTROL_END) {
		/* They are told to the log with the bytes they had. */
		call_end_all(s->gate);
		send_report(s);
	}
	stop(s, true);
}

bool serve(struct gate *gate, struct publish *publish, struct err *err)
{
	struct server s = {.gate = gate, .publish = publish, .err = err};
	uv_loop_t *loop = &gate->loop;

	if (uv_timer_init(loop, &s.tidy) < 0 || uv_poll_init(loop, &s.control, CONTROL_FD) < 0 ||
	    uv_poll_init(loop, &s.door, gate->door) < 0 ||
	    uv_poll_start(&s.control, UV_READABLE, on_control) < 0 ||
	    uv_poll_start(&s.door, UV_READABLE, on_door) < 0) {
		return err_set(err, ERR_SETUP, errno, "the gate cannot wait for its sockets");
	}
	s.tidy.data = &s;
	s.control.data = &s;
	s.door.data = &s;
	uv_run(loop, UV_RUN_DEFAULT);
	return s.ok;
}
