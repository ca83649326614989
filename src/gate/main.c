/* lnk-gate: carries the network calls of one run. Started by `lnk` (client.c) with two sockets:
 * control, to the supervisor, and door, to the sandbox's init.
 *
 * In this order: leave the terminal and the parent's fate; read the plan; open what the jail
 * forbids to open; enter the jail; take the listeners, say that all is ready, serve; report, exit.
 * It prints nothing, ever: what goes wrong is told over the control socket. What the program sends
 * is seen only from the jail on. */
#include "base/clock.h"
#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "gate/address.h"
#include "gate/control.h"
#include "gate/jail.h"
#include "gate/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* More than any spec (64 KiB of text) comes to, with the files that it names. */
#define PLAN_MAX (64UL * 1024UL * 1024UL)

/* Descriptors kept from calls: for the listeners, the resolver's clients, look-ups on their way,
 * second addresses that are tried, pipes of the relays. */
#define FDS_RESERVED 1024U
/* A call has one to the program and one to the server. */
#define FDS_OF_CALL 2U

/* Out of the terminal's session, so that Ctrl-C is the program's alone, and bound to the life of
 * `lnk`. All signals are blocked until here. */
static bool stand_alone(struct err *err)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++) {
		signal(ignored[i], SIG_IGN);
	}
	signal(SIGTERM, SIG_DFL);
	/* Whoever leads a group already was not started by lnk's fork, and may stay there. */
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; fd <= 2; fd++) {
		if (null < 0 || dup2(null, fd) < 0) {
			return err_set(err, ERR_SETUP, errno, "the gate cannot open /dev/null");
		}
	}
	/* It has one of these numbers where the caller had closed it. */
	if (null > 2) {
		close(null);
	}
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ||
	       err_set(err, ERR_SETUP, errno, "the gate cannot tie itself to lnk");
}

/* One arena for all threads, which hold little; and large blocks go back to the system always. */
static void keep_memory_small(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

static unsigned raise_limit(void)
{
	struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		struct rlimit most = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};

		limit = setrlimit(RLIMIT_NOFILE, &most) == 0 ? most : limit;
	}
	rlim_t reserved =
		limit.rlim_cur / 4 < FDS_RESERVED ? limit.rlim_cur / 4 : (rlim_t)FDS_RESERVED;
	rlim_t calls = (limit.rlim_cur - reserved) / FDS_OF_CALL;
	return calls < GATE_CALLS_MAX ? (unsigned)calls : GATE_CALLS_MAX;
}

/* --- the plan ----------------------------------------------------------------------------- */

static bool bad_plan(struct err *err)
{
	err_set(err, ERR_SETUP, 0, "the gate cannot read its plan");
	return err_hint(err, "lnk and lnk-gate are of different builds; install lnk as a whole");
}

/* The proxy variables, as an environment. */
static bool read_proxies(struct gate *gate, const char *text, size_t len, struct err *err)
{
	char **envp = arena_alloc(&gate->arena, (len / 2 + 2) * sizeof(*envp));
	size_t n = 0;

	for (size_t at = 0; at < len;) {
		size_t one = strnlen(text + at, len - at);

		if (one == 0 || one == len - at) {
			return bad_plan(err);
		}
		envp[n++] = arena_strndup(&gate->arena, text + at, one);
		at += one + 1;
	}
	return upstream_read(envp, &gate->arena, &gate->upstream, err);
}

static bool read_file(struct gate *gate, int file, const struct control_plan *plan, struct err *err)
{
	size_t len = (size_t)(plan->plan_len + plan->env_len);
	unsigned char *bytes = malloc(len > 0 ? len : 1);
	/* The supervisor's writing moved the offset that both share. */
	bool ok = bytes != NULL && pread(file, bytes, len, 0) == (ssize_t)len;

	if (!ok || !net_plan_decode(bytes, plan->plan_len, &gate->arena, &gate->plan)) {
		free(bytes);
		return bad_plan(err);
	}
	ok = read_proxies(gate, (const char *)bytes + plan->plan_len, (size_t)plan->env_len, err);
	free(bytes);
	return ok;
}

/* The first message; *ret_log is the log, or -1. */
static bool take_plan(struct gate *gate, int *ret_log, struct err *err)
{
	struct control msg;
	int fds[2] = {-1, -1};
	size_t nfds;
	ssize_t n = pass_receive(CONTROL_FD, &msg, sizeof(msg), fds, ARRAY_LEN(fds), &nfds);
	const struct control_plan *plan = &msg.u.plan;
	auto_close int file = fds[0];

	*ret_log = fds[1];
	if (n != (ssize_t)control_len(CONTROL_PLAN) || msg.kind != CONTROL_PLAN || nfds == 0 ||
	    memchr(plan->version, '\0', sizeof(plan->version)) == NULL ||
	    !str_eq(plan->version, LNK_VERSION) || plan->plan_len > PLAN_MAX ||
	    plan->env_len > CONTROL_ENV_MAX) {
		return bad_plan(err);
	}
	gate->ask = plan->ask != 0;
	return read_file(gate, file, plan, err);
}

/* --- setting up --------------------------------------------------------------------------- */

/* What needs files, ports or calls that the jail has not. */
static bool open_all(struct gate *gate, struct publish **ret_publish, struct err *err)
{
	gate->max_calls = raise_limit();
	gate->door = DOOR_FD;
	gate->routes = address_routes_open();
	int failed = gate->routes < 0 ? -errno : uv_loop_init(&gate->loop);
	if (failed < 0) {
		return err_set(err, ERR_SETUP, -failed, "the gate cannot start its loop");
	}
	return publish_listen(&gate->plan, ret_publish, err);
}

static bool make_all(struct gate *gate, int log, struct err *err)
{
	gate->policy = policy_make(&gate->plan, &gate->arena);
	gate->names = names_new();
	gate->decisions = decisions_new(log);
	rate_start(&gate->rate, gate->plan.per_minute, (uint64_t)clock_now_ms());
	return (gate->policy != NULL && gate->names != NULL && gate->decisions != NULL) ||
	       err_set(err, ERR_SETUP, ENOMEM, "the gate cannot start");
}

static void tell(const struct err *failure)
{
	struct control msg = {.kind = CONTROL_FAILED};

	msg.u.err = *failure;
	pass_send(CONTROL_FD, &msg, control_len(msg.kind), NULL, 0);
}

int main(void)
{
	struct gate gate = {.routes = -1};
	struct publish *publish = NULL;
	struct err err;
	int log = -1;

	keep_memory_small();
	bool ok = stand_alone(&err) && take_plan(&gate, &log, &err) &&
		  open_all(&gate, &publish, &err) && jail_enter(&err) &&
		  make_all(&gate, log, &err) && serve(&gate, publish, &err);
	if (!ok) {
		tell(&err);
	}
	/* Not exit(3): there is nothing to flush, and threads may be in the middle of a look-up. */
	_exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
}
