/* The TOML reader's cursor, its errors, and how it goes on after one. Everything here moves
 * forward only; looking ahead is done on a copy of the cursor. */
#include "base/str.h"
#include "spec/toml_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BOM_CP 0xfeffU

int toml_peek(const struct toml_reader *r, size_t ahead)
{
	if (ahead >= r->len - r->cur.at) {
		return -1;
	}
	return (unsigned char)r->text[r->cur.at + ahead];
}

bool toml_looking_at(const struct toml_reader *r, const char *s)
{
	size_t n = strlen(s);

	return n <= r->len - r->cur.at && memcmp(r->text + r->cur.at, s, n) == 0;
}

/* Bytes of the line end at the cursor. */
static size_t line_end(const struct toml_reader *r)
{
	int c = toml_peek(r, 0);

	if (c == '\n') {
		return 1;
	}
	return c == '\r' && toml_peek(r, 1) == '\n' ? 2 : 0;
}

bool toml_at_line_end(const struct toml_reader *r)
{
	return toml_peek(r, 0) < 0 || line_end(r) > 0;
}

bool toml_newline(struct toml_reader *r)
{
	size_t n = line_end(r);

	if (n == 0) {
		return false;
	}
	r->cur.at += n;
	r->cur.line_start = r->cur.at;
	r->cur.line++;
	r->cur.col_at = r->cur.at;
	r->cur.col = 1;
	return true;
}

struct toml_pos toml_here(struct toml_reader *r)
{
	struct toml_cursor *c = &r->cur;

	for (; c->col_at < c->at; c->col_at++) {
		/* Every byte but those that continue a sequence begins a character. */
		if (((unsigned char)r->text[c->col_at] & 0xc0) != 0x80) {
			c->col++;
		}
	}
	return (struct toml_pos){c->line, c->col};
}

struct toml_pos toml_pos_plus(struct toml_pos pos, size_t bytes)
{
	return (struct toml_pos){pos.line, pos.col + (unsigned)bytes};
}

void toml_blanks(struct toml_reader *r)
{
	while (toml_peek(r, 0) == ' ' || toml_peek(r, 0) == '\t') {
		r->cur.at++;
	}
}

bool toml_is_control(int c)
{
	return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

void toml_comment(struct toml_reader *r)
{
	if (toml_peek(r, 0) != '#') {
		return;
	}
	while (!toml_at_line_end(r)) {
		if (toml_is_control(toml_peek(r, 0))) {
			toml_odd_character(r);
		}
		r->cur.at++;
	}
}

void toml_gap(struct toml_reader *r)
{
	do {
		toml_blanks(r);
		toml_comment(r);
	} while (toml_newline(r));
}

/* --- UTF-8 --- */

size_t toml_utf8(const char *s, size_t n, uint32_t *ret_cp)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char c = (unsigned char)s[0];
	size_t want = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (want == 0 || want > n) {
		return 0;
	}
	uint32_t cp = want == 1 ? c : c & (0xffU >> (want + 1));
	for (size_t i = 1; i < want; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80) {
			return 0;
		}
		cp = cp << 6 | ((unsigned char)s[i] & 0x3fU);
	}
	if (cp < least[want] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff)) {
		return 0;
	}
	*ret_cp = cp;
	return want;
}

/* A byte order mark of UTF-16, or a first character as UTF-16 writes an ASCII one. */
static bool is_utf16(const struct toml_reader *r)
{
	int a = toml_peek(r, 0);
	int b = toml_peek(r, 1);

	return (a == 0xff && b == 0xfe) || (a == 0xfe && b == 0xff) || (a == 0 && b > 0) ||
	       (a > 0 && b == 0);
}

bool toml_check_utf8(struct toml_reader *r)
{
	struct toml_cursor start = r->cur;

	if (is_utf16(r)) {
		err_hint(toml_fail(r, toml_here(r), "the file is not UTF-8 (it looks like UTF-16)"),
			 "save it as UTF-8");
		return false;
	}
	while (r->cur.at < r->len) {
		uint32_t cp = 0;
		size_t n = toml_utf8(r->text + r->cur.at, r->len - r->cur.at, &cp);

		if (n == 0) {
			err_hint(toml_fail(r, toml_here(r), "the byte 0x%02x is not UTF-8",
					   (unsigned)toml_peek(r, 0)),
				 "save the file as UTF-8");
			return false;
		}
		if (!toml_newline(r)) {
			r->cur.at += n;
		}
	}
	r->cur = start;
	return true;
}

/* --- errors --- */

static bool already_reported(const struct toml_reader *r, unsigned line)
{
	if (line == r->err_line) {
		return true;
	}
	for (unsigned i = 0; i < r->errs->n; i++) {
		if (r->errs->v[i].line == line) {
			return true;
		}
	}
	return false;
}

struct err *toml_fail(struct toml_reader *r, struct toml_pos pos, const char *fmt, ...)
{
	struct origin from = {.file = r->name, .line = pos.line, .col = pos.col};
	char msg[sizeof(r->spare.msg)];
	va_list ap;

	if (already_reported(r, pos.line)) {
		return &r->spare;
	}
	r->err_line = pos.line;
	/* The first twenty are shown, the others counted: a slot once filled stays. */
	bool full = r->errs->n == ERR_LIST_MAX;
	struct err *err = err_list_next(r->errs);
	if (full) {
		return &r->spare;
	}
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	err_set(err, ERR_SPEC, 0, "%s", msg);
	err_at(err, &from);
	toml_source_line(r->text, r->len, pos.line, err->source, sizeof(err->source));
	return err;
}

static bool is_foreign_blank(uint32_t cp)
{
	return cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200b) || cp == 0x202f ||
	       cp == 0x205f || cp == 0x3000;
}

bool toml_odd_character(struct toml_reader *r)
{
	uint32_t cp = 0;

	if (toml_at_line_end(r)) {
		return false;
	}
	(void)toml_utf8(r->text + r->cur.at, r->len - r->cur.at, &cp);
	if (cp == '\r') {
		err_hint(toml_fail(r, toml_here(r), "a carriage return stands alone here"),
			 "end lines with LF or CR LF");
	} else if (toml_is_control((int)cp)) {
		toml_fail(r, toml_here(r), "the control character U+%04X is not allowed here",
			  (unsigned)cp);
	} else if (cp == BOM_CP) {
		err_hint(toml_fail(r, toml_here(r),
				   "a byte order mark (U+FEFF) may only begin the file"),
			 "remove this invisible character");
	} else if (is_foreign_blank(cp)) {
		err_hint(toml_fail(r, toml_here(r), "U+%04X only looks like a space", (unsigned)cp),
			 "replace it with an ordinary space");
	} else if (cp == 0x2018 || cp == 0x2019 || cp == 0x201c || cp == 0x201d) {
		err_hint(toml_fail(r, toml_here(r), "U+%04X is no quotation mark of TOML",
				   (unsigned)cp),
			 "use the straight ones: \"text\"");
	} else {
		return false;
	}
	return true;
}

void toml_bad_control(struct toml_reader *r)
{
	int c = toml_peek(r, 0);

	if (c == '\r') {
		toml_odd_character(r);
	} else {
		err_hint(toml_fail(r, toml_here(r),
				   "the control character U+%04X is not allowed here", (unsigned)c),
			 "in a string between \" write it as \\u%04X", (unsigned)c);
	}
	r->cur.at++;
}

const char *toml_show(const char *s, size_t len, char *out, size_t cap)
{
	static const char cut[] = "…";
	size_t used = 0;

	for (size_t i = 0; i < len;) {
		char one[8] = "";
		char piece[32];
		uint32_t cp = 0;
		size_t n = toml_utf8(s + i, len - i, &cp);

		if (n == 0 || s[i] == '\0') {
			snprintf(piece, sizeof(piece), "\\x%02x", (unsigned)(unsigned char)s[i]);
			n = 1;
		} else {
			memcpy(one, s + i, n);
			str_printable(one, piece, sizeof(piece));
		}
		size_t more = strlen(piece);
		if (used + more + sizeof(cut) > cap) {
			memcpy(out + used, cut, sizeof(cut));
			return out;
		}
		memcpy(out + used, piece, more);
		used += more;
		i += n;
	}
	out[used] = '\0';
	return out;
}

/* --- going on --- */

bool toml_is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static size_t blanks_at(const struct toml_reader *r, size_t i)
{
	while (toml_peek(r, i) == ' ' || toml_peek(r, i) == '\t') {
		i++;
	}
	return i;
}

/* Behind the quoted string that begins `i` bytes ahead; `i` itself when its line does not close
 * it. */
static size_t quoted_at(const struct toml_reader *r, size_t i)
{
	int quote = toml_peek(r, i);

	for (size_t j = i + 1;; j++) {
		int c = toml_peek(r, j);

		if (c < 0 || c == '\n') {
			return i;
		}
		if (c == quote) {
			return j + 1;
		}
		if (c == '\\' && quote == '"' && toml_peek(r, j + 1) != '\n') {
			j++;
		}
	}
}

/* Behind the dotted key that begins `i` bytes ahead; `i` itself when there is none. */
static size_t key_at(const struct toml_reader *r, size_t i, bool quotes)
{
	const size_t start = i;

	for (;;) {
		size_t j = i;

		if (quotes && (toml_peek(r, i) == '"' || toml_peek(r, i) == '\'')) {
			j = quoted_at(r, i);
		}
		if (j == i) {
			while (toml_is_bare(toml_peek(r, j))) {
				j++;
			}
		}
		if (j == i) {
			return start;
		}
		i = blanks_at(r, j);
		if (toml_peek(r, i) != '.') {
			return i;
		}
		i = blanks_at(r, i + 1);
	}
}

/* True when what stands between '[' and ']' `i` bytes ahead is a name that can be no value. */
static bool is_name_only(const struct toml_reader *r, size_t i)
{
	static const char *const values[] = {"true", "false", "inf", "nan"};
	const char *word = r->text + r->cur.at + i;
	int c = toml_peek(r, i);
	size_t n = 0;

	if ((c >= '0' && c <= '9') || c == '-') {
		return false;
	}
	while (toml_is_bare(toml_peek(r, i + n))) {
		n++;
	}
	for (size_t v = 0; v < ARRAY_LEN(values); v++) {
		if (n == strlen(values[v]) && memcmp(word, values[v], n) == 0) {
			return false;
		}
	}
	return n > 0;
}

bool toml_at_header(const struct toml_reader *r)
{
	size_t i = blanks_at(r, 0);
	size_t brackets = toml_peek(r, i) != '[' ? 0 : toml_peek(r, i + 1) != '[' ? 1 : 2;

	if (brackets == 0) {
		return false;
	}
	i = blanks_at(r, i + brackets);
	if (!is_name_only(r, i)) {
		return false;
	}
	i = key_at(r, i, false);
	if (toml_peek(r, i) != ']' || (brackets == 2 && toml_peek(r, i + 1) != ']')) {
		return false;
	}
	i = blanks_at(r, i + brackets);
	int c = toml_peek(r, i);
	return c < 0 || c == '#' || c == '\n' || (c == '\r' && toml_peek(r, i + 1) == '\n');
}

bool toml_at_statement(const struct toml_reader *r)
{
	size_t i = blanks_at(r, 0);
	size_t j = key_at(r, i, true);

	return (j > i && toml_peek(r, j) == '=') || toml_at_header(r);
}

/* Steps over a string if it is closed, else over its quote alone: it may be an apostrophe. */
static void skip_string(struct toml_reader *r)
{
	const struct toml_cursor start = r->cur;
	int quote = toml_peek(r, 0);
	const char *three = quote == '"' ? "\"\"\"" : "'''";

	if (!toml_looking_at(r, three)) {
		size_t n = quoted_at(r, 0);

		r->cur.at += n > 0 ? n : 1;
		return;
	}
	r->cur.at += 3;
	while (!toml_looking_at(r, three)) {
		if (toml_peek(r, 0) < 0) {
			r->cur = start;
			r->cur.at += 3;
			return;
		}
		if (toml_newline(r)) {
			continue;
		}
		bool pair = quote == '"' && toml_peek(r, 0) == '\\' && toml_peek(r, 1) >= 0 &&
			    toml_peek(r, 1) != '\n' && toml_peek(r, 1) != '\r';
		r->cur.at += pair ? 2 : 1;
	}
	r->cur.at += 3;
}

/* Steps over a comment without looking at it. */
static void skip_comment(struct toml_reader *r)
{
	while (!toml_at_line_end(r)) {
		r->cur.at++;
	}
}

/* At the end of the line that did not close a string: if the next line holds the missing quote
 * and begins no statement, behind that quote. */
static void skip_open_string(struct toml_reader *r)
{
	const struct toml_cursor start = r->cur;
	int quote = r->open_quote;

	r->open_quote = 0;
	if (!toml_newline(r) || toml_at_statement(r)) {
		r->cur = start;
		return;
	}
	while (!toml_at_line_end(r)) {
		r->cur.at++;
		if (r->text[r->cur.at - 1] == quote) {
			return;
		}
	}
	r->cur = start;
}

void toml_skip(struct toml_reader *r, bool in_list)
{
	size_t depth = 0;

	if (r->open_quote != 0) {
		skip_open_string(r);
	}

	for (;;) {
		int c = toml_peek(r, 0);

		if (toml_at_line_end(r)) {
			if (c < 0 || depth == 0) {
				return;
			}
			toml_newline(r);
			if (toml_at_statement(r)) {
				return;
			}
		} else if (c == '#') {
			skip_comment(r);
		} else if (c == '"' || c == '\'') {
			skip_string(r);
		} else if (in_list && depth == 0 && (c == ',' || c == ']' || c == '}')) {
			return;
		} else {
			depth += c == '[' || c == '{';
			depth -= depth > 0 && (c == ']' || c == '}');
			r->cur.at++;
		}
	}
}

bool toml_skip_to_brace(struct toml_reader *r)
{
	const struct toml_cursor start = r->cur;
	size_t depth = 1;

	/* When no further error is kept there is nothing to gain from looking far ahead, again and
	 * again, in a file of thousands of open braces. */
	while (r->errs->n < ERR_LIST_MAX && toml_peek(r, 0) >= 0) {
		int c = toml_peek(r, 0);

		if (toml_newline(r)) {
			if (toml_at_header(r)) {
				break;
			}
		} else if (c == '#') {
			skip_comment(r);
		} else if (c == '"' || c == '\'') {
			skip_string(r);
		} else {
			r->cur.at++;
			depth += c == '[' || c == '{';
			depth -= c == ']' || c == '}';
			if (depth == 0) {
				return true;
			}
		}
	}
	r->cur = start;
	return false;
}
