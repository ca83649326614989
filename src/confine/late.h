/* A program that comes when the sandbox is ready: its arguments, its folder, its descriptors. For
 * tools, whose sandbox waits for the next call. */
#ifndef LNK_CONFINE_LATE_H
#define LNK_CONFINE_LATE_H

#include "base/arena.h"

#include <stdbool.h>

/* Bytes of arguments and folder together; what execve(2) takes. */
#define LATE_MAX (2UL * 1024UL * 1024UL)

struct late {
	char **argv;     /* NULL-terminated */
	const char *cwd; /* absolute, as the sender names it */
	int fds[3];      /* to become descriptors 0 to 2; the receiver's */
};

/* Hands a program over. The descriptors stay the sender's. False with errno: E2BIG, or the
 * receiver is gone. Source: memfd_create(2), SCM_RIGHTS of unix(7). */
bool late_send(int socket, char *const *argv, const char *cwd, const int fds[3]);

/* Waits for one. False: the sender is gone, or it is none of ours. Strings live in `arena`. */
bool late_receive(int socket, struct arena *arena, struct late *ret_late);

#endif
