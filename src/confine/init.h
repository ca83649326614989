/* Init: PID 1 of the sandbox. Sets up, gives up every right, starts the program, reaps and
 * forwards, and ends with it. */
#ifndef LNK_CONFINE_INIT_H
#define LNK_CONFINE_INIT_H

#include "confine/confine.h"
#include "confine/warden.h"

#include <signal.h>

struct init_config {
	const struct confine_config *confine;
	struct warden *warden;
	int supervisor;       /* init's end of the wire */
	int tracer;           /* init's end of the tracer's socket; -1: none */
	const sigset_t *mask; /* the signal mask that the program starts with */
	bool apart;           /* no part of the caller's process group */
};

/* Never returns. Should: hold no descriptor but 0 to 2, the wire, the warden's end and the loader
 * rules. Mustn't: open anything after Landlock but /proc and the home. */
void init_main(const struct init_config *config) __attribute__((noreturn));

#endif
