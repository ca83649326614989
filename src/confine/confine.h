/* Runs a program under a plan: executes the operations in order and decides nothing. */
#ifndef LNK_CONFINE_CONFINE_H
#define LNK_CONFINE_CONFINE_H

#include "base/err.h"
#include "confine/tracer.h"
#include "confine/trial.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/* Names of what a program left in its private home are reported up to this many bytes. */
#define CONFINE_LEFT_MAX 1024

struct confine_config {
	const struct plan *plan;
	const struct machine *machine;
	int landlock_abi;
	char *const *argv;   /* the program's, NULL-terminated */
	char *const *envp;   /* the program's, NULL-terminated */
	const char *path;    /* the PATH that argv[0] is looked up in, inside */
	const int *keep_fds; /* --fd: descriptors that stay open besides 0 to 2 */
	size_t nkeep_fds;
	int door;   /* init's end of the gate's door, closed by confine_run; -1: no gate */
	int broker; /* init's end of the broker's channel, likewise; -1: no broker */
	int late;   /* over this socket the program comes when all is ready (late.h), and `argv` has
		       nothing but its file; and after it others of the same file, as long as each
		       leaves the sandbox as it was. Closed by confine_run; -1: it is known */
	/* Called once the program and all that it started are gone, while the rest is taken down,
	 * with the status that the result will have; NULL: nobody waits for it. */
	void (*ended)(int status, void *context);
	/* After that: the sandbox takes another program over `late`. */
	void (*again)(void *context);
	void *context;          /* of `ended`, `again` and `refused` */
	const int *outside_fds; /* the supervisor's own, which init closes */
	size_t noutside_fds;
	/* --report: called in the supervisor, during the run, for each call that the kernel refused
	 * to the program. NULL: nothing is traced. */
	void (*refused)(const struct tracer_refusal *refusal, void *context);
	bool starts; /* with `refused`: programs that are started are told, too, with error 0 */
	/* `lnk sandbox why`: tried in place of the program. Its status is the result's; of a RUN
	 * that went well it is that of a killed process. NULL: the program is run. */
	const struct trial *trial;
};

struct confine_result {
	int status;        /* the exit status: the program's, or 128+n for a signal */
	unsigned left;     /* entries that the program left in its private home, dot names
			      aside */
	struct err *notes; /* what the user should look at; freed by the caller */
	unsigned nnotes;
	bool trace_lost; /* --report: the tracer was killed, and the program with it */
	char left_names[CONFINE_LEFT_MAX]; /* the first of them, each ended by NUL; hostile */
};

/* Sets everything up, runs the program, waits for its end and cleans up. Signals, stops and the
 * terminal are passed on meanwhile. False: lnk failed (err->code tells 125, 126 or 127) and, unless
 * the message says that the run was ended, the program never started; `ret_result` then has notes
 * only.
 *
 * Takes over the calling process: it must be single-threaded, and its signal handling is changed
 * for good. */
bool confine_run(const struct confine_config *config, struct confine_result *ret_result,
		 struct err *err);

#endif
