/* Job: the supervisor's side of the warden: start it, tell it of init, hear from it, end it, and do
 * its last duty when it was killed. */
#include "confine/warden.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/pages.h"
#include "confine/placeholder.h"
#include "confine/sys.h"
#include "confine/warden_wire.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* More than the warden itself waits for init to die, with its own clean-up. */
#define FINISH_WAIT_MS 6000

static const struct warden no_warden = {.pid = -1, .fd = -1, .init_fd = -1, .run_fd = -1};

/* Both pairs, and the child; the caller's descriptors are closed by whoever calls. */
static pid_t fork_warden(const struct warden_config *config, const int sup[2], const int init[2])
{
	pid_t supervisor = getpid();
	sigset_t all;
	sigset_t before;

	/* No signal of the terminal may reach the child before it blocks them for good. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0) {
		pages_ready();
		warden_main(config, sup[1], init[1], supervisor);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

bool warden_start(const struct warden_config *config, struct warden *ret_warden, struct err *err)
{
	int sup[2] = {-1, -1};
	int init[2] = {-1, -1};
	bool ok = true;

	*ret_warden = no_warden;
	if (config->count == 0) {
		return true;
	}
	pid_t pid = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sup) == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, init) == 0) {
		pid = fork_warden(config, sup, init);
	}
	if (pid < 0) {
		ok = err_set(err, ERR_SETUP, errno, "cannot start the warden of the guarded names");
		fd_close(&sup[0]);
		fd_close(&init[0]);
	} else {
		*ret_warden = (struct warden){.pid = pid,
					      .fd = sup[0],
					      .init_fd = init[0],
					      .run_fd = -1,
					      .state_folder = config->state_folder};
	}
	fd_close(&sup[1]);
	fd_close(&init[1]);
	return ok;
}

void warden_started_init(struct warden *w)
{
	fd_close(&w->init_fd);
}

void warden_leave(struct warden *w)
{
	fd_close(&w->fd);
	fd_close(&w->init_fd);
	fd_close(&w->run_fd);
	w->pid = -1;
}

static bool gone(struct err *err)
{
	err_set(err, ERR_SETUP, 0, "the warden of the guarded names was killed");
	return err_hint(err, "the run was ended: without it a closed name could be opened by a "
			     "rename outside");
}

bool warden_attach(struct warden *w, int pidfd, int userns, int mntns, struct err *err)
{
	const struct warden_msg msg = {WARDEN_MSG_ATTACH, 0};
	const int fds[WARDEN_MSG_FDS] = {pidfd, userns, mntns};

	return w->fd < 0 || warden_wire_send(w->fd, &msg, sizeof(msg), fds, WARDEN_MSG_FDS) ||
	       gone(err);
}

static void keep_note(struct warden *w, const struct err *note)
{
	if (w->notes == NULL) {
		w->notes = calloc(WARDEN_NOTES_MAX, sizeof(*w->notes));
	}
	if (w->notes != NULL && w->nnotes < WARDEN_NOTES_MAX) {
		w->notes[w->nnotes++] = *note;
	}
}

static enum warden_news hear(struct warden *w, bool wait, struct err *err)
{
	union warden_any msg;
	int fds[WARDEN_MSG_FDS];
	int got = warden_wire_receive(w->fd, wait, &msg, fds);

	if (got == 0) {
		return WARDEN_NONE;
	}
	if (got == 1 && msg.head.kind == WARDEN_MSG_READY) {
		w->ready = true;
		w->run_fd = fds[0];
		return WARDEN_READY;
	}
	if (got == 1 && msg.head.kind == WARDEN_MSG_NOTE) {
		keep_note(w, &msg.failure.err);
		return WARDEN_NOTE;
	}
	if (got == 1 && msg.head.kind == WARDEN_MSG_FAILED) {
		*err = msg.failure.err;
		return WARDEN_FAILED;
	}
	if (got == 1 && msg.head.kind == WARDEN_MSG_DONE) {
		w->done = true;
	}
	if (w->done) {
		return WARDEN_DONE;
	}
	gone(err);
	return WARDEN_GONE;
}

enum warden_news warden_read(struct warden *w, struct err *err)
{
	return w->fd < 0 ? WARDEN_NONE : hear(w, false, err);
}

bool warden_wait_ready(struct warden *w, struct err *err)
{
	if (w->fd < 0 || w->ready) {
		return true;
	}
	enum warden_news news = hear(w, true, err);
	return news == WARDEN_READY || (news == WARDEN_DONE && gone(err));
}

void warden_over(struct warden *w)
{
	const struct warden_msg msg = {WARDEN_MSG_OVER, 0};

	if (w->fd >= 0) {
		warden_wire_send(w->fd, &msg, sizeof(msg), NULL, 0);
	}
}

/* Waits until the warden has said that it is done, or its end of the socket is closed. */
static bool wait_for_end(struct warden *w)
{
	long end = clock_now_ms() + FINISH_WAIT_MS;
	enum warden_news news = w->done ? WARDEN_DONE : WARDEN_NONE;

	while (news != WARDEN_DONE && news != WARDEN_GONE) {
		struct pollfd p = {.fd = w->fd, .events = POLLIN};
		long left = end - clock_now_ms();
		struct err ignored;

		if (left <= 0) {
			return false;
		}
		if (poll(&p, 1, (int)left) > 0) {
			news = hear(w, false, &ignored);
		}
	}
	return true;
}

/* The child's wait status; 0 when it is not to be waited for. */
static int reap(const struct warden *w, int options)
{
	int status = 0;
	pid_t pid;

	do {
		pid = waitpid(w->pid, &status, options);
	} while (pid < 0 && errno == EINTR);
	return pid == w->pid ? status : 0;
}

void warden_finish(struct warden *w)
{
	if (w->pid < 0) {
		return;
	}
	fd_close(&w->init_fd);
	warden_over(w);
	bool ended = wait_for_end(w);
	if (!ended) {
		kill(w->pid, SIGKILL);
	}
	/* One that has said it is done needs no waiting for; one that failed to set up cleaned up.
	 */
	int status = reap(w, w->done ? WNOHANG : 0);
	if (!w->done && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
		placeholders_end_record(w->state_folder, fd_take(&w->run_fd));
	}
	warden_leave(w);
}
