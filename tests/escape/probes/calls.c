/* Single system calls, made as they stand: call NAME ARGUMENT... */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

#define CALL(name)                                                                                 \
	{                                                                                          \
#name, SYS_##name                                                                  \
	}

static const struct {
	const char *name;
	long number;
} calls[] = {
	CALL(unshare),
	CALL(clone),
	CALL(clone3),
	CALL(setns),
	CALL(mount),
	CALL(umount2),
	CALL(pivot_root),
	CALL(chroot),
	CALL(open_tree),
	CALL(open_tree_attr),
	CALL(move_mount),
	CALL(fsopen),
	CALL(fspick),
	CALL(mount_setattr),
	CALL(openat),
	CALL(openat2),
	CALL(mknodat),
	CALL(fchmodat),
	CALL(userfaultfd),
	CALL(perf_event_open),
	CALL(bpf),
	CALL(add_key),
	CALL(request_key),
	CALL(keyctl),
	CALL(io_uring_setup),
	CALL(fanotify_init),
	CALL(personality),
	CALL(modify_ldt),
	CALL(open_by_handle_at),
	CALL(syslog),
	CALL(socket),
	CALL(ioctl),
	CALL(kill),
	CALL(pidfd_getfd),
	CALL(pidfd_open),
	CALL(process_madvise),
	CALL(kcmp),
	CALL(sethostname),
	CALL(memfd_create),
	CALL(memfd_secret),
	CALL(renameat2),
	CALL(linkat),
	CALL(reboot),
	CALL(swapon),
	CALL(acct),
	CALL(quotactl),
	CALL(init_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(settimeofday),
#ifdef SYS_uselib
	CALL(uselib),
#endif
#ifdef SYS_iopl
	CALL(iopl),
#endif
};

/* A number; "s:TEXT" a string; "b:N" a buffer of zeros that begins with the 64-bit number N. */
static unsigned long argument(const char *text)
{
	if (strncmp(text, "s:", 2) == 0) {
		return (unsigned long)(uintptr_t)(text + 2);
	}
	if (strncmp(text, "b:", 2) == 0) {
		uint64_t *buf = calloc(1, 65536);

		if (buf == NULL) {
			exit(2);
		}
		buf[0] = number(text + 2);
		return (unsigned long)(uintptr_t)buf;
	}
	return number(text);
}

static int call(int argc, char **argv)
{
	unsigned long a[6] = {0};

	if (argc < 2 || argc > 8) {
		return refused(EINVAL);
	}
	for (int i = 2; i < argc; i++) {
		a[i - 2] = argument(argv[i]);
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, argv[1]) != 0) {
			continue;
		}
		long ret = syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);

		if (ret == 0 && strncmp(argv[1], "clone", 5) == 0) {
			_exit(0);
		}
		return ret < 0 ? -1 : 0;
	}
	fprintf(stderr, "probe: no call %s\n", argv[1]);
	exit(2);
}

/* Runs `fn` in a child and gives back whether a signal killed it: SIGSYS is the filter's. */
static int in_child(long (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		long ret = fn();

		_exit(ret < 0 ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		return -1;
	}
	if (WIFSIGNALED(status)) {
		printf("signal %d\n", WTERMSIG(status));
		return refused(EPERM);
	}
	return WEXITSTATUS(status) == 0 ? 0 : refused(ENOSYS);
}

#ifdef __x86_64__
/* getpid of i386, through its own gate. */
static long through_int80(void)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

static long through_x32(void)
{
	return syscall(0x40000000L | SYS_getpid);
}
#else
static long through_int80(void)
{
	return getpid();
}

static long through_x32(void)
{
	return -1;
}
#endif

static int int80(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return in_child(through_int80);
}

static int x32(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return in_child(through_x32);
}

/* clone3 takes its flags in memory. */
static int clone3_flags(int argc, char **argv)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	if (argc != 2) {
		return refused(EINVAL);
	}
	args.flags = number(argv[1]);
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		_exit(0);
	}
	return pid < 0 ? -1 : 0;
}

const struct attack call_attacks[] = {
	{"call", "NAME ARGUMENT...", call},
	{"clone3", "FLAGS", clone3_flags},
	{"int80", "", int80},
	{"x32", "", x32},
	{NULL, NULL, NULL},
};
