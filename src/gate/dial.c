/* Who is dialled is decided here once more, from the addresses that the look-up gives at this
 * moment, and those very addresses are dialled: an answer that changes in between changes nothing.
 * Servers and proxies are strangers; nothing they say is taken for more than an answer. */
#include "gate/dial.h"

#include "base/fd.h"
#include "base/testguard.h"
#include "gate/address.h"
#include "gate/dial_inner.h"
#include "gate/event.h"
#include "gate/sock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct attempt {
	struct dial *dial;
	int fd; /* -1: free */
	struct event_fd *event;
	uint64_t since_ms;
};

struct dial {
	struct gate *gate;
	bool named;
	char host[HOST_MAX]; /* the name, or the text of the address */
	struct addr addr;
	uint16_t port;
	enum gate_how how;
	enum gate_section section;

	struct addr to[RESOLVED_MAX];
	unsigned nto, next;
	uint16_t to_port;
	struct attempt attempt[DIAL_AT_ONCE];
	struct tunnel *tunnel;
	int fd; /* connected, while the tunnel is opened */

	struct event_timer *turn; /* the next address is due, or `done` */
	struct event_timer *over;
	bool starting, looking_up, finished;
	struct dial_result result;
	dial_done *done;
	void *context;
};

/* --- which addresses ---------------------------------------------------------------------- */

/* The verdict on one address of a name. */
static void judge(const struct gate *gate, const char *name, uint16_t port, const struct addr *addr,
		  struct verdict *v)
{
	policy_address(gate->policy, name, port, addr, v);
	if (v->how != GATE_REFUSED && guard_on("addresses") && address_is_own(gate->routes, addr)) {
		policy_refuse_own(gate->policy, name, port, addr, v);
	}
}

void dial_judge(const struct gate *gate, const char *name, uint16_t port,
		const struct resolved *resolved, const struct verdict *granted,
		struct verdict *ret_verdict)
{
	struct verdict v, other = {0}, refused = {0};
	bool has_other = false, has_refused = false;

	for (unsigned i = 0; i < resolved->n; i++) {
		judge(gate, name, port, &resolved->v[i], &v);
		if (v.how == GATE_REFUSED) {
			refused = has_refused ? refused : v;
			has_refused = true;
		} else if (v.section == granted->section) {
			*ret_verdict = v;
			return;
		} else if (!has_other) {
			other = v;
			has_other = true;
		}
	}
	*ret_verdict = has_other ? other : has_refused ? refused : *granted;
}

const struct proxy *dial_proxy(const struct gate *gate, const char *host, uint16_t port,
			       const struct verdict *verdict)
{
	return verdict->section == GATE_INTERNET
		       ? upstream_for(&gate->upstream, verdict->how == GATE_HTTP, host, port)
		       : NULL;
}

/* The families in turn, the first address's first (RFC 8305 section 4). */
static void interleave(struct dial *d)
{
	struct addr sorted[RESOLVED_MAX] = {0};
	bool used[RESOLVED_MAX] = {false};
	bool v6 = d->nto > 0 && d->to[0].v6;

	for (unsigned n = 0; n < d->nto; n++) {
		unsigned pick = 0;

		while (used[pick]) {
			pick++;
		}
		for (unsigned i = pick; i < d->nto; i++) {
			if (!used[i] && d->to[i].v6 == v6) {
				pick = i;
				break;
			}
		}
		used[pick] = true;
		sorted[n] = d->to[pick];
		v6 = !sorted[n].v6;
	}
	memcpy(d->to, sorted, d->nto * sizeof(sorted[0]));
}

/* --- the end ------------------------------------------------------------------------------ */

static void drop_attempt(struct attempt *a)
{
	event_fd_free(a->event);
	a->event = NULL;
	fd_close(&a->fd);
}

static void drop_attempts(struct dial *d)
{
	for (unsigned i = 0; i < DIAL_AT_ONCE; i++) {
		drop_attempt(&d->attempt[i]);
	}
}

static void dial_free(struct dial *d)
{
	if (d->looking_up) {
		resolver_forget(d->gate->resolver, d);
	}
	drop_attempts(d);
	tunnel_free(d->tunnel);
	fd_close(&d->fd);
	event_timer_free(d->turn);
	event_timer_free(d->over);
	free(d);
}

static void deliver(struct dial *d)
{
	struct dial_result result = d->result;
	dial_done *done = d->done;
	void *context = d->context;

	dial_free(d);
	done(context, &result);
}

/* `fd` -1: failed, the result says why. */
static void finish(struct dial *d, int fd)
{
	d->result.fd = fd;
	d->finished = true;
	drop_attempts(d);
	event_timer_stop(d->over);
	if (d->starting) {
		event_timer_start(d->turn, 0);
	} else {
		deliver(d);
	}
}

static void finish_sys(struct dial *d, int sys)
{
	if (d->result.sys == 0) {
		d->result.sys = sys;
	}
	finish(d, -1);
}

/* --- the tunnel --------------------------------------------------------------------------- */

static void on_tunnel(void *context, bool ok, unsigned status, int sys)
{
	struct dial *d = context;

	tunnel_free(d->tunnel);
	d->tunnel = NULL;
	if (ok) {
		finish(d, fd_take(&d->fd));
		return;
	}
	d->result.tunnel = true;
	d->result.proxy_status = status;
	d->result.sys = sys;
	finish(d, -1);
}

static void connected(struct dial *d, int fd)
{
	if (d->result.proxy == NULL || d->how == GATE_HTTP) {
		finish(d, fd);
		return;
	}
	d->fd = fd;
	drop_attempts(d);
	event_timer_stop(d->turn);
	d->tunnel =
		tunnel_start(&d->gate->loop, fd, d->result.proxy, d->host, d->port, on_tunnel, d);
	if (d->tunnel == NULL) {
		finish_sys(d, ENOMEM);
	}
}

/* --- connecting --------------------------------------------------------------------------- */

static void connect_next(struct dial *d);

/* A connection to a closed port of the range that the kernel takes ports from may meet itself. */
static bool is_itself(int fd)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 && own_len == peer_len &&
	       memcmp(&own, &peer, own_len) == 0;
}

static void on_attempt(void *context, int events)
{
	struct attempt *a = context;
	struct dial *d = a->dial;
	int sys = sock_error(a->fd);

	if (sys == 0 && ((events & EVENT_BROKEN) || is_itself(a->fd))) {
		sys = ECONNREFUSED;
	}
	if (sys == 0) {
		int fd = fd_take(&a->fd);

		event_fd_free(a->event);
		a->event = NULL;
		connected(d, fd);
		return;
	}
	d->result.sys = sys;
	drop_attempt(a);
	connect_next(d);
}

/* False: errno says why. */
static bool attempt_start(struct attempt *a, const struct addr *addr, uint16_t port)
{
	struct sockaddr_storage sa;
	socklen_t len = address_to_sockaddr(addr, port, &sa);

	a->fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0) {
		return false;
	}
	sock_prepare(a->fd);
	if (connect(a->fd, (const struct sockaddr *)&sa, len) < 0 && errno != EINPROGRESS) {
		return false;
	}
	a->event = event_fd_new(&a->dial->gate->loop, a->fd, on_attempt, a);
	if (a->event == NULL) {
		errno = ENOMEM;
		return false;
	}
	a->since_ms = uv_now(&a->dial->gate->loop);
	event_fd_want(a->event, UV_WRITABLE);
	return true;
}

/* A slot for one more: a free one, or the oldest; `ret_under_way` counts the others. */
static struct attempt *slot(struct dial *d, unsigned *ret_under_way)
{
	struct attempt *best = &d->attempt[0];
	unsigned n = 0;

	for (unsigned i = 0; i < DIAL_AT_ONCE; i++) {
		struct attempt *a = &d->attempt[i];

		n += a->fd >= 0;
		if (best->fd >= 0 && (a->fd < 0 || a->since_ms < best->since_ms)) {
			best = a;
		}
	}
	*ret_under_way = n;
	return best;
}

/* Starts the next attempt that can be started; the result is "failed" when none is under way. */
static void connect_next(struct dial *d)
{
	unsigned under_way;
	struct attempt *a = slot(d, &under_way);

	while (d->next < d->nto) {
		drop_attempt(a);
		if (attempt_start(a, &d->to[d->next++], d->to_port)) {
			slot(d, &under_way);
			if (d->next < d->nto) {
				event_timer_start(d->turn, under_way < DIAL_AT_ONCE ? DIAL_NEXT_MS
										    : DIAL_LONG_MS);
			}
			return;
		}
		d->result.sys = errno;
		drop_attempt(a);
	}
	slot(d, &under_way);
	if (under_way == 0) {
		finish(d, -1);
	}
}

static void on_turn(void *context)
{
	struct dial *d = context;

	if (d->finished) {
		deliver(d);
	} else {
		connect_next(d);
	}
}

static void on_over(void *context)
{
	finish_sys(context, ETIMEDOUT);
}

/* --- looking up --------------------------------------------------------------------------- */

static void on_resolved(void *context, const struct resolved *resolved)
{
	struct dial *d = context;
	struct verdict v;

	d->looking_up = false;
	for (unsigned i = 0; i < resolved->n; i++) {
		/* The proxy is the user's own choice, wherever it is. */
		if (d->result.proxy == NULL) {
			judge(d->gate, d->host, d->port, &resolved->v[i], &v);
			if (v.how == GATE_REFUSED && d->nto == 0) {
				d->result.verdict = v;
			}
			if (v.how == GATE_REFUSED || v.section != d->section) {
				continue;
			}
			d->result.verdict = v;
		}
		d->to[d->nto++] = resolved->v[i];
	}
	if (d->nto == 0) {
		d->result.unknown = resolved->n == 0 ? resolved->status : 0;
		finish_sys(d, EHOSTUNREACH);
		return;
	}
	interleave(d);
	connect_next(d);
}

static void look_up(struct dial *d)
{
	const struct proxy *proxy = d->result.proxy;

	d->to_port = proxy != NULL ? proxy->port : d->port;
	if (d->section == GATE_LOCALHOST) {
		const struct addr home4 = {.b = {127, 0, 0, 1}};
		const struct addr home6 = {.v6 = true, .b = {[15] = 1}};

		d->to[d->addr.v6 ? 1 : 0] = home4;
		d->to[d->addr.v6 ? 0 : 1] = home6;
		d->nto = 2;
	} else if (proxy != NULL ? addr_parse(proxy->host, &d->to[0]) : !d->named) {
		d->to[0] = proxy != NULL ? d->to[0] : d->addr;
		d->nto = 1;
	}
	if (d->nto > 0) {
		connect_next(d);
	} else {
		d->looking_up = true;
		resolver_look_up(d->gate->resolver, proxy != NULL ? proxy->host : d->host,
				 on_resolved, d);
	}
}

/* An address that the program named was judged when the call began; whether it is this machine's
 * own may have changed since. */
static bool still_allowed(struct dial *d)
{
	if (d->named || d->section == GATE_LOCALHOST || d->result.proxy != NULL ||
	    !address_is_own(d->gate->routes, &d->addr)) {
		return true;
	}
	policy_refuse_own(d->gate->policy, NULL, d->port, &d->addr, &d->result.verdict);
	return false;
}

struct dial *dial_start(struct gate *gate, const char *name, const struct addr *addr, uint16_t port,
			const struct verdict *verdict, dial_done *done, void *context)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		return NULL;
	}
	*d = (struct dial){
		.gate = gate,
		.named = name != NULL,
		.addr = *addr,
		.port = port,
		.how = verdict->how,
		.section = verdict->section,
		.fd = -1,
		.result = {.fd = -1, .verdict = *verdict},
		.done = done,
		.context = context,
	};
	for (unsigned i = 0; i < DIAL_AT_ONCE; i++) {
		d->attempt[i] = (struct attempt){.dial = d, .fd = -1};
	}
	if (name != NULL) {
		strncpy(d->host, name, sizeof(d->host) - 1);
	} else {
		_Static_assert(sizeof(d->host) >= ADDRESS_TEXT_MAX, "an address has room");
		address_text(addr, d->host);
	}
	d->turn = event_timer_new(&gate->loop, on_turn, d);
	d->over = event_timer_new(&gate->loop, on_over, d);
	if (d->turn == NULL || d->over == NULL) {
		dial_free(d);
		return NULL;
	}
	event_timer_start(d->over, DIAL_MS);
	d->result.proxy = dial_proxy(gate, d->host, port, verdict);
	d->starting = true;
	if (still_allowed(d)) {
		look_up(d);
	} else {
		finish(d, -1);
	}
	/* Nothing frees it before its turn; the analyzer loses sight of `starting`. */
	d->starting = false; // NOLINT(clang-analyzer-unix.Malloc)
	return d;
}

void dial_cancel(struct dial *dial)
{
	if (dial != NULL) {
		dial_free(dial);
	}
}
