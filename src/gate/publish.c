/* Job: listen on this machine's loopback, and bring each connection to the program's server.
 *
 * A call here is ASKED (init owes it a socket; init answers in order, so the oldest of them gets
 * the next answer), then CONNECTING, then it is call.c's. Whoever can connect to this machine's
 * loopback can make such calls; the bytes they send are not looked at. */
#include "gate/publish.h"

#include "base/fd.h"
#include "base/pass.h"
#include "gate/acceptor.h"
#include "gate/call.h"
#include "plan/door.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 128

enum waiting_state { ASKED, CONNECTING };

/* A call without a connection inside yet. */
struct waiting {
	struct waiting *next;
	struct publish *publish;
	enum waiting_state state;
	bool v6;       /* the address of the sandbox's loopback that is tried */
	uint16_t port; /* inside */
	int outside, inside;
	uv_poll_t poll; /* of `inside`, while CONNECTING */
};

struct port {
	struct publish *publish;
	int fd;
	uint16_t inside;
	struct acceptor acceptor;
};

struct publish {
	struct gate *gate;
	struct waiting *waiting; /* in the order in which init was asked */
	unsigned nwaiting;
	bool ended;
	size_t n;
	struct port v[2 * PUBLISH_PORTS_MAX];
};

static socklen_t loopback(bool v6, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ret;

	*ret = (struct sockaddr_storage){.ss_family = v6 ? AF_INET6 : AF_INET};
	if (v6) {
		sin6->sin6_port = htons(port);
		sin6->sin6_addr = in6addr_loopback;
		return sizeof(*sin6);
	}
	sin->sin_port = htons(port);
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(*sin);
}

/* --- listening ---------------------------------------------------------------------------- */

/* -1 with errno. */
static int listen_at(bool v6, uint16_t port)
{
	const int on = 1;
	struct sockaddr_storage at;
	socklen_t len = loopback(v6, port, &at);
	auto_close int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* A run that ended a minute ago keeps no port from this one. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    bind(fd, (const struct sockaddr *)&at, len) < 0 || listen(fd, BACKLOG) < 0) {
		return -1;
	}
	return fd_take(&fd);
}

static bool refuse(struct err *err, int sys, const struct net_publish *p)
{
	const struct origin from = {.flag = "--publish"};

	err_set(err, ERR_USAGE, sys, "cannot listen at port %u of this machine", p->outside);
	if (sys == EADDRINUSE) {
		err_set(err, ERR_USAGE, 0, "port %u of this machine is in use", p->outside);
		err_hint(err, "choose another port for outside, such as --publish %u:%u", p->inside,
			 p->outside < UINT16_MAX ? p->outside + 1 : p->outside - 1);
	} else if (sys == EACCES) {
		err_hint(err,
			 "ports below 1024 are root's on this machine; choose another port for "
			 "outside, such as --publish %u:%u",
			 p->inside, 8000 + p->outside % 1000);
	}
	return err_at(err, &from);
}

/* A call to such a port inside goes out to this machine, never to the program's server. */
static bool leads_out(const struct net_plan *plan, uint16_t port)
{
	for (size_t i = 0; i < plan->ports.n; i++) {
		if (plan->ports.v[i].port == port) {
			return true;
		}
	}
	return false;
}

static bool listen_for(struct publish *publish, const struct net_plan *plan,
		       const struct net_publish *p, struct err *err)
{
	if (leads_out(plan, p->inside)) {
		const struct origin from = {.flag = "--publish"};

		err_set(err, ERR_USAGE, 0,
			"port %u is one of [localhost], which leads to this machine's own server",
			p->inside);
		err_hint(err, "publish another port, or take %u out of [localhost]", p->inside);
		return err_at(err, &from);
	}
	for (int v6 = 0; v6 <= 1; v6++) {
		struct port *l = &publish->v[publish->n];

		l->fd = listen_at(v6 != 0, p->outside);
		l->inside = p->inside;
		l->publish = publish;
		if (l->fd >= 0) {
			publish->n++;
		} else if (v6 == 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)) {
			return refuse(err, errno, p);
		}
	}
	return true;
}

bool publish_listen(const struct net_plan *plan, struct publish **ret_publish, struct err *err)
{
	*ret_publish = NULL;
	if (plan->publish.n == 0) {
		return true;
	}
	if (plan->publish.n > PUBLISH_PORTS_MAX) {
		const struct origin from = {.flag = "--publish"};

		err_set(err, ERR_USAGE, 0, "too many ports");
		err_hint(err, "publish %d at most", PUBLISH_PORTS_MAX);
		return err_at(err, &from);
	}
	struct publish *publish = calloc(1, sizeof(*publish));
	if (publish == NULL) {
		return err_set(err, ERR_SETUP, errno, "cannot publish ports");
	}
	for (size_t i = 0; i < plan->publish.n; i++) {
		if (!listen_for(publish, plan, &plan->publish.v[i], err)) {
			for (size_t k = 0; k < publish->n; k++) {
				fd_close(&publish->v[k].fd);
			}
			free(publish);
			return false;
		}
	}
	*ret_publish = publish;
	return true;
}

/* --- one call ----------------------------------------------------------------------------- */

/* A reset rather than an empty answer: as if nobody listened. */
static void reset(int *fd)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (*fd >= 0) {
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	}
	fd_close(fd);
}

static void freed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Takes it out of the line; its descriptors are somebody else's by now. */
static void drop(struct waiting *w)
{
	struct waiting **at = &w->publish->waiting;

	while (*at != w) {
		at = &(*at)->next;
	}
	*at = w->next;
	w->publish->nwaiting--;
	if (w->state == CONNECTING) {
		uv_close((uv_handle_t *)&w->poll, freed);
	} else {
		free(w);
	}
}

/* Asks init for a socket for the call, at the end of the line. Owns `outside`. */
static void ask(struct publish *publish, int outside, uint16_t port, bool v6)
{
	const unsigned char request[2] = {DOOR_SOCKET, v6 ? 6 : 4};
	struct waiting *w = publish->ended ? NULL : malloc(sizeof(*w));
	struct waiting **end = &publish->waiting;

	if (w == NULL || !pass_send(publish->gate->door, request, sizeof(request), NULL, 0)) {
		free(w);
		reset(&outside);
		return;
	}
	*w = (struct waiting){.publish = publish,
			      .state = ASKED,
			      .v6 = v6,
			      .port = port,
			      .outside = outside,
			      .inside = -1};
	while (*end != NULL) {
		end = &(*end)->next;
	}
	*end = w;
	publish->nwaiting++;
}

/* `sys` is how the connection inside ended up. */
static void settle(struct waiting *w, int sys)
{
	struct publish *publish = w->publish;
	int outside = fd_take(&w->outside);
	int inside = fd_take(&w->inside);
	bool v6 = w->v6;
	uint16_t port = w->port;

	/* libuv lets go of the descriptor here, before anybody uses its number again. */
	drop(w);
	if (sys == 0) {
		call_published(publish->gate, outside, inside);
		return;
	}
	fd_close(&inside);
	if (v6) {
		reset(&outside);
	} else {
		ask(publish, outside, port, true);
	}
}

static void on_connected(uv_poll_t *poll, int status, int events)
{
	struct waiting *w = poll->data;
	int sys = 0;
	socklen_t len = sizeof(sys);

	(void)events;
	if (status < 0 || getsockopt(w->inside, SOL_SOCKET, SO_ERROR, &sys, &len) < 0) {
		sys = ECONNREFUSED;
	}
	settle(w, sys);
}

static void connect_inside(struct waiting *w)
{
	struct sockaddr_storage to;
	socklen_t len = loopback(w->v6, w->port, &to);

	if (connect(w->inside, (const struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS) {
		settle(w, errno);
		return;
	}
	int failed = uv_poll_init(&w->publish->gate->loop, &w->poll, w->inside);

	if (failed < 0) {
		settle(w, -failed);
		return;
	}
	w->state = CONNECTING;
	w->poll.data = w;
	failed = uv_poll_start(&w->poll, UV_WRITABLE, on_connected);
	if (failed < 0) {
		settle(w, -failed);
	}
}

bool publish_answer(struct publish *publish, int inside)
{
	struct waiting *w = publish == NULL ? NULL : publish->waiting;

	while (w != NULL && w->state != ASKED) {
		w = w->next;
	}
	if (w == NULL) {
		fd_close(&inside);
		return false;
	}
	w->inside = inside;
	if (inside < 0) {
		settle(w, EMFILE);
	} else {
		connect_inside(w);
	}
	return true;
}

/* --- serving ------------------------------------------------------------------------------ */

static bool room(void *context)
{
	const struct publish *publish = ((struct port *)context)->publish;
	const struct gate *gate = publish->gate;

	return publish->nwaiting < PUBLISH_WAITING_MAX &&
	       gate->ncalls + publish->nwaiting < gate->max_calls;
}

static void take(void *context, int fd)
{
	struct port *port = context;

	ask(port->publish, fd, port->inside, false);
}

void publish_serve(struct publish *publish, struct gate *gate)
{
	if (publish == NULL) {
		return;
	}
	publish->gate = gate;
	for (size_t i = 0; i < publish->n; i++) {
		struct port *port = &publish->v[i];

		port->acceptor.room = room;
		port->acceptor.take = take;
		port->acceptor.context = port;
		acceptor_start(&port->acceptor, &gate->loop, port->fd);
	}
}

void publish_end(struct publish *publish)
{
	if (publish == NULL || publish->ended) {
		return;
	}
	publish->ended = true;
	for (size_t i = 0; i < publish->n; i++) {
		struct port *port = &publish->v[i];

		if (publish->gate != NULL) {
			acceptor_stop(&port->acceptor);
		} else {
			fd_close(&port->fd);
		}
	}
	while (publish->waiting != NULL) {
		struct waiting *w = publish->waiting;
		int outside = fd_take(&w->outside);
		int inside = fd_take(&w->inside);

		/* Off the list now; the analyzer loses sight of that. */
		drop(w); // NOLINT(clang-analyzer-unix.Malloc)
		fd_close(&inside);
		reset(&outside);
	}
}
