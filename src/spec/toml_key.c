/* Keys: bare, quoted and dotted, before a '=' and in [headers]. */
#include "spec/toml_reader.h"

#include <stdio.h>
#include <string.h>

/* What stands between the cursor and the end of a key somebody wrote without quotes: to the next
 * '=', ']', '.', '#' or the line's end, without blanks at its end. Bytes. */
static size_t wrong_key_len(const struct toml_reader *r)
{
	size_t n = 0;
	size_t len = 0;

	for (;; n++) {
		int c = toml_peek(r, n);

		if (c < 0 || c == '\n' || strchr("=]#.\"'{}[,", c) != NULL) {
			return len;
		}
		if (c != ' ' && c != '\t' && c != '\r') {
			len = n + 1;
		}
	}
}

/* Nothing that begins a key stands at the cursor. */
static bool no_key(struct toml_reader *r, const char *what, bool after_dot)
{
	int c = toml_peek(r, 0);
	char shown[TOML_SHOW_MAX];

	if (toml_odd_character(r)) {
		return false;
	}
	if (after_dot) {
		toml_fail(r, toml_here(r), "a part of the %s is missing after '.'", what);
	} else if (c == '.') {
		toml_fail(r, toml_here(r), "a part of the %s is missing before '.'", what);
	} else if (c == '=' || c == ']' || toml_at_line_end(r) || c == '#') {
		toml_fail(r, toml_here(r), "a %s is missing here", what);
	} else if (wrong_key_len(r) > 0) {
		toml_show(r->text + r->cur.at, wrong_key_len(r), shown, sizeof(shown));
		err_hint(toml_fail(r, toml_here(r), "expected a %s, found %s", what, shown),
			 "only A-Z a-z 0-9 _ and - go without quotes: \"%s\"", shown);
	} else {
		toml_fail(r, toml_here(r), "expected a %s, found '%c'", what, c);
	}
	return false;
}

/* One part. */
static bool read_part(struct toml_reader *r, struct toml_part *part, const char *what,
		      bool after_dot)
{
	int c = toml_peek(r, 0);

	part->pos = toml_here(r);
	if (c == '"' || c == '\'') {
		if (toml_looking_at(r, "\"\"\"") || toml_looking_at(r, "'''")) {
			err_hint(
				toml_fail(r, part->pos, "a %s cannot be a multi-line string", what),
				"put it between single %c", c);
			return false;
		}
		return toml_read_string(r, false, &part->s, &part->len) == TOML_GOT_IT;
	}
	size_t start = r->cur.at;
	while (toml_is_bare(toml_peek(r, 0))) {
		r->cur.at++;
	}
	if (r->cur.at == start) {
		return no_key(r, what, after_dot);
	}
	part->len = r->cur.at - start;
	part->s = arena_strndup(r->arena, r->text + start, part->len);
	return true;
}

bool toml_read_key(struct toml_reader *r, struct toml_key *key, const char *what)
{
	key->n = 0;
	for (bool dot = false;; dot = true) {
		if (key->n == TOML_DEPTH_MAX) {
			toml_fail(r, toml_here(r), "the %s has more than %d parts", what,
				  TOML_DEPTH_MAX);
			return false;
		}
		if (!read_part(r, &key->part[key->n], what, dot)) {
			return false;
		}
		key->n++;
		toml_blanks(r);
		if (toml_peek(r, 0) != '.') {
			return true;
		}
		r->cur.at++;
		toml_blanks(r);
	}
}

const char *toml_show_key(const struct toml_key *key, size_t n, char *out, size_t cap)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && used + 8 < cap; i++) {
		if (i > 0) {
			out[used++] = '.';
		}
		toml_show(key->part[i].s, key->part[i].len, out + used, cap - used);
		used += strlen(out + used);
	}
	return out;
}
