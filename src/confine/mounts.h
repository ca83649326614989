/* The sandbox's file system: executes the plan's mount operations in order. Runs in the child that
 * has its own user and mount namespace, with all capabilities in them. */
#ifndef LNK_CONFINE_MOUNTS_H
#define LNK_CONFINE_MOUNTS_H

#include "base/err.h"
#include "confine/warden.h"
#include "plan/plan.h"

/* Builds a new root on a tmpfs, executes every operation but PLAN_LOADER and PLAN_ALLOW, and leaves
 * the current folder in it, for mounts_enter. Sources are opened again without following links and
 * must be the file that was checked (device and inode), else ERR_SETUP. Waits for the warden before
 * the first guarded name. The listening sockets go to `broker`, each with its path. On failure the
 * namespace is half made: the caller ends. */
bool mounts_build(const struct plan *plan, struct warden_init *warden, int broker, struct err *err);

/* Makes the current folder, the root that mounts_build left, the root of this mount namespace, and
 * detaches the old one. */
bool mounts_enter(struct err *err);

/* A PLAN_PIN, PLAN_ANCHOR or PLAN_COVER as the warden and guard_cover know it. Strings borrowed. */
struct warden_name mounts_guarded_name(const struct plan_op *op);

/* A new, detached mount of a file system (fsopen, fsconfig, fsmount). `options` are pairs of key
 * and value, ended by NULL. The descriptor, or -1 with errno. */
int mounts_new(const char *type, unsigned attr, const char *const *options);

#endif
