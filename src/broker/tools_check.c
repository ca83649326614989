/* What must hold outside of the sandbox before a tool is started for it. */
#include "base/str.h"
#include "broker/tools.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Owner of files whose owner has no number in this user namespace (user_namespaces(7)). */
#define OVERFLOW_UID 65534

static bool owner_is_fine(const struct stat *st, const struct tools_place *place)
{
	return st->st_uid == place->uid || st->st_uid == 0 || st->st_uid == OVERFLOW_UID;
}

/* Each folder on the way: whoever may rename in one puts another program in its place. */
static bool folders_are_fine(const char *path, const struct tools_place *place, struct err *err)
{
	auto_arena struct arena arena = {NULL};
	const char *folder = path;
	struct stat st;

	do {
		folder = path_parent(folder, &arena);
		if (stat(folder, &st) < 0) {
			return err_set(err, ERR_SPEC, errno, "cannot look at %s", folder);
		}
		if (!owner_is_fine(&st, place) ||
		    ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)) {
			err_set(err, ERR_SPEC, 0, "others may replace %s: %s is not yours alone",
				path, folder);
			return err_hint(err, "use a program that only you or root can change");
		}
	} while (!str_eq(folder, "/"));
	return true;
}

bool tool_program_check(const char *path, const struct tools_place *place, struct err *err)
{
	char real[PATH_MAX];
	struct stat st;

	if (realpath(path, real) == NULL || stat(real, &st) < 0) {
		err_set(err, ERR_SPEC, errno == ENOENT ? 0 : errno, "%s %s", path,
			errno == ENOENT ? "is not there" : "cannot be looked at");
		return err_hint(err, "name a program that is: --program PATH");
	}
	if (!str_eq(real, path)) {
		err_set(err, ERR_SPEC, 0, "%s is, or lies behind, a link now, to %s", path, real);
		return err_hint(err, "if that is the program you mean: --program %s", real);
	}
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0) {
		err_set(err, ERR_SPEC, 0, "%s is not a program that you may run", path);
		return err_hint(err, "name a program: --program PATH");
	}
	if (!owner_is_fine(&st, place) || (st.st_mode & S_IWOTH) != 0) {
		err_set(err, ERR_SPEC, 0, "others may change %s", path);
		return err_hint(err, "use a program that only you or root can change: ls -l %s",
				path);
	}
	return folders_are_fine(path, place, err);
}

/* The entry of the spec that lets `path` be written, or NULL. */
static const struct spec_item *written(const struct spec *spec, const struct machine *machine,
				       const char *path, struct arena *arena)
{
	const struct spec_value *write = &spec->value[SPEC_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++) {
		struct path_info at;
		struct err ignored;

		if (path_within(path, write->v[i].path) ||
		    (machine_resolve(machine, write->v[i].path, arena, &at, &ignored) &&
		     path_within(path, at.real))) {
			return &write->v[i];
		}
	}
	return NULL;
}

static void report(const struct spec *spec, const struct origin *from, struct err *err,
		   struct err_list *errs)
{
	spec_err_at(spec, err, from);
	*err_list_next(errs) = *err;
}

static void never_added(const char *name, struct err *err)
{
	err_set(err, ERR_SPEC, 0, "there is no tool \"%s\"", name);
	if (tool_profile_for(name, name) != NULL) {
		err_hint(err, "add it, outside of the sandbox: lnk sandbox tool add %s", name);
	} else {
		err_hint(err,
			 "add it, outside of the sandbox: lnk sandbox tool add %s --allow 'COMMAND "
			 "*'",
			 name);
	}
}

/* A link may lead elsewhere since the path was given. */
static bool check_paths(const struct tool *tool, const struct tool_list *paths,
			const struct machine *machine, const struct tools_place *place,
			struct arena *arena, struct err *err)
{
	for (size_t i = 0; i < paths->n; i++) {
		struct path_info at;

		if (machine_resolve(machine, paths->v[i], arena, &at, err) &&
		    tool_path_check(at.real, place, err)) {
			continue;
		}
		return err_wrap(err, "tool %s, %s", tool->name, paths->v[i]);
	}
	return true;
}

/* A tool that the sandbox could change would run whatever the sandbox likes, outside. */
static bool check_tool(const struct spec *spec, const struct tool *tool,
		       const struct machine *machine, struct arena *arena, struct err *err)
{
	struct tools_place place;
	const struct spec_item *item;

	tools_place(machine, arena, &place);
	if (!tool_program_check(tool->program, &place, err)) {
		err_wrap(err, "tool %s", tool->name);
		return err_hint(err, "tell where it is: lnk sandbox tool add %s --program PATH",
				tool->name);
	}
	if (!check_paths(tool, &tool->read, machine, &place, arena, err) ||
	    !check_paths(tool, &tool->write, machine, &place, arena, err)) {
		return false;
	}
	item = written(spec, machine, tool->program, arena);
	if (item != NULL) {
		err_set(err, ERR_SPEC, 0,
			"the sandbox may write %s, the program of tool %s, which runs outside",
			tool->program, tool->name);
		return err_hint(err, "move the program out of \"%s\", or leave that out of write",
				item->text);
	}
	return true;
}

static bool check_file(const struct spec *spec, const struct tools *tools,
		       const struct machine *machine, struct arena *arena, struct err *err)
{
	char real[PATH_MAX];
	const struct spec_item *item;

	if (realpath(tools->path, real) == NULL) {
		return true;
	}
	item = written(spec, machine, real, arena);
	if (item == NULL) {
		return true;
	}
	err_set(err, ERR_SPEC, 0, "the sandbox may write %s, which says what runs outside", real);
	return err_hint(err, "leave \"%s\" out of write, or [tools] out of the spec", item->text);
}

bool tools_check(const struct spec *spec, const struct tools *tools, const struct machine *machine,
		 struct arena *arena, struct err_list *errs)
{
	const struct spec_value *names = &spec->value[SPEC_TOOLS_NAMES];
	unsigned before = errs->total;
	struct err e;

	if (names->n > 0 && !check_file(spec, tools, machine, arena, &e)) {
		report(spec, &names->from, &e, errs);
	}
	for (size_t i = 0; i < names->n; i++) {
		const struct spec_item *item = &names->v[i];
		const struct tool *tool = tools_find(tools, item->text);

		if (tool == NULL) {
			never_added(item->text, &e);
		} else if (check_tool(spec, tool, machine, arena, &e)) {
			continue;
		}
		report(spec, &item->from, &e, errs);
	}
	return errs->total == before;
}
