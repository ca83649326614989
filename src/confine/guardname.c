/* Job: one mount on one name, by descriptor, and the proof that it is there.
 *
 * An attacker controls what stands at the name and on the way to it, and may change it while we
 * look. So the name is opened once without following any link, mounted on by that descriptor, and
 * opened again by name afterwards: a mount that landed elsewhere (because a folder on the way was
 * moved) shows as a name that is not covered. */
#include "confine/guardname.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* How often a name that changes between the mount and the second look is tried again. */
#define COVER_TRIES 4

static const char *verb_of(enum warden_kind kind)
{
	return kind == WARDEN_COVER ? "close" : kind == WARDEN_PIN ? "protect" : "keep in place";
}

static bool fail(struct err *err, int sys, const struct warden_name *name, const char *what)
{
	char shown[512];

	err_set(err, ERR_SETUP, sys, "cannot %s %s: %s", verb_of(name->kind),
		str_printable(name->path, shown, sizeof(shown)), what);
	return err_at(err, &name->from);
}

/* O_PATH descriptor of `path` (absolute, inside), its last part not followed; -1 with errno. */
static int open_name(int root_fd, const char *path)
{
	return sys_openat2(root_fd, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC,
			   RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

static const char *closed_source(bool folder)
{
	return folder ? GUARD_CLOSED_DIR : GUARD_CLOSED_FILE;
}

/* Whether a file of this mode at the name has to be closed rather than kept. */
static bool is_closed(const struct warden_name *name, mode_t mode)
{
	return name->kind == WARDEN_COVER || (name->kind == WARDEN_LINK && !S_ISLNK(mode));
}

/* A detached mount for the name open as `target`, with its flags set; -1 with errno. */
static int make_mount(int root_fd, int target, const struct warden_name *name)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				  .propagation = MS_PRIVATE};
	auto_close int mount = -1;
	struct stat st;

	if (fstat(target, &st) < 0) {
		return -1;
	}
	unsigned recursive = is_closed(name, st.st_mode) ? 0 : AT_RECURSIVE;
	if (is_closed(name, st.st_mode)) {
		mount = sys_open_tree(root_fd, closed_source(S_ISDIR(st.st_mode)),
				      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
		attr.attr_set |= MOUNT_ATTR_NOEXEC;
	} else {
		mount = sys_open_tree(target, "",
				      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
					      recursive);
	}
	if (name->kind != WARDEN_ANCHOR) {
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	}
	if (mount < 0 || sys_mount_setattr(mount, "", AT_EMPTY_PATH | recursive, &attr) < 0) {
		return -1;
	}
	return fd_take(&mount);
}

/* Whether nothing inside can make a name whose path ends at the folder open as `dir`: it is read
 * only here, or deleted, or somebody else's and not writable for us. Its owner can always make it
 * writable. */
static bool is_out_of_reach(int dir)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
		return false;
	}
	if (st.st_nlink == 0 || (fstatvfs(dir, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0)) {
		return true;
	}
	return st.st_uid != geteuid() && faccessat(dir, ".", W_OK, AT_EACCESS) < 0;
}

/* The same for an absent path: looks at the deepest folder of it that exists. */
static bool absent_is_fine(int root_fd, const char *path)
{
	char up[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(up)) {
		return false;
	}
	memcpy(up, path, len + 1);
	for (char *slash = strrchr(up, '/'); slash != NULL && slash > up;
	     slash = strrchr(up, '/')) {
		*slash = '\0';
		auto_close int dir = open_name(root_fd, up);

		if (dir >= 0) {
			return is_out_of_reach(dir);
		}
		if (errno != ENOENT) {
			return false;
		}
	}
	return false;
}

bool guard_is_covered(int root_fd, const struct warden_name *name)
{
	auto_close int fd = open_name(root_fd, name->path);
	struct statx stx;
	struct statvfs fs;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) < 0 ||
	    (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) {
		return false;
	}
	if (is_closed(name, stx.stx_mode)) {
		auto_close int closed =
			open_name(root_fd, S_ISDIR(stx.stx_mode) ? "/" GUARD_CLOSED_DIR
								 : "/" GUARD_CLOSED_FILE);
		struct stat seen;
		struct stat want;

		return closed >= 0 && fstat(closed, &want) == 0 && fstat(fd, &seen) == 0 &&
		       seen.st_dev == want.st_dev && seen.st_ino == want.st_ino;
	}
	return name->kind == WARDEN_ANCHOR ||
	       (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0);
}

/* One try. *ret_again: it changed meanwhile. */
static bool cover_once(int root_fd, const struct warden_name *name, bool *ret_again,
		       struct err *err)
{
	auto_close int target = open_name(root_fd, name->path);

	*ret_again = false;
	if (target < 0) {
		if (errno == ENOENT && absent_is_fine(root_fd, name->path)) {
			return true;
		}
		return fail(err, errno, name,
			    errno == ENOENT ? "it was removed just now" : "it cannot be opened");
	}
	auto_close int mount = make_mount(root_fd, target, name);
	if (mount < 0) {
		return fail(err, errno, name, "the mount that does so cannot be made");
	}
	if (sys_move_mount(mount, "", target, "",
			   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0) {
		/* The name was unlinked after it was opened. */
		*ret_again = errno == ENOENT;
		return fail(err, errno, name, "the mount that does so is refused");
	}
	if (!guard_is_covered(root_fd, name)) {
		*ret_again = true;
		return fail(err, EAGAIN, name, "it keeps changing");
	}
	return true;
}

bool guard_cover(int root_fd, const struct warden_name *name, struct err *err)
{
	struct err last;

	for (int i = 0; i < COVER_TRIES; i++) {
		bool again = false;

		if (cover_once(root_fd, name, &again, &last)) {
			return true;
		}
		if (!again) {
			break;
		}
	}
	*err = last;
	return false;
}

/* Byte order with '/' before everything else, so that what lies in a folder follows it at once. */
static int compare_names(const void *va, const void *vb)
{
	const struct warden_name *a = va;
	const struct warden_name *b = vb;
	const unsigned char *p = (const unsigned char *)a->path;
	const unsigned char *q = (const unsigned char *)b->path;

	while (*p != '\0' && *p == *q) {
		p++;
		q++;
	}
	int x = *p == '/' ? 1 : *p == '\0' ? 0 : *p + 1;
	int y = *q == '/' ? 1 : *q == '\0' ? 0 : *q + 1;
	if (x != y) {
		return x - y;
	}
	if (a->base_len != b->base_len) {
		return a->base_len < b->base_len ? -1 : 1;
	}
	/* The same name twice: it is pinned before it is covered, so that the cover is on top. */
	return (a->kind == WARDEN_COVER) - (b->kind == WARDEN_COVER);
}

void guard_sort(struct warden_name *names, size_t count)
{
	if (count > 1) {
		qsort(names, count, sizeof(*names), compare_names);
	}
}
