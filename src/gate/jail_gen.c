/* Build-time program: jail.def -> the gate's system-call filter as a C header. libseccomp knows
 * the numbers of the calls and lays the program out; at run time it is bytes, and no library is
 * needed.
 *
 * usage: jail_gen x86_64|aarch64 OUTPUT */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Calls of later kernels get ENOSYS rather than EPERM, so that a newer C library that tries them
 * takes the older ones: file_setattr of Linux 6.17 is the last one known here. */
#define NEWEST  469U
#define X32_BIT 0x40000000U

#define TESTS_MAX   3
#define PROGRAM_MAX 4096 /* the kernel's own bound */

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define NAMESPACES                                                                                 \
	((unsigned)(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |     \
		    CLONE_NEWUTS | CLONE_NEWCGROUP))
/* O_TMPFILE without O_DIRECTORY, whose value is not the same everywhere. */
#define WRITES       ((unsigned)(O_ACCMODE | O_CREAT | O_TRUNC) | 020000000U)
#define SOCKET_TYPES 0xfU /* SOCK_TYPE_MASK of the kernel */

enum verdict { PASS, END, MISSING };

struct test {
	bool used;
	unsigned arg;
	unsigned long mask, value;
};

struct rule {
	const char *call;
	enum verdict verdict;
	struct test test[TESTS_MAX];
};

/* clang-format off */
#define IS(a, v)           {true, (a), 0xffffffffUL, (unsigned)(v)}
#define BITS(a, m, v)      {true, (a), (unsigned)(m), (unsigned)(v)}
#define ADDRESS_IS_NULL(a) {true, (a), ~0UL, 0}
#define ALLOW(name)        {#name, PASS, {{false, 0, 0, 0}}},
#define WHEN(name, ...)    {#name, PASS, {__VA_ARGS__}},
#define KILL(name, ...)    {#name, END, {__VA_ARGS__}},
#define ABSENT(name)       {#name, MISSING, {{false, 0, 0, 0}}},
/* clang-format on */

static const struct rule rules[] = {
#include "jail.def"
};

static _Noreturn void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("jail gen: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static uint32_t action(enum verdict verdict)
{
	switch (verdict) {
	case END:
		return SCMP_ACT_KILL_PROCESS;
	case MISSING:
		return SCMP_ACT_ERRNO(ENOSYS);
	case PASS:
	default:
		return SCMP_ACT_ALLOW;
	}
}

static void add(scmp_filter_ctx ctx, uint32_t arch, const struct rule *rule)
{
	struct scmp_arg_cmp tests[TESTS_MAX];
	unsigned n = 0;
	int nr = seccomp_syscall_resolve_name_arch(arch, rule->call);

	if (nr == __NR_SCMP_ERROR) {
		die("no system call is named %s", rule->call);
	}
	if (nr < 0) {
		return; /* not on this architecture */
	}
	if (nr > (int)NEWEST) {
		die("%s (%d) is above the newest number", rule->call, nr);
	}
	for (size_t i = 0; i < TESTS_MAX && rule->test[i].used; i++) {
		const struct test *t = &rule->test[i];

		tests[n++] = (struct scmp_arg_cmp){t->arg, SCMP_CMP_MASKED_EQ, t->mask, t->value};
	}
	int failed = seccomp_rule_add_array(ctx, action(rule->verdict), nr, n, tests);
	if (failed < 0) {
		die("%s: %s", rule->call, strerror(-failed));
	}
}

/* What libseccomp makes of the rules. */
static size_t compile(uint32_t arch, struct sock_filter *out)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	FILE *file = tmpfile();

	if (ctx == NULL || file == NULL) {
		die("out of memory or files");
	}
	if (arch != seccomp_arch_native() &&
	    (seccomp_arch_add(ctx, arch) < 0 || seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE) < 0)) {
		die("cannot change the architecture");
	}
	if (seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0 ||
	    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0) {
		die("libseccomp is too old");
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		add(ctx, arch, &rules[i]);
	}
	if (seccomp_export_bpf(ctx, fileno(file)) < 0) {
		die("libseccomp cannot make the filter");
	}
	rewind(file);
	size_t n = fread(out, sizeof(*out), PROGRAM_MAX, file);
	fclose(file);
	seccomp_release(ctx);
	if (n == 0 || n == PROGRAM_MAX) {
		die("the filter has %zu instructions", n);
	}
	return n;
}

/* In front of it: numbers that are not known yet. Jumps are relative, so it may be moved. */
static size_t put_front(uint32_t audit_arch, struct sock_filter *out)
{
	const struct sock_filter front[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, audit_arch, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 3),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};

	memcpy(out, front, sizeof(front));
	return sizeof(front) / sizeof(front[0]);
}

int main(int argc, char **argv)
{
	static struct sock_filter program[PROGRAM_MAX + 16];
	bool x86 = argc == 3 && strcmp(argv[1], "x86_64") == 0;

	if (argc != 3 || (!x86 && strcmp(argv[1], "aarch64") != 0)) {
		die("usage: jail_gen x86_64|aarch64 OUTPUT");
	}
	size_t n = put_front(x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, program);
	n += compile(x86 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64, program + n);
	FILE *out = fopen(argv[2], "w");
	if (out == NULL) {
		die("%s: %s", argv[2], strerror(errno));
	}
	fprintf(out,
		"/* Made from jail.def by jail_gen.c for %s. */\n#include <linux/filter.h>\n\n",
		argv[1]);
	fprintf(out, "static const struct sock_filter jail_filter[%zu] = {\n", n);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "\t{0x%02x, %u, %u, 0x%08x},\n", (unsigned)program[i].code,
			(unsigned)program[i].jt, (unsigned)program[i].jf, program[i].k);
	}
	fputs("};\n", out);
	if (fclose(out) != 0) {
		die("%s: %s", argv[2], strerror(errno));
	}
	return 0;
}
