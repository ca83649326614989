/* A small sandbox of its own for the warden's tests: user, mount and PID namespaces, a root with
 * one granted folder, an init that serves the warden, and a program that is a function. All of it
 * as an ordinary user too. The test process is the supervisor. */
#ifndef LNK_TESTS_WARDEN_KIT_H
#define LNK_TESTS_WARDEN_KIT_H

#include "base/arena.h"
#include "base/fd.h"
#include "base/str.h"
#include "confine/placeholder.h"
#include "confine/sys.h"
#include "confine/warden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SOME_UID 47111

/* Within this time a changed name must be closed again, on a machine that is not overloaded. */
#define CLOSED_WITHIN_US (100 * 1000)

/* Assertions of processes that cannot use cmocka's. */
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #x, strerror(errno));      \
			_exit(98);                                                                 \
		}                                                                                  \
	} while (0)

/* What must come true, however slow the machine is. */
#define SOON(x)                                                                                    \
	do {                                                                                       \
		for (int soon_ = 0; soon_ < 10000 && !(x); soon_++) {                              \
			usleep(1000);                                                              \
		}                                                                                  \
		CHECK(x);                                                                          \
	} while (0)

/* Seen by everybody. */
struct shared {
	_Atomic int started; /* the program runs */
	_Atomic int stop;    /* it shall end */
	_Atomic long tries;  /* what it tried */
	_Atomic long hits;   /* tries that succeeded although they must not */
	_Atomic long first_us;
	_Atomic long last_us; /* when the last did */
	_Atomic int mounts;   /* lines of its mountinfo, by its own count */
	_Atomic int pid;      /* some process inside, numbered from inside */
	_Atomic int supervisor;
	_Atomic int warden;
	_Atomic int init;
	_Atomic long ticks; /* rounds of the program */
	_Atomic unsigned linger_us;
};

struct run;
typedef void program_fn(struct run *run);

struct run {
	char top[64];
	char work[96];  /* the granted folder */
	char state[96]; /* Link's state folder */
	char side[96];  /* another granted folder, for settle() */
	struct shared *shared;
	struct warden_name names[8]; /* one stays free for the mark */
	size_t nnames;
	bool two; /* an inner user namespace, as with commands listed */
	bool no_warden;
	program_fn *program;
	const char *path; /* what the program tries */
	long open_us;     /* how long after a change the last try got through */
	struct warden warden;
	struct warden_init inside;
	pid_t init;
	int pidfd;
	struct arena arena;
};

static inline long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline char *at(struct run *r, const char *rel)
{
	return arena_printf(&r->arena, "%s/%s", r->work, rel);
}

static inline void put(struct run *r, const char *rel, const char *text)
{
	int fd = open(at(r, rel), O_CREAT | O_WRONLY | O_TRUNC, 0644);

	CHECK(fd >= 0 && fd_write_all(fd, text, strlen(text)));
	close(fd);
}

static inline void guard(struct run *r, const char *rel, enum warden_kind kind)
{
	r->names[r->nnames++] =
		(struct warden_name){.path = at(r, rel), .base_len = strlen(r->work), .kind = kind};
}

static inline int count(const char *folder)
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

static inline int records(struct run *r)
{
	int n = count(arena_printf(&r->arena, "%s/placeholders", r->state));

	return n < 0 ? 0 : n - 1;
}

/* The sandbox's root: the granted folder at its own path, /proc, and what covers names. */
static inline void build_root(struct run *r)
{
	char path[PATH_MAX];
	const char *const granted[] = {r->work, r->side};
	int trees[2];

	for (int i = 0; i < 2; i++) {
		trees[i] = sys_open_tree(AT_FDCWD, granted[i],
					 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		CHECK(trees[i] >= 0);
	}
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0);
	int root = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(mkdirat(root, "proc", 0755) == 0);
	CHECK(mount("proc", "/tmp/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0);
	CHECK(mkdirat(root, "run", 0755) == 0 && mkdirat(root, "run/lnk", 0755) == 0);
	CHECK(mkdirat(root, GUARD_CLOSED_DIR, 0) == 0);
	CHECK(mknodat(root, GUARD_CLOSED_FILE, S_IFREG, 0) == 0);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s", granted[i] + 1);
		for (char *s = strchr(path, '/'); s != NULL; s = strchr(s + 1, '/')) {
			*s = '\0';
			mkdirat(root, path, 0755);
			*s = '/';
		}
		CHECK(mkdirat(root, path, 0755) == 0);
		CHECK(sys_move_mount(trees[i], "", root, path, MOVE_MOUNT_F_EMPTY_PATH) == 0);
		close(trees[i]);
	}
	struct err err = {.code = 0};
	if (!warden_init_wait(&r->inside, &err)) {
		_exit(3);
	}
	guard_sort(r->names, r->nnames);
	for (size_t i = 0; i < r->nnames; i++) {
		if (!guard_cover(root, &r->names[i], &err)) {
			fprintf(stderr, "guard_cover: %s\n", err.msg);
			_exit(4);
		}
		CHECK(guard_is_covered(root, &r->names[i]));
	}
	CHECK(fchdir(root) == 0 && sys_pivot_root(".", ".") == 0);
	CHECK(umount2(".", MNT_DETACH) == 0 && chdir("/") == 0);
	close(root);
}

static inline void map_user(unsigned inside, unsigned outside_uid, unsigned outside_gid)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1", inside, outside_uid);
	CHECK(fd_write_file(AT_FDCWD, "/proc/self/uid_map", line));
	(void)fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1", inside, outside_gid);
	CHECK(fd_write_file(AT_FDCWD, "/proc/self/gid_map", line));
}

static inline void drop_all(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

	CHECK(syscall(SYS_capset, &header, none) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

static inline void serve(struct run *r, pid_t program)
{
	for (;;) {
		struct pollfd p = {.fd = r->inside.fd, .events = POLLIN};
		int status;

		if (poll(&p, 1, 2) > 0 && !warden_init_serve(&r->inside)) {
			_exit(5);
		}
		if (waitpid(-1, &status, WNOHANG) == program) {
			CHECK(WIFEXITED(status));
			warden_init_empty(&r->inside);
			/* It must do without init's end from here on. */
			usleep(r->shared->linger_us);
			_exit(WEXITSTATUS(status));
		}
	}
}

static inline void init_main_of(struct run *r, uid_t uid, gid_t gid)
{
	struct err err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map_user(r->two ? 0 : uid, uid, gid);
	int pidfd = sys_pidfd_open(getpid());
	int user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	int mnt = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	CHECK(pidfd >= 0 && user >= 0 && mnt >= 0);
	CHECK(warden_attach(&r->warden, pidfd, user, mnt, &err));
	close(pidfd);
	close(user);
	close(mnt);
	warden_init_begin(&r->warden, &r->inside);
	build_root(r);
	assert_true(warden_init_mounted(&r->inside, &err));
	if (r->two) {
		CHECK(unshare(CLONE_NEWUSER) == 0);
		map_user(uid, 0, 0);
	}
	drop_all();
	prctl(PR_SET_DUMPABLE, 0);
	pid_t program = fork();
	if (program == 0) {
		r->shared->started = 1;
		r->program(r);
		_exit(0);
	}
	serve(r, program);
}

/* Starts warden, init and program; returns when the program runs. */
static inline void start(struct run *r)
{
	struct warden_config config = {r->names, r->no_warden ? 0 : r->nnames, r->state};
	struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_PIDFD,
				  .exit_signal = SIGCHLD,
				  .pidfd = (uint64_t)(uintptr_t)&r->pidfd};
	struct err err;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	r->names[r->nnames] = (struct warden_name){
		.path = arena_printf(&r->arena, "%s/mark", r->side),
		.base_len = strlen(r->side),
		.kind = WARDEN_COVER,
	};
	config.count += r->no_warden ? 0 : 1;
	r->nnames += r->no_warden ? 0 : 1;
	CHECK(warden_start(&config, &r->warden, &err));
	r->init = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (r->init == 0) {
		init_main_of(r, uid, gid);
	}
	CHECK(r->init > 0);
	warden_started_init(&r->warden);
	r->shared->init = r->init;
	r->shared->warden = r->warden.pid;
	SOON(r->shared->started == 1);
}

/* Waits until the warden has dealt with everything that happened before. Events come in order, and
 * a placeholder is made before what changed with it or earlier is covered: when one that was
 * removed has come back twice, what was before the first is covered. */
static inline void settle(struct run *r)
{
	const char *mark = arena_printf(&r->arena, "%s/mark", r->side);

	for (int i = 0; i < 2; i++) {
		CHECK(rmdir(mark) == 0);
		SOON(access(mark, F_OK) == 0);
	}
	/* And until the program runs on, past what it was stopped in. */
	long ticks = r->shared->ticks;
	SOON(r->shared->ticks > ticks + 2);
}

/* Ends program and run; everything must have gone well. */
static inline void finish(struct run *r)
{
	int status;

	r->shared->stop = 1;
	CHECK(waitpid(r->init, &status, 0) == r->init);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	warden_finish(&r->warden);
	CHECK(records(r) == 0);
}

/* What the warden says next. */
static inline enum warden_news next_news(struct run *r, struct err *err)
{
	struct pollfd p = {.fd = r->warden.fd, .events = POLLIN};

	CHECK(poll(&p, 1, 10000) == 1);
	return warden_read(&r->warden, err);
}

/* A try that began at `t` succeeded. */
static inline void hit(struct run *r, long t)
{
	if (r->shared->hits++ == 0) {
		r->shared->first_us = t;
	}
	r->shared->last_us = t;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

static inline int unlock_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return type == FTW_D ? chmod(path, 0700) : 0;
}

/* Runs `body` in a child, as the ordinary user or as who we are. */
static inline void in_child(void (*body)(struct run *), bool as_user)
{
	struct run r = {.pidfd = -1};
	bool change = as_user && geteuid() == 0;
	int status;

	strcpy(r.top, "/tmp/lnk-warden-XXXXXX");
	assert_non_null(mkdtemp(r.top));
	snprintf(r.work, sizeof(r.work), "%s/work", r.top);
	snprintf(r.state, sizeof(r.state), "%s/state/link", r.top);
	snprintf(r.side, sizeof(r.side), "%s/side", r.top);
	assert_int_equal(mkdir(r.work, 0755), 0);
	assert_int_equal(mkdir(r.side, 0755), 0);
	r.shared = mmap(NULL, sizeof(*r.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	assert_true(r.shared != MAP_FAILED);
	r.two = as_user;
	if (change) {
		assert_int_equal(chown(r.top, SOME_UID, SOME_UID), 0);
		assert_int_equal(chown(r.work, SOME_UID, SOME_UID), 0);
		assert_int_equal(chown(r.side, SOME_UID, SOME_UID), 0);
	}
	pid_t pid = fork();
	if (pid == 0) {
		if (change) {
			CHECK(setresgid(SOME_UID, SOME_UID, SOME_UID) == 0);
			CHECK(setresuid(SOME_UID, SOME_UID, SOME_UID) == 0);
			/* A change of user closes /proc/self to it; lnk starts by exec. */
			CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
		}
		body(&r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	nftw(r.top, unlock_one, 16, FTW_PHYS);
	nftw(r.top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	munmap(r.shared, sizeof(*r.shared));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Programs, and what is said of them. */

/* Reads r->path over and over. */
static inline void spy(struct run *r)
{
	while (r->shared->stop == 0) {
		char c;
		long t = now_us();
		int fd = open(r->path, O_RDONLY);

		r->shared->ticks++;
		r->shared->tries++;
		if (fd >= 0 && read(fd, &c, 1) == 1) {
			hit(r, t);
		}
		close(fd);
	}
}

/* Makes r->path, or something in it, over and over. */
static inline void maker(struct run *r)
{
	char inner[PATH_MAX];

	snprintf(inner, sizeof(inner), "%s/hooks", r->path);
	while (r->shared->stop == 0) {
		long t = now_us();

		r->shared->ticks++;
		r->shared->tries++;
		if (mkdir(r->path, 0755) == 0 || mkdir(inner, 0755) == 0) {
			hit(r, t);
		}
		if (rename(r->path, inner) == 0 || unlink(r->path) == 0 || rmdir(r->path) == 0) {
			hit(r, t);
		}
	}
}

static inline void idle(struct run *r)
{
	while (r->shared->stop == 0) {
		usleep(500);
		r->shared->ticks++;
	}
}

/* The name was changed outside at about this moment: it must be closed soon, and stay so. */
static inline long must_be_closed(struct run *r, const char *what)
{
	long changed = now_us();

	settle(r);
	long hits = r->shared->hits;
	long tries = r->shared->tries;
	SOON(r->shared->tries > tries + 20);
	CHECK(r->shared->hits == hits);
	r->open_us = hits > 0 ? r->shared->last_us - changed : 0;
	printf("# %s: open until %ld us after, %ld tries got through\n", what, r->open_us, hits);
	fflush(stdout);
	r->shared->hits = 0;
	return hits;
}

/* Notes that have come since the last time. */
static inline int notes(struct run *r)
{
	struct err err;
	int n = 0;

	for (;;) {
		switch (warden_read(&r->warden, &err)) {
		case WARDEN_NONE:
			return n;
		case WARDEN_READY:
			break;
		case WARDEN_NOTE:
			CHECK(r->warden.nnotes > 0);
			n++;
			break;
		case WARDEN_FAILED:
		case WARDEN_DONE:
		case WARDEN_GONE:
			CHECK(!"the run goes on");
		}
	}
}

/* A test of each name: as the ordinary user, and as who we are. Names come as a list X(name)... */
static const bool as_user_too[2] = {true, false};

#define WARDEN_TEST(body)                                                                          \
	static void test_##body(void **state)                                                      \
	{                                                                                          \
		in_child(body, *(const bool *)*state);                                             \
	}
#define WARDEN_ENTRY(body)                                                                         \
	{#body " as an ordinary user", test_##body, NULL, NULL,                                    \
	 (void *)(uintptr_t)&as_user_too[0]},                                                      \
		{#body " as who we are", test_##body, NULL, NULL,                                  \
		 (void *)(uintptr_t)&as_user_too[1]},

#endif
