/* The TOML reader's outer loop: one statement (a header, or a key with its value) after the other,
 * and the public functions. toml_reader.h says how the work is shared out. */
#include "spec/toml.h"
#include "spec/toml_reader.h"

#include <stdlib.h>
#include <string.h>

static const char bom[] = "\xef\xbb\xbf";

const char *toml_type_name(enum toml_type type)
{
	switch (type) {
	case TOML_STRING:
		return "string";
	case TOML_INTEGER:
		return "integer";
	case TOML_FLOAT:
		return "float";
	case TOML_BOOL:
		return "boolean";
	case TOML_OFFSET_DATETIME:
		return "offset date-time";
	case TOML_LOCAL_DATETIME:
		return "local date-time";
	case TOML_LOCAL_DATE:
		return "local date";
	case TOML_LOCAL_TIME:
		return "local time";
	case TOML_ARRAY:
		return "array";
	case TOML_TABLE:
		return "table";
	}
	abort();
}

const struct toml_entry *toml_find(const struct toml_value *table, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < table->u.table.n; i++) {
		const struct toml_entry *e = &table->u.table.v[i];

		if (e->key_len == len && memcmp(e->key, key, len) == 0) {
			return e;
		}
	}
	return NULL;
}

static bool has_bom(const char *data, size_t len)
{
	return len >= sizeof(bom) - 1 && memcmp(data, bom, sizeof(bom) - 1) == 0;
}

void toml_source_line(const char *data, size_t len, unsigned line, char *out, size_t cap)
{
	size_t at = has_bom(data, len) ? sizeof(bom) - 1 : 0;
	size_t n = 0;

	if (cap == 0) {
		return;
	}
	for (unsigned l = 1; line > 0 && l < line; l++) {
		const char *end = at < len ? memchr(data + at, '\n', len - at) : NULL;

		at = end != NULL ? (size_t)(end - data) + 1 : len;
	}
	for (; line > 0 && at + n < len && data[at + n] != '\n' && n + 1 < cap; n++) {
		/* A NUL would end the copy before the place that the caret points to. */
		out[n] = data[at + n] != '\0' ? data[at + n] : '?';
	}
	if (at + n < len && data[at + n] != '\n') {
		/* Cut: not within a character. */
		while (n > 0 && ((unsigned char)data[at + n] & 0xc0) == 0x80) {
			n--;
		}
	} else if (n > 0 && out[n - 1] == '\r') {
		n--;
	}
	out[n] = '\0';
}

/* A comment may follow on the line, nothing else. */
static void end_of_line(struct toml_reader *r, const char *after)
{
	toml_blanks(r);
	toml_comment(r);
	if (toml_at_line_end(r)) {
		return;
	}
	if (!toml_odd_character(r)) {
		struct err *err = toml_fail(r, toml_here(r),
					    "expected the end of the line after the %s", after);
		if (toml_peek(r, 0) == ',') {
			err_hint(err, "several values stand between brackets: [1, 2]");
		}
	}
	toml_skip(r, false);
}

/* After a statement that was given up: over the rest of it. Lines that can begin no statement,
 * like a lonely ']', belong to it. */
static void skip_statement(struct toml_reader *r)
{
	for (;;) {
		toml_skip(r, false);

		const struct toml_cursor start = r->cur;
		if (!toml_newline(r)) {
			return;
		}
		toml_blanks(r);
		int c = toml_peek(r, 0);
		if (c != ']' && c != '}' && c != ',' && c != '=' && c != '.') {
			r->cur = start;
			return;
		}
	}
}

static void no_bracket(struct toml_reader *r, bool array)
{
	char name[TOML_SHOW_MAX];

	if (toml_odd_character(r)) {
		return;
	}
	toml_show_key(&r->key, r->key.n, name, sizeof(name));
	struct err *err = toml_fail(r, toml_here(r), "expected '%s' after the table name",
				    array ? "]]" : "]");
	if (toml_at_line_end(r) || toml_peek(r, 0) == ']') {
		err_hint(err, array ? "write [[%s]]" : "write [%s]", name);
	} else {
		err_hint(err, "a name with other characters than A-Z a-z 0-9 _ and - needs quotes");
	}
}

/* [table] or [[table]]. The keys after one that is wrong go where nobody looks, so that they do
 * not clash with those of the table before. */
static void read_header(struct toml_reader *r)
{
	struct toml_pos pos = toml_here(r);
	bool array = toml_peek(r, 1) == '[';
	struct toml_node *table = NULL;

	r->cur.at += array ? 2 : 1;
	toml_blanks(r);
	if (!toml_read_key(r, &r->key, "table name")) {
		skip_statement(r);
	} else if (!toml_looking_at(r, array ? "]]" : "]")) {
		no_bracket(r, array);
		skip_statement(r);
	} else {
		r->cur.at += array ? 2 : 1;
		table = toml_open_header(r, &r->key, pos, array);
		end_of_line(r, "table header");
	}
	if (table == NULL) {
		table = toml_new_node(r, TOML_TABLE, TOML_BY_HEADER, pos, 0);
	}
	r->table = table;
}

/* True when a '=' comes later on the line: what stands before it was meant for the key. */
static bool equals_sign_follows(const struct toml_reader *r)
{
	size_t n = 0;

	while (toml_peek(r, n) >= 0 && toml_peek(r, n) != '\n' && toml_peek(r, n) != '=') {
		n++;
	}
	return toml_peek(r, n) == '=';
}

static void no_equals_sign(struct toml_reader *r)
{
	char name[TOML_SHOW_MAX];
	struct err *err = NULL;

	if (toml_odd_character(r)) {
		return;
	}
	toml_show_key(&r->key, r->key.n, name, sizeof(name));
	err = toml_fail(r, toml_here(r), "expected '=' after the key \"%s\"", name);
	if (toml_peek(r, 0) == ':') {
		err_hint(err, "TOML puts '=' between a key and its value");
	} else if (toml_at_line_end(r)) {
		err_hint(err, "write the key, '=' and its value on one line");
	} else if (equals_sign_follows(r)) {
		err_hint(err, "a key with other characters than A-Z a-z 0-9 _ and - needs quotes");
	}
}

/* The value is not on the line of its '='. If the next line begins no statement it was meant. */
static void value_on_next_line(struct toml_reader *r)
{
	const struct toml_cursor start = r->cur;

	err_hint(toml_fail(r, toml_here(r), "a value is missing after '='"),
		 "it must begin on the same line");
	toml_comment(r);
	if (!toml_newline(r) || toml_at_statement(r)) {
		r->cur = start;
	} else {
		toml_blanks(r);
		if (toml_at_line_end(r) || toml_peek(r, 0) == '#') {
			r->cur = start;
		}
	}
	skip_statement(r);
}

/* key = value */
static void read_pair(struct toml_reader *r)
{
	struct toml_value *value = NULL;

	if (!toml_read_key(r, &r->key, "key")) {
		skip_statement(r);
		return;
	}
	if (toml_peek(r, 0) != '=') {
		no_equals_sign(r);
		skip_statement(r);
		return;
	}
	struct toml_node *home = toml_place_key(r, r->table, &r->key);
	struct toml_part last = r->key.part[r->key.n - 1];
	r->cur.at++;
	toml_blanks(r);
	if (toml_at_line_end(r) || toml_peek(r, 0) == '#') {
		value_on_next_line(r);
		return;
	}
	const struct toml_cursor start = r->cur;
	unsigned depth = (home != NULL ? home : r->table)->depth + 1;
	enum toml_got got = toml_read_value(r, depth, false, &value);
	if (got == TOML_GOT_IT) {
		if (home != NULL) {
			toml_add(r, home, &last, value);
		}
		end_of_line(r, "value");
		return;
	}
	/* A list that ran into the next statement ends there; what was nested too deep is skipped
	 * from its start, where its brackets can be matched. */
	if (got == TOML_GOT_LOST && toml_at_statement(r)) {
		return;
	}
	if (got == TOML_GOT_LOST) {
		r->cur = start;
	}
	skip_statement(r);
}

bool toml_read(const char *name, const char *data, size_t len, struct arena *arena,
	       struct toml_value **ret_root, struct err_list *errs)
{
	size_t skip = has_bom(data, len) ? sizeof(bom) - 1 : 0;
	struct toml_reader r = {
		.name = name,
		.text = data != NULL ? data + skip : "",
		.len = len - skip,
		.cur = {.line = 1, .col = 1},
		.arena = arena,
		.errs = errs,
	};

	if (!toml_check_utf8(&r)) {
		return false;
	}
	r.scratch = arena_alloc(arena, r.len + 1);
	r.root = toml_new_node(&r, TOML_TABLE, TOML_BY_HEADER, (struct toml_pos){1, 1}, 0);
	r.table = r.root;
	for (;;) {
		toml_gap(&r);
		if (toml_peek(&r, 0) < 0) {
			break;
		}
		if (toml_peek(&r, 0) == '[') {
			read_header(&r);
		} else {
			read_pair(&r);
		}
	}
	if (errs->total > 0) {
		return false;
	}
	*ret_root = &r.root->value;
	return true;
}
