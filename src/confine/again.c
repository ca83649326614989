#include "confine/again.h"

#include "base/arena.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Names in private folders; a plan with more has sandboxes for one program each. */
#define NAMES_MAX 256
#define DEPTH_MAX 16

#define IOPRIO_WHO_PROCESS 1

struct seen {
	const char *path;
	struct stat st;
};

/* What the kernel keeps for init that another process of the user may set. */
struct limits {
	struct rlimit v[RLIM_NLIMITS];
	cpu_set_t cpus;
	int nice;
	int policy;
	long io;
};

struct again {
	struct arena arena;
	struct {
		struct seen *v;
		size_t n;
		size_t cap;
	} names;
	dev_t root;
	uint64_t inodes; /* free on the sandbox's own file system, all of it one */
	uint64_t blocks;
	struct limits limits;
};

/* Not private folders, and yet each run's own; a kernel may lack queues. */
static const char *const others[] = {"/dev/pts", "/dev/pts/ptmx", "/dev/mqueue"};

/* --- names --------------------------------------------------------------------------------- */

static bool see(struct again *a, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0 || a->names.n == NAMES_MAX) {
		return false;
	}
	const struct seen seen = {arena_strdup(&a->arena, path), st};

	ARENA_PUSH(&a->arena, &a->names, seen);
	return true;
}

/* The folder and all below it that is the sandbox's own; what is mounted there is not. */
static bool see_folder(struct again *a, const char *path, int depth) /* NOLINT(misc-no-recursion) */
{
	struct stat st;

	if (depth == DEPTH_MAX || lstat(path, &st) < 0) {
		return false;
	}
	if (st.st_dev != a->root) {
		return true;
	}
	bool ok = see(a, path);
	if (!ok || !S_ISDIR(st.st_mode)) {
		return ok;
	}
	DIR *d = opendir(path);
	if (d == NULL) {
		return false;
	}
	for (const struct dirent *e; ok && (e = readdir(d)) != NULL;) {
		if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, "..")) {
			ok = see_folder(a, arena_printf(&a->arena, "%s/%s", path, e->d_name),
					depth + 1);
		}
	}
	closedir(d);
	return ok;
}

/* May the program write what is there? The plan's private folders are its own, or init's alone. */
static bool is_open(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		if (op->kind == PLAN_ALLOW && (op->rights & PLAN_MAY_WRITE) != 0 &&
		    (path_within(path, op->path) || path_within(op->path, path))) {
			return true;
		}
	}
	return false;
}

static bool see_all(struct again *a, const struct plan *plan)
{
	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		if (op->kind == PLAN_PRIVATE && is_open(plan, op->path) &&
		    !see_folder(a, op->path, 0)) {
			return false;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (!see(a, others[i]) && errno != ENOENT) {
			return false;
		}
	}
	return true;
}

/* On tmpfs a ctime tells of every change. Those of queues and terminals count in seconds: there it
 * is size and mode, which is all that can have changed in them. */
static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

static bool same_names(const struct again *a)
{
	for (size_t i = 0; i < a->names.n; i++) {
		struct stat now;

		if (lstat(a->names.v[i].path, &now) < 0 || !same(&a->names.v[i].st, &now)) {
			return false;
		}
	}
	return true;
}

/* --- the rest ------------------------------------------------------------------------------ */

static bool room(uint64_t *ret_inodes, uint64_t *ret_blocks)
{
	struct statfs fs;

	if (statfs("/", &fs) < 0) {
		return false;
	}
	*ret_inodes = fs.f_ffree;
	*ret_blocks = fs.f_bfree;
	return true;
}

/* System V objects outlive whoever made them; a kernel may lack them. */
static bool no_objects(void)
{
	struct shm_info shm = {.used_ids = 0};
	struct msginfo msg = {.msgpool = 0};
	struct seminfo sem = {.semusz = 0};
	union {
		struct seminfo *info;
	} arg = {&sem};

	return (shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&shm) < 0 || shm.used_ids == 0) &&
	       (msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&msg) < 0 || msg.msgpool == 0) &&
	       (semctl(0, 0, SEM_INFO, arg) < 0 || sem.semusz == 0);
}

static bool limits_of(struct limits *ret)
{
	/* Compared as bytes. */
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		if (getrlimit((__rlimit_resource_t)i, &ret->v[i]) < 0) {
			return false;
		}
	}
	errno = 0;
	ret->nice = getpriority(PRIO_PROCESS, 0);
	ret->policy = sched_getscheduler(0);
	ret->io = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	return errno == 0 && sched_getaffinity(0, sizeof(ret->cpus), &ret->cpus) == 0;
}

struct again *again_look(const struct plan *plan)
{
	struct again *a = calloc(1, sizeof(*a));
	struct stat root;

	if (a == NULL || lstat("/", &root) < 0) {
		free(a);
		return NULL;
	}
	a->root = root.st_dev;
	if (see_all(a, plan) && limits_of(&a->limits) && no_objects() &&
	    room(&a->inodes, &a->blocks)) {
		return a;
	}
	arena_release(&a->arena);
	free(a);
	return NULL;
}

bool again_is_same(const struct again *before)
{
	struct limits limits;
	uint64_t inodes = 0;
	uint64_t blocks = 0;

	return same_names(before) && no_objects() && room(&inodes, &blocks) &&
	       inodes == before->inodes && blocks == before->blocks && limits_of(&limits) &&
	       memcmp(&limits, &before->limits, sizeof(limits)) == 0;
}
