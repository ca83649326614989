/* Whether a sandbox that a program has left is as it was before it came, so that it may be the next
 * one's: nobody else has been in between, and nothing of the first is there for the next to meet.
 */
#ifndef LNK_CONFINE_AGAIN_H
#define LNK_CONFINE_AGAIN_H

#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct again; /* how it was */

/* Looks at everything of the sandbox's own that a program may change: private folders and what the
 * plan has put there, queues, terminals, IPC objects, and the limits and turns of the calling
 * process (init), which others of the same user can set. The caller's root is the sandbox's; lives
 * until the process ends. NULL: it cannot be told. */
struct again *again_look(const struct plan *plan);

/* True when all of that is as it was. No other process is left in the sandbox. A change is seen by
 * the file's ctime (inode(7)), which no program can set. */
bool again_is_same(const struct again *before);

#endif
