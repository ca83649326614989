#include "broker/repo.h"

#include "base/fd.h"
#include "base/openat2.h"
#include "base/str.h"
#include "broker/gitconfig.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes of a file that holds a path: `.git`, `commondir`. */
#define POINTER_MAX (PATH_MAX + 16)

/* No part of the path may be a link. */
static int open_plain(const char *path, int flags)
{
	return sys_openat2(AT_FDCWD, path, (unsigned)flags | O_CLOEXEC,
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* What has the name; 0: nothing that is to be had. */
static mode_t kind_of(const char *path)
{
	struct stat st;
	auto_close int fd = open_plain(path, O_PATH | O_NOFOLLOW);

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* The bytes of a regular file, with a NUL behind them. -1 with errno: EFBIG beyond `max`, EINVAL
 * for anything but a file. */
static ssize_t read_plain(const char *path, size_t max, struct arena *arena, char **ret_text)
{
	struct stat st;
	auto_close int fd = open_plain(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) < 0) {
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	char *text = arena_alloc(arena, max + 2);
	ssize_t n = fd_read_all(fd, text, max + 1);
	if (n > (ssize_t)max) {
		errno = EFBIG;
		return -1;
	}
	*ret_text = text;
	return n;
}

static const char *below(const char *folder, const char *name, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", str_eq(folder, "/") ? "" : folder, name);
}

static bool is_open(const struct repo_view *view, const char *path)
{
	return path != NULL && view->open(path, view->context);
}

/* The path that a small file holds behind `prefix`, as git reads it: without line ends behind it.
 * NULL: it does not. */
static const char *read_pointer(const char *file, const char *prefix, const char *from,
				struct arena *arena)
{
	char *text;
	ssize_t n = read_plain(file, POINTER_MAX, arena, &text);

	if (n <= 0 || memchr(text, '\0', (size_t)n) != NULL || !str_starts(text, prefix)) {
		return NULL;
	}
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r')) {
		text[--n] = '\0';
	}
	text += strlen(prefix);
	/* By name: what is a link is refused when it is opened. */
	return *text != '\0' ? value_join(from, text, arena) : NULL;
}

/* Git's own folder for this work tree, and the common one. False: no repository. */
static bool find_folders(const char *dot_git, mode_t kind, const struct repo_view *view,
			 struct arena *arena, struct repo *repo)
{
	repo->git = dot_git;
	if (kind == S_IFREG) {
		repo->git = read_pointer(dot_git, "gitdir: ", repo->work_tree, arena);
	} else if (kind != S_IFDIR) {
		return false;
	}
	if (!is_open(view, repo->git) || kind_of(repo->git) != S_IFDIR) {
		return false;
	}
	const char *pointer = below(repo->git, "commondir", arena);
	repo->common = repo->git;
	if (kind_of(pointer) != 0) {
		repo->common =
			is_open(view, pointer) ? read_pointer(pointer, "", repo->git, arena) : NULL;
	}
	return is_open(view, repo->common) && kind_of(repo->common) == S_IFDIR &&
	       kind_of(below(repo->common, "objects", arena)) == S_IFDIR &&
	       kind_of(below(repo->common, "refs", arena)) == S_IFDIR;
}

/* Adds what is kept of a file; one that is not there holds nothing. */
static bool vet(const char *path, const struct repo_view *view, struct arena *arena,
		struct gitconfig *config, struct err *err)
{
	char *text = NULL;
	ssize_t n = is_open(view, path) ? read_plain(path, GITCONFIG_MAX, arena, &text) : 0;

	if (n < 0 && errno == ENOENT) {
		return true;
	}
	if (n < 0) {
		err_set(err, ERR_NOT_PERMITTED, 0,
			"the repository's settings, %s, cannot be read: %s", path,
			errno == EFBIG    ? "more than a mebibyte"
			: errno == EINVAL ? "not a file"
			: errno == ELOOP  ? "a link"
					  : strerror(errno));
		return false;
	}
	return gitconfig_vet(text, (size_t)n, path, arena, config, err);
}

static bool read_settings(const struct repo_view *view, struct arena *arena, struct repo *repo,
			  struct err *err)
{
	struct gitconfig config = {.worktree = false};

	if (!vet(below(repo->common, "config", arena), view, arena, &config, err)) {
		return false;
	}
	/* Read second, so that they win; and vetted, they can do no more than the others. */
	if (config.worktree &&
	    !vet(below(repo->git, "config.worktree", arena), view, arena, &config, err)) {
		return false;
	}
	repo->config = arena_strndup(arena, config.text.n > 0 ? config.text.v : "", config.text.n);
	return true;
}

bool repo_find(const char *folder, const struct repo_view *view, struct arena *arena,
	       struct repo *ret_repo, struct err *err)
{
	struct repo repo = {.work_tree = folder};

	*ret_repo = (struct repo){.work_tree = NULL};
	for (; is_open(view, repo.work_tree); repo.work_tree = path_parent(repo.work_tree, arena)) {
		const char *dot_git = below(repo.work_tree, ".git", arena);

		mode_t kind = is_open(view, dot_git) ? kind_of(dot_git) : 0;

		if (kind != 0 && find_folders(dot_git, kind, view, arena, &repo)) {
			if (!read_settings(view, arena, &repo, err)) {
				return false;
			}
			*ret_repo = repo;
			return true;
		}
		/* An empty folder that has the name (a placeholder, say) is passed over, as by git.
		 */
		if ((kind != 0 && kind != S_IFDIR) || str_eq(repo.work_tree, "/")) {
			return true;
		}
	}
	return true;
}

/* --- for the tool's sandbox ------------------------------------------------------------------ */

static void add(struct repo_parts *parts, struct arena *arena, const char *name, const char *text,
		const char *to)
{
	const struct repo_name part = {.path = name == NULL ? REPO_FOLDER
							    : below(REPO_FOLDER, name, arena),
				       .text = text,
				       .to = to};

	ARENA_PUSH(arena, &parts->names, part);
}

static void set(struct repo_parts *parts, struct arena *arena, const char *name, const char *value)
{
	const char *pair = arena_printf(arena, "%s=%s", name, value);

	ARENA_PUSH(arena, &parts->variables, pair);
}

void repo_parts(const struct repo *repo, struct arena *arena, struct repo_parts *ret_parts)
{
	/* Not hooks, `remotes` and `branches` (addresses in git's oldest form), nor `modules`. HEAD
	 * is the main work tree's, which others must not take away. */
	static const char *const links[] = {"HEAD",        "info", "logs",    "objects",
					    "packed-refs", "refs", "shallow", "worktrees"};

	*ret_parts = (struct repo_parts){.names = {NULL, 0, 0}};
	add(ret_parts, arena, NULL, NULL, NULL);
	set(ret_parts, arena, "GIT_COMMON_DIR", REPO_FOLDER);
	if (repo->work_tree == NULL) {
		set(ret_parts, arena, "GIT_DIR", REPO_FOLDER);
		return;
	}
	add(ret_parts, arena, "config", repo->config, NULL);
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		add(ret_parts, arena, links[i], NULL, below(repo->common, links[i], arena));
	}
	set(ret_parts, arena, "GIT_DIR", repo->git);
	set(ret_parts, arena, "GIT_WORK_TREE", repo->work_tree);
}
