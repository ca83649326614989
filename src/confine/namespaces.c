#include "confine/namespaces.h"

#include "base/fd.h"
#include "base/pages.h"
#include "base/testguard.h"
#include "confine/sys.h"
#include "plan/kernel.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

/* A bound on processes where RLIMIT_NPROC does not bind: the first root user is exempt from it.
 * Per PID namespace since Linux 6.14; older kernels refuse the write. */
#define ROOT_PID_MAX "8192"

pid_t namespaces_clone(bool host_network, int *ret_pidfd, struct err *err)
{
	const unsigned kept = host_network ? CLONE_NEWNET : 0;
	int pidfd = -1;
	struct clone_args args = {
		.flags = (NAMESPACES_NEW & ~kept) | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		pages_ready();
		return 0;
	}
	if (pid < 0) {
		int sys = errno;

		err_set(err, ERR_SETUP, sys,
			"cannot make the sandbox's user namespace and those in it");
		kernel_explain("clone", sys, err->hint, sizeof(err->hint));
		return -1;
	}
	if (pid > 0) {
		*ret_pidfd = pidfd;
	}
	return (pid_t)pid;
}

static bool write_map(const char *path, unsigned inside, unsigned outside, struct err *err)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	if (fd_write_file(AT_FDCWD, path, line)) {
		return true;
	}
	int sys = errno;
	err_set(err, ERR_SETUP, sys, "cannot map this user in the sandbox's user namespace");
	kernel_explain("uid_map", sys, err->hint, sizeof(err->hint));
	return false;
}

bool namespaces_map(uid_t uid, gid_t gid, bool as_root_first, struct err *err)
{
	if (!write_map("/proc/self/uid_map", as_root_first ? 0 : uid, uid, err)) {
		return false;
	}
	if (!fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny")) {
		return err_set(err, ERR_SETUP, errno, "cannot fix the sandbox's groups");
	}
	return write_map("/proc/self/gid_map", as_root_first ? 0 : gid, gid, err);
}

bool namespaces_limit(unsigned more, struct err *err)
{
	if (!fd_write_file(AT_FDCWD, "/proc/sys/user/max_user_namespaces", more > 0 ? "1" : "0")) {
		return err_set(err, ERR_SETUP, errno, "cannot forbid further user namespaces");
	}
	return true;
}

void namespaces_limit_processes(bool as_root)
{
	if (as_root && guard_on("limits")) {
		(void)fd_write_file(AT_FDCWD, "/proc/sys/kernel/pid_max", ROOT_PID_MAX);
	}
}

bool namespaces_inner(uid_t uid, gid_t gid, struct err *err)
{
	if (unshare(CLONE_NEWUSER) < 0) {
		int sys = errno;

		err_set(err, ERR_SETUP, sys, "cannot make the sandbox's inner user namespace");
		kernel_explain("unshare", sys, err->hint, sizeof(err->hint));
		return false;
	}
	return write_map("/proc/self/uid_map", uid, 0, err) &&
	       write_map("/proc/self/gid_map", gid, 0, err);
}

bool namespaces_drop_capabilities(struct err *err)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

	if (guard_on("capabilities")) {
		for (unsigned long cap = 0; cap < 64; cap++) {
			if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
				if (errno == EINVAL) {
					break; /* past the kernel's last capability */
				}
				return err_set(err, ERR_SETUP, errno, "cannot drop capability %lu",
					       cap);
			}
		}
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
		    syscall(SYS_capset, &header, none) < 0) {
			return err_set(err, ERR_SETUP, errno, "cannot drop capabilities");
		}
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot set no_new_privs");
	}
	return true;
}
