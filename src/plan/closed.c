/* PROGRAM in a closed folder: what the user has to open for it. */
#include "plan/build.h"

#include "base/str.h"

#include <stdio.h>

/* Entries of one note. A chain of links that is longer is named by the next run. */
#define CLOSED_MAX 8

struct closed {
	const char *what; /* the first thing that is closed, by name, and where it is */
	const char *where;
	const char *open[CLOSED_MAX];
	size_t n;
};

/* Folders that hold much besides programs: of these only the file is opened. */
static bool holds_more(const struct build *b, const char *folder)
{
	const struct path_info *home = &b->facts->machine->home;

	return str_eq(folder, "/") || path_within(home->real, folder) ||
	       path_within(home->name, folder) ||
	       (str_eq(path_base(folder), ".local") &&
		(str_eq(path_parent(folder, b->arena), home->real) ||
		 str_eq(path_parent(folder, b->arena), home->name)));
}

/* What to open for a program: the folder that holds its bin folder, since it mostly needs what
 * lies in lib beside it; or its own folder. */
static const char *to_open(const struct build *b, const char *file)
{
	const char *folder = path_parent(file, b->arena);

	if (str_eq(path_base(folder), "bin")) {
		folder = path_parent(folder, b->arena);
	}
	return holds_more(b, folder) ? file : folder;
}

static void add(struct closed *closed, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < closed->n; i++) {
		if (path_within(path, closed->open[i])) {
			return;
		}
	}
	for (size_t i = 0; i < closed->n; i++) {
		if (!path_within(closed->open[i], path)) {
			closed->open[kept++] = closed->open[i];
		}
	}
	closed->n = kept;
	if (closed->n < CLOSED_MAX) {
		closed->open[closed->n++] = path;
	}
}

static void look_at(const struct build *b, struct closed *closed, const char *what,
		    const char *path)
{
	if (path == NULL || build_is_open(b, path) || str_set_has(&b->links, path)) {
		return;
	}
	if (closed->what == NULL) {
		closed->what = what;
		closed->where = path;
	}
	add(closed, to_open(b, path));
}

void build_closed_program(struct build *b)
{
	const struct program_fact *p = &b->facts->program;
	struct closed closed = {.n = 0};
	const char *list = "";

	if (!p->found) {
		return;
	}
	const char *name = p->at.name != NULL ? path_base(p->at.name) : "";

	look_at(b, &closed, name, p->at.real);
	for (size_t i = 0; i < p->at.links.n; i++) {
		look_at(b, &closed, name, p->at.links.v[i].path);
	}
	look_at(b, &closed, p->script != NULL ? path_base(p->script) : "", p->script_real);
	look_at(b, &closed, p->script_arg, p->script_arg_real);
	if (closed.n == 0) {
		return;
	}
	for (size_t i = 0; i < closed.n; i++) {
		list = arena_printf(b->arena, "%s%s\"%s\"", list, i > 0 ? ", " : "",
				    build_tilde(b, closed.open[i]));
	}
	build_note(b, &nowhere, "%s is %s, in a closed folder; to open it: read = [%s] in [files]",
		   closed.what, build_tilde(b, closed.where), list);
}
