/* A program that comes when its sandbox is ready: for tools, whose next sandbox waits for the next
 * call. One message of a SOCK_SEQPACKET pair; the supervisor and init share the receiving end, and
 * each gets one. */
#ifndef LNK_CONFINE_LATE_H
#define LNK_CONFINE_LATE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Bytes of a program's strings, with their NULs; more is for a sandbox that is made for it. */
#define LATE_MAX (96UL * 1024UL)

/* Something of ours for the program to see: a file with `text`, a link to `to`, else a folder. */
struct late_name {
	const char *path; /* in a folder of the sandbox's own */
	const char *text;
	const char *to;
};

struct late {
	char **argv;     /* NULL-terminated; argv[0] is passed over, the plan's program runs */
	char **env;      /* NULL-terminated; "NAME=VALUE" that stand for those of that name */
	const char *cwd; /* absolute, by name; where it cannot be entered, the home */
	const struct late_name *names;
	size_t nnames;
	int fds[3];  /* to become descriptors 0 to 2; the sender's, and then the receiver's */
	pid_t group; /* the process group that the sandbox joins */
};

/* Hands a program over; the descriptors stay the sender's. False with errno: E2BIG beyond LATE_MAX,
 * or nobody is there. Source: SCM_RIGHTS of unix(7). */
bool late_send(int socket, const struct late *late);

/* The supervisor's message: `fds` and `group`. False: no program comes any more. */
bool late_begin(int socket, struct late *ret_late);

/* Init's: all but the group; strings live in `arena`. False likewise. */
bool late_read(int socket, struct arena *arena, struct late *ret_late);

/* Makes the names. False: err. */
bool late_make(const struct late *late, struct err *err);

/* Removes them. False: something is left of them. */
bool late_unmake(const struct late *late);

/* The variables of a plan, but for those that came along and for PWD, which is `cwd`. */
char **late_env(char *const *planned, const struct late *late, const char *cwd,
		struct arena *arena);

#endif
