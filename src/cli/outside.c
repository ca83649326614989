#include "cli/outside.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40

/* Of the file systems that the kernel answers for by itself. A name in any other may be carried to
 * a server, or mount something. */
static bool is_local(int fd)
{
	static const unsigned long known[] = {EXT4_SUPER_MAGIC,
					      XFS_SUPER_MAGIC,
					      BTRFS_SUPER_MAGIC,
					      F2FS_SUPER_MAGIC,
					      TMPFS_MAGIC,
					      RAMFS_MAGIC,
					      OVERLAYFS_SUPER_MAGIC,
					      SQUASHFS_MAGIC,
					      ISOFS_SUPER_MAGIC,
					      MSDOS_SUPER_MAGIC,
					      EXFAT_SUPER_MAGIC,
					      PROC_SUPER_MAGIC,
					      SYSFS_MAGIC,
					      DEVPTS_SUPER_MAGIC,
					      ECRYPTFS_SUPER_MAGIC,
					      REISERFS_SUPER_MAGIC,
					      EROFS_SUPER_MAGIC_V1,
					      0x2fc12fc1 /* ZFS */,
					      0xca451a4e /* bcachefs */,
					      0x3153464a /* JFS */,
					      0x7366746e /* NTFS3 */};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if ((unsigned long)fs.f_type == known[i]) {
			return true;
		}
	}
	return false;
}

struct walk {
	int at; /* the folder, or what was reached */
	unsigned links;
	char rest[PATH_MAX]; /* what is still to be walked */
};

static bool start_at_root(struct walk *w)
{
	fd_close(&w->at);
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at >= 0;
}

/* Puts a link's text before what is still to be walked. */
static bool follow(struct walk *w, int link)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link, "", text, sizeof(text));
	size_t rest = strlen(w->rest);

	if (n <= 0 || ++w->links > LINKS_MAX || (size_t)n + 1 + rest + 1 > sizeof(w->rest)) {
		return false;
	}
	memmove(w->rest + n + 1, w->rest, rest + 1);
	memcpy(w->rest, text, (size_t)n);
	w->rest[n] = '/';
	return text[0] != '/' || start_at_root(w);
}

/* Takes the first name off `rest`. False when there is none. */
static bool next_name(struct walk *w, char out[NAME_MAX + 1])
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	if (n == 0) {
		return false;
	}
	/* A longer one exists nowhere, nor does its beginning: names end with it. */
	memcpy(out, p, n < NAME_MAX ? n : NAME_MAX);
	out[n < NAME_MAX ? n : NAME_MAX] = '\0';
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return n <= NAME_MAX;
}

static enum outside step(struct walk *w, const char *name)
{
	struct stat st;

	if (!is_local(w->at)) {
		return OUTSIDE_FOREIGN;
	}
	int next = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0) {
		return errno == EACCES ? OUTSIDE_CLOSED : OUTSIDE_ABSENT;
	}
	if (fstat(next, &st) == 0 && S_ISLNK(st.st_mode)) {
		bool ok = follow(w, next);

		close(next);
		return ok ? OUTSIDE_THERE : OUTSIDE_ABSENT;
	}
	close(w->at);
	w->at = next;
	return OUTSIDE_THERE;
}

enum outside outside_look(const char *path, int mode, bool parent, bool *ret_folder)
{
	struct walk w = {.at = -1};
	enum outside found = OUTSIDE_THERE;
	char name[NAME_MAX + 1];
	struct stat st;
	size_t n = strlen(path);

	if (parent) {
		const char *slash = strrchr(path, '/');
		n = slash != NULL ? (size_t)(slash - path) : 0;
	}
	if (path[0] != '/' || n >= sizeof(w.rest) || !start_at_root(&w)) {
		return OUTSIDE_ABSENT;
	}
	memcpy(w.rest, path, n);
	w.rest[n] = '\0';
	while (found == OUTSIDE_THERE && next_name(&w, name)) {
		found = step(&w, name);
	}
	if (found == OUTSIDE_THERE && fstat(w.at, &st) == 0) {
		*ret_folder = S_ISDIR(st.st_mode);
		if (!is_local(w.at)) {
			found = OUTSIDE_FOREIGN;
		} else if (mode != 0 && syscall(SYS_faccessat2, w.at, "", mode,
						AT_EMPTY_PATH | AT_EACCESS) < 0) {
			found = OUTSIDE_CLOSED;
		}
	}
	fd_close(&w.at);
	return found;
}
