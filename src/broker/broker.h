/* The broker: answers the shims in the sandbox. A process of its own outside, and one more for each
 * call. Shims are programs of the sandbox: every byte and descriptor of theirs is hostile. */
#ifndef LNK_BROKER_BROKER_H
#define LNK_BROKER_BROKER_H

#include "base/err.h"
#include "broker/ask.h"
#include "broker/judge.h"
#include "broker/tools.h"
#include "plan/netplan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Calls at one time; more are refused at once. */
#define BROKER_CALLS_MAX 1000
/* Of them, those with more than BROKER_LARGE bytes of arguments, which hold memory outside. */
#define BROKER_LARGE_MAX 16
#define BROKER_LARGE     (64U * 1024U)
/* How long a shim has to say what it wants. */
#define BROKER_REQUEST_MS 2000L

/* A tool that [tools] names. */
struct broker_tool {
	const struct tool *tool;
	struct origin from; /* the entry of [tools] names */
};

/* A call of a tool, its descriptors being 0 to 2 of the process by then. */
struct broker_call {
	const struct tool *tool;
	const char *cwd;   /* absolute, as the sandbox names it; hostile */
	char *const *argv; /* argv[0] is the tool's name; the rest is hostile; NULL-terminated */
	int argc;
	int over; /* run_tool may write its status, an int, here, as soon as nothing of it runs any
		     more, and clean up afterwards. What waits (run_late) writes one byte more once
		     it can take another call. One message each */
};

struct broker_config {
	const struct broker_tool *tools;
	size_t ntools;
	const struct net_host *browse; /* [browser] hosts */
	size_t nbrowse;
	char *const *envp; /* the user's own environment, for asking and the browser */
	int log_fd;        /* --log, borrowed; -1: none */
	const int *close;  /* the supervisor's own descriptors, which the broker closes */
	size_t nclose;
	/* The process that run_tool is called in passes SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1,
	 * SIGUSR2 and SIGWINCH on itself (confine_run does): they are sent to it alone. Else
	 * they go to all of its group, where it has one of its own. */
	bool passes_signals;

	/* May this be called? In the call's own process; nothing has been run. False: *ret_refusal
	 * says why not. */
	bool (*judge)(const struct broker_call *call, void *context,
		      struct tool_refusal *ret_refusal);
	/* Runs the tool and waits for its end, or becomes it (execve(2)), in a process of its own
	 * with the signals of the supervisor's start. *ret_status is 0 to 255. False: it could not
	 * be run, and err says why. When that process is killed, the tool must end. */
	bool (*run_tool)(const struct broker_call *call, void *context, int *ret_status,
			 struct err *err);
	/* The same in steps, so that what takes long is done before the call; NULL: not to be had.
	 * prepare comes first, in the process that waits; run_late in one that it forks: run_tool,
	 * but it waits for what call_late sends into the other end of the SOCK_SEQPACKET pair
	 * `late`, and joins `group`. call_late is of the process that waits; false: this call
	 * cannot come that way. When `state` of a tool has changed meanwhile, the prepared one is
	 * of no use. */
	bool (*prepare)(const struct tool *tool, void *context);
	bool (*run_late)(const struct tool *tool, void *context, int late, int over,
			 int *ret_status, struct err *err);
	bool (*call_late)(const struct broker_call *call, void *context, int late, const int fds[3],
			  pid_t group);
	uint64_t (*state)(const struct tool *tool, void *context);
	void *context;

	ask_hold *hold; /* see ask.h; with `context`, in the call's process; may be NULL */
	long ask_ms;    /* ASK_MS when 0 */
};

/* One thing that was refused, counted. Printable. */
struct broker_refusal {
	uint32_t count;
	char what[URL_MAX + 1024]; /* "gh auth token: WHY" */
	char hint[URL_MAX + 128];
};

/* The most that are told one by one; more are counted in `more`. */
#define BROKER_REFUSALS_MAX 16

struct broker_report {
	struct broker_refusal v[BROKER_REFUSALS_MAX];
	uint32_t n;
	uint32_t more; /* different refusals beyond them */
};

/* --- in the supervisor ----------------------------------------------------------------------- */

struct broker_client {
	pid_t pid;   /* 0: none was started */
	int pidfd;   /* readable when the broker has ended */
	int control; /* when it closes, the broker ends all calls and itself */
	int door;    /* init's end: over it init sends the listening sockets, each in one message
			with its path (PLAN_BROKER, or a tool's in PLAN_CALLS), and then closes it;
			closed by broker_started_init */
};

/* Forks the broker. It leaves the group, not the session, so that tools keep the terminal, and ends
 * with the thread that called this. To be called before init and others are forked, who must not
 * keep `control`. False: err says why. */
bool broker_start(const struct broker_config *config, struct broker_client *ret_client,
		  struct err *err);

/* In the supervisor after init was cloned: init's end of the door is init's alone. */
void broker_started_init(struct broker_client *client);

/* The run is over: every call is ended, the report read, the broker reaped. Takes three seconds at
 * the most. `ret_died`: it had ended by itself before; the report is empty then. Fine for a broker
 * that was never started. */
void broker_finish(struct broker_client *client, struct broker_report *ret_report, bool *ret_died);

/* --- the broker's process -------------------------------------------------------------------- */

/* The process's whole life; the exit status. `control` and `door` are its ends (SOCK_SEQPACKET),
 * `parent` the process that must not end before it. Prints nothing. Keeps living whatever shims
 * do. */
int broker_main(const struct broker_config *config, int control, int door, pid_t parent);

#endif
