/* The system-call filter, seen as a whole: what programs need works under every variant, foreign
 * calls and tracers get nowhere, and of all the numbers nothing is refused that the table does not
 * name. */
#include "seccomp_kit.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifdef __x86_64__
static int call_int80(const void *data)
{
	long r;

	(void)data;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L /* getpid of i386 */) : "memory");
	return r > 0 ? 0 : ENOSYS;
}

static int call_x32(const void *data)
{
	(void)data;
	return syscall(0x40000000L | SYS_getpid) > 0 ? 0 : errno;
}

static void test_foreign(void **state)
{
	(void)state;
	/* Without a filter int 0x80 works, but some virtual machines' kernels have none (SIGSEGV).
	 */
	int plain = in_child(NO_FILTER, false, call_int80, NULL);
	int want = plain == 0 ? SIGNALLED + SIGSYS : SIGNALLED + SIGSEGV;

	assert_true(plain == 0 || plain == SIGNALLED + SIGSEGV);
	for (int variant = 0; variant < SECCOMP_VARIANT_COUNT; variant++) {
		assert_int_equal(in_child(variant, false, call_int80, NULL), want);
		assert_int_equal(in_child(variant, false, call_x32, NULL), SIGNALLED + SIGSYS);
	}
	assert_true(in_child(NO_FILTER, false, call_x32, NULL) < SIGNALLED);
}

/* A tracer inside turns a call that passes into one that does not. */
static int tracer_changes_the_call(const void *data)
{
	struct user_regs_struct regs;
	int status;
	pid_t pid = fork();

	(void)data;
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(syscall(SYS_getppid) == -EPERM || errno == EPERM ? 7 : 8);
	}
	waitpid(pid, &status, 0);
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) != 0) {
			return errno;
		}
		waitpid(pid, &status, 0);
		if (WIFEXITED(status)) {
			return WEXITSTATUS(status);
		}
		if (ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0) {
			return errno;
		}
		if (regs.orig_rax == SYS_getppid) {
			regs.orig_rax = SYS_chroot;
			regs.rdi = P("/");
			ptrace(PTRACE_SETREGS, pid, 0, &regs);
		}
	}
}

static void test_tracer(void **state)
{
	(void)state;
	/* In a user namespace, where chroot works: only the filter can say EPERM. */
	assert_int_equal(in_child(SECCOMP_PLAIN, true, tracer_changes_the_call, NULL), 7);
	assert_int_equal(in_child(NO_FILTER, true, tracer_changes_the_call, NULL), 8);
}
#endif

static void *in_thread(void *data)
{
	*(int *)data = 1;
	return data;
}

static int use_threads(const void *data)
{
	pthread_t thread;
	int ran = 0;

	(void)data;
	int r = pthread_create(&thread, NULL, in_thread, &ran);

	if (r != 0) {
		return r;
	}
	pthread_join(thread, NULL);
	return ran == 1 ? 0 : ECHILD;
}

static int start_programs(const void *data)
{
	char *argv[] = {(char *)"true", NULL};
	char *envp[] = {NULL};
	pid_t pid;
	int status;
	int r = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp);

	(void)data;
	if (r != 0) {
		return r;
	}
	waitpid(pid, &status, 0);
	if (status != 0) {
		return ECHILD;
	}
	pid = vfork();
	if (pid == 0) {
		execve("/bin/true", argv, envp);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return status == 0 ? 0 : ECHILD;
}

/* What a debugger does: stops a child, reads its memory both ways. */
static int trace_a_child(const void *data)
{
	static long secret = 42;
	long seen = 0;
	int status;
	pid_t pid = fork();

	(void)data;
	if (pid == 0) {
		secret = 43;
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	struct iovec here = {&seen, sizeof(seen)};
	struct iovec there = {&secret, sizeof(secret)};

	if (!WIFSTOPPED(status) || ptrace(PTRACE_PEEKDATA, pid, &secret, 0) != 43 ||
	    process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof(seen) || seen != 43) {
		return ESRCH;
	}
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	return status;
}

/* A program's own filter loads on top and may listen, but takes nothing of ours away. */
static int nest_a_filter(const void *data)
{
	struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
	struct sock_filter ask[] = {
		{.code = BPF_LD | BPF_W | BPF_ABS, .k = 0},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = SYS_fsopen},
		{.code = BPF_RET | BPF_K, .k = SECCOMP_RET_USER_NOTIF},
		{.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW},
	};
	struct sock_fprog one = {1, &allow};
	struct sock_fprog two = {ARRAY_LEN(ask), ask};

	(void)data;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &one) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &two) <
		    0) {
		return errno;
	}
	/* Asked of the listener, this would wait for ever. */
	alarm(10);
	return syscall(SYS_fsopen, "tmpfs", 0) < 0 && errno == EPERM ? 0 : EBADE;
}

static void test_programs_work(void **state)
{
	(void)state;
	for (int variant = 0; variant < SECCOMP_VARIANT_COUNT; variant++) {
		assert_int_equal(in_child(variant, false, use_threads, NULL), 0);
		assert_int_equal(in_child(variant, false, start_programs, NULL), 0);
		assert_int_equal(in_child(variant, false, trace_a_child, NULL), 0);
		/* Those of --without-namespaces stand beside one that refuses the call. */
		if (variant < SECCOMP_BARE_HOST_NETWORK) {
			assert_int_equal(in_child(variant, true, nest_a_filter, NULL), 0);
		}
	}
}

/* Everything the table says of each call, so that the whole number space can be compared. */
#define ASK 0
enum when { ALL, COMMANDS, CLOSED, OPENED, BARE, BARE_ALONE };
struct named {
	long nr;
	enum when when;
	int refusal;
	bool has_tests;
};
#define RULE(when, name, error, why, ...) {SYS_##name, when, error, sizeof(#__VA_ARGS__) > 1},

static const struct named named[] = {
#include "confine/seccomp/rules.def"
};

static bool applies(enum when when, int variant)
{
	bool userns = (variant & SECCOMP_USER_NAMESPACES) != 0;

	if (variant >= SECCOMP_BARE_HOST_NETWORK) {
		return when == BARE || (when == BARE_ALONE && variant == SECCOMP_BARE);
	}
	return when == ALL || (when == COMMANDS && (variant & SECCOMP_COMMANDS) != 0) ||
	       (when == OPENED && userns) || (when == CLOSED && !userns);
}

static uint32_t expected(long nr, int variant, bool *ret_depends)
{
	*ret_depends = false;
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (named[i].nr != nr || !applies(named[i].when, variant)) {
			continue;
		}
		if (!named[i].has_tests) {
			return named[i].refusal == ASK
				       ? SECCOMP_RET_USER_NOTIF
				       : SECCOMP_RET_ERRNO | (uint32_t)named[i].refusal;
		}
		*ret_depends = true;
	}
	return SECCOMP_RET_ALLOW;
}

static void test_every_number(void **state)
{
	static const uint64_t patterns[] = {0, ~0ULL, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 1, 2};

	(void)state;
	for (int variant = 0; variant < SECCOMP_VARIANT_COUNT; variant++) {
		for (long nr = 0; nr <= (long)seccomp_newest() + 100; nr++) {
			bool depends;
			uint32_t want = expected(nr, variant, &depends);

			if (nr > (long)seccomp_newest()) {
				want = SECCOMP_RET_ERRNO | ENOSYS;
			}
			for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
				struct seccomp_data data = {.nr = (int)nr, .arch = NATIVE_ARCH};

				for (size_t a = 0; a < 6; a++) {
					data.args[a] = patterns[i];
				}
				uint32_t got = walk((enum seccomp_variant)variant, &data);

				if (!depends && got != want) {
					fail_msg("call %ld, variant %d: %#x, not %#x", nr, variant,
						 got, want);
				}
				data.arch ^= 1;
				assert_int_equal(walk((enum seccomp_variant)variant, &data),
						 SECCOMP_RET_KILL_PROCESS);
			}
		}
		/* A tracer skips a call with the number -1. */
		struct seccomp_data skipped = {.nr = -1, .arch = NATIVE_ARCH};

		assert_int_equal(walk((enum seccomp_variant)variant, &skipped), SECCOMP_RET_ALLOW);
	}
}

static void test_needs_no_new_privs(void **state)
{
	struct err err;
	size_t n;

	(void)state;
	for (int variant = 0; variant < SECCOMP_VARIANT_COUNT; variant++) {
		assert_non_null(seccomp_program((enum seccomp_variant)variant, &n));
		/* The kernel walks it for each number when it is loaded: keep it short. */
		assert_in_range(n, 30, 200);
	}
	if (geteuid() != 0) {
		assert_false(seccomp_load(SECCOMP_PLAIN, &err));
		assert_int_equal(err.code, ERR_SETUP);
		assert_int_equal(err.sys, EACCES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_tracer),
#endif
		cmocka_unit_test(test_programs_work),
		cmocka_unit_test(test_every_number),
		cmocka_unit_test(test_needs_no_new_privs),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
