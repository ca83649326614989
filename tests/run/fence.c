/* A machine with less than this one has: runs a program under system-call filters that stand for
 * somebody else's.
 *
 *     fence docker|nft|apparmor[,...] PROGRAM [ARGUMENT...]
 *
 *   docker    what Docker's default profile refuses in a container without CAP_SYS_ADMIN. The
 * profile is a list of what passes; this is the rest, for the calls that there are. nft       no
 * NETLINK_NETFILTER, as a kernel that was built without nf_tables apparmor
 * kernel.apparmor_restrict_unprivileged_userns of Ubuntu: user namespaces are made, but their maker
 * has no power in them. Opening the maps is refused, and the setting reads 1; both by a listener,
 * since a kernel without AppArmor has neither. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "fence: %s: %s\n", what, strerror(errno));
	exit(99);
}

static const char *const refused_by_docker[] = {
	"acct",
	"add_key",
	"bpf",
	"clock_settime",
	"delete_module",
	"fanotify_init",
	"finit_module",
	"fsconfig",
	"fsmount",
	"fsopen",
	"fspick",
	"get_mempolicy",
	"init_module",
	"io_uring_enter",
	"io_uring_register",
	"io_uring_setup",
	"ioperm",
	"iopl",
	"kcmp",
	"kexec_file_load",
	"kexec_load",
	"keyctl",
	"lookup_dcookie",
	"mbind",
	"migrate_pages",
	"mount",
	"mount_setattr",
	"move_mount",
	"move_pages",
	"nfsservctl",
	"open_by_handle_at",
	"open_tree",
	"perf_event_open",
	"pidfd_getfd",
	"pivot_root",
	"process_madvise",
	"quotactl",
	"quotactl_fd",
	"reboot",
	"request_key",
	"set_mempolicy",
	"setdomainname",
	"sethostname",
	"setns",
	"settimeofday",
	"swapoff",
	"swapon",
	"sysfs",
	"syslog",
	"umount2",
	"unshare",
	"uselib",
	"userfaultfd",
	"ustat",
	"vhangup",
};

static void load(scmp_filter_ctx ctx, const char *what)
{
	int error = seccomp_load(ctx);

	if (error < 0) {
		errno = -error;
		die(what);
	}
	seccomp_release(ctx);
}

static void refuse(scmp_filter_ctx ctx, unsigned error, const char *call, unsigned n,
		   struct scmp_arg_cmp arg)
{
	int nr = seccomp_syscall_resolve_name(call);

	if (nr == __NR_SCMP_ERROR ||
	    (nr >= 0 && seccomp_rule_add(ctx, SCMP_ACT_ERRNO(error), nr, n, arg) < 0)) {
		die(call);
	}
}

static void load_docker(void)
{
	static const unsigned long namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
						CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
						CLONE_NEWNET;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	const struct scmp_arg_cmp any = {0};

	for (size_t i = 0; i < sizeof(refused_by_docker) / sizeof(*refused_by_docker); i++) {
		refuse(ctx, EPERM, refused_by_docker[i], 0, any);
	}
	refuse(ctx, ENOSYS, "clone3", 0, any);
	/* clone passes when none of these bits is set: a rule for each. */
	for (unsigned long bit = 1; bit <= namespaces; bit <<= 1) {
		if ((namespaces & bit) != 0) {
			refuse(ctx, EPERM, "clone", 1,
			       (struct scmp_arg_cmp)SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
		}
	}
	refuse(ctx, EPERM, "socket", 1, (struct scmp_arg_cmp)SCMP_A0(SCMP_CMP_EQ, AF_VSOCK));
	load(ctx, "docker's filter");
}

static void load_no_nft(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
			     SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
			     SCMP_A2(SCMP_CMP_EQ, NETLINK_NETFILTER)) < 0) {
		die("filter of netfilter");
	}
	load(ctx, "filter of netfilter");
}

/* --- AppArmor's ------------------------------------------------------------------------------ */

static bool path_of(const struct seccomp_notif *ask, char *path, size_t cap)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%u/mem", ask->pid);
	int mem = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = pread(mem, path, cap - 1, (off_t)ask->data.args[1]);

	close(mem);
	path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool is_map(const char *path)
{
	return strcmp(path, "/proc/self/uid_map") == 0 || strcmp(path, "/proc/self/gid_map") == 0 ||
	       strcmp(path, "/proc/self/setgroups") == 0;
}

/* The caller gets a file that reads "1". */
static void show_setting(int listener, const struct seccomp_notif *ask)
{
	int one = memfd_create("setting", MFD_CLOEXEC);
	struct seccomp_notif_addfd add = {
		.id = ask->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (unsigned)one};

	if (write(one, "1\n", 2) != 2 || lseek(one, 0, SEEK_SET) != 0 ||
	    (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno != ENOENT)) {
		die("the setting");
	}
	close(one);
}

static void answer(int listener, const struct seccomp_notif *ask)
{
	static const char setting[] = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
	struct seccomp_notif_resp reply = {.id = ask->id,
					   .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	char path[4096];
	bool known = path_of(ask, path, sizeof(path));

	if (known && strcmp(path, setting) == 0) {
		show_setting(listener, ask);
		return;
	}
	if (known && is_map(path)) {
		reply.flags = 0;
		reply.error = -EACCES;
	}
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

static _Noreturn void watch(int listener, int pidfd, pid_t pid)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = listener, .events = POLLIN},
				       {.fd = pidfd, .events = POLLIN}};
		struct seccomp_notif ask;
		int status;

		memset(&ask, 0, sizeof(ask));
		poll(fds, 2, -1);
		if ((fds[0].revents & POLLIN) != 0) {
			if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) == 0) {
				answer(listener, &ask);
			}
		} else if (fds[1].revents != 0 && waitpid(pid, &status, 0) == pid) {
			exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		}
	}
}

/* The program goes on in the child, whose filter asks the parent. */
static void load_apparmor(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int pair[2];
	int number;
	char go;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(openat), 0) < 0) {
		die("filter that asks");
	}
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (seccomp_load(ctx) < 0) {
			die("filter that asks");
		}
		number = seccomp_notify_fd(ctx);
		/* The parent takes it by number: nothing may be asked before it listens. */
		if (write(pair[1], &number, sizeof(number)) < 0 || read(pair[1], &go, 1) != 1) {
			die("filter that asks");
		}
		close(number);
		return;
	}
	close(pair[1]);
	if (read(pair[0], &number, sizeof(number)) != sizeof(number)) {
		die("filter that asks");
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int listener = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	if (listener < 0 || write(pair[0], "g", 1) != 1) {
		die("the listener");
	}
	watch(listener, pidfd, pid);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		errno = EINVAL;
		die("usage: fence docker|nft|apparmor[,...] PROGRAM [ARGUMENT...]");
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		die("no_new_privs");
	}
	if (strstr(argv[1], "apparmor") != NULL) {
		load_apparmor();
	}
	if (strstr(argv[1], "nft") != NULL) {
		load_no_nft();
	}
	if (strstr(argv[1], "docker") != NULL) {
		load_docker();
	}
	execvp(argv[2], argv + 2);
	die(argv[2]);
}
