#include "confine/init.h"

#include "base/fd.h"
#include "base/str.h"
#include "base/testguard.h"
#include "confine/again.h"
#include "confine/doorway.h"
#include "confine/landlock.h"
#include "confine/late.h"
#include "confine/loader.h"
#include "confine/mounts.h"
#include "confine/namespaces.h"
#include "confine/network.h"
#include "confine/program.h"
#include "confine/seccomp/seccomp.h"
#include "confine/sys.h"
#include "confine/wire.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

struct init {
	const struct init_config *config;
	struct warden_init warden;
	int loader_rules; /* held open: the rules hold as long */
	int signals;
	int ruleset;               /* Landlock's, until it is entered */
	struct landlock_held held; /* of it, where programs come late */
	int null;
	struct again
		*before;  /* where programs come late: how they found it; NULL: one, and the end */
	struct late late; /* the program that came; its strings and names */
	struct arena arena; /* of `late` */
	pid_t program;      /* 0: none */
	int continued;      /* number of the supervisor's last WIRE_CONTINUE */
	struct err err;
};

/* The warden enters by these when it has to cover a name again. */
static bool attach_warden(struct init *in)
{
	struct warden *w = in->config->warden;

	if (w->fd < 0) {
		return true;
	}
	auto_close int pidfd = sys_pidfd_open(getpid());
	auto_close int user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	auto_close int mnt = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (pidfd < 0 || user < 0 || mnt < 0) {
		return err_set(&in->err, ERR_SETUP, errno, "cannot open the sandbox's namespaces");
	}
	return warden_attach(w, pidfd, user, mnt, &in->err);
}

/* Stage 1. Should: make this process die with the supervisor, map the user, forbid further
 * namespaces. Mustn't: touch the disk. */
static bool stage_namespaces(struct init *in, bool two)
{
	const struct machine *m = in->config->confine->machine;
	const struct plan *plan = in->config->confine->plan;
	struct pollfd gone = {.fd = in->config->supervisor, .events = POLLIN};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NAME, "lnk-init") < 0) {
		return err_set(&in->err, ERR_SETUP, errno, "cannot tie init to lnk");
	}
	if (in->config->apart && setpgid(0, 0) < 0) {
		return err_set(&in->err, ERR_SETUP, errno, "cannot leave lnk's process group");
	}
	/* The supervisor may have died before the first line. */
	if (poll(&gone, 1, 0) > 0 && (gone.revents & POLLHUP) != 0) {
		_exit(EXIT_FAILURE);
	}
	if (!namespaces_map(m->uid, m->gid, two, &in->err) || !attach_warden(in)) {
		return false;
	}
	warden_init_begin(in->config->warden, &in->warden);
	namespaces_limit_processes(m->uid == 0);
	if (plan->user_namespaces || !guard_on("user_namespaces")) {
		return true;
	}
	return namespaces_limit(two ? 1 : 0, &in->err);
}

/* The namespace's loopback, and its ways to the gate. */
static bool stage_network(struct init *in)
{
	const struct confine_config *c = in->config->confine;

	if (c->plan->net.host_mode) {
		return true;
	}
	return network_loopback(&in->err) &&
	       (c->door < 0 || doorway_open(&c->plan->net, c->door, &in->err));
}

/* Stage 2. Should: build the root and everything in it; needs all capabilities in the namespace.
 * Mustn't: follow a link of the host. */
static bool stage_files(struct init *in, bool two)
{
	const struct machine *m = in->config->confine->machine;
	const struct plan *plan = in->config->confine->plan;

	if (!stage_network(in) ||
	    !mounts_build(plan, &in->warden, in->config->confine->broker, &in->err) ||
	    !mounts_enter(&in->err)) {
		return false;
	}
	/* Else it would not watch, and what is changed outside would stay open. */
	if (!warden_init_mounted(&in->warden, &in->err)) {
		return false;
	}
	if (in->config->confine->broker >= 0) {
		close(in->config->confine->broker);
	}
	return loader_close(plan, &in->loader_rules, &in->err) &&
	       (!two || namespaces_inner(m->uid, m->gid, &in->err));
}

/* Stage 3. Should: give up every right that is left, but for what files may be opened; make the
 * rules for those. Mustn't: fail in silence. */
static bool stage_rights(struct init *in)
{
	const struct confine_config *c = in->config->confine;
	unsigned variant = SECCOMP_PLAIN;

	if (!program_limits(&in->err) || !namespaces_drop_capabilities(&in->err)) {
		return false;
	}
	if (guard_on("dumpable") && prctl(PR_SET_DUMPABLE, 0) < 0) {
		return err_set(&in->err, ERR_SETUP, errno, "cannot close init to the program");
	}
	variant |= c->plan->commands_listed ? SECCOMP_COMMANDS : 0;
	variant |= c->plan->user_namespaces ? SECCOMP_USER_NAMESPACES : 0;
	return landlock_rules(c->plan, c->landlock_abi, c->late >= 0 ? &in->held : NULL,
			      &in->ruleset, &in->err) &&
	       (!guard_on("seccomp") || seccomp_load((enum seccomp_variant)variant, &in->err));
}

/* Stage 4: the last right, and the program. */
static bool stage_program(struct init *in)
{
	const struct confine_config *c = in->config->confine;
	const struct program program = {c->plan->cwd, in->config->mask, -1, in->config->tracer};

	return program_enter(c, in->ruleset, &in->err) &&
	       (c->door < 0 || doorway_wait(c->door, &in->err)) &&
	       program_start(c, &program, &in->program, &in->err);
}

/* The same where programs come late: each enters the rules by itself, with its own descriptors. */
static bool stage_waiting(struct init *in)
{
	in->before = again_look(in->config->confine->plan);
	in->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	return in->null >= 0 || err_set(&in->err, ERR_SETUP, errno, "cannot open /dev/null");
}

static bool set_up(struct init *in)
{
	const struct confine_config *c = in->config->confine;
	/* An ordinary user must be root in a namespace to mount binfmt_misc. */
	bool two = c->plan->commands_listed && c->machine->uid != 0;

	if (!stage_namespaces(in, two) || !stage_files(in, two) || !stage_rights(in)) {
		return false;
	}
	return c->late >= 0 ? stage_waiting(in) : stage_program(in);
}

/* As the plan judges its own folder: one that the host lends, not one of the sandbox's own, where
 * nobody but the program itself could have put anything. */
static bool is_lent(const struct plan *plan, const char *path)
{
	const struct plan_op *deepest = NULL;

	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		if ((op->kind == PLAN_BIND || op->kind == PLAN_PRIVATE ||
		     op->kind == PLAN_FOLDER) &&
		    path_within(path, op->path) &&
		    (deepest == NULL || path_within(op->path, deepest->path))) {
			deepest = op;
		}
	}
	return deepest != NULL && deepest->kind == PLAN_BIND && access(path, X_OK) == 0;
}

static void wait_for_warden(struct init *in)
{
	struct pollfd fd = {.fd = in->warden.fd, .events = POLLIN};

	while (in->warden.frozen) {
		if (poll(&fd, 1, -1) > 0 && !warden_init_serve(&in->warden)) {
			_exit(EXIT_FAILURE);
		}
	}
}

/* The program that was waited for. */
static bool start_late(struct init *in)
{
	struct confine_config c = *in->config->confine;
	struct late *late = &in->late;

	if (!late_read(c.late, &in->arena, late)) {
		return err_set(&in->err, ERR_SETUP, 0, "no program came");
	}
	for (int fd = 0; fd < 3; fd++) {
		if (dup2(late->fds[fd], fd) < 0) {
			return err_set(&in->err, ERR_SETUP, errno, "cannot take descriptor %d", fd);
		}
		close(late->fds[fd]);
	}
	late->argv[0] = c.argv[0];
	c.argv = late->argv;
	const char *cwd = is_lent(c.plan, late->cwd) ? late->cwd : c.plan->home;
	c.envp = late_env(c.envp, late, cwd, &in->arena);
	const struct program program = {cwd, in->config->mask, in->ruleset, -1};

	wait_for_warden(in);
	if (!late_make(late, &in->err) || !program_start(&c, &program, &in->program, &in->err)) {
		return false;
	}
	fd_close(&in->ruleset);
	/* They are the program's: whoever reads at the other end waits for the last of them. */
	for (int fd = 0; fd < 3; fd++) {
		dup2(in->null, fd);
	}
	return true;
}

/* Takes up what the program found, or left. False: the sandbox was for one. */
static bool clear_up(struct init *in)
{
	const struct confine_config *c = in->config->confine;
	bool ok = in->before != NULL && chdir("/") == 0 && late_unmake(&in->late) &&
		  again_is_same(in->before) &&
		  landlock_rules_again(c->plan, &in->held, c->landlock_abi, &in->ruleset);

	arena_release(&in->arena);
	return ok;
}

/* Names in the home's top that the plan itself put there. */
static bool planned(const struct plan *plan, const char *home, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", home, name);
	for (size_t i = 0; i < plan->ops.n; i++) {
		if (plan->ops.v[i].kind != PLAN_ALLOW && path_within(plan->ops.v[i].path, path)) {
			return true;
		}
	}
	return false;
}

/* What the program left in its private home, which is about to be gone. */
static void find_left(const struct confine_config *c, struct wire *m)
{
	const char *home = c->machine->home.real;
	size_t used = 0;
	DIR *d = c->plan->private_home ? opendir(home) : NULL;

	if (d == NULL) {
		return;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		size_t n = strlen(e->d_name) + 1;

		if (e->d_name[0] == '.' || planned(c->plan, home, e->d_name)) {
			continue;
		}
		m->u.left.count++;
		if (used + n <= sizeof(m->u.left.names)) {
			memcpy(m->u.left.names + used, e->d_name, n);
			used += n;
		}
	}
	closedir(d);
}

/* A program that came late is gone: another may come. */
static void end_late(struct init *in, const struct wire *ended)
{
	const struct wire again = {.kind = WIRE_AGAIN};

	in->program = 0;
	wire_send(in->config->supervisor, ended);
	if (!clear_up(in)) {
		warden_init_empty(&in->warden);
		_exit(EXIT_SUCCESS);
	}
	wire_send(in->config->supervisor, &again);
}

/* The program is gone: so is everything it started, before anybody hears of it. */
static void end(struct init *in, int status)
{
	struct wire m = {.kind = WIRE_ENDED, .number = status};

	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
	}
	if (in->config->confine->late >= 0) {
		end_late(in, &m);
		return;
	}
	warden_init_empty(&in->warden);
	find_left(in->config->confine, &m);
	wire_send(in->config->supervisor, &m);
	_exit(EXIT_SUCCESS);
}

static void reap(struct init *in)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != in->program) {
			continue;
		}
		if (!WIFSTOPPED(status)) {
			end(in, status);
		} else if (!warden_init_is_freeze(&in->warden, status)) {
			struct wire m = {.kind = WIRE_STOPPED, .number = in->continued};

			wire_send(in->config->supervisor, &m);
		}
	}
}

static void __attribute__((noreturn)) fail(struct init *in)
{
	struct wire m = {.kind = WIRE_FAILED};

	m.u.err = in->err;
	wire_send(in->config->supervisor, &m);
	_exit(EXIT_FAILURE);
}

static void obey(struct init *in)
{
	struct wire m;

	if (!wire_receive(in->config->supervisor, &m)) {
		_exit(EXIT_FAILURE); /* the supervisor is gone; the kernel ends everything in here
				      */
	}
	in->continued = m.kind == WIRE_CONTINUE ? m.number : in->continued;
	if (m.kind == WIRE_START) {
		if (!start_late(in)) {
			fail(in);
		}
	} else if (in->program == 0) {
		/* Nobody is there yet whom it could be about. */
	} else if (m.kind == WIRE_SIGNAL) {
		kill(in->program, m.number);
	} else if (m.kind == WIRE_CONTINUE) {
		warden_init_continue(&in->warden, in->program);
	}
}

static void __attribute__((noreturn)) serve(struct init *in)
{
	struct pollfd fds[] = {
		{.fd = in->signals, .events = POLLIN},
		{.fd = in->config->supervisor, .events = POLLIN},
		{.fd = in->warden.fd, .events = POLLIN},
		{.fd = in->config->confine->door, .events = POLLIN},
	};

	for (;;) {
		if (poll(fds, ARRAY_LEN(fds), -1) < 0) {
			continue; /* EINTR: a stop and its continuation */
		}
		if (fds[0].revents != 0) {
			struct signalfd_siginfo si;

			(void)!read(in->signals, &si, sizeof(si));
			reap(in);
		}
		if (fds[1].revents != 0) {
			obey(in);
		}
		if (fds[2].revents != 0 && !warden_init_serve(&in->warden)) {
			_exit(EXIT_FAILURE);
		}
		if (fds[3].revents != 0 && !doorway_serve(fds[3].fd)) {
			fds[3].fd = -1; /* the gate is gone: the supervisor says so */
		}
	}
}

void init_main(const struct init_config *config)
{
	struct init in = {.config = config,
			  .loader_rules = -1,
			  .signals = -1,
			  .ruleset = -1,
			  .null = -1,
			  .warden = {.fd = -1}};
	sigset_t child;

	for (size_t i = 0; i < config->confine->noutside_fds; i++) {
		close(config->confine->outside_fds[i]);
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	in.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	bool ok = in.signals >= 0 ? set_up(&in)
				  : err_set(&in.err, ERR_SETUP, errno, "cannot watch for signals");
	if (!ok) {
		fail(&in);
	}
	serve(&in);
}
