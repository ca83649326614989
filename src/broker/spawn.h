/* Programs of the user's own that the broker starts for itself: dialogs and the browser. Never
 * through a shell. */
#ifndef LNK_BROKER_SPAWN_H
#define LNK_BROKER_SPAWN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The value of a variable in `envp`; NULL when it is not set or empty. Borrowed. */
const char *spawn_variable(char *const *envp, const char *name);

/* The file of a program: an absolute name as it is, one without a slash in the absolute folders of
 * the PATH of `envp` (relative ones may be the sandbox's). False when there is none that may be
 * executed. */
bool spawn_find(const char *name, char *const *envp, char out[PATH_MAX]);

/* Starts `path` in a session of its own, with /dev/null as standard descriptors and no other, in
 * the user's home, signals as at login. It is killed when the calling process ends. *ret_pidfd is
 * readable when it has ended. -1 with errno when it cannot be started. */
pid_t spawn_watched(const char *path, char *const *argv, char *const *envp, int *ret_pidfd);

/* The same, but it is on its own from the beginning and lives on. False with errno. */
bool spawn_detached(const char *path, char *const *argv, char *const *envp);

/* In a child: every signal has its default effect and none is blocked. */
void spawn_reset_signals(void);

/* Ends the caller with SIGKILL when `parent`, which forked it, has ended or ends. Source:
 * PR_SET_PDEATHSIG(2const). */
void spawn_die_with(pid_t parent);

#endif
