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

#include "base/clock.h"
#include "base/fd.h"
#include "confine/sys.h"
#include "confine/warden_keep.h"

#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* How long init has to die by itself when the run is over, then again after it was killed. */
#define INIT_DEATH_MS 2000

/* Init answers a freeze at once unless the machine is overloaded; covering goes on without. */
#define FREEZE_MS 250

struct state {
	int supervisor_fd; /* -1 when the supervisor is gone */
	int supervisor_pidfd;
	int init_fd;    /* -1 when init's end is closed */
	int init_pidfd; /* -1 until attached */
	bool mounted;   /* init has covered every name */
	bool over;      /* the run is over, or everybody who could say so is gone */
	bool kill_init; /* nobody else will end it */
	bool empty;     /* nothing lives but init, which said so */
	uint32_t seq;
	struct keep keep;
};

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

static bool say(int fd, enum warden_kind_of_msg kind, uint32_t seq, int pass)
{
	struct warden_msg msg = {kind, seq};

	return fd >= 0 && warden_wire_send(fd, &msg, sizeof(msg), &pass, pass >= 0 ? 1 : 0);
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
	long end = clock_now_ms() + FREEZE_MS;

	say(s->init_fd, WARDEN_MSG_FREEZE, ++s->seq, -1);
	while (s->init_fd >= 0 && clock_wait_for(s->init_fd, end - clock_now_ms())) {
		if (hear_init(s, WARDEN_MSG_FROZEN, s->seq)) {
			return;
		}
	}
}

static void end_run(struct state *s, struct err *err)
{
	err_hint(err, "the run was ended: a name that has to stay closed changed outside and could "
		      "not be closed again");
	sys_pidfd_send_signal(s->init_pidfd, SIGKILL);
	say_err(s, WARDEN_MSG_FAILED, err);
	s->over = true;
}

static void pass_note(void *context, const struct err *note)
{
	say_err(context, WARDEN_MSG_NOTE, note);
}

static void take_changes(struct state *s)
{
	struct err err;

	if (!keep_changed(&s->keep)) {
		return;
	}
	freeze(s);
	if (!keep_again(&s->keep, pass_note, s, &err)) {
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
		s->keep.userns = fds[1];
		s->keep.mntns = fds[2];
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
	bool inside = s->mounted && s->keep.mntns >= 0;
	struct pollfd p[] = {
		{.fd = s->supervisor_fd, .events = POLLIN},
		{.fd = s->supervisor_pidfd, .events = POLLIN},
		{.fd = s->init_fd, .events = POLLIN},
		{.fd = s->init_pidfd, .events = POLLIN},
		{.fd = inside ? s->keep.watch.fd : -1, .events = POLLIN},
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
		if (!clock_wait_for(s->init_pidfd, INIT_DEATH_MS)) {
			sys_pidfd_send_signal(s->init_pidfd, SIGKILL);
			clock_wait_for(s->init_pidfd, INIT_DEATH_MS);
		}
		return;
	}
	long end = clock_now_ms() + INIT_DEATH_MS;
	while (s->init_fd >= 0 && clock_wait_for(s->init_fd, end - clock_now_ms())) {
		hear_init(s, WARDEN_MSG_MOUNTED, 0);
	}
}

_Noreturn void warden_main(const struct warden_config *config, int supervisor_fd, int init_fd,
			   pid_t supervisor)
{
	struct state s = {.supervisor_fd = supervisor_fd,
			  .supervisor_pidfd = -1,
			  .init_fd = init_fd,
			  .init_pidfd = -1};
	struct err err;

	become_warden(&s, supervisor);
	if (s.over) {
		_exit(0);
	}
	bool ready = keep_start(&s.keep, config, &err);
	/* Who is waited for and cannot say so has to go, or nobody would. */
	if (ready && (!say(s.supervisor_fd, WARDEN_MSG_READY, 0, s.keep.placeholders.run_fd) ||
		      !say(s.init_fd, WARDEN_MSG_READY, 0, -1))) {
		ready = err_set(&err, ERR_SETUP, errno, "the warden cannot be heard");
	}
	if (!ready) {
		keep_end(&s.keep);
		say_err(&s, WARDEN_MSG_FAILED, &err);
		_exit(0);
	}
	while (!s.over) {
		look_around(&s);
	}
	wait_for_init(&s);
	keep_end(&s.keep);
	say(s.supervisor_fd, WARDEN_MSG_DONE, 0, -1);
	_exit(0);
}
