/* Job: put the gate in its jail. A program that took the gate over has the sockets that are open,
 * and may connect anywhere; the user's files, processes and terminal are out of its reach. Unix
 * sockets with a name (D-Bus and others) stay in reach: name look-ups need some, and neither
 * Landlock (before ABI 9) nor seccomp can tell which one is meant. */
#include "gate/jail.h"

#include "base/fd.h"
#include "base/str.h"

#include "jail_filter.h" /* from jail_gen.c */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/landlock.h of the build machine may be older than the kernel that runs this. */
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR  (1ULL << 3)
#define FS_FIRST     ((1ULL << 13) - 1) /* execute, write, read, make, remove: ABI 1 */
#define FS_REFER     (1ULL << 13)       /* ABI 2 */
#define FS_TRUNCATE  (1ULL << 14)       /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15)       /* ABI 5 */
#define NET_BIND_TCP (1ULL << 0)        /* ABI 4 */
#define SCOPES       3ULL               /* abstract sockets, signals: ABI 6 */

#define RULE_PATH_BENEATH 1
#define CREATE_VERSION    1U

struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

/* Read by the C library's resolver and the modules of nsswitch.conf; folders rather than files,
 * because a changed resolv.conf is another file. /run, /var and the home are closed but for these,
 * as tokens and keyrings lie there. */
static const char *const readable[] = {
	"/etc",
	"/usr",
	"/lib",
	"/lib32",
	"/lib64",
	"/nix/store",
	"/gnu/store",
	"/run/systemd/resolve",
	"/run/systemd/machines",
	"/run/nscd",
	"/run/avahi-daemon",
	"/run/NetworkManager",
	"/run/resolvconf",
	"/run/connman",
	"/run/netconfig",
	"/var/lib/sss",
	"/var/lib/misc", /* nss_db */
	"/var/db",
};

static bool drop_capabilities(struct err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	/* Those that have none already need no loop; the bounding set means nothing to a process
	 * that cannot execute. */
	if (syscall(SYS_capset, &head, none) == 0 &&
	    (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL)) {
		return true;
	}
	return err_set(err, ERR_SETUP, errno, "the gate cannot drop its capabilities");
}

static bool close_itself(struct err *err)
{
	const struct rlimit none = {0, 0};

	return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
		setrlimit(RLIMIT_CORE, &none) == 0) ||
	       err_set(err, ERR_SETUP, errno, "the gate cannot close itself to other processes");
}

static bool add_rule(int ruleset, int folder, uint64_t allowed)
{
	const struct path_attr attr = {allowed, folder};

	return syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0U) == 0;
}

static bool allow(int ruleset, const char *path)
{
	/* What is a link here (/lib) leads to what is listed too. */
	auto_close int fd = open(path, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || add_rule(ruleset, fd, FS_READ_FILE | FS_READ_DIR);
}

/* The folder where /etc/resolv.conf really is, on systems with ways of their own (WSL: /mnt/wsl).
 * Not one of many things (/run, /tmp): there, the file as it is now. */
static bool allow_resolver(int ruleset)
{
	char path[PATH_MAX];
	char link[2];

	if (readlink("/etc/resolv.conf", link, sizeof(link)) < 0 ||
	    realpath("/etc/resolv.conf", path) == NULL) {
		return true;
	}
	char *slash = strrchr(path, '/');

	if (slash != strchr(path, '/') && strchr(path + 1, '/') != slash) {
		*slash = '\0';
		return allow(ruleset, path);
	}
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 || add_rule(ruleset, fd, FS_READ_FILE);
}

static int new_ruleset(int abi)
{
	struct ruleset_attr attr = {.handled_fs = FS_FIRST};
	size_t size = sizeof(attr);

	attr.handled_fs |= abi >= 2 ? FS_REFER : 0;
	attr.handled_fs |= abi >= 3 ? FS_TRUNCATE : 0;
	attr.handled_fs |= abi >= 5 ? FS_IOCTL_DEV : 0;
	attr.handled_net = abi >= 4 ? NET_BIND_TCP : 0;
	attr.scoped = abi >= 6 ? SCOPES : 0;
	/* Older kernels take only what they know. */
	if (abi < 4) {
		size = offsetof(struct ruleset_attr, handled_net);
	} else if (abi < 6) {
		size = offsetof(struct ruleset_attr, scoped);
	}
	return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0U);
}

static bool enter_landlock(struct err *err)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0UL, CREATE_VERSION);
	auto_close int ruleset = abi < 1 ? -1 : new_ruleset(abi);
	bool ok = ruleset >= 0;

	for (size_t i = 0; ok && i < ARRAY_LEN(readable); i++) {
		ok = allow(ruleset, readable[i]);
	}
	return (ok && allow_resolver(ruleset) &&
		syscall(SYS_landlock_restrict_self, ruleset, 0U) == 0) ||
	       err_set(err, ERR_SETUP, errno, "the gate cannot enter Landlock's rules");
}

static bool load_filter(struct err *err)
{
	/* The field is not const, but the kernel only reads. */
	union {
		const struct sock_filter *in;
		struct sock_filter *out;
	} filter = {.in = jail_filter};
	const struct sock_fprog prog = {.len = (unsigned short)ARRAY_LEN(jail_filter),
					.filter = filter.out};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &prog) == 0 ||
	       err_set(err, ERR_SETUP, errno, "the gate's system-call filter could not be loaded");
}

bool jail_enter(struct err *err)
{
	return drop_capabilities(err) && close_itself(err) && enter_landlock(err) &&
	       load_filter(err);
}
