/* The broker's own process: takes calls, forks a process for each, keeps count, and ends all of
 * them. It reads nothing that a shim sends. */
#include "broker/inner.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "broker/spawn.h"
#include "plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Taken in one round, so that calls that end are noticed however many come. */
#define ROUND 32
/* Descriptors of the broker's own that it waits for. */
#define HEARD 4
/* Where the system is short of something, before it is asked again. */
#define SHORT_MS 20
/* For calls to end by themselves, tools and all, before they are killed. */
#define END_MS 2000L

const int broker_signals[BROKER_SIGNALS] = {SIGINT,  SIGQUIT, SIGHUP,  SIGTSTP, SIGTTIN,
					    SIGTTOU, SIGPIPE, SIGTERM, SIGCHLD};

/* --- setting up --------------------------------------------------------------------------- */

/* Out of the terminal's reach, but not out of its session: tools are of the run's job. */
static bool stand_alone(struct broker *b, pid_t parent)
{
	struct sigaction now;
	sigset_t set;

	spawn_die_with(parent);
	b->self = getpid();
	b->group = getpgrp();
	sigemptyset(&b->ignored);
	for (size_t i = 0; i < BROKER_SIGNALS; i++) {
		int number = broker_signals[i];

		if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN) {
			sigaddset(&b->ignored, number);
		}
		signal(number, number == SIGTERM || number == SIGCHLD ? SIG_DFL : SIG_IGN);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, &b->mask);
	b->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	b->terminal = ask_terminal_open();
	return b->signals >= 0 && setpgid(0, 0) == 0;
}

/* Where the caller had closed one of 0 to 2, ours may have come to lie there. */
static int above(int fd)
{
	return fd < 0 || fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static bool null_descriptors(struct broker *b)
{
	b->control = above(b->control);
	b->door = above(b->door);
	b->log = above(b->config->log_fd);
	for (size_t i = 0; i < b->config->nclose; i++) {
		close(b->config->close[i]);
	}
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool ok = null >= 0;
	for (int fd = 0; fd <= 2 && ok; fd++) {
		ok = dup2(null, fd) >= 0;
	}
	if (null > 2) {
		close(null);
	}
	return ok;
}

static bool set_up(struct broker *b, pid_t parent)
{
	if (!null_descriptors(b) || !stand_alone(b, parent)) {
		return false;
	}
	b->listeners = calloc(b->config->ntools + 1, sizeof(*b->listeners));
	b->heard = calloc(HEARD + READY_MAX + b->config->ntools + 1, sizeof(*b->heard));
	if (b->listeners == NULL || b->heard == NULL) {
		return false;
	}
	for (size_t i = 0; i <= b->config->ntools; i++) {
		b->listeners[i] = -1;
	}
	b->decided = decided_new(b->config, b->log);
	b->turn = ask_turn_make();
	return b->decided != NULL && b->turn >= 0 &&
	       socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, b->told) == 0;
}

/* --- calls -------------------------------------------------------------------------------- */

/* Whose socket it is that listens at `path`; NULL: nobody's. */
static int *listener_of(struct broker *b, const char *path)
{
	const struct broker_config *config = b->config;

	if (str_eq(path, PLAN_BROKER)) {
		return &b->listeners[config->ntools];
	}
	for (size_t i = 0; i < config->ntools && str_starts(path, PLAN_CALLS "/"); i++) {
		if (str_eq(path + sizeof(PLAN_CALLS), config->tools[i].tool->name)) {
			return &b->listeners[i];
		}
	}
	return NULL;
}

static void take_listener(struct broker *b)
{
	char path[sizeof(PLAN_CALLS) + 1 + TOOL_NAME_MAX];
	size_t n = 0;
	int fd = -1;
	ssize_t len = pass_receive(b->door, path, sizeof(path) - 1, &fd, 1, &n);

	if (len <= 0 || n != 1) {
		/* Those were all. Without any, the run does not start, and control closes. */
		fd_close(&b->door);
		return;
	}
	path[len] = '\0';
	int *at = listener_of(b, path);
	if (at == NULL || *at >= 0) {
		close(fd);
		return;
	}
	*at = fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void take_call(struct broker *b, int client)
{
	struct waiting nobody = {.pid = 0, .told = -1};

	if (b->ncalls >= BROKER_CALLS_MAX) {
		handler_send(client, FRAME_ERROR, 126, 0, "1,000 calls are going on already");
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		spawn_die_with(b->self);
		ready_end(b);
		handler_leave(b, -1);
		handler_serve(b, client, &nobody);
		_exit(EXIT_SUCCESS);
	}
	if (pid < 0) {
		handler_send(client, FRAME_ERROR, 126, 0, "no more processes can be started");
		return;
	}
	b->calls[b->ncalls++] = pid;
}

static void accept_calls(struct broker *b, int listener)
{
	for (int i = 0; i < ROUND; i++) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0 && (errno == EINTR || errno == ECONNABORTED)) {
			continue;
		}
		if (client < 0) {
			if (errno != EAGAIN) {
				poll(NULL, 0, SHORT_MS);
			}
			return;
		}
		take_call(b, client);
		close(client);
	}
}

static void reap(struct broker *b)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (ready_ended(b, pid)) {
			continue;
		}
		for (size_t i = 0; i < b->ncalls; i++) {
			if (b->calls[i] == pid) {
				b->calls[i] = b->calls[--b->ncalls];
				break;
			}
		}
	}
}

/* One decision of a call; false when there is none. */
static bool take_decision(struct broker *b)
{
	struct broker_decision d;
	ssize_t n = recv(b->told[0], &d, sizeof(d), MSG_DONTWAIT | MSG_TRUNC);

	if (n == (ssize_t)sizeof(d)) {
		decided_add(b->decided, &d);
		if (d.section == DECISION_TOOLS && d.allowed != 0) {
			ready_want(b, d.grant - 1);
		}
	}
	return n > 0;
}

/* True when the run is over. */
static bool take_signals(struct broker *b)
{
	struct signalfd_siginfo si;
	bool over = false;

	while (read(b->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		over = over || si.ssi_signo == SIGTERM;
	}
	reap(b);
	return over;
}

/* --- the end ------------------------------------------------------------------------------ */

static void end_calls(struct broker *b)
{
	long until = clock_now_ms() + END_MS;

	b->over = true;
	for (size_t i = 0; i <= b->config->ntools; i++) {
		fd_close(&b->listeners[i]);
	}
	ready_end(b);
	for (size_t i = 0; i < b->ncalls; i++) {
		kill(b->calls[i], SIGTERM);
	}
	while (b->ncalls > 0 && clock_now_ms() < until) {
		struct pollfd fds[] = {{.fd = b->signals, .events = POLLIN},
				       {.fd = b->told[0], .events = POLLIN}};

		poll(fds, ARRAY_LEN(fds), SHORT_MS);
		while (take_decision(b)) {
		}
		take_signals(b);
	}
	for (size_t i = 0; i < b->ncalls; i++) {
		kill(b->calls[i], SIGKILL);
	}
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
	}
	while (take_decision(b)) {
	}
}

static void report(const struct broker *b)
{
	static struct broker_report all;
	static struct broker_told told;

	decided_report(b->decided, &all);
	told.kind = BROKER_REFUSAL;
	for (uint32_t i = 0; i < all.n; i++) {
		told.refusal = all.v[i];
		if (!pass_send(b->control, &told, sizeof(told), NULL, 0)) {
			return;
		}
	}
	told.kind = BROKER_REPORTED;
	told.more = all.more;
	pass_send(b->control, &told, BROKER_TOLD_HEAD, NULL, 0);
}

/* True when the supervisor wants the report; false when it is gone. */
static bool take_order(const struct broker *b)
{
	uint32_t kind = 0;

	return recv(b->control, &kind, sizeof(kind), 0) == (ssize_t)sizeof(kind) &&
	       kind == BROKER_END;
}

/* What to wait for: control, signals, decisions, door; the waiting ones; the listeners. */
static size_t hear(struct broker *b)
{
	struct pollfd *fds = b->heard;
	const int own[HEARD] = {b->control, b->signals, b->told[0], b->door};
	size_t n = 0;

	for (size_t i = 0; i < HEARD; i++) {
		fds[n++].fd = own[i];
	}
	for (size_t i = 0; i < READY_MAX; i++) {
		fds[n++].fd = b->ready[i].pid > 0 ? b->ready[i].told : -1;
	}
	for (size_t i = 0; i <= b->config->ntools; i++) {
		fds[n++].fd = i < b->config->ntools && ready_waits(b, i) ? -1 : b->listeners[i];
	}
	for (size_t i = 0; i < n; i++) {
		fds[i].events = POLLIN;
		fds[i].revents = 0;
	}
	return n;
}

/* Calls, after the waiting ones that have one: whose calls come here depends on them. */
static void take_calls(struct broker *b)
{
	const struct pollfd *ready = b->heard + HEARD;
	const struct pollfd *listeners = ready + READY_MAX;

	for (size_t i = 0; i < READY_MAX; i++) {
		/* Of those that have not changed since. */
		if (ready[i].revents != 0 && ready[i].fd == b->ready[i].told) {
			ready_hear(b, &b->ready[i]);
		}
	}
	for (size_t i = 0; i <= b->config->ntools; i++) {
		if (listeners[i].revents != 0 && listeners[i].fd >= 0 &&
		    !(i < b->config->ntools && ready_waits(b, i))) {
			accept_calls(b, listeners[i].fd);
		}
	}
}

/* Until the run is over. True: the report is wanted. */
static bool serve(struct broker *b)
{
	const struct pollfd *fds = b->heard;

	for (;;) {
		if (poll(b->heard, hear(b), -1) < 0) {
			continue;
		}
		if (fds[0].revents != 0) {
			return take_order(b);
		}
		if (fds[1].revents != 0 && take_signals(b)) {
			return false;
		}
		for (int i = 0; fds[2].revents != 0 && i < ROUND && take_decision(b); i++) {
		}
		if (fds[3].revents != 0) {
			take_listener(b);
		}
		take_calls(b);
	}
}

int broker_main(const struct broker_config *config, int control, int door, pid_t parent)
{
	static struct broker b;

	b = (struct broker){.config = config,
			    .control = control,
			    .door = door,
			    .signals = -1,
			    .told = {-1, -1},
			    .turn = -1,
			    .terminal = -1};
	if (!set_up(&b, parent)) {
		return EXIT_FAILURE;
	}
	bool wanted = serve(&b);
	end_calls(&b);
	if (wanted) {
		report(&b);
	}
	return EXIT_SUCCESS;
}
