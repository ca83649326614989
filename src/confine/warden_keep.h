/* Inside confine/ only: the guarded names as the warden keeps them. Placeholders where names are
 * absent, watches, covering again what lost its mount, and what to do with something that may be
 * the program's. warden_loop.c says when. */
#ifndef LNK_CONFINE_WARDEN_KEEP_H
#define LNK_CONFINE_WARDEN_KEEP_H

#include "base/arena.h"
#include "base/err.h"
#include "confine/placeholder.h"
#include "confine/warden.h"
#include "confine/watch.h"

struct keep {
	bool *wanted; /* for each name: a placeholder stands in for it when it is absent */
	bool *held;   /* a placeholder of ours stood there when the name was last covered */
	int *hold; /* that placeholder of a pinned name, open, or -1: while it is, no other folder
		      gets its inode number */
	struct watch watch;
	struct placeholders placeholders;
	struct arena arena;
	int userns; /* of the run, to cover in; -1 until they are known */
	int mntns;
};

/* Makes the placeholders and puts the watches. False: err says why; keep_end is still to be
 * called. */
bool keep_start(struct keep *k, const struct warden_config *config, struct err *err);

/* Reads what happened on disk. True when a guarded name is concerned: freeze the run, then
 * keep_again. */
bool keep_changed(struct keep *k);

/* What the supervisor shall hear. */
typedef void keep_note_fn(void *context, const struct err *note);

/* With the run frozen: judges what appeared before it was, and covers every name that changed.
 * False: a name is not closed, and the run must end. */
bool keep_again(struct keep *k, keep_note_fn *note, void *context, struct err *err);

/* Removes the placeholders; the caller exits soon after. */
void keep_end(struct keep *k);

#endif
