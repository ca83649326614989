/* Landlock: the plan's rights by inode, execution, and scopes for signals and abstract sockets. */
#ifndef LNK_CONFINE_LANDLOCK_H
#define LNK_CONFINE_LANDLOCK_H

#include "base/err.h"
#include "plan/plan.h"

/* Confines the calling process and its descendants, for good, to the plan's PLAN_ALLOW operations.
 * Paths are opened in the caller's root. `fds` are open descriptors to files and devices outside
 * (standard input and its kin, --fd): each gets a rule of its own mode. Uses what the kernel's ABI
 * (landlock(7)) has; no_new_privs must be set. `abi` is at least 1. */
bool landlock_confine(const struct plan *plan, int abi, const int *fds, size_t nfds,
		      struct err *err);

/* Draws a line around the calling process and those that it starts: no signal of theirs goes out of
 * it, so that kill(-1) reaches them all and nobody else. Needs ABI 6 and no_new_privs. */
bool landlock_scope(struct err *err);

#endif
