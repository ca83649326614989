/* Inside tracer*.c only. */
#ifndef LNK_CONFINE_TRACER_INNER_H
#define LNK_CONFINE_TRACER_INNER_H

#include "confine/tracer.h"

#include <stddef.h>

/* One row of traced.def. */
struct traced {
	int number;
	signed char dir, path, with; /* arguments; -1: none */
	unsigned char access;        /* enum tracer_access, or one of these */
};
#define TRACED_OPENS 16
#define TRACED_ASKS  17

const struct traced *traced_calls(size_t *ret_n);

/* What a tracee was about to call when it stopped. */
struct traced_call {
	pid_t tid; /* 0: nothing known */
	int number;
	uint64_t args[6];
};

/* The call has ended with `error` (errno, not negative; 0: it starts a program, and is about to):
 * sends what it tells to `fd`, one refusal for each name. The tracee is stopped. */
void tracer_look(const struct traced_call *call, int error, int fd);

/* The tracer's whole life. */
void tracer_main(int supervisor_fd, int init_fd, pid_t supervisor, bool starts)
	__attribute__((noreturn));

/* No call but those that the loop makes, and of ptrace(2) nothing that changes a process. */
bool tracer_jail(void);

#endif
