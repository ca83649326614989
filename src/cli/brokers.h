/* [tools] and [browser] of a run: read, started, ended. */
#ifndef LNK_CLI_BROKERS_H
#define LNK_CLI_BROKERS_H

#include "broker/broker.h"
#include "cli/toolrun.h"
#include "plan/plan.h"

struct brokers {
	const char *shim; /* lnk-shim's file; NULL: neither section is there */
	FACT_LIST(struct plan_shim) shims;
	bool browser;
	struct tools tools;
	FACT_LIST(struct broker_tool) granted;
	FACT_LIST(struct net_host) browse;
	struct toolrun run;
	struct broker_config config;
	struct broker_client client;
};

/* What the two sections grant. A tool that was never added, or that the sandbox could change, is an
 * error with the line of the spec. `outside` is the user's own environment. */
bool brokers_read(const struct spec *spec, const struct machine *machine, char *const *outside,
		  struct arena *arena, struct brokers *ret_brokers, struct err_list *errs);

/* Starts the broker, when there is a need. `log_fd` is borrowed, -1: none; `close` are the
 * supervisor's own descriptors, which the broker must not keep. After the plan was made: tools get
 * what was resolved for it. */
bool brokers_start(struct brokers *brokers, int log_fd, const int *close, size_t nclose,
		   struct err *err);

#endif
