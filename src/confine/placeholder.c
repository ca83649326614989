/* Job: which names need a placeholder, and the order that makes every kill harmless: list first,
 * make second, note what was made third. All of it with the registry locked.
 *
 * The program of another run may change the folders on the way while we work: they are opened
 * without following links, below a descriptor of the granted folder, and everything is made and
 * removed by the parent's descriptor. */
#include "confine/placeholder.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long somebody else may hold the registry: he makes or removes folders, no more. */
#define MAKE_WAIT_MS  5000
#define END_WAIT_MS   2000
#define SWEEP_WAIT_MS 200

/* Folders on the way are ordinary ones; the sticky bit marks them until they are noted. */
#define PARENT_MODE (0755 | S_ISVTX)

/* The last folder that was opened: names of one folder come together. */
struct last_parent {
	int fd; /* -1: it could not be opened, see sys */
	int sys;
	int base_fd;
	const char *path;
	size_t len;
};

void placeholders_init(struct placeholders *ret, const char *state_folder)
{
	*ret = (struct placeholders){.state_folder = state_folder,
				     .registry = {.dir_fd = -1, .lock_fd = -1},
				     .run_fd = -1};
}

static int open_below(int base_fd, const char *path, size_t base_len, size_t len)
{
	char rel[PATH_MAX] = ".";

	if (len > base_len) {
		size_t n = len - base_len - 1;

		if (n >= sizeof(rel)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(rel, path + base_len + 1, n);
		rel[n] = '\0';
	}
	return sys_openat2(base_fd, rel, O_PATH | O_DIRECTORY | O_CLOEXEC,
			   RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

/* Opens the folder that holds the last part of `path`, unless it is the one that is open. */
static void use_parent(struct last_parent *last, int base_fd, size_t base_len, const char *path)
{
	size_t len = (size_t)(path_base(path) - path) - 1;

	if (last->path != NULL && last->base_fd == base_fd && last->len == len &&
	    memcmp(last->path, path, len) == 0) {
		return;
	}
	fd_close(&last->fd);
	last->fd = open_below(base_fd, path, base_len, len);
	last->sys = last->fd < 0 ? errno : 0;
	last->base_fd = base_fd;
	last->path = path;
	last->len = len;
}

/* 0 when the name exists, else why not: ENOENT when it is absent. */
static int look(struct last_parent *last, const struct placeholder_want *w)
{
	struct stat st;

	use_parent(last, w->base_fd, w->base_len, w->path);
	if (last->fd < 0) {
		return last->sys;
	}
	return fstatat(last->fd, path_base(w->path), &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

static bool any_absent(const struct placeholder_want *wants, size_t count)
{
	struct last_parent last = {.fd = -1};
	bool absent = false;

	for (size_t i = 0; i < count && !absent; i++) {
		absent = look(&last, &wants[i]) == ENOENT;
	}
	fd_close(&last.fd);
	return absent;
}

static void list(struct placeholders *p, const struct placeholder_want *w, size_t len, char kind,
		 const struct registry_entry *shared)
{
	struct registry_entry e = {.path = arena_strndup(&p->arena, w->path, len),
				   .base_len = w->base_len,
				   .base_fd = w->base_fd,
				   .kind = kind,
				   .from = w->from};

	if (shared != NULL) {
		e.known = true;
		e.ino = shared->ino;
		e.mode = shared->mode;
		e.kind = shared->kind;
	}
	ARENA_PUSH(&p->arena, &p->own, e);
}

/* Lists the folders from `from` bytes of the path on, to its end, that have to be made. */
static void list_missing(struct placeholders *p, const struct placeholder_want *w, size_t from)
{
	size_t full = strlen(w->path);

	for (size_t i = from; i < full; i++) {
		if (w->path[i] == '/' && i > w->base_len) {
			list(p, w, i, REGISTRY_KIND_PARENT, NULL);
		}
	}
	list(p, w, full, REGISTRY_KIND_NAME, NULL);
}

/* Lists what of the path, up to `upto` bytes, is another living run's placeholder. */
static void list_shared(struct placeholders *p, const struct placeholder_want *w, size_t upto,
			const struct registry_entries *living)
{
	char prefix[PATH_MAX];

	if (living->n == 0 || upto >= sizeof(prefix)) {
		return;
	}
	for (size_t i = w->base_len + 1; i <= upto; i++) {
		if (i < upto && w->path[i] != '/') {
			continue;
		}
		memcpy(prefix, w->path, i);
		prefix[i] = '\0';
		const struct registry_entry *e = registry_find(living, prefix);
		if (e != NULL && e->known) {
			list(p, w, i, e->kind, e);
		}
	}
}

/* How much of the path exists, in bytes: up to before a slash, at least the granted folder. */
static size_t existing_part(const struct placeholder_want *w, size_t len)
{
	while (len > w->base_len) {
		auto_close int fd = open_below(w->base_fd, w->path, w->base_len, len);

		if (fd >= 0 || errno != ENOENT) {
			break;
		}
		do {
			len--;
		} while (len > w->base_len && w->path[len] != '/');
	}
	return len;
}

/* Lists everything that has to be made or is shared. Of folders that several wanted names need, the
 * name before this one has listed those that lie on its own way, too. */
static void list_all(struct placeholders *p, const struct placeholder_want *wants, size_t count,
		     const struct registry_entries *living)
{
	struct last_parent last = {.fd = -1};
	const char *prev = "";

	for (size_t i = 0; i < count; i++) {
		const struct placeholder_want *w = &wants[i];
		int sys = look(&last, w);
		size_t have = strlen(w->path);

		if (sys == ENOENT) {
			size_t same = 0;
			size_t listed = 0;

			have = last.fd >= 0 ? last.len : existing_part(w, last.len);
			while (prev[same] != '\0' && prev[same] == w->path[same]) {
				same++;
				listed = prev[same] == '/' && w->path[same] == '/' ? same : listed;
			}
			list_missing(p, w, (listed > have ? listed : have) + 1);
			prev = w->path;
		}
		if (sys == 0 || sys == ENOENT) {
			list_shared(p, w, have, living);
		}
	}
	fd_close(&last.fd);
}

static bool make_failed(const struct registry_entry *e, int sys, int parent, struct err *err)
{
	char shown[512];
	char folder[512];
	char text[PATH_MAX];
	struct stat st;

	snprintf(text, sizeof(text), "%.*s", (int)(path_base(e->path) - e->path) - 1, e->path);
	str_printable(text, folder, sizeof(folder));
	str_printable(e->path, shown, sizeof(shown));
	if (sys == EACCES && fstat(parent, &st) == 0 && st.st_uid == geteuid()) {
		err_set(err, ERR_SETUP, 0,
			"cannot keep %s from being made: %s is yours, but not writable", shown,
			folder);
		err_hint(err, "chmod u+w %s, or leave it out of the spec", folder);
	} else {
		err_set(err, ERR_SETUP, sys, "cannot make the placeholder %s", shown);
	}
	return err_at(err, &e->from);
}

/* Whether a failed mkdir means that the program cannot make the name either. */
static bool nobody_can(int sys, int parent)
{
	struct stat st;

	switch (sys) {
	case EROFS:
	case EPERM:  /* immutable */
	case ENOENT: /* its folder was not made, or went just now */
	case ENOTDIR:
		return true;
	case EACCES:
		return fstat(parent, &st) == 0 && st.st_uid != geteuid();
	default:
		return false;
	}
}

static bool make_one(struct registry_entry *e, int parent, int sys, struct err *err)
{
	const char *last = path_base(e->path);
	mode_t mode = e->kind == REGISTRY_KIND_PARENT ? PARENT_MODE : PLACEHOLDER_MODE;
	struct stat st;

	if (parent < 0 || mkdirat(parent, last, mode) < 0) {
		sys = parent < 0 ? sys : errno;
		return sys == EEXIST || nobody_can(sys, parent) || make_failed(e, sys, parent, err);
	}
	if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
		e->known = true;
		e->ino = st.st_ino;
		e->mode = st.st_mode & 07777;
	}
	return true;
}

/* Takes the mark from a folder on the way, now that its number is listed. */
static void unmark(const struct registry_entry *e)
{
	auto_close int parent = registry_open_parent(e);
	auto_close int fd = parent < 0 ? -1
				       : openat(parent, path_base(e->path),
						O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == e->ino) {
		fchmod(fd, st.st_mode & 07777 & ~(mode_t)S_ISVTX);
	}
}

static bool make_listed(struct placeholders *p, size_t first, struct err *err)
{
	struct last_parent last = {.fd = -1};
	bool ok = true;

	for (size_t i = first; ok && i < p->own.n; i++) {
		struct registry_entry *e = &p->own.v[i];

		if (!e->known) {
			use_parent(&last, e->base_fd, e->base_len, e->path);
			ok = make_one(e, last.fd, last.sys, err);
		}
	}
	fd_close(&last.fd);
	return ok;
}

static bool record_failed(struct err *err)
{
	return err_set(err, ERR_SETUP, errno, "cannot write the list of placeholders");
}

/* With the registry locked and the entries from `first` on listed in memory. */
static bool carry_out(struct placeholders *p, size_t first, struct err *err)
{
	if (p->run_fd < 0) {
		p->run_fd = registry_new_record(&p->registry, err);
		if (p->run_fd < 0) {
			return false;
		}
	}
	if (!registry_append(p->run_fd, &p->own, first, false, &p->arena)) {
		return record_failed(err);
	}
	bool ok = make_listed(p, first, err);
	if (!registry_append(p->run_fd, &p->own, first, true, &p->arena) && ok) {
		ok = record_failed(err);
	}
	for (size_t i = first; i < p->own.n; i++) {
		if (p->own.v[i].kind == REGISTRY_KIND_PARENT && p->own.v[i].known) {
			unmark(&p->own.v[i]);
		}
	}
	return ok;
}

void placeholders_held(const struct placeholders *p, const struct placeholder_want *wants,
		       size_t count, bool *ret_held)
{
	struct arena arena = {0};
	struct registry_entries sorted = {0};
	struct last_parent last = {.fd = -1};

	for (size_t i = 0; i < p->own.n; i++) {
		if (p->own.v[i].kind == REGISTRY_KIND_NAME) {
			ARENA_PUSH(&arena, &sorted, p->own.v[i]);
		}
	}
	registry_sort(&sorted);
	for (size_t i = 0; i < count; i++) {
		const struct placeholder_want *w = &wants[i];
		struct stat st;

		ret_held[i] = false;
		if (registry_find(&sorted, w->path) != NULL) {
			use_parent(&last, w->base_fd, w->base_len, w->path);
			ret_held[i] = last.fd >= 0 &&
				      fstatat(last.fd, path_base(w->path), &st,
					      AT_SYMLINK_NOFOLLOW) == 0 &&
				      registry_is_listed(&sorted, w->path, &st);
		}
	}
	fd_close(&last.fd);
	arena_release(&arena);
}

bool placeholders_make(struct placeholders *p, const struct placeholder_want *wants, size_t count,
		       struct err *err)
{
	struct registry_entries living = {0};
	size_t first = p->own.n;

	if (p->registry.dir_fd < 0) {
		if (!registry_open(p->state_folder, false, &p->registry, err)) {
			return false;
		}
		if (p->registry.dir_fd < 0) {
			/* No run has ever made one. */
			if (!any_absent(wants, count)) {
				return true;
			}
			if (!registry_open(p->state_folder, true, &p->registry, err)) {
				return false;
			}
		}
	}
	if (!registry_lock(&p->registry, MAKE_WAIT_MS, err)) {
		return false;
	}
	bool ok = registry_scan(&p->registry, p->run_fd, &p->own, &p->arena, &living);
	if (!ok) {
		err_set(err, ERR_SETUP, 0, "cannot read the list of placeholders");
	} else {
		list_all(p, wants, count, &living);
		ok = p->own.n == first || carry_out(p, first, err);
	}
	registry_unlock(&p->registry);
	return ok;
}

static void finish(struct placeholders *p, bool exiting)
{
	struct registry_entries living = {0};
	struct err ignored;

	if (registry_lock(&p->registry, END_WAIT_MS, &ignored)) {
		if (registry_scan(&p->registry, p->run_fd, &p->own, &p->arena, &living) &&
		    p->run_fd >= 0) {
			registry_remove_all(&p->own, &living, exiting);
			registry_delete_record(&p->registry, p->run_fd);
		}
		/* Closed while the lock is held: nobody takes it for a dead run's meanwhile. */
		fd_close(&p->run_fd);
		registry_unlock(&p->registry);
	}
}

ino_t placeholders_inode(struct placeholders *p, const char *path)
{
	struct registry_entries living = {0};
	const struct registry_entry *other = NULL;
	struct err ignored;

	if (p->registry.dir_fd >= 0 && registry_lock(&p->registry, MAKE_WAIT_MS, &ignored)) {
		if (registry_scan(&p->registry, p->run_fd, &p->own, &p->arena, &living)) {
			other = registry_find(&living, path);
		}
		registry_unlock(&p->registry);
	}
	if (other != NULL && other->known) {
		return other->ino;
	}
	for (size_t i = p->own.n; i > 0; i--) {
		if (p->own.v[i - 1].known && str_eq(p->own.v[i - 1].path, path)) {
			return p->own.v[i - 1].ino;
		}
	}
	return 0;
}

void placeholders_end(struct placeholders *p, bool exiting)
{
	if (p->run_fd >= 0) {
		finish(p, exiting);
	}
	fd_close(&p->run_fd);
	registry_close(&p->registry);
	arena_release(&p->arena);
	p->own = (struct registry_entries){0};
}

void placeholders_end_record(const char *state_folder, int run_fd)
{
	struct placeholders p;
	struct err ignored;

	if (run_fd < 0) {
		placeholders_sweep(state_folder);
		return;
	}
	placeholders_init(&p, state_folder);
	p.run_fd = run_fd;
	registry_read(run_fd, &p.arena, &p.own);
	if (!registry_open(state_folder, false, &p.registry, &ignored) || p.registry.dir_fd < 0) {
		fd_close(&p.run_fd);
	}
	placeholders_end(&p, false);
}

void placeholders_sweep(const char *state_folder)
{
	struct placeholders p;
	struct registry_entries living = {0};
	struct err ignored;

	placeholders_init(&p, state_folder);
	if (registry_open(state_folder, false, &p.registry, &ignored) && p.registry.dir_fd >= 0 &&
	    registry_has_records(&p.registry) &&
	    registry_lock(&p.registry, SWEEP_WAIT_MS, &ignored)) {
		registry_scan(&p.registry, -1, &p.own, &p.arena, &living);
		registry_unlock(&p.registry);
	}
	registry_close(&p.registry);
	arena_release(&p.arena);
}
