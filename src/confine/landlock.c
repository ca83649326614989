#include "confine/landlock.h"

#include "base/fd.h"
#include "base/str.h"
#include "base/testguard.h"
#include "confine/sys.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <termios.h>

/* linux/landlock.h of the build machine may be older than the kernel that runs this. */
#define FS_EXECUTE     (1ULL << 0)
#define FS_WRITE_FILE  (1ULL << 1)
#define FS_READ_FILE   (1ULL << 2)
#define FS_READ_DIR    (1ULL << 3)
#define FS_REMOVE_DIR  (1ULL << 4)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_CHAR   (1ULL << 6)
#define FS_MAKE_DIR    (1ULL << 7)
#define FS_MAKE_REG    (1ULL << 8)
#define FS_MAKE_SOCK   (1ULL << 9)
#define FS_MAKE_FIFO   (1ULL << 10)
#define FS_MAKE_BLOCK  (1ULL << 11)
#define FS_MAKE_SYM    (1ULL << 12)
#define FS_REFER       (1ULL << 13) /* ABI 2, Linux 5.19 */
#define FS_TRUNCATE    (1ULL << 14) /* ABI 3, Linux 6.2 */
#define FS_IOCTL_DEV   (1ULL << 15) /* ABI 5, Linux 6.10 */

#define SCOPE_ABSTRACT_SOCKETS (1ULL << 0) /* ABI 6, Linux 6.12 */
#define SCOPE_SIGNALS          (1ULL << 1)
#define ABI_WITH_SCOPES        6

#define RULE_PATH_BENEATH 1

/* F_SEAL_EXEC, Linux 6.3: the execute bits stay as they are. */
#define SEAL_EXEC 0x20

/* Rights that make sense on a file rather than a folder. */
#define ON_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

#define FOLDER_CHANGES                                                                             \
	(FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK |               \
	 FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER)

struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

/* Everything the kernel's ABI can refuse. */
static uint64_t handled(int abi)
{
	static const uint64_t since[] = {[2] = FS_REFER, [3] = FS_TRUNCATE, [5] = FS_IOCTL_DEV};
	uint64_t all = (FS_MAKE_SYM << 1) - 1;

	for (int i = 0; i <= abi && i < (int)ARRAY_LEN(since); i++) {
		all |= since[i];
	}
	return all;
}

static uint64_t access_of(unsigned rights)
{
	uint64_t a = 0;

	a |= (rights & PLAN_MAY_LIST) != 0 ? FS_READ_DIR : 0;
	a |= (rights & PLAN_MAY_READ) != 0 ? FS_READ_FILE : 0;
	a |= (rights & PLAN_MAY_EXECUTE) != 0 ? FS_EXECUTE : 0;
	a |= (rights & PLAN_MAY_WRITE) != 0 ? FS_WRITE_FILE | FS_TRUNCATE | FOLDER_CHANGES : 0;
	a |= (rights & PLAN_MAY_DEVICE) != 0 ? FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV : 0;
	return a;
}

static bool add_rule(int ruleset, int fd, uint64_t allowed)
{
	struct path_attr attr = {allowed, fd};

	return syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0U) == 0;
}

static void hold(struct landlock_held *held, int *fd, uint64_t allowed)
{
	if (held->n == LANDLOCK_HELD_MAX) {
		held->more = true;
		return;
	}
	held->v[held->n].fd = fd_take(fd);
	held->v[held->n++].allowed = allowed;
}

static bool allow_path(int ruleset, const struct plan_op *op, uint64_t known,
		       struct landlock_held *held, struct err *err)
{
	struct stat st;
	auto_close int fd =
		sys_openat2(AT_FDCWD, op->path, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	if (fd < 0 && (op->flags & PLAN_OPTIONAL) != 0 && (errno == ENOENT || errno == EACCES)) {
		return true;
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(err, ERR_SETUP, errno, "cannot open %s for Landlock", op->path);
		return err_at(err, &op->from);
	}
	uint64_t allowed = access_of(op->rights) & known;
	if (!S_ISDIR(st.st_mode)) {
		allowed &= ON_FILES;
	}
	if (allowed != 0 && !add_rule(ruleset, fd, allowed)) {
		err_set(err, ERR_SETUP, errno, "cannot add %s to Landlock's rules", op->path);
		return err_at(err, &op->from);
	}
	if (allowed != 0 && held != NULL) {
		hold(held, &fd, allowed);
	}
	return true;
}

/* A file of no file system (a memfd) is not judged by Landlock, so one that can be executed would
 * be a way around the list of commands. */
static bool close_memory_file(int fd, mode_t mode, struct err *err)
{
	if (fchmod(fd, mode & 0666) == 0 && fcntl(fd, F_ADD_SEALS, SEAL_EXEC) == 0) {
		return true;
	}
	err_set(err, ERR_SETUP, errno,
		"descriptor %d is a file in memory that could be executed, which [commands] "
		"forbids",
		fd);
	return err_hint(err, "pass a file or a pipe instead");
}

/* /dev/stdin and its kin open the file anew, which Landlock judges by path: files and terminals
 * that were handed over are allowed as they are open. Pipes and sockets need no rule. */
static bool allow_descriptor(int ruleset, int fd, uint64_t known, bool listed, struct err *err)
{
	struct stat st;
	int mode = fcntl(fd, F_GETFL);

	if (mode < 0 || fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))) {
		return true;
	}
	uint64_t allowed = 0;
	if ((mode & O_ACCMODE) != O_WRONLY) {
		allowed |= FS_READ_FILE;
	}
	if ((mode & O_ACCMODE) != O_RDONLY) {
		allowed |= FS_WRITE_FILE | FS_TRUNCATE;
	}
	if (S_ISCHR(st.st_mode)) {
		allowed |= FS_IOCTL_DEV;
	}
	if (add_rule(ruleset, fd, allowed & known)) {
		return true;
	}
	if (errno == EBADFD) {
		return !listed || close_memory_file(fd, st.st_mode, err);
	}
	return err_set(err, ERR_SETUP, errno, "cannot add descriptor %d to Landlock's rules", fd);
}

static int new_ruleset(int abi)
{
	struct ruleset_attr attr = {.handled_fs = handled(abi)};
	/* Older kernels refuse a larger struct only when its new fields are set. */
	size_t size = abi < ABI_WITH_SCOPES ? sizeof(attr.handled_fs) : sizeof(attr);

	if (abi >= ABI_WITH_SCOPES) {
		attr.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
	}
	return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0U);
}

bool landlock_rules(const struct plan *plan, int abi, struct landlock_held *held, int *ret_ruleset,
		    struct err *err)
{
	*ret_ruleset = -1;
	if (!guard_on("landlock")) {
		return true;
	}
	uint64_t known = handled(abi);
	auto_close int ruleset = new_ruleset(abi);

	if (ruleset < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot make a Landlock ruleset");
	}
	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		if (op->kind == PLAN_ALLOW && !allow_path(ruleset, op, known, held, err)) {
			return false;
		}
	}
	*ret_ruleset = fd_take(&ruleset);
	return true;
}

bool landlock_rules_again(const struct landlock_held *held, int abi, int *ret_ruleset)
{
	*ret_ruleset = -1;
	if (!guard_on("landlock")) {
		return true;
	}
	auto_close int ruleset = held->more ? -1 : new_ruleset(abi);

	for (size_t i = 0; ruleset >= 0 && i < held->n; i++) {
		if (!add_rule(ruleset, held->v[i].fd, held->v[i].allowed)) {
			return false;
		}
	}
	*ret_ruleset = fd_take(&ruleset);
	return *ret_ruleset >= 0;
}

bool landlock_enter(const struct plan *plan, int abi, int ruleset, const int *fds, size_t nfds,
		    struct err *err)
{
	if (!guard_on("landlock")) {
		return true;
	}
	for (size_t i = 0; i < nfds; i++) {
		if (!allow_descriptor(ruleset, fds[i], handled(abi), plan->commands_listed, err)) {
			return false;
		}
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0U) < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot enter Landlock's rules");
	}
	close(ruleset);
	return true;
}
