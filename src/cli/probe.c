/* The probes of `lnk sandbox doctor` but for Landlock and nft. They take no input. */
#include "cli/probe.h"

#include "base/fd.h"
#include "base/str.h"
#include "confine/namespaces.h"
#include "confine/seccomp/seccomp.h"
#include "confine/sys.h"

#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PROBE_SECONDS 10U

/* fsconfig(2)'s command to make the file system; named differently in old headers. */
#define CREATE_FS 6U

static int result_of(bool good)
{
	return good ? 0 : errno;
}

static bool map_self(uid_t uid, gid_t gid)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %u 1\n", uid);
	if (!fd_write_file(AT_FDCWD, "/proc/self/uid_map", map) ||
	    !fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny")) {
		return false;
	}
	snprintf(map, sizeof(map), "0 %u 1\n", gid);
	return fd_write_file(AT_FDCWD, "/proc/self/gid_map", map);
}

static struct probe_result enter_and_probe(unsigned long namespaces, int (*probe)(void))
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	unsigned long more = namespaces & ~(unsigned long)CLONE_NEWUSER;
	struct probe_result result = {0, true};

	if (namespaces != 0 && (unshare(CLONE_NEWUSER) < 0 || !map_self(uid, gid) ||
				(more != 0 && unshare((int)more) < 0))) {
		result.err = errno;
		result.inside = false;
		return result;
	}
	result.err = probe();
	return result;
}

struct probe_result probe_in_child(unsigned long namespaces, int (*probe)(void))
{
	auto_close int from = -1;
	auto_close int to = -1;
	int ends[2];
	struct probe_result result = {ECHILD, true};

	if (pipe2(ends, O_CLOEXEC) < 0) {
		result.err = errno;
		return result;
	}
	from = ends[0];
	to = ends[1];
	pid_t pid = fork();

	if (pid < 0) {
		result.err = errno;
		return result;
	}
	if (pid == 0) {
		alarm(PROBE_SECONDS);
		result = enter_and_probe(namespaces, probe);
		_exit(fd_write_all(to, &result, sizeof(result)) ? 0 : 1);
	}
	fd_close(&to);
	if (fd_read_all(from, &result, sizeof(result)) != (ssize_t)sizeof(result)) {
		result = (struct probe_result){ECHILD, true};
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
	return result;
}

int probe_nothing(void)
{
	return 0;
}

int probe_loopback(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return result_of(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
}

int probe_clone3(void)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = NAMESPACES_NEW | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		_exit(0);
	}
	if (pid < 0) {
		return errno;
	}
	fd_close(&pidfd);
	return result_of(waitpid((pid_t)pid, NULL, 0) == (pid_t)pid);
}

int probe_limit(void)
{
	if (!fd_write_file(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0")) {
		return errno;
	}
	return unshare(CLONE_NEWUSER) < 0 && errno == ENOSPC ? 0 : EBADE;
}

/* A detached file system of this type, or -1 with errno. */
static int new_fs(const char *type)
{
	auto_close int fs = sys_fsopen(type, 1U /* FSOPEN_CLOEXEC */);

	if (fs < 0 || sys_fsconfig(fs, CREATE_FS, NULL, NULL, 0) < 0) {
		return -1;
	}
	return sys_fsmount(fs, 1U /* FSMOUNT_CLOEXEC */, 0);
}

int probe_mount(void)
{
	auto_close int fs = new_fs("tmpfs");

	if (fs < 0 || mkdirat(fs, "below", 0700) < 0) {
		return errno;
	}
	/* The root of a distribution is one mount of several: only a recursive copy is given. */
	auto_close int tree =
		sys_open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (tree < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		return errno;
	}
	return result_of(
		sys_move_mount(fs, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) == 0 &&
		sys_move_mount(tree, "", AT_FDCWD, "/tmp/below", MOVE_MOUNT_F_EMPTY_PATH) == 0);
}

int probe_read_only(void)
{
	const struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
						    MOUNT_ATTR_NODEV};
	auto_close int fs = new_fs("tmpfs");

	if (fs < 0 || sys_mount_setattr(fs, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0) {
		return errno;
	}
	return mkdirat(fs, "x", 0700) < 0 && errno == EROFS ? 0 : EBADE;
}

static int mount_proc(void)
{
	auto_close int fs = new_fs("proc");

	return result_of(fs >= 0 && faccessat(fs, "self/status", R_OK, 0) == 0);
}

/* The first child after unshare(CLONE_NEWPID) is in the new namespace, not the caller. */
int probe_proc(void)
{
	return probe_in_child(0, mount_proc).err;
}

int probe_devices(void)
{
	static const char *const types[] = {"devpts", "mqueue"};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		auto_close int fs = new_fs(types[i]);

		if (fs < 0) {
			return errno;
		}
	}
	return 0;
}

int probe_openat2(void)
{
	auto_close int fd = sys_openat2(AT_FDCWD, "/", O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	return result_of(fd >= 0);
}

int probe_pidfd(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		return errno;
	}
	if (pid == 0) {
		pause();
		_exit(0);
	}
	auto_close int fd = sys_pidfd_open(pid);
	siginfo_t info;
	bool good = fd >= 0 && sys_pidfd_send_signal(fd, SIGKILL) == 0 &&
		    waitid(P_PIDFD, (id_t)fd, &info, WEXITED) == 0;
	int err = errno;

	if (!good) {
		kill(pid, SIGKILL);
	}
	return good ? 0 : err;
}

int probe_inotify(void)
{
	auto_close int fd = inotify_init1(IN_CLOEXEC);

	return result_of(fd >= 0 && inotify_add_watch(fd, "/", IN_MOVED_TO) >= 0);
}

int probe_seccomp(void)
{
	struct err err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return errno;
	}
	if (!seccomp_load(SECCOMP_PLAIN, &err)) {
		return err.sys;
	}
	/* Without the filter this is EBADF. */
	return syscall(SYS_setns, -1, 0) < 0 && errno == EPERM ? 0 : EBADE;
}

/* What --without-namespaces loads beside the filter of every run. */
int probe_asking(void)
{
	auto_close int listener = -1;
	struct err err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return errno;
	}
	return seccomp_load_asking(SECCOMP_BARE, &listener, &err) ? 0 : err.sys;
}

int probe_memfd(void)
{
	auto_close int fd = (int)syscall(SYS_memfd_create, "lnk", 8U /* MFD_NOEXEC_SEAL */);

	return result_of(fd >= 0);
}

int probe_binfmt(void)
{
	static const char rule[] = ":lnk:M:0:\\x7fLNK::/:";
	auto_close int fs = new_fs("binfmt_misc");

	if (fs < 0) {
		return errno;
	}
	auto_close int fd = openat(fs, "register", O_WRONLY | O_CLOEXEC);

	return result_of(fd >= 0 && fd_write_all(fd, rule, sizeof(rule) - 1));
}
