/* A tool outside: confined by a plan of its own, made by the same code as a run's. */
#ifndef LNK_CLI_TOOLRUN_H
#define LNK_CLI_TOOLRUN_H

#include "base/arena.h"
#include "base/err.h"
#include "broker/tools.h"
#include "plan/machine.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a tool's run is made from: the sandbox's spec, and this machine as it was when the run
 * began (machine_resolve then gives the tool what the sandbox got). */
struct toolrun {
	const struct spec *spec;
	const struct machine *machine;
	char *const *outside; /* the user's own environment at start */
	const char *shim;     /* lnk-shim's file: it stands for git where git starts itself */
};

/* Who hears that the tool and all that it started are gone, before its sandbox is taken down. */
struct toolrun_end {
	void (*ended)(int status, void *context);
	void (*again)(void *context); /* after that: it waits for another call (toolrun_late) */
	void *context;
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
	     const struct toolrun_end *end, int *ret_status, struct err *err);

/* --- a sandbox that waits for the next call ----------------------------------------------------
 */

/* Plans it, in the process that forks its own for toolrun_late. */
bool toolrun_prepare(const struct toolrun *run, const struct tool *tool, struct err *err);

/* toolrun as planned, but argument words, folder, descriptors and the repository's settings come
 * over `late`, once all is ready; and then those of the next call, as long as calls leave the
 * sandbox as they found it. */
bool toolrun_late(const struct tool *tool, int late, const struct toolrun_end *end, int *ret_status,
		  struct err *err);

/* In the process that has planned it: hands it the call, which joins the process group `group`. The
 * descriptors stay the caller's. False: the call cannot come this way (too large, settings that
 * refuse it), or the sandbox is gone. */
bool toolrun_call(const struct tool *tool, char *const *argv, const char *cwd, int late,
		  const int fds[3], pid_t group);

/* What the tool's program and its own paths are by now, as one number: when it is another, a
 * sandbox that was made before has files that are no longer the tool's. */
uint64_t toolrun_state(const struct toolrun *run, const struct tool *tool);

#endif
