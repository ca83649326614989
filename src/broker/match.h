/* Patterns against arguments, word by word. judge.h says what a pattern means; this is how. Pure,
 * and linear in the arguments but for "*" inside of words. */
#ifndef LNK_BROKER_MATCH_H
#define LNK_BROKER_MATCH_H

#include "broker/profiles.h"
#include "broker/tools.h"

/* A pattern taken apart. */
struct match_pattern {
	struct {
		const char *s;
		size_t len;
	} word[TOOL_WORDS_MAX];
	size_t n;
	bool tail;         /* "*" was the last word; it is not counted in n */
	bool alternatives; /* "a|b" is either: in rows of a profile */
};

/* Rows of one kind. A test holds the table to the cap. */
#define MATCH_ROWS_MAX 64
struct match_rows {
	const struct profile_row *v[MATCH_ROWS_MAX];
	size_t n;
};

/* The arguments of a call. */
struct match_call {
	char *const *argv;
	size_t argc;
	bool abbreviates;          /* as in the profile */
	struct match_rows options; /* those that the profile knows as harmless */
};

/* Gathers the rows of this kind; none for no profile. */
void match_rows(const struct profile *profile, enum profile_kind kind, struct match_rows *ret_rows);

/* `profile` may be NULL. */
void match_call_init(const struct profile *profile, size_t argc, char *const argv[],
		     struct match_call *ret_call);

/* Where the words of a pattern stand in the arguments. */
struct match_found {
	size_t at[TOOL_WORDS_MAX]; /* by word of the pattern */
	size_t n;                  /* of them */
	size_t stuck; /* not found: the argument, an option, that was in the way; else argc */
};

/* True for "-x" and "--xyz"; not for "-" alone. */
bool match_is_option(const char *argument);

/* How many arguments the option at `index` takes up when the profile knows it as harmless, itself
 * included; 0 when it does not, or its value is missing. A folder that does not lie below the
 * current one: 0 where `strictly`. */
size_t match_harmless(const struct match_call *call, size_t index, bool strictly);

/* The value of the option at `index` when it names a folder to go to first; NULL: it does not. */
const char *match_folder(const struct match_call *call, size_t index);

/* Takes `text` apart, which is in normal form. Words beyond TOOL_WORDS_MAX do not occur there. */
void match_split(const char *text, bool alternatives, struct match_pattern *ret_pattern);

/* True when word `index` of the pattern stands for `argument`. `fold`: letters' case does not
 * count.
 */
bool match_word(const struct match_pattern *pattern, size_t index, const char *argument, bool fold);

/* The same as match_loose takes it: letters' case does not count, and beginnings of commands count
 * where the tool takes them. */
bool match_word_loosely(const struct match_pattern *pattern, size_t index,
			const struct match_call *call, const char *argument);

/* True when word `index` of the pattern holds no "*". */
bool match_is_plain(const struct match_pattern *pattern, size_t index);

/* The whole call is what the pattern allows; nothing unknown stands between its words, and a
 * harmless option that the pattern names with its value stands nowhere else. */
bool match_strict(const struct match_pattern *pattern, const struct match_call *call,
		  struct match_found *ret_found);

/* The call may begin with the pattern's words: unknown options between them are passed over with
 * and without a value, letters' case does not count, and beginnings of commands count as commands
 * where the tool takes them so. What follows does not matter. When that cannot be told within
 * MATCH_LOOSE_MAX arguments, it may. */
#define MATCH_LOOSE_MAX 4096
bool match_loose(const struct match_pattern *pattern, const struct match_call *call);

/* Where the command may begin: `front` starts as all zero; each call gives one argument that may
 * stand in front of the command, or be its first word. False when there is none any more. */
struct match_front {
	size_t next;
	unsigned reach; /* of the next three arguments, those that may be reached */
	bool began;
};
bool match_front_next(const struct match_call *call, struct match_front *front, size_t *ret_index);

/* True when `argument` is the option of a REFUSE row, in whatever form: "--name", "--name=x", the
 * beginning of a name, "-x", "-xVALUE", "-abx". *ret_rest: what it holds of a value, NULL when that
 * is another argument. Options that the profile knows as harmless are never taken for the beginning
 * of another. */
bool match_refused(const struct match_call *call, const struct profile_row *row,
		   const char *argument, const char **ret_rest);

/* "*" stands for any characters. `len` bytes of pattern. */
bool match_glob(const char *pattern, size_t len, const char *s, bool fold);

#endif
