/* Build-time program: rules.def -> BPF programs as a C header. libseccomp knows the numbers of
 * the calls on each architecture; the program itself is laid out here, because a search tree over
 * ranges of numbers with the tests of one call merged is half as long as what libseccomp makes of
 * the same rules, and the kernel walks the program once for every call number when it is loaded.
 *
 * usage: gen x86_64|aarch64 OUTPUT
 *
 * Layout: architecture, newest number, a tree of "number >= k" jumps over ranges with one verdict,
 * then the tests of single calls, then the returns. BPF jumps only forward, so the program is
 * written from its end: every target exists before the jump to it. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* The newest call this table was written against: file_setattr of Linux 6.17. All calls up to
 * here that are not in rules.def were looked at and pass; those of later kernels get ENOSYS until
 * somebody has looked at them. The numbers from 424 on are the same on every architecture. */
#define NEWEST 469U

#define PROGRAM_MAX 1024 /* instructions; the kernel takes 4,096 */
#define VALUES_MAX  8
#define TESTS_MAX   2
#define X32_BIT     0x40000000U

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define ANY_NAMESPACE                                                                              \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define SET_ID            06000U
#define CREATES           (0100U | 020000000U) /* O_CREAT, and O_TMPFILE without O_DIRECTORY */
#define MEMFD_NOEXEC_SEAL 8U                   /* Linux 6.3 */
#define SOCKET_TYPES      0xfU                 /* SOCK_TYPE_MASK of the kernel */
#define IOPRIO_OF_PROCESS 1U                   /* IOPRIO_WHO_PROCESS of linux/ioprio.h */

/* The programs: four of bits (1: commands listed, 2: user namespaces), then those of
 * --without-namespaces, with the machine's network and without any. */
#define FILTERS     6U
#define BARE_HOST   4U
#define BARE_NO_NET 5U

enum test_kind { TEST_NONE, TEST_BITS, TEST_NO_BITS, TEST_ONE_OF, TEST_NONE_OF };

struct test {
	enum test_kind kind;
	unsigned arg;
	unsigned mask; /* of BITS; before the comparison of the others, 0 when there is none */
	unsigned n;
	unsigned value[VALUES_MAX];
};

#define ASK 0U

enum variants { ALL, COMMANDS, CLOSED, OPENED, BARE, BARE_ALONE };

struct rule {
	const char *call;
	enum variants variants;
	unsigned verdict; /* errno, or ASK */
	struct test test[TESTS_MAX];
};

#define COUNT(...) (sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned))
#define BITS(a, m)                                                                                 \
	{                                                                                          \
		.kind = TEST_BITS, .arg = (a), .mask = (m)                                         \
	}
#define NO_BITS(a, m)                                                                              \
	{                                                                                          \
		.kind = TEST_NO_BITS, .arg = (a), .mask = (m)                                      \
	}
#define ONE_OF(a, ...)                                                                             \
	{                                                                                          \
		TEST_ONE_OF, (a), 0, COUNT(__VA_ARGS__),                                           \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define NONE_OF(a, ...)                                                                            \
	{                                                                                          \
		TEST_NONE_OF, (a), 0, COUNT(__VA_ARGS__),                                          \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define LOW_ONE_OF(a, m, ...)                                                                      \
	{                                                                                          \
		TEST_ONE_OF, (a), (m), COUNT(__VA_ARGS__),                                         \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define LOW_NONE_OF(a, m, ...)                                                                     \
	{                                                                                          \
		TEST_NONE_OF, (a), (m), COUNT(__VA_ARGS__),                                        \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define RULE(when, name, err, why, ...) {#name, when, err, {__VA_ARGS__}},

static const struct rule rules[] = {
#include "rules.def"
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

/* Calls younger than the oldest libseccomp this builds with (2.5.4). */
static const struct {
	const char *name;
	int number;
} young[] = {{"fchmodat2", 452},     {"lsm_set_self_attr", 460}, {"setxattrat", 463},
	     {"removexattrat", 466}, {"open_tree_attr", 467},    {"file_setattr", 469}};

static _Noreturn void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("seccomp gen: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

/* The number of a call, or -1 where the architecture has none. */
static int number_of(uint32_t arch, const char *name)
{
	int known = -1;
	int nr = seccomp_syscall_resolve_name_arch(arch, name);

	for (size_t i = 0; i < sizeof(young) / sizeof(young[0]); i++) {
		if (strcmp(young[i].name, name) == 0) {
			known = young[i].number;
		}
	}
	if (nr == __NR_SCMP_ERROR && known < 0) {
		die("no system call is named %s", name);
	}
	if (nr >= 0 && known >= 0 && nr != known) {
		die("%s is %d, not %d", name, nr, known);
	}
	if (known >= 0) {
		return known;
	}
	return nr < 0 ? -1 : nr;
}

/* A program that grows towards its front. A label is the distance of an instruction from the end,
 * 1 for the last. */
struct program {
	struct sock_filter v[PROGRAM_MAX];
	size_t n;
};

static size_t put(struct program *p, unsigned code, unsigned jt, unsigned jf, uint32_t k)
{
	if (p->n == PROGRAM_MAX) {
		die("the program grew over %d instructions", PROGRAM_MAX);
	}
	p->n++;
	p->v[PROGRAM_MAX - p->n] = (struct sock_filter){
		.code = (uint16_t)code, .jt = (uint8_t)jt, .jf = (uint8_t)jf, .k = k};
	return p->n;
}

/* A label that a conditional jump put `ahead` instructions further to the front can still reach:
 * `target`, or a copy of it when it is a return, or a plain jump to it. */
static size_t within_reach(struct program *p, size_t target, size_t ahead)
{
	const struct sock_filter *at = &p->v[PROGRAM_MAX - target];

	if (p->n + ahead - target <= 255) {
		return target;
	}
	if (at->code == (BPF_RET | BPF_K)) {
		return put(p, BPF_RET | BPF_K, 0, 0, at->k);
	}
	return put(p, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(p->n - target));
}

/* The label of an equal jump that is there already, or 0. */
static size_t same_jump(const struct program *p, unsigned op, uint32_t k, size_t yes, size_t no)
{
	for (size_t at = 1; at <= p->n; at++) {
		const struct sock_filter *f = &p->v[PROGRAM_MAX - at];

		if (f->code == (BPF_JMP | op | BPF_K) && f->k == k && at - 1 - f->jt == yes &&
		    at - 1 - f->jf == no) {
			return at;
		}
	}
	return 0;
}

static size_t jump(struct program *p, unsigned op, uint32_t k, size_t yes, size_t no)
{
	if (yes == no) {
		return yes;
	}
	size_t same = same_jump(p, op, k, yes, no);

	if (same != 0) {
		return same;
	}
	/* Making one reachable may add an instruction before the other; 2 leaves room for both. */
	yes = within_reach(p, yes, 2);
	no = within_reach(p, no, 1);
	return put(p, BPF_JMP | op | BPF_K, (unsigned)(p->n - yes), (unsigned)(p->n - no), k);
}

/* What runs after the instruction at `at`, past a plain jump. */
static size_t after(const struct program *p, size_t at)
{
	const struct sock_filter *f = &p->v[PROGRAM_MAX - at + 1];

	return f->code == (BPF_JMP | BPF_JA) ? at - 2 - f->k : at - 1;
}

/* A load or an AND, after which `next` comes. An equal one that is there already is used again. */
static size_t step(struct program *p, unsigned code, uint32_t k, size_t next)
{
	for (size_t at = 2; at <= p->n; at++) {
		const struct sock_filter *f = &p->v[PROGRAM_MAX - at];

		if (f->code == code && f->k == k && after(p, at) == next) {
			return at;
		}
	}
	if (next != p->n) {
		put(p, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(p->n - next));
	}
	return put(p, code, 0, 0, k);
}

static size_t load(struct program *p, size_t offset, size_t next)
{
	return step(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, next);
}

static size_t put_return(struct program *p, uint32_t verdict)
{
	return put(p, BPF_RET | BPF_K, 0, 0, verdict);
}

static size_t put_test(struct program *p, const struct test *test, size_t yes, size_t no)
{
	size_t at = test->kind == TEST_ONE_OF ? no : yes;

	switch (test->kind) {
	case TEST_BITS:
		at = jump(p, BPF_JSET, test->mask, yes, no);
		break;
	case TEST_NO_BITS:
		at = jump(p, BPF_JSET, test->mask, no, yes);
		break;
	case TEST_ONE_OF:
	case TEST_NONE_OF:
		for (unsigned i = test->n; i-- > 0;) {
			at = test->kind == TEST_ONE_OF ? jump(p, BPF_JEQ, test->value[i], yes, at)
						       : jump(p, BPF_JEQ, test->value[i], no, at);
		}
		if (test->mask != 0) {
			at = step(p, BPF_ALU | BPF_AND | BPF_K, test->mask, at);
		}
		break;
	case TEST_NONE:
	default:
		return yes;
	}
	/* The low half of an argument comes first: both architectures are little-endian. */
	return load(p, offsetof(struct seccomp_data, args) + 8 * (size_t)test->arg, at);
}

/* Whether a rule belongs to a program. */
static bool applies(const struct rule *rule, unsigned variant)
{
	if (variant >= BARE_HOST) {
		return rule->variants == BARE ||
		       (rule->variants == BARE_ALONE && variant == BARE_NO_NET);
	}
	switch (rule->variants) {
	case BARE:
	case BARE_ALONE:
		return false;
	case COMMANDS:
		return (variant & 1U) != 0;
	case CLOSED:
		return (variant & 2U) == 0;
	case OPENED:
		return (variant & 2U) != 0;
	case ALL:
	default:
		return true;
	}
}

/* Labels of the returns, made once each. */
struct returns {
	size_t allow;
	size_t refuse[134]; /* by errno; 0: not made yet */
};

static size_t refusal(struct program *p, struct returns *returns, unsigned error)
{
	if (returns->refuse[error] == 0) {
		returns->refuse[error] = put_return(p, error == ASK ? SECCOMP_RET_USER_NOTIF
								    : SECCOMP_RET_ERRNO | error);
	}
	return returns->refuse[error];
}

/* The rules of one call, first to last; the label to jump to for it. */
static size_t put_call(struct program *p, struct returns *returns, const char *call,
		       unsigned variant)
{
	size_t next = returns->allow;

	for (size_t i = RULES; i-- > 0;) {
		if (strcmp(rules[i].call, call) != 0 || !applies(&rules[i], variant)) {
			continue;
		}
		size_t at = refusal(p, returns, rules[i].verdict);

		for (size_t t = TESTS_MAX; t-- > 0;) {
			at = put_test(p, &rules[i].test[t], at, next);
		}
		next = at;
	}
	return next;
}

/* A stretch of numbers with one verdict: from `first` to the next range's. */
struct range {
	unsigned first;
	size_t label;
};

static size_t put_tree(struct program *p, const struct range *v, size_t n)
{
	if (n == 1) {
		return v[0].label;
	}
	size_t half = n / 2;
	size_t upper = put_tree(p, v + half, n - half);
	size_t lower = put_tree(p, v, half);

	return jump(p, BPF_JGE, v[half].first, upper, lower);
}

static size_t put_numbers(struct program *p, struct returns *returns, uint32_t arch,
			  unsigned variant)
{
	size_t label[NEWEST + 1];
	struct range ranges[NEWEST + 1];
	size_t n = 1;

	for (size_t i = 0; i <= NEWEST; i++) {
		label[i] = returns->allow;
	}
	/* The returns stand last, so that they are near to all. */
	for (size_t i = 0; i < RULES; i++) {
		refusal(p, returns, rules[i].verdict);
	}
	for (size_t i = 0; i < RULES; i++) {
		int nr = number_of(arch, rules[i].call);

		if (nr > (int)NEWEST) {
			die("%s (%d) is above the newest number", rules[i].call, nr);
		}
		if (nr >= 0 && label[nr] == returns->allow) {
			label[nr] = put_call(p, returns, rules[i].call, variant);
		}
	}
	ranges[0] = (struct range){.first = 0, .label = label[0]};
	for (unsigned i = 1; i <= NEWEST; i++) {
		if (ranges[n - 1].label != label[i]) {
			ranges[n++] = (struct range){.first = i, .label = label[i]};
		}
	}
	return put_tree(p, ranges, n);
}

static void make(struct program *p, uint32_t arch, uint32_t audit_arch, unsigned variant)
{
	struct returns returns = {0};

	p->n = 0;
	size_t kill = put_return(p, SECCOMP_RET_KILL_PROCESS);

	returns.allow = put_return(p, SECCOMP_RET_ALLOW);
	size_t absent = refusal(p, &returns, ENOSYS);
	/* A tracer skips a call by making its number -1: not x32. */
	size_t high = arch == SCMP_ARCH_X86_64 ? jump(p, BPF_JGE, X32_BIT, kill, absent) : absent;

	high = jump(p, BPF_JEQ, 0xffffffffU, returns.allow, high);
	size_t at = put_numbers(p, &returns, arch, variant);

	at = jump(p, BPF_JGT, NEWEST, high, at);
	at = load(p, offsetof(struct seccomp_data, nr), at);
	at = jump(p, BPF_JEQ, audit_arch, at, kill);
	/* The kernel starts at the front: nothing may stand before this. */
	if (load(p, offsetof(struct seccomp_data, arch), at) != p->n) {
		die("the program does not begin with its first test");
	}
}

int main(int argc, char **argv)
{
	static struct program program;
	bool x86 = argc == 3 && strcmp(argv[1], "x86_64") == 0;

	if (argc != 3 || (!x86 && strcmp(argv[1], "aarch64") != 0)) {
		die("usage: gen x86_64|aarch64 OUTPUT");
	}
	FILE *out = fopen(argv[2], "w");

	if (out == NULL) {
		die("%s: %s", argv[2], strerror(errno));
	}
	fprintf(out, "/* Made from rules.def by gen.c for %s. */\n#include <linux/filter.h>\n\n",
		argv[1]);
	fprintf(out, "#define SECCOMP_NEWEST %uU\n", NEWEST);
	for (unsigned variant = 0; variant < FILTERS; variant++) {
		make(&program, x86 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64,
		     x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, variant);
		fprintf(out, "\nstatic const struct sock_filter seccomp_filter_%u[%zu] = {\n",
			variant, program.n);
		for (size_t i = PROGRAM_MAX - program.n; i < PROGRAM_MAX; i++) {
			const struct sock_filter *f = &program.v[i];

			fprintf(out, "\t{0x%02x, %u, %u, 0x%08x},\n", (unsigned)f->code,
				(unsigned)f->jt, (unsigned)f->jf, f->k);
		}
		fputs("};\n", out);
	}
	if (fclose(out) != 0) {
		die("%s: %s", argv[2], strerror(errno));
	}
	return 0;
}
