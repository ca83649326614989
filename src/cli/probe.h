/* Trying one guard after the other, the way a run uses them. Every probe is meant for a child that
 * ends afterwards: it leaves the process confined, or in other namespaces. */
#ifndef LNK_CLI_PROBE_H
#define LNK_CLI_PROBE_H

#include <stdbool.h>

/* Each returns 0, or the errno value of the step that failed. */
int probe_nothing(void);
int probe_loopback(void);
int probe_clone3(void);
int probe_limit(void);
int probe_mount(void);
int probe_read_only(void);
int probe_proc(void);
int probe_devices(void);
int probe_openat2(void);
int probe_pidfd(void);
int probe_inotify(void);
int probe_seccomp(void);
int probe_asking(void);
int probe_memfd(void);
int probe_binfmt(void);
int probe_landlock_execute(void);
int probe_landlock_refer(void);
int probe_landlock_truncate(void);
int probe_landlock_tcp(void);
int probe_landlock_ioctl(void);
int probe_landlock_scope(void);
int probe_landlock_unix(void);

struct probe_result {
	int err;     /* 0: the guard is here; else the errno value of what failed */
	bool inside; /* the probe itself failed, and not the namespaces it was to run in */
};

/* Runs `probe` in a child that has first gone into a user namespace of its own and the given
 * further ones (CLONE_NEW*; 0: none at all). ECHILD when the child died or took more than ten
 * seconds. */
struct probe_result probe_in_child(unsigned long namespaces, int (*probe)(void));

#endif
