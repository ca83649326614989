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
	const char *shim;     /* lnk-shim's file: it stands for git where git starts itself */
};

/* True when no argument is, or leads by its name, into the tool's own paths, which hold its login;
 * else `ret_word` is the one that does. A part behind "=" and behind a one-letter option counts, a
 * file:// in front of it not. */
bool toolrun_words(const struct toolrun *run, const struct tool *tool, const char *cwd,
		   char *const *argv, struct arena *arena, const char **ret_word);

/* Runs the tool with descriptors 0 to 2 as they are and waits for its end: user, mount, PID, IPC
 * and UTS namespaces of its own; this machine's network; what the sandbox may see (the same hidden
 * paths, dot files read only where the sandbox may not write them; links lead nowhere) and the
 * tool's own paths and sockets; the programs that its profile names, else any; the user's
 * environment. Of the repository that it is called in, git reads a vetted copy of the settings
 * (broker/repo.h). `argv[0]` is passed over; `cwd` is a folder as the sandbox names it (hostile):
 * where the tool may not see it, it starts in a private home. *ret_status as in confine_result.
 * False: err, and the tool did not run.
 *
 * In a process of its own: it takes the process over, as confine_run does. */
bool toolrun(const struct toolrun *run, const struct tool *tool, char *const *argv, const char *cwd,
	     int *ret_status, struct err *err);

#endif
