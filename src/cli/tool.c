/* lnk sandbox tool: which of the user's programs a sandbox may call outside, and with what. */
#include "base/fd.h"
#include "base/str.h"
#include "broker/profiles.h"
#include "broker/tools.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "spec/values.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order of the table. */
enum tool_key {
#define TOOL_KEY(id, ...) TOOL_##id,
#include "broker/tool_keys.def"
#undef TOOL_KEY
	TOOL_KEY_COUNT
};

static const char *const key_flags[] = {
#define TOOL_KEY(id, name, type, flag, ...) flag,
#include "broker/tool_keys.def"
#undef TOOL_KEY
};

struct work {
	struct arena arena;
	struct err_list *errs;
	struct machine machine;
	struct tools_place place;
	const char *path; /* of tools.toml */
	struct tools tools;
	int lock;
	/* As given. */
	const char *name;
	struct tool_list given[TOOL_KEY_COUNT];
	bool any;
	bool help;
};

static bool fail(struct work *w, const struct err *err)
{
	*err_list_next(w->errs) = *err;
	return false;
}

static bool fail_flag(struct work *w, const char *flag, struct err *err)
{
	const struct origin from = {.flag = flag};

	err_at(err, &from);
	return fail(w, err);
}

static bool usage(struct work *w, const char *flag, const char *msg, const char *hint)
{
	struct err e;

	err_set(&e, ERR_USAGE, 0, "%s", msg);
	err_hint(&e, "%s", hint);
	return flag != NULL ? fail_flag(w, flag, &e) : fail(w, &e);
}

/* --- the command line --------------------------------------------------------------------- */

static bool unknown_flag(struct work *w, const char *command, const char *name)
{
	const char *msg = "there is no such flag";
	struct flag_view flag;
	size_t best = strlen(name) / 3 + 1;

	if (!str_eq(command, "add")) {
		return usage(w, name, arena_printf(&w->arena, "%s takes no flags", command),
			     "see `lnk sandbox tool --help`");
	}
	for (size_t i = 0; flags_at(FLAGS_OF_TOOL, i, &flag); i++) {
		size_t d = str_distance(flag.name, name);

		if (d < best) {
			best = d;
			msg = arena_printf(&w->arena, "there is no such flag; did you mean %s?",
					   flag.name);
		}
	}
	return usage(w, name, msg, "see `lnk sandbox tool --help`");
}

static bool take_value(struct work *w, const char *name, const char *value)
{
	enum tool_key key = 0;

	while (key < TOOL_KEY_COUNT && (key_flags[key] == NULL || !str_eq(key_flags[key], name))) {
		key++;
	}
	if (key == TOOL_KEY_COUNT) {
		w->help = true;
	} else if (value == NULL) {
		w->any = true;
	} else {
		ARENA_PUSH(&w->arena, &w->given[key], value);
	}
	return true;
}

static bool take_flag(struct work *w, const char *command, int argc, char **argv, int *i)
{
	const char *word = argv[*i];
	size_t len = strcspn(word, "=");
	const char *name = arena_strndup(&w->arena, word, len);
	const char *value = word[len] == '=' ? word + len + 1 : NULL;
	struct flag_view flag;
	bool known = false;

	if (str_eq(word, "-h") || str_eq(word, "--help")) {
		w->help = true;
		return true;
	}
	for (size_t f = 0; !known && flags_at(FLAGS_OF_TOOL, f, &flag); f++) {
		known = str_eq(flag.name, name);
	}
	if (!known || !str_eq(command, "add")) {
		return unknown_flag(w, command, name);
	}
	if (flag.metavar == NULL) {
		return value == NULL
			       ? take_value(w, name, NULL)
			       : usage(w, name, "this flag takes no value", "leave the value out");
	}
	if (value == NULL && *i + 1 >= argc) {
		return usage(w, name, "this flag needs a value",
			     arena_printf(&w->arena, "write %s %s", name, flag.metavar));
	}
	return take_value(w, name, value != NULL ? value : argv[++*i]);
}

static bool parse(struct work *w, const char *command, bool named, int argc, char **argv)
{
	bool operands = false;
	struct err e;

	for (int i = 0; i < argc; i++) {
		if (!operands && str_eq(argv[i], "--")) {
			operands = true;
		} else if (!operands && argv[i][0] == '-' && argv[i][1] != '\0') {
			if (!take_flag(w, command, argc, argv, &i)) {
				return false;
			}
		} else if (named && w->name == NULL) {
			w->name = argv[i];
		} else {
			return usage(w, NULL,
				     arena_printf(&w->arena, "lnk sandbox tool %s takes %s",
						  command, named ? "one NAME" : "no NAME"),
				     str_eq(command, "add")
					     ? "give a pattern in quotes: --allow 'pr view *'"
					     : "see `lnk sandbox tool --help`");
		}
	}
	if (w->help) {
		return true;
	}
	if (named && w->name == NULL) {
		return usage(w, NULL,
			     arena_printf(&w->arena, "lnk sandbox tool %s needs a NAME", command),
			     arena_printf(&w->arena, "lnk sandbox tool %s gh", command));
	}
	if (named && !tool_name_check(w->name, strlen(w->name), &e)) {
		return fail(w, &e);
	}
	if (w->given[TOOL_PROGRAM].n > 1) {
		return usage(w, "--program", "this flag is given twice", "give it once");
	}
	return true;
}

/* --- reading what is there ---------------------------------------------------------------- */

static bool read_tools(struct work *w)
{
	struct err e;

	if (!machine_read(environ, &w->arena, &w->machine, &e)) {
		return fail(w, &e);
	}
	tools_place(&w->machine, &w->arena, &w->place);
	w->path = tools_path(&w->machine, &w->arena);
	return true;
}

static bool read_file(struct work *w)
{
	return tools_read(w->path, &w->place, &w->arena, &w->tools, w->errs);
}

static bool lock_and_read(struct work *w)
{
	struct err e;

	if (!tools_lock(w->path, &w->lock, &e)) {
		return fail(w, &e);
	}
	return read_file(w);
}

static bool not_there(struct work *w)
{
	const char *nearest = NULL;
	size_t best = 3;
	struct err e;

	for (size_t i = 0; i < w->tools.n; i++) {
		size_t d = str_distance(w->tools.v[i].name, w->name);

		if (d < best) {
			best = d;
			nearest = w->tools.v[i].name;
		}
	}
	err_set(&e, ERR_SPEC, 0, "there is no tool \"%s\"%s%s%s", w->name,
		nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
		nearest != NULL ? "\"?" : "");
	if (w->tools.n > 0) {
		err_hint(&e, "`lnk sandbox tool list` shows those that there are");
	} else {
		err_hint(&e, "none is added yet; to add it: lnk sandbox tool add %s", w->name);
	}
	return fail(w, &e);
}

/* --- printing ----------------------------------------------------------------------------- */

static void line(const char *key, const char *text, const char *note)
{
	char clean[8192];

	printf("  %-9s%s", key, str_printable(text, clean, sizeof(clean)));
	printf("%s%s%s\n", note != NULL ? "  (" : "", note != NULL ? note : "",
	       note != NULL ? ")" : "");
}

static void print_list(const char *key, const struct tool_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		line(key, list->v[i], NULL);
	}
}

static void print_own(const char *key, const struct tool_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct stat st;

		line(key, list->v[i], stat(list->v[i], &st) < 0 ? "not there" : NULL);
	}
}

static void print_rows(const char *key, const struct profile *profile, enum profile_kind kind)
{
	const struct profile_row *row = NULL;

	while (profile != NULL && (row = profile_next(profile, kind, row)) != NULL) {
		line(key, row->words, "built in");
	}
}

static void print_expanded(struct work *w, const char *key, const struct profile *profile,
			   enum profile_kind kind)
{
	const struct profile_row *row = NULL;

	while (profile != NULL && (row = profile_next(profile, kind, row)) != NULL) {
		struct profile_paths paths = {.n = 0};

		profile_expand(row, w->place.home, environ, &w->arena, &paths);
		for (size_t i = 0; i < paths.n; i++) {
			struct stat st;

			line(key, paths.v[i],
			     stat(paths.v[i], &st) < 0 ? "built in; not there" : "built in");
		}
	}
}

/* "option -w, --web after pr|issue". */
static const char *closed_text(struct work *w, const struct profile_row *row)
{
	const char *both = row->letter != NULL && row->name != NULL ? ", " : "";
	const char *where = row->words[0] == '^' ? " before the command" : "";
	const char *value = row->value != NULL ? row->value : "";

	if (row->kind == PROFILE_CLOSED) {
		return row->words;
	}
	if (row->words[0] != '\0' && row->words[0] != '^') {
		where = arena_printf(&w->arena, " after %s", row->words);
	}
	if (row->kind == PROFILE_WORD) {
		return arena_printf(&w->arena, "the argument %s%s", value, where);
	}
	return arena_printf(
		&w->arena, "the option %s%s%s%s%s%s", row->letter != NULL ? row->letter : "", both,
		row->name != NULL ? row->name : "", row->value != NULL ? " " : "", value, where);
}

static void print_closed(struct work *w, const struct profile *profile)
{
	static const enum profile_kind kinds[] = {PROFILE_CLOSED, PROFILE_REFUSE, PROFILE_WORD};

	for (size_t k = 0; profile != NULL && k < ARRAY_LEN(kinds); k++) {
		const struct profile_row *row = NULL;

		while ((row = profile_next(profile, kinds[k], row)) != NULL) {
			line("closed", closed_text(w, row), row->why);
		}
	}
}

static void print_tool(struct work *w, const struct tool *tool)
{
	struct err e;
	const char *profile = "none";

	printf("%s\n", tool->name);
	line("program", tool->program,
	     tool_program_check(tool->program, &w->place, &e) ? NULL : e.msg);
	if (tool->profile != NULL) {
		profile =
			arena_printf(&w->arena, "%s: %s", tool->profile->name, tool->profile->help);
	}
	line("profile", profile, NULL);
	if (tool->any) {
		line("any", "all arguments",
		     tool->profile != NULL ? "but those that are closed or denied" : NULL);
	}
	print_list("allow", &tool->allow);
	print_rows("allow", tool->profile, PROFILE_ALLOW);
	print_list("deny", &tool->deny);
	print_closed(w, tool->profile);
	print_own("read", &tool->read);
	print_expanded(w, "read", tool->profile, PROFILE_READ);
	print_own("write", &tool->write);
	print_expanded(w, "write", tool->profile, PROFILE_WRITE);
	print_list("env", &tool->env);
	print_rows("env", tool->profile, PROFILE_ENV);
	print_rows("starts", tool->profile, PROFILE_PROGRAM);
}

/* --- add ---------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* A program by name, as a shell finds it. NULL when there is none. */
static const char *on_path(struct work *w, const char *name)
{
	for (size_t i = 0; i < w->machine.path_folders.n; i++) {
		const char *path =
			arena_printf(&w->arena, "%s/%s", w->machine.path_folders.v[i].name, name);

		if (is_program(path)) {
			return path;
		}
	}
	return NULL;
}

/* The real path of what the user named; NULL: failed. */
static const char *find_program(struct work *w, const char *given)
{
	bool by_name = strchr(given, '/') == NULL;
	const char *flag = w->given[TOOL_PROGRAM].n > 0 ? "--program" : NULL;
	const char *path =
		by_name ? on_path(w, given) : value_join(w->machine.cwd.name, given, &w->arena);
	struct path_info at;
	struct err e;

	if (given[0] == '\0' || path == NULL) {
		err_set(&e, ERR_SPEC, 0, "there is no program \"%s\" on your PATH", given);
		err_hint(&e, "tell where it is: lnk sandbox tool add %s --program PATH", w->name);
	} else if (!resolve_path(path, &w->arena, &at, &e)) {
		err_hint(&e, "name a program: --program PATH");
	} else if (!str_is_utf8(at.real, strlen(at.real))) {
		err_set(&e, ERR_SPEC, 0, "the program's path is not UTF-8, as tools.toml must be");
		err_hint(&e, "move it to a folder with another name");
	} else if (tool_program_check(at.real, &w->place, &e)) {
		return at.real;
	}
	if (flag != NULL) {
		fail_flag(w, flag, &e);
	} else {
		fail(w, &e);
	}
	return NULL;
}

/* Adds what is not there yet. */
static void add_entry(struct work *w, struct tool_list *list, const char *entry)
{
	for (size_t i = 0; i < list->n; i++) {
		if (str_eq(list->v[i], entry)) {
			return;
		}
	}
	ARENA_PUSH(&w->arena, list, entry);
}

static bool add_patterns(struct work *w, enum tool_key key, struct tool_list *list)
{
	for (size_t i = 0; i < w->given[key].n; i++) {
		const char *s = w->given[key].v[i];
		struct err e;

		if (!tool_pattern(w->name, s, strlen(s), &w->arena, &s, &e)) {
			return fail_flag(w, key_flags[key], &e);
		}
		add_entry(w, list, s);
	}
	return true;
}

static bool add_paths(struct work *w, enum tool_key key, struct tool_list *list)
{
	for (size_t i = 0; i < w->given[key].n; i++) {
		const char *s = w->given[key].v[i];
		struct path_info at;
		struct err e;

		if (!tool_path(s, strlen(s), w->machine.cwd.name, &w->place, &w->arena, &s, &e) ||
		    !resolve_path(s, &w->arena, &at, &e) ||
		    !tool_path_check(at.real, &w->place, &e)) {
			return fail_flag(w, key_flags[key], &e);
		}
		add_entry(w, list, s);
	}
	return true;
}

static bool add_variables(struct work *w, struct tool_list *list)
{
	for (size_t i = 0; i < w->given[TOOL_ENV].n; i++) {
		const char *s = w->given[TOOL_ENV].v[i];
		struct err e;

		if (!tool_env_check(s, strlen(s), &e)) {
			return fail_flag(w, key_flags[TOOL_ENV], &e);
		}
		add_entry(w, list, s);
	}
	return true;
}

static bool nothing_allowed(struct work *w)
{
	char names[128] = "";
	struct err e;

	for (size_t i = 0; profile_at(i) != NULL; i++) {
		size_t n = strlen(names);

		snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "",
			 profile_at(i)->name);
	}
	err_set(&e, ERR_SPEC, 0,
		"lnk has no built-in rules for \"%s\" (only for %s), so say what it may do",
		w->name, names);
	err_hint(&e,
		 "lnk sandbox tool add %s --allow 'COMMAND *', once for each command, or --any for "
		 "all arguments",
		 w->name);
	return fail(w, &e);
}

/* A tool that is there already keeps what it has: more is added to it. */
static bool make_tool(struct work *w, struct tool *tool)
{
	const struct tool *old = tools_find(&w->tools, w->name);
	const char *given = w->given[TOOL_PROGRAM].n > 0 ? w->given[TOOL_PROGRAM].v[0] : NULL;

	if (old != NULL) {
		*tool = *old;
	}
	tool->name = w->name;
	if (old == NULL || given != NULL) {
		tool->program = find_program(w, given != NULL ? given : w->name);
		if (tool->program == NULL) {
			return false;
		}
		tool->profile = tool_profile_for(w->name, tool->program);
	}
	tool->any |= w->any;
	if (!add_patterns(w, TOOL_ALLOW, &tool->allow) ||
	    !add_patterns(w, TOOL_DENY, &tool->deny) || !add_paths(w, TOOL_READ, &tool->read) ||
	    !add_paths(w, TOOL_WRITE, &tool->write) || !add_variables(w, &tool->env)) {
		return false;
	}
	return tool->profile != NULL || tool->allow.n > 0 || tool->any || nothing_allowed(w);
}

static bool write_tools(struct work *w, const struct tools *tools)
{
	struct err e;

	return tools_write(w->path, tools, &w->place, &e) || fail(w, &e);
}

static bool run_add(struct work *w)
{
	struct tools next = {.path = w->path};
	struct tool tool = {.name = NULL};
	bool there = false;

	if (!lock_and_read(w) || !make_tool(w, &tool)) {
		return false;
	}
	for (size_t i = 0; i < w->tools.n; i++) {
		bool same = str_eq(w->tools.v[i].name, w->name);

		there |= same;
		ARENA_PUSH(&w->arena, &next, same ? tool : w->tools.v[i]);
	}
	if (!there) {
		ARENA_PUSH(&w->arena, &next, tool);
	}
	if (!write_tools(w, &next)) {
		return false;
	}
	print_tool(w, &tool);
	return true;
}

/* --- the others --------------------------------------------------------------------------- */

static bool run_remove(struct work *w)
{
	struct tools next = {.path = w->path};

	/* Nothing is made where there is nothing to remove. */
	if (!read_file(w)) {
		return false;
	}
	if (tools_find(&w->tools, w->name) == NULL) {
		return not_there(w);
	}
	if (!lock_and_read(w)) {
		return false;
	}
	for (size_t i = 0; i < w->tools.n; i++) {
		if (!str_eq(w->tools.v[i].name, w->name)) {
			ARENA_PUSH(&w->arena, &next, w->tools.v[i]);
		}
	}
	return write_tools(w, &next);
}

static bool run_show(struct work *w)
{
	const struct tool *tool;

	if (!read_file(w)) {
		return false;
	}
	tool = tools_find(&w->tools, w->name);
	if (tool == NULL) {
		return not_there(w);
	}
	print_tool(w, tool);
	return true;
}

static bool run_list(struct work *w)
{
	int names = 4;
	int programs = 8;

	if (!read_file(w)) {
		return false;
	}
	for (size_t i = 0; i < w->tools.n; i++) {
		int n = (int)strlen(w->tools.v[i].name);
		int p = (int)strlen(w->tools.v[i].program);

		names = n > names ? n : names;
		programs = p > programs && p <= 48 ? p : programs;
	}
	for (size_t i = 0; i < w->tools.n; i++) {
		const struct tool *tool = &w->tools.v[i];
		char clean[8192];

		printf("%-*s  %-*s  ", names, tool->name, programs,
		       str_printable(tool->program, clean, sizeof(clean)));
		printf("%s%s", tool->profile != NULL ? "profile " : "no profile",
		       tool->profile != NULL ? tool->profile->name : "");
		if (tool->any) {
			fputs(", any arguments", stdout);
		}
		if (tool->allow.n > 0) {
			printf(", %zu allowed", tool->allow.n);
		}
		if (tool->deny.n > 0) {
			printf(", %zu denied", tool->deny.n);
		}
		putchar('\n');
	}
	return true;
}

static const struct {
	const char *word;
	bool named; /* takes NAME */
	bool (*run)(struct work *w);
} commands[] = {
	{"add", true, run_add},
	{"list", false, run_list},
	{"show", true, run_show},
	{"remove", true, run_remove},
};

/* Whose fault: the user's input and files, or lnk's. */
static int failure_status(const struct err_list *errs)
{
	for (unsigned i = 0; i < errs->n; i++) {
		if (errs->v[i].code == ERR_SETUP) {
			return EXIT_LNK;
		}
	}
	return EXIT_USAGE;
}

int cli_tool(int argc, char **argv, struct err_list *errs)
{
	struct work w = {.errs = errs, .lock = -1};
	size_t c = 0;
	bool ok;

	if (argc < 1 || str_eq(argv[0], "--help") || str_eq(argv[0], "-h")) {
		cli_help("tool");
		return argc < 1 ? EXIT_USAGE : EXIT_OK;
	}
	while (c < ARRAY_LEN(commands) && !str_eq(commands[c].word, argv[0])) {
		c++;
	}
	if (c == ARRAY_LEN(commands)) {
		usage(&w, NULL,
		      arena_printf(&w.arena, "lnk sandbox tool has no command \"%s\"", argv[0]),
		      "there are add, list, show and remove: see `lnk sandbox tool --help`");
		arena_release(&w.arena);
		return EXIT_USAGE;
	}
	ok = parse(&w, argv[0], commands[c].named, argc - 1, argv + 1);
	if (ok && w.help) {
		cli_help("tool");
	} else if (ok) {
		ok = read_tools(&w) && commands[c].run(&w);
	}
	fd_close(&w.lock);
	arena_release(&w.arena);
	return ok ? EXIT_OK : failure_status(errs);
}
