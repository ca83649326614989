/* Values: arrays, inline tables, and words (numbers, dates, booleans, and what somebody wrote
 * without quotes). Recursion ends at TOML_DEPTH_MAX. */
#include "spec/toml_reader.h"

#include <string.h>
#include <strings.h>

static struct toml_value *new_value(struct toml_reader *r, enum toml_type type, struct toml_pos pos)
{
	struct toml_value *value = arena_alloc(r->arena, sizeof(*value));

	value->type = type;
	value->pos = pos;
	return value;
}

static enum toml_got read_string_value(struct toml_reader *r, struct toml_value **ret_value)
{
	struct toml_value *value = new_value(r, TOML_STRING, toml_here(r));
	enum toml_got got = toml_read_string(r, true, &value->u.str.s, &value->u.str.len);

	if (got == TOML_GOT_IT) {
		*ret_value = value;
	}
	return got;
}

/* --- words --- */

static bool ends_word(int c)
{
	return c < 0 || c == ' ' || c == '\t' || toml_is_control(c) ||
	       strchr(",]}#=\"'", c) != NULL;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of the word at the cursor. The one space between a date and its time belongs to it. */
static size_t word_len(const struct toml_reader *r)
{
	size_t n = 0;

	while (!ends_word(toml_peek(r, n))) {
		n++;
	}
	bool date = n == 10 && is_digit(toml_peek(r, 0)) && toml_peek(r, 4) == '-' &&
		    toml_peek(r, 7) == '-';
	if (date && toml_peek(r, n) == ' ' && is_digit(toml_peek(r, n + 1)) &&
	    (toml_peek(r, n + 2) == ':' || toml_peek(r, n + 3) == ':')) {
		for (n++; !ends_word(toml_peek(r, n));) {
			n++;
		}
	}
	return n;
}

static bool same_word(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(s, word, len) == 0;
}

/* The word `s` means something in other languages: what TOML writes for it, else NULL. */
static const char *meant_by(const char *s, size_t len)
{
	static const struct {
		const char *word;
		const char *hint;
	} known[] = {
		{"true", "write true in small letters"},
		{"false", "write false in small letters"},
		{"yes", "write true, or the text in quotes"},
		{"on", "write true, or the text in quotes"},
		{"no", "write false, or the text in quotes"},
		{"off", "write false, or the text in quotes"},
		{"null", "TOML has no null; leave the key out"},
		{"nil", "TOML has no nil; leave the key out"},
		{"none", "TOML has no none; leave the key out"},
		{"inf", "write inf in small letters"},
		{"nan", "write nan in small letters"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (same_word(s, len, known[i].word)) {
			return known[i].hint;
		}
	}
	return NULL;
}

/* Reports text that stands where a value should and shows it with quotes. Outside of lists all of
 * it up to the line's end or a comment is meant. */
static enum toml_got bare_word(struct toml_reader *r, bool in_list)
{
	const char *s = r->text + r->cur.at;
	char word[TOML_SHOW_MAX];
	char text[TOML_SHOW_MAX];
	size_t len = word_len(r);
	size_t all = len;
	const char *meant = meant_by(s, len);

	for (size_t n = len; !in_list; n++) {
		int c = toml_peek(r, n);

		if (c < 0 || c == '#' || toml_is_control(c)) {
			break;
		}
		all = c == ' ' || c == '\t' ? all : n + 1;
	}
	struct err *err = toml_fail(r, toml_here(r), "expected a value, found %s",
				    toml_show(s, len, word, sizeof(word)));
	toml_show(s, all, text, sizeof(text));
	if (meant != NULL && all == len) {
		err_hint(err, "%s", meant);
	} else if (memchr(s, '"', all) == NULL && memchr(s, '\\', all) == NULL) {
		err_hint(err, "strings need quotes: \"%s\"", text);
	} else if (memchr(s, '\'', all) == NULL) {
		err_hint(err, "strings need quotes: '%s'", text);
	} else {
		err_hint(err, "strings need quotes");
	}
	return TOML_GOT_BAD;
}

/* Something that begins no value and no word. */
static enum toml_got no_value(struct toml_reader *r)
{
	int c = toml_peek(r, 0);

	if (toml_odd_character(r)) {
		return TOML_GOT_BAD;
	}
	if (toml_at_line_end(r) || c == '#') {
		toml_fail(r, toml_here(r), "a value is missing here");
	} else {
		toml_fail(r, toml_here(r), "expected a value, found '%c'", c);
	}
	return TOML_GOT_BAD;
}

static enum toml_got read_word(struct toml_reader *r, bool in_list, struct toml_value **ret_value)
{
	const char *s = r->text + r->cur.at;
	size_t len = word_len(r);
	struct toml_value *value = NULL;
	enum toml_word found = TOML_WORD_OTHER;

	if (len == 0) {
		return no_value(r);
	}
	/* A quotation mark or blank of another script, say: its own message is the better one. */
	if ((unsigned char)s[0] >= 0x80 && toml_odd_character(r)) {
		return TOML_GOT_BAD;
	}
	value = new_value(r, TOML_BOOL, toml_here(r));
	if ((len == 4 && memcmp(s, "true", 4) == 0) || (len == 5 && memcmp(s, "false", 5) == 0)) {
		value->u.boolean = len == 4;
		found = TOML_WORD_READ;
	}
	if (found == TOML_WORD_OTHER) {
		found = toml_read_date(r, s, len, value);
	}
	if (found == TOML_WORD_OTHER) {
		found = toml_read_number(r, s, len, value);
	}
	if (found == TOML_WORD_OTHER) {
		return bare_word(r, in_list);
	}
	/* A number with a mistake is behind us as well: what follows it can be judged. */
	r->cur.at += len;
	*ret_value = value;
	return TOML_GOT_IT;
}

/* --- arrays --- */

/* The array that began at `start` has no end before the text's end or the next statement. After
 * another error in it that is no wonder, and not worth a message. */
static enum toml_got array_not_closed(struct toml_reader *r, struct toml_pos start, unsigned errors)
{
	if (r->errs->total == errors) {
		struct err *err = toml_fail(r, start, "this '[' is not closed");

		if (toml_peek(r, 0) >= 0) {
			err_hint(err, "a ']' is missing before line %u", r->cur.line);
		} else {
			err_hint(err, "a ']' is missing");
		}
	}
	return TOML_GOT_LOST;
}

/* Behind an entry: over the comma, if there is one. False at the closing bracket. A missing comma
 * is reported, and taken as there. */
static bool next_entry(struct toml_reader *r)
{
	if (toml_peek(r, 0) == ',') {
		r->cur.at++;
		return true;
	}
	if (toml_peek(r, 0) == ']') {
		return false;
	}
	if (toml_odd_character(r)) {
		toml_skip(r, true);
	} else {
		err_hint(toml_fail(r, toml_here(r), "expected ',' or ']' in the array"),
			 "a comma stands between two entries, a ']' behind the last");
		if (toml_peek(r, 0) == '}' || toml_peek(r, 0) == '=') {
			toml_skip(r, false);
		}
	}
	return true;
}

/* From inside a bad entry: over its comma, if there is one. */
static void skip_entry(struct toml_reader *r)
{
	toml_skip(r, true);
	if (toml_peek(r, 0) == ',' || toml_peek(r, 0) == '}') {
		r->cur.at++;
	}
}

static enum toml_got read_array(struct toml_reader *r, unsigned depth,
				struct toml_value **ret_value)
{
	struct toml_pos start = toml_here(r);
	struct toml_node *node = toml_new_node(r, TOML_ARRAY, TOML_BY_VALUE, start, depth);
	unsigned line = start.line;
	unsigned errors = r->errs->total;
	bool behind = false; /* an entry, whose comma has not come yet */

	r->cur.at++;
	for (;;) {
		toml_gap(r);
		if (toml_peek(r, 0) < 0 || (r->cur.line != line && toml_at_statement(r))) {
			return array_not_closed(r, start, errors);
		}
		line = r->cur.line;
		if (behind) {
			behind = false;
			if (next_entry(r)) {
				continue;
			}
		}
		if (toml_peek(r, 0) == ']') {
			r->cur.at++;
			*ret_value = &node->value;
			return TOML_GOT_IT;
		}
		struct toml_value *value = NULL;
		enum toml_got got = toml_read_value(r, depth + 1, true, &value);
		if (got == TOML_GOT_LOST) {
			return got;
		}
		if (got == TOML_GOT_IT) {
			ARENA_PUSH(r->arena, &node->value.u.array, value);
			line = r->cur.line;
			behind = true;
		} else {
			skip_entry(r);
		}
	}
}

/* --- inline tables --- */

/* A line ends inside the inline table that began at `start`. If its '}' comes later, all up to
 * there was meant for it. */
static enum toml_got table_over_lines(struct toml_reader *r, struct toml_pos start)
{
	bool closed = toml_skip_to_brace(r);

	err_hint(toml_fail(r, start,
			   closed ? "this inline table goes over several lines"
				  : "this '{' is not closed"),
		 "an inline table stands on one line; a [table] may have many");
	return closed ? TOML_GOT_IT : TOML_GOT_BAD;
}

/* `key = value` between braces. */
static enum toml_got read_pair(struct toml_reader *r, struct toml_node *table)
{
	char name[TOML_SHOW_MAX];
	struct toml_value *value = NULL;

	if (!toml_read_key(r, &r->key, "key")) {
		return TOML_GOT_BAD;
	}
	if (toml_peek(r, 0) != '=') {
		if (!toml_odd_character(r)) {
			toml_show_key(&r->key, r->key.n, name, sizeof(name));
			toml_fail(r, toml_here(r), "expected '=' after the key \"%s\"", name);
		}
		return TOML_GOT_BAD;
	}
	struct toml_node *home = toml_place_key(r, table, &r->key);
	struct toml_part last = r->key.part[r->key.n - 1];
	r->cur.at++;
	toml_blanks(r);
	unsigned depth = (home != NULL ? home : table)->depth + 1;
	enum toml_got got = toml_read_value(r, depth, true, &value);
	if (got == TOML_GOT_IT && home != NULL) {
		toml_add(r, home, &last, value);
	}
	return got;
}

/* Behind a pair, good or bad: over the comma. False at what ends the table. A missing comma is
 * reported, and taken as there. */
static bool next_pair(struct toml_reader *r, bool bad)
{
	if (bad) {
		toml_skip(r, true);
	}
	toml_blanks(r);
	int c = toml_peek(r, 0);
	if (c == ',') {
		r->cur.at++;
		return true;
	}
	if (c == '}' || c == '#' || toml_at_line_end(r)) {
		return false;
	}
	if (!toml_odd_character(r)) {
		err_hint(toml_fail(r, toml_here(r), "expected ',' or '}' in the inline table"),
			 "a comma stands between two keys, a '}' behind the last");
	}
	if (toml_is_bare(c) || c == '"' || c == '\'') {
		return true;
	}
	toml_skip(r, true);
	if (toml_peek(r, 0) == ',') {
		r->cur.at++;
		return true;
	}
	return false;
}

static enum toml_got read_inline_table(struct toml_reader *r, unsigned depth,
				       struct toml_value **ret_value)
{
	struct toml_pos start = toml_here(r);
	struct toml_node *node = toml_new_node(r, TOML_TABLE, TOML_BY_VALUE, start, depth);
	struct toml_pos comma = start;
	bool more = true;

	*ret_value = &node->value;
	r->cur.at++;
	toml_blanks(r);
	if (toml_peek(r, 0) == '}') {
		r->cur.at++;
		return TOML_GOT_IT;
	}
	while (more) {
		toml_blanks(r);
		if (toml_at_line_end(r) || toml_peek(r, 0) == '#') {
			break;
		}
		if (toml_peek(r, 0) == '}') {
			err_hint(toml_fail(r, comma, "an inline table may not end with a comma"),
				 "remove it");
			break;
		}
		enum toml_got got = read_pair(r, node);
		if (got == TOML_GOT_LOST) {
			return got;
		}
		more = next_pair(r, got == TOML_GOT_BAD);
		if (more) {
			comma = toml_here(r);
			comma.col--;
		}
	}
	if (toml_peek(r, 0) == '}') {
		r->cur.at++;
		return TOML_GOT_IT;
	}
	if (toml_at_line_end(r) || toml_peek(r, 0) == '#') {
		return table_over_lines(r, start);
	}
	return TOML_GOT_BAD;
}

enum toml_got toml_read_value(struct toml_reader *r, unsigned depth, bool in_list,
			      struct toml_value **ret_value)
{
	int c = toml_peek(r, 0);

	if (c == '"' || c == '\'') {
		return read_string_value(r, ret_value);
	}
	if (c != '[' && c != '{') {
		return read_word(r, in_list, ret_value);
	}
	if (depth > TOML_DEPTH_MAX) {
		toml_fail(r, toml_here(r), "arrays and tables are nested deeper than %d",
			  TOML_DEPTH_MAX);
		return TOML_GOT_LOST;
	}
	return c == '[' ? read_array(r, depth, ret_value) : read_inline_table(r, depth, ret_value);
}
