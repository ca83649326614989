#include "confine/skeleton.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/sys.h"

#include <string.h>
#include <sys/stat.h>

void skeleton_leave(struct place *place)
{
	fd_close(&place->fd);
}

void skeleton_init(struct skeleton *s, int root)
{
	*s = (struct skeleton){.root = root};
	str_set_add(&s->own, &s->arena, "/");
}

void skeleton_release(struct skeleton *s)
{
	arena_release(&s->arena);
}

/* "." for "/", else the path without its slash: all lookups are below the root. */
static const char *relative(const char *path)
{
	return path[1] == '\0' ? "." : path + 1;
}

int skeleton_look(const struct skeleton *s, const char *path)
{
	return sys_openat2(s->root, relative(path), O_PATH | O_NOFOLLOW | O_CLOEXEC,
			   RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

static bool is_own(const struct skeleton *s, const char *folder)
{
	return str_set_has(&s->own, folder) && !str_set_has(&s->bound, folder);
}

static bool make_folder(struct skeleton *s, const char *path, mode_t mode)
{
	/* EEXIST: a link or file of ours that has the name, or a folder that the root began with.
	 * Only a folder may be walked through. */
	if (mkdirat(s->root, relative(path), mode) < 0) {
		struct stat st;

		if (errno != EEXIST ||
		    fstatat(s->root, relative(path), &st, AT_SYMLINK_NOFOLLOW) < 0) {
			return false;
		}
		if (!S_ISDIR(st.st_mode)) {
			errno = ENOTDIR;
			return false;
		}
	}
	str_set_add(&s->own, &s->arena, arena_strdup(&s->arena, path));
	return true;
}

bool skeleton_parent(struct skeleton *s, const char *path)
{
	const char *parent = path_parent(path, &s->arena);

	if (is_own(s, parent)) {
		return true;
	}
	if (str_set_has(&s->bound, parent) || !skeleton_parent(s, parent)) {
		errno = EXDEV;
		return false;
	}
	return make_folder(s, parent, 0755);
}

/* True when `path` lies in the kept home and in nothing that was attached in there. */
static bool in_kept(struct skeleton *s, const char *path)
{
	if (s->kept == NULL || !path_within(path, s->kept) || str_eq(path, s->kept)) {
		return false;
	}
	for (const char *p = path_parent(path, &s->arena); !str_eq(p, s->kept);
	     p = path_parent(p, &s->arena)) {
		if (str_set_has(&s->bound, p) || str_set_has(&s->own, p)) {
			return false;
		}
	}
	return true;
}

/* The folder of the kept home that holds `path`, made where it does not exist. -1 with errno. */
static int kept_parent(struct skeleton *s, const char *path)
{
	const char *parent = path_parent(path, &s->arena);
	int fd = skeleton_look(s, parent);

	if (fd >= 0 || errno != ENOENT || !in_kept(s, parent)) {
		return fd;
	}
	auto_close int above = kept_parent(s, parent);
	if (above < 0 || mkdirat(above, path_base(parent), 0755) < 0) {
		return -1;
	}
	return skeleton_look(s, parent);
}

static bool make_in_kept(struct skeleton *s, const char *path, bool folder, mode_t mode)
{
	auto_close int parent = kept_parent(s, path);

	return parent >= 0 && (folder ? mkdirat(parent, path_base(path), mode) == 0
				      : mknodat(parent, path_base(path), S_IFREG | mode, 0) == 0);
}

bool skeleton_link(struct skeleton *s, const char *path, const char *target)
{
	if (skeleton_parent(s, path)) {
		return symlinkat(target, s->root, relative(path)) == 0 || errno == EEXIST;
	}
	if (errno != EXDEV || !in_kept(s, path)) {
		return errno == EXDEV; /* on the host's file systems it stands there already */
	}
	auto_close int parent = kept_parent(s, path);
	return parent >= 0 && (symlinkat(target, parent, path_base(path)) == 0 || errno == EEXIST);
}

bool skeleton_place(struct skeleton *s, const char *path, bool folder, mode_t mode,
		    struct place *ret_place)
{
	*ret_place = (struct place){.dir = s->root, .path = relative(path), .fd = -1};
	if (str_eq(path, "/")) {
		return true;
	}
	if (skeleton_parent(s, path)) {
		return folder ? is_own(s, path) || make_folder(s, path, mode)
			      : mknodat(s->root, relative(path), S_IFREG | mode, 0) == 0 ||
					errno == EEXIST;
	}
	if (errno != EXDEV) {
		return false;
	}
	int fd = skeleton_look(s, path);
	if (fd < 0 && errno == ENOENT && in_kept(s, path) && make_in_kept(s, path, folder, mode)) {
		fd = skeleton_look(s, path);
	}
	*ret_place = (struct place){.dir = -1, .path = "", .fd = fd};
	ret_place->dir = ret_place->fd;
	return ret_place->fd >= 0;
}

bool skeleton_attach(struct skeleton *s, int mount, const char *path, bool folder, bool host)
{
	auto_place struct place at = {.fd = -1};

	if (!skeleton_place(s, path, folder, folder ? 0755 : 0644, &at)) {
		return false;
	}
	if (sys_move_mount(mount, "", at.dir, at.path,
			   MOVE_MOUNT_F_EMPTY_PATH |
				   (at.path[0] == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0)) < 0) {
		return false;
	}
	if (host) {
		str_set_add(&s->bound, &s->arena, arena_strdup(&s->arena, path));
	} else if (folder) {
		/* Our own folder on top of whatever was there. */
		str_set_add(&s->own, &s->arena, arena_strdup(&s->arena, path));
	}
	return true;
}
