#include "confine/bare.h"

#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "base/testguard.h"
#include "confine/clerk.h"
#include "confine/landlock.h"
#include "confine/namespaces.h"
#include "confine/program.h"
#include "confine/seccomp/seccomp.h"
#include "confine/sys.h"
#include "confine/wire.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* How long bare_end waits for what it killed. */
#define END_STEPS   200
#define END_STEP_NS 10000000L

struct keeper {
	const struct init_config *config;
	int signals;
	bool drawn; /* its line: before that kill(-1) would reach lnk too, and nobody is there */
	pid_t program;
};

/* Orphans come to the caller, nothing that it starts gains rights by a set-id file, and the line is
 * drawn. `outside` is a process of the same user beyond it: whatever the kernel answered, kill(-1)
 * is never called where that could be signalled. */
static bool hold_children(pid_t outside, struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot keep the sandbox's processes");
	}
	if (!landlock_scope(err)) {
		return false;
	}
	return (kill(outside, 0) < 0 && errno == EPERM) ||
	       err_set(err, ERR_SETUP, 0,
		       "Landlock does not keep signals in the sandbox, against what the kernel "
		       "says");
}

/* The child goes on when the parent can name it, and not otherwise. */
static bool hear_go(int from)
{
	char go;

	return read(from, &go, 1) == 1;
}

/* The supervisor's line. What is beyond it for sure is a child from before. */
static bool draw_line(struct err *err)
{
	auto_close int from = -1;
	auto_close int to = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot make a pipe");
	}
	from = ends[0];
	to = ends[1];
	pid_t outside = fork();
	if (outside == 0) {
		fd_close(&to);
		_exit(hear_go(from) ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	if (outside < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot start a process");
	}
	bool ok = hold_children(outside, err);

	(void)!write(to, "", 1);
	fd_close(&to); /* where it is not told, it hears this */
	while (waitpid(outside, NULL, 0) < 0 && errno == EINTR) {
	}
	return ok;
}

pid_t bare_fork(int *ret_pidfd, struct err *err)
{
	auto_close int from = -1;
	auto_close int to = -1;
	int ends[2];

	if (!draw_line(err)) {
		return -1;
	}
	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_set(err, ERR_SETUP, errno, "cannot make a pipe");
		return -1;
	}
	from = ends[0];
	to = ends[1];
	pid_t pid = fork();
	if (pid == 0) {
		fd_close(&to);
		if (!hear_go(from)) {
			_exit(EXIT_FAILURE);
		}
		return 0;
	}
	*ret_pidfd = pid < 0 ? -1 : sys_pidfd_open(pid);
	if (*ret_pidfd < 0 || write(to, "", 1) != 1) {
		err_set(err, ERR_SETUP, errno, "cannot start the keeper of the sandbox");
		return -1;
	}
	return pid;
}

/* A socket that is not connected for good could be connected, or sent, to servers of the user's. */
static bool check_socket(int fd, struct err *err)
{
	struct sockaddr_storage peer;
	socklen_t n = sizeof(int);
	int domain = 0;
	int type = 0;
	int listens = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0 || domain != AF_UNIX) {
		return true;
	}
	n = sizeof(int);
	bool known = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0;
	n = sizeof(int);
	known = known && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0;
	n = sizeof(peer);
	if (known && type != SOCK_DGRAM &&
	    (listens != 0 || getpeername(fd, (struct sockaddr *)&peer, &n) == 0)) {
		return true;
	}
	err_set(err, ERR_SETUP, 0,
		"descriptor %d is a Unix socket that could be sent or connected elsewhere", fd);
	return err_hint(err, "pass a file or a pipe, or run without --without-namespaces");
}

/* The second one's questions are the clerk's to answer, from now on. */
static bool load_filters(const struct confine_config *c, int clerk, struct err *err)
{
	auto_close int listener = -1;
	char hello = 0;

	if (!seccomp_load(c->plan->commands_listed ? SECCOMP_COMMANDS : SECCOMP_PLAIN, err) ||
	    !seccomp_load_asking(c->plan->net.host_mode ? SECCOMP_BARE_HOST_NETWORK : SECCOMP_BARE,
				 &listener, err)) {
		return false;
	}
	return (pass_send(clerk, &hello, sizeof(hello), &listener, 1) &&
		read(clerk, &hello, 1) == 1) ||
	       err_set(err, ERR_SETUP, errno, "cannot hand over the filter's questions");
}

/* The last of the set-up, in the process that becomes the program. */
static bool give_up_rights(const struct confine_config *c, int clerk, struct err *err)
{
	int ruleset = -1;

	for (int fd = 0; fd < 3; fd++) {
		if (!check_socket(fd, err)) {
			return false;
		}
	}
	for (size_t i = 0; i < c->nkeep_fds; i++) {
		if (!check_socket(c->keep_fds[i], err)) {
			return false;
		}
	}
	return program_limits(err) &&
	       landlock_rules(c->plan, c->landlock_abi, NULL, &ruleset, err) &&
	       program_enter(c, ruleset, err) &&
	       (!guard_on("seccomp") || load_filters(c, clerk, err));
}

static void __attribute__((noreturn))
become_program(const struct init_config *config, int clerk, pid_t keeper)
{
	struct wire m = {.kind = WIRE_FAILED};

	/* It goes with the keeper, even where that is killed beside lnk. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper) {
		err_set(&m.u.err, ERR_SETUP, errno, "cannot tie the program to lnk");
	} else if (config->apart && setsid() < 0) {
		/* A group would not do: it could go back to the caller's. */
		err_set(&m.u.err, ERR_SETUP, errno, "cannot leave lnk's session");
	} else if (give_up_rights(config->confine, clerk, &m.u.err)) {
		(void)program_become(config->confine, config->mask, &m.u.err);
	}
	wire_send(config->supervisor, &m);
	_exit(EXIT_FAILURE);
}

/* Everything below the keeper's line, and then its waits. */
static void end_all(void)
{
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
		/* What was forked while others died; there is none as a rule. */
		kill(-1, SIGKILL);
	}
}

static void reap(struct keeper *k)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		struct wire m = {.kind = WIRE_ENDED, .number = status};

		if (pid != k->program) {
			continue;
		}
		if (WIFSTOPPED(status)) {
			m.kind = WIRE_STOPPED;
			m.number = WSTOPSIG(status);
			wire_send(k->config->supervisor, &m);
			continue;
		}
		end_all();
		wire_send(k->config->supervisor, &m);
		_exit(EXIT_SUCCESS);
	}
}

static void obey(struct keeper *k)
{
	struct wire m;

	if (!wire_receive(k->config->supervisor, &m)) {
		end_all(); /* lnk is gone */
		_exit(EXIT_FAILURE);
	}
	if (m.kind == WIRE_SIGNAL) {
		kill(k->program, m.number);
	} else if (m.kind == WIRE_CONTINUE) {
		kill(k->program, SIGCONT);
	}
}

static void __attribute__((noreturn)) serve(struct keeper *k)
{
	struct pollfd fds[] = {
		{.fd = k->signals, .events = POLLIN},
		{.fd = k->config->supervisor, .events = POLLIN},
	};

	for (;;) {
		if (poll(fds, ARRAY_LEN(fds), -1) < 0) {
			continue;
		}
		if (fds[0].revents != 0) {
			struct signalfd_siginfo si;

			(void)!read(k->signals, &si, sizeof(si));
			reap(k);
		}
		if (fds[1].revents != 0) {
			obey(k);
		}
	}
}

/* Forks the program's process; and beside it the clerk is started, and a session of the keeper's
 * own. The program stays in the caller's session and group, if there is a terminal; whoever ends
 * that group does not end the keeper with it. */
static bool start(struct keeper *k, struct err *err)
{
	pid_t self = getpid();
	int pair[2];

	/* The clerk is no more than the program's user; nor is the program. */
	k->drawn = hold_children(getppid(), err);
	if (!k->drawn || !namespaces_drop_own_capabilities(err)) {
		return false;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot make a socket pair");
	}
	k->program = fork();
	if (k->program == 0) {
		close(pair[0]); /* or the clerk's end would never be seen to close */
		become_program(k->config, pair[1], self);
	}
	close(pair[1]);
	if (k->program < 0 || setsid() < 0 || prctl(PR_SET_DUMPABLE, 0) < 0) {
		close(pair[0]);
		return err_set(err, ERR_SETUP, errno, "cannot start the program");
	}
	return clerk_start(k->config->confine->plan, pair[0], err);
}

void bare_main(const struct init_config *config)
{
	struct keeper k = {.config = config, .signals = -1};
	struct wire m = {.kind = WIRE_FAILED};
	sigset_t all;
	sigset_t child;

	/* Until it has a session of its own, what the terminal sends is for the program. */
	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "lnk-keeper");
	k.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k.signals < 0) {
		err_set(&m.u.err, ERR_SETUP, errno, "cannot watch for signals");
	} else if (start(&k, &m.u.err)) {
		serve(&k);
	}
	wire_send(config->supervisor, &m);
	if (k.drawn) {
		end_all();
	}
	_exit(EXIT_FAILURE);
}

void bare_end(void)
{
	const struct timespec step = {.tv_nsec = END_STEP_NS};

	kill(-1, SIGKILL);
	/* Children that lnk had before it was lnk are none of ours, and may live on. */
	for (int i = 0; i < END_STEPS; i++) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		}
		if (pid < 0) {
			return;
		}
		nanosleep(&step, NULL);
	}
}
