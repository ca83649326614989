/* Looking, outside of the sandbox, whether a name is there that a program inside has made up. */
#ifndef LNK_CLI_OUTSIDE_H
#define LNK_CLI_OUTSIDE_H

#include <stdbool.h>

enum outside {
	OUTSIDE_ABSENT,
	OUTSIDE_THERE,
	OUTSIDE_CLOSED,  /* there, but this user may not do it out here either */
	OUTSIDE_FOREIGN, /* not looked at: in a file system that asks others (NFS, FUSE, autofs) */
};

/* Looks at absolute `path`, following links, and whether this user may do with it what `mode` says
 * (access(2); 0: nothing). With `parent`, at the folder that holds it. Nothing is opened, read or
 * mounted, and no other machine hears the name. *ret_folder: it is a folder. Source: openat(2)
 * O_PATH, statfs(2), faccessat2(2). */
enum outside outside_look(const char *path, int mode, bool parent, bool *ret_folder);

#endif
