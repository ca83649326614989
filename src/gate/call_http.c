/* Port 80 of [internet], and models: an http session (http.h) between the program and one server
 * after the other. Bytes are looked at where they lie in the kernel, and taken from it only as far
 * as the session takes them: what must wait, waits there. A long body passes unread (splice(2)). */
#include "base/fd.h"
#include "base/testguard.h"
#include "gate/call_inner.h"
#include "gate/models.h"
#include "gate/sock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A look at a socket, and how many of them in one turn of the loop before others have theirs. */
#define PIECE (64UL * 1024UL)
#define TURNS 4
/* A look at so much shows that a body comes in bulk: what follows of it passes by a pipe, as long
 * as a splice brings so much. Below a few pages a copy is cheaper. */
#define BULK_FROM  (16UL * 1024UL)
#define BULK_UNTIL (4UL * 1024UL)

static_assert(2 * PIPED_MAX <= GATE_CALL_LATE, "what waits in a call, both ways");

struct side {
	struct event_fd *event; /* of the server; the program's is call->on_program */
	bool readable;
	bool writable;
	bool urgent; /* has sent urgent bytes, which would be told again and again */
	bool broken; /* a reset: reads tell what is left, then the error */
	/* Of a body that this side sends, on its way to the other one: older than all that is
	 * queued for it, and nothing else is read while it waits. */
	struct piped piped;
	size_t by_pipe; /* in this turn */
	bool bulk;
};

struct call_http {
	struct gate *gate;
	struct call *call; /* gone before this one is, after an upgrade */
	struct http *http;
	struct side program, server;
	bool end_seen;       /* of the program's half; unread bytes may lie before it */
	bool program_ended;  /* no more requests come */
	bool end_passed;     /* and the server knows */
	bool begun;          /* a request's head was judged */
	bool asking;         /* a request is at a server, whose answer is not complete */
	bool heard;          /* something of that answer has come */
	bool deaf;           /* the server takes no more of the request */
	bool cut;            /* an answer ended in the middle */
	bool refusal_told;   /* what was no proper request is in the log */
	bool kept_for_later; /* the timer of CALL_KEPT_MS is running */
	size_t held;         /* models: its part of gate->bodies */
};

static void on_program(void *context, int events);
static void on_server(void *context, int events);

static void set_refusal(struct http_refusal *refusal, unsigned status, const struct verdict *v)
{
	refusal->status = status;
	snprintf(refusal->why, sizeof(refusal->why), "%s", v->why);
	snprintf(refusal->hint, sizeof(refusal->hint), "%s", v->hint);
}

/* --- judging -------------------------------------------------------------------------------- */

/* The Host of a request is the one that was called. False: `v` is the refusal, 421 (RFC 9110
 * section 15.5.20) where the other one is granted too. */
static bool host_fits(const struct call *call, const struct http_request *request,
		      struct verdict *v, unsigned *ret_status)
{
	struct addr addr;
	bool same = call->named ? strcmp(request->host, call->host) == 0
				: addr_parse(request->host, &addr) && addr.v6 == call->addr.v6 &&
					  addr_same_prefix(&addr, &call->addr, addr.v6 ? 128 : 32);

	if ((same && request->port == call->port) || !guard_on("requests")) {
		return true;
	}
	*ret_status = 403;
	policy_call_name(call->gate->policy, request->host, request->port, v);
	if (!same && v->how == GATE_REFUSED) {
		return false;
	}
	*ret_status = 421;
	*v = (struct verdict){.section = call->section};
	snprintf(v->why, sizeof(v->why), "its Host is not the one it was sent to, %.100s",
		 call->host);
	snprintf(v->hint, sizeof(v->hint), "call each host at the address that it is looked up to");
	return false;
}

static void judge_internet(struct call *call, const struct http_request *request,
			   struct http_refusal *refusal)
{
	struct verdict v;
	unsigned status = 0, wait_s = 0;

	if (!host_fits(call, request, &v, &status)) {
		set_refusal(refusal, status, &v);
		call_tell(call, &v, request->host, request->method, request->target);
	} else if (!call_rate(call, &v, &wait_s)) {
		set_refusal(refusal, 429, &v);
		refusal->retry_after = wait_s;
		call_tell(call, &v, NULL, request->method, request->target);
	} else {
		call_tell(call, NULL, NULL, request->method, request->target);
	}
}

static void judge_model(struct call *call, const struct http_request *request,
			struct http_refusal *refusal)
{
	struct verdict v = {.section = call->section};

	if (guard_on("models")) {
		models_judge(request, refusal);
	}
	if (refusal->status != 0) {
		snprintf(v.why, sizeof(v.why), "%.159s", refusal->why);
		snprintf(v.hint, sizeof(v.hint), "%s", refusal->hint);
		call_tell(call, &v, NULL, request->method, request->target);
	} else if (!request->partial) {
		call_tell(call, NULL, NULL, request->method, request->target);
	}
}

static void judge(void *context, const struct http_request *request, struct http_refusal *refusal)
{
	struct call_http *h = context;
	struct call *call = h->call;

	if (!h->begun) {
		h->begun = true;
		call_wait(call, NULL, 0); /* the time for a head */
	}
	if (call->refused != NULL) {
		set_refusal(refusal, 403, call->refused);
	} else if (call->how == GATE_MODEL) {
		judge_model(call, request, refusal);
	} else {
		judge_internet(call, request, refusal);
	}
	h->asking = refusal->status == 0 && !request->partial;
	h->heard = false;
}

/* What was no proper request, of which the judge was not asked. */
static void tell_improper(struct call_http *h)
{
	struct verdict v = {.section = h->call->section};
	const char *why;

	if (!h->refusal_told && http_refused(h->http, &why) != 0) {
		h->refusal_told = true;
		snprintf(v.why, sizeof(v.why), "%s", why);
		call_tell(h->call, &v, NULL, NULL, NULL);
	}
}

/* --- servers come and go -------------------------------------------------------------------- */

static void stop_pipe(struct call_http *h, struct side *from)
{
	piped_end(&from->piped, &h->gate->pipes);
	from->bulk = false;
}

/* What the server has sent for the program is the program's all the same. */
static void drop_server(struct call_http *h, bool reset)
{
	event_fd_free(h->server.event);
	stop_pipe(h, &h->program);
	h->server = (struct side){.piped = h->server.piped};
	h->deaf = false;
	h->end_passed = false;
	if (reset) {
		sock_reset(&h->call->server);
	} else {
		fd_close(&h->call->server);
	}
}

static void explain(const struct call *call, const struct dial_result *result,
		    struct http_refusal *refusal)
{
	const char *what = result->proxy != NULL ? "the proxy of this machine's environment" : "it";
	char *why = refusal->why;
	size_t cap = sizeof(refusal->why);

	refusal->status = result->sys == ETIMEDOUT ? 504 : 502;
	if (result->verdict.how == GATE_REFUSED) {
		set_refusal(refusal, 403, &result->verdict);
	} else if (result->unknown != 0) {
		snprintf(why, cap, "the name %.100s cannot be looked up: %s",
			 result->proxy != NULL ? result->proxy->host : call->host,
			 uv_strerror(result->unknown));
	} else {
		snprintf(why, cap, "%s cannot be reached: %s", what,
			 strerror(result->sys != 0 ? result->sys : EHOSTUNREACH));
	}
}

static void turn(struct call_http *h);

static void on_dialled(void *context, const struct dial_result *result)
{
	struct call *call = context;
	struct call_http *h = call->http;
	struct http_refusal refusal = {0};

	call->dial = NULL;
	call->server = result->fd;
	if (result->fd >= 0) {
		h->server.writable = true;
		h->server.event = event_fd_new(&call->gate->loop, call->server, on_server, call);
		if (h->server.event == NULL) {
			call_end(call, true);
			return;
		}
	} else {
		explain(call, result, &refusal);
		if (result->verdict.how == GATE_REFUSED) {
			call_tell(call, &result->verdict, NULL, NULL, NULL);
		}
		http_refuse(h->http, &refusal);
	}
	turn(h);
}

/* --- bytes ---------------------------------------------------------------------------------- */

static bool waits(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Does something wait to be written that came from this side, or from the session? */
static bool owes(const struct side *from, const struct http_out *out)
{
	return from->piped.n > 0 || out->n > 0;
}

/* Writes what waits. -1: the socket is broken; else whether something went. */
static int write_out(int fd, struct side *side, struct side *from, struct http_out *out)
{
	bool piped = from->piped.n > 0;

	if (!owes(from, out) || !side->writable) {
		return 0;
	}
	ssize_t n = piped ? piped_drain(&from->piped, fd)
			  : send(fd, out->v + out->at, out->n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0) {
		side->writable = false;
		return waits() ? 0 : -1;
	}
	if (!piped) {
		side->writable = (size_t)n == out->n;
		http_written(out, (size_t)n);
	} else {
		side->writable = from->piped.n == 0;
	}
	return 1;
}

/* Looks at what there is to read. Bytes, 0 at the end, -1 with errno. */
static ssize_t look(int fd, struct side *side, unsigned char *buf)
{
	ssize_t n = recv(fd, buf, PIECE, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && waits()) {
		side->readable = side->broken;
	}
	return n;
}

/* Takes off what was looked at, without another copy (MSG_TRUNC, tcp(7)). */
static void took(int fd, struct side *side, size_t taken, size_t seen)
{
	if (taken > 0) {
		recv(fd, NULL, taken, MSG_TRUNC | MSG_DONTWAIT);
	}
	if (taken == seen && seen < PIECE) {
		side->readable = side->broken;
	}
	side->bulk = taken >= BULK_FROM;
}

/* Takes bytes of a body that need not be looked at, `most` at most, for a side that has got all
 * that there was for it. -1: there is no such way now, or no byte: a look will tell why. */
static ssize_t take_unread(struct call_http *h, int fd, struct side *side, uint64_t most)
{
	if (!side->bulk || side->broken || most < BULK_FROM ||
	    !piped_ready(&side->piped, &h->gate->pipes)) {
		return -1;
	}
	ssize_t n = piped_fill(&side->piped, fd, most < PIPED_MAX ? (size_t)most : PIPED_MAX);
	if (n > 0) {
		side->by_pipe += (size_t)n;
		return n;
	}
	/* splice(2) does not step over urgent data, recv(2) does. */
	side->bulk = side->by_pipe >= BULK_UNTIL;
	if (n == 0 || !waits() || side->by_pipe == 0) {
		return -1;
	}
	side->readable = false;
	return 0;
}

/* What the bodies of all calls to models take together is bounded. */
static void count_memory(struct call_http *h)
{
	struct gate *gate = h->gate;
	struct http_refusal full = {.status = 503, .retry_after = 1};
	struct verdict v = {.section = h->call->section};

	gate->bodies -= h->held;
	h->held = http_memory(h->http);
	gate->bodies += h->held;
	if (gate->bodies <= GATE_BODIES_MAX || h->held <= GATE_CALL_LATE || h->asking ||
	    http_state(h->http) != HTTP_GOING) {
		return;
	}
	snprintf(v.why, sizeof(v.why), "other requests to models hold %lu MiB already",
		 GATE_BODIES_MAX >> 20);
	snprintf(v.hint, sizeof(v.hint), "send fewer large ones at once");
	set_refusal(&full, full.status, &v);
	call_tell(h->call, &v, NULL, NULL, NULL);
	http_refuse(h->http, &full);
}

static bool wants_program(const struct call_http *h)
{
	return h->program.piped.n == 0 && http_wants_client(h->http);
}

static bool wants_server(const struct call_http *h)
{
	return h->server.piped.n == 0 && (!h->asking || http_wants_server(h->http));
}

static bool read_program(struct call_http *h)
{
	unsigned char buf[PIECE];
	int fd = h->call->program;

	if (!h->program.readable || h->program_ended || !wants_program(h)) {
		return false;
	}
	if (h->server.writable && http_to_server(h->http)->n == 0 && !h->deaf) {
		ssize_t n = take_unread(h, fd, &h->program, http_unread_client(h->http));

		if (n >= 0) {
			http_passed_client(h->http, (size_t)n);
			return n > 0;
		}
	}
	ssize_t n = look(fd, &h->program, buf);
	if (n > 0) {
		size_t taken = http_from_client(h->http, buf, (size_t)n);

		took(fd, &h->program, taken, (size_t)n);
		tell_improper(h);
		if (h->call->how == GATE_MODEL) {
			count_memory(h);
		}
		return taken > 0;
	}
	if (n == 0) {
		h->program_ended = h->end_seen = true;
		http_client_ended(h->http);
		return true;
	}
	return false;
}

/* The server has ended, or broke off (`reset`). */
static void server_over(struct call_http *h, bool reset)
{
	bool heard = h->heard;

	drop_server(h, false);
	if (!h->asking) {
		return; /* between requests: the next one gets a new server */
	}
	h->asking = false;
	http_server_ended(h->http);
	/* An answer that goes on to the end of the connection is not whole then. */
	h->cut = heard && (reset || http_state(h->http) == HTTP_BROKEN);
}

static bool read_server(struct call_http *h)
{
	unsigned char buf[PIECE];
	int fd = h->call->server;

	if (fd < 0 || !h->server.readable || !wants_server(h)) {
		return false;
	}
	if (h->asking && h->program.writable && http_to_client(h->http)->n == 0) {
		ssize_t n = take_unread(h, fd, &h->server, http_unread_server(h->http));

		if (n >= 0) {
			http_passed_server(h->http, (size_t)n);
			return n > 0;
		}
	}
	ssize_t n = look(fd, &h->server, buf);
	if (n < 0 && waits()) {
		return false;
	}
	if (n <= 0 || !h->asking) {
		/* Bytes that nobody asked for ("408 Request Timeout") are the end as well. */
		server_over(h, n < 0);
		return true;
	}
	size_t taken = http_from_server(h->http, buf, (size_t)n);
	took(fd, &h->server, taken, (size_t)n);
	h->heard = true;
	if (http_state(h->http) == HTTP_BROKEN) {
		h->cut = true;
	} else if (http_idle(h->http)) {
		h->asking = false;
	}
	return taken > 0;
}

/* False: the call is over. */
static bool write_both(struct call_http *h, bool *moved)
{
	struct call *call = h->call;
	struct http_out *out = http_to_server(h->http);
	int n = write_out(call->program, &h->program, &h->server, http_to_client(h->http));

	if (n < 0) {
		call_end(call, true);
		return false;
	}
	*moved = *moved || n > 0;
	if (call->server < 0) {
		return true;
	}
	n = h->deaf ? -1 : write_out(call->server, &h->server, &h->program, out);
	if (n < 0) {
		/* It may have answered all the same, and that is read still. */
		h->deaf = true;
		h->server.readable = true;
		n = owes(&h->program, out);
		stop_pipe(h, &h->program);
		http_written(out, out->n);
	}
	*moved = *moved || n > 0;
	return true;
}

/* --- a turn --------------------------------------------------------------------------------- */

static void upgraded(struct call_http *h)
{
	struct call *call = h->call;
	struct http_out *first = http_to_server(h->http);
	struct http_out *back = http_to_client(h->http);

	call->http = NULL;
	event_fd_free(h->server.event);
	h->server.event = NULL;
	call_relay(call, first->n > 0 ? first->v + first->at : NULL, first->n,
		   back->n > 0 ? back->v + back->at : NULL, back->n);
	call_http_free(h);
}

/* A program that has ended its half while it waits for an answer: the server learns it, as it would
 * without a gate; a model stops thinking. */
static void pass_end(struct call_http *h)
{
	if (h->program_ended && !h->end_passed && h->asking && h->call->server >= 0 &&
	    !owes(&h->program, http_to_server(h->http))) {
		h->end_passed = true;
		shutdown(h->call->server, SHUT_WR);
	}
}

static void kept_too_long(void *context)
{
	call_linger(context, false);
}

/* False: memory is out. */
static bool watch_time(struct call_http *h)
{
	bool keep = h->begun && h->call->server < 0 && h->call->dial == NULL && !h->asking;

	if (keep == h->kept_for_later) {
		return true;
	}
	h->kept_for_later = keep;
	return call_wait(h->call, kept_too_long, keep ? CALL_KEPT_MS : 0);
}

static void want(struct call_http *h)
{
	/* A reset is told to whoever waits for anything at all. */
	int program = h->program.urgent ? 0 : UV_PRIORITIZED;
	int server = h->server.urgent ? 0 : UV_PRIORITIZED;

	if (wants_program(h) && !h->program_ended) {
		program |= UV_READABLE;
	} else if (!h->end_seen) {
		program |= UV_DISCONNECT;
	}
	if (owes(&h->server, http_to_client(h->http))) {
		program |= UV_WRITABLE;
	}
	event_fd_want(h->call->on_program, program);
	if (h->server.event == NULL) {
		return;
	}
	if (wants_server(h)) {
		server |= UV_READABLE;
	}
	if (owes(&h->program, http_to_server(h->http))) {
		server |= UV_WRITABLE;
	}
	event_fd_want(h->server.event, server);
}

/* The session is over, and what is left of it goes to the program. */
static void finish(struct call_http *h)
{
	struct call *call = h->call;
	bool cut = h->cut;

	/* A request that broke off in the middle is not to be taken for whole. */
	drop_server(h, http_state(h->http) == HTTP_BROKEN);
	if (owes(&h->server, http_to_client(h->http))) {
		want(h);
		return;
	}
	call->http = NULL;
	call_http_free(h);
	call_linger(call, cut);
}

/* Others may need them. */
static void give_pipes(struct call_http *h)
{
	if (h->program.piped.n == 0) {
		piped_end(&h->program.piped, &h->gate->pipes);
	}
	if (h->server.piped.n == 0) {
		piped_end(&h->server.piped, &h->gate->pipes);
	}
}

static void settle(struct call_http *h)
{
	struct call *call = h->call;

	switch (http_state(h->http)) {
	case HTTP_RAW:
		upgraded(h);
		return;
	case HTTP_CLOSE:
	case HTTP_BROKEN:
		finish(h);
		return;
	case HTTP_GOING:
		break;
	}
	give_pipes(h);
	pass_end(h);
	if (http_to_server(h->http)->n > 0 && call->server < 0 && call->dial == NULL &&
	    !call_dial(call, on_dialled)) {
		call_end(call, true);
		return;
	}
	if (!watch_time(h)) {
		call_end(call, true);
		return;
	}
	want(h);
}

static void turn(struct call_http *h)
{
	bool moved = true;

	h->program.by_pipe = h->server.by_pipe = 0;
	/* A broken server is told about once only: all that it left is read. */
	for (int i = 0;
	     (i < TURNS || h->server.broken) && moved && http_state(h->http) == HTTP_GOING; i++) {
		moved = read_server(h);
		moved = read_program(h) || moved;
		if (!write_both(h, &moved)) {
			return;
		}
	}
	if (http_state(h->http) != HTTP_GOING && !write_both(h, &moved)) {
		return;
	}
	settle(h);
}

/* --- events --------------------------------------------------------------------------------- */

static void note(struct side *side, int events)
{
	if (events & EVENT_BROKEN) {
		side->broken = side->readable = side->writable = true;
		return;
	}
	side->readable = side->readable || (events & UV_READABLE);
	side->writable = side->writable || (events & UV_WRITABLE);
	side->urgent = side->urgent || (events & UV_PRIORITIZED);
}

/* The program has ended its half while nothing of it is read. What it sent before comes first. */
static void hung_up(struct call_http *h)
{
	unsigned char byte;
	ssize_t n = recv(h->call->program, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	h->end_seen = true;
	if (n == 0) {
		h->program_ended = h->end_seen = true;
		http_client_ended(h->http);
	}
}

static void on_program(void *context, int events)
{
	struct call *call = context;
	struct call_http *h = call->http;

	if (events & EVENT_BROKEN) {
		call_end(call, true);
		return;
	}
	note(&h->program, events);
	if (!(events & UV_READABLE) && (events & UV_DISCONNECT)) {
		hung_up(h);
	}
	turn(h);
}

static void on_server(void *context, int events)
{
	struct call *call = context;

	note(&call->http->server, events);
	turn(call->http);
}

/* --- begin and end -------------------------------------------------------------------------- */

static void no_request(void *context)
{
	struct call *call = context;
	const struct http_refusal late = {.status = 408, .why = "its head did not come in time"};

	if (http_idle(call->http->http)) {
		call_linger(call, false);
		return;
	}
	http_refuse(call->http->http, &late);
	turn(call->http);
}

static struct call_http *http_make(struct call *call)
{
	const struct verdict verdict = {.how = call->how, .section = call->section};
	const struct proxy *proxy = dial_proxy(call->gate, call->host, call->port, &verdict);
	struct call_http *h = calloc(1, sizeof(*h));
	const struct http_config config = {
		.judge = judge,
		.context = h,
		.host = call->how == GATE_MODEL ? "localhost" : call->host,
		.port = call->port,
		.model = call->how == GATE_MODEL,
		.absolute = proxy != NULL,
		.proxy_authorization = proxy != NULL ? proxy->authorization : NULL,
	};

	if (h != NULL) {
		h->gate = call->gate;
		h->call = call;
		h->program = (struct side){.writable = true, .piped = PIPED_NONE};
		h->server = (struct side){.piped = PIPED_NONE};
		h->http = http_new(&config);
	}
	return h;
}

void call_http_start(struct call *call)
{
	call->http = http_make(call);
	if (call->http == NULL || call->http->http == NULL ||
	    !call_wait(call, no_request, GATE_FIRST_MS) ||
	    !call_watch(call, on_program, UV_READABLE)) {
		call_end(call, true);
	}
}

void call_http_free(struct call_http *http)
{
	if (http != NULL) {
		http->gate->bodies -= http->held;
		piped_end(&http->program.piped, &http->gate->pipes);
		piped_end(&http->server.piped, &http->gate->pipes);
		event_fd_free(http->server.event);
		http_free(http->http);
		free(http);
	}
}
