/* The sub-commands. Each gets the words after its own name, prints its result on stdout and
 * returns the exit status; errors go into `errs`, which main.c prints with their positions. */
#ifndef LNK_CLI_CLI_H
#define LNK_CLI_CLI_H

#include "base/err.h"

#define EXIT_OK        0
#define EXIT_USAGE     2   /* a bad spec, flag or operand */
#define EXIT_LNK       125 /* lnk itself failed */
#define EXIT_NOT_RUN   126 /* PROGRAM may not run */
#define EXIT_NOT_FOUND 127 /* PROGRAM does not exist */

/* lnk sandbox run [FLAG...] [--] PROGRAM [ARG...] */
int cli_run(int argc, char **argv, struct err_list *errs);

/* lnk sandbox spec [--json] [--os linux|macos] FILE | --keys | --schema */
int cli_spec(int argc, char **argv, struct err_list *errs);

/* lnk sandbox tool add NAME [FLAG...] | list | show NAME | remove NAME */
int cli_tool(int argc, char **argv, struct err_list *errs);

/* lnk sandbox why [FLAG...] read|write|run|call THING. 0: yes, 1: no. */
int cli_why(int argc, char **argv, struct err_list *errs);

/* lnk sandbox learn -o FILE [FLAG...] [--] PROGRAM [ARG...] */
int cli_learn(int argc, char **argv, struct err_list *errs);

/* lnk sandbox doctor */
int cli_doctor(int argc, char **argv, struct err_list *errs);

/* lnk --help, lnk sandbox --help, lnk sandbox run --help: made from the tables. */
void cli_help(const char *command);

/* lnk completion bash|zsh|fish */
int cli_completion(int argc, char **argv, struct err_list *errs);

#endif
