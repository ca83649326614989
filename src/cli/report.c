#include "cli/report.h"

#include "base/logline.h"
#include "base/str.h"
#include "cli/notes.h"
#include "cli/outside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many names of one folder become the folder. */
#define FOLD_AT 4

/* Shares of a line of the log. */
#define PATH_SHARE 1600
#define WHY_SHARE  400
#define HINT_SHARE 1200

/* --- during the run ------------------------------------------------------------------------- */

/* "/a//b/./c/../d" becomes "/a/b/d", in place. Whether ".." leads elsewhere through a link is seen
 * when the name is looked at outside. */
static void normalise(char *path)
{
	char *out = path;
	const char *p = path;

	while (*p != '\0') {
		p += strspn(p, "/");
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.') {
			while (out > path && *--out != '/') {
			}
		} else if (n > 0 && !(n == 1 && p[0] == '.')) {
			*out++ = '/';
			memmove(out, p, n);
			out += n;
		}
		p += n;
	}
	if (out == path) {
		*out++ = '/';
	}
	*out = '\0';
}

/* Where the machine's own files are seen as they are outside, what is not there is not there. */
static bool as_outside(const struct plan *plan, const char *path)
{
	const struct plan_op *last = NULL;

	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];
		bool shows = op->kind == PLAN_BIND || op->kind == PLAN_PRIVATE ||
			     op->kind == PLAN_COVER || op->kind == PLAN_PIN;

		if (shows && path_within(path, op->path) &&
		    (last == NULL || strlen(op->path) >= strlen(last->path))) {
			last = op;
		}
	}
	return last != NULL && last->kind == PLAN_BIND;
}

static bool of_kernel(const char *path)
{
	return path_within(path, "/proc") || path_within(path, "/sys") ||
	       path_within(path, "/run/lnk");
}

void report_add(const struct tracer_refusal *refusal, void *context)
{
	struct report *r = context;
	enum tracer_access access = (enum tracer_access)refusal->access;
	bool read = access == TRACER_READ;
	char key[PATH_MAX + 4];
	char *path = key + 1;

	memcpy(path, refusal->path, strlen(refusal->path) + 1);
	normalise(path);
	if (of_kernel(path) || (refusal->error == ENOENT && as_outside(r->plan, path))) {
		return;
	}
	access = access == TRACER_LOOK ? TRACER_READ : access;
	key[0] = (char)('0' + access);
	const void *known = str_set_data(&r->seen, key);
	if (known != NULL) {
		struct report_name *name = r->names.v[*(const size_t *)known];
		name->count++;
		name->read |= read;
		return;
	}
	size_t len = strlen(key) + 1;
	if (r->names.n == REPORT_NAMES_MAX || r->bytes + len > REPORT_BYTES_MAX) {
		r->more++;
		return;
	}
	const char *kept = arena_strdup(r->arena, key);
	struct report_name *name = arena_alloc(r->arena, sizeof(*name));
	size_t *place = arena_alloc(r->arena, sizeof(*place));
	*name = (struct report_name){access, 1, read, kept + 1};
	*place = r->names.n;
	r->bytes += len;
	ARENA_PUSH(r->arena, &r->names, name);
	str_set_put(&r->seen, r->arena, kept, place);
}

/* --- afterwards ----------------------------------------------------------------------------- */

/* What one line is about. */
struct finding {
	enum explain_access access;
	const char *path; /* what was refused, or the folder that it was folded into */
	uint32_t count;   /* calls */
	uint32_t names;   /* different names */
	bool read;
	bool folder;
	bool gone; /* folded into another */
	struct explained why;
};

struct findings {
	struct report *report;
	const struct explain *explain;
	FACT_LIST(struct finding) v;
};

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

static int by_weight(const void *a, const void *b)
{
	const struct finding *x = a;
	const struct finding *y = b;

	if (x->access != y->access) {
		return x->access > y->access ? -1 : 1;
	}
	return x->count != y->count ? (x->count > y->count ? -1 : 1) : strcmp(x->path, y->path);
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

static const char *verb(enum explain_access access)
{
	return access == EXPLAIN_RUN ? "run" : access == EXPLAIN_WRITE ? "write" : "read";
}

static void write_log(const struct findings *f, struct logfile *log)
{
	for (size_t i = 0; i < f->v.n; i++) {
		const struct finding *x = &f->v.v[i];
		struct logline line = {.n = 0};

		logline_begin(&line);
		logline_text(&line, "section", x->access == EXPLAIN_RUN ? "commands" : "files", 16);
		logline_text(&line, "path", x->path, PATH_SHARE);
		logline_text(&line, "access", verb(x->access), 16);
		logline_text(&line, "verdict", "refused", 16);
		logline_origin(&line, "spec", x->why.from);
		logline_text(&line, "why", x->why.why, WHY_SHARE);
		logline_text(&line, "hint", x->why.hint, HINT_SHARE);
		logline_number(&line, "count", x->count);
		logline_end(&line);
		logfile_write(log, &line);
	}
}

static void tell(const struct findings *f, const struct finding *x)
{
	struct arena *arena = f->report->arena;
	bool run = x->access == EXPLAIN_RUN;
	const char *what =
		run && x->why.add != NULL ? x->why.add : explain_tilde(f->explain, x->path);
	const char *more = "";

	/* A program has as many names as PATH has folders. */
	if (x->names > 1 && x->access == EXPLAIN_READ && x->folder) {
		more = arena_printf(arena, " (%u names in it)", x->names);
	} else if (x->names > 1 && !run) {
		more = arena_printf(arena, " and %u more", x->names - 1);
	}
	notes_refused(
		arena_printf(arena, "to %s %s%s: %s", verb(x->access), what, more, x->why.why),
		x->count, x->why.hint != NULL ? x->why.hint : "");
}

static void tell_all(struct findings *f)
{
	uint32_t told = 0;
	uint32_t left = 0;

	if (f->v.n > 0) {
		qsort(f->v.v, f->v.n, sizeof(*f->v.v), by_weight);
	}
	for (size_t i = 0; i < f->v.n; i++) {
		if (f->v.v[i].gone) {
			continue;
		}
		if (told < REPORT_LINES_MAX) {
			tell(f, &f->v.v[i]);
			told++;
		} else {
			left++;
		}
	}
	if (left > 0) {
		fprintf(stderr, "lnk: refused: %u more files and programs; see --log\n", left);
	}
	if (f->report->more > 0) {
		fprintf(stderr,
			"lnk: refused, maybe: %u calls with names that were not looked at, since "
			"there were more than %d different ones\n",
			f->report->more, REPORT_NAMES_MAX);
	}
	if (told == 0 && f->report->more == 0) {
		fputs("lnk: report: no file and no program that is there was refused\n", stderr);
	}
}

uint32_t report_tell(struct report *report, const struct explain *explain, int log_fd, bool lost)
{
	struct findings f = {.report = report, .explain = explain};
	struct logfile log;

	if (lost) {
		fputs("lnk: warning: the tracer of --report was killed, and the program with it: "
		      "what follows is not all\n",
		      stderr);
	}
	for (size_t i = 0; i < report->names.n; i++) {
		find(&f, report->names.v[i]);
	}
	logfile_init(&log, log_fd);
	if (log_fd >= 0) {
		write_log(&f, &log);
	}
	if (f.v.n > 0) {
		qsort(f.v.v, f.v.n, sizeof(*f.v.v), by_path);
		absorb(&f);
		while (fold_once(&f)) {
		}
		merge(&f);
	}
	tell_all(&f);
	return (uint32_t)(log.lost < UINT32_MAX ? log.lost : UINT32_MAX);
}
