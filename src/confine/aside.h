/* Setting aside what somebody made at a guarded name that our placeholder had held. */
#ifndef LNK_CONFINE_ASIDE_H
#define LNK_CONFINE_ASIDE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum aside { ASIDE_NOTHING, ASIDE_MOVED, ASIDE_FAILED };

/* When what stands at `rel` (below the folder `base_fd`, O_PATH) is more than an empty folder,
 * renames it to "NAME.lnk-unknown", or with a number added where that exists; nothing is ever
 * replaced. Its new name (the last part) goes into `ret_name` of `cap` bytes. An empty folder, which
 * may be the placeholder of another run, stays. ASIDE_FAILED: err says why. */
enum aside aside_move(int base_fd, const char *rel, char *ret_name, size_t cap, struct err *err);

#endif
