#include "confine/mounts.h"

#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "base/testguard.h"
#include "confine/guardname.h"
#include "confine/skeleton.h"
#include "confine/sys.h"
#include "plan/kernel.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>

#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif

#define ATTR_BASE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* "/run/lnk/own-" and a number. */
#define KEPT_MAX 32

/* Calls that wait for the broker to take them. */
#define BROKER_BACKLOG 128

struct builder {
	struct skeleton skeleton;
	unsigned kept; /* own files and folders that had to be bound over a system's */
	bool guarded_ready;
	bool as_root;
	struct warden_init *warden;
	int broker; /* where the broker's listening socket goes */
	struct err *err;
};

static bool fail(struct builder *b, const struct plan_op *op, const char *what)
{
	int sys = errno;

	err_set(b->err, ERR_SETUP, sys, "cannot %s %s", what, op->path);
	return err_at(b->err, &op->from);
}

int mounts_new(const char *type, unsigned attr, const char *const *options)
{
	auto_close int fs = sys_fsopen(type, FSOPEN_CLOEXEC);

	if (fs < 0) {
		return -1;
	}
	for (; options != NULL && options[0] != NULL; options += 2) {
		if (sys_fsconfig(fs, FSCONFIG_SET_STRING, options[0], options[1], 0) < 0) {
			return -1;
		}
	}
	if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
		return -1;
	}
	return sys_fsmount(fs, FSMOUNT_CLOEXEC, attr);
}

static bool set_attr(int mount, uint64_t attr, bool recursive)
{
	struct mount_attr a = {.attr_set = attr, .propagation = 1UL << 18 /* MS_PRIVATE */};

	return sys_mount_setattr(mount, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &a) ==
	       0;
}

static bool do_folder(struct builder *b, const struct plan_op *op)
{
	auto_place struct place at = {.fd = -1};

	return skeleton_place(&b->skeleton, op->path, true, op->mode, &at) || fail(b, op, "make");
}

static bool write_own(struct builder *b, const char *path, const char *text, size_t len,
		      mode_t mode)
{
	auto_close int fd = openat(b->skeleton.root, path + 1,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd >= 0 && fd_write_all(fd, text, len);
}

/* A name in /run/lnk for something of ours that is bound elsewhere. */
static void keep_name(struct builder *b, char kept[KEPT_MAX])
{
	snprintf(kept, KEPT_MAX, "/run/lnk/own-%u", b->kept++);
}

/* A file of our own: made where our own file system has the folder, else kept in /run/lnk and
 * bound over what the host has there. */
static bool own_file(struct builder *b, const struct plan_op *op, const char *text, size_t len)
{
	char kept[KEPT_MAX];

	if (skeleton_parent(&b->skeleton, op->path)) {
		return write_own(b, op->path, text, len, op->mode) || fail(b, op, "make");
	}
	keep_name(b, kept);
	if (!write_own(b, kept, text, len, op->mode)) {
		return fail(b, op, "make");
	}
	auto_close int mount =
		sys_open_tree(b->skeleton.root, kept + 1, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return (mount >= 0 && set_attr(mount, ATTR_BASE | MOUNT_ATTR_RDONLY, false) &&
		skeleton_attach(&b->skeleton, mount, op->path, false, true)) ||
	       fail(b, op, "put our own file at");
}

static bool do_file(struct builder *b, const struct plan_op *op)
{
	return own_file(b, op, op->text, strlen(op->text));
}

static bool do_copy(struct builder *b, const struct plan_op *op)
{
	char text[64 * 1024];
	struct plan_op copy = *op;
	auto_close int fd = open(op->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof(text));

	if (n < 0) {
		return fail(b, op, "read");
	}
	copy.mode = 0644;
	return own_file(b, &copy, text, (size_t)n);
}

static bool do_link(struct builder *b, const struct plan_op *op)
{
	return skeleton_link(&b->skeleton, op->path, op->text) || fail(b, op, "make the link");
}

/* Opens the host's file again in this mount namespace, without following links, and compares it
 * with what the plan was made from. */
static int open_source(struct builder *b, const struct plan_op *op, struct stat *ret_st)
{
	int fd = sys_openat2(AT_FDCWD, op->source, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	if (fd < 0) {
		return -1;
	}
	if (fstat(fd, ret_st) < 0 ||
	    (op->ino != 0 && (ret_st->st_dev != op->dev || ret_st->st_ino != op->ino))) {
		err_set(b->err, ERR_SETUP, 0, "%s was changed while the sandbox was set up",
			op->source);
		err_at(b->err, &op->from);
		fd_close(&fd);
		errno = 0;
		return -1;
	}
	return fd;
}

static bool do_bind(struct builder *b, const struct plan_op *op)
{
	struct stat st;
	auto_close int source = open_source(b, op, &st);

	if (source < 0) {
		if (errno == 0) {
			return false;
		}
		bool gone = errno == ENOENT || errno == EACCES;
		return ((op->flags & PLAN_OPTIONAL) != 0 && gone) || fail(b, op, "open");
	}
	bool read_only = (op->flags & PLAN_READ_ONLY) != 0 && guard_on("read_only");
	uint64_t attr = ATTR_BASE | (read_only ? MOUNT_ATTR_RDONLY : 0) |
			((op->flags & PLAN_NO_LINKS) != 0 ? MOUNT_ATTR_NOSYMFOLLOW : 0);
	auto_close int mount = sys_open_tree(
		source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (mount < 0 || !set_attr(mount, attr, true)) {
		return fail(b, op, "bind");
	}
	return skeleton_attach(&b->skeleton, mount, op->path, S_ISDIR(st.st_mode), true) ||
	       fail(b, op, "bind");
}

/* A folder of our tmpfs as a mount of its own: it stays writable when the root is sealed, and
 * covers what the host has there. */
static bool do_private(struct builder *b, const struct plan_op *op)
{
	char kept[KEPT_MAX];

	if (!guard_on("private")) {
		const struct plan_op of_host = {
			.path = op->path, .source = op->path, .flags = PLAN_OPTIONAL};
		return do_bind(b, &of_host);
	}
	keep_name(b, kept);
	if (mkdirat(b->skeleton.root, kept + 1, op->mode) < 0) {
		return fail(b, op, "make a private");
	}
	auto_close int mount =
		sys_open_tree(b->skeleton.root, kept + 1, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return (mount >= 0 && skeleton_attach(&b->skeleton, mount, op->path, true, false)) ||
	       fail(b, op, "make a private");
}

/* Listens for the programs inside, and leaves the answering to the broker. */
static bool do_socket(struct builder *b, const struct plan_op *op)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* By name below the new root, which is the working folder for as long as it takes. */
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", op->path + 1);
	bool ok = fd >= 0 && skeleton_parent(&b->skeleton, op->path) &&
		  fchdir(b->skeleton.root) == 0 &&
		  bind(fd, (const struct sockaddr *)&name, sizeof(name)) == 0 &&
		  listen(fd, BROKER_BACKLOG) == 0 &&
		  pass_send(b->broker, op->path, strlen(op->path) + 1, &fd, 1);
	return ok || fail(b, op, "listen at");
}

static bool do_seal(struct builder *b, const struct plan_op *op)
{
	auto_close int fd = skeleton_look(&b->skeleton, op->path);

	/* Through the descriptor of what is on top, which is our own tmpfs. */
	return (fd >= 0 && set_attr(fd, MOUNT_ATTR_RDONLY, false)) || fail(b, op, "seal");
}

static bool guard_ready(struct builder *b)
{
	if (!b->guarded_ready && !warden_init_wait(b->warden, b->err)) {
		return false;
	}
	b->guarded_ready = true;
	return true;
}

struct warden_name mounts_guarded_name(const struct plan_op *op)
{
	enum warden_kind kind = WARDEN_COVER;

	if ((op->flags & PLAN_LINK_ONLY) != 0) {
		kind = WARDEN_LINK;
	} else if (op->kind != PLAN_COVER) {
		kind = op->kind == PLAN_PIN ? WARDEN_PIN : WARDEN_ANCHOR;
	}
	return (struct warden_name){
		.path = op->path,
		.base_len = op->base == NULL || str_eq(op->base, "/") ? 0 : strlen(op->base),
		.kind = kind,
		.never_made = (op->flags & PLAN_OPTIONAL) != 0,
		.from = op->from,
	};
}

/* Whether the plan was made from what stands at the name: another run may have exchanged it for a
 * link, say, and what the link leads to is not what was judged. A placeholder of another run may
 * have been made anew meanwhile. */
static bool same_as_checked(struct builder *b, const struct plan_op *op)
{
	struct stat st;
	auto_close int fd = skeleton_look(&b->skeleton, op->path);

	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    ((st.st_dev == op->dev && st.st_ino == op->ino) ||
	     ((op->flags & PLAN_STAND_IN) != 0 && S_ISDIR(st.st_mode) &&
	      fd_is_empty_folder(fd, ".")))) {
		return true;
	}
	err_set(b->err, ERR_SETUP, 0, "%s was changed while the sandbox was set up", op->path);
	return err_at(b->err, &op->from);
}

static bool do_guard(struct builder *b, const struct plan_op *op)
{
	struct warden_name name = mounts_guarded_name(op);

	if (!guard_on(op->kind == PLAN_COVER ? "covers" : "pins")) {
		return true;
	}
	if ((op->flags & PLAN_GUARDED) != 0 && !guard_ready(b)) {
		return false;
	}
	if (op->ino != 0 && !same_as_checked(b, op)) {
		return false;
	}
	if ((op->flags & PLAN_OPTIONAL) == 0) {
		return guard_cover(b->skeleton.root, &name, b->err);
	}
	auto_close int there = skeleton_look(&b->skeleton, op->path);
	if (there < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		return true;
	}
	return guard_cover(b->skeleton.root, &name, b->err);
}

/* A path of the new root bound onto itself, read only; nothing where it does not exist. */
static bool self_bind(struct builder *b, const struct plan_op *op, const char *path)
{
	auto_close int at = skeleton_look(&b->skeleton, path);

	if (at < 0) {
		return errno == ENOENT || fail(b, op, "look into");
	}
	auto_close int mount = sys_open_tree(
		at, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	return (mount >= 0 &&
		set_attr(mount, ATTR_BASE | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, true) &&
		sys_move_mount(mount, "", at, "",
			       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0) ||
	       fail(b, op, "make read only what is in");
}

static bool cover_if_there(struct builder *b, const char *path)
{
	struct warden_name name = {.path = path, .kind = WARDEN_COVER};
	auto_close int there = skeleton_look(&b->skeleton, path);

	if (there < 0) {
		return errno == ENOENT ||
		       err_set(b->err, ERR_SETUP, errno, "cannot close %s", path);
	}
	return guard_cover(b->skeleton.root, &name, b->err);
}

/* For an ordinary user most of procfs is closed by its modes; for root only a read-only mount
 * stops a write. */
static bool do_proc(struct builder *b, const struct plan_op *op)
{
	static const char *const sealed[] = {"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs",
					     "/proc/sysrq-trigger"};
	static const char *const masked[] = {"/proc/keys", "/proc/key-users", "/proc/kcore",
					     "/proc/timer_list", "/proc/kmsg"};
	static const char *const options[] = {"hidepid", "ptraceable", NULL};
	auto_close int mount = mounts_new("proc", ATTR_BASE | MOUNT_ATTR_NOEXEC, options);

	if (mount < 0 || !skeleton_attach(&b->skeleton, mount, op->path, true, true)) {
		int sys = errno;

		fail(b, op, "mount a fresh procfs at");
		kernel_explain("proc", sys, b->err->hint, sizeof(b->err->hint));
		return false;
	}
	for (size_t i = 0; i < (b->as_root ? ARRAY_LEN(sealed) : 1); i++) {
		if (!self_bind(b, op, sealed[i])) {
			return false;
		}
	}
	for (size_t i = 0; i < (b->as_root ? ARRAY_LEN(masked) : 2); i++) {
		if (!cover_if_there(b, masked[i])) {
			return false;
		}
	}
	return true;
}

/* Device nodes are bound read only: writing to the device works, chmod of the node does not. */
static bool bind_device(struct builder *b, const char *source, const char *path)
{
	auto_close int mount = sys_open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return mount >= 0 &&
	       set_attr(mount, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, false) &&
	       skeleton_attach(&b->skeleton, mount, path, false, true);
}

static bool device_nodes(struct builder *b, const struct plan_op *op, const char *console)
{
	static const char *const nodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					    "/dev/random", "/dev/urandom", "/dev/tty"};

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		if (!bind_device(b, nodes[i], nodes[i])) {
			return fail(b, op, "bind a device into");
		}
	}
	/* So that the terminal the program sits on has a name in here. */
	return console == NULL || bind_device(b, console, "/dev/console") ||
	       fail(b, op, "bind the terminal into");
}

static bool do_devices(struct builder *b, const struct plan_op *op, const char *console)
{
	static const char *const pts[] = {"ptmxmode", "0666", "mode", "0620", NULL};
	static const struct {
		const char *name;
		const char *to;
	} links[] = {
		{"dev/ptmx", "pts/ptmx"},          {"dev/fd", "/proc/self/fd"},
		{"dev/stdin", "/proc/self/fd/0"},  {"dev/stdout", "/proc/self/fd/1"},
		{"dev/stderr", "/proc/self/fd/2"},
	};
	if (!device_nodes(b, op, console)) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		if (symlinkat(links[i].to, b->skeleton.root, links[i].name) < 0) {
			return fail(b, op, "make a link in");
		}
	}
	struct plan_op at_pts = {.path = "/dev/pts"};
	auto_close int mount = mounts_new("devpts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, pts);
	if (mount < 0 || !skeleton_attach(&b->skeleton, mount, at_pts.path, true, true)) {
		return fail(b, &at_pts, "mount terminals at");
	}
	struct plan_op at_mq = {.path = "/dev/mqueue"};
	auto_close int mq = mounts_new("mqueue", ATTR_BASE | MOUNT_ATTR_NOEXEC, NULL);
	/* POSIX queues are an option of the kernel (CONFIG_POSIX_MQUEUE). */
	return (mq < 0 && errno == ENODEV) ||
	       (mq >= 0 && skeleton_attach(&b->skeleton, mq, at_mq.path, true, true)) ||
	       fail(b, &at_mq, "mount message queues at");
}

static bool run_op(struct builder *b, const struct plan *plan, const struct plan_op *op)
{
	switch (op->kind) {
	case PLAN_FOLDER:
		return do_folder(b, op);
	case PLAN_FILE:
		return do_file(b, op);
	case PLAN_LINK:
		return do_link(b, op);
	case PLAN_PRIVATE:
		return do_private(b, op);
	case PLAN_PROC:
		return do_proc(b, op);
	case PLAN_DEVICES:
		return do_devices(b, op, plan->console);
	case PLAN_BIND:
		return do_bind(b, op);
	case PLAN_COPY:
		return do_copy(b, op);
	case PLAN_SOCKET:
		return do_socket(b, op);
	case PLAN_SEAL:
		return do_seal(b, op);
	case PLAN_PIN:
	case PLAN_ANCHOR:
	case PLAN_COVER:
		return do_guard(b, op);
	case PLAN_LOADER:
	case PLAN_ALLOW:
	case PLAN_KIND_COUNT:
		break;
	}
	return true;
}

/* An empty tmpfs, attached over "/": lookups of absolute paths still start below it, in the old
 * root, until pivot_root. */
static bool new_root(struct builder *b, uint64_t bytes)
{
	char size[32];
	const char *const options[] = {"size", size, "mode", "0755", "nr_inodes", "1m", NULL};

	snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
	int root = mounts_new("tmpfs", ATTR_BASE, options);
	if (root < 0 || sys_move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0) {
		int sys = errno;

		err_set(b->err, ERR_SETUP, sys, "cannot mount the sandbox's root");
		kernel_explain("mount", sys, b->err->hint, sizeof(b->err->hint));
		fd_close(&root);
		return false;
	}
	skeleton_init(&b->skeleton, root);
	if (mkdirat(root, "run", 0755) < 0 || mkdirat(root, "run/lnk", 0755) < 0 ||
	    mkdirat(root, GUARD_CLOSED_DIR, 0) < 0 ||
	    mknodat(root, GUARD_CLOSED_FILE, S_IFREG, 0) < 0) {
		return err_set(b->err, ERR_SETUP, errno, "cannot fill the sandbox's root");
	}
	return true;
}

bool mounts_enter(struct err *err)
{
	if (sys_pivot_root(".", ".") < 0 || syscall(SYS_umount2, ".", MNT_DETACH) < 0 ||
	    chdir("/") < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot enter the sandbox's root");
	}
	return true;
}

bool mounts_build(const struct plan *plan, struct warden_init *warden, int broker, struct err *err)
{
	struct builder b = {.skeleton = {.root = -1},
			    .warden = warden,
			    .broker = broker,
			    .err = err,
			    .as_root = plan->as_root};
	mode_t mask = umask(0);

	bool ok = new_root(&b, plan->private_bytes);
	b.skeleton.kept = plan->kept_home;
	for (size_t i = 0; ok && i < plan->ops.n; i++) {
		ok = run_op(&b, plan, &plan->ops.v[i]);
	}
	ok = ok && guard_ready(&b);
	if (ok && fchdir(b.skeleton.root) < 0) {
		ok = err_set(err, ERR_SETUP, errno, "cannot go to the sandbox's root");
	}
	fd_close(&b.skeleton.root);
	skeleton_release(&b.skeleton);
	umask(mask);
	return ok;
}
