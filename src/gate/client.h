/* The gate as the supervisor sees it: started, watched, ended, its report read. Used by cli/; the
 * rest of this folder is the gate's own program (lnk-gate). */
#ifndef LNK_GATE_CLIENT_H
#define LNK_GATE_CLIENT_H

#include "base/err.h"
#include "plan/netplan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One thing that was refused, counted. Hostile text is printable already. */
struct gate_refusal {
	uint32_t count;
	char what[384]; /* "other.example.com, port 443" */
	char hint[384]; /* "add to [internet]: hosts = [..., \"other.example.com\"]" */
};

/* The most refusals that are told one by one; more are counted in `more`. */
#define GATE_REFUSALS_MAX 32

struct gate_report {
	struct gate_refusal v[GATE_REFUSALS_MAX];
	uint32_t n;
	uint32_t more; /* different things beyond them */
};

struct gate_client {
	pid_t pid;
	int pidfd;   /* readable when the gate has ended */
	int control; /* SOCK_SEQPACKET to the gate; when it closes, the gate ends */
	int door;    /* init's end of the door (plan/door.h); closed by gate_started_init */
};

struct gate_config {
	const struct net_plan *plan;
	int log_fd;        /* --log, opened by the caller; -1: none */
	char *const *envp; /* the user's own environment: the upstream proxy is read from it */
};

/* Starts lnk-gate (beside this program, or in libexec) and hands it the plan. It reads it, and
 * confines itself when the listeners come through the door. False: err says why; nothing is left
 * running. Source: vfork(2), execve(2), pidfd_open(2). */
bool gate_start(const struct gate_config *config, struct gate_client *ret_gate, struct err *err);

/* In the supervisor after init was cloned: init's end of the door is init's alone. */
void gate_started_init(struct gate_client *gate);

/* The run is over: reads the report (waits up to two seconds), ends the gate, reaps it and closes
 * everything. `ret_died` tells that it had ended by itself before; the report is empty then. Fine
 * for a gate that was never started (pid 0). */
void gate_finish(struct gate_client *gate, struct gate_report *ret_report, bool *ret_died);

#endif
