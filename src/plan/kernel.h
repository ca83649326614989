/* What this machine's kernel offers, where it can be told cheaply, and why a step of the set-up
 * failed. Nothing here costs anything while all goes well. */
#ifndef LNK_PLAN_KERNEL_H
#define LNK_PLAN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_facts {
	char host[65];      /* this machine's name (uname(2)); empty when it cannot be told */
	int major, minor;   /* of uname(2)'s release; 0.0 when it cannot be read */
	int landlock_abi;   /* 0: none */
	int landlock_errno; /* why there is none: ENOSYS not built in, EOPNOTSUPP not switched on at
			       boot; 0 otherwise */
};

/* Two system calls. Source: landlock(7). */
void kernel_read(struct kernel_facts *ret_facts);

/* True when this kernel is at least major.minor. */
bool kernel_at_least(const struct kernel_facts *facts, int major, int minor);

/* Finds out why `step` failed with the errno value `err`, reading the settings that can forbid it,
 * and writes what to do about it into `hint` (of `cap` bytes, cut to fit). Steps:
 *
 *   "clone", "unshare"   making namespaces, the user namespace among them
 *   "uid_map"            writing the id maps
 *   "mount"              a mount call in the sandbox's mount namespace
 *   "proc"               mounting a fresh procfs
 *   "network"            setting up the loopback, routes or nft
 *   "sockets"            listing the machine's sockets
 *   "landlock", "seccomp", "binfmt", "nft", "inotify", "memfd"
 *
 * False when nothing is known to forbid it; `hint` then points at `lnk sandbox doctor`. */
bool kernel_explain(const char *step, int err, char *hint, size_t cap);

/* Adds to a hint about namespaces or mounts that there is a way without. */
void kernel_suggest_bare(char *hint, size_t cap);

#endif
