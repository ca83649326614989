/* The plan for people: one operation a line, then the line of the spec it comes from. */
#include "base/str.h"
#include "plan/plan.h"

#include <sys/types.h>

static const char *const kind_names[PLAN_KIND_COUNT] = {
	[PLAN_FOLDER] = "folder",   [PLAN_FILE] = "file",     [PLAN_LINK] = "link",
	[PLAN_PRIVATE] = "private", [PLAN_PROC] = "proc",     [PLAN_DEVICES] = "devices",
	[PLAN_BIND] = "bind",       [PLAN_COPY] = "copy",     [PLAN_SEAL] = "seal",
	[PLAN_PIN] = "pin",         [PLAN_ANCHOR] = "anchor", [PLAN_COVER] = "cover",
	[PLAN_LOADER] = "loader",   [PLAN_ALLOW] = "allow",
};

static void print_path(const char *path, FILE *out)
{
	char buf[4096];

	fprintf(out, " %s", str_printable(path, buf, sizeof(buf)));
}

static void print_rights(unsigned rights, FILE *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{PLAN_MAY_LIST, "list"},     {PLAN_MAY_READ, "read"},
		{PLAN_MAY_WRITE, "write"},   {PLAN_MAY_EXECUTE, "execute"},
		{PLAN_MAY_DEVICE, "device"},
	};
	const char *sep = " ";

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if ((rights & names[i].bit) != 0) {
			fprintf(out, "%s%s", sep, names[i].name);
			sep = ",";
		}
	}
}

static void print_detail(const struct plan_op *op, FILE *out)
{
	if (op->source != NULL && !str_eq(op->source, op->path)) {
		fputs(" from", out);
		print_path(op->source, out);
	}
	if (op->kind == PLAN_LINK) {
		fputs(" ->", out);
		print_path(op->text, out);
	}
	if (op->kind == PLAN_PRIVATE) {
		fprintf(out, " mode=%04o", (unsigned)op->mode);
	}
	if (op->kind == PLAN_ALLOW) {
		print_rights(op->rights, out);
	}
	if (op->kind == PLAN_BIND) {
		fputs((op->flags & PLAN_READ_ONLY) != 0 ? " read only" : " read and write", out);
	}
	if ((op->flags & PLAN_GUARDED) != 0) {
		fputs((op->flags & PLAN_MISSING) != 0 ? " guarded, placeholder if missing"
						      : " guarded",
		      out);
	}
}

static void print_origin(const struct origin *from, FILE *out)
{
	if (from->file != NULL) {
		fprintf(out, "  # %s:%u:%u", from->file, from->line, from->col);
	} else if (from->flag != NULL) {
		fprintf(out, "  # %s", from->flag);
	}
}

void plan_print(const struct plan *plan, FILE *out)
{
	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		fprintf(out, "%-7s", kind_names[op->kind]);
		print_path(op->path, out);
		print_detail(op, out);
		print_origin(&op->from, out);
		fputc('\n', out);
	}
	fprintf(out, "seccomp %s%s\n", plan->commands_listed ? "commands listed" : "any command",
		plan->user_namespaces ? ", user namespaces allowed" : "");
	fputs("network none but its own loopback\n", out);
	fprintf(out, "start   in");
	print_path(plan->cwd, out);
	fputc('\n', out);
}
