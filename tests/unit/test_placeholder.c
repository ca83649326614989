/* Placeholders and their registry: made, shared, removed; and whatever is killed whenever, one more
 * run leaves nothing. */
#include "confine/placeholder.h"

#include "base/arena.h"
#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* An ordinary user for tests that root runs. */
#define SOME_UID 47111

struct place {
	char top[64];     /* of everything */
	char project[96]; /* a granted folder */
	char state[96];   /* Link's state folder; does not exist at first */
	int base;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	if (type != FTW_SL && type != FTW_SLN) {
		(void)chmod(path, 0700); /* it would follow a link out of here */
	}
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

static int unlock_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	return type == FTW_D ? chmod(path, 0700) : 0;
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->top, "/tmp/lnk-placeholder-XXXXXX");
	if (mkdtemp(p->top) == NULL) {
		return -1;
	}
	snprintf(p->project, sizeof(p->project), "%s/project", p->top);
	snprintf(p->state, sizeof(p->state), "%s/home/state/link", p->top);
	if (mkdir(p->project, 0755) < 0) {
		return -1;
	}
	p->base = open(p->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return p->base < 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	close(p->base);
	nftw(p->top, unlock_one, 16, FTW_PHYS);
	nftw(p->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(p);
	return 0;
}

static char *in_project(const struct place *p, const char *rel)
{
	static char path[8][PATH_MAX];
	static unsigned turn;
	char *out = path[turn++ % 8];

	snprintf(out, PATH_MAX, "%s/%s", p->project, rel);
	return out;
}

static struct placeholder_want want(const struct place *p, const char *rel)
{
	return (struct placeholder_want){
		.base_fd = p->base, .base_len = strlen(p->project), .path = in_project(p, rel)};
}

static bool exists(const struct place *p, const char *rel)
{
	return access(in_project(p, rel), F_OK) == 0;
}

/* Number of entries of a folder; -1 when it does not exist. */
static int count(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	if (d == NULL) {
		return -1;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		n += str_eq(e->d_name, ".") || str_eq(e->d_name, "..") ? 0 : 1;
	}
	closedir(d);
	return n;
}

/* Records in the registry: its entries but for the lock. */
static int records(const struct place *p)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/placeholders", p->state);
	int n = count(path);
	return n < 0 ? n : n - 1;
}

static void make(struct placeholders *ph, const struct place *p, size_t n, ...)
{
	struct placeholder_want wants[8];
	struct err err = {.code = 0};
	va_list ap;

	assert_true(n <= 8);
	va_start(ap, n);
	for (size_t i = 0; i < n; i++) {
		wants[i] = want(p, va_arg(ap, const char *));
	}
	va_end(ap);
	if (!placeholders_make(ph, wants, n, &err)) {
		fail_msg("placeholders_make: %s", err.msg);
	}
}

static void test_made_and_removed(void **state)
{
	struct place *p = *state;
	struct placeholders ph;
	struct stat st;

	mkdir(in_project(p, ".git"), 0755);
	placeholders_init(&ph, p->state);
	make(&ph, p, 3, ".git", ".idea", ".vscode");
	assert_int_equal(lstat(in_project(p, ".idea"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 0222, 0);
	assert_true(exists(p, ".vscode"));
	assert_int_equal(records(p), 1);
	assert_int_equal(stat(p->state, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);

	placeholders_end(&ph, false);
	assert_int_equal(count(p->project), 1);
	assert_true(exists(p, ".git"));
	assert_int_equal(records(p), 0);
}

static void test_nothing_needed_nothing_made(void **state)
{
	struct place *p = *state;
	struct placeholders ph;

	mkdir(in_project(p, ".git"), 0755);
	placeholders_init(&ph, p->state);
	make(&ph, p, 1, ".git");
	placeholders_end(&ph, false);
	placeholders_sweep(p->state);
	assert_int_equal(access(p->state, F_OK), -1);
}

static void test_two_runs_share(void **state)
{
	struct place *p = *state;
	struct placeholders a;
	struct placeholders b;

	placeholders_init(&a, p->state);
	placeholders_init(&b, p->state);
	make(&a, p, 2, ".idea", "sub/dir/secret");
	make(&b, p, 3, ".idea", ".vscode", "sub/dir/other");
	placeholders_end(&a, false);
	assert_true(exists(p, ".idea"));
	assert_false(exists(p, "sub/dir/secret"));
	assert_true(exists(p, "sub/dir/other"));
	placeholders_end(&b, false);
	assert_int_equal(count(p->project), 0);
	assert_int_equal(records(p), 0);
}

static void test_folders_on_the_way(void **state)
{
	struct place *p = *state;
	struct placeholders ph;
	struct stat st;

	mkdir(in_project(p, "have"), 0755);
	placeholders_init(&ph, p->state);
	make(&ph, p, 5, "a/b/c", "a/b/d", "a/e", "have/x/y", "have/x/z");
	assert_int_equal(stat(in_project(p, "a/b"), &st), 0);
	assert_int_equal(st.st_mode & (07000 | 0200), 0200);
	assert_int_equal(stat(in_project(p, "a/b/d"), &st), 0);
	assert_int_equal(st.st_mode & 0222, 0);
	assert_true(exists(p, "a/e"));
	assert_true(exists(p, "have/x/z"));
	/* Each folder is listed once: "a", "a/b" and "have/x" and five names. */
	assert_int_equal(ph.own.n, 8);

	/* What the run left there keeps its folder, no more. */
	close(open(in_project(p, "a/b/kept"), O_CREAT | O_WRONLY, 0644));
	placeholders_end(&ph, false);
	assert_int_equal(count(in_project(p, "a")), 1);
	assert_int_equal(count(in_project(p, "a/b")), 1);
	assert_int_equal(count(in_project(p, "have")), 0);
}

static void test_made_real_stays(void **state)
{
	struct place *p = *state;
	struct placeholders ph;

	placeholders_init(&ph, p->state);
	make(&ph, p, 4, "filled", "file", "own", "replaced");
	chmod(in_project(p, "filled"), 0755);
	mkdir(in_project(p, "filled/hooks"), 0755);
	chmod(in_project(p, "filled"), 0555);
	rmdir(in_project(p, "file"));
	close(open(in_project(p, "file"), O_CREAT | O_WRONLY, 0644));
	chmod(in_project(p, "own"), 0755);
	rmdir(in_project(p, "replaced"));
	mkdir(in_project(p, "replaced"), 0755);
	placeholders_end(&ph, false);
	assert_int_equal(count(p->project), 4);
	assert_int_equal(records(p), 0);
	placeholders_sweep(p->state);
	assert_int_equal(count(p->project), 4);
}

static void test_any_bytes_in_names(void **state)
{
	struct place *p = *state;
	static const char *const names[] = {"a\nb", "\xff\xfe", "q'\"\\", "%s%n", "m/i:1:2:/x"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct placeholders ph;

		placeholders_init(&ph, p->state);
		make(&ph, p, 1, names[i]);
		assert_true(exists(p, names[i]));
		/* As after a kill: the record alone has to do. */
		placeholders_end_record(p->state, fd_take(&ph.run_fd));
		placeholders_end(&ph, false);
		assert_int_equal(count(p->project), 0);
		assert_int_equal(records(p), 0);
	}
}

static void test_again_in_one_run(void **state)
{
	struct place *p = *state;
	struct placeholders ph;

	placeholders_init(&ph, p->state);
	make(&ph, p, 1, ".idea");
	for (int i = 0; i < 5; i++) {
		rmdir(in_project(p, ".idea"));
		make(&ph, p, 1, ".idea");
		assert_true(exists(p, ".idea"));
	}
	assert_int_equal(records(p), 1);
	placeholders_end(&ph, false);
	assert_int_equal(count(p->project), 0);
}

static void test_moved_project(void **state)
{
	struct place *p = *state;
	struct placeholders ph;
	char moved[PATH_MAX];

	placeholders_init(&ph, p->state);
	make(&ph, p, 2, ".idea", "a/b");
	snprintf(moved, sizeof(moved), "%s/moved", p->top);
	assert_int_equal(rename(p->project, moved), 0);
	placeholders_end(&ph, false);
	assert_int_equal(count(moved), 0);
}

/* Runs `body` in a child as an ordinary user who owns the place; it passes when `body` returns. */
static void as_user(struct place *p, void (*body)(struct place *))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && (chown(p->top, SOME_UID, SOME_UID) < 0 ||
				       chown(p->project, SOME_UID, SOME_UID) < 0 ||
				       setresgid(SOME_UID, SOME_UID, SOME_UID) < 0 ||
				       setresuid(SOME_UID, SOME_UID, SOME_UID) < 0)) {
			_exit(99);
		}
		body(p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* In a child assertions cannot report: its exit status is the line. */
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
			_exit(98);                                                                 \
		}                                                                                  \
	} while (0)

static void closed_folder(struct place *p)
{
	struct placeholders ph;
	struct placeholder_want w[] = {want(p, "ok"), want(p, "sub/.git")};
	struct err err = {.code = 0};

	CHECK(mkdir(in_project(p, "sub"), 0555) == 0);
	w[1].from = (struct origin){.file = "app.toml", .line = 7, .col = 3};
	placeholders_init(&ph, p->state);
	CHECK(!placeholders_make(&ph, w, 2, &err));
	CHECK(err.code == ERR_SETUP);
	CHECK(err.line == 7);
	CHECK(strstr(err.msg, "sub is yours, but not writable") != NULL);
	CHECK(strstr(err.hint, "chmod u+w ") != NULL);
	placeholders_end(&ph, false);
	CHECK(count(p->project) == 1);
	CHECK(records(p) == 0);
}

static void test_unwritable_folder(void **state)
{
	as_user(*state, closed_folder);
}

static void foreign_folder(struct place *p)
{
	struct placeholders ph;
	struct err err = {.code = 0};
	int base = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct placeholder_want w[] = {
		{.base_fd = base, .base_len = 4, .path = "/usr/.git"},
		{.base_fd = base, .base_len = 4, .path = "/usr/none/of/this"},
	};

	placeholders_init(&ph, p->state);
	CHECK(placeholders_make(&ph, w, 2, &err));
	CHECK(access("/usr/.git", F_OK) < 0);
	placeholders_end(&ph, false);
	CHECK(records(p) == 0);
	/* Nor does a state folder that cannot be made pass in silence. */
	struct placeholder_want mine = want(p, ".idea");
	placeholders_init(&ph, "/usr/none/link");
	CHECK(!placeholders_make(&ph, &mine, 1, &err));
	CHECK(strstr(err.msg, "/usr/none/link/placeholders") != NULL);
	CHECK(err.hint[0] != '\0');
	placeholders_end(&ph, false);
	CHECK(count(p->project) == 0);
}

static void test_foreign_folder(void **state)
{
	as_user(*state, foreign_folder);
}

/* Writes a record as a dead run would have left it. */
static void leave_record(const struct place *p, const char *name, const char *bytes, size_t len)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/placeholders/run.%s", p->state, name);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	assert_true(fd >= 0 && fd_write_all(fd, bytes, len));
	close(fd);
}

static void test_records_of_the_dead(void **state)
{
	struct place *p = *state;
	struct placeholders ph;
	char text[PATH_MAX];
	struct stat st;

	placeholders_init(&ph, p->state);
	make(&ph, p, 1, "x");
	placeholders_end(&ph, false);

	/* Listed, but killed before it was noted as made: gone when it looks like ours only. */
	mkdir(in_project(p, "ours"), 0555);
	mkdir(in_project(p, "users"), 0755);
	mkdir(in_project(p, "way"), 0755 | S_ISVTX);
	mkdir(in_project(p, "users-way"), 0755);
	static const char *const listed[] = {"mn:ours", "mn:users", "mp:way", "mp:users-way",
					     "mn:no"};
	for (size_t i = 0; i < ARRAY_LEN(listed); i++) {
		int n = snprintf(text, sizeof(text), "%.2s%s", listed[i],
				 in_project(p, listed[i] + 3));
		leave_record(p, listed[i] + 3, text, (size_t)n + 1);
	}
	placeholders_sweep(p->state);
	assert_int_equal(records(p), 0);
	assert_int_equal(count(p->project), 2);
	assert_false(exists(p, "ours"));
	assert_false(exists(p, "way"));

	/* An entry without its end was never carried out. */
	mkdir(in_project(p, "cut"), 0555);
	int n = snprintf(text, sizeof(text), "mn%s", in_project(p, "cut"));
	leave_record(p, "cut", text, (size_t)n);
	placeholders_sweep(p->state);
	assert_true(exists(p, "cut"));

	/* Another folder than the one that was noted. */
	stat(in_project(p, "cut"), &st);
	n = snprintf(text, sizeof(text), "in%llx:555:%s", (unsigned long long)st.st_ino + 1,
		     in_project(p, "cut"));
	leave_record(p, "cut", text, (size_t)n + 1);
	placeholders_sweep(p->state);
	assert_true(exists(p, "cut"));
	n = snprintf(text, sizeof(text), "in%llx:555:%s", (unsigned long long)st.st_ino,
		     in_project(p, "cut"));
	leave_record(p, "cut", text, (size_t)n + 1);
	placeholders_sweep(p->state);
	assert_false(exists(p, "cut"));
}

static void test_forged_records(void **state)
{
	struct place *p = *state;
	struct placeholders ph;
	static const char junk[] = "mn\0in\0inffffffffffffffffffffffff:9:/x\0mnrelative\0in12:/x\0"
				   "\0\0mp/\0in:::::/\0zz/x\0in1:777777777777777777777:/x\0mx/y";

	placeholders_init(&ph, p->state);
	make(&ph, p, 1, ".idea");
	leave_record(p, "junk", junk, sizeof(junk));
	leave_record(p, "empty", "", 0);
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/placeholders/run.folder", p->state);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/placeholders/run.fifo", p->state);
	mkfifo(path, 0600);
	snprintf(path, sizeof(path), "%s/placeholders/run.link", p->state);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	placeholders_sweep(p->state);
	/* Ours, and the three that are no records. */
	assert_int_equal(records(p), 4);
	assert_true(exists(p, ".idea"));
	placeholders_end(&ph, false);
	assert_int_equal(count(p->project), 0);
	assert_int_equal(records(p), 3);
}

/* A whole run, to be killed anywhere. */
static void whole_run(struct place *p)
{
	struct placeholders ph;
	struct placeholder_want w[] = {want(p, ".envrc"), want(p, ".idea"), want(p, "a/b/secret"),
				       want(p, "a/other")};
	struct err err;

	placeholders_init(&ph, p->state);
	if (!placeholders_make(&ph, w, ARRAY_LEN(w), &err)) {
		_exit(97);
	}
	placeholders_end(&ph, false);
}

/* Runs whole_run and kills it at its system call stop number `at`. False when it ended before. */
static bool killed_at(struct place *p, int at)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		whole_run(p);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	for (int i = 0; i < at; i++) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return true;
}

static void test_killed_at_every_call(void **state)
{
	struct place *p = *state;
	int at = 1;

	while (killed_at(p, at)) {
		placeholders_sweep(p->state);
		if (count(p->project) != 0 || records(p) > 0) {
			fail_msg("killed at stop %d: %d left in the project, %d records", at,
				 count(p->project), records(p));
		}
		at++;
	}
	assert_true(at > 60);
	print_message("# killed at each of %d stops\n", at - 1);
}

/* One of many runs: while it lives, its placeholders are there. */
static void busy_run(struct place *p, unsigned seed)
{
	static const char *const names[] = {".envrc", ".idea", ".vscode",
					    "a/b/c",  "a/b/d", "a/e/f"};

	for (;;) {
		struct placeholders ph;
		struct placeholder_want w[ARRAY_LEN(names)];
		struct err err;
		size_t n = 0;

		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			if (rand_r(&seed) % 3 != 0) {
				w[n++] = want(p, names[i]);
			}
		}
		placeholders_init(&ph, p->state);
		CHECK(placeholders_make(&ph, w, n, &err));
		for (int k = 0; k < 4; k++) {
			for (size_t i = 0; i < n; i++) {
				CHECK(access(w[i].path, F_OK) == 0);
			}
			usleep((useconds_t)(rand_r(&seed) % 2000));
		}
		placeholders_end(&ph, false);
	}
}

static pid_t start_busy(struct place *p, unsigned seed)
{
	pid_t pid = fork();

	if (pid == 0) {
		busy_run(p, seed);
	}
	return pid;
}

static void test_ten_at_once_killed(void **state)
{
	struct place *p = *state;
	pid_t runs[10];
	unsigned seed = 1;
	int status;

	for (unsigned i = 0; i < 10; i++) {
		runs[i] = start_busy(p, seed++);
	}
	for (int kills = 0; kills < 400; kills++) {
		unsigned i = (unsigned)rand_r(&seed) % 10;

		usleep((useconds_t)(rand_r(&seed) % 8000));
		assert_int_equal(kill(runs[i], SIGKILL), 0);
		waitpid(runs[i], &status, 0);
		/* An exit means that a placeholder was missing, or that lnk would have failed. */
		assert_true(WIFSIGNALED(status));
		runs[i] = start_busy(p, seed++);
	}
	for (unsigned i = 0; i < 10; i++) {
		kill(runs[i], SIGKILL);
		waitpid(runs[i], &status, 0);
		assert_true(WIFSIGNALED(status));
	}
	struct placeholders ph;
	placeholders_init(&ph, p->state);
	make(&ph, p, 1, ".idea");
	placeholders_end(&ph, false);
	assert_int_equal(count(p->project), 0);
	assert_int_equal(records(p), 0);
}

static void test_many_names_fast(void **state)
{
	struct place *p = *state;
	struct arena arena = {0};
	struct placeholder_want *w = arena_alloc(&arena, 3000 * sizeof(*w));
	struct placeholders ph;
	struct timespec a;
	struct timespec b;
	struct err err;

	for (int i = 0; i < 3000; i++) {
		char rel[64];

		snprintf(rel, sizeof(rel), "d%03d", i / 10);
		mkdir(in_project(p, rel), 0755);
		snprintf(rel, sizeof(rel), "d%03d/secret%d", i / 10, i % 10);
		w[i] = want(p, rel);
		w[i].path = arena_strdup(&arena, w[i].path);
	}
	placeholders_init(&ph, p->state);
	clock_gettime(CLOCK_MONOTONIC, &a);
	assert_true(placeholders_make(&ph, w, 3000, &err));
	clock_gettime(CLOCK_MONOTONIC, &b);
	print_message("# 3000 placeholders made in %ld us\n",
		      (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
	clock_gettime(CLOCK_MONOTONIC, &a);
	placeholders_end(&ph, false);
	clock_gettime(CLOCK_MONOTONIC, &b);
	print_message("# and removed in %ld us\n",
		      (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
	for (int i = 0; i < 300; i++) {
		char rel[64];

		snprintf(rel, sizeof(rel), "d%03d", i);
		assert_int_equal(count(in_project(p, rel)), 0);
	}
	arena_release(&arena);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_made_and_removed),     T(test_nothing_needed_nothing_made),
		T(test_two_runs_share),       T(test_folders_on_the_way),
		T(test_made_real_stays),      T(test_any_bytes_in_names),
		T(test_again_in_one_run),     T(test_moved_project),
		T(test_unwritable_folder),    T(test_foreign_folder),
		T(test_records_of_the_dead),  T(test_forged_records),
		T(test_killed_at_every_call), T(test_ten_at_once_killed),
		T(test_many_names_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
