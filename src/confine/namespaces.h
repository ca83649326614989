/* Namespaces and what is set in them before anything is mounted. */
#ifndef LNK_CONFINE_NAMESPACES_H
#define LNK_CONFINE_NAMESPACES_H

#include "base/err.h"
#include "plan/plan.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* What the child of namespaces_clone is new in; with mode = "host" all but the network. */
#define NAMESPACES_NEW                                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

/* Forks a child in new user, mount, PID, network, IPC, UTS and cgroup namespaces (clone3(2), Linux
 * 5.7). Returns 0 in the child, its PID in the parent with *ret_pidfd set, or -1 with err filled:
 * the hint names the setting that forbids it. With `host_network` the network stays this machine's.
 */
pid_t namespaces_clone(bool host_network, int *ret_pidfd, struct err *err);

/* In the child: maps this user. With `as_root_first` (an ordinary user whose commands are listed)
 * the user is root in this namespace, for binfmt_misc's sake, until namespaces_inner. */
bool namespaces_map(uid_t uid, gid_t gid, bool as_root_first, struct err *err);

/* In the child: no further user namespaces but `more`. Straight after the maps: /proc/sys is read
 * only later. */
bool namespaces_limit(unsigned more, struct err *err);

/* In the child, as root: a bound on processes in this PID namespace, where the kernel has one
 * (Linux 6.14); RLIMIT_NPROC bounds everybody else. */
void namespaces_limit_processes(bool as_root);

/* A second user namespace in which the user has the own id again. */
bool namespaces_inner(uid_t uid, gid_t gid, struct err *err);

/* Drops every capability, from all sets and the bounding set, for good (no_new_privs). */
bool namespaces_drop_capabilities(struct err *err);

/* The same where no namespace of ours is: an ordinary user has none, root all that it came with. */
bool namespaces_drop_own_capabilities(struct err *err);

#endif
