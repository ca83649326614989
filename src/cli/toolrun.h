/* A tool outside: confined by a plan of its own, made by the same code as a run's. */
#ifndef LNK_CLI_TOOLRUN_H
#define LNK_CLI_TOOLRUN_H

#include "base/arena.h"
#include "base/err.h"
#include "broker/tools.h"
#include "plan/machine.h"
#include "spec/spec.h"

/* What a tool's run is made from: the sandbox's spec, and this machine as it was when the run
 * began (machine_resolve then gives the tool what the sandbox got). */
struct toolrun {
	const struct spec *spec;
	const struct machine *machine;
	char *const *outside; /* the user's own environment at start */
};

/* True when no argument is, or leads by its name, into the tool's own paths, which hold its login;
 * else `ret_word` is the one that does. A part behind "=" and behind a one-letter option counts, a
 * file:// in front of it not. */
bool toolrun_words(const struct toolrun *run, const struct tool *tool, const char *cwd,
		   char *const *argv, struct arena *arena, const char **ret_word);

/* A tool's sandbox, ready for one call. Its process leads a process group of its own, which the
 * tool is in; signals sent to it reach the tool. It ends with the process that started it. */
struct toolrun_process {
	pid_t pid;
	int late;   /* the call goes here; -1 afterwards */
	int status; /* readable when toolrun_hear has something */
};

/* Starts it: user, mount, PID, IPC and UTS namespaces of its own; this machine's network; what the
 * sandbox may see (the same hidden paths, links in it lead nowhere, dot files read only) and the
 * tool's own paths; the user's environment. False: no process could be made. */
bool toolrun_start(const struct toolrun *run, const struct tool *tool,
		   struct toolrun_process *ret_process);

/* Hands it the one call. `argv[0]` is passed over: the tool's own program runs. `cwd` is a folder
 * as the sandbox names it (hostile); where the tool may not see it, it starts in its private home.
 * The descriptors stay the caller's. False with errno. */
bool toolrun_call(struct toolrun_process *process, char *const *argv, const char *cwd,
		  const int fds[3]);

enum toolrun_event {
	TOOLRUN_ENDED,   /* `ret_status`: the exit status, 128+n of a signal */
	TOOLRUN_STOPPED, /* it waits for toolrun_continue */
	TOOLRUN_FAILED,  /* err: it did not start, or its sandbox broke */
};

/* Waits for the next event. */
enum toolrun_event toolrun_hear(struct toolrun_process *process, int *ret_status, struct err *err);
void toolrun_continue(struct toolrun_process *process);

/* Kills what is left of it, reaps it where it is our child, and closes everything. */
void toolrun_end(struct toolrun_process *process);

#endif
