/* The gate gives up what it does not need, before the first byte of a program reaches it. */
#ifndef LNK_GATE_JAIL_H
#define LNK_GATE_JAIL_H

#include "base/err.h"

#include <stdbool.h>

/* For good, for this thread and those it starts: so before there are others.
 *
 * Should: no_new_privs, no capabilities, no core, closed to other processes of the user (not
 * dumpable); Landlock: what name look-ups read (/etc, the libraries, the folders of the name
 * services), nothing written, nothing executed, no TCP port bound (Linux 6.7), no signals and
 * abstract sockets of others (6.12); seccomp: the calls of jail.def.
 * Mustn't: keep the gate from looking names up as this machine's nsswitch.conf says, from
 * connecting anywhere, or from starting threads.
 *
 * Sockets that listen are listened at before. False: ERR_SETUP; the run must not start. About
 * 0.2 ms. Source: landlock(7), seccomp(2). */
bool jail_enter(struct err *err);

#endif
