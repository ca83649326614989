/* Placeholders: empty folders made on the user's disk where a guarded name does not exist, so that
 * nothing inside can make it; and the registry of them, so that they are removed whatever happens.
 *
 * The registry is the folder `placeholders` (0700) in Link's state folder:
 *
 *   lock       held (flock) by whoever makes or removes placeholders, for that long only
 *   run.XXXX   one file for each run: which placeholders it uses. Written before a folder is made.
 *              Held locked (flock) by the run's living processes through one open file
 *              description; a file whose lock can be taken belongs to a run that is dead.
 *
 * Two runs that need the same name share its placeholder: both list it, and it is removed when no
 * other living run lists it. Nothing but rmdir is ever used, by the parent's descriptor, on an
 * empty folder of ours that has the inode number and mode we gave it: one that somebody filled,
 * replaced or changed the mode of is real, and stays.
 *
 * Format of a run file: entries that end in NUL. 'm' KIND PATH is written before mkdir;
 * 'i' KIND INO(hex) ':' MODE(octal) ':' PATH after it; KIND is 'n' (the name) or 'p' (a folder on
 * the way to it). A last entry without NUL was cut off by a kill: its mkdir never ran. */
#ifndef LNK_CONFINE_PLACEHOLDER_H
#define LNK_CONFINE_PLACEHOLDER_H

#include "base/arena.h"
#include "base/err.h"
#include "confine/registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A placeholder's mode, less the umask. On the host nobody fills it by mistake; inside it is a
 * read- only mount anyway. */
#define PLACEHOLDER_MODE 0555

/* The placeholders of one run. */
struct placeholders {
	const char *state_folder; /* borrowed */
	struct registry registry; /* not open until needed */
	int run_fd;               /* this run's record, locked; -1 while it uses none */
	struct registry_entries own;
	struct arena arena;
};

/* One name that should exist: `rel` below the granted folder `base_fd` (O_PATH), whose path is the
 * first `base_len` bytes of `path`. */
struct placeholder_want {
	int base_fd;
	size_t base_len;
	const char *path;
	struct origin from;
};

/* Empties `ret`; touches nothing on disk. `state_folder` is borrowed. */
void placeholders_init(struct placeholders *ret, const char *state_folder);

/* Makes a placeholder for each name that is absent, with the folders on the way, and lists it;
 * lists those of other runs that are shared. Cleans up after dead runs on the way. The state
 * folder is made (0700) only when a placeholder is. May be called again in one run; fast when
 * names of one folder stand together. No wanted name lies below another. base_fd stays the
 * caller's, open until placeholders_end.
 *
 * A name whose folder is somebody else's and may not be written is left absent: nothing inside can
 * make it either. A folder of the user's own that is not writable is an error that names it, with
 * the line; so is a state folder that cannot be made. What was made before the error is listed and
 * goes with placeholders_end. */
bool placeholders_make(struct placeholders *p, const struct placeholder_want *wants, size_t count,
		       struct err *err);

/* Sets ret_held[i] when what stands at wants[i] is a placeholder of this run, made or shared. */
void placeholders_held(const struct placeholders *p, const struct placeholder_want *wants,
		       size_t count, bool *ret_held);

/* The inode of the placeholder that a living run, this one or another, made last at `path`; 0 when
 * none is known. */
ino_t placeholders_inode(struct placeholders *p, const char *path);

/* Removes this run's placeholders that no other living run uses, and its record; releases all of
 * it. Call it when nothing of the run lives any more. Never fails: what cannot be removed now is
 * left for the next run's sweep. With `exiting` the caller is about to exit, and the kernel's slow
 * part of a removal is left to that. */
void placeholders_end(struct placeholders *p, bool exiting);

/* The same from the run's record alone, for the supervisor when the warden is dead. Takes run_fd
 * (may be -1: then this is placeholders_sweep). */
void placeholders_end_record(const char *state_folder, int run_fd);

/* Removes what dead runs left. Cheap when there is no registry or no record in it: at most an
 * open, a read of the folder and a close. Never waits long for a lock, never fails. */
void placeholders_sweep(const char *state_folder);

#endif
