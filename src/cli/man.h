/* The man pages' lists, as scdoc(5) text, from the tables. script/man puts them into man/. */
#ifndef LNK_CLI_MAN_H
#define LNK_CLI_MAN_H

#include <stdio.h>

/* Every key of a spec, by section: for lnk-sandbox-spec(5). */
void man_keys(FILE *out);

/* The flags of run: for lnk-sandbox-run(1). */
void man_flags(FILE *out);

/* The flags of spec that give no key: for lnk-sandbox-spec(1). */
void man_spec_flags(FILE *out);

/* The flags of why that give no key: for lnk-sandbox-why(1). */
void man_why_flags(FILE *out);

/* Every command with its usage: for lnk(1). */
void man_commands(FILE *out);

/* The variables that pass into the sandbox: for lnk-sandbox-run(1). */
void man_environment(FILE *out);

/* The guards, what each needs and what stands in for it: for lnk-sandbox-doctor(1). */
void man_guards(FILE *out);

/* The flags of tool add, what an entry of tools.toml holds, and the built-in rules: for
 * lnk-sandbox-tool(1). */
void man_tool_flags(FILE *out);
void man_tool_keys(FILE *out);
void man_profiles(FILE *out);

#endif
