/* Other processes: their memory, descriptors, what /proc shows of them, signals; and the machine's
 * room for processes and files. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int trace(int argc, char **argv)
{
	if (argc != 2) {
		return refused(EINVAL);
	}
	pid_t pid = (pid_t)number(argv[1]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0) {
		return -1;
	}
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return 0;
}

/* An address that is not mapped is EFAULT, but only after the right to look was checked. */
static int reached(ssize_t ret)
{
	return ret >= 0 || errno == EFAULT ? 0 : -1;
}

static int vmread(int argc, char **argv)
{
	char buf[8];
	struct iovec here = {buf, sizeof(buf)};
	struct iovec there = {(void *)0x400000, sizeof(buf)};

	return argc != 2
		       ? refused(EINVAL)
		       : reached(process_vm_readv((pid_t)number(argv[1]), &here, 1, &there, 1, 0));
}

static int vmwrite(int argc, char **argv)
{
	char buf[8] = {0};
	struct iovec here = {buf, sizeof(buf)};
	struct iovec there = {(void *)16, sizeof(buf)};

	return argc != 2
		       ? refused(EINVAL)
		       : reached(process_vm_writev((pid_t)number(argv[1]), &here, 1, &there, 1, 0));
}

static int mem(int argc, char **argv)
{
	char path[64];

	if (argc != 2) {
		return refused(EINVAL);
	}
	snprintf(path, sizeof(path), "/proc/%lu/mem", number(argv[1]));
	int fd = open(path, O_RDWR);
	return fd < 0 ? -1 : 0;
}

/* look PID NAME: an entry of /proc/PID, read or, for a link, resolved and opened. */
static int look(int argc, char **argv)
{
	char path[64];
	char buf[64];

	if (argc != 3) {
		return refused(EINVAL);
	}
	snprintf(path, sizeof(path), "/proc/%lu/%s", number(argv[1]), argv[2]);
	if (readlink(path, buf, sizeof(buf)) < 0 && errno != EINVAL) {
		return -1;
	}
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0) {
		return -1;
	}
	if (read(fd, buf, 1) < 0 && errno != EISDIR) {
		return -1;
	}
	return 0;
}

static int getfd(int argc, char **argv)
{
	if (argc != 3) {
		return refused(EINVAL);
	}
	int pidfd = (int)syscall(SYS_pidfd_open, number(argv[1]), 0U);
	if (pidfd < 0) {
		return -1;
	}
	return syscall(SYS_pidfd_getfd, pidfd, number(argv[2]), 0U) < 0 ? -1 : 0;
}

/* signal PID NUMBER: PID as kill(2) takes it, "parent" for this process's. */
static int send_signal(int argc, char **argv)
{
	if (argc != 3) {
		return refused(EINVAL);
	}
	long pid = strcmp(argv[1], "parent") == 0 ? (long)getppid() : strtol(argv[1], NULL, 10);

	/* Itself it spares, so that it can tell. */
	signal((int)number(argv[2]), SIG_IGN);
	return kill((pid_t)pid, (int)number(argv[2]));
}

/* owner FD PID SIGNAL: asks for the signal of input on a descriptor to go elsewhere. */
static int owner(int argc, char **argv)
{
	if (argc != 3) {
		return refused(EINVAL);
	}
	return fcntl((int)number(argv[1]), F_SETOWN, (int)strtol(argv[2], NULL, 10));
}

static int wait_for_end(void *data)
{
	(void)data;
	pause();
	return 0;
}

/* forks N: N processes at once that share this one's memory, so that the machine has room. Prints
 * how many there were. */
static int forks(int argc, char **argv)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	unsigned long most = argc == 2 ? number(argv[1]) : 0;
	unsigned long n = 0;
	int sys = 0;
	pid_t *pids = calloc(most + 1, sizeof(*pids));

	for (; pids != NULL && n < most; n++) {
		/* All sleep at the same place of one stack and never return from it. */
		pids[n] = clone(wait_for_end, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
		if (pids[n] < 0) {
			sys = errno;
			break;
		}
	}
	printf("%lu\n", n);
	for (unsigned long i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
	}
	while (waitpid(-1, NULL, __WALL) > 0) {
	}
	return n == most ? 0 : refused(sys);
}

/* fill FOLDER GIBIBYTES: whether its file system says it has room for that much. */
static int fill(int argc, char **argv)
{
	struct statfs fs;

	if (argc != 3 || statfs(argv[1], &fs) < 0) {
		return -1;
	}
	unsigned long long have = (unsigned long long)fs.f_blocks * (unsigned long long)fs.f_bsize;
	/* No limit at all reads as zero. */
	printf("%llu\n", have);
	return have == 0 || have >= ((unsigned long long)number(argv[2]) << 30) ? 0
										: refused(ENOSPC);
}

/* oom PID: makes the kernel take that process first when memory is short. */
static int oom(int argc, char **argv)
{
	char path[64];

	if (argc != 2) {
		return refused(EINVAL);
	}
	snprintf(path, sizeof(path), "/proc/%lu/oom_score_adj", number(argv[1]));
	int fd = open(path, O_WRONLY);
	return fd < 0 || write(fd, "1000", 4) != 4 ? -1 : 0;
}

/* Has the kernel hang up all of the caller's process group: one of it is stopped, and then the last
 * ends whose parent is of another group. */
static int hang_up(int argc, char **argv)
{
	int pipes[2];
	char go;

	(void)argv;
	if (argc != 1 || pipe(pipes) < 0) {
		return refused(EINVAL);
	}
	pid_t last = fork();
	if (last == 0) {
		pid_t stopped = fork();

		if (stopped == 0) {
			raise(SIGSTOP);
			_exit(0);
		}
		waitpid(stopped, NULL, WUNTRACED);
		_exit(read(pipes[0], &go, 1) == 1 ? 0 : 1);
	}
	if (last < 0 || setpgid(0, 0) < 0 || write(pipes[1], "", 1) != 1) {
		return -1;
	}
	return waitpid(last, NULL, 0) == last ? 0 : -1;
}

const struct attack process_attacks[] = {
	{"ptrace", "PID", trace},
	{"vmread", "PID", vmread},
	{"vmwrite", "PID", vmwrite},
	{"mem", "PID", mem},
	{"look", "PID NAME", look},
	{"getfd", "PID FD", getfd},
	{"signal", "PID|parent NUMBER", send_signal},
	{"hang-up", "", hang_up},
	{"owner", "FD PID", owner},
	{"forks", "N", forks},
	{"fill", "FOLDER GIBIBYTES", fill},
	{"oom", "PID", oom},
	{NULL, NULL, NULL},
};
