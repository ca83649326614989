/* The supervisor: starts warden and init, passes signals, stops and the terminal on, and tells how
 * it ended. */
#include "confine/confine.h"

#include "base/fd.h"
#include "base/str.h"
#include "base/testguard.h"
#include "confine/bare.h"
#include "confine/init.h"
#include "confine/late.h"
#include "confine/mounts.h"
#include "confine/namespaces.h"
#include "confine/sys.h"
#include "confine/wire.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

struct supervisor {
	const struct confine_config *config;
	struct confine_result *result;
	struct err *err;
	struct warden warden;
	struct tracer tracer;
	int wire;
	int pidfd;
	pid_t init;
	int late;  /* programs come over it; -1: there is but one */
	bool busy; /* one has come, and the next message there is init's */
	int null;
	int signals;
	int continued; /* SIGCONTs told to init */
	int terminal;  /* one of 0 to 2, or -1 */
	bool apart;    /* the sandbox is no part of the caller's job */
	struct termios modes;
	sigset_t mask; /* as the caller had it */
	bool over;
	bool ok;
};

/* Signals for the program; those from the terminal reach it without us. */
static const int forwarded[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

static bool watch_signals(struct supervisor *s)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++) {
		sigaddset(&set, forwarded[i]);
	}
	sigaddset(&set, SIGCONT);
	if (sigprocmask(SIG_BLOCK, &set, &s->mask) < 0) {
		return err_set(s->err, ERR_SETUP, errno, "cannot block signals");
	}
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals >= 0 || err_set(s->err, ERR_SETUP, errno, "cannot watch for signals");
}

/* Stops are mirrored, never taken directly; and taking the terminal back must not stop us. After
 * the clone: the program keeps what the caller had. */
static void ignore_stops(void)
{
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
}

static bool start_warden(struct supervisor *s)
{
	const struct plan *plan = s->config->plan;
	size_t n = 0;

	for (size_t i = 0; i < plan->ops.n; i++) {
		n += (plan->ops.v[i].flags & PLAN_GUARDED) != 0 ? 1 : 0;
	}
	if (!guard_on("warden")) {
		n = 0;
	}
	struct warden_name *names = n == 0 ? NULL : calloc(n, sizeof(*names));
	if (n > 0 && names == NULL) {
		return err_set(s->err, ERR_SETUP, errno, "cannot start the warden");
	}
	size_t at = 0;
	for (size_t i = 0; i < plan->ops.n && at < n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		if ((op->flags & PLAN_GUARDED) != 0) {
			names[at++] = mounts_guarded_name(op);
		}
	}
	struct warden_config config = {names, n, s->config->machine->state_folder};
	bool ok = warden_start(&config, &s->warden, s->err);
	free(names);
	return ok;
}

static bool start_tracer(struct supervisor *s)
{
	return s->config->refused == NULL || tracer_start(s->config->starts, &s->tracer, s->err);
}

static bool start_init(struct supervisor *s)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return err_set(s->err, ERR_SETUP, errno, "cannot make a socket pair");
	}
	s->wire = pair[0];
	const struct plan *plan = s->config->plan;
	pid_t pid = plan->bare ? bare_fork(&s->pidfd, s->err)
			       : namespaces_clone(plan->net.host_mode, &s->pidfd, s->err);
	if (pid == 0) {
		struct init_config init = {s->config,         &s->warden, pair[1],
					   s->tracer.init_fd, &s->mask,   s->apart};

		close(pair[0]);
		tracer_leave(&s->tracer);
		if (plan->bare) {
			bare_main(&init);
		}
		init_main(&init);
	}
	close(pair[1]);
	if (s->config->door >= 0) {
		close(s->config->door);
	}
	if (s->config->broker >= 0) {
		close(s->config->broker);
	}
	warden_started_init(&s->warden);
	tracer_started_init(&s->tracer);
	s->init = pid;
	return pid > 0;
}

/* The terminal back from a group of the sandbox that is dead; a living one keeps it. */
static void take_terminal(const struct supervisor *s)
{
	pid_t group = s->terminal < 0 ? -1 : tcgetpgrp(s->terminal);

	if (group > 0 && group != getpgrp() && kill(-group, 0) < 0 && errno == ESRCH) {
		tcsetpgrp(s->terminal, getpgrp());
	}
}

/* Nothing of the program that came is kept: not its descriptors, not its process group. */
static void leave_call(struct supervisor *s)
{
	for (int fd = 0; fd < 3; fd++) {
		dup2(s->null, fd);
	}
	s->terminal = -1;
	setpgid(0, 0);
	setpgid(s->init, 0);
}

static void ended(struct supervisor *s, const struct wire *m)
{
	struct confine_result *r = s->result;
	int status = m->number;

	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	r->left = m->u.left.count;
	memcpy(r->left_names, m->u.left.names, sizeof(r->left_names));
	r->left_names[sizeof(r->left_names) - 1] = '\0';
	s->ok = true;
	s->over = s->late < 0;
	/* A program that was killed had no chance to put the terminal right. */
	if (WIFSIGNALED(status) && s->terminal >= 0) {
		tcsetattr(s->terminal, TCSADRAIN, &s->modes);
	}
	if (s->config->ended != NULL) {
		take_terminal(s);
	}
	if (s->late >= 0) {
		leave_call(s);
	}
	if (s->config->ended != NULL) {
		s->config->ended(r->status, s->config->context);
	}
}

static void forward_signals(struct supervisor *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		struct wire m = {.kind = WIRE_SIGNAL, .number = (int)si.ssi_signo};

		if (si.ssi_signo == SIGCONT) {
			m = (struct wire){.kind = WIRE_CONTINUE, .number = ++s->continued};
			wire_send(s->wire, &m);
		} else if (si.ssi_code != SI_KERNEL || s->apart) {
			/* The terminal signals its whole job, the program among it. */
			wire_send(s->wire, &m);
		}
	}
}

/* The program was stopped: so are we, for the shell to see. Woken again, we wake the program. */
static void mirror_stop(struct supervisor *s, const struct wire *stopped)
{
	/* Had we been woken since, nobody would wake us again: the job's shell saw its other
	 * processes stop, and sends but one SIGCONT. */
	forward_signals(s);
	if (stopped->number >= s->continued) {
		raise(SIGSTOP);
	}
}

static void hear_warden(struct supervisor *s)
{
	struct err err;

	switch (warden_read(&s->warden, &err)) {
	case WARDEN_FAILED:
	case WARDEN_GONE:
		*s->err = err;
		sys_pidfd_send_signal(s->pidfd, SIGKILL);
		s->over = true;
		break;
	case WARDEN_READY:
	case WARDEN_NONE:
	case WARDEN_NOTE:
	case WARDEN_DONE:
		break;
	}
}

static void hear_init(struct supervisor *s)
{
	struct wire m;

	if (!wire_receive(s->wire, &m)) {
		s->over = true;
		if (s->ok) {
			return; /* the last program has left the sandbox other than it was */
		}
		/* The warden may have ended it, and said why. */
		hear_warden(s);
		if (s->err->code == 0) {
			err_set(s->err, ERR_SETUP, 0,
				"the run was ended: the sandbox's %s was killed",
				s->config->plan->bare ? "keeper" : "init");
		}
		return;
	}
	switch (m.kind) {
	case WIRE_FAILED:
		*s->err = m.u.err;
		s->over = true;
		break;
	case WIRE_STOPPED:
		mirror_stop(s, &m);
		break;
	case WIRE_ENDED:
		ended(s, &m);
		break;
	case WIRE_AGAIN:
		s->busy = false;
		s->config->again(s->config->context);
		break;
	case WIRE_SIGNAL:
	case WIRE_CONTINUE:
	case WIRE_START:
		break;
	}
}

/* A job without a terminal has, as a rule, nobody who watches it: of such a group the kernel hangs
 * up all when one of it is stopped and another ends, and that the program could bring about. */
static bool has_no_terminal(void)
{
	auto_close int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	return guard_on("job") && fd < 0;
}

static void hear_tracer(struct supervisor *s)
{
	struct tracer_refusal refusal;

	if (tracer_read(&s->tracer, &refusal)) {
		s->config->refused(&refusal, s->config->context);
	} else {
		tracer_close(&s->tracer); /* the program has ended, or will: init tells */
	}
}

/* What it had to say before the end of the program is all there by now. */
static void end_tracer(struct supervisor *s)
{
	while (s->ok && s->tracer.fd >= 0) {
		hear_tracer(s);
	}
	tracer_close(&s->tracer);
}

static int find_terminal(struct termios *modes)
{
	for (int fd = 0; fd < 3; fd++) {
		if (tcgetattr(fd, modes) == 0) {
			return fd;
		}
	}
	return -1;
}

/* The program has come: its descriptors and its process group are ours too, and init's, which
 * cannot name the group from where it is. */
static void begin_late(struct supervisor *s)
{
	struct wire m = {.kind = WIRE_START};
	struct late late;

	if (!late_begin(s->late, &late)) {
		err_set(s->err, ERR_SETUP, 0, "no program came");
		sys_pidfd_send_signal(s->pidfd, SIGKILL);
		s->over = true;
		return;
	}
	s->ok = false;
	s->busy = true;
	for (int fd = 0; fd < 3; fd++) {
		dup2(late.fds[fd], fd);
		fd_close(&late.fds[fd]);
	}
	/* Of a group that is gone by now nobody is left who could miss us there. */
	setpgid(0, late.group);
	setpgid(s->init, late.group);
	s->terminal = find_terminal(&s->modes);
	wire_send(s->wire, &m);
}

static void supervise(struct supervisor *s)
{
	struct pollfd fds[] = {
		{.fd = s->wire, .events = POLLIN},      {.fd = s->warden.fd, .events = POLLIN},
		{.fd = s->signals, .events = POLLIN},   {.fd = s->late, .events = POLLIN},
		{.fd = s->tracer.fd, .events = POLLIN},
	};

	while (!s->over) {
		fds[3].fd = s->busy ? -1 : s->late;
		fds[4].fd = s->tracer.fd;
		if (poll(fds, ARRAY_LEN(fds), -1) < 0) {
			continue;
		}
		/* What the warden says explains why init is gone: it goes first. */
		if (fds[1].revents != 0) {
			hear_warden(s);
		}
		if (fds[2].revents != 0 && !s->over) {
			forward_signals(s);
		}
		if (fds[0].revents != 0 && !s->over) {
			hear_init(s);
		}
		if (fds[3].revents != 0 && !s->over) {
			begin_late(s);
		}
		if (fds[4].revents != 0 && !s->over) {
			hear_tracer(s);
		}
	}
}

static void reap_init(struct supervisor *s)
{
	siginfo_t si;

	if (s->pidfd < 0) {
		return;
	}
	if (!s->ok) {
		sys_pidfd_send_signal(s->pidfd, SIGKILL);
	}
	while (waitid(P_PIDFD, (id_t)s->pidfd, &si, WEXITED) < 0 && errno == EINTR) {
	}
	if (!s->ok && s->config->plan->bare) {
		bare_end();
	}
}

bool confine_run(const struct confine_config *config, struct confine_result *ret_result,
		 struct err *err)
{
	struct confine_result result = {.status = 0};
	struct err failure = {.code = 0};
	struct supervisor s = {
		.config = config,
		.result = &result,
		.err = &failure,
		.warden = {.pid = -1, .fd = -1, .init_fd = -1, .run_fd = -1},
		.tracer = {-1, -1, -1},
		.wire = -1,
		.pidfd = -1,
		.signals = -1,
		.late = config->late,
		.null = config->late < 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC),
	};

	s.terminal = find_terminal(&s.modes);
	/* One that comes late joins the job of who called it. */
	s.apart = s.terminal < 0 && config->late < 0 && has_no_terminal();
	if (watch_signals(&s) && start_warden(&s) && start_tracer(&s) && start_init(&s)) {
		ignore_stops();
		supervise(&s);
	}
	warden_over(&s.warden);
	end_tracer(&s);
	reap_init(&s);
	result.trace_lost = !tracer_finish(&s.tracer);
	warden_finish(&s.warden);
	take_terminal(&s);
	fd_close(&s.wire);
	fd_close(&s.pidfd);
	fd_close(&s.signals);
	fd_close(&s.late);
	fd_close(&s.null);
	result.notes = s.warden.notes;
	result.nnotes = s.warden.nnotes;
	*ret_result = result;
	if (!s.ok) {
		*err = failure;
	}
	return s.ok;
}
