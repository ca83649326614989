/* May this tool be called with these arguments? Judged word by word, never as one text: no shell
 * ever sees them.
 *
 * A pattern is a list of words. A word matches one argument; "*" in it stands for any characters of
 * that argument, none included, and never for a space between two. "*" as the last word stands for
 * any further arguments, none included. "pr view *" matches `pr view` and `pr view 12 --json url`.
 *
 *   allow  The pattern must match all arguments. Where the tool has a profile, options that it
 *          knows to be harmless may stand before and between the words ("-R o/r" of gh); any other
 *          option there is a refusal, because what follows may be its value or a command. A "*"
 *          never matches an option, but as the last word. A harmless option that the pattern
 *          itself names ("pr merge --repo o/r *") may stand nowhere else in the call.
 *   deny   Matches wherever it might: options before and between the words are passed over with
 *          and without a value, letters' case does not count, and what follows the pattern is
 *          refused with it. It beats every allow, and `any`.
 *
 * What a profile closes (profiles.def) is refused also where `any` or a wide pattern would allow
 * it, until an allow pattern names it in plain words: "auth token", not "auth *" nor "*". */
#ifndef LNK_BROKER_JUDGE_H
#define LNK_BROKER_JUDGE_H

#include "broker/tools.h"

#include <stdbool.h>

/* Why not; both are printable, and one line. */
struct tool_refusal {
	char why[512];  /* "gh auth token prints your login" */
	char hint[512]; /* "lnk sandbox tool add gh --allow 'auth token *'", or what else to do */
};

/* `argv`: the `argc` arguments, without the program's name. True: call it. False: *ret_refusal says
 * why not. Pure; time is linear in the arguments. */
bool tool_judge(const struct tool *tool, int argc, char *const argv[],
		struct tool_refusal *ret_refusal);

/* The folder that the tool goes to first, by the options in front of its command (git -C):
 * absolute, normalised by name, in `arena`. `cwd` is what it is called in. */
const char *tool_folder(const struct tool *tool, size_t argc, char *const argv[], const char *cwd,
			struct arena *arena);

#endif
