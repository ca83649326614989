/* Reads tools.toml. Whoever can write it decides what runs outside of the sandbox, so that the
 * file must be the user's alone. All mistakes of a file are reported at once, each with its place:
 * a person may have edited it. */
#include "base/fd.h"
#include "base/str.h"
#include "broker/profiles.h"
#include "broker/tools.h"
#include "spec/toml.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum key {
#define TOOL_KEY(id, ...) KEY_##id,
#include "broker/tool_keys.def"
#undef TOOL_KEY
	KEY_COUNT
};

enum type { STRING, LIST, BOOL };

static const struct {
	const char *name;
	enum type type;
	const char *example;
} keys[] = {
#define TOOL_KEY(id, name, type, flag, metavar, repeatable, help, example) {name, type, example},
#include "broker/tool_keys.def"
#undef TOOL_KEY
};

struct reader {
	const char *name;
	const char *text;
	size_t len;
	const struct tools_place *place;
	struct arena *arena;
	struct err_list *errs;
	struct tools *tools;
};

/* --- errors ------------------------------------------------------------------------------- */

/* Adds a filled error with its place and that line of the file. */
static void report(struct reader *r, struct err *err, struct toml_pos pos)
{
	const struct origin from = {.file = r->name, .line = pos.line, .col = pos.col};

	err_at(err, &from);
	toml_source_line(r->text, r->len, pos.line, err->source, sizeof(err->source));
	*err_list_next(r->errs) = *err;
}

/* The header's place, or the key's where a table came about by dotted keys. */
static struct toml_pos place_of(const struct toml_entry *entry)
{
	return entry->value->type == TOML_TABLE && entry->value->pos.line > 0 ? entry->value->pos
									      : entry->key_pos;
}

static const char *article(const char *noun)
{
	return strchr("aeiou", noun[0]) != NULL ? "an" : "a";
}

static void unknown_key(struct reader *r, const char *in, const struct toml_entry *entry)
{
	char shown[VALUE_SHOWN_MAX];
	const char *nearest = NULL;
	size_t best = 3;
	struct err e;

	for (size_t i = 0; i < KEY_COUNT; i++) {
		size_t d = str_distance(keys[i].name, entry->key);

		if (d < best) {
			best = d;
			nearest = keys[i].name;
		}
	}
	err_set(&e, ERR_SPEC, 0, "[tool.%s] has no key %s%s%s%s", in,
		value_shown(entry->key, entry->key_len, shown),
		nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
		nearest != NULL ? "\"?" : "");
	err_hint(&e, "a tool has program, profile, allow, deny, read, write, env and any");
	report(r, &e, entry->key_pos);
}

static void wrong_type(struct reader *r, const char *in, enum key key, const struct toml_value *v)
{
	static const char *const wanted[] = {"a string", "a list of strings", "true or false"};
	const char *given = toml_type_name(v->type);
	struct err e;

	err_set(&e, ERR_SPEC, 0, "[tool.%s] %s takes %s, not %s %s", in, keys[key].name,
		wanted[keys[key].type], article(given), given);
	err_hint(&e, "for example: %s = %s", keys[key].name, keys[key].example);
	report(r, &e, v->pos);
}

/* --- values ------------------------------------------------------------------------------- */

static bool read_entry(struct reader *r, enum key key, const struct toml_value *v,
		       struct tool *tool, struct err *e)
{
	const char *s = v->u.str.s;
	size_t len = v->u.str.len;
	const char *made = s;

	switch (key) {
	case KEY_ALLOW:
	case KEY_DENY:
		if (!tool_pattern(tool->name, s, len, r->arena, &made, e)) {
			return false;
		}
		ARENA_PUSH(r->arena, key == KEY_ALLOW ? &tool->allow : &tool->deny, made);
		return true;
	case KEY_READ:
	case KEY_WRITE:
		if (!tool_path(s, len, NULL, r->place, r->arena, &made, e)) {
			return false;
		}
		ARENA_PUSH(r->arena, key == KEY_READ ? &tool->read : &tool->write, made);
		return true;
	case KEY_ENV:
		if (!tool_env_check(s, len, e)) {
			return false;
		}
		ARENA_PUSH(r->arena, &tool->env, made);
		return true;
	case KEY_PROGRAM:
	case KEY_PROFILE:
	case KEY_ANY:
	case KEY_COUNT:
	default:
		return true;
	}
}

static void read_list(struct reader *r, enum key key, const struct toml_value *v, struct tool *tool)
{
	struct err e;

	if (v->u.array.n == 0) {
		err_set(&e, ERR_SPEC, 0, "[tool.%s] %s is empty", tool->name, keys[key].name);
		err_hint(&e, "take it out, or write, for example: %s = %s", keys[key].name,
			 keys[key].example);
		report(r, &e, v->pos);
		return;
	}
	if (v->u.array.n > TOOL_ENTRIES_MAX) {
		err_set(&e, ERR_SPEC, 0, "[tool.%s] %s has %zu entries; %d is the most", tool->name,
			keys[key].name, v->u.array.n, TOOL_ENTRIES_MAX);
		err_hint(&e, "fewer, wider entries say the same");
		report(r, &e, v->pos);
		return;
	}
	for (size_t i = 0; i < v->u.array.n; i++) {
		const struct toml_value *entry = v->u.array.v[i];

		if (entry->type != TOML_STRING) {
			wrong_type(r, tool->name, key, entry);
		} else if (!read_entry(r, key, entry, tool, &e)) {
			report(r, &e, entry->pos);
		}
	}
}

/* Absolute, in normal form, in UTF-8. */
static bool read_program(struct reader *r, const struct toml_value *v, struct tool *tool,
			 struct err *e)
{
	const char *s = v->u.str.s;
	char shown[VALUE_SHOWN_MAX];

	value_shown(s, v->u.str.len, shown);
	if (v->u.str.len != strlen(s) || s[0] != '/' || v->u.str.len >= PATH_MAX ||
	    !str_eq(value_join("/", s, r->arena), s) || str_eq(s, "/")) {
		err_set(e, ERR_SPEC, 0, "%s is not the whole path of a program", shown);
		return err_hint(e, "write the path without links and \"..\", as `lnk sandbox tool "
				   "add` does, such as /usr/bin/gh");
	}
	tool->program = s;
	return true;
}

static bool read_profile(const struct toml_value *v, struct tool *tool, struct err *e)
{
	char shown[VALUE_SHOWN_MAX];

	if (str_eq(v->u.str.s, "none") && v->u.str.len == strlen("none")) {
		return true;
	}
	tool->profile = v->u.str.len == strlen(v->u.str.s) ? profile_find(v->u.str.s) : NULL;
	if (tool->profile != NULL) {
		return true;
	}
	err_set(e, ERR_SPEC, 0, "there is no built-in profile %s",
		value_shown(v->u.str.s, v->u.str.len, shown));
	char names[128] = "";
	for (size_t i = 0; profile_at(i) != NULL; i++) {
		size_t n = strlen(names);

		snprintf(names + n, sizeof(names) - n, "%s, ", profile_at(i)->name);
	}
	return err_hint(e, "the profiles are %sand \"none\"", names);
}

static void read_key(struct reader *r, enum key key, const struct toml_value *v, struct tool *tool)
{
	static const enum toml_type types[] = {TOML_STRING, TOML_ARRAY, TOML_BOOL};
	struct err e;
	bool ok = true;

	if (v->type != types[keys[key].type]) {
		wrong_type(r, tool->name, key, v);
	} else if (keys[key].type == LIST) {
		read_list(r, key, v, tool);
	} else if (key == KEY_ANY) {
		tool->any = v->u.boolean;
	} else {
		ok = key == KEY_PROGRAM ? read_program(r, v, tool, &e) : read_profile(v, tool, &e);
	}
	if (!ok) {
		report(r, &e, v->pos);
	}
}

/* --- tables ------------------------------------------------------------------------------- */

static const struct toml_entry *find_key(const struct toml_value *table, enum key key)
{
	return toml_find(table, keys[key].name);
}

/* What holds between keys, where each is right. */
static void check_tool(struct reader *r, const struct toml_entry *entry, const struct tool *tool)
{
	struct err e;

	if (find_key(entry->value, KEY_PROGRAM) == NULL) {
		err_set(&e, ERR_SPEC, 0, "[tool.%s] has no program", tool->name);
		err_hint(&e, "write its whole path: program = %s", keys[KEY_PROGRAM].example);
	} else if (tool->profile == NULL && tool->allow.n == 0 && !tool->any) {
		err_set(&e, ERR_SPEC, 0, "[tool.%s] allows nothing, and has no built-in profile",
			tool->name);
		err_hint(&e, "add allow = [\"COMMAND *\"], or any = true for all arguments");
	} else {
		return;
	}
	report(r, &e, place_of(entry));
}

static void read_tool(struct reader *r, const struct toml_entry *entry)
{
	struct tool tool = {
		.name = entry->key,
		.from = {.file = r->name, .line = place_of(entry).line, .col = place_of(entry).col},
	};
	const struct toml_value *table = entry->value;
	unsigned before = r->errs->total;
	struct err e;

	if (!tool_name_check(entry->key, entry->key_len, &e)) {
		report(r, &e, entry->key_pos);
		return;
	}
	if (table->type != TOML_TABLE) {
		err_set(&e, ERR_SPEC, 0, "[tool.%s] is a table, not %s %s", tool.name,
			article(toml_type_name(table->type)), toml_type_name(table->type));
		err_hint(&e, "write a line [tool.%s], once, and its keys below it", tool.name);
		report(r, &e, entry->key_pos);
		return;
	}
	for (size_t i = 0; i < table->u.table.n; i++) {
		const struct toml_entry *inner = &table->u.table.v[i];
		enum key key = 0;

		while (key < KEY_COUNT && !(inner->key_len == strlen(keys[key].name) &&
					    str_eq(inner->key, keys[key].name))) {
			key++;
		}
		if (key == KEY_COUNT) {
			unknown_key(r, tool.name, inner);
		} else {
			read_key(r, key, inner->value, &tool);
		}
	}
	if (r->errs->total > before) {
		return;
	}
	if (find_key(table, KEY_PROFILE) == NULL && tool.program != NULL) {
		tool.profile = tool_profile_for(tool.name, tool.program);
	}
	check_tool(r, entry, &tool);
	ARENA_PUSH(r->arena, r->tools, tool);
}

static void read_root(struct reader *r, const struct toml_value *root)
{
	struct err e;

	for (size_t i = 0; i < root->u.table.n; i++) {
		const struct toml_entry *entry = &root->u.table.v[i];
		char shown[VALUE_SHOWN_MAX];

		if (entry->key_len != strlen("tool") || !str_eq(entry->key, "tool")) {
			err_set(&e, ERR_SPEC, 0, "there is no key %s here",
				value_shown(entry->key, entry->key_len, shown));
			err_hint(&e, "each tool is a table with a line [tool.NAME] above its keys");
			report(r, &e, entry->key_pos);
			continue;
		}
		if (entry->value->type != TOML_TABLE) {
			err_set(&e, ERR_SPEC, 0, "\"tool\" is not a table of tools");
			err_hint(&e, "give each tool a line with single brackets: [tool.gh]");
			report(r, &e, entry->key_pos);
			continue;
		}
		if (entry->value->u.table.n > TOOLS_MAX) {
			err_set(&e, ERR_SPEC, 0, "there are %zu tools; %d is the most",
				entry->value->u.table.n, TOOLS_MAX);
			err_hint(&e, "remove those that you do not use");
			report(r, &e, entry->key_pos);
			continue;
		}
		for (size_t t = 0; t < entry->value->u.table.n; t++) {
			read_tool(r, &entry->value->u.table.v[t]);
		}
	}
}

bool tools_parse(const char *name, const char *text, size_t len, const struct tools_place *place,
		 struct arena *arena, struct tools *ret_tools, struct err_list *errs)
{
	struct tools tools = {.path = name};
	struct reader r = {name, text, len, place, arena, errs, &tools};
	struct toml_value *root;

	if (!toml_read(name, text, len, arena, &root, errs)) {
		return false;
	}
	read_root(&r, root);
	if (errs->total > 0) {
		return false;
	}
	*ret_tools = tools;
	return true;
}

/* --- the file ----------------------------------------------------------------------------- */

static bool refuse(const char *path, struct err_list *errs, struct err *err)
{
	const struct origin from = {.file = path};

	err_at(err, &from);
	*err_list_next(errs) = *err;
	return false;
}

/* Nobody else may write it, or put another in its place. */
static bool is_mine(const char *what, const struct stat *st, mode_t forbidden,
		    const struct tools_place *place, struct err *err)
{
	if (st->st_uid != place->uid && st->st_uid != 0) {
		err_set(err, ERR_SPEC, 0, "%s belongs to another user (%u)", what,
			(unsigned)st->st_uid);
		return err_hint(err, "it says what may run with your logins: it must be your own");
	}
	if ((st->st_mode & forbidden) != 0) {
		err_set(err, ERR_SPEC, 0, "%s may be written by others (mode %04o)", what,
			(unsigned)(st->st_mode & 07777));
		return err_hint(err, "look at what is in it, then: chmod go-w on %s", what);
	}
	return true;
}

static bool folder_is_mine(const char *path, const struct tools_place *place, struct arena *arena,
			   struct err *err)
{
	const char *folder = path_parent(path, arena);
	struct stat st;

	if (stat(folder, &st) < 0) {
		return err_set(err, ERR_SPEC, errno, "cannot look at %s", folder);
	}
	/* A group's members cannot make a file that belongs to the user. */
	return is_mine(folder, &st, S_IWOTH, place, err);
}

static bool file_is_mine(const char *path, const struct stat *st, const struct tools_place *place,
			 struct arena *arena, struct err *err)
{
	char real[PATH_MAX];

	if (!S_ISREG(st->st_mode)) {
		err_set(err, ERR_SPEC, 0, "this is not a file");
		return err_hint(err, "move it away; `lnk sandbox tool add` makes a new one");
	}
	if (st->st_size > (off_t)TOOLS_FILE_MAX) {
		err_set(err, ERR_SPEC, 0, "the file is larger than 64 KiB");
		return err_hint(err, "remove tools that you do not use");
	}
	return is_mine(path, st, S_IWGRP | S_IWOTH, place, err) &&
	       folder_is_mine(path, place, arena, err) &&
	       (realpath(path, real) == NULL || folder_is_mine(real, place, arena, err));
}

bool tools_read(const char *path, const struct tools_place *place, struct arena *arena,
		struct tools *ret_tools, struct err_list *errs)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text;
	struct stat st;
	struct err e;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		*ret_tools = (struct tools){.path = path};
		return true;
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(&e, ERR_SPEC, errno, "the file cannot be read");
		return refuse(path, errs, &e);
	}
	if (!file_is_mine(path, &st, place, arena, &e)) {
		return refuse(path, errs, &e);
	}
	text = arena_alloc(arena, TOOLS_FILE_MAX + 1);
	ssize_t n = fd_read_all(fd, text, TOOLS_FILE_MAX + 1);
	if (n < 0 || n > (ssize_t)TOOLS_FILE_MAX) {
		err_set(&e, ERR_SPEC, n < 0 ? errno : EFBIG, "the file cannot be read");
		return refuse(path, errs, &e);
	}
	return tools_parse(path, text, (size_t)n, place, arena, ret_tools, errs);
}
