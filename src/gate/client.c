/* Job: start lnk-gate and hand it what it needs; at the end take its report. Linked into `lnk`
 * itself, so nothing of libuv in here. What comes back over the control socket is from a process
 * that talks to hostile programs all day: lengths are checked, text is printable already. */
#include "gate/client.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "gate/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_MS 2000 /* the report, all of it */
#define FAILED_MS 1000
#define EXIT_MS   500 /* after the report, before it is killed */

/* Linux 6.3; the flag is refused before, and wanted where vm.memfd_noexec is 2. */
#define NOEXEC_SEAL 8U

/* Descriptors above those of the gate. */
#define FIRST_FREE (DOOR_FD + 1)

/* What getaddrinfo(3) reads of an environment, resolver(5). */
static const char *const kept[] = {
	"RES_OPTIONS", "LOCALDOMAIN",
#ifdef LNK_TEST_GUARDS
	"LNK_TEST_WITHOUT", /* base/testguard.h */
#endif
};
static const char *const fixed[] = {
	/* Times are told in UTC: no file of time zones is read at start. */
	"TZ=UTC0",
};

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Where the gate's program is, relative to the folder of this one: installed, or built. */
static const char *const places[] = {"../libexec/lnk/lnk-gate", "gate/lnk-gate"};

/* The child's part of the parent's memory. */
struct child {
	char path[ARRAY_LEN(places)][PATH_MAX];
	char *envp[ARRAY_LEN(kept) + ARRAY_LEN(fixed) + 2];
	int control, door;
	volatile int sys; /* why it could not be executed */
};

/* In the child of vfork(2), in the parent's memory: system calls only. Signals are blocked, and
 * stay so until the gate has left the terminal's session. */
static _Noreturn void become_gate(struct child *c)
{
	static char name[] = "lnk-gate";
	char *argv[] = {name, NULL};
	/* Both may have each other's place. */
	int control = fcntl(c->control, F_DUPFD, FIRST_FREE);
	int door = fcntl(c->door, F_DUPFD, FIRST_FREE);

	if (control >= 0 && door >= 0 && dup2(control, CONTROL_FD) >= 0 &&
	    dup2(door, DOOR_FD) >= 0 &&
	    syscall(SYS_close_range, (unsigned)FIRST_FREE, ~0U, 0U) == 0) {
		errno = ENOENT;
		for (size_t i = 0; i < ARRAY_LEN(places) && errno == ENOENT; i++) {
			execve(c->path[i], argv, c->envp);
		}
	}
	c->sys = errno;
	_exit(EXIT_FAILURE);
}

/* The candidates for the gate's file. A replaced program's link ends in " (deleted)", which does
 * not touch the folder. */
static bool find_program(const char *given, struct child *c, struct err *err)
{
	char self[PATH_MAX];
	ssize_t n = given != NULL ? 0 : readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot find the folder of lnk");
	}
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	int folder = slash == NULL ? 0 : (int)(slash - self);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		int len = given != NULL ? snprintf(c->path[i], PATH_MAX, "%s", given)
					: snprintf(c->path[i], PATH_MAX, "%.*s/%s", folder, self,
						   places[i]);

		if (len < 0 || len >= PATH_MAX) {
			return err_set(err, ERR_SETUP, ENAMETOOLONG, "cannot start the gate");
		}
	}
	return true;
}

/* The value begins after `name` and "=", or NULL: another variable. */
static bool is_variable(const char *entry, const char *name, bool any_case)
{
	size_t n = strlen(name);
	bool same = any_case ? strncasecmp(entry, name, n) == 0 : strncmp(entry, name, n) == 0;

	return same && entry[n] == '=';
}

/* Few enough to be no secret and no surprise. */
static void choose_environment(char *const *envp, struct child *c)
{
	size_t n = 0;

	for (size_t i = 0; envp[i] != NULL; i++) {
		for (size_t k = 0; k < ARRAY_LEN(kept) && n < ARRAY_LEN(kept); k++) {
			if (is_variable(envp[i], kept[k], false)) {
				c->envp[n++] = envp[i];
			}
		}
	}
#ifdef SANITIZED
	for (size_t i = 0; envp[i] != NULL; i++) {
		if (is_variable(envp[i], "ASAN_OPTIONS", false)) {
			c->envp[n++] = envp[i];
			break;
		}
	}
#endif
	for (size_t k = 0; k < ARRAY_LEN(fixed); k++) {
		/* execve(2) takes no const; it only reads. */
		memcpy(&c->envp[n++], &fixed[k], sizeof(fixed[k]));
	}
	c->envp[n] = NULL;
}

static bool is_proxy_variable(const char *entry)
{
	static const char *const names[] = {"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (is_variable(entry, names[i], true)) {
			return true;
		}
	}
	return false;
}

static int memory_file(void)
{
	int fd = (int)syscall(SYS_memfd_create, "lnk-plan", MFD_CLOEXEC | NOEXEC_SEAL);

	return fd >= 0 || errno != EINVAL ? fd : memfd_create("lnk-plan", MFD_CLOEXEC);
}

/* The plan and the proxy variables, into `fd`. */
static bool write_plan(const struct gate_config *config, int fd, struct control_plan *ret,
		       struct err *err)
{
	auto_arena struct arena arena = {NULL};
	unsigned char *bytes;
	size_t len;
	size_t env = 0;

	net_plan_encode(config->plan, &arena, &bytes, &len);
	bool ok = fd_write_all(fd, bytes, len);
	for (size_t i = 0; ok && config->envp[i] != NULL; i++) {
		size_t n = strlen(config->envp[i]) + 1;

		if (!is_proxy_variable(config->envp[i])) {
			continue;
		}
		if (n > CONTROL_ENV_MAX - env) {
			return err_set(err, ERR_SETUP, 0,
				       "the environment's proxy variables are too long");
		}
		env += n;
		ok = fd_write_all(fd, config->envp[i], n);
	}
	ret->plan_len = len;
	ret->env_len = env;
	snprintf(ret->version, sizeof(ret->version), "%s", LNK_VERSION);
	return ok || err_set(err, ERR_SETUP, errno, "cannot hand the plan to the gate");
}

static bool send_plan(const struct gate_config *config, int control, struct err *err)
{
	struct control msg = {.kind = CONTROL_PLAN};
	auto_close int fd = memory_file();
	const int fds[] = {fd, config->log_fd};

	if (fd < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot hand the plan to the gate");
	}
	return write_plan(config, fd, &msg.u.plan, err) &&
	       (pass_send(control, &msg, control_len(msg.kind), fds, config->log_fd < 0 ? 1 : 2) ||
		err_set(err, ERR_SETUP, errno, "cannot hand the plan to the gate"));
}

/* Not fork(2): copying lnk's page tables, and the faults after it, would cost the start of every
 * run more than the exec. */
static bool spawn(struct child *c, struct gate_client *gate, struct err *err)
{
	sigset_t all;
	sigset_t before;

	c->sys = 0;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	gate->pid = vfork();
	if (gate->pid == 0) {
		become_gate(c);
	}
	int sys = gate->pid < 0 ? errno : c->sys;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (gate->pid > 0 && c->sys != 0) {
		waitpid(gate->pid, NULL, 0);
		gate->pid = 0;
	}
	if (sys == 0) {
		gate->pidfd = (int)syscall(SYS_pidfd_open, gate->pid, 0U);
		sys = gate->pidfd < 0 ? errno : 0;
	}
	if (sys == 0) {
		return true;
	}
	err_set(err, ERR_SETUP, sys, "cannot start lnk-gate, which carries the network calls");
	if (sys == ENOENT) {
		err_hint(err, "it belongs into %s; install lnk as a whole", c->path[0]);
	}
	return false;
}

static const struct gate_client no_gate = {.pidfd = -1, .control = -1, .door = -1};

static void leave(struct gate_client *gate)
{
	fd_close(&gate->control);
	fd_close(&gate->door);
	fd_close(&gate->pidfd);
	*gate = no_gate;
}

bool gate_start(const struct gate_config *config, struct gate_client *ret_gate, struct err *err)
{
	struct gate_client gate = no_gate;
	struct child c;
	int control[2] = {-1, -1};
	int door[2] = {-1, -1};

	*ret_gate = no_gate;
	if (!find_program(config->program, &c, err)) {
		return false;
	}
	choose_environment(config->envp, &c);
	bool ok = (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0 &&
		   socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, door) == 0) ||
		  err_set(err, ERR_SETUP, errno, "cannot make a socket pair");
	gate.control = control[0];
	gate.door = door[0];
	c.control = control[1];
	c.door = door[1];
	/* The plan waits in the socket before there is a gate, which thus waits for nothing. */
	ok = ok && send_plan(config, gate.control, err) && spawn(&c, &gate, err);
	fd_close(&control[1]);
	fd_close(&door[1]);
	if (ok) {
		*ret_gate = gate;
	} else {
		leave(&gate);
	}
	return ok;
}

void gate_started_init(struct gate_client *gate)
{
	fd_close(&gate->door);
}

/* One message within the time; 0 when the gate's end is closed, -1 when there was none in time or
 * it was none. */
static int hear(const struct gate_client *gate, long until, struct control *ret_msg)
{
	size_t nfds;

	if (!clock_wait_for(gate->control, until - clock_now_ms())) {
		return -1;
	}
	ssize_t n = pass_receive(gate->control, ret_msg, sizeof(*ret_msg), NULL, 0, &nfds);

	if (n == 0 || (n < 0 && errno == ECONNRESET)) {
		return 0;
	}
	if (n < (ssize_t)sizeof(ret_msg->kind) || (size_t)n != control_len(ret_msg->kind)) {
		return -1;
	}
	return 1;
}

/* Strings of another process end where their room does. */
static void end_strings(struct err *err)
{
	err->file[sizeof(err->file) - 1] = '\0';
	err->msg[sizeof(err->msg) - 1] = '\0';
	err->hint[sizeof(err->hint) - 1] = '\0';
	err->source[sizeof(err->source) - 1] = '\0';
}

static bool tell_end(const struct gate_client *gate, struct err *err)
{
	siginfo_t si = {.si_pid = 0};

	if (waitid(P_PIDFD, (id_t)gate->pidfd, &si, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    si.si_pid != 0) {
		return si.si_code == CLD_EXITED
			       ? err_set(err, ERR_SETUP, 0, "the gate ended with status %d",
					 si.si_status)
			       : err_set(err, ERR_SETUP, 0, "the gate was killed by signal %d (%s)",
					 si.si_status, strsignal(si.si_status));
	}
	return err_set(err, ERR_SETUP, 0, "the gate no longer answers");
}

bool gate_failed(struct gate_client *gate, struct err *err)
{
	long until = clock_now_ms() + FAILED_MS;
	struct control msg;
	int got;

	while ((got = hear(gate, until, &msg)) > 0) {
		if (msg.kind == CONTROL_FAILED) {
			*err = msg.u.err;
			end_strings(err);
			return false;
		}
	}
	if (got == 0) {
		clock_wait_for(gate->pidfd, until - clock_now_ms());
	}
	return tell_end(gate, err);
}

static void keep(struct gate_report *report, const struct gate_refusal *refusal)
{
	if (report->n < GATE_REFUSALS_MAX) {
		struct gate_refusal *r = &report->v[report->n++];

		*r = *refusal;
		r->what[sizeof(r->what) - 1] = '\0';
		r->hint[sizeof(r->hint) - 1] = '\0';
	}
}

/* False: it ended before it was asked to, or does not answer. */
static bool read_report(const struct gate_client *gate, struct gate_report *report, bool *ret_gone)
{
	const struct control end = {.kind = CONTROL_END};
	long until = clock_now_ms() + REPORT_MS;
	struct control msg;
	int got = 1;

	*ret_gone = !pass_send(gate->control, &end, control_len(end.kind), NULL, 0);
	while (!*ret_gone && (got = hear(gate, until, &msg)) > 0) {
		if (msg.kind == CONTROL_REFUSAL) {
			keep(report, &msg.u.refusal);
		} else if (msg.kind == CONTROL_REPORTED) {
			report->more = msg.more;
			report->lost = msg.lost;
			return true;
		} else {
			break;
		}
	}
	*ret_gone = *ret_gone || got == 0 || (got > 0 && msg.kind == CONTROL_FAILED);
	return false;
}

static void reap(struct gate_client *gate)
{
	siginfo_t si;

	if (!clock_wait_for(gate->pidfd, EXIT_MS)) {
		syscall(SYS_pidfd_send_signal, gate->pidfd, SIGKILL, NULL, 0U);
	}
	while (waitid(P_PIDFD, (id_t)gate->pidfd, &si, WEXITED) < 0 && errno == EINTR) {
	}
}

/* Not the refusals themselves: they are many pages. */
static void forget(struct gate_report *report)
{
	report->n = 0;
	report->more = 0;
	report->lost = 0;
}

void gate_finish(struct gate_client *gate, struct gate_report *ret_report, bool *ret_died)
{
	bool gone = false;

	forget(ret_report);
	*ret_died = false;
	if (gate->pid <= 0) {
		return;
	}
	if (!read_report(gate, ret_report, &gone)) {
		forget(ret_report);
		*ret_died = gone;
	}
	fd_close(&gate->control);
	reap(gate);
	leave(gate);
}
