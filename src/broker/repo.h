/* The repository that a tool is called in, for git, which many tools start. Its settings are the
 * sandbox's to write, at any time, and many of git's send a login elsewhere; so git never reads
 * them. It is told where the repository is, and that its common folder is one of ours, with a
 * vetted copy of the settings (gitconfig.h) and links to the rest (gitrepository-layout(5), git(1)
 * GIT_COMMON_DIR). */
#ifndef LNK_BROKER_REPO_H
#define LNK_BROKER_REPO_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Our own common folder, in the tool's sandbox. */
#define REPO_FOLDER "/run/lnk/repo"

/* Where git finds, as the first of its own programs, what stands for `git` when git starts itself
 * (shim/guard.h), and the variable that says which one that is. */
#define REPO_GUARD   "/run/lnk/git"
#define REPO_GIT_VAR "LNK_GIT"

/* What the tool may see of the sandbox's files: true for an absolute path free of links that is
 * granted and not hidden. */
struct repo_view {
	bool (*open)(const char *path, const void *context);
	const void *context;
};

struct repo {
	const char *work_tree; /* the folder with `.git`; NULL: there is no repository */
	const char *git;    /* `.git`, or where it leads: a worktree's or submodule's own folder */
	const char *common; /* the repository's; `git` but for a worktree */
	const char *config; /* the vetted settings */
};

/* Looks for the repository of `folder` (absolute, free of links): the nearest `.git` here and
 * above, as far as is open. No link is followed. A `.git` that is a link, or a file that leads to
 * nothing open, is no repository, and none above it is looked for. False: err says what cannot be
 * understood in its settings. Strings live in `arena`. */
bool repo_find(const char *folder, const struct repo_view *view, struct arena *arena,
	       struct repo *ret_repo, struct err *err);

/* One name of ours for the tool's sandbox: a file with `text`, a link to `to`, or a folder. */
struct repo_name {
	const char *path;
	const char *text;
	const char *to;
};

struct repo_parts {
	struct {
		struct repo_name *v;
		size_t n;
		size_t cap;
	} names; /* folders before what lies in them */
	struct {
		const char **v;
		size_t n;
		size_t cap;
	} variables; /* "NAME=VALUE" */
};

/* What makes git see the repository so, or none at all: none that is made meanwhile either. */
void repo_parts(const struct repo *repo, struct arena *arena, struct repo_parts *ret_parts);

#endif
