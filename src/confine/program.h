/* Starting the program: the last thing that init does with the plan. */
#ifndef LNK_CONFINE_PROGRAM_H
#define LNK_CONFINE_PROGRAM_H

#include "confine/confine.h"

#include <signal.h>
#include <sys/types.h>

/* The most descriptors that --fd may keep. */
#define PROGRAM_KEEP_MAX 64

/* Goes to the working folder (or the home, where that does not exist inside) and starts argv[0],
 * looked up in config->path. With a tracer (`tracer_fd`; -1: none) it is traced from before its first
 * instruction. Every descriptor from 3 on but the kept ones is closed on exec.
 * False: ERR_NOT_FOUND (127) or ERR_NOT_PERMITTED (126), as shells tell them apart. */
bool program_start(const struct confine_config *config, int tracer_fd, const sigset_t *mask,
		   pid_t *ret_pid, struct err *err);

#endif
