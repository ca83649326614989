/* Job: init's end of the warden. Freezing is one call, because the program runs until it is done;
 * what was stopped before (a job that its shell suspended) is told apart only at the thaw: it has
 * not taken our SIGSTOP, which is still pending. */
#include "confine/warden_wire.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* With more processes than this all are continued, suspended jobs too. */
#define THAW_PIDS_MAX 4096

void warden_init_begin(struct warden *w, struct warden_init *ret_init)
{
	*ret_init = (struct warden_init){.fd = fd_take(&w->init_fd)};
	warden_leave(w);
}

bool warden_init_wait(struct warden_init *wi, struct err *err)
{
	union warden_any msg;
	int fds[WARDEN_MSG_FDS];

	if (wi->fd < 0) {
		return true;
	}
	if (warden_wire_receive(wi->fd, true, &msg, fds) == 1 &&
	    msg.head.kind == WARDEN_MSG_READY) {
		return true;
	}
	return err_set(err, ERR_SETUP, 0, "the warden of the guarded names could not start");
}

/* False when it could not be said. A warden that is gone shows as the end of its socket, too. */
static bool say(struct warden_init *wi, enum warden_kind_of_msg kind, uint32_t seq)
{
	struct warden_msg msg = {kind, seq};

	return warden_wire_send(wi->fd, &msg, sizeof(msg), NULL, 0);
}

bool warden_init_mounted(struct warden_init *wi, struct err *err)
{
	return wi->fd < 0 || say(wi, WARDEN_MSG_MOUNTED, 0) ||
	       err_set(err, ERR_SETUP, errno, "cannot tell the warden that its names are covered");
}

void warden_init_empty(struct warden_init *wi)
{
	if (wi->fd >= 0) {
		say(wi, WARDEN_MSG_EMPTY, 0);
	}
}

/* True when the process is stopped and was so before the freeze: SIGSTOP waits unread. */
static bool was_stopped(int proc, pid_t pid)
{
	char path[32];
	char text[4096];

	snprintf(path, sizeof(path), "%d/status", (int)pid);
	auto_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? fd_read_all(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0) {
		return false;
	}
	text[n] = '\0';
	/* The process chooses the text of the first line, but no newline in it. */
	const char *state = strstr(text, "\nState:\t");
	const char *pending = strstr(text, "\nShdPnd:\t");
	return state != NULL && state[8] == 'T' && pending != NULL &&
	       (strtoull(pending + 9, NULL, 16) >> (SIGSTOP - 1) & 1) != 0;
}

static int later_first(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a;
	pid_t y = *(const pid_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* All processes but this one, children before their parents as far as numbers tell: a shell that
 * runs again must not find its job still stopped. -1 when they cannot be listed. */
static int list_processes(pid_t *pids, size_t max)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	size_t n = 0;

	if (dir == NULL) {
		return -1;
	}
	while ((e = readdir(dir)) != NULL && n < max) {
		long pid = strtol(e->d_name, NULL, 10);

		if (pid > 1 && pid != getpid()) {
			pids[n++] = (pid_t)pid;
		}
	}
	closedir(dir);
	if (n > 0) {
		qsort(pids, n, sizeof(*pids), later_first);
	}
	return n < max ? (int)n : -1;
}

/* Processes that forbid being looked at (ssh-agent, gpg-agent) are not in /proc's list, which shows
 * what may be traced: every number up to the last that was given out is tried. */
static void wake_unlisted(int proc, const pid_t *listed, size_t n)
{
	char text[32] = "";
	auto_close int fd = openat(proc, "sys/kernel/ns_last_pid", O_RDONLY | O_CLOEXEC);
	size_t at = n;

	if (fd < 0 || fd_read_all(fd, text, sizeof(text) - 1) <= 0) {
		return;
	}
	long last = strtol(text, NULL, 10);
	for (pid_t pid = 2; pid <= last; pid++) {
		/* The list goes from the last number to the first. */
		while (at > 0 && listed[at - 1] < pid) {
			at--;
		}
		if (at == 0 || listed[at - 1] != pid) {
			kill(pid, SIGCONT);
		}
	}
}

static void thaw(struct warden_init *wi)
{
	pid_t pids[THAW_PIDS_MAX];
	int n = list_processes(pids, ARRAY_LEN(pids));
	auto_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (n < 0) {
		kill(-1, SIGCONT);
	}
	for (int i = 0; i < n; i++) {
		if (!was_stopped(proc, pids[i])) {
			kill(pids[i], SIGCONT);
		}
	}
	if (n >= 0) {
		wake_unlisted(proc, pids, (size_t)n);
	}
	wi->frozen = false;
	for (unsigned i = 0; i < wi->nwake; i++) {
		kill(wi->wake[i], SIGCONT);
	}
	wi->nwake = 0;
}

bool warden_init_serve(struct warden_init *wi)
{
	union warden_any msg;
	int fds[WARDEN_MSG_FDS];
	int got = wi->fd < 0 ? 0 : warden_wire_receive(wi->fd, false, &msg, fds);

	if (got <= 0) {
		return got == 0;
	}
	if (getpid() != 1) {
		return false; /* kill(-1) below means everything in the sandbox, and nothing else */
	}
	switch (msg.head.kind) {
	case WARDEN_MSG_FREEZE:
		kill(-1, SIGSTOP);
		wi->frozen = true;
		say(wi, WARDEN_MSG_FROZEN, msg.head.seq);
		return true;
	case WARDEN_MSG_THAW:
		thaw(wi);
		return true;
	default:
		return false;
	}
}

void warden_init_continue(struct warden_init *wi, pid_t pid)
{
	if (!wi->frozen) {
		kill(pid, SIGCONT);
	} else if (wi->nwake < WARDEN_WAKE_MAX) {
		wi->wake[wi->nwake++] = pid;
	}
}

bool warden_init_is_freeze(const struct warden_init *wi, int wstatus)
{
	return wi->frozen && WIFSTOPPED(wstatus) && WSTOPSIG(wstatus) == SIGSTOP;
}
