/* Built-in rules for tools that many people have (profiles.def): what is safe by default, what is
 * refused until the user names it, and which files and variables the tool needs of the user's. All
 * of it is data. */
#ifndef LNK_BROKER_PROFILES_H
#define LNK_BROKER_PROFILES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

enum profile_id {
	PROFILE_COMMON, /* rows for every tool, with or without a profile */
#define PROFILE(id, ...) PROFILE_##id,
#include "broker/profiles.def"
	PROFILE_COUNT
};

/* The kinds of rows; profiles.def says what each means. */
enum profile_kind {
	PROFILE_ALLOW,
	PROFILE_CLOSED,
	PROFILE_OPTION,
	PROFILE_REFUSE,
	PROFILE_WORD,
	PROFILE_KNOWN,
	PROFILE_READ,
	PROFILE_WRITE,
	PROFILE_ENV,
	PROFILE_SET,
	PROFILE_PROGRAM,
};

/* Whether a harmless option takes a value. */
enum profile_takes {
	PROFILE_TAKES_NOTHING,
	PROFILE_TAKES_VALUE,
	PROFILE_TAKES_BELOW, /* a folder below the current one: relative, without ".." */
};

/* One row. What a kind does not have is NULL. */
struct profile_row {
	enum profile_id of;
	enum profile_kind kind;
	const char *words;  /* ALLOW, CLOSED: a pattern; REFUSE, WORD: where; KNOWN: all commands;
			       READ, WRITE, PROGRAM: the path; ENV, SET: the variable */
	const char *letter; /* OPTION, REFUSE: "-R" */
	const char *name;   /* OPTION, REFUSE: "--repo" */
	const char *value;  /* REFUSE: only with such a value; WORD: the word; SET: the value */
	const char *why;    /* CLOSED, REFUSE, WORD: goes on after the call: "prints your login" */
	enum profile_takes takes; /* OPTION */
};

struct profile {
	enum profile_id id;
	const char *name;
	unsigned depth;   /* how many words a command of it has: `gh pr view` 2, `git log` 1 */
	bool abbreviates; /* it takes the beginnings of commands for the commands */
	const char *help; /* what is allowed by default, in a few words */
};

/* The profile with this name; NULL when there is none. */
const struct profile *profile_find(const char *name);

/* The profile with this index (0 is the first); NULL after the last. */
const struct profile *profile_at(size_t index);

/* The row of this kind after `after` (NULL: the first), in the order of the file; NULL after the
 * last. `profile` NULL: the rows for every tool. */
const struct profile_row *profile_next(const struct profile *profile, enum profile_kind kind,
				       const struct profile_row *after);

struct profile_paths {
	const char **v;
	size_t n;
	size_t cap;
};

/* Adds the paths of a READ or WRITE row for this user to `paths`, absolute and normalised by name:
 * none when its variable is unset or holds nothing absolute, several when the row is a variable and
 * that holds several with ":" between. `home` is absolute, `envp` the user's own environment. */
void profile_expand(const struct profile_row *row, const char *home, char *const *envp,
		    struct arena *arena, struct profile_paths *paths);

#endif
