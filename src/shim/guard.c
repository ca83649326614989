#include "shim/guard.h"

#include "base/str.h"
#include "broker/repo.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* git's own status for what it cannot do. */
#define EXIT_GIT 128

void guard(char **argv)
{
	/* The name that the kernel was given; AT_EXECFN of getauxval(3). */
	const char *name = (const char *)getauxval(AT_EXECFN);

	if (name == NULL || !str_eq(name, REPO_GUARD "/git")) {
		return;
	}
	const char *common = getenv("GIT_COMMON_DIR");
	const char *git = getenv(REPO_GIT_VAR);
	if (common != NULL && git != NULL && str_eq(common, REPO_FOLDER)) {
		execv(git, argv);
		perror("lnk: cannot start git");
		_exit(EXIT_GIT);
	}
	/* Nothing to tell of a submodule, whose state `git status` asks for. */
	if (argv[1] != NULL && str_eq(argv[1], "status")) {
		_exit(EXIT_SUCCESS);
	}
	fputs("lnk: another repository's settings are not vetted, so git is not started in it\n",
	      stderr);
	_exit(EXIT_GIT);
}
