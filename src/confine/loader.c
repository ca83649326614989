#include "confine/loader.h"

#include "base/fd.h"
#include "base/str.h"
#include "base/testguard.h"
#include "confine/mounts.h"
#include "confine/sys.h"
#include "plan/kernel.h"

#include <stdio.h>
#include <string.h>

/* An ELF header, which differs between any two loaders by entry point and section table. The
 * kernel compares at most 128 bytes, fewer for a rule this long (MISC_FMT_..., binfmt_misc.c). */
#define HEADER_BYTES 64

/* ":name:M:0:" + magic as \xNN + "::" + interpreter + ":" */
#define RULE_MAX (64 + 4 * HEADER_BYTES)

static bool close_one(int misc, const struct plan_op *op, unsigned number, struct err *err)
{
	unsigned char header[HEADER_BYTES];
	char rule[RULE_MAX];
	auto_close int fd =
		sys_openat2(AT_FDCWD, op->path, O_RDONLY | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	if (fd < 0 || fd_read_all(fd, header, sizeof(header)) != (ssize_t)sizeof(header)) {
		err_set(err, ERR_SETUP, errno, "cannot read the loader %s", op->path);
		return err_at(err, &op->from);
	}
	size_t n = (size_t)snprintf(rule, sizeof(rule), ":lnk%u:M:0:", number);
	for (size_t i = 0; i < sizeof(header); i++) {
		n += (size_t)snprintf(rule + n, sizeof(rule) - n, "\\x%02x", header[i]);
	}
	/* A folder as the interpreter: executing it is EACCES. */
	n += (size_t)snprintf(rule + n, sizeof(rule) - n, "::/:");
	auto_close int reg = openat(misc, "register", O_WRONLY | O_CLOEXEC);
	if (reg < 0 || write(reg, rule, n) != (ssize_t)n) {
		err_set(err, ERR_SETUP, errno, "cannot close the loader %s", op->path);
		return err_at(err, &op->from);
	}
	return true;
}

bool loader_close(const struct plan *plan, int *ret_fd, struct err *err)
{
	auto_close int misc = -1;
	unsigned number = 0;

	for (size_t i = 0; i < plan->ops.n && guard_on("loader"); i++) {
		if (plan->ops.v[i].kind != PLAN_LOADER) {
			continue;
		}
		if (misc < 0) {
			misc = mounts_new("binfmt_misc", 0, NULL);
		}
		if (misc < 0) {
			int sys = errno;

			err_set(err, ERR_SETUP, sys,
				"cannot mount a binfmt_misc of the sandbox's own");
			kernel_explain("binfmt", sys, err->hint, sizeof(err->hint));
			return false;
		}
		if (!close_one(misc, &plan->ops.v[i], number++, err)) {
			return false;
		}
	}
	*ret_fd = fd_take(&misc);
	return true;
}
