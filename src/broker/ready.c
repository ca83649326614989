/* Sandboxes that wait for the next call of a tool, since making one takes many times what a call
 * of it takes. Each is a child of a process that waits with it at the tool's own socket, and that
 * serves the call when it comes, as the process of a call does; one call, and both are gone. The
 * first call of a tool has none. */
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
	fd_close(&ready->taken);
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

static _Noreturn void ready_main(struct broker *b, size_t tool, int taken)
{
	int listener = b->listeners[tool];
	struct waiting waiting;

	ready_end(b);
	handler_leave(b);
	if (!tool_prepare(b, b->config->tools[tool].tool, taken, &waiting)) {
		_exit(EXIT_FAILURE);
	}
	int client = wait_for_it(&waiting, listener);
	if (client < 0) {
		give_up(&waiting);
	}
	close(taken);
	handler_serve(b, client, &waiting);
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
		if (b->ready[i].pid > 0 && b->ready[i].tool == tool && b->ready[i].taken >= 0) {
			return true;
		}
	}
	return false;
}

/* No room, or no more processes: calls are made as the first was. */
void ready_make(struct broker *b, size_t tool)
{
	struct ready *r = find_unused(b);
	int taken[2];

	if (r == NULL || b->config->run_late == NULL || ready_waits(b, tool) ||
	    b->listeners[tool] < 0 || pipe2(taken, O_CLOEXEC) < 0) {
		return;
	}
	pid_t self = getpid();
	pid_t pid = fork();
	if (pid == 0) {
		spawn_die_with(self);
		close(taken[0]);
		ready_main(b, tool, taken[1]);
	}
	close(taken[1]);
	*r = (struct ready){.pid = pid, .tool = tool, .taken = taken[0]};
	if (pid < 0) {
		forget(r);
	}
}

/* One that has no place ends with the broker, if not by itself. */
static void add_call(struct broker *b, pid_t pid)
{
	if (b->ncalls < ARRAY_LEN(b->calls)) {
		b->calls[b->ncalls++] = pid;
	}
}

void ready_taken(struct broker *b, struct ready *r)
{
	add_call(b, r->pid);
	forget(r);
}

bool ready_ended(struct broker *b, pid_t pid)
{
	for (size_t i = 0; i < READY_MAX; i++) {
		if (b->ready[i].pid == pid) {
			forget(&b->ready[i]);
			return true;
		}
	}
	return false;
}

void ready_end(struct broker *b)
{
	for (size_t i = 0; i < READY_MAX; i++) {
		if (b->ready[i].pid > 0) {
			ready_taken(b, &b->ready[i]);
		}
	}
}
