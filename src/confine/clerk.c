#include "confine/clerk.h"

#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "confine/sys.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

/* The kernel's structs may be longer than those of the headers (SECCOMP_GET_NOTIF_SIZES). */
#define ASK_MAX    512
#define VALUE_MAX  65536 /* XATTR_SIZE_MAX */
#define NAME_MAX_X 256   /* XATTR_NAME_MAX and a NUL */
#define STACK_SIZE (256UL * 1024UL)

enum change { CHANGE_NONE, CHANGE_MODE, CHANGE_OWNER, CHANGE_TIMES, CHANGE_SET, CHANGE_REMOVE };

struct clerk {
	const struct plan *plan;
	int socket;
	int listener;
	char value[VALUE_MAX];
};

/* One call, taken apart. */
struct call {
	enum change change;
	pid_t thread;
	int memory;     /* the caller's */
	bool by_fd;     /* `folder` is the file itself */
	bool no_follow; /* a link at the end is meant itself */
	int folder;     /* the caller's descriptor, or AT_FDCWD */
	uint64_t path;  /* addresses in the caller */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	bool now; /* times: the present */
	struct timespec times[2];
	char name[NAME_MAX_X]; /* of an attribute */
	size_t size;           /* of its value */
	int flags;             /* of setxattr(2) */
};

/* --- what the caller said -------------------------------------------------------------------- */

static bool read_memory(const struct call *c, uint64_t at, void *to, size_t size)
{
	return pread(c->memory, to, size, (off_t)at) == (ssize_t)size;
}

/* A string of less than `cap` bytes; what lies behind it may not be readable. */
static int read_string(const struct call *c, uint64_t at, char *to, size_t cap)
{
	ssize_t n = pread(c->memory, to, cap, (off_t)at);

	if (n <= 0) {
		return EFAULT;
	}
	return memchr(to, '\0', (size_t)n) != NULL ? 0 : (size_t)n == cap ? ENAMETOOLONG : EFAULT;
}

static void by_path(struct call *c, int folder, uint64_t path, bool no_follow)
{
	c->folder = folder;
	c->path = path;
	c->no_follow = no_follow;
}

static void by_fd(struct call *c, int fd)
{
	c->folder = fd;
	c->by_fd = true;
}

/* The *at calls: an empty path, where that is allowed, means the descriptor. */
static int at_path(struct call *c, const uint64_t *a, int flags)
{
	char first;

	by_path(c, (int)a[0], a[1], (flags & AT_SYMLINK_NOFOLLOW) != 0);
	if ((flags & AT_EMPTY_PATH) != 0) {
		if (!read_memory(c, a[1], &first, 1)) {
			return EFAULT;
		}
		c->by_fd = first == '\0';
	}
	return 0;
}

static int read_timespecs(struct call *c, uint64_t at)
{
	c->change = CHANGE_TIMES;
	c->now = at == 0;
	return c->now || read_memory(c, at, c->times, sizeof(c->times)) ? 0 : EFAULT;
}

#ifdef SYS_utimes
static int read_timevals(struct call *c, uint64_t at)
{
	struct timeval tv[2];

	c->change = CHANGE_TIMES;
	c->now = at == 0;
	if (c->now) {
		return 0;
	}
	if (!read_memory(c, at, tv, sizeof(tv))) {
		return EFAULT;
	}
	for (int i = 0; i < 2; i++) {
		if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000) {
			return EINVAL;
		}
		c->times[i] = (struct timespec){tv[i].tv_sec, tv[i].tv_usec * 1000};
	}
	return 0;
}

static int read_utimbuf(struct call *c, uint64_t at)
{
	struct utimbuf buf;

	c->change = CHANGE_TIMES;
	c->now = at == 0;
	if (!c->now && !read_memory(c, at, &buf, sizeof(buf))) {
		return EFAULT;
	}
	if (!c->now) {
		c->times[0].tv_sec = buf.actime;
		c->times[1].tv_sec = buf.modtime;
	}
	return 0;
}
#endif

static int read_attribute(struct call *c, struct clerk *k, uint64_t name, uint64_t value,
			  uint64_t size, int flags)
{
	int err = read_string(c, name, c->name, sizeof(c->name));

	c->change = CHANGE_SET;
	c->size = size;
	c->flags = flags;
	if (err != 0) {
		return err == ENAMETOOLONG ? ERANGE : err;
	}
	if (size > sizeof(k->value)) {
		return E2BIG;
	}
	return size == 0 || read_memory(c, value, k->value, size) ? 0 : EFAULT;
}

static int read_removed(struct call *c, uint64_t name)
{
	int err = read_string(c, name, c->name, sizeof(c->name));

	c->change = CHANGE_REMOVE;
	return err == ENAMETOOLONG ? ERANGE : err;
}

static int mode_of(struct call *c, uint64_t mode)
{
	c->change = CHANGE_MODE;
	c->mode = (mode_t)mode & 07777;
	/* The filter refuses these itself; never here, whatever becomes of that. */
	return (c->mode & (S_ISUID | S_ISGID)) != 0 ? EPERM : 0;
}

static int owner_of(struct call *c, uint64_t uid, uint64_t gid)
{
	c->change = CHANGE_OWNER;
	c->uid = (uid_t)uid;
	c->gid = (gid_t)gid;
	return 0;
}

static int take_utimensat(struct call *c, const uint64_t *a)
{
	int err = 0;

	if (a[1] == 0) {
		by_fd(c, (int)a[0]);
	} else {
		err = at_path(c, a, (int)a[3]);
	}
	return err != 0 ? err : read_timespecs(c, a[2]);
}

static int take_at(struct call *c, int nr, const uint64_t *a)
{
	int err;

	switch (nr) {
	case SYS_fchmodat:
		by_path(c, (int)a[0], a[1], false);
		return mode_of(c, a[2]);
	case 452: /* fchmodat2, Linux 6.6 */
		err = at_path(c, a, (int)a[3]);
		return err != 0 ? err : mode_of(c, a[2]);
	case SYS_fchownat:
		err = at_path(c, a, (int)a[4]);
		return err != 0 ? err : owner_of(c, a[2], a[3]);
	case SYS_utimensat:
		return take_utimensat(c, a);
	default:
		return ENOSYS;
	}
}

static int take_attribute(struct call *c, struct clerk *k, int nr, const uint64_t *a)
{
	bool removes = nr == SYS_removexattr || nr == SYS_lremovexattr || nr == SYS_fremovexattr;

	if (nr == SYS_fsetxattr || nr == SYS_fremovexattr) {
		by_fd(c, (int)a[0]);
	} else {
		by_path(c, AT_FDCWD, a[0], nr == SYS_lsetxattr || nr == SYS_lremovexattr);
	}
	return removes ? read_removed(c, a[1]) : read_attribute(c, k, a[1], a[2], a[3], (int)a[4]);
}

/* The calls of x86 that younger architectures do without. */
static int take_old(struct call *c, int nr, const uint64_t *a)
{
	switch (nr) {
#ifdef SYS_chmod
	case SYS_chmod:
		by_path(c, AT_FDCWD, a[0], false);
		return mode_of(c, a[1]);
	case SYS_chown:
	case SYS_lchown:
		by_path(c, AT_FDCWD, a[0], nr == SYS_lchown);
		return owner_of(c, a[1], a[2]);
	case SYS_utime:
		by_path(c, AT_FDCWD, a[0], false);
		return read_utimbuf(c, a[1]);
	case SYS_utimes:
		by_path(c, AT_FDCWD, a[0], false);
		return read_timevals(c, a[1]);
	case SYS_futimesat:
		if (a[1] == 0) {
			by_fd(c, (int)a[0]);
		} else {
			by_path(c, (int)a[0], a[1], false);
		}
		return read_timevals(c, a[2]);
#endif
	default:
		return take_at(c, nr, a);
	}
}

/* Takes a call apart; 0 or an errno value for the caller. */
static int take(struct call *c, struct clerk *k, const struct seccomp_data *data)
{
	/* Of six 64-bit arguments; `data` is packed no tighter than they need. */
	uint64_t a[6];

	memcpy(a, data->args, sizeof(a));
	switch (data->nr) {
	case SYS_fchmod:
		by_fd(c, (int)a[0]);
		return mode_of(c, a[1]);
	case SYS_fchown:
		by_fd(c, (int)a[0]);
		return owner_of(c, a[1], a[2]);
	case SYS_setxattr:
	case SYS_lsetxattr:
	case SYS_fsetxattr:
	case SYS_removexattr:
	case SYS_lremovexattr:
	case SYS_fremovexattr:
		return take_attribute(c, k, data->nr, a);
	default:
		return take_old(c, data->nr, a);
	}
}

/* --- what is meant, and whether it may be changed -------------------------------------------- */

/* The caller's folder, or the file itself, as a descriptor of ours; -1 with errno. */
static int open_theirs(const struct call *c)
{
	char name[64];

	if (c->folder == AT_FDCWD) {
		snprintf(name, sizeof(name), "/proc/%d/cwd", (int)c->thread);
	} else {
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)c->thread, c->folder);
	}
	int fd = open(name, O_PATH | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		errno = EBADF;
	}
	return fd;
}

/* The C library's own way to change what a descriptor without rights names: the descriptor. */
static bool names_fd(const char *path, int *ret_fd)
{
	static const char before[] = "/proc/self/fd/";
	const char *number = path + sizeof(before) - 1;
	size_t n;

	if (!str_starts(path, before)) {
		return false;
	}
	n = strspn(number, "0123456789");
	if (n == 0 || n > 9 || number[n] != '\0') {
		return false;
	}
	*ret_fd = (int)strtol(number, NULL, 10);
	return true;
}

/* Magic links are not followed: those of /proc/self would be ours. Where openat2 is kept away by
 * another sandbox's filter they are, and lead to nothing that is not looked at. */
static int open_meant(struct call *c, int *ret_err)
{
	char path[PATH_MAX];
	auto_close int folder = -1;
	int flags = O_PATH | O_CLOEXEC | (c->no_follow ? O_NOFOLLOW : 0);

	*ret_err = c->by_fd ? 0 : read_string(c, c->path, path, sizeof(path));
	if (*ret_err != 0) {
		return -1;
	}
	c->by_fd = c->by_fd || (!c->no_follow && names_fd(path, &c->folder));
	if (c->by_fd || path[0] != '/') {
		folder = open_theirs(c);
		if (folder < 0) {
			*ret_err = errno;
			return -1;
		}
	}
	if (c->by_fd) {
		return fd_take(&folder);
	}
	int from = folder >= 0 ? folder : AT_FDCWD;
	int fd = sys_openat2(from, path, (unsigned)flags, RESOLVE_NO_MAGICLINKS);

	if (fd < 0 && errno == ENOSYS) {
		fd = openat(from, path, flags);
	}
	*ret_err = fd < 0 ? errno == ELOOP ? EPERM : errno : 0;
	return fd;
}

/* Where the file lies now. It came there with the program's own rights, or lay there before. */
static bool may_write(const struct plan *plan, const char *name)
{
	char path[PATH_MAX];
	ssize_t n = readlink(name, path, sizeof(path) - 1);

	if (n <= 0 || path[0] != '/') {
		return false;
	}
	path[n] = '\0';
	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		if (op->kind == PLAN_ALLOW && (op->rights & PLAN_MAY_WRITE) != 0 &&
		    path_within(path, op->path)) {
			return true;
		}
	}
	return false;
}

static int make_change(const struct clerk *k, const struct call *c, const char *name)
{
	int done = -1;

	errno = EPERM;
	switch (c->change) {
	case CHANGE_MODE:
		done = chmod(name, c->mode);
		break;
	case CHANGE_OWNER:
		done = chown(name, c->uid, c->gid);
		break;
	case CHANGE_TIMES:
		done = utimensat(AT_FDCWD, name, c->now ? NULL : c->times, 0);
		break;
	case CHANGE_SET:
		done = setxattr(name, c->name, k->value, c->size, c->flags);
		break;
	case CHANGE_REMOVE:
		done = removexattr(name, c->name);
		break;
	case CHANGE_NONE:
		break;
	}
	return done == 0 ? 0 : errno;
}

/* --- one after the other --------------------------------------------------------------------- */

static bool still_waits(const struct clerk *k, uint64_t id)
{
	return ioctl(k->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* 0, or the errno value that the caller gets. */
static int carry_out(struct clerk *k, const struct seccomp_notif *ask)
{
	char name[64];
	int err;

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)ask->pid);
	auto_close int memory = open(name, O_RDONLY | O_CLOEXEC);
	/* Whose memory that is was not sure before the second question. */
	if (memory < 0 || !still_waits(k, ask->id)) {
		return EPERM;
	}
	struct call c = {.thread = (pid_t)ask->pid, .memory = memory};
	err = take(&c, k, &ask->data);
	if (err != 0) {
		return err;
	}
	auto_close int fd = open_meant(&c, &err);
	if (fd < 0) {
		return err;
	}
	if (!still_waits(k, ask->id)) {
		return EPERM;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return may_write(k->plan, name) ? make_change(k, &c, name) : EPERM;
}

static bool serve_one(struct clerk *k)
{
	union {
		struct seccomp_notif ask;
		char room[ASK_MAX];
	} in;
	union {
		struct seccomp_notif_resp answer;
		char room[ASK_MAX];
	} out;
	struct pollfd p = {.fd = k->listener, .events = POLLIN};

	if (poll(&p, 1, -1) < 0) {
		return errno == EINTR;
	}
	if ((p.revents & POLLIN) == 0) {
		return false; /* nobody is left under the filter */
	}
	memset(&in, 0, sizeof(in));
	memset(&out, 0, sizeof(out));
	/* ENOENT: the caller was killed meanwhile. */
	if (ioctl(k->listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0) {
		return errno == ENOENT || errno == EINTR;
	}
	out.answer.id = in.ask.id;
	out.answer.error = -carry_out(k, &in.ask);
	return ioctl(k->listener, SECCOMP_IOCTL_NOTIF_SEND, &out) == 0 || errno == ENOENT ||
	       errno == EINTR;
}

static void *work(void *data)
{
	struct clerk *k = data;
	char hello;
	size_t nfds = 0;

	if (pass_receive(k->socket, &hello, 1, &k->listener, 1, &nfds) == 1 && nfds == 1 &&
	    write(k->socket, &hello, 1) == 1) {
		while (serve_one(k)) {
		}
		close(k->listener); /* what still asks is answered ENOSYS */
	}
	close(k->socket);
	return NULL;
}

bool clerk_start(const struct plan *plan, int socket, struct err *err)
{
	/* The thread's as long as the process lives. */
	static struct clerk clerk;
	struct seccomp_notif_sizes sizes;
	pthread_attr_t attr;
	pthread_t thread;

	clerk.plan = plan;
	clerk.socket = socket;
	clerk.listener = -1;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0UL, &sizes) < 0 ||
	    sizes.seccomp_notif > ASK_MAX || sizes.seccomp_notif_resp > ASK_MAX) {
		return err_set(err, ERR_SETUP, errno, "cannot serve the filter's questions");
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	int sys = pthread_create(&thread, &attr, work, &clerk);
	pthread_attr_destroy(&attr);
	return sys == 0 || err_set(err, ERR_SETUP, sys, "cannot serve the filter's questions");
}
