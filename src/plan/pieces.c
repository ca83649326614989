#include "plan/pieces.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>

struct cut {
	struct facts *facts;
	struct arena *arena;
	struct err *err;
	FACT_LIST(const char *) closed;
};

/* A folder of programs that is listed, or lies in one that is, stays whole. */
static bool is_listed(const struct facts *f, const char *folder)
{
	for (size_t i = 0; i < f->commands.n; i++) {
		const struct program_fact *c = &f->commands.v[i];

		if (c->folder && c->found && path_within(folder, c->at.real)) {
			return true;
		}
	}
	return false;
}

static void find_closed(struct cut *c)
{
	const struct facts *f = c->facts;

	for (size_t i = 0; i < f->secrets.n; i++) {
		ARENA_PUSH(c->arena, &c->closed, f->secrets.v[i]);
	}
	for (size_t i = 0; i < f->program_folders.n; i++) {
		if (!is_listed(f, f->program_folders.v[i].real)) {
			ARENA_PUSH(c->arena, &c->closed, f->program_folders.v[i].real);
		}
	}
}

/* Depth is bounded by that of the closed names. */
static bool open_piece(struct cut *c, const char *path)
{
	bool whole = true;

	for (size_t i = 0; i < c->closed.n; i++) {
		if (path_within(path, c->closed.v[i])) {
			return true;
		}
		whole = whole && !path_within(c->closed.v[i], path);
	}
	if (whole) {
		ARENA_PUSH(c->arena, &c->facts->pieces, path);
		return true;
	}
	DIR *d = opendir(path);
	if (d == NULL) {
		return err_set(c->err, ERR_SETUP, errno, "cannot list %s", path);
	}
	bool ok = true;
	for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
		/* A link has no rights of its own. */
		if (e->d_type != DT_LNK && !str_eq(e->d_name, ".") && !str_eq(e->d_name, "..")) {
			ok = open_piece(c, arena_printf(c->arena, "%s/%s", path, e->d_name));
		}
	}
	closedir(d);
	return ok;
}

bool pieces_find(struct facts *facts, struct arena *arena, struct err *err)
{
	struct cut c = {.facts = facts, .arena = arena, .err = err};
	const char *last = NULL;

	find_closed(&c);
	for (size_t i = 0; i < facts->system.n; i++) {
		const char *path = facts->system.v[i].real;

		/* /bin and its kin lie in /usr on merged systems, which is the first. */
		if (last != NULL &&
		    (path_within(path, last) || path_within(path, facts->system.v[0].real))) {
			continue;
		}
		last = path;
		if (!open_piece(&c, path)) {
			return false;
		}
	}
	return true;
}
