/* Runs a command on a machine that lacks something: named system calls fail with an errno.
 *
 *   without CALL=ERRNO... -- COMMAND...
 *
 * CALL is a number or a name of the table below, ERRNO a number. The command and all it starts meet
 * it. Exit: the command's; 125 when the filter could not be made. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME(call)                                                                                 \
	{                                                                                          \
#call, SYS_##call                                                                  \
	}

static const struct {
	const char *name;
	long number;
} names[] = {
	NAME(landlock_create_ruleset),
	NAME(landlock_add_rule),
	NAME(landlock_restrict_self),
	NAME(seccomp),
	NAME(clone3),
	NAME(unshare),
	NAME(setns),
	NAME(fsopen),
	NAME(fsconfig),
	NAME(fsmount),
	NAME(open_tree),
	NAME(move_mount),
	NAME(mount_setattr),
	NAME(pivot_root),
	NAME(umount2),
	NAME(openat2),
	NAME(capset),
	NAME(prctl),
	NAME(inotify_init1),
	NAME(inotify_add_watch),
	NAME(socketpair),
	NAME(pidfd_open),
	NAME(pidfd_send_signal),
	NAME(close_range),
	NAME(setsid),
	NAME(sendmsg),
	NAME(signalfd4),
	NAME(mkdirat),
	NAME(statx),
};

static long number_of(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i].name) == len && strncmp(names[i].name, name, len) == 0) {
			return names[i].number;
		}
	}
	fprintf(stderr, "without: no call %.*s\n", (int)len, name);
	exit(125);
}

int main(int argc, char **argv)
{
	struct sock_filter code[128];
	unsigned short n = 0;
	int i = 1;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (; i < argc && strcmp(argv[i], "--") != 0 && n < 120; i++) {
		size_t len = strcspn(argv[i], "=");
		unsigned long error = strtoul(argv[i] + len + 1, NULL, 10);
		unsigned number = (unsigned)number_of(argv[i], len);

		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)(error & 0xfff));
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = n, .filter = code};
	if (i + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		perror("without");
		return 125;
	}
	execv(argv[i + 1], argv + i + 1);
	perror("without: exec");
	return 125;
}
