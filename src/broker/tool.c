/* The process of a tool's call, once it is judged: starts the tool, passes signals on, tells how it
 * ends, and sees to it that nothing of it stays.
 *
 * Where the shim is of the terminal's session (it did not make a terminal of its own), the tool
 * joins the shim's process group: it is then of the same job as whatever the shell has put there,
 * and the terminal's keys, stops and turns to read reach it by the kernel alone. */
#include "broker/inner.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "broker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_REFUSED   126
#define EXIT_NOT_FOUND 127

/* From asking a tool to end, as its shim is gone, to killing it. */
#define GRACE_MS 1000L
/* For what it leaves behind to die. */
#define SWEEP_MS 1500L

/* Those that a shim may send, each with its usual meaning. */
static const int passed[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
			     SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

struct running {
	struct handler *h;
	struct waiting *waiting; /* the tool runs there; NULL: in a sandbox of its own */
	pid_t pid;
	bool joined; /* in the shim's group */
	int signals; /* SIGCHLD, SIGTERM */
	int failed;  /* from its process: its status, or a struct err: why it was not run */
	bool why;    /* that has come, and is `err` */
	bool told;   /* the shim has its status */
	bool again;  /* its process waits for another call */
	struct err err;
	uint32_t continued; /* SIGCONTs that the shim has sent */
	long kill_at;       /* the shim is gone; 0: it is not */
	size_t got;         /* bytes of `in` */
	unsigned char in[FRAME_HEAD + 8];
};

/* --- groups -------------------------------------------------------------------------------- */

/* The shim's group; -1: of another session, or gone. Told by SO_PEERCRED, the shim's number may by
 * now be another's of this session: the tool is then of that job, which is no harm. */
static pid_t shim_group(const struct handler *h)
{
	return getsid(h->peer) == getsid(0) ? getpgid(h->peer) : -1;
}

/* Into that group, else into one of its own. Both the tool's process and its parent do it, so that
 * neither goes on before it is done. */
static void enter_group(pid_t pid, pid_t group)
{
	if (group <= 0 || setpgid(pid, group) < 0) {
		setpgid(pid, 0);
	}
}

/* --- the tool's own process ---------------------------------------------------------------- */

/* As they were when the supervisor started. */
static void restore_signals(const struct broker *b)
{
	for (size_t i = 0; i < BROKER_SIGNALS; i++) {
		int number = broker_signals[i];

		signal(number, sigismember(&b->ignored, number) == 1 ? SIG_IGN : SIG_DFL);
	}
	sigprocmask(SIG_SETMASK, &b->mask, NULL);
}

/* Tells how it went, and ends. */
static _Noreturn void end_tool(bool ran, int status, const struct err *err, int failed)
{
	if (ran) {
		_exit(status);
	}
	(void)!write(failed, err, sizeof(*err));
	_exit(EXIT_REFUSED);
}

static _Noreturn void become_tool(struct handler *h, const struct broker_call *call, pid_t parent,
				  pid_t group, int failed)
{
	struct broker *b = h->broker;
	struct err err;
	int status = 0;

	spawn_die_with(parent);
	enter_group(0, group);
	for (int i = 0; i < FRAME_FDS; i++) {
		dup2(h->fds[i], i);
	}
	for (int i = 0; i < FRAME_FDS; i++) {
		fd_close(&h->fds[i]);
	}
	fd_close(&h->client);
	fd_close(&b->told[1]);
	fd_close(&b->turn);
	fd_close(&b->terminal);
	restore_signals(b);
	struct broker_call own = *call;

	own.over = failed;
	bool ran = b->config->run_tool(&own, b->config->context, &status, &err);
	end_tool(ran, status, &err, failed);
}

/* Its descriptors 0 to 2 come with the call; until then they are the broker's. */
static _Noreturn void wait_for_call(struct broker *b, const struct tool *tool, pid_t parent,
				    int late, int failed)
{
	struct err err;
	int status = 0;

	spawn_die_with(parent);
	fd_close(&b->told[1]);
	fd_close(&b->turn);
	fd_close(&b->terminal);
	handler_leave(b, -1);
	restore_signals(b);
	bool ran = b->config->run_late(tool, b->config->context, late, failed, &status, &err);
	end_tool(ran, status, &err, failed);
}

/* --- starting ------------------------------------------------------------------------------ */

/* A signalfd of what a process with a tool hears, or -1. */
static int watch(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* What the tool leaves behind becomes ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool tool_prepare(struct broker *broker, const struct tool *tool, int told,
		  struct waiting *ret_waiting)
{
	const struct broker_config *config = broker->config;
	uint64_t state = config->state(tool, config->context);
	pid_t self = getpid();
	int late[2], failed[2];
	int signals = watch();

	if (!config->prepare(tool, config->context) || signals < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, late) < 0 ||
	    pipe2(failed, O_CLOEXEC | O_NONBLOCK | O_DIRECT) < 0) {
		return false;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(late[0]);
		close(failed[0]);
		close(signals);
		close(told);
		wait_for_call(broker, tool, self, late[1], failed[1]);
	}
	close(late[1]);
	close(failed[1]);
	*ret_waiting = (struct waiting){.pid = pid,
					.tool = tool,
					.state = state,
					.late = late[0],
					.failed = failed[0],
					.signals = signals,
					.told = told};
	return pid > 0;
}

/* In the sandbox that waits. False: it is of no use, and ends by itself. */
static bool start_waiting(struct running *r, const struct broker_call *call,
			  struct waiting *waiting)
{
	const struct broker_config *config = r->h->broker->config;
	pid_t group = shim_group(r->h);
	/* A shim with a terminal of its own needs a tool of another session. */
	bool ok = group > 0 && call->tool == waiting->tool &&
		  config->state(call->tool, config->context) == waiting->state &&
		  setpgid(waiting->pid, group) == 0 &&
		  config->call_late(call, config->context, waiting->late, r->h->fds, group);

	if (!ok) {
		fd_close(&waiting->late);
		fd_close(&waiting->told);
		return false;
	}
	r->pid = waiting->pid;
	r->waiting = waiting;
	r->joined = true;
	r->failed = waiting->failed;
	for (size_t i = 0; i < FRAME_FDS; i++) {
		fd_close(&r->h->fds[i]);
	}
	return true;
}

static bool start(struct running *r, const struct broker_call *call)
{
	pid_t self = getpid();
	pid_t group = shim_group(r->h);
	int failed[2];

	/* A shim with a terminal of its own: the tool must not find the user's at /dev/tty. */
	if (group <= 0) {
		setsid();
	}
	if (r->signals < 0 || pipe2(failed, O_CLOEXEC | O_NONBLOCK | O_DIRECT) < 0) {
		return false;
	}
	r->pid = fork();
	if (r->pid == 0) {
		close(failed[0]);
		close(r->signals);
		become_tool(r->h, call, self, group, failed[1]);
	}
	if (r->pid < 0) {
		return false;
	}
	/* EACCES once it has executed the tool: it has done it itself then. */
	enter_group(r->pid, group);
	r->joined = getpgid(r->pid) == group;
	close(failed[1]);
	r->failed = failed[0];
	for (size_t i = 0; i < FRAME_FDS; i++) {
		fd_close(&r->h->fds[i]);
	}
	return true;
}

/* --- signals ------------------------------------------------------------------------------- */

/* Those that a process which supervises passes on itself. */
static bool supervised(int number)
{
	return number != SIGTSTP && number != SIGCONT;
}

static void send_signal(const struct running *r, int number)
{
	bool alone = r->joined || (r->h->broker->config->passes_signals && supervised(number));

	kill(alone ? r->pid : -r->pid, number);
}

static void kill_tool(const struct running *r)
{
	kill(r->pid, SIGKILL);
	if (!r->joined) {
		kill(-r->pid, SIGKILL);
	}
}

/* The shim is gone, or sends nonsense. */
static void withdraw(struct running *r)
{
	if (r->kill_at == 0) {
		r->kill_at = clock_now_ms() + GRACE_MS;
		send_signal(r, SIGTERM);
		send_signal(r, SIGCONT);
	}
}

static void obey(struct running *r, const struct frame_small *f)
{
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		if (passed[i] != (int)f->number) {
			continue;
		}
		r->continued += f->number == SIGCONT ? 1 : 0;
		/* What a terminal has sent to the whole job has reached the tool, too. */
		if (f->more == 0 || !r->joined) {
			send_signal(r, (int)f->number);
		}
		return;
	}
	withdraw(r);
}

/* False when what has come is no message that may come now. */
static bool obey_all(struct running *r)
{
	struct frame_head head;
	struct frame_small small;
	const char *why;

	if (r->got < FRAME_HEAD) {
		return true;
	}
	if (!frame_head_read(r->in, FRAME_FROM_SHIM, &head, &why) || head.kind != FRAME_SIGNAL) {
		return false;
	}
	/* A SIGNAL fills `in`. */
	if (r->got == sizeof(r->in)) {
		if (!frame_small_read(&head, r->in + FRAME_HEAD, &small, &why)) {
			return false;
		}
		r->got = 0;
		obey(r, &small);
	}
	return true;
}

static void hear(struct running *r)
{
	ssize_t n = recv(r->h->client, r->in + r->got, sizeof(r->in) - r->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	r->got += n > 0 ? (size_t)n : 0;
	if (n <= 0 || !obey_all(r)) {
		withdraw(r);
	}
}

/* --- the end ------------------------------------------------------------------------------- */

static void kill_children(void)
{
	char text[4096];
	auto_close int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : fd_read_all(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	/* The last may be cut: each number ends in a space. */
	for (char *p = text, *end; (end = strchr(p, ' ')) != NULL; p = end + 1) {
		long pid = strtol(p, NULL, 10);

		if (pid > 1) {
			kill((pid_t)pid, SIGKILL);
		}
	}
}

/* Whatever the tool has started is ours by now; gone when this returns, or past killing. */
static void sweep(const struct running *r)
{
	long until = clock_now_ms() + SWEEP_MS;
	struct signalfd_siginfo si;
	pid_t pid;

	while (clock_now_ms() < until) {
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		}
		if (pid < 0) {
			return;
		}
		kill_children();
		clock_wait_for(r->signals, 10);
		(void)!read(r->signals, &si, sizeof(si));
	}
}

/* The tool and all that it started are gone; its sandbox may still be there. */
static void tell(struct running *r, int status, int number)
{
	struct handler *h = r->h;

	h->decision.allowed = 1;
	h->decision.status = number != 0 ? -number : status;
	handler_send(h->client, FRAME_EXIT, (uint32_t)status, (uint32_t)number, NULL);
	handler_tell(h);
	fd_close(&h->client);
	r->told = true;
}

/* Its own process says that it is over, or why it could not be run. */
static void hear_tool(struct running *r)
{
	int status;
	ssize_t n = read(r->failed, &r->err, sizeof(r->err));

	r->why = n == (ssize_t)sizeof(r->err);
	r->again = n == 1;
	if (n == (ssize_t)sizeof(status)) {
		memcpy(&status, &r->err, sizeof(status));
		tell(r, status & 0xff, 0);
	} else if (n != 1) {
		/* At its end. */
		fd_close(&r->failed);
	}
}

static _Noreturn void ended(struct running *r, int wait_status)
{
	struct handler *h = r->h;
	int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
	int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;

	if (!r->joined) {
		kill(-r->pid, SIGKILL);
	}
	if (r->failed >= 0 && !r->told) {
		hear_tool(r);
	}
	if (r->waiting != NULL) {
		fd_close(&r->waiting->told);
	}
	sweep(r);
	if (r->told) {
		_exit(EXIT_SUCCESS);
	}
	if (r->why) {
		r->err.msg[sizeof(r->err.msg) - 1] = '\0';
		r->err.hint[sizeof(r->err.hint) - 1] = '\0';
		handler_why(h, r->err.msg, r->err.hint);
		handler_refuse(h, r->err.code == ERR_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_REFUSED);
	}
	tell(r, status, number);
	_exit(EXIT_SUCCESS);
}

static void reap(struct running *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != r->pid) {
			continue;
		}
		if (!WIFSTOPPED(status)) {
			ended(r, status);
		}
		handler_send(r->h->client, FRAME_STOPPED, (uint32_t)WSTOPSIG(status), r->continued,
			     NULL);
	}
}

static void take_signals(struct running *r)
{
	struct signalfd_siginfo si;

	while (read(r->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGTERM) {
			/* The run is over. */
			kill_tool(r);
		}
	}
	reap(r);
}

void tool_serve(struct handler *h, const struct broker_call *call, struct waiting *waiting)
{
	struct running r = {.h = h, .failed = -1};

	r.signals = waiting->pid > 0 ? waiting->signals : watch();
	if ((waiting->pid == 0 || !start_waiting(&r, call, waiting)) && !start(&r, call)) {
		handler_why(h, "no more processes can be started", NULL);
		handler_refuse(h, EXIT_REFUSED);
	}
	for (;;) {
		struct pollfd fds[] = {
			{.fd = r.signals, .events = POLLIN},
			/* Once it is gone there is nothing to hear. */
			{.fd = r.kill_at == 0 ? h->client : -1, .events = POLLIN},
			{.fd = r.failed, .events = POLLIN},
		};
		long left = r.kill_at == 0 ? -1 : r.kill_at - clock_now_ms();
		int wait = r.kill_at == 0 ? -1 : left > 0 ? (int)left : 0;

		if (poll(fds, ARRAY_LEN(fds), wait) < 0) {
			continue;
		}
		if (fds[2].revents != 0) {
			hear_tool(&r);
		}
		if (r.told && r.again) {
			return;
		}
		if (fds[0].revents != 0) {
			take_signals(&r);
		}
		if (fds[1].revents != 0 && h->client >= 0) {
			hear(&r);
		}
		if (r.kill_at != 0 && clock_now_ms() >= r.kill_at) {
			kill_tool(&r);
			r.kill_at = clock_now_ms() + GRACE_MS;
		}
	}
}
