/* Job: the registry's files. Everything here is done with the registry's lock held, but for
 * opening it and asking whether there is anything in it.
 *
 * Who can write here is the user (0700). Records are read with care all the same: the worst that
 * a forged one can do is to have an empty folder of the user's own removed. */
#include "confine/registry.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/placeholder.h"
#include "confine/sys.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Far above what the largest spec can list (thousands of paths of 4 KiB). */
#define RECORD_MAX_BYTES (64L << 20)

#define RECORD_PREFIX "run."

/* Removed folders that are held open at most: well below the usual limit of descriptors. */
#define HELD_MAX 900

/* mkdir -p with 0700 for what is missing. */
static bool make_folders(const char *path)
{
	char buf[PATH_MAX];
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(buf)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(buf, path, len + 1);
	for (char *slash = strchr(buf + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(buf, 0700) < 0 && errno != EEXIST && access(buf, F_OK) < 0) {
			return false;
		}
		*slash = '/';
	}
	return mkdir(buf, 0700) == 0 || errno == EEXIST;
}

static bool open_failed(struct err *err, int sys, const char *state_folder)
{
	char shown[512];

	err_set(err, ERR_SETUP, sys, "cannot keep the list of placeholders in %s/placeholders",
		str_printable(state_folder, shown, sizeof(shown)));
	return err_hint(err, "the folder must be yours and writable; XDG_STATE_HOME names another "
			     "place for it");
}

static int open_folder(const char *state_folder, bool create)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/placeholders", state_folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && create) {
		if (!make_folders(state_folder) || (mkdir(path, 0700) < 0 && errno != EEXIST)) {
			return -1;
		}
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	return fd;
}

bool registry_open(const char *state_folder, bool create, struct registry *ret, struct err *err)
{
	auto_close int dir = open_folder(state_folder, create);
	struct stat st;

	ret->dir_fd = -1;
	ret->lock_fd = -1;
	if (dir < 0) {
		if (!create && (errno == ENOENT || errno == ENOTDIR)) {
			return true;
		}
		return open_failed(err, errno, state_folder);
	}
	if (fstat(dir, &st) < 0 || st.st_uid != geteuid()) {
		return open_failed(err, EPERM, state_folder);
	}
	ret->dir_fd = fd_take(&dir);
	return true;
}

void registry_close(struct registry *r)
{
	fd_close(&r->lock_fd);
	fd_close(&r->dir_fd);
}

/* The folder's names, from its start; NULL on failure. closedir leaves r->dir_fd open. */
static DIR *list_folder(const struct registry *r)
{
	auto_close int fd = openat(r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir != NULL) {
		fd_take(&fd);
	}
	return dir;
}

bool registry_has_records(const struct registry *r)
{
	_Alignas(struct dirent64) char buf[4096];
	ssize_t got;

	lseek(r->dir_fd, 0, SEEK_SET);
	/* Straight from the kernel: this is on every run's way, and the folder is mostly empty. */
	while ((got = getdents64(r->dir_fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *e = (const struct dirent64 *)(void *)(buf + at);

			if (str_starts(e->d_name, RECORD_PREFIX)) {
				return true;
			}
			at += e->d_reclen;
		}
	}
	return false;
}

bool registry_lock(struct registry *r, int wait_ms, struct err *err)
{
	if (r->lock_fd < 0) {
		r->lock_fd = openat(r->dir_fd, "lock",
				    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
		if (r->lock_fd < 0) {
			return err_set(err, ERR_SETUP, errno,
				       "cannot open the lock of the list of placeholders");
		}
	}
	for (int waited_us = 0;; waited_us += 500) {
		if (flock(r->lock_fd, LOCK_EX | LOCK_NB) == 0) {
			return true;
		}
		if ((errno != EWOULDBLOCK && errno != EINTR) || waited_us / 1000 >= wait_ms) {
			break;
		}
		nanosleep(&(struct timespec){.tv_nsec = 500L * 1000}, NULL);
	}
	err_set(err, ERR_SETUP, errno, "cannot lock the list of placeholders");
	return err_hint(err, "another lnk seems to be stopped while it holds the lock; end it");
}

void registry_unlock(struct registry *r)
{
	flock(r->lock_fd, LOCK_UN);
}

int registry_new_record(const struct registry *r, struct err *err)
{
	for (int i = 0; i < 16; i++) {
		char name[sizeof(RECORD_PREFIX) + 16];
		unsigned long long id = 0;

		if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id)) {
			struct timespec now;

			clock_gettime(CLOCK_MONOTONIC, &now);
			id = (unsigned long long)now.tv_nsec << 32 | (unsigned)getpid();
		}
		snprintf(name, sizeof(name), RECORD_PREFIX "%016llx", id);
		auto_close int fd = openat(r->dir_fd, name,
					   O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
		if (fd < 0 && errno == EEXIST) {
			continue;
		}
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
			err_set(err, ERR_SETUP, errno, "cannot write the list of placeholders");
			return -1;
		}
		return fd_take(&fd);
	}
	err_set(err, ERR_SETUP, EEXIST, "cannot write the list of placeholders");
	return -1;
}

/* One entry, without its NUL. False when it is not one. */
static bool parse_entry(const char *text, struct registry_entry *ret)
{
	struct registry_entry e = {.base_fd = -1};

	if ((text[0] != 'm' && text[0] != 'i') ||
	    (text[1] != REGISTRY_KIND_NAME && text[1] != REGISTRY_KIND_PARENT)) {
		return false;
	}
	const char *path = text + 2;
	e.kind = text[1];
	if (text[0] == 'i') {
		char *end = NULL;

		e.known = true;
		e.ino = strtoull(path, &end, 16);
		if (*end != ':') {
			return false;
		}
		e.mode = (mode_t)strtoul(end + 1, &end, 8);
		if (*end != ':') {
			return false;
		}
		path = end + 1;
	}
	if (path[0] != '/' || path[1] == '\0') {
		return false;
	}
	*ret = e;
	return true;
}

void registry_read(int fd, struct arena *arena, struct registry_entries *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > RECORD_MAX_BYTES) {
		return;
	}
	size_t size = (size_t)st.st_size;
	char *text = arena_alloc(arena, size + 1);
	size_t got = 0;
	while (got < size) {
		ssize_t n = pread(fd, text + got, size - got, (off_t)got);

		if (n <= 0) {
			break;
		}
		got += (size_t)n;
	}
	for (char *p = text, *end; p < text + got; p = end + 1) {
		struct registry_entry e;

		end = memchr(p, '\0', (size_t)(text + got - p));
		if (end == NULL) {
			break;
		}
		if (parse_entry(p, &e)) {
			/* The path is what follows the last of the fields: kind, or mode. */
			e.path = strchr(p, '/');
			ARENA_PUSH(arena, ret, e);
		}
	}
}

bool registry_append(int fd, const struct registry_entries *entries, size_t first, bool made,
		     struct arena *arena)
{
	size_t room = 1;

	for (size_t i = first; i < entries->n; i++) {
		room += strlen(entries->v[i].path) + 40;
	}
	char *text = arena_alloc(arena, room);
	size_t len = 0;
	for (size_t i = first; i < entries->n; i++) {
		const struct registry_entry *e = &entries->v[i];
		int n;

		if (!made) {
			n = snprintf(text + len, room - len, "m%c%s", e->kind, e->path);
		} else if (e->known) {
			n = snprintf(text + len, room - len, "i%c%llx:%o:%s", e->kind,
				     (unsigned long long)e->ino, (unsigned)e->mode, e->path);
		} else {
			continue;
		}
		len += (size_t)n + 1;
	}
	return fd_write_all(fd, text, len);
}

static int compare_paths(const void *va, const void *vb)
{
	const struct registry_entry *a = va;
	const struct registry_entry *b = vb;

	return strcmp(a->path, b->path);
}

void registry_sort(struct registry_entries *list)
{
	if (list->n > 1) {
		qsort(list->v, list->n, sizeof(*list->v), compare_paths);
	}
}

/* The first entry of `path`, or where it would stand. */
static size_t lower_bound(const struct registry_entries *sorted, const char *path)
{
	size_t lo = 0;
	size_t hi = sorted->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(sorted->v[mid].path, path) < 0) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

const struct registry_entry *registry_find(const struct registry_entries *sorted, const char *path)
{
	const struct registry_entry *found = NULL;

	for (size_t i = lower_bound(sorted, path); i < sorted->n && str_eq(sorted->v[i].path, path);
	     i++) {
		found = &sorted->v[i];
		if (found->known) {
			break;
		}
	}
	return found;
}

int registry_open_parent(const struct registry_entry *e)
{
	const char *last = path_base(e->path);
	const char *start = e->base_fd >= 0 ? e->path + e->base_len + 1 : e->path + 1;
	auto_close int root = e->base_fd < 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	char rel[PATH_MAX] = ".";

	if (last > start) {
		size_t len = (size_t)(last - start) - 1;

		if (len >= sizeof(rel)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(rel, start, len);
		rel[len] = '\0';
	}
	return sys_openat2(e->base_fd >= 0 ? e->base_fd : root, rel,
			   O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

/* Whether what stands there is the folder that was made, as far as can be told without looking
 * into it. The device number is not compared: some change with every mount or boot. */
static bool is_ours(const struct registry_entry *e, const struct stat *st)
{
	mode_t mode = st->st_mode & 07777;

	if (!S_ISDIR(st->st_mode) || st->st_uid != geteuid()) {
		return false;
	}
	if (e->kind == REGISTRY_KIND_PARENT) {
		/* Until its number is written, a folder of ours is marked by its sticky bit. */
		return e->known ? st->st_ino == e->ino : (mode & S_ISVTX) != 0;
	}
	if (!e->known) {
		return (mode & 0222) == 0;
	}
	return st->st_ino == e->ino && mode == e->mode;
}

bool registry_is_listed(const struct registry_entries *sorted, const char *path,
			const struct stat *st)
{
	bool listed = false;

	for (size_t i = lower_bound(sorted, path);
	     !listed && i < sorted->n && str_eq(sorted->v[i].path, path); i++) {
		listed = sorted->v[i].known && is_ours(&sorted->v[i], st);
	}
	return listed;
}

void registry_remove(const struct registry_entry *e, bool hold)
{
	auto_close int dir = registry_open_parent(e);
	const char *last = path_base(e->path);
	struct stat st;

	if (dir < 0) {
		return;
	}
	auto_close int fd = openat(dir, last, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !is_ours(e, &st)) {
		return;
	}
	/* Fails on one that is not empty: that one has become real. */
	if (unlinkat(dir, last, AT_REMOVEDIR) == 0 && hold) {
		fd_take(&fd);
	}
}

void registry_remove_all(struct registry_entries *own, const struct registry_entries *living,
			 bool hold)
{
	size_t held = 0;

	/* By path, from the end: what lies in a folder goes before it. */
	registry_sort(own);
	for (size_t i = own->n; i-- > 0;) {
		if (registry_find(living, own->v[i].path) == NULL) {
			registry_remove(&own->v[i], hold && held++ < HELD_MAX);
		}
	}
}

/* A dead run's record: what it lists goes, and then the record. */
static void bury(const struct registry *r, const char *name, struct arena *arena,
		 const struct registry_entries *living, const struct registry_entries *own)
{
	auto_close int fd = openat(r->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct registry_entries dead = {0};

	if (fd < 0) {
		return;
	}
	registry_read(fd, arena, &dead);
	registry_sort(&dead);
	for (size_t i = dead.n; i-- > 0;) {
		if (registry_find(living, dead.v[i].path) == NULL &&
		    registry_find(own, dead.v[i].path) == NULL) {
			registry_remove(&dead.v[i], false);
		}
	}
	unlinkat(r->dir_fd, name, 0);
}

static bool same_file(int a, const struct stat *b)
{
	struct stat st;

	return a >= 0 && fstat(a, &st) == 0 && st.st_dev == b->st_dev && st.st_ino == b->st_ino;
}

struct names {
	char **v;
	size_t n;
	size_t cap;
};

/* Sorts one record into living or dead. False when that cannot be told. No descriptor is kept: a
 * run that is dead stays so, and no new one begins while the lock is held. */
static bool scan_record(const struct registry *r, const char *name, int own_fd, struct arena *arena,
			struct registry_entries *living, struct names *dead)
{
	auto_close int fd = openat(r->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0) {
		return errno == ENOENT || errno == ELOOP || errno == EISDIR || errno == ENXIO;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || same_file(own_fd, &st)) {
		return true;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		ARENA_PUSH(arena, dead, arena_strdup(arena, name));
		return true;
	}
	registry_read(fd, arena, living);
	return errno == EWOULDBLOCK;
}

bool registry_scan(const struct registry *r, int own_fd, const struct registry_entries *own,
		   struct arena *arena, struct registry_entries *ret_living)
{
	struct names dead = {0};
	struct registry_entries mine = {0};
	DIR *dir = list_folder(r);
	const struct dirent *e;
	bool complete = dir != NULL;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (str_starts(e->d_name, RECORD_PREFIX)) {
			complete &= scan_record(r, e->d_name, own_fd, arena, ret_living, &dead);
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
	registry_sort(ret_living);
	for (size_t i = 0; dead.n > 0 && i < own->n; i++) {
		ARENA_PUSH(arena, &mine, own->v[i]);
	}
	registry_sort(&mine);
	for (size_t i = 0; complete && i < dead.n; i++) {
		bury(r, dead.v[i], arena, ret_living, &mine);
	}
	return complete;
}

void registry_delete_record(const struct registry *r, int fd)
{
	DIR *dir = list_folder(r);
	const struct dirent *e;
	struct stat st;

	if (dir == NULL) {
		return;
	}
	while ((e = readdir(dir)) != NULL) {
		if (str_starts(e->d_name, RECORD_PREFIX) &&
		    fstatat(r->dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    same_file(fd, &st)) {
			unlinkat(r->dir_fd, e->d_name, 0);
			break;
		}
	}
	closedir(dir);
}
