/* Job: from thousands of guarded names to a few watches, and from an event back to the names.
 *
 * The program can move folders on the way to a guarded name, and so decides how often we look; it
 * cannot make us look elsewhere (no links, by descriptor) nor keep watches from being given back.
 */
#include "confine/watch.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define WATCH_EVENTS                                                                               \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |     \
	 IN_ONLYDIR | IN_EXCL_UNLINK)

static size_t add_node(struct watch *w, size_t via, size_t len, size_t name, size_t parent)
{
	size_t i = w->nodes.n;
	struct watch_node node = {.via = via,
				  .path = w->names[via].path,
				  .len = len,
				  .name = name,
				  .parent = parent,
				  .base = i == parent ? i : w->nodes.v[parent].base,
				  .guard = WATCH_NO_GUARD,
				  .base_fd = -1,
				  .wd = -1};

	ARENA_PUSH(&w->arena, &w->nodes, node);
	return i;
}

/* A granted folder, and the node of the last name that was added below it. */
struct base {
	size_t node;
	size_t last;
};

struct bases {
	struct base *v;
	size_t n;
	size_t cap;
};

static bool open_base(struct watch *w, const struct warden_name *name, struct bases *bases,
		      struct err *err)
{
	char path[PATH_MAX] = "/";
	struct base base;

	if (name->base_len >= sizeof(path)) {
		return err_set(err, ERR_SETUP, ENAMETOOLONG, "cannot watch a granted folder");
	}
	memcpy(path, name->path, name->base_len > 0 ? name->base_len : 1);
	int fd = sys_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	if (fd < 0) {
		char shown[512];

		err_set(err, ERR_SETUP, errno, "cannot open the granted folder %s",
			str_printable(path, shown, sizeof(shown)));
		return err_at(err, &name->from);
	}
	base.node = add_node(w, (size_t)(name - w->names), name->base_len, 0, w->nodes.n);
	base.last = base.node;
	w->nodes.v[base.node].base_fd = fd;
	ARENA_PUSH(&w->arena, bases, base);
	return true;
}

/* The granted folder of a name: there are few, and the last one is mostly right. */
static struct base *find_base(struct watch *w, const struct warden_name *name, struct bases *bases,
			      struct err *err)
{
	for (size_t i = bases->n; i-- > 0;) {
		const struct watch_node *b = &w->nodes.v[bases->v[i].node];

		if (b->len == name->base_len && memcmp(b->path, name->path, b->len) == 0) {
			return &bases->v[i];
		}
	}
	return open_base(w, name, bases, err) ? &bases->v[bases->n - 1] : NULL;
}

static bool is_on_the_way(const struct watch_node *node, const char *path, size_t full)
{
	return node->len <= full && memcmp(node->path, path, node->len) == 0 &&
	       (path[node->len] == '/' || path[node->len] == '\0');
}

/* Adds the parts of a name that it does not share with the one before it. */
static void add_name(struct watch *w, size_t index, struct base *base)
{
	const char *path = w->names[index].path;
	size_t full = strlen(path);
	size_t at = base->last;

	while (at != base->node && !is_on_the_way(&w->nodes.v[at], path, full)) {
		at = w->nodes.v[at].parent;
	}
	while (w->nodes.v[at].len < full) {
		size_t start = w->nodes.v[at].len + 1;
		size_t len = strcspn(path + start, "/");

		at = add_node(w, index, start + len, start, at);
	}
	if (w->nodes.v[at].guard == WATCH_NO_GUARD) {
		w->nodes.v[at].guard = index;
	}
	w->guard_nodes[index] = at;
	base->last = at;
}

/* Lists each node's children together, in the order of their names. */
static void list_children(struct watch *w)
{
	struct watch_node *v = w->nodes.v;
	size_t at = 0;

	w->children = arena_alloc(&w->arena, w->nodes.n * sizeof(*w->children));
	for (size_t i = 0; i < w->nodes.n; i++) {
		if (v[i].parent != i) {
			v[v[i].parent].nchildren++;
		}
	}
	for (size_t i = 0; i < w->nodes.n; i++) {
		v[i].child = at;
		at += v[i].nchildren;
		v[i].nchildren = 0;
	}
	for (size_t i = 0; i < w->nodes.n; i++) {
		if (v[i].parent != i) {
			struct watch_node *p = &v[v[i].parent];

			w->children[p->child + p->nchildren++] = i;
		}
	}
}

bool watch_init(struct watch *ret_watch, const struct warden_name *names, size_t nnames,
		struct err *err)
{
	struct watch *w = ret_watch;

	*w = (struct watch){.fd = -1, .names = names, .nnames = nnames};
	w->guard_nodes = arena_alloc(&w->arena, nnames * sizeof(*w->guard_nodes));
	struct bases bases = {0};
	for (size_t i = 0; i < nnames; i++) {
		struct base *base = find_base(w, &names[i], &bases, err);

		if (base == NULL) {
			return false;
		}
		add_name(w, i, base);
	}
	w->wds = arena_alloc(&w->arena, w->nodes.n * sizeof(*w->wds));
	list_children(w);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0) {
		int sys = errno;

		err_set(err, ERR_SETUP, sys, "cannot watch the guarded names");
		if (sys == EMFILE) {
			err_hint(err, "too many programs watch files: raise it with sysctl "
				      "fs.inotify.max_user_instances=1024");
		}
		return false;
	}
	return true;
}

/* Where `wd` stands or would stand in the sorted list. */
static size_t wd_place(const struct watch *w, int wd)
{
	size_t lo = 0;
	size_t hi = w->nwds;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->wds[mid].wd < wd) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

/* Takes the node's watch away; gives it back to the kernel when no other node has it. */
static void drop_wd(struct watch *w, size_t node)
{
	int wd = w->nodes.v[node].wd;
	size_t at = wd_place(w, wd);

	if (wd < 0) {
		return;
	}
	w->nodes.v[node].wd = -1;
	while (at < w->nwds && w->wds[at].node != node) {
		at++;
	}
	if (at == w->nwds) {
		return;
	}
	memmove(&w->wds[at], &w->wds[at + 1], (w->nwds - at - 1) * sizeof(*w->wds));
	w->nwds--;
	at = wd_place(w, wd);
	if (at == w->nwds || w->wds[at].wd != wd) {
		inotify_rm_watch(w->fd, wd);
	}
}

static void set_wd(struct watch *w, size_t node, int wd)
{
	if (w->nodes.v[node].wd == wd) {
		return;
	}
	drop_wd(w, node);
	size_t at = wd_place(w, wd);
	memmove(&w->wds[at + 1], &w->wds[at], (w->nwds - at) * sizeof(*w->wds));
	w->wds[at] = (struct watch_wd){wd, node};
	w->nwds++;
	w->nodes.v[node].wd = wd;
}

static bool watch_failed(const struct watch *w, const struct watch_node *node, int sys,
			 struct err *err)
{
	char path[PATH_MAX];
	char shown[512];

	snprintf(path, sizeof(path), "%.*s", (int)node->len, node->path);
	err_set(err, ERR_SETUP, sys, "cannot watch the folder %s",
		str_printable(path, shown, sizeof(shown)));
	if (sys == ENOSPC) {
		err_hint(err, "too many folders are watched on this machine: raise it with sysctl "
			      "fs.inotify.max_user_watches=524288");
	} else if (sys == EACCES) {
		err_hint(err, "guarded names lie in it, so it has to be readable: chmod u+r %s",
			 shown);
	}
	return err_at(err, &w->names[node->via].from);
}

/* O_PATH descriptor of what stands at the first `len` bytes of a path; the last part is not
 * followed. -1 with errno. */
static int open_below(const struct watch *w, const struct watch_node *node, uint64_t flags)
{
	const struct watch_node *base = &w->nodes.v[node->base];
	char rel[PATH_MAX];

	if (node->len - base->len >= sizeof(rel)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(rel, node->path + base->len + 1, node->len - base->len - 1);
	rel[node->len - base->len - 1] = '\0';
	return sys_openat2(base->base_fd, rel, O_PATH | O_NOFOLLOW | O_CLOEXEC | flags,
			   RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

/* Watches the folder that stands at the node's name now, if there is one. */
static bool watch_node(struct watch *w, size_t i, struct err *err)
{
	struct watch_node *node = &w->nodes.v[i];
	auto_close int own = node->base == i ? -1 : open_below(w, node, O_DIRECTORY);
	int fd = node->base == i ? node->base_fd : own;
	char path[64];

	if (fd < 0) {
		/* Not there, not a folder, or closed to this user: its names are not there either.
		 * The folder above tells when that changes. */
		drop_wd(w, i);
		return true;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int wd = inotify_add_watch(w->fd, path, WATCH_EVENTS);
	if (wd < 0) {
		return watch_failed(w, node, errno, err);
	}
	set_wd(w, i, wd);
	return true;
}

bool watch_start(struct watch *w, struct err *err)
{
	for (size_t i = 0; i < w->nodes.n; i++) {
		if (w->nodes.v[i].nchildren > 0 && !watch_node(w, i, err)) {
			return false;
		}
	}
	return true;
}

static void mark(struct watch *w, size_t node)
{
	w->nodes.v[node].dirty = true;
	w->any_dirty = true;
}

static void mark_child(struct watch *w, const struct watch_node *node, const char *name,
		       uint32_t mask)
{
	size_t len = strlen(name);
	size_t lo = 0;
	size_t hi = node->nchildren;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		size_t at = w->children[node->child + mid];
		const struct watch_node *c = &w->nodes.v[at];
		size_t clen = c->len - c->name;
		int cmp = memcmp(c->path + c->name, name, clen < len ? clen : len);

		if (cmp == 0 && clen == len) {
			mark(w, at);
			w->nodes.v[at].came |=
				w->nodes.v[at].gone && (mask & (IN_CREATE | IN_MOVED_TO)) != 0;
			w->nodes.v[at].gone |= (mask & (IN_DELETE | IN_MOVED_FROM)) != 0;
			return;
		}
		if (cmp < 0 || (cmp == 0 && clen < len)) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
}

static void take_event(struct watch *w, const struct inotify_event *e)
{
	if ((e->mask & IN_Q_OVERFLOW) != 0) {
		w->lost = true;
		for (size_t i = 0; i < w->nodes.n; i++) {
			mark(w, i);
		}
		return;
	}
	for (size_t at = wd_place(w, e->wd); at < w->nwds && w->wds[at].wd == e->wd; at++) {
		size_t i = w->wds[at].node;

		if ((e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) == 0) {
			if (e->len > 0) {
				mark_child(w, &w->nodes.v[i], e->name, e->mask);
			}
		} else if (w->nodes.v[i].base != i) {
			/* A granted folder stays what it was inside, wherever it is moved. */
			mark(w, i);
		}
	}
}

void watch_read(struct watch *w)
{
	_Alignas(struct inotify_event) char buf[8192];
	ssize_t got;

	while ((got = read(w->fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *e =
				(const struct inotify_event *)(const void *)(buf + at);

			take_event(w, e);
			at += (ssize_t)sizeof(*e) + e->len;
		}
	}
	for (size_t i = 0; w->any_dirty && i < w->nodes.n; i++) {
		struct watch_node *node = &w->nodes.v[i];
		const struct watch_node *parent = &w->nodes.v[node->parent];

		node->dirty |= parent->dirty;
		node->came |= parent->came;
	}
}

bool watch_refresh(struct watch *w, struct err *err)
{
	for (size_t i = 0; i < w->nodes.n; i++) {
		if (w->nodes.v[i].dirty && w->nodes.v[i].nchildren > 0 && !watch_node(w, i, err)) {
			return false;
		}
	}
	return true;
}

size_t watch_next(const struct watch *w, size_t from)
{
	while (from < w->nnames && !w->nodes.v[w->guard_nodes[from]].dirty) {
		from++;
	}
	return from < w->nnames ? from : WATCH_NO_GUARD;
}

bool watch_was_replaced(const struct watch *w, size_t guard)
{
	return w->nodes.v[w->guard_nodes[guard]].came;
}

void watch_clear(struct watch *w)
{
	for (size_t i = 0; i < w->nodes.n; i++) {
		w->nodes.v[i].dirty = false;
		w->nodes.v[i].gone = false;
		w->nodes.v[i].came = false;
	}
	w->any_dirty = false;
	w->lost = false;
}

int watch_base_fd(const struct watch *w, size_t guard)
{
	return w->nodes.v[w->nodes.v[w->guard_nodes[guard]].base].base_fd;
}

int watch_open(const struct watch *w, size_t guard)
{
	return open_below(w, &w->nodes.v[w->guard_nodes[guard]], 0);
}

bool watch_exists(const struct watch *w, size_t guard)
{
	auto_close int fd = watch_open(w, guard);

	return fd >= 0 || errno != ENOENT;
}

void watch_release(struct watch *w)
{
	for (size_t i = 0; i < w->nodes.n; i++) {
		fd_close(&w->nodes.v[i].base_fd);
	}
	fd_close(&w->fd);
	arena_release(&w->arena);
}
