/* What a path of the spec is on this machine: each link on its way, what it resolves to, and what
 * stands there. Looked at once, at start; confine opens again and compares device and inode. */
#ifndef LNK_PLAN_RESOLVE_H
#define LNK_PLAN_RESOLVE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A symbolic link met on the way: `path` is absolute and itself free of links, `target` is the
 * link's text as it stands. */
struct path_link {
	const char *path;
	const char *target;
	dev_t dev; /* of the link itself */
	ino_t ino;
};

struct path_info {
	const char *name; /* as given: absolute, normalised by name, links not followed */
	const char *real; /* what it resolves to; where the last parts do not exist, the resolved
			     existing ancestor with the rest of the name added */
	bool exists;
	const char *missing; /* the first part (absolute) that does not exist; NULL when it does */
	mode_t mode;         /* of `real`, 0 when missing */
	dev_t dev;
	ino_t ino;
	uid_t uid;
	struct {
		struct path_link *v;
		size_t n;
		size_t cap;
	} links; /* in the order they are met */
};

/* Walks `name` (absolute, normalised). A missing path is not an error (`exists` is false); a loop
 * of links (more than 40), a path over PATH_MAX or a folder that may not be searched is. Strings
 * live in `arena`. */
bool resolve_path(const char *name, struct arena *arena, struct path_info *ret_info,
		  struct err *err);

#endif
