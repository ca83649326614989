#include "confine/aside.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/sys.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

#define NUMBERS_MAX 1000

/* The folder that holds `rel`; *ret_name is the last part. -1 with errno. */
static int open_parent(int base_fd, const char *rel, const char **ret_name)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(rel, '/');

	*ret_name = slash == NULL ? rel : slash + 1;
	if (slash == NULL) {
		return sys_openat2(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				   RESOLVE_BENEATH);
	}
	if ((size_t)(slash - rel) >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(parent, rel, (size_t)(slash - rel));
	parent[slash - rel] = '\0';
	return sys_openat2(base_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			   RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

enum aside aside_move(int base_fd, const char *rel, ino_t spare, char *ret_name, size_t cap,
		      struct err *err)
{
	const char *name;
	struct stat st;
	auto_close int parent = open_parent(base_fd, rel, &name);

	if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT) {
			return ASIDE_NOTHING;
		}
		err_set(err, ERR_SETUP, errno, "cannot look at %s", rel);
		return ASIDE_FAILED;
	}
	if (S_ISDIR(st.st_mode) &&
	    ((spare != 0 && st.st_ino == spare) || unlinkat(parent, name, AT_REMOVEDIR) == 0)) {
		return ASIDE_NOTHING;
	}
	for (unsigned i = 0; i < NUMBERS_MAX; i++) {
		if (i == 0) {
			snprintf(ret_name, cap, "%s.lnk-unknown", name);
		} else {
			snprintf(ret_name, cap, "%s.lnk-unknown-%u", name, i);
		}
		if (syscall(SYS_renameat2, parent, name, parent, ret_name, RENAME_NOREPLACE) == 0) {
			return ASIDE_MOVED;
		}
		if (errno != EEXIST) {
			break;
		}
	}
	err_set(err, ERR_SETUP, errno, "cannot set aside what was made at %s", rel);
	return ASIDE_FAILED;
}

bool aside_is_written(int base_fd, const char *rel, int wait_ms)
{
	struct stat st;
	auto_close int fd =
		sys_openat2(base_fd, rel, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC,
			    RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		return false;
	}
	for (;; wait_ms--) {
		if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
			fcntl(fd, F_SETLEASE, F_UNLCK);
			return false;
		}
		if (errno != EAGAIN || wait_ms <= 0) {
			return errno == EAGAIN;
		}
		usleep(1000);
	}
}
