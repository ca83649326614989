/* The clerk of a run without namespaces: changes modes, owners, times and attributes of files for
 * the program, which Landlock does not judge and a filter cannot, since the name lies in memory.
 * The filter hands such calls over (SECCOMP_RET_USER_NOTIF); the clerk opens what is meant, looks
 * where it lies, and makes the change itself on what it opened when that is a place that the
 * program may write. The program's call never goes on, so that nothing can be swapped after the
 * look.
 *
 * A thread of the keeper, which is an ancestor of every process of the run (Yama lets nobody else
 * read their memory) and must not wait for a file system that hangs. */
#ifndef LNK_CONFINE_CLERK_H
#define LNK_CONFINE_CLERK_H

#include "base/err.h"
#include "plan/plan.h"

/* Starts the thread. `socket`, which it takes over, brings the filter's listener as its one message
 * (pass_send) and gets it back when the clerk listens; when it closes without, the thread ends. The
 * plan outlives it. The caller has no capabilities: the clerk can do what the program's user can,
 * no more. Source: seccomp_unotify(2).
 */
bool clerk_start(const struct plan *plan, int socket, struct err *err);

#endif
