/* A repository's own settings, vetted: read as git reads them (git-config(1), "CONFIGURATION
 * FILE"), and written anew with nothing but the keys of gitconfig.def. Pure, and linear. */
#ifndef LNK_BROKER_GITCONFIG_H
#define LNK_BROKER_GITCONFIG_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a file; a larger one is refused. */
#define GITCONFIG_MAX (1UL << 20)

/* Starts as all zero. */
struct gitconfig {
	struct {
		char *v;
		size_t n;
		size_t cap;
	} text;        /* what is kept, in git's syntax; not NUL-terminated */
	bool worktree; /* each worktree has settings of its own (extensions.worktreeConfig) */
};

/* Appends what is kept of the `len` bytes at `text`, with its memory in `arena`. `file` names it in
 * messages. False: err with line and column; it is not git's syntax, or git would keep the
 * repository's references in another way than as files, or a value that would be kept has control
 * characters. */
bool gitconfig_vet(const char *text, size_t len, const char *file, struct arena *arena,
		   struct gitconfig *config, struct err *err);

#endif
