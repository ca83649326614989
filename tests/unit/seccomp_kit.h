/* For the tests of the system-call filter: a child that has loaded the real filter, or none, makes
 * one call; and a walk through the filter's program without the kernel. */
#ifndef LNK_TESTS_UNIT_SECCOMP_KIT_H
#define LNK_TESTS_UNIT_SECCOMP_KIT_H

#include "confine/seccomp/seccomp.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Numbers the C library's headers may be too old for, and calls only x86 has. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_lsm_set_self_attr
#define SYS_lsm_set_self_attr 460
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat    463
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_open
#define SYS_open      -1
#define SYS_creat     -1
#define SYS_chmod     -1
#define SYS_mknod     -1
#define SYS_chown     -1
#define SYS_lchown    -1
#define SYS_utime     -1
#define SYS_utimes    -1
#define SYS_futimesat -1
#endif
#ifndef SYS_modify_ldt
#define SYS_modify_ldt -1
#define SYS_iopl       -1
#define SYS_ioperm     -1
#define SYS_uselib     -1
#endif
#ifdef __x86_64__
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define MFD_SEALED 8UL /* MFD_NOEXEC_SEAL, Linux 6.3 */

#define NO_FILTER   (-1)
#define FD          50   /* the file "f", opened for reading and writing */
#define NOT_TRIED   (-1) /* control: without the filter the call might do harm */
#define ANY_RESULT  (-2) /* control: depends on the machine; made, not compared */
#define SIGNALLED   1000 /* + the signal that ended the child */
#define CHILD_BROKE 900  /* the child could not get ready */

static char folder[64];

struct row {
	const char *what;
	long nr;
	unsigned long args[6];
	int want;       /* errno under the filter, 0: success */
	int without;    /* the same without the filter, or NOT_TRIED, ANY_RESULT */
	bool in_userns; /* with all capabilities over namespaces of its own */
};
#define P(pointer) ((unsigned long)(uintptr_t)(pointer))

static void load_or_die(int variant)
{
	struct err err;

	if (variant == NO_FILTER) {
		return;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    !seccomp_load((enum seccomp_variant)variant, &err)) {
		_exit(CHILD_BROKE & 0xff);
	}
}

/* Runs `body` in a child under a variant; what it returned, or SIGNALLED + signal. The value goes
 * through a pipe, since an exit status holds only a byte. */
static int in_child(int variant, bool in_userns, int (*body)(const void *), const void *data)
{
	int ends[2];
	int result = CHILD_BROKE;
	int status;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* cmocka's handlers would go on with the next test. */
		for (int sig = 1; sig < NSIG; sig++) {
			signal(sig, SIG_DFL);
		}
		if (chdir(folder) != 0 ||
		    (in_userns && unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0)) {
			_exit(1);
		}
		load_or_die(variant);
		result = body(data);
		_exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
	}
	close(ends[1]);
	ssize_t got = read(ends[0], &result, sizeof(result));

	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status)) {
		return SIGNALLED + WTERMSIG(status);
	}
	return got == sizeof(result) ? result : CHILD_BROKE;
}

static inline int make_call(const void *data)
{
	const struct row *row = data;
	const unsigned long *a = row->args;

	unlink("new");
	rmdir("new");
	long r = syscall(row->nr, a[0], a[1], a[2], a[3], a[4], a[5]);

	if (r == 0 && row->nr == SYS_clone) {
		_exit(0); /* the grandchild: the pipe is its parent's */
	}
	return r < 0 ? errno : 0;
}

/* What the program says of a call, without the kernel: seccomp's classic BPF. */
static uint32_t walk(enum seccomp_variant variant, const struct seccomp_data *data)
{
	size_t n;
	const struct sock_filter *v = seccomp_program(variant, &n);
	uint32_t a = 0;

	for (size_t at = 0; at < n; at++) {
		const struct sock_filter *f = &v[at];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(f->k % 4 == 0 && f->k < sizeof(*data));
			memcpy(&a, (const char *)data + f->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_JMP | BPF_JA:
			at += f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			at += a > f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += (a & f->k) != 0 ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			fail_msg("instruction %zu has code %#x", at, f->code);
		}
	}
	fail_msg("the program ends without a return");
	return 0;
}

static inline void check_rows(int variant, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		struct seccomp_data data = {.nr = (int)row->nr, .arch = NATIVE_ARCH};

		if (row->nr < 0) {
			continue; /* not a call of this architecture */
		}
		memcpy(data.args, row->args, sizeof(data.args));
		uint32_t verdict = walk((enum seccomp_variant)variant, &data);
		int got = in_child(variant, row->in_userns, make_call, row);

		if (got != row->want) {
			fail_msg("%s: %d under the filter, not %d", row->what, got, row->want);
		}
		bool refused = (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;

		if (row->without == row->want ? verdict != SECCOMP_RET_ALLOW : !refused) {
			fail_msg("%s: the program says %#x", row->what, verdict);
		}
		if (row->without == NOT_TRIED) {
			continue;
		}
		got = in_child(NO_FILTER, row->in_userns, make_call, row);
		if (row->without != ANY_RESULT && got != row->without &&
		    !(got == ENOSYS && row->nr > 450)) {
			fail_msg("%s: %d without a filter, not %d", row->what, got, row->without);
		}
	}
}

#define CHECK(variant, rows) check_rows((variant), (rows), ARRAY_LEN(rows))

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/lnk-test-seccomp-XXXXXX");
	if (mkdtemp(folder) == NULL) {
		return -1;
	}
	char file[96];

	snprintf(file, sizeof(file), "%s/f", folder);
	int fd = open(file, O_RDWR | O_CREAT, 0644);

	return fd >= 0 && dup2(fd, FD) == FD ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"f", "new"};
	char file[96];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(file, sizeof(file), "%s/%s", folder, names[i]);
		unlink(file);
		rmdir(file);
	}
	return rmdir(folder);
}

#endif
