#include "cli/report.h"

#include "base/logline.h"
#include "base/str.h"
#include "cli/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	key[0] = refusal->error == 0 ? 'x' : (char)('0' + access);
	const void *known = str_set_data(&r->seen, key);
	if (known != NULL && refusal->error != 0) {
		struct report_name *name = r->names.v[*(const size_t *)known];
		name->count++;
		name->read |= read;
	}
	if (known != NULL) {
		return;
	}
	size_t len = strlen(key) + 1;
	if (r->names.n + r->ran.n >= REPORT_NAMES_MAX || r->bytes + len > REPORT_BYTES_MAX) {
		r->more++;
		return;
	}
	const char *kept = arena_strdup(r->arena, key);
	if (refusal->error == 0) {
		r->bytes += len;
		ARENA_PUSH(r->arena, &r->ran, kept + 1);
		str_set_put(&r->seen, r->arena, kept, kept);
		return;
	}
	struct report_name *name = arena_alloc(r->arena, sizeof(*name));
	size_t *place = arena_alloc(r->arena, sizeof(*place));
	*name = (struct report_name){access, 1, read, kept + 1};
	*place = r->names.n;
	r->bytes += len;
	ARENA_PUSH(r->arena, &r->names, name);
	str_set_put(&r->seen, r->arena, kept, place);
}

/* --- afterwards ----------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
	const struct finding *x = a;
	const struct finding *y = b;

	if (x->access != y->access) {
		return x->access > y->access ? -1 : 1;
	}
	return x->count != y->count ? (x->count > y->count ? -1 : 1) : strcmp(x->path, y->path);
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
	report_find(&f);
	logfile_init(&log, log_fd);
	if (log_fd >= 0) {
		write_log(&f, &log);
	}
	report_fold(&f);
	tell_all(&f);
	return (uint32_t)(log.lost < UINT32_MAX ? log.lost : UINT32_MAX);
}
