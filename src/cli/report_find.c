/* Which of the names that were asked for inside are there outside, and how few lines tell of them.
 */
#include "cli/report.h"

#include "base/str.h"
#include "cli/outside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many names of one folder become the folder. */
#define FOLD_AT 4

/* A name that programs are found by: where the shell only looks for it, it wanted to run it. */
static bool is_program(const struct explain *e, const char *path)
{
	struct path_info at;
	struct err ignored;
	bool is_folder = false;

	if (!machine_resolve(e->facts->machine, path_parent(path, e->arena), e->arena, &at,
			     &ignored)) {
		return false;
	}
	for (size_t i = 0; i < e->facts->program_folders.n; i++) {
		if (str_eq(at.real, e->facts->program_folders.v[i].real)) {
			return outside_look(path, X_OK, false, &is_folder) == OUTSIDE_THERE &&
			       !is_folder;
		}
	}
	return false;
}

/* Whether the name is there outside and this user could do it there. */
static bool was_refused(const struct report_name *n, bool *ret_folder)
{
	enum outside found;

	switch (n->access) {
	case TRACER_RUN:
		found = outside_look(n->path, X_OK, false, ret_folder);
		return found == OUTSIDE_THERE && !*ret_folder;
	case TRACER_WRITE:
		found = outside_look(n->path, W_OK, false, ret_folder);
		if (found == OUTSIDE_ABSENT) {
			found = outside_look(n->path, W_OK | X_OK, true, ret_folder);
			*ret_folder = false;
		}
		return found == OUTSIDE_THERE;
	case TRACER_LOOK:
	case TRACER_READ:
	default:
		found = outside_look(n->path, n->read ? R_OK : 0, false, ret_folder);
		return found == OUTSIDE_THERE;
	}
}

static void find(struct findings *f, const struct report_name *n)
{
	struct finding x = {.path = n->path, .count = n->count, .names = 1, .read = n->read};

	if (!was_refused(n, &x.folder)) {
		return;
	}
	x.access = n->access == TRACER_WRITE ? EXPLAIN_WRITE : EXPLAIN_READ;
	if (n->access == TRACER_RUN ||
	    (x.access == EXPLAIN_READ && is_program(f->explain, n->path))) {
		x.access = EXPLAIN_RUN;
	}
	explain_path(f->explain, x.access, false, x.path, &x.why);
	ARENA_PUSH(f->report->arena, &f->v, x);
}

static int by_path(const void *a, const void *b)
{
	const struct finding *x = a;
	const struct finding *y = b;

	return x->access != y->access ? (x->access < y->access ? -1 : 1) : strcmp(x->path, y->path);
}

static void swallow(struct finding *into, struct finding *x)
{
	into->count += x->count;
	into->names += x->names;
	x->gone = true;
}

/* A folder that was only looked at on the way to what lies in it is no wish of its own; one that
 * was listed stands for all of it. Sorted by path, a folder comes before what lies in it. */
static void absorb(struct findings *f)
{
	for (size_t i = 0; i < f->v.n; i++) {
		struct finding *x = &f->v.v[i];

		if (x->access != EXPLAIN_READ || !x->folder || x->gone) {
			continue;
		}
		for (size_t k = i + 1; k < f->v.n && !x->gone; k++) {
			struct finding *y = &f->v.v[k];

			if (y->access != x->access || y->gone || !path_within(y->path, x->path)) {
				continue;
			}
			if (x->read) {
				swallow(x, y);
			} else {
				x->gone = true;
			}
		}
	}
}

/* A folder that may stand for what lies in it: below the home, and not at the top of the disk. */
static bool may_fold(const struct explain *e, const char *folder)
{
	const struct path_info *home = &e->facts->machine->home;

	return !path_within(home->name, folder) && !path_within(home->real, folder) &&
	       strchr(folder + 1, '/') != NULL;
}

/* Replaces names of one folder by the folder, where there are many. True when something changed. */
static bool fold_once(struct findings *f)
{
	for (size_t i = 0; i < f->v.n; i++) {
		struct finding *x = &f->v.v[i];
		const char *folder = path_parent(x->path, f->report->arena);
		size_t n = 0;

		if (x->gone || x->access != EXPLAIN_READ || x->why.add == NULL ||
		    !may_fold(f->explain, folder)) {
			continue;
		}
		for (size_t k = i; k < f->v.n; k++) {
			const struct finding *y = &f->v.v[k];

			n += !y->gone && y->access == x->access && y->why.add != NULL &&
					     str_eq(path_parent(y->path, f->report->arena), folder)
				     ? 1
				     : 0;
		}
		if (n < FOLD_AT) {
			continue;
		}
		struct explained why;
		explain_path(f->explain, x->access, false, folder, &why);
		if (why.add == NULL) {
			continue;
		}
		for (size_t k = i + 1; k < f->v.n; k++) {
			struct finding *y = &f->v.v[k];

			if (!y->gone && y->access == x->access && y->why.add != NULL &&
			    path_within(y->path, folder)) {
				swallow(x, y);
			}
		}
		x->path = folder;
		x->folder = true;
		x->why = why;
		return true;
	}
	return false;
}

/* What one line of the spec would open is one line here. */
static void merge(struct findings *f)
{
	for (size_t i = 0; i < f->v.n; i++) {
		struct finding *x = &f->v.v[i];

		for (size_t k = i + 1; k < f->v.n && !x->gone && x->why.hint != NULL; k++) {
			struct finding *y = &f->v.v[k];

			if (!y->gone && y->access == x->access && y->why.hint != NULL &&
			    str_eq(y->why.hint, x->why.hint) && str_eq(y->why.why, x->why.why)) {
				swallow(x, y);
			}
		}
	}
}

void report_find(struct findings *f)
{
	for (size_t i = 0; i < f->report->names.n; i++) {
		find(f, f->report->names.v[i]);
	}
}

void report_fold(struct findings *f)
{
	if (f->v.n == 0) {
		return;
	}
	qsort(f->v.v, f->v.n, sizeof(*f->v.v), by_path);
	absorb(f);
	while (fold_once(f)) {
	}
	merge(f);
}
