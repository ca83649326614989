/* Job: the warden process. In order: close what is not needed, block signals, drop what can be
 * dropped; make placeholders; watch; say ready; sleep; cover again what somebody uncovered; clean
 * up when init is dead.
 *
 * Must: outlive every other process of the run but init, whose end it waits for; end the run when a
 * name cannot be kept closed. Must not: enter the sandbox itself (a helper does, and exits); react
 * to a signal of the terminal; keep anything of the caller open (a pipe's reader waits for its
 * end).
 *
 * Descriptors: the sockets to supervisor and init, pidfds of both, the namespaces, inotify, the
 * granted folders (O_PATH), the registry. An attacker controls names and events on disk. */
#include "confine/warden_wire.h"

#include "base/arena.h"
#include "base/fd.h"
#include "base/str.h"
#include "confine/aside.h"
#include "confine/placeholder.h"
#include "confine/sys.h"
#include "confine/watch.h"

#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

/* How long init has to die by itself when the run is over, then again after it was killed. */
#define INIT_DEATH_MS 2000

/* Init answers a freeze at once unless the machine is overloaded; covering goes on without. */
#define FREEZE_MS 250

/* How long a name that went away may take to come back (an editor that moves the old file aside and
 * writes a new one) before a placeholder takes its place. The run is frozen meanwhile. */
#define GRACE_MS 50

/* A helper needs a millisecond; one that hangs (a dead network file system) ends the run. */
#define HELPER_MS 2000

/* Rounds of looking again while the names keep changing. */
#define ROUNDS_MAX 32

struct state {
	int supervisor_fd; /* -1 when the supervisor is gone */
	int supervisor_pidfd;
	int init_fd;    /* -1 when init's end is closed */
	int init_pidfd; /* these three: -1 until attached */
	int userns;
	int mntns;
	bool mounted;   /* init has covered every name */
	bool over;      /* the run is over, or everybody who could say so is gone */
	bool kill_init; /* nobody else will end it */
	bool empty;     /* nothing lives but init, which said so */
	uint32_t seq;
	bool *wanted; /* for each name: a placeholder stands in for it */
	struct watch watch;
	struct placeholders placeholders;
	struct arena arena;
};

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for a descriptor to become readable, hung up or broken. False when no time is left, even if
 * it is readable, so that a busy descriptor ends no loop later than its deadline. */
static bool wait_for(int fd, long ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return ms > 0 && poll(&p, 1, (int)ms) > 0;
}

/* Root keeps what it needs to make and remove folders in other users' folders. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[2];
	const unsigned keep = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;

	if (geteuid() == 0 && syscall(SYS_capget, &header, caps) == 0) {
		caps[0].effective &= keep;
		caps[0].permitted &= keep;
		caps[0].inheritable = 0;
		caps[1] = (struct __user_cap_data_struct){0, 0, 0};
		syscall(SYS_capset, &header, caps);
	}
}

/* Only the two sockets stay open, and /dev/null as 0 to 2. */
static void close_others(int *a, int *b)
{
	for (int *fd = a;; fd = b) {
		if (*fd < 3) {
			int high = fcntl(*fd, F_DUPFD_CLOEXEC, 3);

			close(*fd);
			*fd = high;
		}
		if (fd == b) {
			break;
		}
	}
	unsigned lo = (unsigned)(*a < *b ? *a : *b);
	unsigned hi = (unsigned)(*a < *b ? *b : *a);
	if (lo > 3) {
		sys_close_range(3, lo - 1, 0);
	}
	if (hi > lo + 1) {
		sys_close_range(lo + 1, hi - 1, 0);
	}
	sys_close_range(hi + 1, ~0U, 0);
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		if (null < 0 || dup2(null, i) < 0) {
			close(i);
		}
	}
	if (null < 3) {
		fd_take(&null);
	}
}

static void become_warden(struct state *s, pid_t supervisor)
{
	struct rlimit files;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "lnk-warden");
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	close_others(&s->supervisor_fd, &s->init_fd);
	if (chdir("/") < 0) {
		_exit(1);
	}
	drop_capabilities();
	/* One descriptor for each granted folder. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	s->supervisor_pidfd = sys_pidfd_open(supervisor);
	if (getppid() != supervisor) {
		s->over = true;
		s->kill_init = true;
	}
}

/* A placeholder stands in for a name that is absent, but not for one below a pin (nothing inside
 * can make it there), nor twice for the same name. */
static void choose_wanted(struct state *s, const struct warden_name *names, size_t count)
{
	const char *pin = NULL;

	s->wanted = arena_alloc(&s->arena, count * sizeof(*s->wanted));
	for (size_t i = 0; i < count; i++) {
		/* Unless a folder that is written was opened in what is pinned. */
		bool below = pin != NULL && path_within(names[i].path, pin) &&
			     names[i].base_len < strlen(pin);
		bool same = i > 0 && str_eq(names[i].path, names[i - 1].path);

		s->wanted[i] = names[i].kind != WARDEN_ANCHOR && !names[i].never_made && !below &&
			       !same;
		if (names[i].kind == WARDEN_PIN && !below) {
			pin = names[i].path;
		}
	}
}

/* Makes placeholders: of all names, or of the marked ones. */
static bool make_missing(struct state *s, bool all, struct err *err)
{
	struct arena arena = {0};
	struct {
		struct placeholder_want *v;
		size_t n;
		size_t cap;
	} wants = {0};

	for (size_t i = all ? 0 : watch_next(&s->watch, 0); i < s->watch.nnames;
	     i = all ? i + 1 : watch_next(&s->watch, i + 1)) {
		const struct warden_name *name = &s->watch.names[i];
		struct placeholder_want want = {.base_fd = watch_base_fd(&s->watch, i),
						.base_len = name->base_len,
						.path = name->path,
						.from = name->from};

		if (s->wanted[i] && (all || !watch_exists(&s->watch, i))) {
			ARENA_PUSH(&arena, &wants, want);
		}
	}
	bool ok = wants.n == 0 || placeholders_make(&s->placeholders, wants.v, wants.n, err);
	arena_release(&arena);
	return ok;
}

static bool set_up(struct state *s, const struct warden_config *config, struct err *err)
{
	struct warden_name *names = arena_alloc(&s->arena, config->count * sizeof(*names));

	memcpy(names, config->names, config->count * sizeof(*names));
	guard_sort(names, config->count);
	choose_wanted(s, names, config->count);
	return watch_init(&s->watch, names, config->count, err) && make_missing(s, true, err) &&
	       watch_start(&s->watch, err);
}

static void say(int fd, enum warden_kind_of_msg kind, uint32_t seq, int pass)
{
	struct warden_msg msg = {kind, seq};

	if (fd >= 0) {
		warden_wire_send(fd, &msg, sizeof(msg), &pass, pass >= 0 ? 1 : 0);
	}
}

static void say_err(struct state *s, enum warden_kind_of_msg kind, const struct err *err)
{
	struct warden_failure failure = {.head = {kind, 0}, .err = *err};

	if (s->supervisor_fd >= 0) {
		warden_wire_send(s->supervisor_fd, &failure, sizeof(failure), NULL, 0);
	}
}

/* One message of init; true when it is of `kind` with `seq`. */
static bool hear_init(struct state *s, enum warden_kind_of_msg kind, uint32_t seq)
{
	union warden_any msg;
	int fds[WARDEN_MSG_FDS];
	int got = warden_wire_receive(s->init_fd, false, &msg, fds);

	if (got < 0) {
		fd_close(&s->init_fd);
		return false;
	}
	if (got == 1 && msg.head.kind == WARDEN_MSG_MOUNTED) {
		s->mounted = true;
	}
	if (got == 1 && msg.head.kind == WARDEN_MSG_EMPTY) {
		s->empty = true;
		s->over = true;
	}
	return got == 1 && msg.head.kind == kind && msg.head.seq == seq;
}

static void freeze(struct state *s)
{
	long end = now_ms() + FREEZE_MS;

	say(s->init_fd, WARDEN_MSG_FREEZE, ++s->seq, -1);
	while (s->init_fd >= 0 && wait_for(s->init_fd, end - now_ms())) {
		if (hear_init(s, WARDEN_MSG_FROZEN, s->seq)) {
			return;
		}
	}
}

/* How the helper ended. */
enum outcome { OUTCOME_COVERED = 1, OUTCOME_ABSENT, OUTCOME_FAILED };

struct result {
	enum outcome outcome;
	struct err err;
};

/* In the helper: covers the marked names that are not covered. */
static void cover_marked(const struct state *s, struct result *ret)
{
	if (setns(s->userns, CLONE_NEWUSER) < 0 || setns(s->mntns, CLONE_NEWNS) < 0) {
		err_set(&ret->err, ERR_SETUP, errno, "cannot join the sandbox's namespaces");
		return;
	}
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret->outcome = OUTCOME_COVERED;
	for (size_t i = watch_next(&s->watch, 0); i != WATCH_NO_GUARD;
	     i = watch_next(&s->watch, i + 1)) {
		const struct warden_name *name = &s->watch.names[i];

		if (guard_is_covered(root, name) || guard_cover(root, name, &ret->err)) {
			continue;
		}
		/* Nothing to cover; when it comes there is an event again. */
		if (ret->err.sys == ENOENT && !s->wanted[i]) {
			continue;
		}
		ret->outcome = ret->err.sys == ENOENT ? OUTCOME_ABSENT : OUTCOME_FAILED;
		if (ret->outcome == OUTCOME_FAILED) {
			break;
		}
	}
}

static _Noreturn void helper(const struct state *s, int out)
{
	struct result result;

	memset(&result, 0, sizeof(result));
	result.outcome = OUTCOME_FAILED;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cover_marked(s, &result);
	_exit(fd_write_all(out, &result, sizeof(result)) ? 0 : 1);
}

static enum outcome run_helper(struct state *s, struct err *err)
{
	int out[2];
	struct result result;
	ssize_t got = -1;

	if (pipe2(out, O_CLOEXEC) < 0) {
		err_set(err, ERR_SETUP, errno, "cannot start the helper that covers a name");
		return OUTCOME_FAILED;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(out[0]);
		helper(s, out[1]);
	}
	close(out[1]);
	if (pid > 0) {
		if (wait_for(out[0], HELPER_MS)) {
			got = fd_read_all(out[0], &result, sizeof(result));
		} else {
			kill(pid, SIGKILL);
		}
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
		}
	}
	close(out[0]);
	if (got != (ssize_t)sizeof(result)) {
		err_set(err, ERR_SETUP, 0, "the helper that covers a name was killed or hung");
		return OUTCOME_FAILED;
	}
	*err = result.err;
	return result.outcome;
}

static bool any_missing(const struct state *s)
{
	for (size_t i = watch_next(&s->watch, 0); i != WATCH_NO_GUARD;
	     i = watch_next(&s->watch, i + 1)) {
		if (s->wanted[i] && !watch_exists(&s->watch, i)) {
			return true;
		}
	}
	return false;
}

/* Gives names that went away the time to come back. */
static bool settle(struct state *s, struct err *err)
{
	long end = now_ms() + GRACE_MS;
	bool ok = watch_refresh(&s->watch, err);

	while (ok && any_missing(s) && wait_for(s->watch.fd, end - now_ms())) {
		watch_read(&s->watch);
		ok = watch_refresh(&s->watch, err);
	}
	return ok;
}

/* With the run frozen: until every marked name is covered and no event is left. */
static bool cover_again(struct state *s, struct err *err)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		if (!settle(s, err) || !make_missing(s, false, err)) {
			return false;
		}
		/* What we just made, too: folders on the way are watched from now on. */
		watch_read(&s->watch);
		if (!watch_refresh(&s->watch, err)) {
			return false;
		}
		enum outcome outcome = run_helper(s, err);
		if (outcome == OUTCOME_FAILED) {
			return false;
		}
		if (outcome == OUTCOME_COVERED) {
			watch_clear(&s->watch);
		}
		watch_read(&s->watch);
		if (!s->watch.any_dirty) {
			return true;
		}
	}
	return err_set(err, ERR_SETUP, 0, "a guarded name keeps changing on disk");
}

static void end_run(struct state *s, struct err *err)
{
	err_hint(err, "the run was ended: a name that has to stay closed changed outside and could "
		      "not be closed again");
	sys_pidfd_send_signal(s->init_pidfd, SIGKILL);
	say_err(s, WARDEN_MSG_FAILED, err);
	s->over = true;
}

static void note(struct state *s, const struct warden_name *name, const char *what,
		 const char *new_name)
{
	char shown[512];
	char moved[300];
	struct err err;

	err_set(&err, ERR_SETUP, 0, "%s %s while the program ran, maybe by it",
		str_printable(name->path, shown, sizeof(shown)), what);
	err_hint(&err, "%s%s: look at what is in it before you use it",
		 new_name != NULL ? "it was set aside as " : "it was left",
		 new_name != NULL ? str_printable(new_name, moved, sizeof(moved)) : "");
	err_at(&err, &name->from);
	say_err(s, WARDEN_MSG_NOTE, &err);
}

/* Names whose content runs outside and that changed before the run was frozen: the program may
 * have made what stands there. Where our placeholder had been, nobody else should have: it is set
 * aside. What took the place of the user's own is the user's to judge. */
static bool judge_replaced(struct state *s, struct err *err)
{
	for (size_t i = watch_next(&s->watch, 0); i != WATCH_NO_GUARD;
	     i = watch_next(&s->watch, i + 1)) {
		const struct warden_name *name = &s->watch.names[i];
		char new_name[NAME_MAX + 1];

		if (name->kind != WARDEN_PIN) {
			continue;
		}
		if (!placeholders_listed(&s->placeholders, name->path)) {
			if (watch_was_replaced(&s->watch, i)) {
				note(s, name, "was removed and made anew", NULL);
			}
			continue;
		}
		switch (aside_move(watch_base_fd(&s->watch, i), name->path + name->base_len + 1,
				   new_name, sizeof(new_name), err)) {
		case ASIDE_MOVED:
			note(s, name, "was made", new_name);
			break;
		case ASIDE_FAILED:
			err_at(err, &name->from);
			return false;
		case ASIDE_NOTHING:
			break;
		}
	}
	return true;
}

static void take_changes(struct state *s)
{
	struct err err;

	watch_read(&s->watch);
	if (!s->watch.any_dirty || watch_next(&s->watch, 0) == WATCH_NO_GUARD) {
		watch_clear(&s->watch);
		return;
	}
	freeze(s);
	watch_read(&s->watch);
	if (!judge_replaced(s, &err) || !cover_again(s, &err)) {
		end_run(s, &err);
		return;
	}
	say(s->init_fd, WARDEN_MSG_THAW, s->seq, -1);
}

static void hear_supervisor(struct state *s)
{
	union warden_any msg;
	int fds[WARDEN_MSG_FDS];
	int got = warden_wire_receive(s->supervisor_fd, false, &msg, fds);

	if (got == 1 && msg.head.kind == WARDEN_MSG_ATTACH && s->init_pidfd < 0) {
		s->init_pidfd = fds[0];
		s->userns = fds[1];
		s->mntns = fds[2];
	} else if (got == 1 && msg.head.kind == WARDEN_MSG_OVER) {
		s->over = true;
	} else if (got != 0) {
		fd_close(&s->supervisor_fd);
		s->over = true;
		s->kill_init = true;
	}
}

/* Sleeps until something happens. */
static void look_around(struct state *s)
{
	bool inside = s->mounted && s->mntns >= 0;
	struct pollfd p[] = {
		{.fd = s->supervisor_fd, .events = POLLIN},
		{.fd = s->supervisor_pidfd, .events = POLLIN},
		{.fd = s->init_fd, .events = POLLIN},
		{.fd = s->init_pidfd, .events = POLLIN},
		{.fd = inside ? s->watch.fd : -1, .events = POLLIN},
	};

	if (poll(p, sizeof(p) / sizeof(p[0]), -1) < 0) {
		return;
	}
	if (p[0].revents != 0) {
		hear_supervisor(s);
	}
	if (p[1].revents != 0) {
		s->over = true;
		s->kill_init = true;
	}
	if (p[2].revents != 0) {
		hear_init(s, WARDEN_MSG_MOUNTED, 0);
	}
	if (p[3].revents != 0) {
		/* Init is dead, and with it everything inside. */
		s->over = true;
	} else if (p[4].revents != 0) {
		take_changes(s);
	}
}

/* Until nothing of the run can be alive: init's pidfd, or the end of its socket, tells. */
static void wait_for_init(struct state *s)
{
	if (s->empty) {
		return;
	}
	if (s->kill_init && s->init_pidfd >= 0) {
		sys_pidfd_send_signal(s->init_pidfd, SIGKILL);
	}
	if (s->init_pidfd >= 0) {
		if (!wait_for(s->init_pidfd, INIT_DEATH_MS)) {
			sys_pidfd_send_signal(s->init_pidfd, SIGKILL);
			wait_for(s->init_pidfd, INIT_DEATH_MS);
		}
		return;
	}
	long end = now_ms() + INIT_DEATH_MS;
	while (s->init_fd >= 0 && wait_for(s->init_fd, end - now_ms())) {
		hear_init(s, WARDEN_MSG_MOUNTED, 0);
	}
}

_Noreturn void warden_main(const struct warden_config *config, int supervisor_fd, int init_fd,
			   pid_t supervisor)
{
	struct state s = {.supervisor_fd = supervisor_fd,
			  .supervisor_pidfd = -1,
			  .init_fd = init_fd,
			  .init_pidfd = -1,
			  .userns = -1,
			  .mntns = -1};
	struct err err;

	placeholders_init(&s.placeholders, config->state_folder);
	become_warden(&s, supervisor);
	if (s.over) {
		_exit(0);
	}
	if (set_up(&s, config, &err)) {
		say(s.supervisor_fd, WARDEN_MSG_READY, 0, s.placeholders.run_fd);
		say(s.init_fd, WARDEN_MSG_READY, 0, -1);
	} else {
		placeholders_end(&s.placeholders, true);
		say_err(&s, WARDEN_MSG_FAILED, &err);
		_exit(0);
	}
	while (!s.over) {
		look_around(&s);
	}
	wait_for_init(&s);
	placeholders_end(&s.placeholders, true);
	say(s.supervisor_fd, WARDEN_MSG_DONE, 0, -1);
	_exit(0);
}
