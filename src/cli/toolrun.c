#include "cli/toolrun.h"

#include "base/set.h"
#include "base/str.h"
#include "broker/judge.h"
#include "broker/profiles.h"
#include "broker/repo.h"
#include "cli/env.h"
#include "confine/confine.h"
#include "confine/late.h"
#include "plan/plan.h"
#include "spec/values.h"

#include <string.h>
#include <sys/stat.h>

/* --- the tool's own paths and variables ---------------------------------------------------- */

/* The tool's own paths: those of its entry, and its profile's. */
static void own_paths(const struct toolrun *run, const struct tool *tool, bool write,
		      struct arena *arena, struct profile_paths *paths)
{
	const struct tool_list *entry = write ? &tool->write : &tool->read;

	for (size_t i = 0; i < entry->n; i++) {
		ARENA_PUSH(arena, paths, entry->v[i]);
	}
	const struct profile_row *row = NULL;
	while (tool->profile != NULL &&
	       (row = profile_next(tool->profile, write ? PROFILE_WRITE : PROFILE_READ, row)) !=
		       NULL) {
		profile_expand(row, run->machine->home.name, run->outside, arena, paths);
	}
}

/* --- arguments ----------------------------------------------------------------------------- */

static bool leads_to(const char *word, const char *cwd, const struct profile_paths *own,
		     struct arena *arena)
{
	struct path_info at, target;
	struct err ignored;

	if (strncmp(word, "file://", 7) == 0) {
		word += 7;
	}
	const char *name = value_join(cwd, word, arena);
	bool found = resolve_path(name, arena, &at, &ignored);
	for (size_t i = 0; i < own->n; i++) {
		if (path_within(name, own->v[i]) ||
		    (found && (path_within(at.real, own->v[i]) ||
			       (resolve_path(own->v[i], arena, &target, &ignored) &&
				path_within(at.real, target.real))))) {
			return true;
		}
	}
	return false;
}

static bool word_leads(const char *word, const char *home, const char *cwd,
		       const struct profile_paths *own, struct arena *arena)
{
	const char *equals = strchr(word, '=');

	if (word[0] == '~' && (word[1] == '/' || word[1] == '\0')) {
		word = arena_printf(arena, "%s%s", home, word + 1);
	}
	return leads_to(word, cwd, own, arena) ||
	       (equals != NULL && equals[1] != '\0' &&
		word_leads(equals + 1, home, cwd, own, arena)) ||
	       (word[0] == '@' && word[1] != '\0' && leads_to(word + 1, cwd, own, arena)) ||
	       (word[0] == '-' && word[1] != '-' && word[1] != '\0' && word[2] != '\0' &&
		leads_to(word + 2, cwd, own, arena));
}

bool toolrun_words(const struct toolrun *run, const struct tool *tool, const char *cwd,
		   char *const *argv, struct arena *arena, const char **ret_word)
{
	struct profile_paths own = {NULL, 0, 0};
	const char *from = value_join("/", cwd, arena);

	own_paths(run, tool, false, arena, &own);
	own_paths(run, tool, true, arena, &own);
	for (size_t i = 1; argv[0] != NULL && argv[i] != NULL; i++) {
		if (word_leads(argv[i], run->machine->home.name, from, &own, arena)) {
			*ret_word = argv[i];
			return false;
		}
	}
	return true;
}

/* --- the tool's spec ----------------------------------------------------------------------- */

static void add_items(const struct profile_paths *paths, const struct origin *from,
		      struct arena *arena, struct spec_value *value)
{
	/* A list of its own: the other one's room may be shared with the sandbox's spec. */
	struct spec_value grown = {.set = value->set, .from = value->from};

	for (size_t i = 0; i < value->n; i++) {
		ARENA_PUSH(arena, &grown, value->v[i]);
	}
	for (size_t i = 0; i < paths->n; i++) {
		struct spec_item item = {.text = paths->v[i], .path = paths->v[i], .from = *from};

		ARENA_PUSH(arena, &grown, item);
		grown.set = true;
	}
	*value = grown;
}

static void set_text(enum spec_key key, const char *text, const struct origin *from,
		     struct arena *arena, struct spec *spec)
{
	struct spec_value value = {.set = true, .from = *from};
	struct spec_item item = {.text = text, .path = text, .from = *from};

	ARENA_PUSH(arena, &value, item);
	spec->value[key] = value;
}

/* Any program, or the tool's own and those that its profile names. */
static void set_programs(const struct tool *tool, const struct origin *from, struct arena *arena,
			 struct spec *spec)
{
	struct spec_value *allow = &spec->value[SPEC_COMMANDS_ALLOW];
	const struct profile_row *row = NULL;

	set_text(SPEC_COMMANDS_ALLOW, "*", from, arena, spec);
	while (tool->profile != NULL &&
	       (row = profile_next(tool->profile, PROFILE_PROGRAM, row)) != NULL) {
		size_t len = strlen(row->words);
		bool folder = row->words[len - 1] == '/';
		const struct spec_item item = {
			.text = row->words,
			.path = arena_strndup(arena, row->words, folder ? len - 1 : len),
			.folder = folder,
			.from = *from};

		if (str_eq(allow->v[0].text, "*")) {
			set_text(SPEC_COMMANDS_ALLOW, tool->program, from, arena, spec);
		}
		ARENA_PUSH(arena, allow, item);
	}
}

/* The tool's own path as it is by now: a login that was renewed by rename is another file than at
 * the start of the run. Elsewhere than it was judged to lead it does not lead. */
static void renew(const struct toolrun *run, const char *name, struct arena *arena)
{
	struct path_info *now = arena_alloc(arena, sizeof(*now));
	struct path_info judged;
	struct err ignored;

	if (resolve_path(name, arena, now, &ignored) &&
	    machine_resolve(run->machine, name, arena, &judged, &ignored) &&
	    str_eq(judged.real, now->real)) {
		str_set_put(run->machine->resolved, arena, name, now);
	}
}

/* The tool's own paths as they are there. Files that are not cannot be written, and a run must not
 * fail for them. A socket is not written: to call it, it is enough that it is seen. */
static void sort_paths(const struct toolrun *run, const struct tool *tool, struct arena *arena,
		       struct profile_paths *read, struct profile_paths *write)
{
	struct profile_paths wanted = {NULL, 0, 0};

	own_paths(run, tool, false, arena, read);
	own_paths(run, tool, true, arena, &wanted);
	ARENA_PUSH(arena, read, tool->program);
	for (size_t i = 0; i < read->n; i++) {
		renew(run, read->v[i], arena);
	}
	for (size_t i = 0; i < wanted.n; i++) {
		struct path_info at;
		struct err ignored;

		renew(run, wanted.v[i], arena);
		if (machine_resolve(run->machine, wanted.v[i], arena, &at, &ignored) && at.exists) {
			struct profile_paths *to = S_ISSOCK(at.mode) ? read : write;

			ARENA_PUSH(arena, to, wanted.v[i]);
		}
	}
}

/* The sandbox's files and hidden paths, and the tool's own paths; this machine's network. */
static void make_spec(const struct toolrun *run, const struct tool *tool, struct arena *arena,
		      struct spec *ret_spec)
{
	const struct origin from = {.flag = tool->name};
	struct spec spec = *run->spec;
	struct profile_paths read = {NULL, 0, 0}, write = {NULL, 0, 0};

	for (size_t key = 0; key < SPEC_KEY_COUNT; key++) {
		if (spec_keys[key].section != SPEC_SECTION_FILES) {
			spec.value[key] = (struct spec_value){.set = false};
		}
	}
	sort_paths(run, tool, arena, &read, &write);
	add_items(&read, &from, arena, &spec.value[SPEC_FILES_READ]);
	add_items(&write, &from, arena, &spec.value[SPEC_FILES_WRITE]);
	set_programs(tool, &from, arena, &spec);
	set_text(SPEC_NETWORK_MODE, "host", &from, arena, &spec);
	*ret_spec = spec;
}

/* --- its environment ----------------------------------------------------------------------- */

static void variables(const struct profile *profile, struct arena *arena,
		      struct profile_paths *wanted)
{
	const struct profile_row *row = NULL;

	while ((row = profile_next(profile, PROFILE_ENV, row)) != NULL) {
		ARENA_PUSH(arena, wanted, row->words);
	}
}

static void settings(const struct profile *profile, struct arena *arena,
		     struct profile_paths *wanted)
{
	const struct profile_row *row = NULL;

	while ((row = profile_next(profile, PROFILE_SET, row)) != NULL) {
		const char *pair = arena_printf(arena, "%s=%s", row->words, row->value);

		ARENA_PUSH(arena, wanted, pair);
	}
}

/* What is set comes last: it holds whatever the user has. */
static bool make_env(const struct toolrun *run, const struct tool *tool, const struct plan *plan,
		     const struct repo_parts *repo, struct arena *arena, char ***ret_envp,
		     struct err *err)
{
	struct profile_paths wanted = {NULL, 0, 0};

	variables(NULL, arena, &wanted);
	if (tool->profile != NULL) {
		variables(tool->profile, arena, &wanted);
	}
	for (size_t i = 0; i < tool->env.n; i++) {
		ARENA_PUSH(arena, &wanted, tool->env.v[i]);
	}
	settings(NULL, arena, &wanted);
	if (tool->profile != NULL) {
		settings(tool->profile, arena, &wanted);
	}
	for (size_t i = 0; i < repo->variables.n; i++) {
		ARENA_PUSH(arena, &wanted, repo->variables.v[i]);
	}
	const struct env_config config = {
		.outside = run->outside, .wanted = wanted.v, .nwanted = wanted.n, .plan = plan};
	return env_make(&config, arena, ret_envp, err);
}

/* --- the repository ------------------------------------------------------------------------ */

struct opened {
	const struct plan *plan;
	const struct tool *tool;
};

/* What the tool sees of the sandbox's files, by its own plan: its own paths are not the sandbox's,
 * and the system's hold no work tree. */
static bool is_open(const char *path, const void *context)
{
	const struct opened *o = context;
	bool open = false;

	for (size_t i = 0; i < o->plan->ops.n; i++) {
		const struct plan_op *op = &o->plan->ops.v[i];

		if (!path_within(path, op->path)) {
			continue;
		}
		if (op->kind == PLAN_COVER) {
			return false;
		}
		if (op->kind == PLAN_BIND && (op->from.file != NULL || op->from.flag != NULL)) {
			open = open || op->from.flag != o->tool->name;
		}
	}
	return open;
}

/* The repository of the folder that git will look from. What stands in the way of reading its
 * settings is told with its place. */
static bool find_repo(const struct tool *tool, const struct plan *plan, const char *cwd,
		      size_t argc, char *const *argv, struct arena *arena, struct repo *ret_repo,
		      struct err *err)
{
	const struct opened opened = {plan, tool};
	const struct repo_view view = {is_open, &opened};
	struct path_info at;

	*ret_repo = (struct repo){.work_tree = NULL};
	const char *folder = tool_folder(tool, argc - 1, argv + 1, cwd, arena);
	if (!resolve_path(folder, arena, &at, err)) {
		return false;
	}
	if (!repo_find(at.real, &view, arena, ret_repo, err)) {
		if (err->line > 0) {
			err_wrap(err, "%s:%u:%u", err->file, err->line, err->col);
		}
		return false;
	}
	return true;
}

static struct plan_op own_op(const struct repo_name *name)
{
	return (struct plan_op){.kind = name->to != NULL     ? PLAN_LINK
					: name->text != NULL ? PLAN_FILE
							     : PLAN_FOLDER,
				.path = name->path,
				.text = name->to != NULL ? name->to : name->text,
				.mode = name->text != NULL ? 0444 : 0755};
}

struct ops {
	struct plan_op *v;
	size_t n;
	size_t cap;
};

/* Puts our own into the plan, before the root is sealed. */
static void add_ops(const struct ops *own, struct arena *arena, struct plan *plan)
{
	struct plan with = {.private_bytes = 0};
	bool added = false;

	for (size_t i = 0; i < plan->ops.n; i++) {
		for (size_t j = 0; !added && plan->ops.v[i].kind == PLAN_SEAL && j < own->n; j++) {
			ARENA_PUSH(arena, &with.ops, own->v[j]);
		}
		added = added || plan->ops.v[i].kind == PLAN_SEAL;
		ARENA_PUSH(arena, &with.ops, plan->ops.v[i]);
	}
	plan->ops.v = with.ops.v;
	plan->ops.n = with.ops.n;
	plan->ops.cap = with.ops.cap;
}

/* The folder of git's own programs; NULL: not where git's builds have it. */
static const char *git_programs(const char *git, struct arena *arena)
{
	static const char *const folders[] = {"libexec/git-core", "lib/git-core"};
	const char *prefix = path_parent(path_parent(git, arena), arena);

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		struct path_info at;
		struct err ignored;
		const char *path =
			arena_printf(arena, "%s/%s", str_eq(prefix, "/") ? "" : prefix, folders[i]);

		if (resolve_path(path, arena, &at, &ignored) && S_ISDIR(at.mode)) {
			return at.real;
		}
	}
	return NULL;
}

/* git takes several folders for its own programs, as PATH does. */
static void guard_git(const struct toolrun *run, const struct tool *tool,
		      const struct machine *machine, struct arena *arena, struct plan *plan,
		      struct ops *own, struct repo_parts *parts)
{
	struct program_fact git = {.item = NULL};
	bool is_git = str_eq(path_base(tool->program), "git");

	program_look_up(is_git ? tool->program : "git", machine, arena, &git);
	if (!git.found) {
		return;
	}
	const char *programs = git_programs(git.at.real, arena);
	ARENA_PUSH(arena, own,
		   (struct plan_op){.kind = PLAN_FOLDER, .path = REPO_GUARD, .mode = 0755});
	ARENA_PUSH(arena, own,
		   (struct plan_op){.kind = PLAN_BIND,
				    .path = REPO_GUARD "/git",
				    .source = run->shim,
				    .flags = PLAN_READ_ONLY});
	ARENA_PUSH(arena, &plan->ops,
		   (struct plan_op){.kind = PLAN_ALLOW,
				    .path = REPO_GUARD "/git",
				    .rights = PLAN_MAY_READ | PLAN_MAY_EXECUTE});
	ARENA_PUSH(arena, &parts->variables,
		   arena_printf(arena, "GIT_EXEC_PATH=" REPO_GUARD "%s%s",
				programs != NULL ? ":" : "", programs != NULL ? programs : ""));
	ARENA_PUSH(arena, &parts->variables, arena_printf(arena, REPO_GIT_VAR "=%s", git.at.real));
}

/* What git sees of the repository, or that there is none. */
static void place_repo(const struct toolrun *run, const struct tool *tool,
		       const struct machine *machine, const struct repo *repo, struct arena *arena,
		       struct plan *plan, struct repo_parts *ret_parts)
{
	struct ops own = {NULL, 0, 0};

	repo_parts(repo, arena, ret_parts);
	for (size_t i = 0; i < ret_parts->names.n; i++) {
		ARENA_PUSH(arena, &own, own_op(&ret_parts->names.v[i]));
	}
	guard_git(run, tool, machine, arena, plan, &own, ret_parts);
	add_ops(&own, arena, plan);
}

/* --- running it ---------------------------------------------------------------------------- */

/* Sockets in grants are closed, but for those of the tool's own (an agent's, docker's). */
static void open_sockets(const struct toolrun *run, const struct tool *tool, struct arena *arena,
			 struct facts *facts)
{
	struct profile_paths own = {NULL, 0, 0};
	size_t kept = 0;

	own_paths(run, tool, false, arena, &own);
	own_paths(run, tool, true, arena, &own);
	for (size_t i = 0; i < facts->sockets.n; i++) {
		bool closed = true;

		for (size_t j = 0; j < own.n && closed; j++) {
			struct path_info at;
			struct err ignored;

			closed = !resolve_path(own.v[j], arena, &at, &ignored) ||
				 !path_within(facts->sockets.v[i].path, at.real);
		}
		if (closed) {
			facts->sockets.v[kept++] = facts->sockets.v[i];
		}
	}
	facts->sockets.n = kept;
}

static bool make_plan(const struct toolrun *run, const struct tool *tool, struct machine *machine,
		      struct facts *facts, struct plan *plan, struct arena *arena, struct err *err)
{
	static struct spec spec;
	static struct err_list errs;
	static const struct net_plan net = {.host_mode = true};
	const struct facts_wanted wanted = {.program = tool->program};
	const struct plan_options options = {
		.program = tool->program, .net = &net, .no_links = true};

	make_spec(run, tool, arena, &spec);
	if (!facts_gather(&spec, machine, &wanted, arena, facts, err)) {
		return false;
	}
	open_sockets(run, tool, arena, facts);
	if (!plan_make(&spec, facts, &options, arena, plan, &errs)) {
		*err = errs.v[0];
		return false;
	}
	return true;
}

/* A tool's sandbox, planned. */
struct planned {
	struct arena arena;
	struct machine machine;
	struct facts facts;
	struct plan plan;
	char **envp;
};

/* Confines the tool as planned; with `late` what it is told comes then. */
static bool confine(struct planned *p, char **argv, int late, const struct toolrun_end *end,
		    int *ret_status, struct err *err)
{
	struct confine_result result;
	const struct confine_config config = {
		.plan = &p->plan,
		.machine = &p->machine,
		.landlock_abi = p->facts.kernel.landlock_abi,
		.argv = argv,
		.envp = p->envp,
		.path = p->machine.path,
		.door = -1,
		.broker = -1,
		.late = late,
		.ended = end->ended,
		.again = end->again,
		.context = end->context,
	};
	bool ok = confine_run(&config, &result, err);

	*ret_status = result.status;
	return ok;
}

bool toolrun(const struct toolrun *run, const struct tool *tool, char *const *argv, const char *cwd,
	     const struct toolrun_end *end, int *ret_status, struct err *err)
{
	static struct planned p;
	struct arena *arena = &p.arena;
	struct repo repo;
	struct repo_parts parts;
	size_t argc = 0;

	while (argv[argc] != NULL) {
		argc++;
	}
	p.machine = *run->machine;
	if (!resolve_path(value_join("/", cwd, arena), arena, &p.machine.cwd, err) ||
	    !make_plan(run, tool, &p.machine, &p.facts, &p.plan, arena, err) ||
	    !find_repo(tool, &p.plan, p.machine.cwd.real, argc, argv, arena, &repo, err)) {
		return false;
	}
	place_repo(run, tool, &p.machine, &repo, arena, &p.plan, &parts);
	if (!make_env(run, tool, &p.plan, &parts, arena, &p.envp, err)) {
		return false;
	}
	char **words = arena_alloc(arena, (argc + 1) * sizeof(*words));
	memcpy(words, argv, (argc + 1) * sizeof(*words));
	words[0] = arena_strdup(arena, tool->program);
	return confine(&p, words, -1, end, ret_status, err);
}

/* --- one that waits for its call ------------------------------------------------------------- */

/* Of this process, and of the one that it forks for the sandbox. */
static struct planned waiting;

/* What git will see of the repository comes with the call: into a folder that init, but nobody
 * later, can write. */
static void place_folder(const struct toolrun *run, const struct tool *tool, struct planned *p,
			 struct repo_parts *parts)
{
	const struct plan_op folder = {.kind = PLAN_PRIVATE, .path = REPO_FOLDER, .mode = 0755};
	struct ops own = {NULL, 0, 0};

	ARENA_PUSH(&p->arena, &own, folder);
	guard_git(run, tool, &p->machine, &p->arena, &p->plan, &own, parts);
	add_ops(&own, &p->arena, &p->plan);
}

bool toolrun_prepare(const struct toolrun *run, const struct tool *tool, struct err *err)
{
	struct repo_parts parts = {.names = {NULL, 0, 0}};
	struct planned *p = &waiting;

	p->machine = *run->machine;
	p->machine.cwd = p->machine.home;
	if (!make_plan(run, tool, &p->machine, &p->facts, &p->plan, &p->arena, err)) {
		return false;
	}
	place_folder(run, tool, p, &parts);
	return make_env(run, tool, &p->plan, &parts, &p->arena, &p->envp, err);
}

bool toolrun_late(const struct tool *tool, int late, const struct toolrun_end *end, int *ret_status,
		  struct err *err)
{
	char *argv[2] = {arena_strdup(&waiting.arena, tool->program), NULL};

	return confine(&waiting, argv, late, end, ret_status, err);
}

static void add_late(const struct repo_parts *parts, struct arena *arena, struct late *late)
{
	struct late_name *names = arena_alloc(arena, parts->names.n * sizeof(*names));
	char **env = arena_alloc(arena, (parts->variables.n + 1) * sizeof(*env));

	for (size_t i = 0; i < parts->names.n; i++) {
		const struct repo_name *from = &parts->names.v[i];

		names[i] = (struct late_name){from->path, from->text, from->to};
	}
	for (size_t i = 0; i < parts->variables.n; i++) {
		env[i] = arena_strdup(arena, parts->variables.v[i]);
	}
	late->names = names;
	late->nnames = parts->names.n;
	late->env = env;
}

bool toolrun_call(const struct tool *tool, char *const *argv, const char *cwd, int late,
		  const int fds[3], pid_t group)
{
	struct arena arena = {NULL};
	const char *name = value_join("/", cwd, &arena);
	struct late call = {.cwd = name, .fds = {fds[0], fds[1], fds[2]}, .group = group};
	struct path_info at;
	struct repo repo;
	struct repo_parts parts;
	struct err ignored; /* whoever does it the long way says it */
	size_t argc = 0;

	while (argv[argc] != NULL) {
		argc++;
	}
	/* late_send takes no const; it only reads. */
	memcpy(&call.argv, &argv, sizeof(call.argv));
	bool ok = resolve_path(name, &arena, &at, &ignored) &&
		  find_repo(tool, &waiting.plan, at.real, argc, argv, &arena, &repo, &ignored);
	if (ok) {
		repo_parts(&repo, &arena, &parts);
		add_late(&parts, &arena, &call);
		ok = late_send(late, &call);
	}
	arena_release(&arena);
	return ok;
}

/* FNV-1a: it tells what has changed, and nobody gains by one that does not. */
static uint64_t mix(uint64_t state, uint64_t value)
{
	for (int i = 0; i < 8; i++) {
		state = (state ^ (value >> (8 * i) & 0xff)) * 0x100000001b3ULL;
	}
	return state;
}

uint64_t toolrun_state(const struct toolrun *run, const struct tool *tool)
{
	struct profile_paths own = {NULL, 0, 0};
	struct arena arena = {NULL};
	uint64_t state = 0xcbf29ce484222325ULL;

	own_paths(run, tool, false, &arena, &own);
	own_paths(run, tool, true, &arena, &own);
	ARENA_PUSH(&arena, &own, tool->program);
	for (size_t i = 0; i < own.n; i++) {
		struct stat st;
		bool there = stat(own.v[i], &st) == 0;

		state = mix(state, there ? st.st_dev : 0);
		state = mix(state, there ? st.st_ino : 0);
	}
	arena_release(&arena);
	return state;
}
