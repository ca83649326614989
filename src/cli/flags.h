/* The flags of the commands in one view, from the tables of keys (keys.def) and of flags
 * (flags.def, spec_flags.def, tool_keys.def), for help, completions and man pages. */
#ifndef LNK_CLI_FLAGS_H
#define LNK_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

enum flags_of {
	FLAGS_OF_KEYS, /* those that give a key of a spec; run and spec take them */
	FLAGS_OF_RUN,  /* the others of run */
	FLAGS_OF_SPEC, /* the others of spec */
	FLAGS_OF_WHY,  /* the others of why */
	FLAGS_OF_TOOL, /* those of tool add */
};

struct flag_view {
	const char *name;    /* "--write" */
	const char *metavar; /* "PATH"; NULL: the flag takes no value */
	bool repeatable;
	const char *help; /* one line */
};

/* The flag with this index (0 is the first) in the order of its table. False after the last. */
bool flags_at(enum flags_of of, size_t index, struct flag_view *ret_flag);

#endif
