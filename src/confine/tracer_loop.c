/* Job: the tracer's own process: takes hold of the program, jails itself, lets everything go on,
 * and looks at the ends of the calls that the filter stops at. No memory is allocated. */
#include "confine/tracer_inner.h"

#include "base/str.h"
#include "confine/sys.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifdef __x86_64__
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#else
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#endif

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |                      \
	 PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)

/* Calls in flight, by the last bits of the thread's number: of two that share a slot one is not
 * looked at. */
#define SLOTS 16384U

#define EVENT_OF(status) ((unsigned)(status) >> 16)
#define SYSCALL_STOP     (SIGTRAP | 0x80)

/* What a call of ptrace(2) may be once the program is held. */
static const unsigned requests[] = {PTRACE_PEEKDATA, PTRACE_CONT, PTRACE_SYSCALL, PTRACE_LISTEN,
				    PTRACE_GET_SYSCALL_INFO};
static const int allowed[] = {SYS_wait4, SYS_readlinkat, SYS_sendto, SYS_exit_group};

bool tracer_jail(void)
{
	const uint32_t number = offsetof(struct seccomp_data, nr);
	struct sock_filter f[8 + 2 * (ARRAY_LEN(requests) + ARRAY_LEN(allowed))];
	unsigned short n = 0;

#define PUT(...) f[n++] = (struct sock_filter)__VA_ARGS__
	PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
	PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0));
	PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number));
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1));
		PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	}
	PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 1, 0));
	PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)));
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, requests[i], 0, 1));
		PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	}
	PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
#undef PUT
	struct sock_fprog prog = {.len = n, .filter = f};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &prog) == 0;
}

/* The number of the process that sends the first message, as it is out here; -1: none came. */
static pid_t hear_of_program(int init_fd)
{
	char byte;
	union {
		char v[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control = {.v = {0}};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.v,
			   .msg_controllen = sizeof(control.v)};
	struct ucred who;

	if (recvmsg(init_fd, &m, MSG_CMSG_CLOEXEC) != 1) {
		return -1;
	}
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (c == NULL || c->cmsg_type != SCM_CREDENTIALS || c->cmsg_len < CMSG_LEN(sizeof(who))) {
		return -1;
	}
	memcpy(&who, CMSG_DATA(c), sizeof(who));
	return who.pid;
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void go_on(enum __ptrace_request how, pid_t tid, int sig)
{
	/* One that was killed meanwhile is waited for like all others. */
	(void)ptrace(how, tid, NULL, (void *)(uintptr_t)sig);
}

/* About to make one of the calls: remembered, and met again at its end. */
static void enters(struct traced_call *slots, pid_t tid, int starts_fd)
{
	struct __ptrace_syscall_info info;
	struct traced_call *slot = &slots[(unsigned)tid % SLOTS];

	slot->tid = 0;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0 &&
	    info.op == PTRACE_SYSCALL_INFO_SECCOMP) {
		slot->tid = tid;
		slot->number = (int)info.seccomp.nr;
		memcpy(slot->args, info.seccomp.args, sizeof(slot->args));
	}
	if (slot->tid != 0 && starts_fd >= 0 &&
	    (slot->number == SYS_execve || slot->number == SYS_execveat)) {
		tracer_look(slot, 0, starts_fd);
	}
	go_on(slot->tid != 0 ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0);
}

static void leaves(struct traced_call *slots, pid_t tid, int fd)
{
	struct __ptrace_syscall_info info;
	struct traced_call *slot = &slots[(unsigned)tid % SLOTS];

	if (slot->tid == tid && ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0 &&
	    info.op == PTRACE_SYSCALL_INFO_EXIT && info.exit.is_error) {
		tracer_look(slot, (int)-info.exit.rval, fd);
	}
	go_on(PTRACE_CONT, tid, 0);
}

static void stopped(struct traced_call *slots, pid_t tid, int status, int fd, bool starts)
{
	int sig = WSTOPSIG(status);

	switch (EVENT_OF(status)) {
	case PTRACE_EVENT_SECCOMP:
		enters(slots, tid, starts ? fd : -1);
		break;
	case PTRACE_EVENT_STOP:
		/* A stopped job stays stopped, and hears SIGCONT. */
		go_on(is_stop_signal(sig) ? PTRACE_LISTEN : PTRACE_CONT, tid, 0);
		break;
	case 0:
		if (sig == SYSCALL_STOP) {
			leaves(slots, tid, fd);
		} else {
			go_on(PTRACE_CONT, tid, sig);
		}
		break;
	default: /* a fork: the child is traced by itself */
		go_on(PTRACE_CONT, tid, 0);
		break;
	}
}

/* Nothing of the supervisor's stays open here but the two sockets. */
static bool keep_only(int *a, int *b)
{
	if (*a == 4) { /* the first dup2 below would close it */
		*a = fcntl(*a, F_DUPFD_CLOEXEC, 5);
	}
	if (dup2(*b, 4) < 0 || dup2(*a, 3) < 0) {
		return false;
	}
	*a = 3;
	*b = 4;
	close(0);
	close(1);
	close(2);
	return sys_close_range(5, ~0U, 0) == 0;
}

void tracer_main(int supervisor_fd, int init_fd, pid_t supervisor, bool starts)
{
	static struct traced_call slots[SLOTS];
	int32_t answer = 0;
	int status;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor ||
	    prctl(PR_SET_NAME, "lnk-tracer") < 0 || !keep_only(&supervisor_fd, &init_fd)) {
		_exit(EXIT_FAILURE);
	}
	pid_t pid = hear_of_program(init_fd);
	if (pid <= 0) {
		_exit(EXIT_SUCCESS); /* the set-up failed before: that is told by others */
	}
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)OPTIONS) < 0 || !tracer_jail()) {
		answer = errno;
	}
	(void)send(init_fd, &answer, sizeof(answer), MSG_NOSIGNAL);
	while (answer == 0 && (pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			stopped(slots, pid, status, supervisor_fd, starts);
		}
	}
	_exit(EXIT_SUCCESS);
}
