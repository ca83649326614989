#include "plan/secrets.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* /etc is a few folders deep. /opt holds whole programs: only their tops, where settings lie. */
#define ETC_DEPTH 8
#define OPT_DEPTH 4

/* More than any machine has; a walk that sees more than this does not start a sandbox. */
#define SEEN_MAX 500000UL

struct walk {
	struct facts *facts;
	struct arena *arena;
	struct err *err;
	size_t seen;
};

/* Whether others may read the file, or list and enter the folder. */
static bool for_everybody(mode_t mode)
{
	mode_t need = S_ISDIR(mode) ? S_IROTH | S_IXOTH : S_IROTH;

	return (mode & need) == need;
}

static bool walk(struct walk *w, int dir_fd, const char *path, unsigned depth)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool ok = true;

	if (d == NULL) {
		fd_close(&fd);
		return true; /* what this user cannot list, the program cannot either */
	}
	for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
		struct stat st;

		if (str_eq(e->d_name, ".") || str_eq(e->d_name, "..") || e->d_type == DT_LNK ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode)) {
			continue;
		}
		if (++w->seen > SEEN_MAX) {
			ok = err_set(w->err, ERR_SETUP, 0,
				     "%s holds too many files to look for secrets in", path);
			break;
		}
		if (!for_everybody(st.st_mode) && faccessat(fd, e->d_name, R_OK, 0) == 0) {
			const char *full = arena_printf(w->arena, "%s/%s", path, e->d_name);

			ARENA_PUSH(w->arena, &w->facts->secrets, full);
		} else if (S_ISDIR(st.st_mode) && depth > 1) {
			auto_close int sub = openat(fd, e->d_name,
						    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			ok = sub < 0 ||
			     walk(w, sub, arena_printf(w->arena, "%s/%s", path, e->d_name),
				  depth - 1);
		}
	}
	closedir(d);
	return ok;
}

bool secrets_find(struct facts *facts, struct arena *arena, struct err *err)
{
	struct walk w = {.facts = facts, .arena = arena, .err = err};

	if (facts->machine->uid != 0 && getgroups(0, NULL) <= 1) {
		return true;
	}
	auto_close int etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int opt = open("/opt", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return (etc < 0 || walk(&w, etc, "/etc", ETC_DEPTH)) &&
	       (opt < 0 || walk(&w, opt, "/opt", OPT_DEPTH));
}
