/* The tracer of --report: a process outside the sandbox that sees which files the kernel refused to
 * the program. It holds no guard and lets nothing through: it looks at calls that have failed.
 *
 * Everything the program starts is traced from before its first instruction (ptrace(2)), and a
 * seccomp filter of its own stops it at the calls of traced.def alone. When the tracer dies, the
 * kernel kills all that it traced; what is not traced and meets the filter gets ENOSYS. So whatever
 * happens to the tracer opens nothing. What it reads of the program is hostile, and it is jailed
 * itself: after it has taken hold of the program it can only wait, let go on, read the memory of
 * what it traces, read links of /proc, and write to the supervisor. */
#ifndef LNK_CONFINE_TRACER_H
#define LNK_CONFINE_TRACER_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum tracer_access {
	TRACER_LOOK = 1, /* stat(2) and its kin */
	TRACER_READ,
	TRACER_WRITE, /* of the file or of its name: created, removed, changed */
	TRACER_RUN,
};

/* A call that failed as refusals do: EACCES, EPERM, EROFS, EBUSY or ENOENT; or, where that was
 * asked for, a program that is about to be started, with error 0 whatever comes of it. */
struct tracer_refusal {
	uint32_t access;     /* enum tracer_access */
	int32_t error;       /* errno */
	char path[PATH_MAX]; /* absolute, as the sandbox names it; hostile; ended by NUL */
};

/* The supervisor's side. Without --report there is no tracer: pid and descriptors are -1. */
struct tracer {
	pid_t pid;
	int fd;      /* refusals come here; poll for POLLIN */
	int init_fd; /* init's end, until tracer_started_init */
};

/* Forks the tracer, before init is there. `starts`: programs that are started are told, too. False:
 * err says why. Source: ptrace(2), unix(7). */
bool tracer_start(bool starts, struct tracer *ret_tracer, struct err *err);

/* In the supervisor after init was cloned. */
void tracer_started_init(struct tracer *tracer);

/* Any other child of the supervisor: closes the supervisor's end; init keeps its own. */
void tracer_leave(struct tracer *tracer);

/* Reads one refusal. False: the tracer has ended (or sent what is none). */
bool tracer_read(struct tracer *tracer, struct tracer_refusal *ret_refusal);

/* After the last refusal was read or, when the run failed, before init is reaped: a tracer that
 * still has something to say must not wait for a reader. */
void tracer_close(struct tracer *tracer);

/* Reaps it. True: it saw the run to its end. */
bool tracer_finish(struct tracer *tracer);

/* In the child of init that becomes the program, with memory of its own: has the tracer take hold
 * of it, and loads the filter. `init_fd` is init's end. False: err says why; nothing may be run. */
bool tracer_enter(int init_fd, struct err *err);

#endif
