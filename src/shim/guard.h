/* Stands for `git` where git, started by a tool, starts itself. In the repository that was vetted
 * (broker/repo.h) it is git; in any other, which git comes to by a submodule or by alternates, it
 * is nothing: the settings there are the sandbox's, and could run programs with the tool's login.
 * git takes the variables that tell about the first one away then (prepare_other_repo_env in its
 * run-command.c). */
#ifndef LNK_SHIM_GUARD_H
#define LNK_SHIM_GUARD_H

/* Returns when the program was not started as the guard. */
void guard(char **argv);

#endif
