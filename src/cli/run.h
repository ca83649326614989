/* A run that is watched, for `lnk sandbox learn`. */
#ifndef LNK_CLI_RUN_H
#define LNK_CLI_RUN_H

#include "cli/report.h"
#include "spec/spec.h"

/* What a run was and what was seen of it, when all of it is over. */
struct run_seen {
	const struct spec *spec;
	const struct machine *machine;
	const struct facts *facts;
	const struct plan *plan;
	struct report *report;
};

/* The keys that were given by flags. */
struct run_keys {
	struct spec_flag *v;
	size_t n;
	size_t cap;
};

struct run_watch {
	int calls_fd; /* gets the gate's lines of --log; there is a gate even if nothing is open */
	/* Before the spec is made of the flags: may add some, whose strings outlive the run. False:
	 * `errs` has the reason. */
	bool (*prepare)(const struct machine *machine, struct run_keys *keys, void *context);
	/* Called at the end, unless the program never started. False: `errs` has the reason. */
	bool (*seen)(const struct run_seen *seen, void *context);
	void *context;
};

/* cli_run with every call that fails and every program that starts seen. `watch` NULL: as cli_run.
 */
int run_watched(int argc, char **argv, const struct run_watch *watch, struct err_list *errs);

#endif
