/* Runs a command under ptrace and kills one of its processes after its N-th system call.
 *
 *   killnth count -- CMD...            prints, for each process, how many system calls it made
 *                                      before the program's exec: "LABEL CALLS"
 *   killnth kill LABEL N -- CMD...     kills LABEL after call N, then waits for the others
 *
 * A process is named by its place in the tree: 0 is the command, 0.0 its first child, 0.1 its
 * second. The program that CMD runs must be called `sleep`; from its exec on nothing is counted.
 *
 * Exit: 0 all ended within the grace; 2 the call was never reached; 3 processes were left (named
 * on stdout, then killed); 1 the harness itself failed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TASKS  256
#define GRACE_MS   2000
#define RUN_MAX_MS 20000
#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |  \
	 PTRACE_O_TRACEEXEC)

struct task {
	pid_t pid;
	bool ended;
	char label[64];
	unsigned children;
	unsigned long calls;
	bool inside; /* between a call's entry and its exit */
};

/* A new process that stopped before its parent's event told whose child it is. */
struct early {
	pid_t pid;
	long long since; /* milliseconds */
};

struct run {
	struct task task[MAX_TASKS];
	unsigned n;
	struct early early[MAX_TASKS];
	unsigned nearly;
	const char *victim; /* NULL: only count */
	unsigned long nth;
	bool killed;
	bool execed;   /* the program runs: no more counting */
	long long end; /* monotonic milliseconds after which nothing may live */
};

static long long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void fail(const char *what)
{
	fprintf(stderr, "killnth: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct task *find(struct run *run, pid_t pid)
{
	for (unsigned i = 0; i < run->n; i++) {
		if (run->task[i].pid == pid) {
			return &run->task[i];
		}
	}
	return NULL;
}

static struct task *add(struct run *run, pid_t pid, struct task *parent)
{
	if (run->n == MAX_TASKS) {
		errno = E2BIG;
		fail("too many processes");
	}
	struct task *task = &run->task[run->n++];
	task->pid = pid;
	if (parent == NULL) {
		snprintf(task->label, sizeof(task->label), "0");
	} else {
		char label[sizeof(task->label)];

		snprintf(label, sizeof(label), "%.48s.%u", parent->label, parent->children++);
		memcpy(task->label, label, sizeof(label));
	}
	return task;
}

/* Whether a process that has just executed something is the program. */
static bool is_program(pid_t pid)
{
	char path[64], name[32] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *file = fopen(path, "r");
	if (file == NULL) {
		return false;
	}
	char *got = fgets(name, sizeof(name), file);
	fclose(file);
	return got != NULL && strcmp(name, "sleep\n") == 0;
}

static void resume(struct run *run, struct task *task, int sig)
{
	bool trace = !run->execed && !run->killed;
	ptrace(trace ? PTRACE_SYSCALL : PTRACE_CONT, task->pid, 0, sig);
}

/* Forgets an early process; false when it was none. */
static bool take_early(struct run *run, pid_t pid)
{
	for (unsigned i = 0; i < run->nearly; i++) {
		if (run->early[i].pid == pid) {
			run->early[i] = run->early[--run->nearly];
			return true;
		}
	}
	return false;
}

/* A new child may stop before its parent's event does: it waits for that, to get its name. */
static void on_event(struct run *run, struct task *task, int event)
{
	unsigned long message = 0;
	if (event == PTRACE_EVENT_EXEC) {
		if (is_program(task->pid)) {
			run->execed = true;
			if (!run->killed) {
				run->end = now_ms() + (run->victim == NULL ? 200 : 0);
			}
		}
		return;
	}
	if (event == PTRACE_EVENT_STOP) {
		return;
	}
	if (ptrace(PTRACE_GETEVENTMSG, task->pid, 0, &message) == 0 &&
	    find(run, (pid_t)message) == NULL) {
		struct task *child = add(run, (pid_t)message, task);

		if (take_early(run, child->pid)) {
			resume(run, child, 0);
		}
	}
}

static void on_syscall(struct run *run, struct task *task)
{
	task->inside = !task->inside;
	if (task->inside || run->execed) {
		return;
	}
	task->calls++;
	if (run->victim != NULL && !run->killed && task->calls == run->nth &&
	    strcmp(task->label, run->victim) == 0) {
		kill(task->pid, SIGKILL);
		run->killed = true;
		run->end = now_ms() + GRACE_MS;
	}
}

/* Early processes whose parent died before its event: they go on under a name of their own. */
static void release_early(struct run *run)
{
	for (unsigned i = 0; i < run->nearly; i++) {
		if (now_ms() - run->early[i].since > 100) {
			struct task *task = add(run, run->early[i].pid, &run->task[0]);

			take_early(run, task->pid);
			resume(run, task, 0);
			return;
		}
	}
}

static void on_stop(struct run *run, pid_t pid, int status)
{
	struct task *task = find(run, pid);
	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		take_early(run, pid);
		if (task != NULL) {
			task->ended = true;
		}
		return;
	}
	if (task == NULL) {
		if (run->nearly < MAX_TASKS) {
			run->early[run->nearly++] = (struct early){.pid = pid, .since = now_ms()};
		}
		return;
	}
	int sig = WSTOPSIG(status);
	int event = status >> 16;
	if (sig == (SIGTRAP | 0x80)) {
		on_syscall(run, task);
		sig = 0;
	} else if (event != 0) {
		on_event(run, task, event);
		bool group_stop = event == PTRACE_EVENT_STOP && sig != SIGTRAP;
		if (group_stop) {
			ptrace(PTRACE_LISTEN, pid, 0, 0);
			return;
		}
		sig = 0;
	}
	resume(run, task, sig);
}

static unsigned alive(const struct run *run)
{
	unsigned n = 0;
	for (unsigned i = 0; i < run->n; i++) {
		n += !run->task[i].ended;
	}
	return n;
}

static void watch(struct run *run)
{
	while (alive(run) + run->nearly > 0 && now_ms() < run->end) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);
		if (pid > 0) {
			on_stop(run, pid, status);
		} else if (pid < 0 && errno == ECHILD) {
			return;
		} else {
			release_early(run);
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		}
	}
}

/* Starts the command, seizes it and lets it go. It waits by a pipe: of a group in which somebody is
 * stopped the kernel hangs up all when the last ends whose parent, in the same session, is of
 * another group, as a tool of another test. */
static pid_t start(char **argv)
{
	int go[2];
	char byte;

	if (pipe2(go, O_CLOEXEC) < 0) {
		fail("pipe");
	}
	pid_t pid = fork();
	if (pid < 0) {
		fail("fork");
	}
	if (pid == 0) {
		if (read(go[0], &byte, 1) == 1) {
			execvp(argv[0], argv);
		}
		_exit(127);
	}
	/* Interrupted, so that its calls are seen from here on, each from its entry. */
	if (ptrace(PTRACE_SEIZE, pid, 0, OPTIONS) != 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0 || write(go[1], "", 1) != 1) {
		fail("seize");
	}
	close(go[0]);
	close(go[1]);
	return pid;
}

static int report(struct run *run)
{
	unsigned left = alive(run);
	if (run->victim == NULL) {
		for (unsigned i = 0; i < run->n; i++) {
			if (run->task[i].calls > 0) {
				printf("%s %lu\n", run->task[i].label, run->task[i].calls);
			}
		}
	}
	for (unsigned i = 0; i < run->n; i++) {
		if (!run->task[i].ended) {
			if (run->victim != NULL) {
				printf("left %s\n", run->task[i].label);
			}
			kill(run->task[i].pid, SIGKILL);
		}
	}
	if (run->victim == NULL) {
		return run->execed ? 0 : 1;
	}
	if (!run->killed) {
		return 2;
	}
	return left > 0 ? 3 : 0;
}

int main(int argc, char **argv)
{
	static struct run run;
	char **cmd = NULL;
	if (argc > 3 && strcmp(argv[1], "count") == 0 && strcmp(argv[2], "--") == 0) {
		cmd = argv + 3;
	} else if (argc > 5 && strcmp(argv[1], "kill") == 0 && strcmp(argv[4], "--") == 0) {
		run.victim = argv[2];
		run.nth = strtoul(argv[3], NULL, 10);
		cmd = argv + 5;
	} else {
		fprintf(stderr, "usage: killnth count -- CMD... | kill LABEL N -- CMD...\n");
		return 1;
	}
	run.end = now_ms() + RUN_MAX_MS;
	add(&run, start(cmd), NULL);
	watch(&run);
	return report(&run);
}
