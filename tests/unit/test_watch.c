/* The watch: which events mark which guarded names, what becomes of folders that move, limits. */
#include "confine/watch.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
	char top[64];
	struct arena arena;
	struct warden_name names[16];
	size_t n;
	struct watch watch;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->top, "/tmp/lnk-watch-XXXXXX");
	*state = p;
	return mkdtemp(p->top) == NULL;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	watch_release(&p->watch);
	nftw(p->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_release(&p->arena);
	free(p);
	return 0;
}

static char *at(struct place *p, const char *rel)
{
	return arena_printf(&p->arena, "%s/%s", p->top, rel);
}

static void folder(struct place *p, const char *rel)
{
	assert_int_equal(mkdir(at(p, rel), 0755), 0);
}

static void file(struct place *p, const char *rel)
{
	int fd = open(at(p, rel), O_CREAT | O_WRONLY | O_TRUNC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void guard(struct place *p, const char *rel, enum warden_kind kind)
{
	p->names[p->n++] =
		(struct warden_name){.path = at(p, rel), .base_len = strlen(p->top), .kind = kind};
}

static void start(struct place *p)
{
	struct err err = {.code = 0};

	guard_sort(p->names, p->n);
	if (!watch_init(&p->watch, p->names, p->n, &err) || !watch_start(&p->watch, &err)) {
		fail_msg("watch: %s", err.msg);
	}
}

/* Reads events; the marked names joined by spaces, relative to the top. */
static const char *marked(struct place *p)
{
	char *text = arena_strdup(&p->arena, "");
	struct err err;

	watch_read(&p->watch);
	for (size_t i = watch_next(&p->watch, 0); i != WATCH_NO_GUARD;
	     i = watch_next(&p->watch, i + 1)) {
		text = arena_printf(&p->arena, "%s%s%s", text, *text != '\0' ? " " : "",
				    p->names[i].path + strlen(p->top) + 1);
	}
	assert_true(watch_refresh(&p->watch, &err));
	watch_clear(&p->watch);
	return text;
}

/* How many folders the kernel watches for us. */
static int watches(const struct place *p)
{
	char path[64];
	char line[256];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", p->watch.fd);
	FILE *f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		n += str_starts(line, "inotify wd:") ? 1 : 0;
	}
	fclose(f);
	return n;
}

static void test_names_and_others(void **state)
{
	struct place *p = *state;

	folder(p, ".git");
	file(p, "b");
	guard(p, ".git", WARDEN_PIN);
	guard(p, "a", WARDEN_COVER);
	guard(p, "ab", WARDEN_COVER);
	guard(p, "b", WARDEN_COVER);
	start(p);
	assert_int_equal(watches(p), 1);
	assert_string_equal(marked(p), "");

	file(p, "other");
	file(p, "aa");
	file(p, ".git/config");
	file(p, "b"); /* written in place: the same file */
	chmod(at(p, "b"), 0600);
	assert_string_equal(marked(p), "");

	file(p, "a");
	assert_string_equal(marked(p), "a");
	rename(at(p, "other"), at(p, "b"));
	assert_string_equal(marked(p), "b");
	rename(at(p, "b"), at(p, "b~"));
	assert_string_equal(marked(p), "b");
	rename(at(p, ".git"), at(p, "ab"));
	assert_string_equal(marked(p), ".git ab");
	unlink(at(p, "a"));
	folder(p, "a");
	assert_string_equal(marked(p), "a");
	rmdir(at(p, "a"));
	assert_int_equal(symlink("x", at(p, ".git")), 0);
	assert_int_equal(link(at(p, "b~"), at(p, "b")), 0);
	assert_string_equal(marked(p), ".git a b");
}

static void test_folders_on_the_way(void **state)
{
	struct place *p = *state;

	folder(p, "a");
	folder(p, "a/b");
	file(p, "a/b/secret");
	guard(p, "a/b/secret", WARDEN_COVER);
	guard(p, "a/b/c/d/e", WARDEN_COVER);
	guard(p, "a.x", WARDEN_COVER);
	start(p);
	assert_int_equal(watches(p), 3);

	/* Made later, watched from then on. */
	folder(p, "a/b/c");
	assert_string_equal(marked(p), "a/b/c/d/e");
	folder(p, "a/b/c/d");
	assert_string_equal(marked(p), "a/b/c/d/e");
	file(p, "a/b/c/d/e");
	assert_string_equal(marked(p), "a/b/c/d/e");
	assert_int_equal(watches(p), 5);

	/* Moved away: names below are concerned; what happens there afterwards is not. */
	rename(at(p, "a"), at(p, "old"));
	assert_string_equal(marked(p), "a/b/c/d/e a/b/secret");
	assert_int_equal(watches(p), 1);
	unlink(at(p, "old/b/secret"));
	assert_string_equal(marked(p), "");

	/* And another in its place. */
	folder(p, "a");
	folder(p, "a/b");
	assert_string_equal(marked(p), "a/b/c/d/e a/b/secret");
	file(p, "a/b/secret");
	assert_string_equal(marked(p), "a/b/secret");

	/* Back and forth leaves no watches behind. */
	for (int i = 0; i < 50; i++) {
		rename(at(p, "a"), at(p, "tmp"));
		rename(at(p, "old"), at(p, "a"));
		assert_string_equal(marked(p), "a/b/c/d/e a/b/secret");
		rename(at(p, "a"), at(p, "old"));
		rename(at(p, "tmp"), at(p, "a"));
		assert_string_equal(marked(p), "a/b/c/d/e a/b/secret");
	}
	assert_int_equal(watches(p), 3);

	/* Not a folder, or a link: not followed, not watched. */
	rename(at(p, "a/b"), at(p, "real"));
	assert_int_equal(symlink("../real", at(p, "a/b")), 0);
	assert_string_equal(marked(p), "a/b/c/d/e a/b/secret");
	assert_int_equal(watches(p), 2);
}

static void test_granted_folders_in_each_other(void **state)
{
	struct place *p = *state;

	folder(p, "sub");
	folder(p, "sub/in");
	for (int i = 0; i < 3; i++) {
		guard(p, i == 0 ? ".git" : i == 1 ? "sub/in/z" : "zz", WARDEN_PIN);
	}
	guard(p, "sub/in/.git", WARDEN_PIN);
	guard(p, "sub/in/.idea", WARDEN_PIN);
	p->names[3].base_len = p->names[4].base_len = strlen(at(p, "sub/in"));
	/* The same name twice. */
	guard(p, "zz", WARDEN_COVER);
	start(p);
	assert_int_equal(watches(p), 3);
	file(p, "sub/in/.git");
	file(p, "sub/in/z");
	assert_string_equal(marked(p), "sub/in/.git sub/in/z");
	file(p, "zz");
	assert_string_equal(marked(p), "zz zz");
	assert_int_equal(watch_base_fd(&p->watch, 0), watch_base_fd(&p->watch, 4));
	rename(at(p, "sub"), at(p, "bus"));
	assert_string_equal(marked(p), "sub/in/z");
}

static void test_granted_folder_moves(void **state)
{
	struct place *p = *state;
	char moved[128];

	folder(p, "p");
	guard(p, "p/.git", WARDEN_PIN);
	p->names[0].base_len = strlen(at(p, "p"));
	start(p);
	snprintf(moved, sizeof(moved), "%s", at(p, "moved"));
	rename(at(p, "p"), moved);
	folder(p, "p");
	folder(p, "p/.git");
	assert_string_equal(marked(p), "");
	assert_false(watch_exists(&p->watch, 0));
	folder(p, "moved/.git");
	assert_string_equal(marked(p), "p/.git");
	assert_true(watch_exists(&p->watch, 0));
	rmdir(at(p, "moved/.git"));
	rmdir(moved);
	assert_string_equal(marked(p), "p/.git");
}

static void test_root_as_granted_folder(void **state)
{
	struct place *p = *state;

	guard(p, "name", WARDEN_COVER);
	p->names[0].base_len = 0;
	start(p);
	file(p, "name");
	assert_string_equal(marked(p), "name");
	assert_true(watch_exists(&p->watch, 0));
}

static void test_lost_events(void **state)
{
	struct place *p = *state;

	guard(p, "a", WARDEN_COVER);
	guard(p, "b/c", WARDEN_COVER);
	start(p);
	int max = 0;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	assert_true(f != NULL && fscanf(f, "%d", &max) == 1);
	fclose(f);
	char *x = at(p, "x");
	for (int i = 0; i < max / 2 + 8; i++) {
		assert_int_equal(mkdir(x, 0700), 0);
		assert_int_equal(rmdir(x), 0);
	}
	folder(p, "b");
	assert_string_equal(marked(p), "a b/c");
	assert_int_equal(watches(p), 2);
}

/* In a user namespace of its own, where the limit can be lowered; 0 when the error is right. */
static int hits_limit(struct place *p, const char *setting, const char *hint)
{
	struct err err = {.code = 0};
	char map[64];

	snprintf(map, sizeof(map), "0 %u 1", (unsigned)geteuid());
	if (unshare(CLONE_NEWUSER) < 0 || !fd_write_file(AT_FDCWD, "/proc/self/uid_map", map) ||
	    !fd_write_file(AT_FDCWD, setting, "0")) {
		return 90;
	}
	if (watch_init(&p->watch, p->names, p->n, &err) && watch_start(&p->watch, &err)) {
		return 91;
	}
	return strstr(err.hint, hint) != NULL && err.line == 12 ? 0
	       : strstr(err.hint, hint) != NULL                 ? 1
								: 92;
}

static void test_limits(void **state)
{
	struct place *p = *state;
	int status;

	folder(p, "a");
	guard(p, "a/x", WARDEN_COVER);
	p->names[0].from = (struct origin){.file = "x.toml", .line = 12, .col = 1};
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			_exit(i == 0 ? hits_limit(p, "/proc/sys/user/max_inotify_watches",
						  "fs.inotify.max_user_watches=")
				     : hits_limit(p, "/proc/sys/user/max_inotify_instances",
						  "fs.inotify.max_user_instances="));
		}
		waitpid(pid, &status, 0);
		assert_true(WIFEXITED(status));
		/* An instance is not for one line of the spec, a watch is. */
		assert_int_equal(WEXITSTATUS(status), i == 0 ? 0 : 1);
	}
}

static void test_many_names_fast(void **state)
{
	struct place *p = *state;
	struct warden_name *names = arena_alloc(&p->arena, 3000 * sizeof(*names));
	long best = LONG_MAX;

	for (int i = 0; i < 3000; i++) {
		int at_folder = i * 7919 % 3000; /* in no order */
		char *dir = arena_printf(&p->arena, "d%03d", at_folder / 10);

		mkdir(at(p, dir), 0755);
		names[i] = (struct warden_name){.path = arena_printf(&p->arena, "%s/%s/secret%d",
								     p->top, dir, at_folder % 10),
						.base_len = strlen(p->top),
						.kind = WARDEN_COVER};
	}
	for (int try = 0; try < 5; try++) {
		struct timespec a;
		struct timespec b;
		struct err err;

		watch_release(&p->watch);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		guard_sort(names, 3000);
		assert_true(watch_init(&p->watch, names, 3000, &err));
		assert_true(watch_start(&p->watch, &err));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		long us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
		best = us < best ? us : best;
	}
	assert_int_equal(watches(p), 301);
	print_message("# 3000 names in 300 folders watched in %ld us\n", best);
	assert_true(best < 20000);
	file(p, "d123/secret4");
	watch_read(&p->watch);
	size_t first = watch_next(&p->watch, 0);
	assert_string_equal(names[first].path, at(p, "d123/secret4"));
	assert_int_equal(watch_next(&p->watch, first + 1), WATCH_NO_GUARD);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_names_and_others),
		T(test_folders_on_the_way),
		T(test_granted_folders_in_each_other),
		T(test_granted_folder_moves),
		T(test_root_as_granted_folder),
		T(test_lost_events),
		T(test_limits),
		T(test_many_names_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
