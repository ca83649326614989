/* The warden: a process outside the sandbox that makes the placeholders, watches the guarded names
 * on disk, covers a name again when somebody outside takes its mount away, and cleans up when the
 * run is over, however it ended.
 *
 * Life of a run, by process:
 *
 *   supervisor  warden_start, clone of init, warden_started_init, warden_attach, poll(warden.fd)
 *               with warden_read, warden_over, warden_finish
 *   init        warden_init_begin, warden_init_wait, guard_cover for each name,
 *               warden_init_mounted, poll(fd) with warden_init_serve
 *   others      warden_leave (gate, broker: whatever else the supervisor forks)
 *
 * The warden has no capability inside. To cover a name it forks a helper that joins the run's user
 * and mount namespaces, mounts and exits; the run is frozen meanwhile. If that fails the run is
 * ended. When the warden itself is killed, supervisor and init see it and end the run. */
#ifndef LNK_CONFINE_WARDEN_H
#define LNK_CONFINE_WARDEN_H

#include "base/err.h"
#include "confine/guardname.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct warden_config {
	const struct warden_name *names; /* any order; borrowed for the call only */
	size_t count;
	const char *state_folder; /* Link's state folder, absolute; need not exist */
};

#define WARDEN_NOTES_MAX 8

/* The supervisor's side. With no names there is no warden: pid and all descriptors are -1 and every
 * function below does nothing and succeeds. */
struct warden {
	pid_t pid;
	int fd;      /* to the warden; poll for POLLIN */
	int init_fd; /* init's end, until warden_started_init */
	int run_fd;  /* the run's record, from WARDEN_READY on; held open, it keeps the record alive
		      */
	bool ready;
	bool done;
	const char *state_folder; /* borrowed from the config: keep it until warden_finish */
	struct err *notes; /* for the user, to be shown at the end: a name was replaced at a moment
			      when the program may have done it. WARDEN_NOTES_MAX at most; NULL
			      when there are none. The caller frees it after warden_finish */
	unsigned nnotes;
};

/* Forks the warden. Call it before anything else is forked and before anything is made on disk;
 * it returns at once, and the warden works beside the caller. False: err says why (fork or
 * socketpair failed). The child never returns from here. */
bool warden_start(const struct warden_config *config, struct warden *ret_warden, struct err *err);

/* Supervisor, after cloning init: closes init's end. */
void warden_started_init(struct warden *w);

/* Any other child of the supervisor: closes every descriptor of the warden. */
void warden_leave(struct warden *w);

/* Hands over init: a pidfd, and descriptors of the user namespace that owns the run's mount
 * namespace (the outer one, where there are two) and of that mount namespace. The caller keeps and
 * closes its own. May be sent as soon as they exist: the warden enters only after init called
 * warden_init_mounted. False when the warden is gone. */
bool warden_attach(struct warden *w, int pidfd, int userns, int mntns, struct err *err);

enum warden_news {
	WARDEN_NONE,   /* nothing to read yet */
	WARDEN_READY,  /* placeholders and watches stand; said once */
	WARDEN_FAILED, /* err is filled. Before WARDEN_READY: set-up failed, nothing is left on
			  disk. After it: a name could not be kept closed, init has been killed */
	WARDEN_NOTE,   /* a note for the user was added to `notes` */
	WARDEN_DONE, /* nothing lives and the placeholders are removed; said again if read again */
	WARDEN_GONE, /* killed: end the run, then warden_finish */
};

/* Reads one message without blocking, when poll says that there is one. `err` is filled for
 * WARDEN_FAILED and WARDEN_GONE. */
enum warden_news warden_read(struct warden *w, struct err *err);

/* Blocks until the warden is ready. False: err says why not. The supervisor need not call it when
 * it polls; init waits for itself. */
bool warden_wait_ready(struct warden *w, struct err *err);

/* Says that the run is over, without waiting: the warden removes the placeholders as soon as init
 * is dead. Call it when the program's status is known, before reaping init. */
void warden_over(struct warden *w);

/* Waits for the warden to have cleaned up; init must be dead, or die without further help. When the
 * warden was killed, or hangs, cleans up itself. Closes everything. The warden may still be exiting
 * (it frees what it removed) and is then not reaped: the caller is about to exit, too. */
void warden_finish(struct warden *w);

/* Init's side. */
#define WARDEN_WAKE_MAX 8

struct warden_init {
	int fd;      /* -1 when there is no warden; poll for POLLIN */
	bool frozen; /* everything but init is stopped: do not report or act on stops */
	unsigned nwake;
	pid_t wake[WARDEN_WAKE_MAX]; /* to be continued at the thaw */
};

/* In init, first thing after the clone: takes init's end, closes the supervisor's. */
void warden_init_begin(struct warden *w, struct warden_init *ret_init);

/* Blocks until placeholders and watches stand. Cover the names only after it. False: the warden
 * failed (its own error reaches the supervisor; this one says only that) or is gone. */
bool warden_init_wait(struct warden_init *wi, struct err *err);

/* Says that every name is covered and that the root is in place (after pivot_root). Before the
 * program starts. Does not wait. False, and nothing may start, when it cannot be said: a warden
 * that does not know covers nothing again. */
bool warden_init_mounted(struct warden_init *wi, struct err *err);

/* Says that nothing but init lives any more, so that the placeholders go while init ends. After it
 * init forks nothing, and the warden's end may close. */
void warden_init_empty(struct warden_init *wi);

/* Serves one message (freeze or thaw) when poll says that there is one. Needs the run's own /proc
 * at /proc. False: the warden is gone, and init must end the run. */
bool warden_init_serve(struct warden_init *wi);

/* Continues a stopped process or group (`pid` as kill(2) takes it): at once, or when frozen at the
 * thaw. Init uses it instead of kill(pid, SIGCONT). */
void warden_init_continue(struct warden_init *wi, pid_t pid);

/* True for a stop that the freeze caused: init's waitpid(WUNTRACED) ignores it. */
bool warden_init_is_freeze(const struct warden_init *wi, int wstatus);

#endif
