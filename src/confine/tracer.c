/* Job: the tracer as the supervisor and the program-to-be see it. */
#include "confine/tracer_inner.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/sys.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define NONE (-1)

const struct traced *traced_calls(size_t *ret_n)
{
	enum {
		LOOK = TRACER_LOOK,
		WRITE = TRACER_WRITE,
		RUN = TRACER_RUN,
		OPENS = TRACED_OPENS,
		ASKS = TRACED_ASKS
	};
	static const struct traced calls[] = {
#define TRACED(call, dir, path, access, with) {SYS_##call, dir, path, with, access},
#include "confine/traced.def"
#undef TRACED
	};

	*ret_n = ARRAY_LEN(calls);
	return calls;
}

static pid_t fork_tracer(bool starts, const int sup[2], const int init[2])
{
	pid_t supervisor = getpid();
	sigset_t all, before;

	/* No signal of the terminal may stop it: the program would stand still. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0) {
		tracer_main(sup[1], init[1], supervisor, starts);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

bool tracer_start(bool starts, struct tracer *ret_tracer, struct err *err)
{
	int sup[2] = {-1, -1};
	int init[2] = {-1, -1};
	int on = 1;
	pid_t pid = -1;

	*ret_tracer = (struct tracer){-1, -1, -1};
	/* By the credentials of the first message the tracer learns the number that the program has
	 * outside. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sup) == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, init) == 0 &&
	    setsockopt(init[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0) {
		pid = fork_tracer(starts, sup, init);
	}
	if (pid < 0) {
		err_set(err, ERR_SETUP, errno, "cannot start the tracer of --report");
		fd_close(&sup[0]);
		fd_close(&init[0]);
	} else {
		*ret_tracer = (struct tracer){pid, sup[0], init[0]};
	}
	fd_close(&sup[1]);
	fd_close(&init[1]);
	return pid > 0;
}

void tracer_started_init(struct tracer *tracer)
{
	fd_close(&tracer->init_fd);
}

void tracer_leave(struct tracer *tracer)
{
	fd_close(&tracer->fd);
	tracer->pid = -1;
}

bool tracer_read(struct tracer *tracer, struct tracer_refusal *ret_refusal)
{
	const size_t head = offsetof(struct tracer_refusal, path);
	ssize_t n;

	do {
		n = recv(tracer->fd, ret_refusal, sizeof(*ret_refusal), 0);
	} while (n < 0 && errno == EINTR);
	if (n <= (ssize_t)head || (size_t)n > sizeof(*ret_refusal)) {
		return false;
	}
	((char *)ret_refusal)[n - 1] = '\0';
	return ret_refusal->path[0] == '/' && ret_refusal->access >= TRACER_LOOK &&
	       ret_refusal->access <= TRACER_RUN;
}

void tracer_close(struct tracer *tracer)
{
	fd_close(&tracer->fd);
}

bool tracer_finish(struct tracer *tracer)
{
	int status = -1;

	if (tracer->pid < 0) {
		return true;
	}
	while (waitpid(tracer->pid, &status, 0) < 0 && errno == EINTR) {
	}
	tracer->pid = -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- in the program-to-be -------------------------------------------------------------------- */

#define FILTER_MAX 160

struct filter {
	struct sock_filter v[FILTER_MAX];
	unsigned short n;
};

static void put(struct filter *f, unsigned code, unsigned jt, unsigned jf, uint32_t k)
{
	if (f->n < FILTER_MAX) {
		f->v[f->n++] = (struct sock_filter){
			.code = (uint16_t)code, .jt = (uint8_t)jt, .jf = (uint8_t)jf, .k = k};
	}
}

#define LOAD_WORD  (BPF_LD | BPF_W | BPF_ABS)
#define JUMP_EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define JUMP_BITS  (BPF_JMP | BPF_JSET | BPF_K)
#define RETURN     (BPF_RET | BPF_K)

/* Foreign architectures are killed by the filter before this one, which wins (seccomp(2)). */
static bool load_filter(void)
{
	struct filter f = {.n = 0};
	const uint32_t number = offsetof(struct seccomp_data, nr);
	const uint32_t args = offsetof(struct seccomp_data, args);
	size_t n;
	const struct traced *calls = traced_calls(&n);

	put(&f, LOAD_WORD, 0, 0, number);
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && calls[i].number == calls[i - 1].number) {
			continue;
		}
		bool may_be_empty = calls[i].access == TRACER_LOOK && calls[i].with >= 0;
		if (!may_be_empty) {
			put(&f, JUMP_EQUAL, 0, 1, (uint32_t)calls[i].number);
			put(&f, RETURN, 0, 0, SECCOMP_RET_TRACE);
			continue;
		}
		/* fstat(2) as the C library calls it has no name. */
		put(&f, JUMP_EQUAL, 0, 4, (uint32_t)calls[i].number);
		put(&f, LOAD_WORD, 0, 0, args + (uint32_t)calls[i].with * 8);
		put(&f, JUMP_BITS, 0, 1, AT_EMPTY_PATH);
		put(&f, RETURN, 0, 0, SECCOMP_RET_ALLOW);
		put(&f, RETURN, 0, 0, SECCOMP_RET_TRACE);
	}
	put(&f, RETURN, 0, 0, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {.len = f.n, .filter = f.v};
	return f.n < FILTER_MAX && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &prog) == 0;
}

bool tracer_enter(int init_fd, struct err *err)
{
	int32_t answer = EIO;
	char ready = 'r';

	/* Init is closed to tracing, and this is a copy of it. Nobody else is inside yet. */
	if (prctl(PR_SET_DUMPABLE, 1) < 0 || send(init_fd, &ready, 1, MSG_NOSIGNAL) != 1 ||
	    recv(init_fd, &answer, sizeof(answer), 0) != (ssize_t)sizeof(answer)) {
		answer = answer != EIO ? EIO : errno;
	}
	if (answer != 0) {
		err_set(err, ERR_SETUP, answer, "--report cannot trace the program (ptrace)");
		return err_hint(err, answer == EPERM
					     ? "the kernel may forbid it to everybody: see "
					       "/proc/sys/kernel/yama/ptrace_scope, which must not "
					       "be 3; or run without --report"
					     : "run without --report");
	}
	return load_filter() ||
	       err_set(err, ERR_SETUP, errno, "cannot load the filter of --report (seccomp)");
}
