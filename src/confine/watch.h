/* Watches guarded names on disk: one inotify watch on every folder between a granted folder and a
 * guarded name, and a tree of the names to tell which events matter. Inside confine/ only.
 *
 * Folders are opened below a descriptor of the granted folder without following links, and watched
 * through /proc/self/fd, so that what is watched is what was looked at. What happens inside a
 * guarded folder is no event here, unless other guarded names lie in it. */
#ifndef LNK_CONFINE_WATCH_H
#define LNK_CONFINE_WATCH_H

#include "base/arena.h"
#include "base/err.h"
#include "confine/guardname.h"

#include <stdbool.h>
#include <stddef.h>

#define WATCH_NO_GUARD ((size_t)-1)

/* A part of a path: a granted folder (parent is itself), a folder on the way, or a guarded name. */
struct watch_node {
	size_t via;       /* index of a guarded name that it is on the way to */
	const char *path; /* that name's; its first `len` bytes are this node's */
	size_t len;
	size_t name; /* where the last part starts in path */
	size_t parent;
	size_t base;  /* node of the granted folder */
	size_t guard; /* the first index into names, or WATCH_NO_GUARD */
	size_t child; /* first of its children, in `children` */
	size_t nchildren;
	int base_fd; /* O_PATH, granted folders only; else -1 */
	int wd;      /* -1: not watched (it has no children, or does not exist) */
	bool dirty;
	bool gone; /* since watch_clear: it went away, */
	bool came; /* and something came in its place afterwards */
};

struct watch_nodes {
	struct watch_node *v;
	size_t n;
	size_t cap;
};

/* Which node a watch descriptor stands for; several nodes may be one folder. */
struct watch_wd {
	int wd;
	size_t node;
};

struct watch {
	int fd;                          /* inotify, non-blocking; poll for POLLIN */
	const struct warden_name *names; /* sorted by guard_sort; borrowed */
	size_t nnames;
	struct watch_nodes nodes; /* parents before children */
	size_t *children;         /* nodes, those of one parent together and sorted */
	size_t *guard_nodes;      /* the node of each of names */
	struct watch_wd *wds;     /* sorted */
	size_t nwds;
	bool any_dirty;
	bool lost; /* events were lost since watch_clear */
	struct arena arena;
};

/* Builds the tree and opens the granted folders. `names` are sorted by guard_sort and outlive the
 * watch. False: err says why, and watch_release is still to be called. */
bool watch_init(struct watch *ret_watch, const struct warden_name *names, size_t nnames,
		struct err *err);

/* Puts a watch on every folder that exists. False: err has a hint that names the kernel's setting
 * when a limit is reached. */
bool watch_start(struct watch *w, struct err *err);

/* Reads what happened and marks the names concerned, and all below them. Does not block. After a
 * lost event (IN_Q_OVERFLOW) everything is marked. */
void watch_read(struct watch *w);

/* Watches marked folders again where others stand at their names now. Before looking at marked
 * names. False as watch_start. */
bool watch_refresh(struct watch *w, struct err *err);

/* The marked guarded names in order: the first with an index of at least `from`, or
 * WATCH_NO_GUARD. */
size_t watch_next(const struct watch *w, size_t from);

/* True when, since the last watch_clear, names[guard] or a folder on the way to it went away and
 * then something appeared there, in two steps: whoever was quick enough may have put it there. */
bool watch_was_replaced(const struct watch *w, size_t guard);

/* Unmarks everything. */
void watch_clear(struct watch *w);

/* The descriptor of the granted folder that names[guard] lies in. */
int watch_base_fd(const struct watch *w, size_t guard);

/* True when names[guard] exists (as anything), or cannot be looked at. */
bool watch_exists(const struct watch *w, size_t guard);

/* O_PATH descriptor of what stands at the guard's name, itself not followed; -1 with errno. */
int watch_open(const struct watch *w, size_t guard);

void watch_release(struct watch *w);

#endif
