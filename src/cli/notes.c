#include "cli/notes.h"

#include "base/str.h"
#include "cli/env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct certificates {
	const struct plan *plan;
	const struct facts *facts;
};

static void print_note(const char *text, const struct origin *from)
{
	char safe[4096];

	fprintf(stderr, "lnk: note: %s", str_printable(text, safe, sizeof(safe)));
	if (from->file != NULL) {
		fprintf(stderr, " (%s:%u)", str_printable(from->file, safe, sizeof(safe)),
			from->line);
	}
	fputc('\n', stderr);
}

/* Whether the plan opens this path. Rights say so: they name all that is open. */
static bool is_open(const struct plan *plan, const char *path)
{
	bool open = false;

	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		if (op->kind == PLAN_ALLOW && (op->rights & PLAN_MAY_READ) != 0 &&
		    path_within(path, op->path)) {
			open = true;
		}
	}
	for (size_t i = 0; i < plan->ops.n; i++) {
		if (plan->ops.v[i].kind == PLAN_COVER && path_within(path, plan->ops.v[i].path)) {
			return false;
		}
	}
	return open;
}

static void certificate(void *data, const char *name, const char *file)
{
	const struct certificates *c = data;
	const char *home = c->facts->machine->home.name;
	const struct origin nowhere = {NULL, NULL, 0, 0};
	bool private = c->plan->private_home && path_within(file, home);
	char text[2048];

	for (size_t i = 0; private && i < c->facts->read.n; i++) {
		private = !path_within(file, c->facts->read.v[i].at.name) &&
			  !path_within(file, c->facts->read.v[i].at.real);
	}
	for (size_t i = 0; private && i < c->facts->write.n; i++) {
		private = !path_within(file, c->facts->write.v[i].at.name) &&
			  !path_within(file, c->facts->write.v[i].at.real);
	}
	if (file[0] == '/' && (private || !is_open(c->plan, file))) {
		snprintf(text, sizeof(text),
			 "%s names %s, which is closed; to open it: read = [\"%s\"] in [files]",
			 name, file, file);
		print_note(text, &nowhere);
	}
}

void notes_at_start(const struct plan *plan, char *const *env, const struct facts *facts)
{
	struct certificates c = {plan, facts};

	for (size_t i = 0; i < plan->notes.n; i++) {
		print_note(plan->notes.v[i].text, &plan->notes.v[i].from);
	}
	env_each_certificate(env, certificate, &c);
}

void notes_to_look_at(struct confine_result *result)
{
	char safe[4096];

	for (unsigned i = 0; i < result->nnotes; i++) {
		const struct err *n = &result->notes[i];

		fprintf(stderr, "lnk: warning: %s\n", str_printable(n->msg, safe, sizeof(safe)));
		fprintf(stderr, "hint: %s\n", str_printable(n->hint, safe, sizeof(safe)));
	}
	free(result->notes);
	result->notes = NULL;
	result->nnotes = 0;
}

/* What did not work, and what to do instead. */
static void not_done(const char *verdict, const char *what, uint32_t count, const char *hint)
{
	char safe[4096];

	fprintf(stderr, "lnk: %s: %s", verdict, str_printable(what, safe, sizeof(safe)));
	if (count > 1) {
		fprintf(stderr, " (%" PRIu32 " times)", count);
	}
	if (hint[0] != '\0') {
		fprintf(stderr, "; %s", str_printable(hint, safe, sizeof(safe)));
	}
	fputc('\n', stderr);
}

void notes_refused(const char *what, uint32_t count, const char *hint)
{
	not_done("refused", what, count, hint);
}

static void more_refused(uint32_t more)
{
	if (more > 0) {
		fprintf(stderr, "lnk: refused: %" PRIu32 " more; see --log\n", more);
	}
}

void notes_of_log(uint32_t lost)
{
	if (lost > 0) {
		fprintf(stderr,
			"lnk: warning: lines that are missing in the log, which could not be "
			"written to: %" PRIu32 "\n",
			lost);
	}
}

void notes_of_gate(const struct gate_report *report, bool died)
{
	if (died) {
		fputs("lnk: warning: the gate ended during the run: every call to the network "
		      "failed from then on\n",
		      stderr);
	}
	for (uint32_t i = 0; i < report->n; i++) {
		const struct gate_refusal *r = &report->v[i];

		not_done(r->failed ? "failed" : "refused", r->what, r->count, r->hint);
	}
	more_refused(report->more);
}

void notes_of_broker(const struct broker_report *report, bool died)
{
	if (died) {
		fputs("lnk: warning: the broker ended during the run: every call of a tool or the "
		      "browser failed from then on\n",
		      stderr);
	}
	for (uint32_t i = 0; i < report->n; i++) {
		notes_refused(report->v[i].what, report->v[i].count, report->v[i].hint);
	}
	more_refused(report->more);
}

void notes_at_exit(const struct confine_result *result)
{
	const char *p = result->left_names;
	unsigned shown = 0;
	char safe[1024];

	if (result->left == 0) {
		return;
	}
	fputs("lnk: gone with the private home:", stderr);
	while (shown < result->left && *p != '\0' &&
	       p < result->left_names + sizeof(result->left_names)) {
		fprintf(stderr, "%s ~/%s", shown > 0 ? "," : "",
			str_printable(p, safe, sizeof(safe)));
		p += strlen(p) + 1;
		shown++;
	}
	if (shown < result->left) {
		fprintf(stderr, "%s %u more", shown > 0 ? " and" : "", result->left - shown);
	}
	fputs("; to keep such files, write them in a folder of write, or run with --keep-home\n",
	      stderr);
}
