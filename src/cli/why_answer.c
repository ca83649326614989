/* What `lnk sandbox why` prints: the answer, the line that decides, and the line to add. */
#include "base/str.h"
#include "cli/cli.h"
#include "cli/outside.h"
#include "cli/why_call.h"
#include "cli/why_inner.h"
#include "plan/explain.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct answer {
	bool yes;
	const char *thing;         /* as shown */
	const struct origin *from; /* the line that decides; NULL */
	const char *line;          /* the same as the gate tells it; NULL */
	const char *why;           /* NULL: the line says it */
	const char *tried;         /* the kernel's word; NULL: the gate's, or none was asked */
	const char *hint;          /* NULL: there is nothing to do */
	const char *but;           /* yes, and yet; NULL */
	bool own;                  /* as in explained */
	bool line_opens;           /* the hint is a line to add */
};

/* --- text ----------------------------------------------------------------------------------- */

static void print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void print(const char *fmt, ...)
{
	char text[8192];
	char safe[sizeof(text) * 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	puts(str_printable(text, safe, sizeof(safe)));
}

/* The line as it stands in the file. */
static void print_line(const struct why *w, const struct answer *a)
{
	struct err err = {.line = 0};

	if (a->from != NULL && a->from->file != NULL) {
		spec_err_at(&w->spec, &err, a->from);
		print("%s:%u: %s", a->from->file, a->from->line,
		      err.source + strspn(err.source, " \t"));
	} else if (a->from != NULL && a->from->flag != NULL) {
		print("by the flag %s", a->from->flag);
	} else if (a->line != NULL) {
		print("by the flag %s", a->line);
	}
}

static void print_text(const struct why *w, const struct answer *a)
{
	print("%s: %s %s%s%s", a->yes ? "yes" : "no", w->verb, a->thing, a->why != NULL ? ": " : "",
	      a->why != NULL ? a->why : "");
	print_line(w, a);
	if (a->tried != NULL) {
		print("tried in the sandbox: %s", a->tried);
	}
	if (a->but != NULL) {
		print("but %s", a->but);
	}
	if (a->hint != NULL) {
		print("%s: %s",
		      a->own          ? "to reach the one outside"
		      : a->line_opens ? "to allow"
				      : "instead",
		      a->hint);
	}
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void put(json_t *o, const char *key, const char *text)
{
	char safe[8192];
	json_t *value = text != NULL ? json_string(text) : json_null();

	/* Names that are not UTF-8. */
	if (value == NULL) {
		value = json_string(str_printable(text, safe, sizeof(safe)));
	}
	json_object_set_new(o, key, value);
}

static void print_json(struct why *w, const struct answer *a)
{
	const char *line = a->line;
	bool call = w->trial.kind == TRIAL_CALL;
	json_t *o = json_object();

	if (a->from != NULL && a->from->file != NULL) {
		line = arena_printf(&w->arena, "%s:%u", a->from->file, a->from->line);
	} else if (a->from != NULL) {
		line = a->from->flag;
	}
	json_object_set_new(o, "allowed", json_boolean(a->yes));
	put(o, "access", w->verb);
	put(o, "thing", w->thing);
	put(o, "path", call || w->trial.what[0] != '/' ? NULL : w->trial.what);
	put(o, "host", call ? w->trial.what : NULL);
	json_object_set_new(o, "port", call ? json_integer(w->trial.port) : json_null());
	put(o, "spec", line);
	put(o, "why", a->why);
	put(o, "tried", a->tried);
	put(o, "but", a->but);
	put(o, "hint", a->hint);
	json_object_set_new(o, "private", json_boolean(a->own));
	char *text = json_dumps(o, JSON_INDENT(2));
	puts(text != NULL ? text : "null");
	free(text);
	json_decref(o);
}

static int give(struct why *w, const struct answer *a)
{
	if (w->json) {
		print_json(w, a);
	} else {
		print_text(w, a);
	}
	return a->yes ? EXIT_OK : EXIT_NO;
}

/* --- files and programs --------------------------------------------------------------------- */

/* `#!/usr/bin/env node`: the kernel starts env, and env does not find node. */
static const char *missing_interpreter(const struct explain *e, const struct program_fact *p)
{
	if (!e->plan->commands_listed || p->script_arg_real == NULL ||
	    explain_lists(e, p->script_arg_real)) {
		return NULL;
	}
	return arena_printf(e->arena,
			    "it is a script for %s, which is not in allow of [commands]; %s",
			    p->script_arg, explain_add(e, SPEC_COMMANDS_ALLOW, p->script_arg));
}

/* A tool or a page-opener of the sandbox's own. */
static const struct plan_shim *shim_of(const struct why *w)
{
	for (size_t i = 0; i < w->brokers.shims.n && w->trial.kind == TRIAL_RUN; i++) {
		if (str_eq(w->brokers.shims.v[i].name, w->trial.what)) {
			return &w->brokers.shims.v[i];
		}
	}
	return NULL;
}

/* What this user may not do outside either is no matter of the spec. */
static bool closed_outside(const struct why *w, const char *path)
{
	bool write = w->trial.kind == TRIAL_WRITE;
	bool folder;

	return outside_look(path, write ? W_OK : R_OK, false, &folder) == OUTSIDE_CLOSED;
}

static bool can_start_outside(const char *path)
{
	bool folder = false;

	return outside_look(path, X_OK, false, &folder) == OUTSIDE_THERE && !folder;
}

static int answer_program(struct why *w, const struct explain *e, struct answer *a)
{
	struct program_fact program = {.item = NULL};
	struct explained x;

	program_look_up(w->trial.what, &w->machine, &w->arena, &program);
	const char *path = program.found ? program.at.name : w->trial.what;
	if (path[0] != '/') {
		a->why = "no folder of PATH has such a program";
		a->tried = NULL;
		return give(w, a);
	}
	if (!a->yes && !can_start_outside(path)) {
		a->why = "it is no program that you may run";
		return give(w, a);
	}
	const char *asked = path;
	if (!a->yes && program.script_real != NULL && explain_lists(e, program.at.real)) {
		asked = program.script_real;
	}
	explain_path(e, EXPLAIN_RUN, a->yes, asked, &x);
	if (asked != path) {
		x.why = arena_printf(&w->arena,
				     "its interpreter, %s, is not in allow of [commands]",
				     program.script);
	}
	a->from = x.from;
	a->why = x.why;
	a->hint = x.hint;
	a->line_opens = x.add != NULL;
	a->but = a->yes ? missing_interpreter(e, &program) : NULL;
	w->trial.what = path;
	return give(w, a);
}

int why_answer(struct why *w, int status)
{
	const struct explain e = explain_begin(&w->spec, &w->facts, &w->plan, &w->arena);
	const struct plan_shim *shim = shim_of(w);
	struct answer a = {.yes = status == 0,
			   .tried = status == 0 ? NULL : strerror(status),
			   .thing = w->thing};
	struct explained x;

	if (shim != NULL && a.yes) {
		a.from = &shim->from;
		a.why = shim->tool ? "it is a tool of yours, which runs outside"
				   : "it asks you to open a page in your browser";
		return give(w, &a);
	}
	if (w->trial.kind == TRIAL_RUN) {
		return answer_program(w, &e, &a);
	}
	a.thing = explain_tilde(&e, w->trial.what);
	if (!a.yes && closed_outside(w, w->trial.what)) {
		a.why = "its own permissions close it to you, inside and outside";
		return give(w, &a);
	}
	explain_path(&e, w->trial.kind == TRIAL_WRITE ? EXPLAIN_WRITE : EXPLAIN_READ, a.yes,
		     w->trial.what, &x);
	a.from = x.from;
	a.why = x.why;
	a.hint = x.hint;
	a.own = x.own;
	a.line_opens = x.add != NULL;
	return give(w, &a);
}

/* --- calls ---------------------------------------------------------------------------------- */

static bool is_model(const struct why *w)
{
	for (size_t i = 0; i < w->net.ports.n; i++) {
		if (w->net.ports.v[i].port == w->trial.port && w->net.ports.v[i].model) {
			return true;
		}
	}
	return false;
}

/* It never came to the gate: there is none, or nothing leads to it. */
static void unheard(const struct why *w, const struct explain *e, int status, struct answer *a)
{
	a->hint = why_call_add(e, &w->trial);
	a->line_opens = true;
	a->tried = status == TRIAL_NO_NAME  ? "nobody knows this name"
		   : status == TRIAL_SILENT ? "no answer"
					    : strerror(status);
	a->why = why_call_is_loopback(&w->trial)
			 ? "localhost is the sandbox's own there, and no line opens this "
			   "port of the machine"
			 : "no section opens the network";
}

/* The entry whose line the gate names; NULL. */
static const struct origin *find_line(struct why *w, const char *line)
{
	for (int key = 0; key < SPEC_KEY_COUNT && line != NULL; key++) {
		const struct spec_value *value = &w->spec.value[key];

		for (size_t i = 0; i < value->n; i++) {
			const struct origin *from = &value->v[i].from;

			if (from->file != NULL &&
			    str_eq(line,
				   arena_printf(&w->arena, "%s:%u", from->file, from->line))) {
				return from;
			}
		}
	}
	return NULL;
}

int why_answer_call(struct why *w, int status)
{
	const struct explain e = explain_begin(&w->spec, &w->facts, &w->plan, &w->arena);
	struct gate_said said = {.allowed = false};
	struct answer a = {.thing = arena_printf(&w->arena, "%s, port %u",
						 why_call_shown(&w->trial, w->thing, &w->arena),
						 (unsigned)w->trial.port)};

	if (w->said_fd < 0 || !why_call_said(w->said_fd, &w->arena, &said)) {
		unheard(w, &e, status, &a);
		return give(w, &a);
	}
	a.yes = said.allowed;
	a.line = said.line;
	a.from = find_line(w, said.line);
	a.hint = said.hint;
	a.line_opens = said.hint != NULL &&
		       (str_starts(said.hint, "add") || strstr(said.hint, ": add") != NULL);
	a.why = said.why;
	if (said.allowed) {
		bool model =
			said.section != NULL && str_eq(said.section, "localhost") && is_model(w);

		a.but = said.why;
		a.why = arena_printf(&w->arena, "[%s] opens it%s; nothing was called to find out",
				     said.section, model ? ", for inference only" : "");
	}
	return give(w, &a);
}

int why_answer_host_mode(struct why *w)
{
	struct answer a = {
		.yes = true,
		.thing = arena_printf(&w->arena, "%s, port %u", w->thing, (unsigned)w->trial.port),
		.from = &w->spec.value[SPEC_NETWORK_MODE].v[0].from,
		.why = "the network is this machine's own, and nothing is filtered"};

	return give(w, &a);
}
