/* --without-namespaces: a run that Landlock and seccomp hold alone.
 *
 *     lnk (supervisor) ── lnk-keeper ── PROGRAM ...
 *
 * The keeper stands where init stands otherwise, but outside of what it keeps. Without a PID
 * namespace nothing ends with process 1, so each of supervisor and keeper draws a Landlock line
 * around what is below it, over which no signal goes: kill(-1) within it reaches the whole run and
 * nobody else, whatever sessions, groups and parents its processes have chosen. */
#ifndef LNK_CONFINE_BARE_H
#define LNK_CONFINE_BARE_H

#include "confine/init.h"

/* Supervisor: gives up new privileges, draws its line and forks the keeper. As namespaces_clone: 0
 * in the child, its PID in the parent with *ret_pidfd set, or -1 with err filled. */
pid_t bare_fork(int *ret_pidfd, struct err *err);

/* The keeper: starts the program under Landlock and seccomp, reaps and forwards, ends all with it.
 * `warden` of the config is not used. Never returns. */
void bare_main(const struct init_config *config) __attribute__((noreturn));

/* Supervisor, when the keeper is gone before its time: ends what is left of the run, and waits for
 * it, two seconds at most. */
void bare_end(void);

#endif
