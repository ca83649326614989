#include "plan/sockets.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

/* A walk that goes deeper or sees more than this gives up with an error: a grant that holds a
 * socket of the host we cannot place is not opened. */
#define WALK_DEPTH_MAX 64
#define WALK_SEEN_MAX  2000000UL

/* TCP_ESTABLISHED, which is how sock_diag calls a connected Unix socket too. */
#define SOCKET_CONNECTED 1

/* A socket whose place is not known yet. */
struct lost_socket {
	uint32_t ino;
	dev_t dev;
};

struct search {
	struct facts *facts;
	struct arena *arena;
	struct err *err;
	FACT_LIST(struct lost_socket) lost;
	size_t seen;
	bool failed;
};

static bool grant_on_device(const struct path_info *at, dev_t dev)
{
	return at->exists && at->dev == dev;
}

/* Whether a socket on `dev` could lie in a grant at all. A file system mounted inside a grant is
 * another device; mounts below are rare enough to be looked for only by stated name. */
static bool could_be_granted(const struct facts *facts, dev_t dev)
{
	for (size_t i = 0; i < facts->write.n; i++) {
		if (grant_on_device(&facts->write.v[i].at, dev)) {
			return true;
		}
	}
	for (size_t i = 0; i < facts->read.n; i++) {
		if (grant_on_device(&facts->read.v[i].at, dev)) {
			return true;
		}
	}
	return false;
}

static void found(struct search *s, const char *path, const struct stat *st)
{
	struct socket_fact fact = {arena_strdup(s->arena, path), st->st_dev, st->st_ino};

	ARENA_PUSH(s->arena, &s->facts->sockets, fact);
}

/* One answer of the kernel: a socket with a name and a place in a file system. */
static void judge(struct search *s, const char *name, const struct unix_diag_vfs *vfs)
{
	struct path_info at;
	struct err ignored;
	struct stat st;
	/* The kernel hands out its own device numbers: 12 bits major, 20 bits minor. */
	dev_t dev = makedev(vfs->udiag_vfs_dev >> 20, vfs->udiag_vfs_dev & 0xfffff);

	if (name[0] == '/' && resolve_path(name, s->arena, &at, &ignored) && at.exists &&
	    S_ISSOCK(at.mode) && (uint32_t)at.ino == vfs->udiag_vfs_ino) {
		if ((path_facts_hold(&s->facts->write, at.real) ||
		     path_facts_hold(&s->facts->read, at.real)) &&
		    lstat(at.real, &st) == 0) {
			found(s, at.real, &st);
		}
		return;
	}
	if (could_be_granted(s->facts, dev)) {
		struct lost_socket lost = {vfs->udiag_vfs_ino, dev};
		ARENA_PUSH(s->arena, &s->lost, lost);
	}
}

static void read_answer(struct search *s, struct nlmsghdr *h)
{
	struct unix_diag_msg *msg = NLMSG_DATA(h);
	const unsigned char *end = (unsigned char *)h + h->nlmsg_len;
	const unsigned char *at = (unsigned char *)(msg + 1);
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "";
	struct unix_diag_vfs vfs;
	bool placed = false;

	while (at < end && (size_t)(end - at) >= sizeof(struct nlattr)) {
		struct nlattr a;

		memcpy(&a, at, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > (size_t)(end - at)) {
			break;
		}
		size_t n = a.nla_len - sizeof(a);
		if (a.nla_type == UNIX_DIAG_NAME && n < sizeof(name)) {
			memcpy(name, at + sizeof(a), n);
			name[n] = '\0';
		} else if (a.nla_type == UNIX_DIAG_VFS && n >= sizeof(vfs)) {
			memcpy(&vfs, at + sizeof(a), sizeof(vfs));
			placed = true;
		}
		at += NLA_ALIGN(a.nla_len);
	}
	/* Connected ends of a server's socket carry its name too; one answer is enough. */
	if (placed && (msg->udiag_state != SOCKET_CONNECTED || msg->udiag_type == SOCK_DGRAM)) {
		judge(s, name, &vfs);
	}
}

/* True when the dump is over. */
static bool read_answers(struct search *s, char *buf, ssize_t got)
{
	size_t left = (size_t)got;

	while (left >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr *h = (struct nlmsghdr *)(void *)buf;

		if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > left) {
			break;
		}
		if (h->nlmsg_type == NLMSG_DONE) {
			return true;
		}
		if (h->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			err_set(s->err, ERR_SETUP, -e->error, "cannot list this machine's sockets");
			s->failed = true;
			return true;
		}
		if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY) {
			read_answer(s, h);
		}
		size_t step = NLMSG_ALIGN(h->nlmsg_len);
		if (step >= left) {
			break;
		}
		buf += step;
		left -= step;
	}
	return false;
}

static bool dump(struct search *s)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} ask = {
		.h = {.nlmsg_len = sizeof(ask),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.r = {.sdiag_family = AF_UNIX,
		      .udiag_states = ~0U,
		      .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS},
	};
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	_Alignas(struct nlmsghdr) char buf[32768];

	if (fd < 0 || send(fd, &ask, sizeof(ask), 0) < 0) {
		int sys = errno;

		err_set(s->err, ERR_SETUP, sys, "cannot list this machine's sockets");
		kernel_explain("sockets", sys, s->err->hint, sizeof(s->err->hint));
		return false;
	}
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return err_set(s->err, ERR_SETUP, errno,
				       "cannot list this machine's sockets");
		}
		if (read_answers(s, buf, n)) {
			return !s->failed;
		}
	}
}

static bool is_lost(const struct search *s, const struct stat *st)
{
	for (size_t i = 0; i < s->lost.n; i++) {
		if (s->lost.v[i].ino == (uint32_t)st->st_ino && s->lost.v[i].dev == st->st_dev) {
			return true;
		}
	}
	return false;
}

static bool walk(struct search *s, int dir_fd, const char *path, dev_t dev, unsigned depth)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d == NULL) {
		fd_close(&fd);
		return true; /* what this user cannot list, the program cannot either */
	}
	bool ok = true;
	for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
		struct stat st;

		if (str_eq(e->d_name, ".") || str_eq(e->d_name, "..") ||
		    (e->d_type != DT_DIR && e->d_type != DT_SOCK && e->d_type != DT_UNKNOWN) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			continue;
		}
		const char *full = NULL;
		if (S_ISSOCK(st.st_mode) && is_lost(s, &st)) {
			full = arena_printf(s->arena, "%s/%s", path, e->d_name);
			found(s, full, &st);
		} else if (S_ISDIR(st.st_mode) && st.st_dev == dev) {
			if (depth >= WALK_DEPTH_MAX || ++s->seen > WALK_SEEN_MAX) {
				ok = err_set(s->err, ERR_SETUP, 0,
					     "%s is too deep or too large to look for sockets of "
					     "programs outside",
					     path);
				break;
			}
			auto_close int sub = openat(fd, e->d_name,
						    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			full = arena_printf(s->arena, "%s/%s", path, e->d_name);
			ok = sub < 0 || walk(s, sub, full, dev, depth + 1);
		}
	}
	closedir(d);
	return ok;
}

static bool walk_grant(struct search *s, const struct path_info *at)
{
	for (size_t i = 0; i < s->lost.n; i++) {
		if (grant_on_device(at, s->lost.v[i].dev) && S_ISDIR(at->mode)) {
			auto_close int fd = open(at->real, O_PATH | O_DIRECTORY | O_CLOEXEC);

			return fd < 0 || walk(s, fd, at->real, at->dev, 0);
		}
	}
	return true;
}

bool sockets_find(struct facts *facts, struct arena *arena, struct err *err)
{
	struct search s = {.facts = facts, .arena = arena, .err = err};

	if (facts->write.n + facts->read.n == 0) {
		return true;
	}
	if (!dump(&s)) {
		return false;
	}
	if (s.lost.n == 0) {
		return true;
	}
	for (size_t i = 0; i < facts->write.n; i++) {
		if (!walk_grant(&s, &facts->write.v[i].at)) {
			return false;
		}
	}
	for (size_t i = 0; i < facts->read.n; i++) {
		if (!walk_grant(&s, &facts->read.v[i].at)) {
			return false;
		}
	}
	return true;
}
