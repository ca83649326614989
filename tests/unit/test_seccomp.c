/* The system-call filter, on the real kernel: every refused call is made in a child that has
 * loaded the real filter, and, where that harms nothing, in one that has not, which must see
 * something else. What must pass beside it is made too. */
#include "seccomp_kit.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timex.h>

static struct timex time_read; /* modes 0: only reads the clock */

/* clang-format off */
#define CLONE_ROWS(flag)                                                                           \
	{"clone " #flag, SYS_clone, {(flag) | SIGCHLD}, EPERM, ANY_RESULT, false},                 \
	{"clone user+" #flag, SYS_clone, {(flag) | CLONE_NEWUSER | SIGCHLD}, EPERM, 0, false},     \
	{"unshare " #flag, SYS_unshare, {(flag)}, EPERM, ANY_RESULT, false},                       \
	{"unshare user+" #flag, SYS_unshare, {(flag) | CLONE_NEWUSER}, EPERM, 0, false}
/* clang-format on */

static void test_namespaces(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		CLONE_ROWS((unsigned)CLONE_NEWUSER),
		CLONE_ROWS((unsigned)CLONE_NEWNS),
		CLONE_ROWS((unsigned)CLONE_NEWPID),
		CLONE_ROWS((unsigned)CLONE_NEWNET),
		CLONE_ROWS((unsigned)CLONE_NEWIPC),
		CLONE_ROWS((unsigned)CLONE_NEWUTS),
		CLONE_ROWS((unsigned)CLONE_NEWCGROUP),
		{"unshare time", SYS_unshare, {CLONE_NEWTIME}, EPERM, 0, true},
		{"unshare bit 40", SYS_unshare, {1UL << 40 | CLONE_NEWUSER}, EPERM, EINVAL, false},
		{"clone bit 40", SYS_clone, {1UL << 40 | CLONE_NEWUSER | SIGCHLD}, EPERM, 0, false},
		{"clone3", SYS_clone3, {0, 0}, ENOSYS, EINVAL, false},
		{"setns", SYS_setns, {~0UL, 0}, EPERM, EBADF, false},
		{"clone plain", SYS_clone, {SIGCHLD}, 0, 0, false},
		{"clone signal 0x80", SYS_clone, {CLONE_FS | SIGCHLD}, 0, 0, false},
		{"unshare files", SYS_unshare, {CLONE_FILES | CLONE_FS}, 0, 0, false},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_PLAIN, rows);
	CHECK(SECCOMP_COMMANDS, rows);
}

static void test_user_namespaces_allowed(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{"user", SYS_unshare, {CLONE_NEWUSER}, 0, 0, false},
		{"user+pid+net", SYS_clone, {(unsigned)(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | SIGCHLD)}, 0, 0, false},
		{"user+ipc+uts", SYS_clone, {(unsigned)(CLONE_NEWUSER | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD)}, 0, 0, false},
		{"chroot", SYS_chroot, {P("/")}, 0, 0, true},
		{"clone mount", SYS_clone, {CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD}, EPERM, 0, false},
		{"unshare mount", SYS_unshare, {CLONE_NEWNS}, EPERM, 0, true},
		{"unshare cgroup", SYS_unshare, {CLONE_NEWCGROUP}, EPERM, 0, true},
		{"unshare time", SYS_unshare, {CLONE_NEWTIME}, EPERM, 0, true},
		{"clone3", SYS_clone3, {0, 0}, ENOSYS, EINVAL, false},
		{"setns", SYS_setns, {~0UL, 0}, EPERM, EBADF, false},
		{"mount", SYS_mount, {P("x"), P("."), P("tmpfs"), 0, 0}, EPERM, 0, true},
		{"fsopen", SYS_fsopen, {P("tmpfs"), 0}, EPERM, 0, true},
		{"fsopen binfmt", SYS_fsopen, {P("binfmt_misc"), 0}, EPERM, ANY_RESULT, true},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_USER_NAMESPACES, rows);
	CHECK(SECCOMP_USER_NAMESPACES | SECCOMP_COMMANDS, rows);
}

static void test_mounts(void **state)
{
	static const unsigned long attr[4];
	/* clang-format off */
	static const struct row rows[] = {
		{"mount", SYS_mount, {P("x"), P("."), P("tmpfs"), 0, 0}, EPERM, 0, true},
		{"remount exec", SYS_mount, {0, P("/none"), 0, 0x20, 0}, EPERM, ENOENT, true},
		{"umount2", SYS_umount2, {P("/none"), 0xffff}, EPERM, EINVAL, true},
		{"pivot_root", SYS_pivot_root, {P("/none"), P("/none")}, EPERM, ENOENT, true},
		{"chroot", SYS_chroot, {P("/")}, EPERM, 0, true},
		{"open_tree", SYS_open_tree, {~99UL, P("/"), 0}, EPERM, 0, true},
		{"open_tree_attr", SYS_open_tree_attr, {~99UL, P("/"), 0, 0, 0}, EPERM, ANY_RESULT, true},
		{"move_mount", SYS_move_mount, {~99UL, P("/none"), ~99UL, P("/none"), 0}, EPERM, ENOENT, true},
		{"fsopen", SYS_fsopen, {P("tmpfs"), 0}, EPERM, 0, true},
		{"fsconfig", SYS_fsconfig, {~0UL, 0, 0, 0, 0}, EPERM, EINVAL, true},
		{"fsmount", SYS_fsmount, {~0UL, 0, 0}, EPERM, EBADF, true},
		{"fspick", SYS_fspick, {~99UL, P("/none"), 0}, EPERM, ENOENT, true},
		{"mount_setattr", SYS_mount_setattr, {~99UL, P("/none"), 0, P(attr), sizeof(attr)}, EPERM, 0, true},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_PLAIN, rows);
}

static void test_set_id(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{"chmod u+s", SYS_chmod, {P("f"), 04755}, EPERM, 0, false},
		{"chmod g+s", SYS_chmod, {P("f"), 02755}, EPERM, 0, false},
		{"chmod high bits", SYS_chmod, {P("f"), 1UL << 32 | 04755}, EPERM, 0, false},
		{"fchmod u+s", SYS_fchmod, {FD, 04755}, EPERM, 0, false},
		{"fchmod g+s", SYS_fchmod, {FD, 02755}, EPERM, 0, false},
		{"fchmodat u+s", SYS_fchmodat, {~99UL, P("f"), 04755}, EPERM, 0, false},
		{"fchmodat g+s", SYS_fchmodat, {~99UL, P("f"), 02755}, EPERM, 0, false},
		{"fchmodat2 u+s", SYS_fchmodat2, {~99UL, P("f"), 04755, 0}, EPERM, 0, false},
		{"fchmodat2 g+s", SYS_fchmodat2, {~99UL, P("f"), 02755, 0}, EPERM, 0, false},
		{"open", SYS_open, {P("new"), O_CREAT | O_WRONLY, 04755}, EPERM, 0, false},
		{"open tmpfile", SYS_open, {P("."), O_TMPFILE | O_RDWR, 02755}, EPERM, 0, false},
		{"openat", SYS_openat, {~99UL, P("new"), O_CREAT | O_WRONLY, 04755}, EPERM, 0, false},
		{"openat g+s", SYS_openat, {~99UL, P("new"), O_CREAT | O_WRONLY, 02755}, EPERM, 0, false},
		{"openat tmpfile", SYS_openat, {~99UL, P("."), O_TMPFILE | O_RDWR, 04755}, EPERM, 0, false},
		{"creat", SYS_creat, {P("new"), 04755}, EPERM, 0, false},
		{"mknod", SYS_mknod, {P("new"), S_IFREG | 04755, 0}, EPERM, 0, false},
		{"mknodat", SYS_mknodat, {~99UL, P("new"), S_IFREG | 02755, 0}, EPERM, 0, false},
		/* The mode counts only where a file is made. */
		{"open to read", SYS_openat, {~99UL, P("f"), O_RDONLY, 04755}, 0, 0, false},
		{"create", SYS_openat, {~99UL, P("new"), O_CREAT | O_RDWR, 01777}, 0, 0, false},
		{"tmpfile", SYS_openat, {~99UL, P("."), O_TMPFILE | O_RDWR, 0600}, 0, 0, false},
		{"chmod 1777", SYS_fchmodat, {~99UL, P("f"), 01777}, 0, 0, false},
		{"fchmod", SYS_fchmod, {FD, 0644}, 0, 0, false},
		{"mkdir", SYS_mkdirat, {~99UL, P("new"), 02755}, 0, 0, false},
	};
	/* clang-format on */
	static const unsigned long how[3] = {O_CREAT | O_RDWR, 04755, 0};
	/* clang-format off */
	static const struct row in_memory[] = {
		{"openat2", SYS_openat2, {~99UL, P("new"), P(how), sizeof(how)}, ENOSYS, 0, false},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_PLAIN, rows);
	CHECK(SECCOMP_USER_NAMESPACES, rows);
	CHECK(SECCOMP_PLAIN, in_memory);
}

static void test_memfd(void **state)
{
	/* clang-format off */
	static const struct row listed[] = {
		{"memfd", SYS_memfd_create, {P("x"), 0}, EACCES, 0, false},
		{"memfd cloexec", SYS_memfd_create, {P("x"), 1}, EACCES, 0, false},
		{"memfd high bits", SYS_memfd_create, {P("x"), MFD_SEALED << 32}, EACCES, 0, false},
	};
	/* clang-format on */
	/* clang-format off */
	static const struct row open[] = {
		{"memfd", SYS_memfd_create, {P("x"), 0}, 0, 0, false},
	};
	/* clang-format on */
	struct row sealed = {"sealed memfd", SYS_memfd_create, {P("x"), MFD_SEALED | 1}, 0, 0,
			     false};

	(void)state;
	CHECK(SECCOMP_COMMANDS, listed);
	CHECK(SECCOMP_COMMANDS | SECCOMP_USER_NAMESPACES, listed);
	CHECK(SECCOMP_PLAIN, open);
	CHECK(SECCOMP_USER_NAMESPACES, open);
	/* Kernels before 6.3 know no seal: then it is the kernel that says EINVAL. */
	sealed.want = in_child(NO_FILTER, false, make_call, &sealed);
	assert_true(sealed.want == 0 || sealed.want == EINVAL);
	sealed.without = sealed.want;
	check_rows(SECCOMP_COMMANDS, &sealed, 1);
}

static void test_terminal(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{"TIOCSTI", SYS_ioctl, {FD, TIOCSTI, P("x")}, EPERM, ENOTTY, false},
		{"TIOCSTI bit 32", SYS_ioctl, {FD, 1UL << 32 | TIOCSTI, P("x")}, EPERM, ENOTTY, false},
		{"TIOCSTI bit 63", SYS_ioctl, {FD, 1UL << 63 | TIOCSTI, P("x")}, EPERM, ENOTTY, false},
		{"TIOCLINUX", SYS_ioctl, {FD, TIOCLINUX, P("x")}, EPERM, ENOTTY, false},
		{"TIOCLINUX bit 40", SYS_ioctl, {FD, 1UL << 40 | TIOCLINUX, 0}, EPERM, ENOTTY, false},
		{"TIOCCONS", SYS_ioctl, {FD, TIOCCONS, 0}, EPERM, ENOTTY, false},
		{"TIOCSETD", SYS_ioctl, {FD, TIOCSETD, 0}, EPERM, ENOTTY, false},
		{"vhangup", SYS_vhangup, {0}, EPERM, NOT_TRIED, false},
		{"TIOCGWINSZ", SYS_ioctl, {FD, TIOCGWINSZ, 0}, ENOTTY, ENOTTY, false},
		{"FIONBIO", SYS_ioctl, {FD, FIONBIO, P(&time_read)}, 0, 0, false},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_PLAIN, rows);
}

static void test_sockets(void **state)
{
	enum { TCP = 6, UDP = 17, SCTP = 132, LITE = 136, SMC = 256, MPTCP = 262 };
	static int pair[2];
	/* clang-format off */
	static const struct row rows[] = {
		{"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT, ANY_RESULT, false},
		{"vsock bit 32", SYS_socket, {1UL << 32 | AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT, ANY_RESULT, false},
		{"alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT, ANY_RESULT, false},
		{"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT, 0, true},
		{"packet dgram", SYS_socket, {AF_PACKET, SOCK_DGRAM, 0}, EAFNOSUPPORT, 0, true},
		{"raw icmp", SYS_socket, {AF_INET, SOCK_RAW, 1}, EPERM, 0, true},
		{"raw icmp6", SYS_socket, {AF_INET6, SOCK_RAW, 58}, EPERM, 0, true},
		{"raw cloexec", SYS_socket, {AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1}, EPERM, 0, true},
		{"inet packet", SYS_socket, {AF_INET, SOCK_PACKET, 0}, EPERM, 0, true},
		{"sctp", SYS_socket, {AF_INET, SOCK_STREAM, SCTP}, EPROTONOSUPPORT, ANY_RESULT, false},
		{"sctp seqpacket", SYS_socket, {AF_INET6, SOCK_SEQPACKET, SCTP}, EPERM, ANY_RESULT, false},
		{"mptcp", SYS_socket, {AF_INET, SOCK_STREAM, MPTCP}, EPROTONOSUPPORT, ANY_RESULT, false},
		{"mptcp6", SYS_socket, {AF_INET6, SOCK_STREAM, MPTCP}, EPROTONOSUPPORT, ANY_RESULT, false},
		{"smc", SYS_socket, {AF_INET, SOCK_STREAM, SMC}, EPROTONOSUPPORT, ANY_RESULT, false},
		{"udp-lite", SYS_socket, {AF_INET, SOCK_DGRAM, LITE}, EPROTONOSUPPORT, ANY_RESULT, false},
		{"uevent", SYS_socket, {AF_NETLINK, SOCK_RAW, 15}, EPROTONOSUPPORT, 0, false},
		{"netfilter", SYS_socket, {AF_NETLINK, SOCK_RAW, 12}, EPROTONOSUPPORT, ANY_RESULT, true},
		{"sock_diag", SYS_socket, {AF_NETLINK, SOCK_RAW, 4}, EPROTONOSUPPORT, ANY_RESULT, false},
		{"pair inet", SYS_socketpair, {AF_INET, SOCK_STREAM, 0, P(pair)}, EAFNOSUPPORT, EOPNOTSUPP, false},
		{"pair tipc", SYS_socketpair, {AF_TIPC, SOCK_STREAM, 0, P(pair)}, EAFNOSUPPORT, ANY_RESULT, false},
		{"unix stream", SYS_socket, {AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0}, 0, 0, false},
		{"unix dgram", SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}, 0, 0, false},
		{"unix seqpacket", SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0}, 0, 0, false},
		{"pair unix", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P(pair)}, 0, 0, false},
		{"tcp", SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0}, 0, 0, false},
		{"tcp by name", SYS_socket, {AF_INET, SOCK_STREAM, TCP}, 0, 0, false},
		{"tcp6", SYS_socket, {AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, TCP}, 0, 0, true},
		{"udp", SYS_socket, {AF_INET, SOCK_DGRAM, 0}, 0, 0, false},
		{"udp6", SYS_socket, {AF_INET6, SOCK_DGRAM, UDP}, 0, 0, true},
		{"route", SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}, 0, 0, false},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_PLAIN, rows);
	CHECK(SECCOMP_USER_NAMESPACES | SECCOMP_COMMANDS, rows);
	for (unsigned long i = 0; i < 64; i++) {
		const struct row family = {"socket family", SYS_socket, {i, SOCK_STREAM, 0},
					   EAFNOSUPPORT,    NOT_TRIED,  false};
		const struct row netlink = {
			"netlink",       SYS_socket, {AF_NETLINK, SOCK_DGRAM, i},
			EPROTONOSUPPORT, NOT_TRIED,  false};

		if (i != AF_UNIX && i != AF_INET && i != AF_INET6 && i != AF_NETLINK) {
			check_rows(SECCOMP_PLAIN, &family, 1);
		}
		if (i != 0) {
			check_rows(SECCOMP_PLAIN, &netlink, 1);
		}
	}
}

static void test_kernel_surface(void **state)
{
	static unsigned long params[30]; /* larger than struct io_uring_params */
	/* clang-format off */
	const struct row rows[] = {
		{"io_uring_setup", SYS_io_uring_setup, {1, P(params)}, ENOSYS, ANY_RESULT, false},
		{"io_uring_enter", SYS_io_uring_enter, {~0UL, 0, 0, 0, 0, 0}, ENOSYS, EBADF, false},
		{"io_uring_register", SYS_io_uring_register, {~0UL, 0, 0, 0}, ENOSYS, ANY_RESULT, false},
		{"userfaultfd", SYS_userfaultfd, {1}, EPERM, 0, false},
		{"bpf", SYS_bpf, {~0UL, 0, 0}, EPERM, ANY_RESULT, false},
		{"perf_event_open", SYS_perf_event_open, {0, 0, 0, 0, 0}, EPERM, EFAULT, false},
		{"fanotify_init", SYS_fanotify_init, {0x200, 0}, EPERM, 0, false},
		{"modify_ldt", SYS_modify_ldt, {0, P(params), 0}, EPERM, ANY_RESULT, false},
		{"uselib", SYS_uselib, {P("f")}, EPERM, ANY_RESULT, false},
		{"lookup_dcookie", SYS_lookup_dcookie, {0, 0, 0}, EPERM, ANY_RESULT, false},
		{"open_by_handle_at", SYS_open_by_handle_at, {~99UL, 0, 0}, EPERM, ANY_RESULT, false},
		{"personality exec", SYS_personality, {0x400000}, EPERM, 0, false},
		{"personality high", SYS_personality, {1UL << 32 | 0x400000}, EPERM, 0, false},
		{"personality i386", SYS_personality, {8}, EPERM, 0, false},
		{"personality mixed", SYS_personality, {0x440000}, EPERM, 0, false},
		{"personality 0", SYS_personality, {0}, 0, 0, false},
		{"personality query", SYS_personality, {0xffffffff}, 0, 0, false},
		{"personality -1", SYS_personality, {~0UL}, 0, 0, false},
		{"personality gdb", SYS_personality, {0x40000}, 0, 0, false},
		{"add_key", SYS_add_key, {P("user"), P("lnk"), P("x"), 1, ~1UL}, EPERM, 0, false},
		{"request_key", SYS_request_key, {P("user"), P("lnk-none"), 0, 0}, EPERM, ENOKEY, false},
		{"keyctl", SYS_keyctl, {0, ~1UL, 1}, EPERM, 0, false},
		{"pidfd_getfd", SYS_pidfd_getfd, {~0UL, 0, 0}, EPERM, EBADF, false},
		{"kcmp", SYS_kcmp, {(unsigned)getpid(), (unsigned)getpid(), 0, FD, FD}, EPERM, 0, false},
		{"lsm_set_self_attr", SYS_lsm_set_self_attr, {100, 0, 0, 0}, EPERM, ANY_RESULT, false},
		{"iopl", SYS_iopl, {0}, EPERM, ANY_RESULT, false},
		{"clock_adjtime", SYS_clock_adjtime, {0, P(&time_read)}, EPERM, 0, false},
		{"adjtimex", SYS_adjtimex, {P(&time_read)}, EPERM, 0, false},
		{"unknown", (long)seccomp_newest() + 1, {0}, ENOSYS, ANY_RESULT, false},
		{"unknown, large", 0x3fffffff, {0}, ENOSYS, ANY_RESULT, false},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_PLAIN, rows);
	CHECK(SECCOMP_USER_NAMESPACES, rows);
}

static void test_the_machine(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{"init_module", SYS_init_module, {0, 0, 0}, EPERM, NOT_TRIED, false},
		{"finit_module", SYS_finit_module, {~0UL, 0, 0}, EPERM, NOT_TRIED, false},
		{"delete_module", SYS_delete_module, {0, 0}, EPERM, NOT_TRIED, false},
		{"kexec_load", SYS_kexec_load, {0, 0, 0, ~0UL}, EPERM, NOT_TRIED, false},
		{"kexec_file_load", SYS_kexec_file_load, {~0UL, ~0UL, 0, 0, ~0UL}, EPERM, NOT_TRIED, false},
		{"reboot", SYS_reboot, {0, 0, 0, 0}, EPERM, NOT_TRIED, false},
		{"syslog", SYS_syslog, {10, 0, 0}, EPERM, NOT_TRIED, false},
		{"acct", SYS_acct, {P("/none")}, EPERM, NOT_TRIED, false},
		{"swapon", SYS_swapon, {P("/none"), 0}, EPERM, NOT_TRIED, false},
		{"swapoff", SYS_swapoff, {P("/none")}, EPERM, NOT_TRIED, false},
		{"quotactl", SYS_quotactl, {~0UL, 0, 0, 0}, EPERM, NOT_TRIED, false},
		{"quotactl_fd", SYS_quotactl_fd, {~0UL, 0, 0, 0}, EPERM, NOT_TRIED, false},
		{"settimeofday", SYS_settimeofday, {1, 1}, EPERM, NOT_TRIED, false},
		{"clock_settime", SYS_clock_settime, {~0UL, 0}, EPERM, NOT_TRIED, false},
		{"ioperm", SYS_ioperm, {0, 0, 0}, EPERM, NOT_TRIED, false},
	};
	/* clang-format on */

	(void)state;
	CHECK(SECCOMP_PLAIN, rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_namespaces),  cmocka_unit_test(test_user_namespaces_allowed),
		cmocka_unit_test(test_mounts),      cmocka_unit_test(test_set_id),
		cmocka_unit_test(test_memfd),       cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_sockets),     cmocka_unit_test(test_kernel_surface),
		cmocka_unit_test(test_the_machine),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
