/* Closing the dynamic loaders: without this, `ld.so ./program` starts what [commands] does not
 * list, because Landlock and the kernel see only the loader being executed. */
#ifndef LNK_CONFINE_LOADER_H
#define LNK_CONFINE_LOADER_H

#include "base/err.h"
#include "plan/plan.h"

/* Registers every PLAN_LOADER of the plan in a binfmt_misc instance of the caller's own user
 * namespace (Linux 6.7), so that executing the file itself is EACCES; programs whose loader the
 * kernel opens are untouched. Call it in the new root, with CAP_SYS_ADMIN in the user namespace
 * and uid 0 mapped. *ret_fd is the instance's detached mount (-1 when the plan has no loaders):
 * the rules hold as long as it, so init keeps it open for the whole run. */
bool loader_close(const struct plan *plan, int *ret_fd, struct err *err);

#endif
