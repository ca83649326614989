/* The program's environment: a short list passes, --env adds. */
#ifndef LNK_CLI_ENV_H
#define LNK_CLI_ENV_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

struct env_config {
	char *const *outside;      /* lnk's own environment */
	const char *const *wanted; /* values of --env: NAME, NAME=VALUE or "*" */
	size_t nwanted;
	const struct plan *plan;
	bool shims;   /* PLAN_SHIMS comes first on PATH */
	bool browser; /* BROWSER is the shim that asks */
};

/* Makes the program's environment, NULL-terminated, in `arena`. TMPDIR is the private /tmp, PWD the
 * folder it starts in. A malformed --env is ERR_USAGE; one that is not set outside is passed over.
 */
bool env_make(const struct env_config *config, struct arena *arena, char ***ret_envp,
	      struct err *err);

/* Calls `each` for every variable that names a file of certificates and is set. */
void env_each_certificate(char *const *outside,
			  void (*each)(void *data, const char *name, const char *file), void *data);

#endif
