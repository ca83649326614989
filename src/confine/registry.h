/* The registry of placeholders on disk: its folder, its lock, and the records of runs. Inside
 * confine/ only; placeholder.h says what it is for and how a record is written. */
#ifndef LNK_CONFINE_REGISTRY_H
#define LNK_CONFINE_REGISTRY_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define REGISTRY_KIND_NAME   'n' /* the guarded name itself */
#define REGISTRY_KIND_PARENT 'p' /* a folder on the way to it */

/* One folder that a record lists. */
struct registry_entry {
	char *path; /* absolute */
	size_t base_len;
	int base_fd; /* the granted folder path[0..base_len), held by its user; -1: go by path */
	char kind;
	bool known; /* `ino` and `mode` are those of the folder as it was made */
	ino_t ino;
	mode_t mode;        /* permission bits */
	struct origin from; /* who asked for it, for messages; not in the record */
};

struct registry_entries {
	struct registry_entry *v;
	size_t n;
	size_t cap;
};

struct registry {
	int dir_fd;
	int lock_fd;
};

/* Opens the registry in `state_folder`. With `create` it is made, and so is the state folder, all
 * 0700. Without, a registry that does not exist is no error: dir_fd is -1. False: err says why. */
bool registry_open(const char *state_folder, bool create, struct registry *ret, struct err *err);

void registry_close(struct registry *r);

/* True when there is at least one record. Reads the folder; takes no lock. */
bool registry_has_records(const struct registry *r);

/* Takes the lock, waiting at most `wait_ms`. False with err filled when somebody holds it longer.
 * Released by registry_unlock or by the death of the process. */
bool registry_lock(struct registry *r, int wait_ms, struct err *err);
void registry_unlock(struct registry *r);

/* With the lock held: a new, empty record, locked for this run through the returned descriptor
 * (O_APPEND, close-on-exec). -1: err says why. */
int registry_new_record(const struct registry *r, struct err *err);

/* With the lock held: reads all records but `own_fd`'s (or -1). Those of living runs are appended
 * to *ret_living, sorted by path; those of dead runs are carried out (their placeholders removed
 * unless a living run, or `own`, lists them) and deleted. False when a record could not be judged:
 * then nothing was removed, and nothing may be. */
bool registry_scan(const struct registry *r, int own_fd, const struct registry_entries *own,
		   struct arena *arena, struct registry_entries *ret_living);

/* The entry of `path` in a list sorted by path, one that is known if there is any; or NULL. */
const struct registry_entry *registry_find(const struct registry_entries *sorted, const char *path);

/* Sorts by path. */
void registry_sort(struct registry_entries *list);

/* True when what stands at `path` (`st` is its lstat) is a folder that the list has for it. */
bool registry_is_listed(const struct registry_entries *sorted, const char *path,
			const struct stat *st);

/* Reads the record open as `fd` from its start and appends its entries. */
void registry_read(int fd, struct arena *arena, struct registry_entries *ret);

/* Appends entries from index `first` on to the record: 'm' entries, or 'i' entries of those that
 * are `known`. In one write. False with errno set; the record may then end in a cut entry, which
 * is ignored. */
bool registry_append(int fd, const struct registry_entries *entries, size_t first, bool made,
		     struct arena *arena);

/* O_PATH descriptor of the folder that holds the entry's last part: below base_fd, or by the whole
 * path. No link is followed. -1 with errno. */
int registry_open_parent(const struct registry_entry *entry);

/* Removes the folder of an entry when it still is the empty folder that was made. With `hold` the
 * removed folder stays open until the process exits, and its blocks are given back then: that costs
 * a hundred times the removal itself on ext4. */
void registry_remove(const struct registry_entry *entry, bool hold);

/* With the lock held: removes the folders of `own`, but for those that a living run lists. Sorts
 * `own`. `hold` as above; only for a process that is about to exit. */
void registry_remove_all(struct registry_entries *own, const struct registry_entries *living,
			 bool hold);

/* With the lock held: deletes the record open as `fd` from the folder. */
void registry_delete_record(const struct registry *r, int fd);

#endif
