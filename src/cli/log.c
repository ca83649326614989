#include "cli/log.h"

#include "base/str.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* A link on the way that may be planted; NULL. An earlier run with another spec may have written
 * any folder of the user's, so that it says nothing that a link is the user's own, or root's where
 * root runs lnk. */
static const struct path_link *planted(const struct path_info *at, bool as_root,
				       struct arena *arena)
{
	struct stat st;

	for (size_t i = 0; i < at->links.n; i++) {
		const struct path_link *l = &at->links.v[i];
		const char *folder = path_parent(l->path, arena);
		bool of_system = str_eq(folder, "/") || str_eq(folder, "/dev") ||
				 path_within(folder, "/proc");

		if (!of_system && (as_root || lstat(l->path, &st) < 0 || st.st_uid != 0)) {
			return l;
		}
	}
	return NULL;
}

static int open_it(const struct path_info *at)
{
	const unsigned flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
	const unsigned make = at->exists ? 0 : O_CREAT | O_EXCL;
	/* What was judged is what is opened, whatever is put in its way meanwhile. */
	struct open_how how = {.flags = flags | make,
			       .mode = make != 0 ? 0600 : 0,
			       .resolve = RESOLVE_NO_SYMLINKS};

	/* /dev/stderr and its kin end in a link of the kernel's, which only it can follow. */
	if (path_within(at->real, "/proc")) {
		return open(at->name, (int)flags);
	}
	return (int)syscall(SYS_openat2, AT_FDCWD, at->real, &how, sizeof(how));
}

int log_open(const char *file, const struct spec *spec, const struct machine *machine,
	     struct arena *arena, struct err *err)
{
	const char *name = value_join(machine->cwd.name, file, arena);
	/* How the caller came into the working folder is past. */
	const char *from_here = value_join(machine->cwd.real, file, arena);
	struct path_info at, beyond;
	struct err why;

	if (!resolve_path(name, arena, &at, &why) ||
	    !resolve_path(from_here, arena, &beyond, &why)) {
		return bad(arena_printf(arena, "cannot open %s: %s", file, why.msg),
			   "name a file that you may write", err);
	}
	const struct spec_item *grant = written(&at, spec, machine, arena);
	if (grant == NULL) {
		grant = written(&beyond, spec, machine, arena);
	}
	if (grant != NULL) {
		return bad(arena_printf(arena, "%s lies in %s, which the program writes", file,
					grant->text),
			   "it could put a link there, and the next run would write through it: "
			   "keep the log outside, such as --log ~/calls.jsonl",
			   err);
	}
	const struct path_link *link = planted(&beyond, machine->uid == 0, arena);
	if (link != NULL) {
		return bad(arena_printf(arena, "%s goes by way of the link %s", file, link->path),
			   arena_printf(arena,
					"an earlier run may have put it there to have its words "
					"written elsewhere: if it leads where you want the log, "
					"write --log %s",
					beyond.real),
			   err);
	}
	int fd = open_it(&beyond);
	return fd >= 0 ? fd
		       : bad(arena_printf(arena, "cannot open %s: %s", file, strerror(errno)),
			     "name a file that you may write", err);
}
