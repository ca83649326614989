/* What the three completion scripts share. */
#ifndef LNK_CLI_COMPLETE_INNER_H
#define LNK_CLI_COMPLETE_INNER_H

#include "cli/flags.h"

/* How the value of a flag is completed. */
enum complete_kind {
	COMPLETE_NOTHING,
	COMPLETE_FILES,
	COMPLETE_SPEC, /* files that end in .toml */
	COMPLETE_PROGRAM,
	COMPLETE_WORDS,
};

struct complete_value {
	enum complete_kind kind;
	const char *words; /* COMPLETE_WORDS: separated by spaces; "" else */
};

/* By the flag's metavar, but for --spec. COMPLETE_NOTHING also for flags that take no value. Never
 * NULL. */
const struct complete_value *complete_value_of(const struct flag_view *flag);

/* A command, from commands.def. */
struct complete_command {
	const char *words; /* "sandbox run" */
	const char *help;
};

/* The command with this index; NULL after the last. */
const struct complete_command *complete_command_at(size_t index);

/* Prints `text` in single quotes for bash and zsh, or for fish, where a backslash is special in
 * them, too. */
void complete_quoted(const char *text, bool fish);

/* The whole scripts. */
void complete_bash(void);
void complete_zsh(void);
void complete_fish(void);

#endif
