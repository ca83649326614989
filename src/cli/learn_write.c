/* The spec that a watched run would have needed, with a comment beside each line that says why.
 * Names in it come from the program: only those that TOML can hold are written, and a comment shows
 * what is printable alone. */
#include "cli/learn_inner.h"

#include "base/fd.h"
#include "base/str.h"
#include "cli/outside.h"
#include "plan/explain.h"
#include "plan/refuse.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Programs of one folder that become the folder. */
#define PROGRAMS_FOLD 6

struct writer {
	struct learn *l;
	const struct run_seen *seen;
	struct explain explain;
	FILE *out;
	FACT_LIST(const char *) left; /* what was not opened: lines of comment */
};

/* --- words ---------------------------------------------------------------------------------- */

/* What an entry of a spec can hold. */
static bool can_be_written(const char *text)
{
	json_t *o = json_string(text); /* NULL for what is not UTF-8 */

	json_decref(o);
	for (; *text != '\0' && o != NULL; text++) {
		if ((unsigned char)*text < ' ' || *text == 127) {
			return false;
		}
	}
	return o != NULL;
}

static void comment(struct writer *w, const char *text)
{
	char safe[2048];

	fprintf(w->out, "# %s\n", str_printable(text, safe, sizeof(safe)));
}

/* An entry of a list, on a line of its own. */
static void entry(struct writer *w, const char *value, const char *why)
{
	char safe[512];

	fprintf(w->out, "\t%s,%s%s\n", explain_quote(value, &w->l->arena),
		why[0] != '\0' ? " # " : "", str_printable(why, safe, sizeof(safe)));
}

static void leave(struct writer *w, const char *text)
{
	if (w->left.n < LEARN_MAX) {
		ARENA_PUSH(&w->l->arena, &w->left, text);
	}
}

static const char *times(struct writer *w, const char *what, uint32_t n)
{
	return n == 1 ? what : arena_printf(&w->l->arena, "%s, %" PRIu32 " times", what, n);
}

/* A name for the spec, of the folder that it opens. */
static const char *spec_name(struct writer *w)
{
	char *name = arena_strdup(&w->l->arena, path_base(w->seen->machine->cwd.name));

	for (char *p = name; *p != '\0'; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || *p == '-' || *p == '_' ||
			     (*p == '.' && p > name);

		*p = (char)(plain ? *p : '-');
	}
	return strlen(name) <= 100 && name[0] != '\0' ? name : "app";
}

/* --- files ---------------------------------------------------------------------------------- */

/* On the terminal, when everything of the run is dead: what was typed before is no answer. */
static bool ask(const char *path, const char *what)
{
	char line[64];
	char safe[1024];
	auto_close int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (tty < 0 || tcgetpgrp(tty) != getpgrp()) {
		return false;
	}
	tcflush(tty, TCIFLUSH);
	dprintf(tty, "lnk: it wanted to read %s (%s). Open it in the spec? [y/N] ",
		str_printable(path, safe, sizeof(safe)), what);
	ssize_t n = read(tty, line, sizeof(line) - 1);
	if (n <= 0) {
		return false;
	}
	line[n] = '\0';
	return str_eq(line, "y\n") || str_eq(line, "yes\n");
}

static void write_reads(struct writer *w, const struct findings *f)
{
	const struct spec_value *given = &w->seen->spec->value[SPEC_FILES_READ];
	bool begun = false;

	for (size_t i = 0; i < given->n + f->v.n; i++) {
		const struct finding *x = i < given->n ? NULL : &f->v.v[i - given->n];

		/* A program that lies in a closed folder is closed like a file. */
		if (x != NULL && (x->gone || x->access == EXPLAIN_WRITE || x->why.add == NULL)) {
			continue;
		}
		const char *path = x == NULL ? given->v[i].path : x->path;
		const char *shown = explain_tilde(&w->explain, path);
		const char *what = learn_secret(w->seen->machine, path);
		if (!can_be_written(shown)) {
			continue;
		}
		if (x != NULL && what != NULL && !ask(shown, what)) {
			leave(w, arena_printf(&w->l->arena, "read %s (%s)",
					      explain_quote(shown, &w->l->arena), what));
			continue;
		}
		if (!begun) {
			fputs("# Read only: it looked for these, and they are there.\nread = [\n",
			      w->out);
			begun = true;
		}
		entry(w, shown,
		      x == NULL                  ? "by a flag"
		      : what != NULL             ? what
		      : x->names > 1             ? times(w, "files in it were looked at", x->count)
		      : x->access == EXPLAIN_RUN ? "a program of it was started"
						 : times(w, "was looked at", x->count));
	}
	fputs(begun ? "]\n" : "", w->out);
}

static void leave_writes(struct writer *w, const struct findings *f)
{
	for (size_t i = 0; i < f->v.n; i++) {
		const struct finding *x = &f->v.v[i];

		if (!x->gone && x->access == EXPLAIN_WRITE) {
			leave(w, arena_printf(&w->l->arena, "write %s: %s",
					      explain_tilde(&w->explain, x->path), x->why.why));
		}
	}
}

static void write_files(struct writer *w, const struct findings *f)
{
	const struct spec_value *write = &w->seen->spec->value[SPEC_FILES_WRITE];
	const struct spec_value *dots = &w->seen->spec->value[SPEC_FILES_WRITE_DOT_FILES];
	const struct spec_value *hide = &w->seen->spec->value[SPEC_FILES_HIDE];

	fputs("\n[files]\n# Read and written: where it ran, or what the flags named.\nwrite = [\n",
	      w->out);
	for (size_t i = 0; i < write->n; i++) {
		entry(w, explain_tilde(&w->explain, write->v[i].path), "");
	}
	fputs("]\n", w->out);
	if (dots->n > 0) {
		fputs("# Their .git, .envrc, .vscode and .idea, too, by a flag.\nwrite_dot_files = "
		      "[\n",
		      w->out);
		for (size_t i = 0; i < dots->n; i++) {
			entry(w, explain_tilde(&w->explain, dots->v[i].path), "");
		}
		fputs("]\n", w->out);
	}
	write_reads(w, f);
	leave_writes(w, f);
	if (hide->n > 0) {
		fputs("# Closed, although it lies in what is open.\nhide = [\n", w->out);
		for (size_t i = 0; i < hide->n; i++) {
			const char *what = learn_secret(w->seen->machine, hide->v[i].path);

			entry(w, explain_tilde(&w->explain, hide->v[i].path),
			      what != NULL ? what : "by a flag");
		}
		fputs("]\n", w->out);
	}
}

/* --- the network ---------------------------------------------------------------------------- */

static bool has_host(const struct learn *l, size_t before, const char *host)
{
	for (size_t i = 0; i < before; i++) {
		if (str_eq(l->hosts.v[i].host, host)) {
			return true;
		}
	}
	return false;
}

static void write_hosts(struct writer *w, enum spec_section section, const char *title)
{
	const struct learn *l = w->l;
	bool begun = false;

	for (size_t i = 0; i < l->hosts.n; i++) {
		const struct learn_host *h = &l->hosts.v[i];

		if (h->section != section || has_host(l, i, h->host)) {
			continue;
		}
		if (!begun) {
			fputs(title, w->out);
			begun = true;
		}
		entry(w, h->host,
		      times(w, h->refused ? "was called, and closed" : "was called", h->count));
	}
	fputs(begun ? "]\n" : "", w->out);
}

static void write_network(struct writer *w)
{
	const struct learn *l = w->l;
	bool tcp = false;
	bool local = false;

	write_hosts(w, SPEC_SECTION_INTERNET, "\n[internet]\nhosts = [\n");
	for (size_t i = 0; i < l->hosts.n; i++) {
		const struct learn_host *h = &l->hosts.v[i];
		bool v6 = strchr(h->host, ':') != NULL;

		if (h->section != SPEC_SECTION_INTERNET || h->port == 0 || h->port == 443 ||
		    h->port == 80) {
			continue;
		}
		fputs(tcp ? "" : "tcp = [\n", w->out);
		tcp = true;
		entry(w,
		      arena_printf(&w->l->arena, v6 ? "[%s]:%u" : "%s:%u", h->host,
				   (unsigned)h->port),
		      "");
	}
	fputs(tcp ? "]\n" : "", w->out);
	write_hosts(w, SPEC_SECTION_LAN, "\n[lan]\nhosts = [\n");
	for (size_t i = 0; i < l->hosts.n; i++) {
		const struct learn_host *h = &l->hosts.v[i];

		if (h->section == SPEC_SECTION_LOCALHOST && h->port != 0) {
			fputs(local ? ", " : "\n[localhost]\nports = [", w->out);
			fprintf(w->out, "%u", (unsigned)h->port);
			local = true;
		}
	}
	fputs(local ? "]\n" : "", w->out);
}

/* --- programs ------------------------------------------------------------------------------- */

static void add_program(struct writer *w, struct str_set *names, const char *path, const char ***v,
			size_t *n)
{
	struct arena *arena = &w->l->arena;
	struct program_fact p = {.item = NULL};
	struct program_fact named = {.item = NULL};

	program_look_up(path, w->seen->machine, arena, &p);
	if (!p.found || *n >= LEARN_MAX || !can_be_written(path)) {
		return;
	}
	program_look_up(path_base(path), w->seen->machine, arena, &named);
	bool by_name = named.found && str_eq(named.at.real, p.at.real);
	const char *name = by_name ? path_base(path) : explain_tilde(&w->explain, path);
	if (str_set_add(names, arena, name)) {
		(*v)[(*n)++] = name;
	}
	if (p.script_real != NULL && !str_eq(p.script_real, p.at.real)) {
		add_program(w, names, p.script, v, n);
	}
	if (p.script_arg_real != NULL) {
		add_program(w, names, p.script_arg, v, n);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *folder_of(struct writer *w, const char *name)
{
	return strchr(name, '/') != NULL
		       ? arena_printf(&w->l->arena, "%s/", path_parent(name, &w->l->arena))
		       : NULL;
}

/* Many programs of one folder become the folder: sorted, they stand together. */
static size_t fold_programs(struct writer *w, const char **v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n;) {
		const char *folder = folder_of(w, v[i]);
		size_t k = i + 1;

		while (folder != NULL && k < n && folder_of(w, v[k]) != NULL &&
		       str_eq(folder_of(w, v[k]), folder)) {
			k++;
		}
		if (k - i >= PROGRAMS_FOLD) {
			v[kept++] = folder;
			i = k;
		} else {
			v[kept++] = v[i++];
		}
	}
	return kept;
}

static void write_programs(struct writer *w)
{
	struct str_set names = {.n = 0};
	const char **v = arena_alloc(&w->l->arena, (LEARN_MAX + 1) * sizeof(*v));
	const struct report *report = w->seen->report;
	size_t n = 0;

	for (size_t i = 0; i < report->ran.n; i++) {
		bool folder = false;

		if (outside_look(report->ran.v[i], X_OK, false, &folder) == OUTSIDE_THERE &&
		    !folder) {
			add_program(w, &names, report->ran.v[i], &v, &n);
		}
	}
	qsort(v, n, sizeof(*v), by_name);
	n = fold_programs(w, v, n);
	fputs("\n[commands]\n# Every program that was started, and what their first lines "
	      "name.\nallow = [\n",
	      w->out);
	for (size_t i = 0; i < n; i++) {
		entry(w, v[i], "");
	}
	fputs("]\n", w->out);
}

/* --- the file ------------------------------------------------------------------------------- */

static void write_head(struct writer *w)
{
	const char *words = "";

	for (int i = 0; i < w->l->argc; i++) {
		words = arena_printf(&w->l->arena, "%s %s", words, w->l->argv[i]);
	}
	comment(w, arena_printf(&w->l->arena, "Written by `lnk sandbox learn` from one run:%s",
				words));
	fputs("# It opens what that run was seen to want and no more: read every line before you "
	      "use\n"
	      "# it, above all when you do not trust the program, which chose what it wanted.\n",
	      w->out);
	fprintf(w->out, "name = \"%s\"\n", spec_name(w));
}

static void write_left(struct writer *w)
{
	if (w->left.n == 0) {
		return;
	}
	fputs("\n# It wanted this, too, which is left closed:\n", w->out);
	for (size_t i = 0; i < w->left.n; i++) {
		comment(w, arena_printf(&w->l->arena, "  %s", w->left.v[i]));
	}
}

/* The written file is read as `lnk sandbox spec` reads it. */
static bool check(struct writer *w)
{
	const struct machine *m = w->seen->machine;
	struct spec spec;
	struct spec_input input = {.file = w->l->out_path,
				   .cwd = m->cwd.name,
				   .home = m->home.name,
				   .os = SPEC_OS_LINUX};

	return spec_read(&input, &w->l->arena, &spec, w->l->errs) &&
	       refuse_check(&spec, m, &w->l->arena, w->l->errs);
}

static bool cannot_write(struct learn *l)
{
	struct err *err = err_list_next(l->errs);

	err_set(err, ERR_SETUP, errno, "cannot write %s", l->out);
	return err_hint(err, "name a file in a folder that is there and yours");
}

/* What comes after a call that was closed was not seen. */
static void tell_closed(const struct learn *l)
{
	unsigned n = 0;

	for (size_t i = 0; i < l->hosts.n; i++) {
		n += l->hosts.v[i].refused && !has_host(l, i, l->hosts.v[i].host) ? 1 : 0;
	}
	if (n > 0) {
		fprintf(stderr,
			"lnk: hosts that were called while they were closed: %u; what follows on "
			"such "
			"a call was not seen: learn once more with --host HOST for those you "
			"trust\n",
			n);
	}
}

bool learn_write(struct learn *l, const struct run_seen *seen)
{
	struct writer w = {.l = l,
			   .seen = seen,
			   .explain =
				   explain_begin(seen->spec, seen->facts, seen->plan, &l->arena)};
	/* As a spec's file would be refused: what it may not open is not proposed. */
	const struct spec file = {.file = l->out, .file_path = l->out_path};
	w.explain.rules = refuse_rules_read(&file, seen->machine, &l->arena);
	struct findings f = {.report = seen->report, .explain = &w.explain};
	int fd = open(l->out_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || (w.out = fdopen(fd, "w")) == NULL) {
		fd_close(&fd);
		return cannot_write(l);
	}
	report_find(&f);
	report_fold(&f);
	write_head(&w);
	write_files(&w, &f);
	write_network(&w);
	write_programs(&w);
	write_left(&w);
	bool ok = ferror(w.out) == 0;
	if (fclose(w.out) != 0 || !ok) {
		return cannot_write(l);
	}
	if (!check(&w)) {
		return false;
	}
	tell_closed(l);
	fprintf(stderr,
		"lnk: wrote %s: read it, then run it by: lnk sandbox run --spec %s -- ...\n",
		l->out, l->out);
	return true;
}
