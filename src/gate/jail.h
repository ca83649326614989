/* The gate gives up what it does not need, before the first byte of a program reaches it. */
#ifndef LNK_GATE_JAIL_H
#define LNK_GATE_JAIL_H

#include "base/err.h"

#include <stdbool.h>

/* no_new_privs, no capabilities, not dumpable, no core; Landlock: reads below /etc, /usr, /lib*,
 * /run, /var/lib, /nix, /gnu for name look-ups, nothing written, nothing executed, no signals out
 * (ABI 6); seccomp: an allow list made of what libuv, getaddrinfo and its modules, sockets and
 * memory need; no execve, fork (threads yes), ptrace, open for writing, keyrings, mounts. False:
 * the run must not start. */
bool jail_enter(struct err *err);

#endif
