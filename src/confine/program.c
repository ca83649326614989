#include "confine/program.h"

#include "base/str.h"
#include "base/testguard.h"
#include "confine/landlock.h"
#include "confine/sys.h"
#include "confine/tracer.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* A fork bomb ends here; counted in the sandbox's own user namespace (Linux 5.14), where there is
 * one. */
#define PROCESSES_MAX 8192

/* What the vforked child tries and tells; shared memory until exec. */
struct attempt {
	const struct confine_config *config;
	const struct program *program;
	volatile bool failed; /* nothing could be executed */
	struct err err;       /* set: it did not come to that */
	int error;
	char tried[PATH_MAX]; /* the file that `error` is about */
};

/* As execvp(3): a file of unknown format is a script of sh. */
static void run_as_script(const struct attempt *a, char **shell_argv)
{
	shell_argv[0] = (char *)(uintptr_t) "sh";
	shell_argv[1] = (char *)(uintptr_t)a->tried;
	execve("/bin/sh", shell_argv, a->config->envp);
}

/* Tries one file. Returns only when it could not be started. */
static void try_file(struct attempt *a, const char *folder, size_t folder_len, const char *name,
		     char **shell_argv)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)folder_len, folder,
			 folder_len > 0 ? "/" : "", name);

	if (n < 0 || (size_t)n >= sizeof(path)) {
		a->error = a->error == 0 ? ENAMETOOLONG : a->error;
		return;
	}
	execve(path, a->config->argv, a->config->envp);
	/* A refusal says more than an absence further down PATH. */
	if (a->error == 0 || a->error == ENOENT || a->error == ENOTDIR) {
		a->error = errno;
		memcpy(a->tried, path, sizeof(path));
	}
	if (errno == ENOEXEC) {
		run_as_script(a, shell_argv);
	}
}

static void try_all(struct attempt *a, char **shell_argv)
{
	const char *name = a->config->argv[0];
	const char *p = a->config->path;

	if (strchr(name, '/') != NULL) {
		try_file(a, "", 0, name, shell_argv);
		return;
	}
	a->error = ENOENT;
	while (*p != '\0') {
		size_t n = strcspn(p, ":");

		/* Relative entries of PATH run what lies in the current folder: not here. */
		if (n > 0 && p[0] == '/') {
			try_file(a, p, n, name, shell_argv);
		}
		p += n + (p[n] == ':' ? 1 : 0);
	}
}

static bool explain(const struct attempt *a, struct err *err)
{
	const char *name = a->config->argv[0];
	struct stat st;

	if (a->err.code != 0) {
		*err = a->err;
		return false;
	}
	if (a->error == ENOENT || a->error == ENOTDIR) {
		if (a->tried[0] != '\0' && stat(a->tried, &st) == 0) {
			err_set(err, ERR_NOT_FOUND, 0,
				"%s cannot start: its interpreter or loader is closed or does not "
				"exist",
				a->tried);
			return err_hint(err,
					"its first line (`head -1 %s`) names the interpreter: "
					"open its folder with read in [files]",
					a->tried);
		}
		err_set(err, ERR_NOT_FOUND, 0, "%s: no such program in the sandbox", name);
		return err_hint(err, "it may lie in a closed folder: open that with read in "
				     "[files]");
	}
	err_set(err, ERR_NOT_PERMITTED, a->error, "cannot run %s",
		a->tried[0] != '\0' ? a->tried : name);
	if (a->error == EACCES && a->config->plan->commands_listed) {
		err_hint(err, "add it, and the interpreter of its first line, to allow in "
			      "[commands]");
	}
	return false;
}

/* Returns only when nothing could be executed. */
static void attempt(struct attempt *a, char **shell_argv)
{
	for (size_t i = 0; i < a->config->nkeep_fds; i++) {
		int fd = a->config->keep_fds[i];
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0) {
			fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC);
		}
	}
	if ((a->program->ruleset < 0 || program_enter(a->config, a->program->ruleset, &a->err)) &&
	    (a->program->tracer < 0 || tracer_enter(a->program->tracer, &a->err)) &&
	    (a->config->trial == NULL || trial_close(&a->err))) {
		sigprocmask(SIG_SETMASK, a->program->mask, NULL);
		try_all(a, shell_argv);
	}
	a->failed = true;
}

/* Goes to the working folder, lets every descriptor be closed on exec, and makes room for sh's
 * words: "sh", the file, the arguments, NULL. NULL: err. */
static char **prepare(const struct confine_config *config, const char *cwd, struct err *err)
{
	size_t argc = 1; /* argv[0] is PROGRAM, always there */

	if (chdir(cwd) < 0 && chdir(config->plan->home) < 0 && chdir("/") < 0) {
		err_set(err, ERR_SETUP, errno, "cannot go to %s", cwd);
		return NULL;
	}
	if (guard_on("descriptors") && sys_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0) {
		err_set(err, ERR_SETUP, errno, "cannot close inherited descriptors");
		return NULL;
	}
	while (config->argv[argc] != NULL) {
		argc++;
	}
	/* Before the vfork, since the child shares our memory. */
	char **shell_argv = calloc(argc + 2, sizeof(*shell_argv));
	if (shell_argv == NULL) {
		err_set(err, ERR_SETUP, errno, "cannot start the program");
		return NULL;
	}
	for (size_t i = 1; i <= argc; i++) {
		shell_argv[i + 1] = config->argv[i];
	}
	return shell_argv;
}

bool program_enter(const struct confine_config *config, int ruleset, struct err *err)
{
	int fds[3 + PROGRAM_KEEP_MAX] = {0, 1, 2};

	for (size_t i = 0; i < config->nkeep_fds; i++) {
		fds[3 + i] = config->keep_fds[i];
	}
	return landlock_enter(config->plan, config->landlock_abi, ruleset, fds,
			      3 + config->nkeep_fds, err);
}

/* As vfork(2), but the child has memory of its own: one that is traced must not be closed to
 * tracing, as init's memory is. `a` is shared all the same. */
static pid_t fork_traced(struct attempt *a, char **shell_argv)
{
	struct attempt *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) {
		return -1;
	}
	memcpy(shared, a, sizeof(*a));
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0UL, NULL, NULL, 0UL);
	if (pid == 0) {
		attempt(shared, shell_argv);
		_exit(127);
	}
	memcpy(a, shared, sizeof(*a));
	munmap(shared, sizeof(*shared));
	return pid;
}

static bool start_trial(const struct trial *trial, const sigset_t *mask, pid_t *ret_pid,
			struct err *err)
{
	*ret_pid = fork();
	if (*ret_pid == 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		trial_try(trial);
	}
	return *ret_pid > 0 || err_set(err, ERR_SETUP, errno, "cannot start the trial");
}

bool program_start(const struct confine_config *config, const struct program *program,
		   pid_t *ret_pid, struct err *err)
{
	struct attempt a = {.config = config, .program = program};
	char **shell_argv = prepare(config, program->cwd, err);

	if (shell_argv == NULL) {
		return false;
	}
	if (config->trial != NULL && config->trial->kind != TRIAL_RUN) {
		free(shell_argv);
		return start_trial(config->trial, program->mask, ret_pid, err);
	}
	pid_t pid = program->tracer < 0 ? vfork() : fork_traced(&a, shell_argv);
	if (pid == 0) {
		attempt(&a, shell_argv);
		_exit(127);
	}
	free(shell_argv);
	if (pid < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot start the program");
	}
	if (a.failed) {
		return explain(&a, err);
	}
	if (config->trial != NULL) {
		kill(pid, SIGKILL);
	}
	*ret_pid = pid;
	return true;
}

bool program_become(const struct confine_config *config, const sigset_t *mask, struct err *err)
{
	const struct program program = {config->plan->cwd, mask, -1, -1};
	struct attempt a = {.config = config, .program = &program};
	char **shell_argv = prepare(config, program.cwd, err);

	if (shell_argv == NULL) {
		return false;
	}
	attempt(&a, shell_argv);
	free(shell_argv);
	return explain(&a, err);
}

static bool set_limit(int resource, rlim_t most, struct err *err)
{
	struct rlimit limit;

	if (!guard_on("limits")) {
		return true;
	}
	if (getrlimit((__rlimit_resource_t)resource, &limit) == 0) {
		limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
		limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
		if (setrlimit((__rlimit_resource_t)resource, &limit) == 0) {
			return true;
		}
	}
	return err_set(err, ERR_SETUP, errno, "cannot limit the sandbox's processes");
}

bool program_limits(struct err *err)
{
	return set_limit(RLIMIT_NPROC, PROCESSES_MAX, err) && set_limit(RLIMIT_CORE, 0, err);
}
