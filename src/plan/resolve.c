#include "plan/resolve.h"

#include "base/fd.h"
#include "base/openat2.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the kernel counts (path_resolution(7)). */
#define LINKS_MAX 40

/* The walk: `done` is resolved and free of links, `rest` is still to be walked. */
struct walk {
	char done[PATH_MAX];
	size_t done_len;
	char rest[PATH_MAX];
	unsigned links;
};

static bool too_long(const char *name, struct err *err)
{
	err_set(err, ERR_SETUP, 0, "the path %s resolves to more than %d bytes", name,
		PATH_MAX - 1);
	return false;
}

/* Takes the next part off `rest`. False when there is none. */
static bool next_part(struct walk *w, char part[NAME_MAX + 1])
{
	char *p = w->rest;

	while (*p == '/') {
		p++;
	}
	size_t n = strcspn(p, "/");
	if (n == 0 || n > NAME_MAX) {
		return false;
	}
	memcpy(part, p, n);
	part[n] = '\0';
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return true;
}

static bool push_part(struct walk *w, const char *part)
{
	size_t n = strlen(part);

	if (w->done_len + 1 + n >= sizeof(w->done)) {
		return false;
	}
	w->done[w->done_len] = '/';
	memcpy(w->done + w->done_len + 1, part, n + 1);
	w->done_len += 1 + n;
	return true;
}

static void pop_part(struct walk *w)
{
	while (w->done_len > 0 && w->done[--w->done_len] != '/') {
	}
	w->done[w->done_len] = '\0';
}

/* `done` names a link: its target goes in front of `rest`. */
static bool follow(struct walk *w, const char *name, const struct stat *st, struct arena *arena,
		   struct path_info *info, struct err *err)
{
	char target[PATH_MAX];
	char rest[PATH_MAX];
	ssize_t n = readlink(w->done, target, sizeof(target) - 1);

	if (n < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot read the link %s", w->done);
	}
	if (++w->links > LINKS_MAX) {
		return err_set(err, ERR_SETUP, ELOOP, "cannot resolve %s", name);
	}
	target[n] = '\0';
	struct path_link link = {arena_strdup(arena, w->done), arena_strdup(arena, target),
				 st->st_dev, st->st_ino};
	ARENA_PUSH(arena, &info->links, link);
	if (target[0] == '/') {
		w->done_len = 0;
		w->done[0] = '\0';
	} else {
		pop_part(w);
	}
	memcpy(rest, w->rest, sizeof(rest));
	if (snprintf(w->rest, sizeof(w->rest), "%s/%s", target, rest) >= (int)sizeof(w->rest)) {
		return too_long(name, err);
	}
	return true;
}

/* The rest of a name whose beginning does not exist: added as it stands. */
static bool add_missing(struct walk *w, const char *name, struct arena *arena,
			struct path_info *info, struct err *err)
{
	char part[NAME_MAX + 1];

	info->missing = arena_strdup(arena, w->done);
	while (next_part(w, part)) {
		if (str_eq(part, ".")) {
			continue;
		}
		if (str_eq(part, "..")) {
			pop_part(w);
		} else if (!push_part(w, part)) {
			return too_long(name, err);
		}
	}
	info->real = arena_strdup(arena, w->done_len > 0 ? w->done : "/");
	return true;
}

static void fill(struct path_info *info, const char *real, const struct stat *st)
{
	info->real = real;
	info->exists = true;
	info->mode = st->st_mode;
	info->dev = st->st_dev;
	info->ino = st->st_ino;
	info->uid = st->st_uid;
}

/* The first part of a name without links that does not exist. Few are missing, so it is looked
 * for from the end. */
static const char *first_missing(const char *name, struct arena *arena)
{
	char *missing = arena_strdup(arena, name);
	struct stat st;

	for (;;) {
		char *slash = strrchr(missing, '/');

		if (slash == missing) {
			return missing;
		}
		*slash = '\0';
		if (lstat(missing, &st) == 0) {
			*slash = '/';
			return missing;
		}
	}
}

/* "." or ".." as a part. */
static bool has_dot_part(const char *name)
{
	for (const char *p = strstr(name, "/."); p != NULL; p = strstr(p + 1, "/.")) {
		size_t n = strspn(p + 1, ".");

		if (n <= 2 && (p[1 + n] == '/' || p[1 + n] == '\0')) {
			return true;
		}
	}
	return false;
}

/* Most names have no link in them: one look instead of one for each part. True when the name is
 * done with; false when its parts must be looked at. */
static bool without_links(const char *name, struct arena *arena, struct path_info *info)
{
	struct stat st;

	/* Only in normal form does the name say what it resolves to. */
	if (name[0] != '/' || strstr(name, "//") != NULL || has_dot_part(name) ||
	    (name[1] != '\0' && name[strlen(name) - 1] == '/')) {
		return false;
	}
	auto_close int fd = sys_openat2(AT_FDCWD, name, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	if (fd >= 0 && fstat(fd, &st) == 0) {
		fill(info, info->name, &st);
		return true;
	}
	if (fd < 0 && errno == ENOENT) {
		/* A link before the missing part would have been ELOOP. */
		info->real = info->name;
		info->missing = first_missing(name, arena);
		return true;
	}
	return false;
}

bool resolve_path(const char *name, struct arena *arena, struct path_info *ret_info,
		  struct err *err)
{
	struct path_info info = {.name = arena_strdup(arena, name)};
	struct walk w = {.done = "", .rest = ""};
	char part[NAME_MAX + 1];
	struct stat st = {.st_mode = 0};

	if (without_links(info.name, arena, &info)) {
		*ret_info = info;
		return true;
	}
	if (snprintf(w.rest, sizeof(w.rest), "%s", name) >= (int)sizeof(w.rest)) {
		return too_long(name, err);
	}
	while (next_part(&w, part)) {
		if (str_eq(part, ".")) {
			continue;
		}
		if (str_eq(part, "..")) {
			pop_part(&w);
			if (lstat(w.done_len > 0 ? w.done : "/", &st) < 0) {
				return err_set(err, ERR_SETUP, errno, "cannot look at %s", name);
			}
			continue;
		}
		if (!push_part(&w, part)) {
			return too_long(name, err);
		}
		if (lstat(w.done, &st) < 0) {
			if (errno != ENOENT && errno != ENOTDIR) {
				return err_set(err, ERR_SETUP, errno, "cannot look at %s", w.done);
			}
			if (!add_missing(&w, name, arena, &info, err)) {
				return false;
			}
			*ret_info = info;
			return true;
		}
		if (S_ISLNK(st.st_mode) && !follow(&w, name, &st, arena, &info, err)) {
			return false;
		}
	}
	if (w.rest[strspn(w.rest, "/")] != '\0') {
		return err_set(err, ERR_SETUP, ENAMETOOLONG, "cannot look at %s", name);
	}
	/* After a link as the last part `st` is the link's; the walk went on and set it anew,
	 * unless its target was "/" alone. */
	if (w.done_len == 0 && lstat("/", &st) < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot look at /");
	}
	fill(&info, arena_strdup(arena, w.done_len > 0 ? w.done : "/"), &st);
	*ret_info = info;
	return true;
}
