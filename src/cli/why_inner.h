/* Shared by why*.c: the question, the sandbox that it is tried in, and the answer. */
#ifndef LNK_CLI_WHY_INNER_H
#define LNK_CLI_WHY_INNER_H

#include "base/arena.h"
#include "cli/brokers.h"
#include "confine/trial.h"
#include "gate/client.h"
#include "plan/plan.h"
#include "spec/spec.h"

#define EXIT_NO 1

struct why {
	struct arena arena;
	struct err_list *errs;
	const char *spec_file;
	FACT_LIST(struct spec_flag) keys;
	FACT_LIST(const char *) words;
	bool help;
	bool json;
	const char *verb;  /* "read", "write", "run" or "call" */
	const char *thing; /* as given */
	struct trial trial;
	struct spec spec;
	struct machine machine;
	struct facts facts;
	struct plan plan;
	struct net_plan net;
	struct gate_client gate;
	struct brokers brokers;
	int said_fd; /* what the gate decides; -1 */
};

/* Prints the answer; `status` is the trial's. Returns the exit status. */
int why_answer(struct why *w, int status);
int why_answer_call(struct why *w, int status);
/* With mode = "host" there is nothing to be tried. */
int why_answer_host_mode(struct why *w);

#endif
