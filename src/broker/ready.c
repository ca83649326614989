/* Sandboxes that wait for the next call of a tool, since making one takes many times what a call
 * of it takes. Each is a child of a process that waits with it at the tool's own socket, and that
 * serves the call when it comes, as the process of a call does. A call that leaves the sandbox as
 * it was leaves it to the next; after any other both are gone. The first call of a tool has none,
 * nor have those that come while one is going on. */
#include "broker/inner.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "broker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* For a sandbox that is not wanted to clean up. */
#define GRACE_MS 1500L

static void forget(struct ready *ready)
{
	fd_close(&ready->told);
	ready->pid = 0;
}

/* --- the process that waits ------------------------------------------------------------------ */

/* Not wanted any more: the sandbox ends when its socket closes, and cleans up. */
static _Noreturn void give_up(const struct waiting *waiting)
{
	long until = clock_now_ms() + GRACE_MS;

	close(waiting->late);
	while (waitpid(waiting->pid, NULL, WNOHANG) == 0 && clock_now_ms() < until) {
		poll(NULL, 0, 5);
	}
	_exit(EXIT_SUCCESS);
}

/* Until a call comes; its socket, or -1: the run is over. */
static int wait_for_it(const struct waiting *waiting, int listener)
{
	struct pollfd heard[] = {{.fd = listener, .events = POLLIN},
				 {.fd = waiting->signals, .events = POLLIN}};
	struct signalfd_siginfo si;

	for (;;) {
		if (poll(heard, 2, -1) < 0) {
			continue;
		}
		/* That the sandbox has ended is seen when it is wanted. */
		while (read(waiting->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
			if (si.ssi_signo == SIGTERM) {
				return -1;
			}
		}
		int client =
			heard[0].revents == 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0) {
			return client;
		}
		if (heard[0].revents != 0 && errno != EAGAIN && errno != EINTR &&
		    errno != ECONNABORTED) {
			return -1;
		}
	}
}

static void say(const struct waiting *waiting, char what)
{
	(void)!write(waiting->told, &what, sizeof(what));
}

static _Noreturn void ready_main(struct broker *b, size_t tool, int told)
{
	int listener = b->listeners[tool];
	struct waiting waiting;
	int client;

	ready_end(b);
	handler_leave(b, listener);
	if (!tool_prepare(b, b->config->tools[tool].tool, told, &waiting)) {
		_exit(EXIT_FAILURE);
	}
	while ((client = wait_for_it(&waiting, listener)) >= 0) {
		say(&waiting, READY_BUSY);
		handler_serve(b, client, &waiting);
		say(&waiting, READY_WAITS);
	}
	give_up(&waiting);
}

/* --- the broker ------------------------------------------------------------------------------ */

static struct ready *find_unused(struct broker *b)
{
	for (size_t i = 0; i < READY_MAX; i++) {
		if (b->ready[i].pid == 0) {
			return &b->ready[i];
		}
	}
	return NULL;
}

bool ready_waits(const struct broker *b, size_t tool)
{
	for (size_t i = 0; i < READY_MAX; i++) {
		const struct ready *r = &b->ready[i];

		/* One whose call has ended is about to wait again, or to be gone. */
		if (r->pid > 0 && r->tool == tool && (!r->busy || r->again)) {
			return true;
		}
	}
	return false;
}

static struct ready *find(struct broker *b, size_t tool)
{
	for (size_t i = 0; i < READY_MAX; i++) {
		if (b->ready[i].pid > 0 && b->ready[i].tool == tool) {
			return &b->ready[i];
		}
	}
	return NULL;
}

/* No room, or no more processes: calls are made as the first was. */
static void make(struct broker *b, size_t tool)
{
	struct ready *r = find_unused(b);
	int told[2];

	if (r == NULL || b->over || b->config->run_late == NULL || b->listeners[tool] < 0 ||
	    pipe2(told, O_CLOEXEC | O_NONBLOCK) < 0) {
		return;
	}
	pid_t self = getpid();
	pid_t pid = fork();
	if (pid == 0) {
		spawn_die_with(self);
		close(told[0]);
		ready_main(b, tool, told[1]);
	}
	close(told[1]);
	*r = (struct ready){.pid = pid, .tool = tool, .told = told[0]};
	if (pid < 0) {
		forget(r);
	}
}

void ready_want(struct broker *b, size_t tool)
{
	struct ready *r = find(b, tool);

	if (r == NULL) {
		make(b, tool);
	} else if (r->busy) {
		r->again = true;
	}
}

/* One that has no place ends with the broker, if not by itself. */
static void add_call(struct broker *b, pid_t pid)
{
	if (b->ncalls < ARRAY_LEN(b->calls)) {
		b->calls[b->ncalls++] = pid;
	}
}

/* It waits no more. */
static void gone(struct broker *b, struct ready *r)
{
	size_t tool = r->tool;
	bool again = r->again;

	forget(r);
	if (again) {
		make(b, tool);
	}
}

void ready_hear(struct broker *b, struct ready *r)
{
	char said[64];
	ssize_t n = read(r->told, said, sizeof(said));

	if (n > 0) {
		r->busy = said[n - 1] == READY_BUSY;
		r->again = r->again && r->busy;
	} else if (n == 0) {
		add_call(b, r->pid);
		gone(b, r);
	}
}

bool ready_ended(struct broker *b, pid_t pid)
{
	for (size_t i = 0; i < READY_MAX; i++) {
		if (b->ready[i].pid == pid) {
			gone(b, &b->ready[i]);
			return true;
		}
	}
	return false;
}

void ready_end(struct broker *b)
{
	for (size_t i = 0; i < READY_MAX; i++) {
		if (b->ready[i].pid > 0) {
			add_call(b, b->ready[i].pid);
			forget(&b->ready[i]);
		}
	}
}
