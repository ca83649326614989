/* Names that stay closed or unchanged inside the sandbox, and the mount that keeps them so. The
 * set-up (init) and the warden's helper both cover a name through guard_cover, so that the rule
 * stands once.
 *
 * A mount follows the file that stood at the name, not the name: whoever outside renames another
 * file over it takes the mount away. The warden (warden.h) sees that and covers the name again. */
#ifndef LNK_CONFINE_GUARDNAME_H
#define LNK_CONFINE_GUARDNAME_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the sandbox's root has the empty folder and the empty file that cover hidden names, both
 * without any permission. Relative to the root. Made by the set-up before the first cover. */
#define GUARD_CLOSED_DIR  "run/lnk/closed-dir"
#define GUARD_CLOSED_FILE "run/lnk/closed-file"

enum warden_kind {
	/* Read only at its name: what stands there (folder with all below it, file, or a symbolic
	 * link as the link) is bound onto itself, read only. Absent: an empty folder is made. */
	WARDEN_PIN = 1,
	/* Closed: covered by the empty unreadable folder or file. Absent: an empty folder is made,
	 * with the folders on the way. */
	WARDEN_COVER,
	/* A symbolic link on the way to a hidden path: pinned while it is a link, closed when it is
	 * anything else. */
	WARDEN_LINK,
	/* Kept at its name, but written: a folder on the way to another guarded name, bound onto
	 * itself so that it cannot be renamed from inside. Never made when absent. */
	WARDEN_ANCHOR,
};

/* One guarded name. `path` is absolute, normalised and free of symbolic links (the last part may
 * be one), and is the path inside the sandbox as well as outside. Its first `base_len` bytes name
 * the granted folder it lies in: that folder is held by descriptor, and what lies between it and
 * the name is watched. 0 < base_len < strlen(path), path[base_len] == '/'; for "/" base_len is 0.
 * Names below a WARDEN_COVER must not be handed over: they do not exist inside. */
struct warden_name {
	const char *path;
	size_t base_len;
	enum warden_kind kind;
	bool never_made;    /* not ours to make: no placeholder stands in when it is absent */
	struct origin from; /* the line of the spec, for messages; may be all zero */
};

/* Covers `name` in the sandbox whose root is `root_fd` (a descriptor of the root folder, in the
 * caller's mount namespace; the caller has CAP_SYS_ADMIN over it), then looks at the name again
 * and compares what is seen there.
 *
 * True: covered; or absent where nothing inside could make it (its folder is read only there, or
 * somebody else's and not writable) and the kind allows it. Absent otherwise: false with err->sys
 * ENOENT. A link on the way: false with ELOOP. Whenever it fails nothing was opened further than
 * it was before. Covering twice stacks two mounts: see guard_is_covered.
 *
 * Kernel: open_tree and move_mount (5.2), openat2 (5.6), statx's mount root (5.8), mount_setattr
 * (5.12). */
bool guard_cover(int root_fd, const struct warden_name *name, struct err *err);

/* True when the name is seen closed (WARDEN_COVER), or as the root of a mount that is read only
 * (WARDEN_PIN) or not (WARDEN_ANCHOR). False also when it is absent or cannot be looked at. */
bool guard_is_covered(int root_fd, const struct warden_name *name);

/* Sorts so that a folder comes before what lies in it, as covering must go. In place; the array
 * is the caller's. */
void guard_sort(struct warden_name *names, size_t count);

#endif
