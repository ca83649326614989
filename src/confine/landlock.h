/* Landlock: the plan's rights by inode, execution, and scopes for signals and abstract sockets. */
#ifndef LNK_CONFINE_LANDLOCK_H
#define LNK_CONFINE_LANDLOCK_H

#include "base/err.h"
#include "plan/plan.h"

#include <stdint.h>

/* What rules are about, held open to make them again where nothing more may be opened. */
#define LANDLOCK_HELD_MAX 128

struct landlock_held {
	size_t n;
	struct {
		int fd;
		uint64_t allowed;
	} v[LANDLOCK_HELD_MAX];
	bool more; /* there were more: not all is held */
};

/* The rules of the plan's PLAN_ALLOW operations, as a descriptor that landlock_enter takes. Paths
 * are opened in the caller's root, and held where `held` is not NULL (empty before). Uses what the
 * kernel's ABI (landlock(7)) has; `abi` is at least 1. */
bool landlock_rules(const struct plan *plan, int abi, struct landlock_held *held, int *ret_ruleset,
		    struct err *err);

/* The same rules once more. False: not all is held, or the kernel has no room. */
bool landlock_rules_again(const struct landlock_held *held, int abi, int *ret_ruleset);

/* Confines the calling process and its descendants, for good, to the rules. `fds` are open
 * descriptors to files and devices outside (standard input and its kin, --fd): each gets a rule of
 * its own mode. no_new_privs must be set. Closes `ruleset`. */
bool landlock_enter(const struct plan *plan, int abi, int ruleset, const int *fds, size_t nfds,
		    struct err *err);

#endif
