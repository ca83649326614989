/* The file of --log. */
#ifndef LNK_CLI_LOG_H
#define LNK_CLI_LOG_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/machine.h"
#include "spec/spec.h"

/* Opens FILE to append to, or makes it (0600). Refused where the program could put a link in its
 * place: in a folder of [files] write, or reached by way of one. The next run would write through
 * it, words of the program's choice, to any file of the user's. So is any link that is not the
 * system's: a run with another spec may have put it there. The descriptor (close-on-exec), or -1
 * with err ERR_USAGE. Source: openat2(2). */
int log_open(const char *file, const struct spec *spec, const struct machine *machine,
	     struct arena *arena, struct err *err);

#endif
