/* Lets one system call of a run's set-up fail.
 *
 *   failnth N ERRNO PROGRAM -- COMMAND...
 *
 * Counts the calls of COMMAND and of everything it starts, in the order they are made, and lets the
 * Nth fail with ERRNO without being made. When a process executes PROGRAM (a file name) the set-up
 * is over and nothing is counted any more. N 0 lets none fail and lists them: the number of each
 * call on a line of its own.
 *
 * Prints "N NUMBER NAME" (the call's number, the process's name) when it let one fail, and when
 * PROGRAM starts "gate SECCOMP NO_NEW_PRIVS", of a process that is called lnk-gate then. All this
 * on the descriptor 9. Exit: COMMAND's; 124 when it hung; 125 when the harness failed. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN_MAX_S 15
#define SEEN_MAX  64
#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |  \
	 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

struct run {
	unsigned long count;
	unsigned long nth;
	int error;
	const char *program;
	pid_t failing; /* whose call is being failed */
	pid_t seen[SEEN_MAX];
	unsigned nseen;
	bool over; /* PROGRAM runs */
};

static void fail(const char *what)
{
	fprintf(stderr, "failnth: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* At a call's entry: it is not made. At its exit: what it gives back. */
static void set_call(pid_t pid, bool entry, long value)
{
#if defined(__x86_64__)
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0) {
		return;
	}
	if (entry) {
		regs.orig_rax = (unsigned long long)value;
	} else {
		regs.rax = (unsigned long long)value;
	}
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
#elif defined(__aarch64__)
	struct user_regs_struct regs;
	int number = (int)value;
	struct iovec call = {&number, sizeof(number)};
	struct iovec all = {&regs, sizeof(regs)};

	if (entry) {
		ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &call);
	} else if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) == 0) {
		regs.regs[0] = (unsigned long long)value;
		ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &all);
	}
#else
#error "registers of this architecture"
#endif
}

/* A file of /proc/PID, cut to `size`. */
static const char *proc_text(pid_t pid, const char *file, char *ret_text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	FILE *f = fopen(path, "re");
	size_t n = f == NULL ? 0 : fread(ret_text, 1, size - 1, f);
	if (f != NULL) {
		fclose(f);
	}
	ret_text[n] = '\0';
	return ret_text;
}

static const char *name_of(pid_t pid, char *ret_name, size_t size)
{
	proc_text(pid, "comm", ret_name, size);
	ret_name[strcspn(ret_name, "\n ")] = '\0';
	return ret_name;
}

/* What the gate, if there is one, has locked itself up by. */
static void tell_gate(const struct run *run)
{
	char name[32];
	char status[8192];

	for (unsigned i = 0; i < run->nseen; i++) {
		if (strcmp(name_of(run->seen[i], name, sizeof(name)), "lnk-gate") != 0) {
			continue;
		}
		proc_text(run->seen[i], "status", status, sizeof(status));
		const char *filter = strstr(status, "\nSeccomp:\t");
		const char *rights = strstr(status, "\nNoNewPrivs:\t");

		if (filter != NULL && rights != NULL) {
			dprintf(9, "gate %c %c\n", filter[10], rights[13]);
		}
	}
}

static void on_call(struct run *run, pid_t pid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0) {
		return;
	}
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && run->failing == pid) {
		set_call(pid, false, -run->error);
		run->failing = 0;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY || run->over) {
		return;
	}
	char name[32];
	if (run->nth == 0) {
		dprintf(9, "%llu %s\n", (unsigned long long)info.entry.nr,
			name_of(pid, name, sizeof(name)));
	} else if (++run->count == run->nth) {
		dprintf(9, "%lu %llu %s\n", run->nth, (unsigned long long)info.entry.nr,
			name_of(pid, name, sizeof(name)));
		set_call(pid, true, -1);
		run->failing = pid;
	}
}

/* Whether a process that has just executed something is the program. */
static bool is_program(const struct run *run, pid_t pid)
{
	char path[64];
	char target[4096];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0) {
		return false;
	}
	target[n] = '\0';
	const char *slash = strrchr(target, '/');
	return slash != NULL && strcmp(slash + 1, run->program) == 0;
}

/* One stop of one process; how it goes on. */
static void on_stop(struct run *run, pid_t pid, int status)
{
	int sig = WSTOPSIG(status);
	int event = status >> 16;

	if (sig == (SIGTRAP | 0x80)) {
		on_call(run, pid);
		sig = 0;
	} else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP) {
		/* A stop by a signal: stay stopped until somebody continues it. */
		ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		return;
	} else if (event != 0) {
		if (event == PTRACE_EVENT_EXEC && !run->over && is_program(run, pid)) {
			run->over = true;
			tell_gate(run);
		}
		sig = 0;
	}
	ptrace(run->over ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, sig);
}

static void remember(struct run *run, pid_t pid)
{
	for (unsigned i = 0; i < run->nseen; i++) {
		if (run->seen[i] == pid) {
			return;
		}
	}
	if (run->nseen < SEEN_MAX) {
		run->seen[run->nseen++] = pid;
	}
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		close(9);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(125);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) < 0 ||
	    ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) < 0 || kill(pid, SIGCONT) < 0) {
		fail("cannot start");
	}
	return pid;
}

static void too_long(int sig)
{
	(void)sig;
	_exit(124);
}

int main(int argc, char **argv)
{
	if (argc < 6 || strcmp(argv[4], "--") != 0) {
		fputs("usage: failnth N ERRNO PROGRAM -- COMMAND...\n", stderr);
		return 125;
	}
	struct run run = {.nth = strtoul(argv[1], NULL, 10),
			  .error = (int)strtoul(argv[2], NULL, 10),
			  .program = argv[3]};
	int code = 125;
	pid_t first = start(argv + 5);

	signal(SIGALRM, too_long);
	alarm(RUN_MAX_S);
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == ECHILD) {
			return code;
		}
		if (pid < 0) {
			continue;
		}
		if (WIFSTOPPED(status)) {
			remember(&run, pid);
			on_stop(&run, pid, status);
		} else if (pid == first) {
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
	}
}
