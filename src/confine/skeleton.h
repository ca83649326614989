/* The part of the sandbox's root that is our own: folders and files on its tmpfs that mounts are
 * attached to. Nothing is ever made on a file system of the host, but in the home that --keep-home
 * keeps there. */
#ifndef LNK_CONFINE_SKELETON_H
#define LNK_CONFINE_SKELETON_H

#include "base/arena.h"
#include "base/set.h"

#include <stdbool.h>
#include <sys/types.h>

struct skeleton {
	int root; /* the tmpfs's root folder */
	struct arena arena;
	struct str_set own;   /* folders made here: lookups through them meet no link */
	struct str_set bound; /* of those, where a file system of the host was attached since */
	const char *kept;     /* the private home that is kept on disk, ours too; NULL for none. The
				 program filled it: links in it are never followed */
};

/* Something in the root, to attach a mount to. */
struct place {
	int dir;          /* with `path`, as the *at calls take them */
	const char *path; /* "" when `dir` is the thing itself */
	int fd;           /* to close; -1 when nothing was opened */
};

#define auto_place __attribute__((cleanup(skeleton_leave)))

void skeleton_leave(struct place *place);

/* Starts with the root alone. `root` stays the caller's. */
void skeleton_init(struct skeleton *s, int root);
void skeleton_release(struct skeleton *s);

/* Opens what stands at absolute `path` without following a link on the way or at its end (O_PATH).
 * -1 with errno. */
int skeleton_look(const struct skeleton *s, const char *path);

/* True when the folder that holds `path` is our own; it is made, with those above it, where it
 * does not exist. False with errno when it is not (EXDEV) or cannot be made. */
bool skeleton_parent(struct skeleton *s, const char *path);

/* What stands at `path`, made as an empty folder or file where our own part lacks it. False with
 * errno: ENOENT when it is missing on a file system of the host. */
bool skeleton_place(struct skeleton *s, const char *path, bool folder, mode_t mode,
		    struct place *ret_place);

/* A symbolic link at `path`, where our own part or the kept home lacks it; what stands there
 * already is kept. False with errno. */
bool skeleton_link(struct skeleton *s, const char *path, const char *target);

/* Attaches a mount there. `host`: it shows files of the host, so nothing is made in it. False with
 * errno. */
bool skeleton_attach(struct skeleton *s, int mount, const char *path, bool folder, bool host);

#endif
