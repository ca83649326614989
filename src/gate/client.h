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

/* One thing that was refused, or was granted and failed outside, counted. Hostile text is printable
 * already. */
struct gate_refusal {
	uint32_t count;
	uint32_t failed; /* 1: it was granted */
	char what[384];  /* "other.example.com, port 443" */
	char hint[384];  /* "add to [internet]: hosts = [..., \"other.example.com\"]" */
};

/* The most refusals that are told one by one; more are counted in `more`. */
#define GATE_REFUSALS_MAX 32

struct gate_report {
	struct gate_refusal v[GATE_REFUSALS_MAX];
	uint32_t n;
	uint32_t more; /* different things beyond them */
	uint32_t lost; /* decisions that could not be written to the log */
};

struct gate_client {
	pid_t pid;
	int pidfd;   /* readable when the gate has ended */
	int control; /* SOCK_SEQPACKET to the gate; when it closes, the gate ends */
	int door;    /* init's end of the door (plan/door.h); closed by gate_started_init */
};

struct gate_config {
	const struct net_plan *plan;
	int log_fd;          /* --log, opened by the caller; -1: none */
	char *const *envp;   /* the user's own environment: the upstream proxy is read from it */
	bool ask;            /* judges calls and dials none: `lnk sandbox why` */
	const char *program; /* lnk-gate's file, for tests; NULL: found beside this program */
};

/* Starts lnk-gate (of ../libexec/lnk beside this program's folder; in a build folder, of gate) and
 * hands it the plan. Returns as soon as it is started: it reads the plan and confines itself
 * meanwhile, and answers through the door when the listeners have come. What goes wrong there
 * (a busy port of --publish, an unreadable proxy variable) makes it end; gate_failed tells why.
 * False: err says why; nothing is left running.
 *
 * To be called before init and others are forked, who then must not keep `control`; from the thread
 * that lives as long as the run, because the gate is killed when its parent thread ends. Source:
 * vfork(2), execve(2), pidfd_open(2), PR_SET_PDEATHSIG(2const). */
bool gate_start(const struct gate_config *config, struct gate_client *ret_gate, struct err *err);

/* The gate has ended, or is about to (init found the door closed, pidfd became readable): fills
 * `err` with what it said, else with how it ended; waits up to a second for that. Always returns
 * false. gate_finish still has to be called. */
bool gate_failed(struct gate_client *gate, struct err *err);

/* In the supervisor after init was cloned: init's end of the door is init's alone. */
void gate_started_init(struct gate_client *gate);

/* The run is over: reads the report (waits up to two seconds), ends the gate, reaps it and closes
 * everything. `ret_died` tells that it had ended by itself before; the report is empty then. Fine
 * for a gate that was never started (pid 0). */
void gate_finish(struct gate_client *gate, struct gate_report *ret_report, bool *ret_died);

#endif
