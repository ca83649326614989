#include "cli/log.h"

#include "base/str.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int bad(const char *message, const char *hint, struct err *err)
{
	const struct origin from = {.flag = "--log"};

	err_set(err, ERR_USAGE, 0, "%s", message);
	err_hint(err, "%s", hint);
	(void)err_at(err, &from);
	return -1;
}

/* The path by which a name goes through a folder: by itself, a link on its way, or its end. */
static bool goes_through(const struct path_info *at, const char *folder)
{
	for (size_t i = 0; i < at->links.n; i++) {
		if (path_within(at->links.v[i].path, folder)) {
			return true;
		}
	}
	return path_within(at->name, folder) || path_within(at->real, folder);
}

/* The entry of [files] write in which the program could replace the file; NULL. */
static const struct spec_item *written(const struct path_info *at, const struct spec *spec,
				       const struct machine *machine, struct arena *arena)
{
	const struct spec_value *write = &spec->value[SPEC_FILES_WRITE];
	struct path_info grant;
	struct err ignored; /* a path that cannot be resolved is no grant: the plan says so */

	for (size_t i = 0; i < write->n; i++) {
		if (machine_resolve(machine, write->v[i].path, arena, &grant, &ignored) &&
		    (goes_through(at, grant.real) || goes_through(at, grant.name))) {
			return &write->v[i];
		}
	}
	return NULL;
}

static int open_it(const struct path_info *at)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;

	/* /dev/stderr and its kin end in a link of the kernel's, which only it can follow. */
	if (path_within(at->real, "/proc")) {
		return open(at->name, flags);
	}
	return open(at->real, flags | O_NOFOLLOW | (at->exists ? 0 : O_CREAT | O_EXCL), 0600);
}

int log_open(const char *file, const struct spec *spec, const struct machine *machine,
	     struct arena *arena, struct err *err)
{
	const char *name = value_join(machine->cwd.name, file, arena);
	struct path_info at;
	struct err why;

	if (!resolve_path(name, arena, &at, &why)) {
		return bad(arena_printf(arena, "cannot open %s: %s", file, why.msg),
			   "name a file that you may write", err);
	}
	const struct spec_item *grant = written(&at, spec, machine, arena);
	if (grant != NULL) {
		return bad(arena_printf(arena, "%s lies in %s, which the program writes", file,
					grant->text),
			   "it could put a link there, and the next run would write through it: "
			   "keep the log outside, such as --log ~/calls.jsonl",
			   err);
	}
	int fd = open_it(&at);
	return fd >= 0 ? fd
		       : bad(arena_printf(arena, "cannot open %s: %s", file, strerror(errno)),
			     "name a file that you may write", err);
}
