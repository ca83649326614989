/* Starting the program: the last thing that init does with the plan. */
#ifndef LNK_CONFINE_PROGRAM_H
#define LNK_CONFINE_PROGRAM_H

#include "confine/confine.h"

#include <signal.h>
#include <sys/types.h>

/* The most descriptors that --fd may keep. */
#define PROGRAM_KEEP_MAX 64

/* How it starts. */
struct program {
	const char *cwd;      /* its folder; the home, where that does not exist inside */
	const sigset_t *mask; /* its signal mask */
	int ruleset; /* of landlock_rules, which it alone enters; stays the caller's. -1: the
			caller has entered already */
	int tracer;  /* init's end of the tracer's socket: traced from before its first
			instruction; stays the caller's. -1: none */
};

/* Starts argv[0], looked up in config->path. Every descriptor from 3 on but the kept ones is closed
 * on exec. False: ERR_NOT_FOUND (127) or ERR_NOT_PERMITTED (126), as shells tell them apart, or
 * ERR_SETUP. */
bool program_start(const struct confine_config *config, const struct program *program,
		   pid_t *ret_pid, struct err *err);

/* Enters Landlock's rules with the program's descriptors: 0 to 2, and those that are kept. */
bool program_enter(const struct confine_config *config, int ruleset, struct err *err);

/* The same in the place of the calling process; returns, false, only when that failed. */
bool program_become(const struct confine_config *config, const sigset_t *mask, struct err *err);

/* Bounds the processes (8,192, of the user's) and forbids core files, for the caller and all that
 * it starts. */
bool program_limits(struct err *err);

#endif
