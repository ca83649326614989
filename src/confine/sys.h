/* System calls and constants that the C library or the headers of the build machine may be too old
 * for. Each wrapper is one call, with errno as usual. */
#ifndef LNK_CONFINE_SYS_H
#define LNK_CONFINE_SYS_H

#include "base/openat2.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* fchmodat2(2), Linux 6.6; the same number on every architecture. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* open_tree(2), Linux 5.2. */
static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

/* move_mount(2), Linux 5.2. */
static inline int sys_move_mount(int from_dir, const char *from, int to_dir, const char *to,
				 unsigned flags)
{
	return (int)syscall(SYS_move_mount, from_dir, from, to_dir, to, flags);
}

/* mount_setattr(2), Linux 5.12. */
static inline int sys_mount_setattr(int dir, const char *path, unsigned flags,
				    const struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof(*attr));
}

/* fsopen(2), fsconfig(2), fsmount(2), Linux 5.2. */
static inline int sys_fsopen(const char *type, unsigned flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, cmd, key, value, aux);
}

static inline int sys_fsmount(int fd, unsigned flags, unsigned attr)
{
	return (int)syscall(SYS_fsmount, fd, flags, attr);
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

/* pidfd_open(2), Linux 5.3; pidfd_send_signal(2), Linux 5.1. */
static inline int sys_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0U);
}

static inline int sys_pidfd_send_signal(int pidfd, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0U);
}

/* close_range(2), Linux 5.9. */
static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

#endif
