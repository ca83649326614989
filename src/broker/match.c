#include "broker/match.h"

#include "base/str.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned char folded(char c, bool fold)
{
	return (unsigned char)(fold && c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool match_glob(const char *pattern, size_t len, const char *s, bool fold)
{
	size_t p = 0;
	size_t star = len; /* the last "*" met; len: none yet */
	const char *from = s;

	while (*s != '\0') {
		if (p < len && pattern[p] == '*') {
			star = p++;
			from = s;
		} else if (p < len && folded(pattern[p], fold) == folded(*s, fold)) {
			p++;
			s++;
		} else if (star < len) {
			p = star + 1;
			s = ++from;
		} else {
			return false;
		}
	}
	while (p < len && pattern[p] == '*') {
		p++;
	}
	return p == len;
}

bool match_is_option(const char *argument)
{
	return argument[0] == '-' && argument[1] != '\0';
}

/* --- patterns ----------------------------------------------------------------------------- */

void match_split(const char *text, bool alternatives, struct match_pattern *ret_pattern)
{
	struct match_pattern p = {.alternatives = alternatives};

	while (*text != '\0' && p.n < TOOL_WORDS_MAX) {
		size_t len = strcspn(text, " ");

		p.word[p.n].s = text;
		p.word[p.n++].len = len;
		text += len + (text[len] == ' ' ? 1 : 0);
	}
	if (p.n > 0 && p.word[p.n - 1].len == 1 && p.word[p.n - 1].s[0] == '*') {
		p.tail = true;
		p.n--;
	}
	*ret_pattern = p;
}

bool match_is_plain(const struct match_pattern *pattern, size_t index)
{
	return memchr(pattern->word[index].s, '*', pattern->word[index].len) == NULL;
}

/* Calls `is` for the word, or for each "|" part of it, until one is it. */
static bool any_part(const struct match_pattern *pattern, size_t index,
		     bool (*is)(const char *part, size_t len, const char *argument),
		     const char *argument)
{
	const char *s = pattern->word[index].s;
	size_t left = pattern->word[index].len;

	for (;;) {
		const char *bar = pattern->alternatives ? memchr(s, '|', left) : NULL;
		size_t len = bar != NULL ? (size_t)(bar - s) : left;

		if (is(s, len, argument)) {
			return true;
		}
		if (bar == NULL) {
			return false;
		}
		s += len + 1;
		left -= len + 1;
	}
}

static bool is_exactly(const char *part, size_t len, const char *argument)
{
	return match_glob(part, len, argument, false);
}

static bool is_folded(const char *part, size_t len, const char *argument)
{
	return match_glob(part, len, argument, true);
}

/* "tok" for "token"; one letter alone is no abbreviation. */
static bool is_beginning(const char *part, size_t len, const char *argument)
{
	size_t n = strlen(argument);

	if (n < 2 || n >= len) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (folded(part[i], true) != folded(argument[i], true)) {
			return false;
		}
	}
	return true;
}

bool match_word(const struct match_pattern *pattern, size_t index, const char *argument, bool fold)
{
	/* "*" in the place of a command is no option: those are matched by their own name. */
	if (match_is_option(argument) && pattern->word[index].s[0] != '-') {
		return false;
	}
	return any_part(pattern, index, fold ? is_folded : is_exactly, argument);
}

bool match_word_loosely(const struct match_pattern *pattern, size_t index,
			const struct match_call *call, const char *argument)
{
	return match_word(pattern, index, argument, true) ||
	       (call->abbreviates && any_part(pattern, index, is_beginning, argument));
}

/* --- options ------------------------------------------------------------------------------ */

/* Relative, and nothing in it leads up. */
static bool is_below(const char *path)
{
	if (path[0] == '/' || path[0] == '~' || path[0] == '-') {
		return false;
	}
	for (const char *p = path; *p != '\0';) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.') {
			return false;
		}
		p += n + (p[n] == '/' ? 1 : 0);
	}
	return true;
}

void match_rows(const struct profile *profile, enum profile_kind kind, struct match_rows *ret_rows)
{
	const struct profile_row *row = NULL;

	ret_rows->n = 0;
	while (profile != NULL && (row = profile_next(profile, kind, row)) != NULL) {
		assert(ret_rows->n < MATCH_ROWS_MAX);
		ret_rows->v[ret_rows->n++] = row;
	}
}

void match_call_init(const struct profile *profile, size_t argc, char *const argv[],
		     struct match_call *ret_call)
{
	ret_call->argv = argv;
	ret_call->argc = argc;
	ret_call->abbreviates = profile != NULL && profile->abbreviates;
	match_rows(profile, PROFILE_OPTION, &ret_call->options);
}

static const struct profile_row *option_by_name(const struct match_call *call, const char *name,
						size_t len)
{
	for (size_t i = 0; i < call->options.n; i++) {
		const struct profile_row *row = call->options.v[i];

		if (row->name != NULL && strlen(row->name) == len &&
		    memcmp(row->name, name, len) == 0) {
			return row;
		}
	}
	return NULL;
}

static const struct profile_row *option_by_letter(const struct match_call *call, char letter)
{
	for (size_t i = 0; i < call->options.n; i++) {
		const struct profile_row *row = call->options.v[i];

		if (row->letter != NULL && row->letter[1] == letter) {
			return row;
		}
	}
	return NULL;
}

/* The harmless option that takes the value of `argument`, and where a value in it begins (NULL:
 * another argument). False for those that are unknown. *ret_row NULL: all take nothing. */
static bool harmless_parts(const struct match_call *call, const char *argument,
			   const struct profile_row **ret_row, const char **ret_value)
{
	const struct profile_row *row;

	*ret_row = NULL;
	*ret_value = NULL;
	if (argument[1] == '-') {
		size_t len = strcspn(argument, "=");

		row = option_by_name(call, argument, len);
		if (row != NULL && (row->takes != PROFILE_TAKES_NOTHING || argument[len] == '=')) {
			*ret_row = row;
			*ret_value = argument[len] == '=' ? argument + len + 1 : NULL;
		}
		return row != NULL;
	}
	for (const char *c = argument + 1; *c != '\0'; c++) {
		row = option_by_letter(call, *c);
		if (row == NULL) {
			return false;
		}
		if (row->takes != PROFILE_TAKES_NOTHING) {
			*ret_row = row;
			*ret_value = c[1] != '\0' ? c + 1 + (c[1] == '=' ? 1 : 0) : NULL;
			return true;
		}
	}
	return true;
}

size_t match_harmless(const struct match_call *call, size_t index, bool strictly)
{
	const struct profile_row *row;
	const char *value;
	size_t n = 1;

	if (!harmless_parts(call, call->argv[index], &row, &value)) {
		return 0;
	}
	if (row != NULL && value == NULL) {
		if (index + 1 >= call->argc) {
			return 0;
		}
		value = call->argv[index + 1];
		n = 2;
	}
	if (strictly && row != NULL && row->takes == PROFILE_TAKES_BELOW && !is_below(value)) {
		return 0;
	}
	return n;
}

const char *match_folder(const struct match_call *call, size_t index)
{
	const struct profile_row *row;
	const char *value;

	if (!harmless_parts(call, call->argv[index], &row, &value) || row == NULL ||
	    row->takes != PROFILE_TAKES_BELOW) {
		return NULL;
	}
	return value == NULL && index + 1 < call->argc ? call->argv[index + 1] : value;
}

/* Names are compared without their dashes, "_" as "-". */
static bool is_beginning_of(const char *name, size_t len, const char *whole)
{
	size_t i = 0;

	for (; i < len && whole[i] != '\0'; i++) {
		if ((name[i] == '_' ? '-' : name[i]) != whole[i]) {
			return false;
		}
	}
	return i == len && len > 0;
}

static bool refused_by_name(const struct match_call *call, const struct profile_row *row,
			    const char *argument, const char **ret_rest)
{
	size_t dashes = strspn(argument, "-");
	size_t len = strcspn(argument + dashes, "=");

	if (row->name == NULL || (dashes == 1 && (!call->abbreviates || len < 2))) {
		return false;
	}
	if (!is_beginning_of(argument + dashes, len, row->name + strspn(row->name, "-")) ||
	    (dashes == 2 && option_by_name(call, argument, dashes + len) != NULL)) {
		return false;
	}
	*ret_rest = argument[dashes + len] == '=' ? argument + dashes + len + 1 : NULL;
	return true;
}

static bool refused_by_letter(const struct match_call *call, const struct profile_row *row,
			      const char *argument, const char **ret_rest)
{
	if (row->letter == NULL || argument[1] == '-') {
		return false;
	}
	for (const char *c = argument + 1; *c != '\0' && *c != '='; c++) {
		if (*c == row->letter[1]) {
			*ret_rest = c[1] != '\0' ? c + 1 : NULL;
			return true;
		}
		const struct profile_row *known = option_by_letter(call, *c);
		if (known != NULL && known->takes != PROFILE_TAKES_NOTHING) {
			return false;
		}
	}
	return false;
}

bool match_refused(const struct match_call *call, const struct profile_row *row,
		   const char *argument, const char **ret_rest)
{
	return match_is_option(argument) && (refused_by_name(call, row, argument, ret_rest) ||
					     refused_by_letter(call, row, argument, ret_rest));
}

/* --- calls -------------------------------------------------------------------------------- */

static_assert(MATCH_ROWS_MAX <= 64, "a bit for each row");

/* A bit for each harmless option with a value that `argument` is, or may be: the beginning of a
 * name counts, and a letter wherever it stands. */
static uint64_t value_options(const struct match_call *call, const char *argument)
{
	size_t len = strcspn(argument, "=");
	uint64_t found = 0;

	for (size_t i = 0; i < call->options.n && match_is_option(argument); i++) {
		const struct profile_row *row = call->options.v[i];
		bool is = argument[1] == '-'
				  ? row->name != NULL && len > 2 &&
					    strncmp(row->name, argument, len) == 0
				  : row->letter != NULL &&
					    memchr(argument, row->letter[1], len) != NULL;

		found |= is && row->takes != PROFILE_TAKES_NOTHING ? (uint64_t)1 << i : 0;
	}
	return found;
}

/* Those that the pattern names: it says what their value is, and the last one counts. */
static uint64_t named_options(const struct match_pattern *pattern, const struct match_call *call)
{
	char word[TOOL_PATTERN_MAX + 1];
	uint64_t found = 0;

	for (size_t i = 0; i < pattern->n; i++) {
		snprintf(word, sizeof(word), "%.*s", (int)pattern->word[i].len, pattern->word[i].s);
		found |= value_options(call, word);
	}
	return found;
}

static bool none_of(uint64_t named, const struct match_call *call, size_t from)
{
	for (size_t at = from; named != 0 && at < call->argc; at++) {
		if ((value_options(call, call->argv[at]) & named) != 0) {
			return false;
		}
	}
	return true;
}

bool match_strict(const struct match_pattern *pattern, const struct match_call *call,
		  struct match_found *ret_found)
{
	uint64_t named = named_options(pattern, call);
	size_t at = 0;

	ret_found->n = 0;
	ret_found->stuck = call->argc;
	while (at < call->argc) {
		const char *argument = call->argv[at];
		size_t skip;

		if (ret_found->n < pattern->n &&
		    match_word(pattern, ret_found->n, argument, false)) {
			ret_found->at[ret_found->n++] = at++;
			continue;
		}
		if (ret_found->n == pattern->n && pattern->tail) {
			return none_of(named, call, at);
		}
		skip = match_is_option(argument) && (value_options(call, argument) & named) == 0
			       ? match_harmless(call, at, true)
			       : 0;
		if (skip == 0) {
			ret_found->stuck = match_is_option(argument) ? at : call->argc;
			return false;
		}
		at += skip;
	}
	return ret_found->n == pattern->n;
}

/* Which of the next arguments may come after this one, when it is passed over: bit 0 the next, bit
 * 1 the one after that. */
static unsigned ways_past(const struct match_call *call, size_t index)
{
	const char *argument = call->argv[index];
	size_t known;

	if (!match_is_option(argument)) {
		return 0;
	}
	known = match_harmless(call, index, false);
	if (known > 0) {
		return 1U << (known - 1);
	}
	return strchr(argument, '=') != NULL ? 1 : 3;
}

bool match_loose(const struct match_pattern *pattern, const struct match_call *call)
{
	/* Bit i of now: the first i words of the pattern are found before this argument. A pattern
	 * has at most 32 words, so that 33 bits are enough. */
	uint64_t now = 1;
	uint64_t next = 0;
	uint64_t after = 0;

	for (size_t at = 0; (now | next | after) != 0; at++) {
		if ((now >> pattern->n & 1) != 0 || at == MATCH_LOOSE_MAX) {
			return true;
		}
		if (at == call->argc) {
			return false;
		}
		unsigned ways = ways_past(call, at);

		next |= (ways & 1) != 0 ? now : 0;
		after |= (ways & 2) != 0 ? now : 0;
		for (size_t i = 0; i < pattern->n && now >> i != 0; i++) {
			if ((now >> i & 1) != 0 &&
			    match_word_loosely(pattern, i, call, call->argv[at])) {
				next |= (uint64_t)1 << (i + 1);
			}
		}
		now = next;
		next = after;
		after = 0;
	}
	return false;
}

bool match_front_next(const struct match_call *call, struct match_front *front, size_t *ret_index)
{
	if (!front->began) {
		front->began = true;
		front->reach = 1;
	} else {
		/* `next` was given last time. */
		front->reach = (front->reach >> 1) | ways_past(call, front->next);
		front->next++;
	}
	while (front->reach != 0 && front->next < call->argc) {
		if ((front->reach & 1) != 0) {
			*ret_index = front->next;
			return true;
		}
		front->reach >>= 1;
		front->next++;
	}
	return false;
}
