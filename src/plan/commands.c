/* [commands]: which programs exist and may be executed, and whether PROGRAM is one of them. */
#include "plan/build.h"

#include "base/str.h"

#include <string.h>
#include <sys/stat.h>

/* First kernel whose binfmt_misc can be mounted in a user namespace. */
#define BINFMT_MAJOR 6
#define BINFMT_MINOR 7

static bool in_program_folder(struct build *b, const char *path)
{
	const char *parent = path_parent(path, b->arena);

	for (size_t i = 0; i < b->facts->program_folders.n; i++) {
		if (str_eq(parent, b->facts->program_folders.v[i].real)) {
			return true;
		}
	}
	return false;
}

/* A folder of programs that is listed as such keeps all its files. */
static bool listed_folder(const struct build *b, const char *folder)
{
	for (size_t i = 0; i < b->facts->commands.n; i++) {
		const struct program_fact *c = &b->facts->commands.v[i];

		if (c->folder && c->found && path_within(folder, c->at.real)) {
			return true;
		}
	}
	return false;
}

static bool is_listed(const struct build *b, const char *real)
{
	for (size_t i = 0; i < b->facts->commands.n; i++) {
		const struct program_fact *c = &b->facts->commands.v[i];

		if (c->found &&
		    (c->folder ? path_within(real, c->at.real) : str_eq(real, c->at.real))) {
			return true;
		}
	}
	return false;
}

static void empty_program_folders(struct build *b)
{
	for (size_t i = 0; i < b->facts->program_folders.n; i++) {
		const char *path = b->facts->program_folders.v[i].real;

		if (!listed_folder(b, path)) {
			build_op(b, (struct plan_op){
					    .kind = PLAN_PRIVATE, .path = path, .mode = 0755});
		}
	}
}

static void seal_program_folders(struct build *b)
{
	for (size_t i = 0; i < b->facts->program_folders.n; i++) {
		const char *path = b->facts->program_folders.v[i].real;

		if (!listed_folder(b, path)) {
			build_op(b, (struct plan_op){.kind = PLAN_SEAL, .path = path});
		}
	}
}

/* A listed file that the program could write stays as it is: its own content decides what runs. */
static void keep_program(struct build *b, const struct program_fact *c, const struct origin *from)
{
	const char *base = NULL;

	for (size_t i = 0; i < b->facts->write.n; i++) {
		const char *folder = b->facts->write.v[i].at.real;

		if (path_within(c->at.real, folder) && !str_eq(c->at.real, folder) &&
		    (base == NULL || path_within(folder, base))) {
			base = folder;
		}
	}
	if (base != NULL && build_is_open(b, c->at.real)) {
		build_anchors(b, base, c->at.real, from);
		build_op(b, (struct plan_op){.kind = PLAN_PIN,
					     .path = c->at.real,
					     .base = base,
					     .flags = PLAN_GUARDED,
					     .from = *from});
	}
}

static void script_note(struct build *b, const struct program_fact *c)
{
	const char *missing = NULL;

	if (c->script == NULL) {
		return;
	}
	if (c->script_real == NULL || !is_listed(b, c->script_real)) {
		missing = c->script;
	} else if (c->script_arg_real != NULL && !is_listed(b, c->script_arg_real)) {
		missing = c->script_arg;
	}
	if (missing != NULL) {
		build_note(b, c->item != NULL ? &c->item->from : &nowhere,
			   "%s is a script for %s, which [commands] does not list; add \"%s\" to "
			   "allow",
			   build_tilde(b, c->at.name), missing, path_base(missing));
	}
}

static void list_program(struct build *b, const struct program_fact *c)
{
	const struct origin *from = &c->item->from;

	if (!c->found) {
		return;
	}
	build_links(b, &c->at, from);
	if (!c->folder && in_program_folder(b, c->at.real) &&
	    !listed_folder(b, path_parent(c->at.real, b->arena)) &&
	    str_set_add(&b->programs, b->arena, c->at.real)) {
		build_op(b, (struct plan_op){.kind = PLAN_BIND,
					     .path = c->at.real,
					     .source = c->at.real,
					     .flags = PLAN_READ_ONLY,
					     .dev = c->at.dev,
					     .ino = c->at.ino,
					     .from = *from});
	}
	if (!c->folder) {
		keep_program(b, c, from);
		script_note(b, c);
	}
}

static void loaders(struct build *b)
{
	const struct facts *f = b->facts;
	struct str_set seen = {.cap = 0};

	if (b->options->bare) {
		return; /* no binfmt_misc of its own: it is told with the rest */
	}
	if (!f->binfmt || !kernel_at_least(&f->kernel, BINFMT_MAJOR, BINFMT_MINOR)) {
		build_note(
			b, &nowhere,
			"this kernel (%d.%d) has no binfmt_misc for user namespaces (Linux 6.7, "
			"module binfmt_misc): a listed program can start an unlisted one through "
			"the dynamic loader; see `lnk sandbox doctor`",
			f->kernel.major, f->kernel.minor);
		return;
	}
	for (size_t i = 0; i < f->loaders.n; i++) {
		if (str_set_add(&seen, b->arena, f->loaders.v[i].real)) {
			build_op(b, (struct plan_op){.kind = PLAN_LOADER,
						     .path = f->loaders.v[i].real});
		}
	}
	for (size_t i = 0; i < f->commands.n; i++) {
		const struct program_fact *c = &f->commands.v[i];

		if (c->loader != NULL && str_set_add(&seen, b->arena, c->loader)) {
			build_op(b, (struct plan_op){.kind = PLAN_LOADER,
						     .path = c->loader,
						     .from = c->item->from});
		}
	}
}

static void refuse_program(struct build *b, enum err_code code, const char *msg, const char *hint)
{
	struct err *err = err_list_next(b->errs);

	err_set(err, code, 0, "%s", msg);
	err_hint(err, "%s", hint);
}

/* Whether PROGRAM may run at all. What cannot be said before the start (a file without its
 * execute bit, a format nobody knows) is exec's to say. */
static void check_program(struct build *b, const char *program)
{
	const struct spec *spec = b->spec;
	const struct program_fact *p = &b->facts->program;

	if (spec->file != NULL && !spec->value[SPEC_COMMANDS_ALLOW].set) {
		refuse_program(b, ERR_NOT_PERMITTED,
			       arena_printf(b->arena,
					    "%s may not run: %s has no [commands], so "
					    "nothing runs",
					    program, spec->file),
			       arena_printf(b->arena, "add to it: [commands] allow = [\"%s\"]",
					    path_base(program)));
		return;
	}
	if (!p->found) {
		bool path = strchr(program, '/') != NULL;

		if (path && p->at.exists) {
			return; /* not executable: exec says why */
		}
		refuse_program(b, ERR_NOT_FOUND,
			       arena_printf(b->arena, "%s: no such program", program),
			       path ? "" : "no folder of PATH has it");
		return;
	}
	if (b->plan->commands_listed && !is_listed(b, p->at.real)) {
		const char *shown =
			strchr(program, '/') != NULL ? build_tilde(b, p->at.name) : program;

		refuse_program(b, ERR_NOT_PERMITTED,
			       arena_printf(b->arena,
					    "%s may not run: it is not in allow of "
					    "[commands]",
					    program),
			       arena_printf(b->arena, "add \"%s\" to allow", shown));
	}
}

void build_commands(struct build *b)
{
	const struct spec_value *allow = &b->spec->value[SPEC_COMMANDS_ALLOW];

	b->plan->commands_listed = allow->set && !(allow->n == 1 && str_eq(allow->v[0].text, "*"));
	if (b->options->program != NULL) {
		check_program(b, b->options->program);
	}
	if (b->plan->commands_listed) {
		empty_program_folders(b);
		for (size_t i = 0; i < b->facts->commands.n; i++) {
			list_program(b, &b->facts->commands.v[i]);
		}
		seal_program_folders(b);
		loaders(b);
	}
	build_closed_program(b);
}
