#include "broker/spawn.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first above the standard descriptors: where a child tells why it could not execute. */
#define STATUS_FD 3

const char *spawn_variable(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp != NULL; envp++) {
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=') {
			return (*envp)[n + 1] != '\0' ? *envp + n + 1 : NULL;
		}
	}
	return NULL;
}

static bool executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool spawn_find(const char *name, char *const *envp, char out[PATH_MAX])
{
	const char *path = spawn_variable(envp, "PATH");

	if (name[0] == '/') {
		return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX && executable(out);
	}
	if (name[0] == '\0' || strchr(name, '/') != NULL) {
		return false;
	}
	for (const char *p = path != NULL ? path : "/usr/bin:/bin"; *p != '\0';) {
		int n = (int)strcspn(p, ":");

		if (p[0] == '/' && snprintf(out, PATH_MAX, "%.*s/%s", n, p, name) < PATH_MAX &&
		    executable(out)) {
			return true;
		}
		p += n + (p[n] == ':' ? 1 : 0);
	}
	return false;
}

void spawn_reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		signal(number, SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void spawn_die_with(pid_t parent)
{
	/* It may have ended before the kernel knew. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) {
		_exit(EXIT_FAILURE);
	}
}

/* In the child; returns only when it cannot be executed, with errno. */
static void become(const char *path, char *const *argv, char *const *envp)
{
	const char *home = spawn_variable(envp, "HOME");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    syscall(SYS_close_range, STATUS_FD + 1U, ~0U, 0U) < 0) {
		return;
	}
	if (home == NULL || chdir(home) < 0) {
		(void)!chdir("/");
	}
	spawn_reset_signals();
	execve(path, argv, envp);
}

static _Noreturn void become_or_tell(const char *path, char *const *argv, char *const *envp,
				     int status)
{
	if (status == STATUS_FD || dup3(status, STATUS_FD, O_CLOEXEC) >= 0) {
		become(path, argv, envp);
	}
	int sys = errno;
	(void)!write(STATUS_FD, &sys, sizeof(sys));
	_exit(EXIT_FAILURE);
}

/* What the child told before it executed: 0 that it did, else errno. */
static int told(int status)
{
	int sys = 0;
	ssize_t n = fd_read_all(status, &sys, sizeof(sys));

	return n == 0 ? 0 : n == (ssize_t)sizeof(sys) && sys != 0 ? sys : EIO;
}

pid_t spawn_watched(const char *path, char *const *argv, char *const *envp, int *ret_pidfd)
{
	pid_t self = getpid();
	int status[2];

	if (pipe2(status, O_CLOEXEC) < 0) {
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		spawn_die_with(self);
		become_or_tell(path, argv, envp, status[1]);
	}
	int sys = pid < 0 ? errno : 0;
	close(status[1]);
	if (pid > 0) {
		sys = told(status[0]);
		*ret_pidfd = sys != 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0U);
		if (*ret_pidfd < 0) {
			sys = sys != 0 ? sys : errno;
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			pid = -1;
		}
	}
	close(status[0]);
	errno = sys;
	return pid;
}

bool spawn_detached(const char *path, char *const *argv, char *const *envp)
{
	int status[2];

	if (pipe2(status, O_CLOEXEC) < 0) {
		return false;
	}
	pid_t pid = fork();
	if (pid == 0) {
		pid_t inner = fork();

		if (inner == 0) {
			become_or_tell(path, argv, envp, status[1]);
		}
		int failed = inner < 0 ? errno : 0;
		if (failed != 0) {
			(void)!write(status[1], &failed, sizeof(failed));
		}
		_exit(EXIT_SUCCESS);
	}
	int sys = pid < 0 ? errno : 0;
	close(status[1]);
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		sys = told(status[0]);
	}
	close(status[0]);
	errno = sys;
	return sys == 0;
}
