/* One trial in place of a program: `lnk sandbox why` sets a whole sandbox up, and a process in it,
 * with every guard of the program's, tries one thing. What it says is what the kernel says. */
#ifndef LNK_CONFINE_TRIAL_H
#define LNK_CONFINE_TRIAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum trial_kind {
	TRIAL_READ,  /* opens a file, lists a folder */
	TRIAL_WRITE, /* opens a file without a change to it; makes a nameless file in a folder, or
			in the nearest one that is there */
	TRIAL_RUN,   /* executes argv[0]; it makes no system call and is killed at once */
	TRIAL_CALL,  /* looks `what` up, where that is a name, and connects */
};

struct trial {
	enum trial_kind kind;
	const char *what; /* absolute path; host name in normal form, or address */
	uint16_t port;
};

/* The exit status of a trial: an errno value below these, 0 for yes, or */
#define TRIAL_PIPE    120 /* a pipe or socket: opening it would be felt at its other end */
#define TRIAL_NO_NAME 121 /* the sandbox's resolver knows no such name */
#define TRIAL_SILENT  122 /* nobody answered */
#define TRIAL_OTHER   123 /* an errno value that is too large */

/* In the child of init that would become the program: tries READ, WRITE or CALL, and ends. */
void trial_try(const struct trial *trial) __attribute__((noreturn));

/* In the child that is about to execute the program of RUN: no call but execve(2) and exit from now
 * on; others fail. Source: seccomp(2). */
bool trial_close(struct err *err);

#endif
