#include "plan/explain.h"

#include "base/str.h"
#include "plan/refuse.h"
#include "spec/values.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *explain_tilde(const struct explain *e, const char *path)
{
	const struct path_info *home = &e->facts->machine->home;

	if (path_within(path, home->real)) {
		return arena_printf(e->arena, "~%s", path + strlen(home->real));
	}
	if (path_within(path, home->name)) {
		return arena_printf(e->arena, "~%s", path + strlen(home->name));
	}
	return path;
}

/* Another key of the section that stands in the file or in flags; NULL. */
static const struct spec_value *neighbour(const struct spec *spec, enum spec_key key)
{
	for (int i = 0; i < SPEC_KEY_COUNT; i++) {
		if (spec_keys[i].section == spec_keys[key].section && spec->value[i].n > 0) {
			return &spec->value[i];
		}
	}
	return NULL;
}

const char *explain_quote(const char *text, struct arena *arena)
{
	char *out = arena_alloc(arena, strlen(text) * 6 + 3);
	char *p = out;

	*p++ = '"';
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 127) {
			p += sprintf(p, "\\u%04x", (unsigned)c);
			continue;
		}
		if (c == '"' || c == '\\') {
			*p++ = '\\';
		}
		*p++ = (char)c;
	}
	*p = '"';
	return out;
}

/* As a word of the shell. */
static const char *shell_word(const char *text, struct arena *arena)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./:@%+=,~";
	char *out = arena_alloc(arena, strlen(text) * 4 + 3);
	char *p = out;

	if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
		return text;
	}
	*p++ = '\'';
	for (; *text != '\0'; text++) {
		if (*text == '\'') {
			memcpy(p, "'\\''", 4);
			p += 4;
		} else {
			*p++ = *text;
		}
	}
	*p = '\'';
	return out;
}

const char *explain_add(const struct explain *e, enum spec_key key, const char *value)
{
	const struct spec_key_info *k = &spec_keys[key];
	const struct spec_value *list = &e->spec->value[key];
	const struct spec_value *near = neighbour(e->spec, key);
	const char *section = spec_sections[k->section].name;
	const char *toml = k->type == SPEC_TYPE_PORTS ? value : explain_quote(value, e->arena);
	const struct origin *last = list->n > 0 ? &list->v[list->n - 1].from : NULL;

	if (e->spec->file == NULL || (last != NULL && last->flag != NULL)) {
		return arena_printf(e->arena, "add %s %s", k->flag, shell_word(value, e->arena));
	}
	if (last != NULL) {
		return arena_printf(e->arena, "%s:%u: add %s to [%s] %s", last->file, last->line,
				    toml, section, k->name);
	}
	if (near != NULL && near->v[near->n - 1].from.file != NULL) {
		return arena_printf(e->arena, "%s:%u: add to [%s]: %s = [%s]",
				    near->v[near->n - 1].from.file, near->v[near->n - 1].from.line,
				    section, k->name, toml);
	}
	return arena_printf(e->arena, "add to %s: [%s] %s = [%s]", e->spec->file, section, k->name,
			    toml);
}

/* The deepest entry of a list that holds the path; NULL. */
static const struct path_fact *holder(const struct path_facts *list, const struct path_info *at)
{
	const struct path_fact *best = NULL;

	for (size_t i = 0; i < list->n; i++) {
		const struct path_fact *f = &list->v[i];

		if ((path_within(at->real, f->at.real) || path_within(at->name, f->at.name)) &&
		    (best == NULL || path_within(f->at.real, best->at.real))) {
			best = f;
		}
	}
	return best;
}

/* The last operation of one of two kinds that lies on or above the path. */
static const struct plan_op *last_op(const struct explain *e, const char *real, enum plan_kind a,
				     enum plan_kind b)
{
	const struct plan_op *found = NULL;

	for (size_t i = 0; i < e->plan->ops.n; i++) {
		const struct plan_op *op = &e->plan->ops.v[i];

		if ((op->kind == a || op->kind == b) && path_within(real, op->path) &&
		    (found == NULL || strlen(op->path) >= strlen(found->path))) {
			found = op;
		}
	}
	return found;
}

static const struct origin *granting_line(const struct plan_op *op)
{
	return op != NULL && (op->from.file != NULL || op->from.flag != NULL) ? &op->from : NULL;
}

/* How a key gets the path, or why none may and what to do instead. */
static void propose(const struct explain *e, enum spec_key key, const char *path,
		    struct explained *x)
{
	const char *shown = explain_tilde(e, path);
	struct err err;

	if (e->rules == NULL || refuse_may(e->rules, key, path, &err)) {
		x->add = shown;
		x->hint = explain_add(e, key, shown);
		return;
	}
	x->why = arena_printf(e->arena, "%s; and no spec file may open it, since %s", x->why,
			      err.msg);
	x->hint = err.hint[0] != '\0' ? arena_strdup(e->arena, err.hint) : NULL;
}

/* A dot name at the top of a write folder, or something in one; the folder, or NULL. */
static const char *dot_folder(const struct path_fact *w, const char *real)
{
	const char *rest = real + strlen(w->at.real);

	rest += rest[0] == '/' ? 1 : 0;
	for (size_t i = 0; i < DOT_NAMES; i++) {
		size_t n = strlen(dot_names[i]);

		if (strncmp(rest, dot_names[i], n) == 0 && (rest[n] == '\0' || rest[n] == '/')) {
			return dot_names[i];
		}
	}
	return NULL;
}

/* Written inside a write folder, and yet refused. */
static void explain_kept(const struct explain *e, const struct path_fact *w, const char *real,
			 struct explained *x)
{
	const struct plan_op *pin = last_op(e, real, PLAN_PIN, PLAN_COVER);
	const char *dot = dot_folder(w, real);

	x->from = &w->item->from;
	if (dot != NULL) {
		x->why = arena_printf(e->arena,
				      "%s at the top of a folder in write is read only, since "
				      "programs outside do what it says",
				      dot);
		x->add = w->item->text;
		x->hint = explain_add(e, SPEC_FILES_WRITE_DOT_FILES, w->item->text);
	} else if (pin != NULL) {
		x->from = granting_line(pin);
		x->why = "something in it is kept as it is";
	} else {
		x->why = "the spec opens it, but the file's own permissions do not";
	}
}

static void explain_closed(const struct explain *e, enum explain_access access,
			   const struct path_info *at, struct explained *x)
{
	const struct path_fact *read = holder(&e->facts->read, at);
	bool write = access == EXPLAIN_WRITE;
	const char *path = at->name;

	/* A file that is to be made or replaced needs the folder it lies in. */
	if (write && (!at->exists || !S_ISDIR(at->mode))) {
		path = path_parent(at->name, e->arena);
	}
	if (write && read != NULL) {
		x->from = &read->item->from;
		x->why = "it is opened read only";
	} else if (write && last_op(e, at->real, PLAN_BIND, PLAN_BIND) != NULL) {
		x->why = "the system's folders are read only";
	} else if (!write && !at->exists) {
		x->why = "there is nothing of that name on this machine, and no line opens it";
	} else if (e->spec->file != NULL) {
		x->why = arena_printf(e->arena, "no line of %s opens it", e->spec->file);
	} else {
		x->why = "no flag opens it";
	}
	propose(e, write ? SPEC_FILES_WRITE : SPEC_FILES_READ, path, x);
}

static bool of_link(const struct explain *e, const struct path_info *at)
{
	const struct machine_paths *folders = &e->facts->machine->link_folders;

	for (size_t i = 0; i < folders->n; i++) {
		if (path_within(at->real, folders->v[i].real)) {
			return true;
		}
	}
	return false;
}

static void explain_hidden(const struct explain *e, const struct path_fact *hide,
			   struct explained *x)
{
	x->from = &hide->item->from;
	x->why = "hide closes it, whatever else opens it";
	x->hint = x->from->flag != NULL
			  ? arena_printf(e->arena, "leave out --hide %s", hide->item->text)
			  : arena_printf(e->arena, "%s:%u: take %s out of hide", x->from->file,
					 x->from->line, explain_quote(hide->item->text, e->arena));
}

static bool of_kernel(const char *path)
{
	return path_within(path, "/proc") || path_within(path, "/sys") || path_within(path, "/dev");
}

static void explain_files(const struct explain *e, enum explain_access access,
			  const struct path_info *at, struct explained *x)
{
	const struct path_fact *hide = holder(&e->facts->hide, at);
	const struct path_fact *write = holder(&e->facts->write, at);
	const struct plan_op *cover = last_op(e, at->real, PLAN_COVER, PLAN_COVER);
	const struct plan_op *bind = last_op(e, at->real, PLAN_BIND, PLAN_BIND);
	bool granted = granting_line(bind) != NULL || write != NULL;

	if (hide != NULL) {
		explain_hidden(e, hide, x);
	} else if (of_kernel(at->name)) {
		x->why = "the sandbox has its own /proc, /sys and /dev, with nothing in them that "
			 "could do harm, and no line opens more";
	} else if (of_link(e, at)) {
		x->why = "Link's own settings and agents' folders stay closed, whatever a spec "
			 "says";
	} else if (cover != NULL) {
		x->why = "it is closed: a socket of a program outside, or a file of the system "
			 "that is not for everybody";
	} else if (access == EXPLAIN_WRITE && write != NULL) {
		explain_kept(e, write, at->real, x);
	} else if (access == EXPLAIN_READ && bind != NULL && granted) {
		x->from = granting_line(bind);
		x->why = at->exists ? "the spec opens it, but the file's own permissions do not"
				    : "the spec opens the folder, but there is no such file";
	} else {
		explain_closed(e, access, at, x);
	}
}

/* By name where PATH finds that very file, else by path. */
static const char *program_name(const struct explain *e, const char *path,
				const struct path_info *at)
{
	struct program_fact named = {.item = NULL};

	program_look_up(path_base(path), e->facts->machine, e->arena, &named);
	return named.found && str_eq(named.at.real, at->real) ? path_base(path)
							      : explain_tilde(e, path);
}

static void explain_program(const struct explain *e, const char *path, const struct path_info *at,
			    struct explained *x)
{
	const struct spec_value *allow = &e->spec->value[SPEC_COMMANDS_ALLOW];
	bool any = allow->n == 1 && str_eq(allow->v[0].text, "*");

	if (any || (e->spec->file == NULL && !allow->set)) {
		explain_files(e, EXPLAIN_READ, at, x);
		return;
	}
	x->add = program_name(e, path, at);
	x->from = allow->set ? &allow->from : NULL;
	x->why = allow->set ? "it is not in allow of [commands]"
			    : "there is no [commands], so nothing runs";
	x->hint = explain_add(e, SPEC_COMMANDS_ALLOW, x->add);
}

/* The entry of [commands] allow that lists the file; NULL. */
static const struct origin *listing(const struct explain *e, const struct path_info *at)
{
	for (size_t i = 0; i < e->facts->commands.n; i++) {
		const struct program_fact *c = &e->facts->commands.v[i];

		if (c->found && (c->folder ? path_within(at->real, c->at.real)
					   : str_eq(at->real, c->at.real))) {
			return &c->item->from;
		}
	}
	return NULL;
}

bool explain_lists(const struct explain *e, const char *real)
{
	const struct path_info at = {.name = real, .real = real};

	return listing(e, &at) != NULL;
}

static void explain_runs(const struct explain *e, const struct path_info *at, struct explained *x)
{
	const struct spec_value *allow = &e->spec->value[SPEC_COMMANDS_ALLOW];

	x->from = listing(e, at);
	x->from = x->from == NULL && allow->set ? &allow->from : x->from;
	x->why = x->from != NULL ? "[commands] allows it" : "without a spec file any program runs";
}

static void explain_open(const struct explain *e, enum explain_access access,
			 const struct path_info *at, struct explained *x)
{
	const struct plan_op *op = last_op(e, at->real, PLAN_BIND, PLAN_PRIVATE);
	struct explained real = {.why = ""};

	x->from = granting_line(op);
	if (x->from != NULL) {
		x->why = access == EXPLAIN_WRITE ? "[files] opens it for writing"
						 : "[files] opens it";
	} else if (op == NULL || op->kind != PLAN_PRIVATE) {
		x->why = "it belongs to the system, which every sandbox sees";
	} else if (path_within(at->real, e->facts->machine->home.real)) {
		x->own = true;
		x->why = "in the sandbox's private home, which is empty at the start and gone at "
			 "the end; the one outside stays as it is";
		explain_closed(e, access, at, &real);
		x->hint = real.hint;
		x->add = real.add;
	} else {
		x->own = true;
		x->why = "in a private folder of the sandbox, which is empty at the start and gone "
			 "at the end";
	}
}

struct explain explain_begin(const struct spec *spec, const struct facts *facts,
			     const struct plan *plan, struct arena *arena)
{
	return (struct explain){spec, facts, plan, arena,
				refuse_rules_read(spec, facts->machine, arena)};
}

void explain_path(const struct explain *e, enum explain_access access, bool allowed,
		  const char *path, struct explained *ret_explained)
{
	struct path_info at;
	struct err ignored;

	*ret_explained = (struct explained){.from = NULL};
	if (!machine_resolve(e->facts->machine, path, e->arena, &at, &ignored)) {
		at = (struct path_info){.name = path, .real = path};
	}
	if (allowed && access == EXPLAIN_RUN) {
		explain_runs(e, &at, ret_explained);
	} else if (allowed) {
		explain_open(e, access, &at, ret_explained);
	} else if (access == EXPLAIN_RUN) {
		explain_program(e, path, &at, ret_explained);
	} else {
		explain_files(e, access, &at, ret_explained);
	}
}
