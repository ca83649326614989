/* Facts about the dot names (.git, .envrc, .vscode, .idea) at the top of a write folder. */
#ifndef LNK_PLAN_DOTFILES_H
#define LNK_PLAN_DOTFILES_H

#include "plan/facts.h"

/* Looks at each dot name of `folder` (resolved). Follows a `.git` pointer file to the folder it
 * names and says whether that folder points back. Fails only where a path cannot be looked at. */
bool dot_facts(const char *folder, struct arena *arena, struct dot_fact ret_dots[DOT_NAMES],
	       struct err *err);

#endif
