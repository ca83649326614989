/* The order: what the user denies, what the profile closes (options, words, commands, aliases),
 * then what is allowed. Everything is refused that nothing allows. */
#include "broker/judge.h"

#include "base/str.h"
#include "base/testguard.h"
#include "broker/match.h"
#include "spec/values.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct judging {
	const struct tool *tool;
	struct match_call call;
	struct match_rows refused; /* options */
	struct tool_refusal *refusal;
};

/* Goes through all that may allow a call: the user's patterns, then the profile's. */
struct allows {
	size_t next;
	const struct profile_row *row;
	bool in_profile;
};

static bool next_allow(const struct judging *j, struct allows *a, struct match_pattern *ret_pattern)
{
	if (a->next < j->tool->allow.n) {
		match_split(j->tool->allow.v[a->next++], false, ret_pattern);
		return true;
	}
	if (j->tool->profile == NULL || (a->in_profile && a->row == NULL)) {
		return false;
	}
	a->in_profile = true;
	a->row = profile_next(j->tool->profile, PROFILE_ALLOW, a->row);
	if (a->row == NULL) {
		return false;
	}
	match_split(a->row->words, true, ret_pattern);
	return true;
}

/* --- messages ----------------------------------------------------------------------------- */

/* Appends to `out`; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void add(char *out, size_t cap, const char *fmt, ...)
{
	size_t n = strlen(out);
	va_list args;

	va_start(args, fmt);
	vsnprintf(out + n, cap - n, fmt, args);
	va_end(args);
}

static const char *shown(const char *argument, char out[64])
{
	char text[58];

	str_printable(argument, text, sizeof(text));
	snprintf(out, 64, "%s%s", text, strlen(argument) >= sizeof(text) ? "..." : "");
	return out;
}

/* A word that can stand in a pattern, in single quotes and as itself. */
static bool is_plain_word(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+="
			     "-");

	return n > 0 && n <= 64 && s[n] == '\0';
}

static bool is_command_word(const char *s)
{
	return is_plain_word(s) && strpbrk(s, "/:@=") == NULL &&
	       ((s[0] >= 'a' && s[0] <= 'z') || (s[0] >= 'A' && s[0] <= 'Z'));
}

static void see_the_tool(struct judging *j)
{
	snprintf(j->refusal->hint, sizeof(j->refusal->hint),
		 "what it may do shows `lnk sandbox tool show %s`", j->tool->name);
}

/* Only what would be true: an unknown option in the way keeps any pattern from being found. */
static void suggest(struct judging *j, const char *words)
{
	struct match_pattern p;
	struct match_found ignored;

	match_split(words, false, &p);
	if (!match_strict(&p, &j->call, &ignored)) {
		see_the_tool(j);
		return;
	}
	snprintf(j->refusal->hint, sizeof(j->refusal->hint),
		 "to allow it, outside of the sandbox: lnk sandbox tool add %s --allow '%s'",
		 j->tool->name, words);
}

/* How many words a command of the tool has. */
static unsigned depth(const struct judging *j)
{
	return j->tool->profile != NULL ? j->tool->profile->depth : 1;
}

/* Moves *at on, over harmless options. False at the end. */
static bool next_word(const struct judging *j, size_t *at)
{
	while (*at < j->call.argc && match_is_option(j->call.argv[*at])) {
		size_t skip = match_harmless(&j->call, *at, true);

		if (skip == 0) {
			break;
		}
		*at += skip;
	}
	return *at < j->call.argc;
}

/* "gh pr merge": the name, and the command as far as it can be told. */
static void name_call(const struct judging *j, char *out, size_t cap)
{
	size_t at = 0;

	snprintf(out, cap, "%s", j->tool->name);
	for (unsigned left = depth(j); left > 0 && next_word(j, &at); left--) {
		char word[64];

		add(out, cap, " %s", shown(j->call.argv[at++], word));
	}
}

/* --- what is closed ----------------------------------------------------------------------- */

/* True when word `first` of a pattern may be the first of a command: only options, and what may be
 * their values, stand before it. */
static bool may_begin(const struct match_pattern *p, size_t first)
{
	for (size_t i = 0; i < first; i++) {
		bool option = p->word[i].s[0] == '-';
		bool value = i > 0 && p->word[i - 1].s[0] == '-' &&
			     memchr(p->word[i - 1].s, '=', p->word[i - 1].len) == NULL;

		if (!option && !value) {
			return false;
		}
	}
	return true;
}

/* True when the plain words of `allow`, found in the call, begin with those of `closed`
 * (after options): then the user, or a row of the profile, means just that. */
static bool names_it(const struct match_pattern *allow, const struct match_found *found,
		     const struct match_pattern *closed, const struct match_call *call)
{
	size_t run = 0;

	for (size_t first = 0; first + closed->n <= found->n && may_begin(allow, first); first++) {
		for (run = 0; run < closed->n; run++) {
			if (!match_is_plain(allow, first + run) ||
			    !match_word_loosely(closed, run, call,
						call->argv[found->at[first + run]])) {
				break;
			}
		}
		if (run == closed->n) {
			return true;
		}
	}
	return false;
}

static bool command_is_named(const struct judging *j, const struct match_pattern *closed)
{
	struct allows allows = {.next = 0};
	struct match_pattern p;
	struct match_found found;

	while (next_allow(j, &allows, &p)) {
		if (match_strict(&p, &j->call, &found) && names_it(&p, &found, closed, &j->call)) {
			return true;
		}
	}
	return false;
}

/* True when word `word` of a pattern, without its "*", is itself what the row is about: the option
 * of a REFUSE row, the word of a WORD row, a command. */
static bool word_names_it(const struct judging *j, const struct match_pattern *p, size_t word,
			  const struct profile_row *row)
{
	char plain[TOOL_PATTERN_MAX + 1];
	const char *rest;
	size_t n = 0;

	for (size_t i = 0; i < p->word[word].len && n < TOOL_PATTERN_MAX; i++) {
		if (p->word[word].s[i] != '*') {
			plain[n++] = p->word[word].s[i];
		}
	}
	plain[n] = '\0';
	switch (row->kind) {
	case PROFILE_REFUSE:
		return match_refused(&j->call, row, plain, &rest);
	case PROFILE_WORD:
		rest = plain[0] == '-' ? strchr(plain, '=') : NULL;
		return match_glob(row->value, strlen(row->value), plain, true) ||
		       (rest != NULL && match_glob(row->value, strlen(row->value), rest + 1, true));
	case PROFILE_KNOWN:
		/* The value of an option that the pattern names is no command. */
		return match_is_plain(p, word) || (word > 0 && p->word[word - 1].s[0] == '-');
	case PROFILE_ALLOW:
	case PROFILE_CLOSED:
	case PROFILE_OPTION:
	case PROFILE_READ:
	case PROFILE_WRITE:
	case PROFILE_ENV:
	case PROFILE_SET:
	case PROFILE_PROGRAM:
	default:
		return false;
	}
}

/* True when a pattern that allows the call names this argument, which a row refuses. */
static bool argument_is_named(const struct judging *j, size_t index, const struct profile_row *row)
{
	struct allows allows = {.next = 0};
	struct match_pattern p;
	struct match_found found;

	while (next_allow(j, &allows, &p)) {
		if (!match_strict(&p, &j->call, &found)) {
			continue;
		}
		for (size_t i = 0; i < found.n; i++) {
			if (found.at[i] == index && word_names_it(j, &p, i, row)) {
				return true;
			}
		}
	}
	return false;
}

/* The words of the call that a closed command is made of, and "*". */
static void suggest_command(struct judging *j, const struct match_pattern *closed)
{
	char words[256] = "";
	size_t found = 0;

	for (size_t at = 0; at < j->call.argc && found < closed->n; at++) {
		const char *argument = j->call.argv[at];

		if (!match_is_option(argument) && is_command_word(argument) &&
		    match_word_loosely(closed, found, &j->call, argument)) {
			add(words, sizeof(words), "%s ", argument);
			found++;
		}
	}
	if (found < closed->n) {
		see_the_tool(j);
		return;
	}
	add(words, sizeof(words), "*");
	suggest(j, words);
}

static bool refuse_closed_command(struct judging *j)
{
	const struct profile_row *row = NULL;
	const struct profile_row *worst = NULL;
	struct match_pattern closed;
	size_t words = 0;

	/* The row with most words says best what is wrong, and is the last to be named. */
	while ((row = profile_next(j->tool->profile, PROFILE_CLOSED, row)) != NULL) {
		match_split(row->words, true, &closed);
		if (closed.n > words && match_loose(&closed, &j->call) &&
		    !command_is_named(j, &closed)) {
			worst = row;
			words = closed.n;
		}
	}
	if (worst == NULL) {
		return false;
	}
	match_split(worst->words, true, &closed);
	name_call(j, j->refusal->why, 256);
	add(j->refusal->why, sizeof(j->refusal->why), " %s", worst->why);
	suggest_command(j, &closed);
	return true;
}

/* `words` up to the option or word, which must be named where it stands. */
static void suggest_argument(struct judging *j, size_t index, bool option)
{
	char words[256] = "";

	for (size_t at = 0; at <= index; at++) {
		const char *argument = j->call.argv[at];
		size_t name = option && at == index ? strcspn(argument, "=") : strlen(argument);

		if (index > 5 || !is_plain_word(argument) || strlen(argument) > 40) {
			see_the_tool(j);
			return;
		}
		add(words, sizeof(words), "%.*s%s ", (int)name, argument,
		    argument[name] == '=' ? "=*" : "");
	}
	add(words, sizeof(words), "*");
	suggest(j, words);
}

static void refuse_argument(struct judging *j, const struct profile_row *row, size_t index,
			    bool option)
{
	const char *argument = j->call.argv[index];
	char word[64];

	snprintf(j->refusal->why, sizeof(j->refusal->why), "%s: %s %s", j->tool->name,
		 shown(argument, word), row->why);
	if (option && argument[1] != '-' && argument[2] != '\0') {
		/* "-bdocs" is taken for "-b -d -o …": it may be either. */
		snprintf(j->refusal->hint, sizeof(j->refusal->hint),
			 "\"%s\" in it may be the option; give each option, and its value, as an "
			 "argument of its own",
			 row->letter != NULL ? row->letter + 1 : row->name);
		return;
	}
	suggest_argument(j, index, option);
}

/* True when the option's value is one that the row is about. */
static bool value_fits(const struct judging *j, const struct profile_row *row, size_t index,
		       const char *rest)
{
	size_t len = row->value != NULL ? strlen(row->value) : 0;

	if (row->value == NULL) {
		return true;
	}
	/* Both: who knows whether "-qx" takes the next argument as well. */
	return (rest != NULL && match_glob(row->value, len, rest, true)) ||
	       (index + 1 < j->call.argc &&
		match_glob(row->value, len, j->call.argv[index + 1], true));
}

static bool is_there(const struct judging *j, const struct profile_row *row)
{
	struct match_pattern where;

	match_split(row->words, true, &where);
	return match_loose(&where, &j->call);
}

static bool refuse_option_at(struct judging *j, size_t index, const struct profile_row *row)
{
	const char *rest;

	if (!match_refused(&j->call, row, j->call.argv[index], &rest) ||
	    !value_fits(j, row, index, rest) || argument_is_named(j, index, row)) {
		return false;
	}
	refuse_argument(j, row, index, true);
	return true;
}

static bool refuse_options(struct judging *j)
{
	for (size_t i = 0; i < j->refused.n; i++) {
		const struct profile_row *row = j->refused.v[i];

		if (str_eq(row->words, "^") || !is_there(j, row)) {
			continue;
		}
		for (size_t at = 0; at < j->call.argc; at++) {
			if (refuse_option_at(j, at, row)) {
				return true;
			}
		}
	}
	return false;
}

static bool refuse_words(struct judging *j)
{
	const struct profile_row *row = NULL;

	while ((row = profile_next(j->tool->profile, PROFILE_WORD, row)) != NULL) {
		size_t len = strlen(row->value);

		if (!is_there(j, row)) {
			continue;
		}
		for (size_t at = 0; at < j->call.argc; at++) {
			const char *argument = j->call.argv[at];
			const char *value = argument[0] == '-' ? strchr(argument, '=') : NULL;

			if ((match_glob(row->value, len, argument, true) ||
			     (value != NULL && match_glob(row->value, len, value + 1, true))) &&
			    !argument_is_named(j, at, row)) {
				refuse_argument(j, row, at, false);
				return true;
			}
		}
	}
	return false;
}

static bool is_in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p != '\0';) {
		size_t len = strcspn(p, " ");

		if (len == n && memcmp(p, word, n) == 0) {
			return true;
		}
		p += len + (p[len] == ' ' ? 1 : 0);
	}
	return false;
}

static bool refuse_unknown_command(struct judging *j, size_t index)
{
	const struct profile_row *known = profile_next(j->tool->profile, PROFILE_KNOWN, NULL);
	const char *command = j->call.argv[index];
	char word[64];

	if (known == NULL || is_in_list(known->words, command) ||
	    argument_is_named(j, index, known)) {
		return false;
	}
	snprintf(j->refusal->why, sizeof(j->refusal->why),
		 "%s: %s is no command of its own that lnk knows; an alias may run any program",
		 j->tool->name, shown(command, word));
	if (is_command_word(command)) {
		char words[80];

		snprintf(words, sizeof(words), "%s *", command);
		suggest(j, words);
	} else {
		see_the_tool(j);
	}
	return true;
}

/* Options in front of the command, and which command it may be. */
static bool refuse_front(struct judging *j)
{
	struct match_front front = {.next = 0};
	size_t at;

	while (match_front_next(&j->call, &front, &at)) {
		if (!match_is_option(j->call.argv[at])) {
			if (refuse_unknown_command(j, at)) {
				return true;
			}
			continue;
		}
		for (size_t i = 0; i < j->refused.n; i++) {
			if (str_eq(j->refused.v[i]->words, "^") &&
			    refuse_option_at(j, at, j->refused.v[i])) {
				return true;
			}
		}
	}
	return false;
}

/* --- what is denied, what is allowed ------------------------------------------------------ */

static bool refuse_denied(struct judging *j)
{
	for (size_t i = 0; i < j->tool->deny.n; i++) {
		struct match_pattern p;

		match_split(j->tool->deny.v[i], false, &p);
		if (match_loose(&p, &j->call)) {
			char word[64];

			name_call(j, j->refusal->why, 256);
			add(j->refusal->why, sizeof(j->refusal->why),
			    " is denied, by the entry's \"%s\"", shown(j->tool->deny.v[i], word));
			see_the_tool(j);
			return true;
		}
	}
	return false;
}

/* Nothing but options that the profile knows as harmless: `gh`, `gh --version`. */
static bool is_bare(const struct judging *j)
{
	const struct match_pattern nothing = {.n = 0};
	struct match_found ignored;

	return j->tool->profile != NULL && match_strict(&nothing, &j->call, &ignored);
}

/* *ret_stuck: the option that kept a pattern from being found, where most of it was; else argc. */
static bool is_allowed(const struct judging *j, size_t *ret_stuck)
{
	struct allows allows = {.next = 0};
	struct match_pattern p;
	struct match_found found;
	size_t most = 0;

	*ret_stuck = j->call.argc;
	if (j->tool->any || is_bare(j)) {
		return true;
	}
	while (next_allow(j, &allows, &p)) {
		if (match_strict(&p, &j->call, &found)) {
			return true;
		}
		/* Only where the option is all that was wrong. */
		if (found.stuck < j->call.argc && match_loose(&p, &j->call) &&
		    (found.n > most || *ret_stuck == j->call.argc)) {
			*ret_stuck = found.stuck;
			most = found.n;
		}
	}
	return false;
}

static void refuse_stuck(struct judging *j, size_t stuck)
{
	char word[64];

	shown(j->call.argv[stuck], word);
	if (match_harmless(&j->call, stuck, false) > 0) {
		snprintf(j->refusal->why, sizeof(j->refusal->why),
			 "%s: %s leads out of the current folder", j->tool->name, word);
		snprintf(j->refusal->hint, sizeof(j->refusal->hint),
			 "call it in the folder itself: (cd FOLDER && %s ...)", j->tool->name);
		return;
	}
	snprintf(j->refusal->why, sizeof(j->refusal->why),
		 "%s: lnk does not know the option %s before or between the words of a command",
		 j->tool->name, word);
	snprintf(j->refusal->hint, sizeof(j->refusal->hint),
		 "put options behind the command, or see `lnk sandbox tool show %s`",
		 j->tool->name);
}

static void refuse_rest(struct judging *j)
{
	char words[256] = "";
	size_t at = 0;

	name_call(j, j->refusal->why, 256);
	add(j->refusal->why, sizeof(j->refusal->why), " is not among what %s may do here",
	    j->tool->name);
	for (unsigned left = depth(j); left > 0 && next_word(j, &at); left--) {
		if (!is_command_word(j->call.argv[at])) {
			break;
		}
		add(words, sizeof(words), "%s ", j->call.argv[at++]);
	}
	if (words[0] == '\0') {
		see_the_tool(j);
		return;
	}
	add(words, sizeof(words), "*");
	suggest(j, words);
}

bool tool_judge(const struct tool *tool, int argc, char *const argv[],
		struct tool_refusal *ret_refusal)
{
	struct judging j = {
		.tool = tool,
		.refusal = ret_refusal,
	};
	size_t stuck;

	match_call_init(tool->profile, argc > 0 ? (size_t)argc : 0, argv, &j.call);
	match_rows(tool->profile, PROFILE_REFUSE, &j.refused);
	ret_refusal->why[0] = '\0';
	ret_refusal->hint[0] = '\0';
	if (!guard_on("tools")) {
		return true;
	}
	if (refuse_denied(&j)) {
		return false;
	}
	/* Options first: a pattern that names one names the command before it, too. */
	if (tool->profile != NULL && (refuse_options(&j) || refuse_words(&j) ||
				      refuse_closed_command(&j) || refuse_front(&j))) {
		return false;
	}
	if (is_allowed(&j, &stuck)) {
		return true;
	}
	if (stuck < j.call.argc) {
		refuse_stuck(&j, stuck);
	} else {
		refuse_rest(&j);
	}
	return false;
}

const char *tool_folder(const struct tool *tool, size_t argc, char *const argv[], const char *cwd,
			struct arena *arena)
{
	struct match_call call;
	size_t at = 0;

	match_call_init(tool->profile, argc, argv, &call);
	while (at < argc && match_is_option(argv[at])) {
		const char *folder = match_folder(&call, at);
		size_t skip = match_harmless(&call, at, false);

		if (skip == 0) {
			break;
		}
		if (folder != NULL && folder[0] != '\0') {
			cwd = value_join(cwd, folder, arena);
		}
		at += skip;
	}
	return cwd;
}
