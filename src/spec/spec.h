/* The spec: what is wanted. Read from a TOML file and from flags through one table (keys.def),
 * checked as far as that needs nothing of the machine, and resolved for one operating system.
 * What a rule needs to know of the machine (PATH, links, system folders) is in plan/refuse.h. */
#ifndef LNK_SPEC_SPEC_H
#define LNK_SPEC_SPEC_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest spec file that is read, in bytes (the user's reference). */
#define SPEC_FILE_MAX (64UL * 1024UL)

enum spec_os { SPEC_OS_LINUX, SPEC_OS_MACOS };

enum spec_section {
#define SECTION(id, name, ...) SPEC_SECTION_##id,
#include "spec/sections.def"
#undef SECTION
	SPEC_SECTION_COUNT
};

enum spec_key {
#define KEY(id, ...) SPEC_##id,
#include "spec/keys.def"
#undef KEY
	SPEC_KEY_COUNT
};

enum spec_type {
	SPEC_TYPE_TEXT,       /* one string */
	SPEC_TYPE_NUMBER,     /* one integer in min..max */
	SPEC_TYPE_BOOL,       /* true or false */
	SPEC_TYPE_MODE,       /* "proxy" or "host" */
	SPEC_TYPE_PATHS,      /* list of paths */
	SPEC_TYPE_HOSTS,      /* list of public host names, "*.name", "*", public addresses */
	SPEC_TYPE_LAN_HOSTS,  /* list of names, private addresses and ranges, "*" */
	SPEC_TYPE_HOST_PORTS, /* list of "host:port" */
	SPEC_TYPE_PORTS,      /* list of integers 1..65535 */
	SPEC_TYPE_TOOLS,      /* list of tool names */
	SPEC_TYPE_COMMANDS,   /* list of names, paths, folders ending in /, or "*" */
};

/* One entry of a list; a scalar is a list of one. */
struct spec_item {
	const char *text; /* as written (strings); NULL for numbers and booleans */
	const char *path; /* paths, and commands that hold a slash: absolute and normalised by name
			     (no "//", "/./", trailing "/"), "~" and relative names expanded, links
			     NOT followed; hosts: canonical form ("github.com", "*.x.org", "*",
			     "2606::1", "10.0.0.0/8"), of host:port without the port; else NULL */
	int64_t number;   /* numbers, ports, the port of host:port; 0/1 for booleans */
	bool folder;      /* commands: written with a trailing "/" */
	struct origin from; /* of this entry */
};

struct spec_value {
	bool set; /* false: left out; null in --json */
	struct spec_item *v;
	size_t n;
	size_t cap;
	struct origin from; /* of the key */
};

struct spec {
	const char *file;      /* the spec file as named, control characters made visible; NULL when
				  the flags are the whole spec */
	const char *file_path; /* its absolute path by name; NULL likewise */
	const char *folder;    /* absolute folder that relative paths of the file start from */
	const char *text;      /* the file's bytes, for err.source; NULL without a file */
	size_t text_len;
	struct spec_value value[SPEC_KEY_COUNT]; /* for the operating system it was resolved for */
	bool section_set[SPEC_SECTION_COUNT];    /* granted, by the file or by flags */
	struct origin section[SPEC_SECTION_COUNT];
	enum spec_os os; /* the one it was resolved for */
};

/* One key given by flag: `--write ~/x`. */
struct spec_flag {
	enum spec_key key;
	const char *value; /* borrowed from argv; "true" for a bare --developer-tools */
};

struct spec_input {
	const char *file; /* spec file, or NULL */
	const char *cwd;  /* absolute: relative paths of flags, and of `file` */
	const char *home; /* absolute: "~" */
	enum spec_os os;
	const struct spec_flag *flags;
	size_t nflags;
};

/* Reads file and flags, merges them by the reference's rules (a flag replaces the file's key,
 * `hide` adds up), resolves the OS tables and checks everything that needs no machine.
 * Every string lives in `arena`. False: `errs` (zeroed by the caller) has at least one error. */
bool spec_read(const struct spec_input *input, struct arena *arena, struct spec *ret_spec,
	       struct err_list *errs);

/* Adds to a filled `err` where it was asked for, and that line of the spec's file. Returns false.
 */
bool spec_err_at(const struct spec *spec, struct err *err, const struct origin *from);

/* Puts the errors into the order of the file; those of flags come last. */
void spec_sort_errors(struct err_list *errs);

/* Takes one flag of the table off the command line: "--write X", "--write=X", and of booleans
 * "--developer-tools", "--developer-tools=false". `*i` is the word's index and moves to the last
 * word that belongs to it. The key, or SPEC_KEY_COUNT when the word is none of the table's flags
 * (err untouched) or lacks its value (err filled with ERR_USAGE, `*ret_bad` true). */
enum spec_key spec_flag_take(int argc, char *const *argv, int *i, struct spec_flag *ret_flag,
			     bool *ret_bad, struct err *err);

/* What the table knows of one key. Strings are static. */
struct spec_key_info {
	enum spec_section section;
	const char *name; /* "write" */
	enum spec_type type;
	bool main;            /* a section needs one of its main keys */
	bool repeatable;      /* a list; its flag adds up */
	bool adds;            /* hide: adds to the section's instead of replacing it */
	int64_t min, max;     /* of numbers */
	const char *flag;     /* "--write"; NULL when the key has none */
	const char *metavar;  /* "PATH"; NULL for booleans */
	const char *help;     /* one line */
	const char *example;  /* a value as TOML */
	const char *fallback; /* the default in words; "unset" */
	const char *since;    /* version of lnk */
};
extern const struct spec_key_info spec_keys[SPEC_KEY_COUNT];

struct spec_section_info {
	const char *name; /* "files"; "" for the root */
	const char *help;
};
extern const struct spec_section_info spec_sections[SPEC_SECTION_COUNT];

/* The key with this flag ("--write"), or SPEC_KEY_COUNT. */
enum spec_key spec_key_by_flag(const char *flag);

#endif
