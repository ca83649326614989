/* Setting aside what somebody made at a guarded name that our placeholder had held. */
#ifndef LNK_CONFINE_ASIDE_H
#define LNK_CONFINE_ASIDE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum aside { ASIDE_NOTHING, ASIDE_MOVED, ASIDE_FAILED };

/* Moves away what stands at `rel` (below the folder `base_fd`, O_PATH): an empty folder is removed,
 * since things could still be made in it through a descriptor that was opened in time; anything
 * else is renamed to "NAME.lnk-unknown", or with a number added where that exists. Nothing is ever
 * replaced. The new name (the last part) goes into `ret_name` of `cap` bytes. A folder whose inode
 * is `spare` (0 for none), the placeholder of a run, stays. ASIDE_FAILED: err says why. */
enum aside aside_move(int base_fd, const char *rel, ino_t spare, char *ret_name, size_t cap,
		      struct err *err);

/* True when the regular file at `rel` is open for writing anywhere (fcntl(2), F_SETLEASE): a
 * descriptor that the program opened before the name was closed again would write it for the rest
 * of the run. Waits up to `wait_ms` for an editor outside to close it. False also for what is no
 * file of the user's own, of which this cannot be told. */
bool aside_is_written(int base_fd, const char *rel, int wait_ms);

#endif
