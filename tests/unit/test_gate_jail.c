/* The gate's jail, on the real kernel: each call is made in a child that has entered it, and, where
 * that harms nothing, in one that has not, which must see something else. Then what must go on
 * working in it: name look-ups in threads, sockets, libraries loaded late. */
#include "gate/jail.h"

#include "base/str.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef TCP_ULP
#define TCP_ULP 31
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SYS_open
#define SYS_open (-1)
#define SYS_fork (-1)
#endif

#define SIGNALLED   1000 /* + the signal that ended the child */
#define CHILD_BROKE 900
#define NOT_TRIED   (-1)
#define ANY_RESULT  (-2)
#define SOCKET      50 /* a TCP socket, made before the jail */
#define FILE_FD     51 /* a file open for reading and writing, made before it */

#define P(pointer) ((unsigned long)(uintptr_t)(pointer))

struct row {
	const char *what;
	long nr;
	unsigned long args[6];
	int want;    /* errno in the jail, 0: success, SIGNALLED + signal */
	int without; /* the same outside, or NOT_TRIED, ANY_RESULT */
};

/* Runs `body` in a child; what it returned, or SIGNALLED + the signal. */
static int in_child(bool jailed, int (*body)(const void *), const void *data)
{
	int ends[2];
	int result = CHILD_BROKE;
	int status;
	struct err err;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* cmocka's handlers would go on with the next test. */
		for (int sig = 1; sig < NSIG; sig++) {
			signal(sig, SIG_DFL);
		}
		char name[] = "/tmp/test_gate_jail.XXXXXX";
		int file = mkstemp(name);

		unlink(name);
		dup2(file, FILE_FD);
		dup2(socket(AF_INET, SOCK_STREAM, 0), SOCKET);
		if (jailed && !jail_enter(&err)) {
			fprintf(stderr, "%s\n", err.msg);
			_exit(1);
		}
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

static int make_call(const void *data)
{
	const struct row *row = data;
	const unsigned long *a = row->args;

	errno = 0;
	long r = syscall(row->nr, a[0], a[1], a[2], a[3], a[4], a[5]);

	if (r == 0 && (row->nr == SYS_clone || row->nr == SYS_fork)) {
		_exit(0); /* the grandchild: the pipe is its parent's */
	}
	return r == -1 ? errno : 0;
}

static void check_rows(const struct row *rows, size_t n)
{
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].nr < 0) {
			continue; /* not on this architecture */
		}
		int got = in_child(true, make_call, &rows[i]);

		if (got != rows[i].want) {
			print_message("%s: %d, not %d\n", rows[i].what, got, rows[i].want);
			bad++;
		}
		if (rows[i].without == NOT_TRIED) {
			continue;
		}
		got = in_child(false, make_call, &rows[i]);
		if (rows[i].without != ANY_RESULT && got != rows[i].without) {
			print_message("%s outside: %d, not %d\n", rows[i].what, got,
				      rows[i].without);
			bad++;
		}
	}
	assert_int_equal(bad, 0);
}
#define CHECK(rows) check_rows(rows, ARRAY_LEN(rows))

/* clang-format off */
static void test_kills(void **state)
{
	static char word[] = "true";
	static char *const argv[] = {word, NULL};
	static char *const envp[] = {NULL};
	static const struct row rows[] = {
		{"execve", SYS_execve, {P("/bin/true"), P(argv), P(envp)}, SIGNALLED + SIGSYS, NOT_TRIED},
		{"execveat", SYS_execveat, {~99UL, P("/bin/true"), P(argv), P(envp), 0}, SIGNALLED + SIGSYS, NOT_TRIED},
		{"fork", SYS_fork, {0}, SIGNALLED + SIGSYS, 0},
		{"clone", SYS_clone, {SIGCHLD}, SIGNALLED + SIGSYS, 0},
		{"clone of memory only", SYS_clone, {CLONE_VM | CLONE_SIGHAND, 0}, SIGNALLED + SIGSYS, NOT_TRIED},
		{"ptrace", SYS_ptrace, {16, 1, 0, 0}, SIGNALLED + SIGSYS, ANY_RESULT},
		{"process_vm_readv", SYS_process_vm_readv, {1, 0, 0, 0, 0, 0}, SIGNALLED + SIGSYS, ANY_RESULT},
		{"process_vm_writev", SYS_process_vm_writev, {1, 0, 0, 0, 0, 0}, SIGNALLED + SIGSYS, ANY_RESULT},
		{"pidfd_getfd", SYS_pidfd_getfd, {99, 0, 0}, SIGNALLED + SIGSYS, EBADF},
#ifdef __x86_64__
		{"x32 read", 0x40000000L, {99, 0, 0}, SIGNALLED + SIGSYS, ANY_RESULT},
#endif
	};

	(void)state;
	CHECK(rows);
}

static void test_files(void **state)
{
	static const struct row rows[] = {
		{"read /etc", SYS_openat, {~99UL, P("/etc/hosts"), O_RDONLY}, 0, 0},
		{"list /usr/lib", SYS_openat, {~99UL, P("/usr/lib"), O_RDONLY | O_DIRECTORY}, 0, 0},
		{"write", SYS_openat, {~99UL, P("/dev/null"), O_WRONLY}, EPERM, 0},
		{"read and write", SYS_openat, {~99UL, P("/dev/null"), O_RDWR}, EPERM, 0},
		{"high bits", SYS_openat, {~99UL, P("/dev/null"), 1UL << 32 | O_RDWR}, EPERM, 0},
		{"create", SYS_openat, {~99UL, P("/tmp/test_gate_jail"), O_RDONLY | O_CREAT, 0600}, EPERM, NOT_TRIED},
		{"truncate", SYS_openat, {~99UL, P("/dev/null"), O_RDONLY | O_TRUNC}, EPERM, ANY_RESULT},
		{"tmpfile", SYS_openat, {~99UL, P("/tmp"), O_RDWR | O_TMPFILE, 0600}, EPERM, ANY_RESULT},
		{"open to write", SYS_open, {P("/dev/null"), O_WRONLY}, EPERM, 0},
		{"openat2", SYS_openat2, {~99UL, P("/etc/hosts"), 0, 0}, ENOSYS, EINVAL},
		/* Landlock's part. */
		{"read /tmp", SYS_openat, {~99UL, P("/tmp"), O_RDONLY | O_DIRECTORY}, EACCES, 0},
		{"read /proc", SYS_openat, {~99UL, P("/proc/self/status"), O_RDONLY}, EACCES, 0},
		{"read /dev", SYS_openat, {~99UL, P("/dev/null"), O_RDONLY}, EACCES, 0},
		{"read /var", SYS_openat, {~99UL, P("/var"), O_RDONLY | O_DIRECTORY}, EACCES, 0},
		{"read /run", SYS_openat, {~99UL, P("/run"), O_RDONLY | O_DIRECTORY}, EACCES, 0},
		{"unlink", SYS_unlinkat, {~99UL, P("/tmp/none"), 0}, EPERM, ENOENT},
		{"mkdir", SYS_mkdirat, {~99UL, P("/none/none"), 0}, EPERM, ENOENT},
		{"rename", SYS_renameat2, {~99UL, P("/none"), ~99UL, P("/none2"), 0}, EPERM, ENOENT},
		{"link", SYS_linkat, {~99UL, P("/none"), ~99UL, P("/none2"), 0}, EPERM, ENOENT},
		{"symlink", SYS_symlinkat, {P("/none"), ~99UL, P("/none/2")}, EPERM, ENOENT},
		{"fchmod", SYS_fchmod, {FILE_FD, 0600}, EPERM, 0},
		{"ftruncate", SYS_ftruncate, {FILE_FD, 0}, EPERM, 0},
		{"chdir", SYS_chdir, {P("/")}, EPERM, 0},
		{"memfd_create", SYS_memfd_create, {P("x"), 0}, EPERM, 0},
		{"lock", SYS_fcntl, {FILE_FD, F_SETLK, P("")}, EPERM, ANY_RESULT},
		{"signals by a file", SYS_fcntl, {FILE_FD, F_SETOWN, 1}, EPERM, ANY_RESULT},
		{"TIOCSTI", SYS_ioctl, {0, 0x5412, P("x")}, EPERM, NOT_TRIED},
	};

	(void)state;
	CHECK(rows);
}

static void test_memory(void **state)
{
	static const struct row rows[] = {
		{"map", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0UL, 0}, 0, 0},
		{"map to execute", SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~0UL, 0}, EPERM, 0},
		{"map to write and execute", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~0UL, 0}, EPERM, 0},
		{"map a file to write and execute", SYS_mmap, {0, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE, FILE_FD, 0}, EPERM, 0},
		{"make executable", SYS_mprotect, {0x1000, 4096, PROT_READ | PROT_EXEC}, EPERM, ENOMEM},
		{"make read only", SYS_mprotect, {0x1000, 4096, PROT_READ}, ENOMEM, ENOMEM},
		{"pkey_mprotect", SYS_pkey_mprotect, {0x1000, 4096, PROT_EXEC, ~0UL}, EPERM, ENOMEM},
	};

	(void)state;
	CHECK(rows);
}

static void test_sockets(void **state)
{
	static const int on = 1;
	static int value;
	static socklen_t room = sizeof(value);
	static const struct sockaddr_in any = {.sin_family = AF_INET};
	static const struct row rows[] = {
		{"tcp", SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0}, 0, 0},
		{"tcp6", SYS_socket, {AF_INET6, SOCK_STREAM, IPPROTO_TCP}, 0, 0},
		{"udp", SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_UDP}, 0, 0},
		{"udp6", SYS_socket, {AF_INET6, SOCK_DGRAM, 0}, 0, 0},
		{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0, 0},
		{"routes", SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE}, 0, 0},
		{"raw", SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, EPERM, ANY_RESULT},
		{"ping", SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, EPERM, ANY_RESULT},
		{"mptcp", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_MPTCP}, EPERM, ANY_RESULT},
		{"sctp", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, EPERM, ANY_RESULT},
		{"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EPERM, ANY_RESULT},
		{"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EPERM, ANY_RESULT},
		{"alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EPERM, ANY_RESULT},
		{"netlink of other kinds", SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}, EPERM, 0},
		{"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P("")}, EPERM, ANY_RESULT},
		{"listen", SYS_listen, {SOCKET, 1}, EPERM, 0},
		{"bind", SYS_bind, {SOCKET, P(&any), sizeof(any)}, EACCES, 0},
		{"nodelay", SYS_setsockopt, {SOCKET, IPPROTO_TCP, TCP_NODELAY, P(&on), sizeof(on)}, 0, 0},
		{"keepalive", SYS_setsockopt, {SOCKET, SOL_SOCKET, SO_KEEPALIVE, P(&on), sizeof(on)}, 0, 0},
		{"recverr", SYS_setsockopt, {SOCKET, IPPROTO_IP, IP_RECVERR, P(&on), sizeof(on)}, 0, 0},
		{"kernel tls", SYS_setsockopt, {SOCKET, IPPROTO_TCP, TCP_ULP, P("tls"), 3}, EPERM, ANY_RESULT},
		{"filter", SYS_setsockopt, {SOCKET, SOL_SOCKET, SO_ATTACH_FILTER, 0, 0}, EPERM, EINVAL},
		{"multicast", SYS_setsockopt, {SOCKET, IPPROTO_IP, IP_ADD_MEMBERSHIP, 0, 0}, EPERM, ANY_RESULT},
		{"option", SYS_getsockopt, {SOCKET, SOL_SOCKET, SO_ERROR, P(&value), P(&room)}, 0, 0},
	};

	(void)state;
	CHECK(rows);
}

static void test_the_rest(void **state)
{
	static const struct rlimit limit = {100, 100};
	static struct rlimit read_limit;
	static const struct row rows[] = {
		{"kill init", SYS_kill, {1, 0}, EPERM, ANY_RESULT},
		{"signal the group", SYS_kill, {0, 0}, EPERM, 0},
		{"tgkill", SYS_tgkill, {1, 1, 0}, EPERM, ANY_RESULT},
		{"pidfd_open", SYS_pidfd_open, {1, 0}, EPERM, ANY_RESULT},
		{"unshare", SYS_unshare, {CLONE_NEWUSER}, EPERM, ANY_RESULT},
		{"setns", SYS_setns, {99, 0}, EPERM, EBADF},
		{"mount", SYS_mount, {0, P("/none"), 0, 0, 0}, EPERM, ANY_RESULT},
		{"bpf", SYS_bpf, {0, 0, 0}, EPERM, ANY_RESULT},
		{"perf", SYS_perf_event_open, {0, 0, 0, 0, 0}, EPERM, ANY_RESULT},
		{"userfaultfd", SYS_userfaultfd, {0xffff}, EPERM, ANY_RESULT},
		{"keyctl", SYS_keyctl, {0, ~2UL, 0}, EPERM, ANY_RESULT},
		{"add_key", SYS_add_key, {0, 0, 0, 0, 0}, EPERM, ANY_RESULT},
		{"prctl", SYS_prctl, {PR_SET_DUMPABLE, 1}, EPERM, 0},
		{"own limit", SYS_prlimit64, {0, RLIMIT_NOFILE, 0, P(&read_limit)}, 0, 0},
		{"another limit", SYS_prlimit64, {0, RLIMIT_NOFILE, P(&limit), 0}, EPERM, 0},
		{"another's limit", SYS_prlimit64, {1, RLIMIT_NOFILE, 0, P(&read_limit)}, EPERM, ANY_RESULT},
		{"inotify", SYS_inotify_init1, {0}, EPERM, 0},
		{"setsid", SYS_setsid, {0}, EPERM, 0},
		{"setuid", SYS_setuid, {0}, EPERM, ANY_RESULT},
		{"clone3", SYS_clone3, {0, 0}, ENOSYS, EINVAL},
		{"io_uring_setup", SYS_io_uring_setup, {0, 0}, ENOSYS, ANY_RESULT},
		{"a call of the future", 600, {0}, ENOSYS, ENOSYS},
	};

	(void)state;
	CHECK(rows);
}
/* clang-format on */

/* --- what goes on working ------------------------------------------------------------------- */

/* No name of this machine's business: those that every file has, a literal, and two that nobody
 * has, one of them mDNS's. */
static const char *const names[] = {"localhost", "ip6-localhost", "127.0.0.1",
				    "::1",       "none.invalid",  "none.local"};

struct answer {
	const char *name;
	int status;
	unsigned n;
};

static void *look_up(void *data)
{
	struct answer *a = data;
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list = NULL;

	a->status = getaddrinfo(a->name, NULL, &hints, &list);
	if (a->status != 0) {
		return NULL;
	}
	for (const struct addrinfo *i = list; i != NULL; i = i->ai_next) {
		a->n++;
	}
	freeaddrinfo(list);
	return NULL;
}

struct answers {
	struct answer v[ARRAY_LEN(names)];
};

static int look_all_up(const void *data)
{
	struct answers *shared = *(struct answers *const *)data;
	struct answers mine = {0};
	pthread_t threads[ARRAY_LEN(names)];

	/* At the same time, each the first of its process. */
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		mine.v[i].name = names[i];
		if (pthread_create(&threads[i], NULL, look_up, &mine.v[i]) != 0) {
			return 1;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		pthread_join(threads[i], NULL);
	}
	*shared = mine;
	return 0;
}

static void test_names_are_looked_up(void **state)
{
	struct answers *in = mmap(NULL, 2 * sizeof(*in), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct answers *out = in + 1;

	(void)state;
	assert_ptr_not_equal(in, MAP_FAILED);
	assert_int_equal(in_child(true, look_all_up, &in), 0);
	assert_int_equal(in_child(false, look_all_up, &out), 0);
	assert_int_equal(in->v[0].status, 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (in->v[i].status != out->v[i].status || in->v[i].n != out->v[i].n) {
			fail_msg("%s: status %d with %u addresses, outside %d with %u", names[i],
				 in->v[i].status, in->v[i].n, out->v[i].status, out->v[i].n);
		}
	}
	munmap(in, 2 * sizeof(*in));
}

/* As a module of nsswitch.conf is: by name, found through the linker's cache. */
static int load_library(const void *data)
{
	void *library = dlopen(data, RTLD_NOW);

	return library != NULL ? 0 : 1;
}

static void test_modules_load(void **state)
{
	(void)state;
	assert_int_equal(in_child(true, load_library, "libnss_dns.so.2"), 0);
	assert_int_equal(in_child(true, load_library, "libnss_compat.so.2"), 0);
}

/* Listened before, accepted in jail; and a connection out of it. */
static int call_itself(const void *data)
{
	int listener = *(const int *)data;
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	char byte = 'x';
	int pipe_ends[2];

	if (getsockname(listener, (struct sockaddr *)&at, &len) != 0) {
		return 1;
	}
	int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(out, (const struct sockaddr *)&at, len) != 0) {
		return 2;
	}
	int in = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (in < 0 || send(out, &byte, 1, MSG_NOSIGNAL) != 1) {
		return 3;
	}
	if (pipe2(pipe_ends, O_CLOEXEC) != 0 || splice(in, NULL, pipe_ends[1], NULL, 1, 0) != 1) {
		return 4;
	}
	return read(pipe_ends[0], &byte, 1) == 1 && byte == 'x' ? 0 : 5;
}

static void test_calls_go_on(void **state)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(in_child(true, call_itself, &listener), 0);
	close(listener);
}

static int wait_long(const void *data)
{
	char byte;

	return (int)read(*(const int *)data, &byte, 1);
}

/* What others see of it. */
static void test_closed_to_others(void **state)
{
	char text[4096] = "";
	char path[64];
	struct stat st;
	int go[2];
	int ready[2];
	struct err err;

	(void)state;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		bool ok = jail_enter(&err);

		(void)!write(ready[1], &ok, 1);
		_exit(wait_long(&go[0]));
	}
	bool ok = false;
	assert_int_equal(read(ready[0], &ok, 1), 1);
	assert_true(ok);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_non_null(strstr(text, "NoNewPrivs:\t1"));
	assert_non_null(strstr(text, "Seccomp:\t2"));
	assert_non_null(strstr(text, "CapEff:\t0000000000000000"));
	assert_non_null(strstr(text, "CapPrm:\t0000000000000000"));
	assert_non_null(strstr(text, "CapAmb:\t0000000000000000"));
	/* Not dumpable: its files in /proc are root's. */
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	close(go[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kills),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_the_rest),
		cmocka_unit_test(test_names_are_looked_up),
		cmocka_unit_test(test_modules_load),
		cmocka_unit_test(test_calls_go_on),
		cmocka_unit_test(test_closed_to_others),
	};

	return cmocka_run_group_tests_name("gate jail", tests, NULL, NULL);
}
