/* Landlock's rules: the plan's policy once more, by inode instead of by name. */
#include "plan/build.h"

#include "base/str.h"

#include <sys/stat.h>

#define LOOK (PLAN_MAY_LIST | PLAN_MAY_READ)

void build_allow(struct build *b, const char *path, unsigned rights, const struct origin *from)
{
	build_op(b, (struct plan_op){.kind = PLAN_ALLOW,
				     .path = path,
				     .rights = rights,
				     .flags = PLAN_OPTIONAL,
				     .from = *from});
}

static void allow_system(struct build *b, unsigned execute)
{
	static const char *const seen[] = {"/sys", "/run"};
	static const char *const own[] = {"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"};

	build_allow(b, "/", PLAN_MAY_LIST, &nowhere);
	for (size_t i = 0; i < b->facts->system.n; i++) {
		const char *path = b->facts->system.v[i].real;

		/* /bin and its kin lie in /usr on merged systems. */
		if (i == 0 || !path_within(path, b->facts->system.v[0].real)) {
			build_allow(b, path, LOOK | execute, &nowhere);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		build_allow(b, seen[i], LOOK, &nowhere);
	}
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		build_allow(b, own[i], LOOK | PLAN_MAY_WRITE | execute, &nowhere);
	}
	build_allow(b, "/dev", LOOK | PLAN_MAY_DEVICE, &nowhere);
	build_allow(b, "/proc", LOOK | PLAN_MAY_DEVICE, &nowhere);
	if (build_home_is_private(b)) {
		build_allow(b, b->facts->machine->home.real, LOOK | PLAN_MAY_WRITE | execute,
			    &nowhere);
	}
}

/* Every path that was opened; a PIN inside a write folder needs no rule of its own. */
static void allow_grants(struct build *b, size_t n, unsigned execute)
{
	for (size_t i = 0; i < n; i++) {
		const struct plan_op *op = &b->plan->ops.v[i];
		bool granted = op->from.file != NULL || op->from.flag != NULL;

		if (op->kind != PLAN_BIND || !granted) {
			continue;
		}
		unsigned rights = LOOK | execute;
		if (path_within(op->path, PLAN_SHIMS)) {
			rights = PLAN_MAY_READ | PLAN_MAY_EXECUTE;
		}
		if ((op->flags & PLAN_READ_ONLY) == 0) {
			rights |= PLAN_MAY_WRITE | PLAN_MAY_DEVICE;
		}
		const struct plan_op grant = *op; /* the list may move */
		build_allow(b, grant.path, rights, &grant.from);
		/* Nothing was mounted, so that this is the first time that it is opened. */
		if (b->options->bare) {
			b->plan->ops.v[b->plan->ops.n - 1].dev = grant.dev;
			b->plan->ops.v[b->plan->ops.n - 1].ino = grant.ino;
		}
	}
}

static void allow_programs(struct build *b)
{
	struct str_set seen = {.cap = 0};
	const struct facts *f = b->facts;
	/* Where they cannot be closed for themselves, only those that a program needs. */
	bool all = !b->options->bare;

	for (size_t i = 0; i < f->commands.n; i++) {
		const struct program_fact *c = &f->commands.v[i];

		all = all || c->folder;
		if (c->found && str_set_add(&seen, b->arena, c->at.real)) {
			build_allow(b, c->at.real, PLAN_MAY_READ | PLAN_MAY_EXECUTE,
				    &c->item->from);
		}
		/* The kernel opens a program's loader for execution on its behalf. */
		if (c->loader != NULL && str_set_add(&seen, b->arena, c->loader)) {
			build_allow(b, c->loader, PLAN_MAY_READ | PLAN_MAY_EXECUTE, &c->item->from);
		}
	}
	for (size_t i = 0; all && i < f->loaders.n; i++) {
		if (str_set_add(&seen, b->arena, f->loaders.v[i].real)) {
			build_allow(b, f->loaders.v[i].real, PLAN_MAY_READ | PLAN_MAY_EXECUTE,
				    &nowhere);
		}
	}
}

void build_rights_of_grants(struct build *b, size_t n)
{
	allow_grants(b, n, b->plan->commands_listed ? 0 : PLAN_MAY_EXECUTE);
	if (b->plan->commands_listed) {
		allow_programs(b);
	}
}

void build_rights(struct build *b)
{
	size_t n = b->plan->ops.n;

	allow_system(b, b->plan->commands_listed ? 0 : PLAN_MAY_EXECUTE);
	build_rights_of_grants(b, n);
}
