/* Undoing the view of mounts from a namespace of one's own. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0) {
		close(fd);
	}
	return n < 0 ? -1 : 0;
}

/* Root of a user namespace of one's own, with `flags` more. That its ids cannot be mapped (root has
 * given up the right to pass its id on) does not take the capabilities away. */
static int become_root(int flags)
{
	char uid[64];
	char gid[64];

	snprintf(uid, sizeof(uid), "0 %u 1", getuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getgid());
	if (unshare(CLONE_NEWUSER | flags) < 0) {
		return -1;
	}
	if (write_file("/proc/self/setgroups", "deny") < 0 ||
	    write_file("/proc/self/uid_map", uid) < 0 ||
	    write_file("/proc/self/gid_map", gid) < 0) {
		errno = 0;
	}
	return 0;
}

/* userns FLAGS ATTACK ARGUMENT...: another attack, as root of a user namespace. */
static int userns(int argc, char **argv)
{
	const struct attack *const tables[] = {call_attacks, exec_attacks, process_attacks,
					       file_attacks, view_attacks};

	if (argc < 2 || become_root((int)number(argv[1])) < 0) {
		puts("no namespace");
		return argc < 2 ? refused(EINVAL) : -1;
	}
	for (size_t t = 0; argc > 2 && t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct attack *a = tables[t]; a->name != NULL; a++) {
			if (strcmp(a->name, argv[2]) == 0) {
				return a->run(argc - 2, argv + 2);
			}
		}
	}
	return argc > 2 ? refused(EINVAL) : 0;
}

/* The old root goes away below us; what was open of it stays open, and its mount points are mount
 * points of nobody. */
static int leave_root(const char *scratch)
{
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(scratch, scratch, NULL, MS_BIND, NULL) < 0 || chdir(scratch) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0) {
		return -1;
	}
	return umount2(".", MNT_DETACH);
}

/* replace FOLDER NAME SCRATCH: moves away what is kept at FOLDER/NAME by a mount, from a mount
 * namespace where that mount is none, and makes a file there. */
static int replace(int argc, char **argv)
{
	char moved[256];

	if (argc != 4) {
		return refused(EINVAL);
	}
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	snprintf(moved, sizeof(moved), "%s.moved", argv[2]);
	if (dir < 0 || become_root(CLONE_NEWNS) < 0 || leave_root(argv[3]) < 0 ||
	    renameat(dir, argv[2], dir, moved) < 0) {
		return -1;
	}
	int fd = openat(dir, argv[2], O_WRONLY | O_CREAT | O_EXCL, 0644);
	return fd < 0 || write(fd, "EVIL\n", 5) != 5 ? -1 : 0;
}

const struct attack view_attacks[] = {
	{"userns", "FLAGS [ATTACK ARGUMENT...]", userns},
	{"replace", "FOLDER NAME SCRATCH", replace},
	{NULL, NULL, NULL},
};
