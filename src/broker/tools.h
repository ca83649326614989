/* The user's tools, which run outside of the sandbox with the user's logins: what `lnk sandbox tool
 * add` keeps in tools.toml of Link's settings. The file is read strictly, because it decides what a
 * sandboxed program may make the user's own programs do. */
#ifndef LNK_BROKER_TOOLS_H
#define LNK_BROKER_TOOLS_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/machine.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Caps. A person's file has a handful of tools; these only keep a hostile or broken one small. */
#define TOOLS_FILE_MAX   (64UL * 1024UL) /* bytes of tools.toml */
#define TOOLS_MAX        256             /* tools in it */
#define TOOL_NAME_MAX    64              /* bytes of a name */
#define TOOL_ENTRIES_MAX 256             /* entries of one list */
#define TOOL_PATTERN_MAX 512             /* bytes of a pattern */
#define TOOL_WORDS_MAX   32              /* words of a pattern */

struct profile;

struct tool_list {
	const char **v;
	size_t n;
	size_t cap;
};

struct tool {
	const char *name;              /* as the sandbox calls it; see tool_name_check */
	const char *program;           /* absolute, free of links when it was added */
	const struct profile *profile; /* built-in rules; NULL when there are none */
	struct tool_list allow;        /* patterns in normal form (judge.h) */
	struct tool_list deny;         /* likewise */
	struct tool_list read;         /* the tool's own paths: absolute, normalised by name */
	struct tool_list write;        /* likewise */
	struct tool_list env;          /* names of variables that it gets besides the usual ones */
	bool any;                      /* every argument but what the profile closes */
	struct origin from;            /* its line of tools.toml; zero when made by `add` */
};

struct tools {
	struct tool *v; /* in the order of the file */
	size_t n;
	size_t cap;
	const char *path; /* of tools.toml, whether it exists or not */
};

/* What the reader must know of the user. Strings are borrowed. */
struct tools_place {
	const char *home; /* absolute, normalised */
	uid_t uid;
	const char *const *closed; /* Link's own folders, which no tool may have */
	size_t nclosed;
};

/* From the machine's facts. */
void tools_place(const struct machine *machine, struct arena *arena, struct tools_place *ret_place);

/* $XDG_CONFIG_HOME/link/tools.toml (~/.config/link/tools.toml), by name. */
const char *tools_path(const struct machine *machine, struct arena *arena);

/* Reads `len` bytes of text. `name` stands in the messages. Every error (up to ERR_LIST_MAX) has
 * line and column. False: `errs` (zeroed by the caller) has at least one. Pure; strings live in
 * `arena`. */
bool tools_parse(const char *name, const char *text, size_t len, const struct tools_place *place,
		 struct arena *arena, struct tools *ret_tools, struct err_list *errs);

/* Reads the file. One that is missing has no tools. Refused: one that is not a regular file, is
 * larger than TOOLS_FILE_MAX, belongs to somebody else than `place->uid` or root, or that others
 * may write. The same of the folder that holds it. */
bool tools_read(const char *path, const struct tools_place *place, struct arena *arena,
		struct tools *ret_tools, struct err_list *errs);

/* Writes all tools to `path`, whole or not at all: a new file (0600) beside it, synced, then
 * renamed over it; a link there keeps being one. Missing folders are made, 0700. What is to be
 * written is read back by tools_parse before anything changes on disk. */
bool tools_write(const char *path, const struct tools *tools, const struct tools_place *place,
		 struct err *err);

/* Locks the folder of `path` (made if it is missing, 0700) against other writers of it until the
 * descriptor is closed. */
bool tools_lock(const char *path, int *ret_fd, struct err *err);

/* The tool with this name, or NULL. */
const struct tool *tools_find(const struct tools *tools, const char *name);

/* --- one tool's values, whether from the file or from flags --------------------------------- */

/* A name: [A-Za-z0-9._+-], not beginning with "." or "-", 1 to TOOL_NAME_MAX bytes; it becomes the
 * name of a file on the sandbox's PATH. `s` has `len` bytes and a NUL behind them. */
bool tool_name_check(const char *s, size_t len, struct err *err);

/* Reads a pattern into normal form: words with one space between them. Refused: an empty one, "*"
 * alone, quotes, control characters, bytes that are not UTF-8, one that begins with the tool's own
 * name, one that is too long. */
bool tool_pattern(const char *tool, const char *s, size_t len, struct arena *arena,
		  const char **ret_pattern, struct err *err);

/* Reads a path of the tool's own. "~" and "~/…" are the home; relative ones start at `folder`, or
 * are refused when that is NULL. Refused: the home itself or what holds it, Link's own folders or
 * what holds them, "..", NUL, bytes that are not UTF-8. */
bool tool_path(const char *s, size_t len, const char *folder, const struct tools_place *place,
	       struct arena *arena, const char **ret_path, struct err *err);

/* The same of what such a path resolves to: neither the home or what holds it, nor Link's own
 * folders or what holds them. */
bool tool_path_check(const char *path, const struct tools_place *place, struct err *err);

/* A variable's name: [A-Za-z_][A-Za-z0-9_]*, at most 128 bytes. */
bool tool_env_check(const char *s, size_t len, struct err *err);

/* The built-in profile of a tool: the one with its name, else the one with its program's name. */
const struct profile *tool_profile_for(const char *name, const char *program);

/* True when `path` (absolute) is a program that may be started outside for a sandbox: a regular
 * file that this user may execute, that nobody but this user and root may write, in folders of
 * which the same is true (sticky ones such as /tmp aside). ERR_SPEC otherwise, with a hint and
 * without a position. */
bool tool_program_check(const char *path, const struct tools_place *place, struct err *err);

/* What [tools] names: each must have been added; its program must pass tool_program_check and lie
 * outside of all that the spec lets be written, as must tools.toml itself; what its own paths
 * resolve to must pass tool_path_check. Errors have the
 * spec's line and the command to run. False when `errs` got at least one. */
bool tools_check(const struct spec *spec, const struct tools *tools, const struct machine *machine,
		 struct arena *arena, struct err_list *errs);

#endif
