/* The facts about this machine and this user that a plan is made from. Read once; plain data. */
#ifndef LNK_PLAN_MACHINE_H
#define LNK_PLAN_MACHINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/set.h"
#include "plan/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct machine_paths {
	struct path_info *v;
	size_t n;
	size_t cap;
};

struct machine {
	uid_t uid;
	gid_t gid;
	const char *user;      /* login name, from $USER; "user" when unset */
	struct path_info home; /* $HOME */
	struct path_info cwd;  /* name: $PWD when it is this folder, else getcwd */
	const char *path;      /* $PATH as it is; a default when unset */
	struct machine_paths
		path_folders; /* its absolute entries, resolved, in order, that exist */
	struct machine_paths link_folders; /* Link's settings and agents' folders: `link` in the XDG
					      config, data, state and cache homes (exist or not) */
	struct machine_paths socket_folders; /* /tmp /run /var/run /var/folders $XDG_RUNTIME_DIR
						$TMPDIR, those that are set */
	struct machine_paths system_folders; /* read-only system: /usr /bin … those that exist */
	struct str_set *resolved;            /* what machine_resolve has answered */
	const char *state_folder;            /* Link's state folder by name: $XDG_STATE_HOME/link */
};

/* Reads `envp` and the file system. No HOME, or one that is not absolute: an error with a hint. */
bool machine_read(char *const *envp, struct arena *arena, struct machine *ret_machine,
		  struct err *err);

/* resolve_path, but each name once: whoever asks again gets the same answer, so that what a rule
 * judged is what is opened, whatever changes on disk in between. */
bool machine_resolve(const struct machine *machine, const char *name, struct arena *arena,
		     struct path_info *ret_info, struct err *err);

#endif
