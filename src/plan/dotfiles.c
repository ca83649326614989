/* The dot names at the top of a write folder, and where a `.git` pointer file leads. */
#include "plan/dotfiles.h"

#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const dot_names[] = {".git", ".envrc", ".vscode", ".idea"};
_Static_assert(ARRAY_LEN(dot_names) == DOT_NAMES, "one fact for each dot name");

/* The first line of a small regular file without its end; NULL when there is none. */
static char *first_line(const char *path, struct arena *arena)
{
	char buf[PATH_MAX + 16];
	struct stat st;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		return NULL;
	}
	ssize_t n = fd_read_all(fd, buf, sizeof(buf) - 1);
	if (n <= 0) {
		return NULL;
	}
	buf[n] = '\0';
	size_t len = strcspn(buf, "\r\n");
	return len > 0 ? arena_strndup(arena, buf, len) : NULL;
}

/* Resolves `path`, relative ones from `folder`. NULL when it does not exist. */
static const char *resolve_from(const char *folder, const char *path, struct arena *arena)
{
	struct path_info info;
	struct err ignored;
	const char *full = path[0] == '/' ? path : arena_printf(arena, "%s/%s", folder, path);

	return resolve_path(full, arena, &info, &ignored) && info.exists ? info.real : NULL;
}

/* A linked worktree: REPO/worktrees/NAME with a `gitdir` file that names this pointer file
 * (gitrepository-layout(5)). */
static bool worktree_points_back(const char *git_folder, const char *common, const char *pointer,
				 struct arena *arena)
{
	const char *worktrees = path_parent(git_folder, arena);
	char *back = first_line(arena_printf(arena, "%s/gitdir", git_folder), arena);

	if (back == NULL || !str_eq(path_base(worktrees), "worktrees") ||
	    !str_eq(path_parent(worktrees, arena), common)) {
		return false;
	}
	const char *real = resolve_from(git_folder, back, arena);
	return real != NULL && str_eq(real, pointer);
}

/* A submodule: REPO/modules/NAME whose config has `worktree = PATH` leading to the folder of this
 * pointer file. */
static bool submodule_points_back(const char *git_folder, const char *pointer, struct arena *arena)
{
	char buf[16384];
	auto_close int fd = open(arena_printf(arena, "%s/config", git_folder),
				 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, buf, sizeof(buf) - 1);

	if (n <= 0 || strstr(git_folder, "/modules/") == NULL) {
		return false;
	}
	buf[n] = '\0';
	for (char *line = buf; line != NULL; line = strchr(line, '\n')) {
		line += strspn(line, " \t\r\n");
		if (!str_starts(line, "worktree")) {
			continue;
		}
		char *value = line + strlen("worktree");
		value += strspn(value, " \t");
		if (*value != '=') {
			continue;
		}
		value++;
		value += strspn(value, " \t\"");
		const char *real = resolve_from(
			git_folder, arena_strndup(arena, value, strcspn(value, "\"\r\n")), arena);
		return real != NULL && str_eq(real, path_parent(pointer, arena));
	}
	return false;
}

/* Follows a `.git` pointer file. Everything it says is hostile: an earlier run may have planted
 * it. What it may open is decided by `git_mutual`. */
static void read_pointer(struct dot_fact *dot, struct arena *arena)
{
	static const char key[] = "gitdir:";
	char *line = first_line(dot->at.real, arena);

	if (line == NULL || !str_starts(line, key)) {
		return;
	}
	line += sizeof(key) - 1;
	line += strspn(line, " \t");
	dot->git_folder = resolve_from(path_parent(dot->at.real, arena), line, arena);
	if (dot->git_folder == NULL) {
		return;
	}
	char *common = first_line(arena_printf(arena, "%s/commondir", dot->git_folder), arena);
	if (common != NULL) {
		dot->git_common = resolve_from(dot->git_folder, common, arena);
		dot->git_mutual =
			dot->git_common != NULL &&
			worktree_points_back(dot->git_folder, dot->git_common, dot->at.real, arena);
	} else {
		dot->git_common = dot->git_folder;
		dot->git_mutual = submodule_points_back(dot->git_folder, dot->at.real, arena);
	}
}

bool dot_facts(const char *folder, struct arena *arena, struct dot_fact ret_dots[DOT_NAMES],
	       struct err *err)
{
	for (size_t i = 0; i < DOT_NAMES; i++) {
		struct dot_fact dot = {.there = false};
		const char *path = arena_printf(arena, "%s/%s", str_eq(folder, "/") ? "" : folder,
						dot_names[i]);

		struct stat st;
		if (lstat(path, &st) < 0) {
			dot.at = (struct path_info){.name = path, .real = path, .missing = path};
			ret_dots[i] = dot;
			continue;
		}
		dot.there = true;
		dot.is_link = S_ISLNK(st.st_mode);
		if (!resolve_path(path, arena, &dot.at, err)) {
			return false;
		}
		dot.stand_in = !dot.is_link && facts_stand_in(&dot.at);
		if (i == 0 && dot.at.exists && S_ISREG(dot.at.mode)) {
			read_pointer(&dot, arena);
		}
		ret_dots[i] = dot;
	}
	return true;
}
