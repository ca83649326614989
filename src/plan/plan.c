#include "plan/build.h"

#include "base/str.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

void build_op(struct build *b, struct plan_op op)
{
	ARENA_PUSH(b->arena, &b->plan->ops, op);
}

void build_links(struct build *b, const struct path_info *at, const struct origin *from)
{
	for (size_t i = 0; i < at->links.n; i++) {
		const struct path_link *l = &at->links.v[i];

		if (str_set_add(&b->links, b->arena, l->path)) {
			build_op(b, (struct plan_op){.kind = PLAN_LINK,
						     .path = l->path,
						     .text = l->target,
						     .from = *from});
		}
	}
}

void build_anchors(struct build *b, const char *base, const char *path, const struct origin *from)
{
	size_t at = str_eq(base, "/") ? 0 : strlen(base);

	for (const char *slash = strchr(path + at + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		const char *folder = arena_strndup(b->arena, path, (size_t)(slash - path));
		const char *kind = str_set_data(&b->pinned, folder);

		if (kind != NULL && str_eq(kind, "pin")) {
			return;
		}
		if (kind == NULL) {
			str_set_put(&b->pinned, b->arena, folder, "anchor");
			build_op(b, (struct plan_op){.kind = PLAN_ANCHOR,
						     .path = folder,
						     .base = base,
						     .flags = PLAN_GUARDED,
						     .from = *from});
		}
	}
}

void build_note(struct build *b, const struct origin *from, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct plan_note note = {arena_strdup(b->arena, text), *from};
	ARENA_PUSH(b->arena, &b->plan->notes, note);
}

bool build_in_write(const struct build *b, const char *path)
{
	return path_facts_hold(&b->facts->write, path);
}

bool build_is_open(const struct build *b, const char *path)
{
	if (path_facts_hold(&b->facts->hide, path)) {
		return false;
	}
	for (size_t i = 0; i < b->facts->system.n; i++) {
		if (path_within(path, b->facts->system.v[i].real)) {
			return true;
		}
	}
	return build_in_write(b, path) || path_facts_hold(&b->facts->read, path);
}

bool build_home_is_private(const struct build *b)
{
	const char *home = b->facts->machine->home.real;

	return !build_in_write(b, home) && !path_facts_hold(&b->facts->read, home);
}

const char *build_tilde(const struct build *b, const char *path)
{
	const struct path_info *home = &b->facts->machine->home;

	if (path_within(path, home->real)) {
		return arena_printf(b->arena, "~%s", path + strlen(home->real));
	}
	if (path_within(path, home->name)) {
		return arena_printf(b->arena, "~%s", path + strlen(home->name));
	}
	return path;
}

/* Without a first fence nothing starts; second fences that this kernel is too old for are one line
 * each, at every start. */
static void kernel_fences(struct build *b)
{
	const struct facts *f = b->facts;

	if (f->kernel.landlock_abi < 1) {
		struct err *err = err_list_next(b->errs);

		err_set(err, ERR_SETUP, f->kernel.landlock_errno, "this kernel offers no Landlock");
		kernel_explain("landlock", f->kernel.landlock_errno, err->hint, sizeof(err->hint));
		return;
	}
	if (f->kernel.landlock_abi < PLAN_ABI_WITH_SCOPES) {
		build_note(b, &nowhere,
			   "this kernel's Landlock (ABI %d) does not confine signals and abstract "
			   "sockets (needs Linux 6.12): the program can send signals to this "
			   "terminal's job; see `lnk sandbox doctor`",
			   f->kernel.landlock_abi);
	}
}

/* The working folder: kept when it exists inside, else the home. */
static void working_folder(struct build *b)
{
	const struct path_info *cwd = &b->facts->machine->cwd;
	const char *home = b->facts->machine->home.real;
	bool in_home = build_home_is_private(b) && str_eq(cwd->real, home);

	b->plan->cwd = cwd->name;
	if (b->plan->bare) {
		if (!build_is_open(b, cwd->real)) {
			build_note(
				b, &nowhere,
				"the current folder %s is closed; to open it: write = [\"%s\"] in "
				"[files]",
				build_tilde(b, cwd->name), build_tilde(b, cwd->name));
		}
		return;
	}
	if (!build_is_open(b, cwd->real) && !in_home && !str_eq(cwd->real, "/")) {
		const char *shown = build_tilde(b, cwd->name);

		b->plan->cwd = b->plan->home;
		build_note(b, &nowhere,
			   "the current folder %s is closed, so the program starts in its private "
			   "home; to open it: write = [\"%s\"] in [files]",
			   shown, shown);
	}
}

/* All that namespaces hold. */
static void build_all(struct build *b)
{
	kernel_fences(b);
	build_system(b);
	build_files(b);
	build_commands(b);
	build_op(b, (struct plan_op){.kind = PLAN_SEAL, .path = "/"});
	build_rights(b);
}

bool plan_make(const struct spec *spec, const struct facts *facts,
	       const struct plan_options *options, struct arena *arena, struct plan *ret_plan,
	       struct err_list *errs)
{
	struct plan plan = {.bare = options->bare,
			    .user_namespaces = options->user_namespaces,
			    .home = facts->machine->home.name,
			    .console = facts->console};
	struct build b = {.spec = spec,
			  .facts = facts,
			  .options = options,
			  .arena = arena,
			  .plan = &plan,
			  .errs = errs};
	unsigned before = errs->total;

	plan.private_bytes = facts->memory_bytes / 4;
	if (plan.private_bytes == 0 || plan.private_bytes > PLAN_PRIVATE_BYTES) {
		plan.private_bytes = PLAN_PRIVATE_BYTES;
	}
	plan.as_root = facts->machine->uid == 0;
	if (options->kept_home != NULL && build_home_is_private(&b)) {
		plan.kept_home = facts->machine->home.real;
	}
	if (options->kept_home != NULL && plan.kept_home == NULL) {
		build_note(&b, &nowhere, "--keep-home does nothing: the home itself is opened");
	}
	plan.private_home =
		build_home_is_private(&b) && options->kept_home == NULL && !options->bare;
	build_network(&b);
	if (options->bare) {
		build_bare(&b);
	} else {
		build_all(&b);
	}
	working_folder(&b);
	if (errs->total != before) {
		return false;
	}
	*ret_plan = plan;
	return true;
}
