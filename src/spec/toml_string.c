/* TOML's strings: basic "…", literal '…', and both over several lines. A wrong escape or control
 * character is reported and stepped over; only a string without an end is given up. */
#include "spec/toml_reader.h"

#include <stdio.h>
#include <string.h>

/* The text decoded so far. It is never longer than its source, so that r->scratch has room. */
struct out {
	char *s;
	size_t n;
};

static void put_cp(struct out *out, uint32_t cp)
{
	char *p = out->s + out->n;

	if (cp < 0x80) {
		p[0] = (char)cp;
		out->n += 1;
	} else if (cp < 0x800) {
		p[0] = (char)(0xc0 | cp >> 6);
		p[1] = (char)(0x80 | (cp & 0x3f));
		out->n += 2;
	} else if (cp < 0x10000) {
		p[0] = (char)(0xe0 | cp >> 12);
		p[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		p[2] = (char)(0x80 | (cp & 0x3f));
		out->n += 3;
	} else {
		p[0] = (char)(0xf0 | cp >> 18);
		p[1] = (char)(0x80 | (cp >> 12 & 0x3f));
		p[2] = (char)(0x80 | (cp >> 6 & 0x3f));
		p[3] = (char)(0x80 | (cp & 0x3f));
		out->n += 4;
	}
}

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if (c >= 'a' && c <= 'f') {
		return c - 'a' + 10;
	}
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \uXXXX or \UXXXXXXXX; the cursor is at the backslash. */
static void read_code_point(struct toml_reader *r, struct out *out)
{
	struct toml_pos pos = toml_here(r);
	int letter = toml_peek(r, 1);
	size_t want = letter == 'u' ? 4 : 8;
	uint32_t cp = 0;
	size_t n = 0;

	r->cur.at += 2;
	for (; n < want && hex_digit(toml_peek(r, 0)) >= 0; n++) {
		cp = cp << 4 | (uint32_t)hex_digit(toml_peek(r, 0));
		r->cur.at++;
	}
	if (n < want) {
		err_hint(toml_fail(r, pos, "\"\\%c\" takes %s hexadecimal digits, not %zu", letter,
				   want == 4 ? "four" : "eight", n),
			 "write %s, or \"\\\\\" for a backslash",
			 want == 4 ? "\"\\u00E9\" for é" : "\"\\U0001F600\" for U+1F600");
	} else if (cp >= 0xd800 && cp <= 0xdfff) {
		err_hint(toml_fail(r, pos, "U+%04X is half of a surrogate pair, no character",
				   (unsigned)cp),
			 "write the character itself, or its number after \"\\U\"");
	} else if (cp > 0x10ffff) {
		err_hint(toml_fail(r, pos, "there is no character U+%X", (unsigned)cp),
			 "the last one is U+10FFFF");
	} else {
		put_cp(out, cp);
	}
}

/* Reports the escape at the cursor and steps over it. */
static void bad_escape(struct toml_reader *r)
{
	struct toml_pos pos = toml_here(r);
	uint32_t cp = 0;
	char shown[TOML_SHOW_MAX];
	size_t n = 0;

	r->cur.at++;
	if (!toml_at_line_end(r)) {
		n = toml_utf8(r->text + r->cur.at, r->len - r->cur.at, &cp);
		toml_show(r->text + r->cur.at, n, shown, sizeof(shown));
	}
	r->cur.at += n;
	if (n == 0) {
		toml_fail(r, pos, "a backslash ends the line; write \"\\\\\" for a backslash");
		return;
	}
	struct err *err =
		toml_fail(r, pos, "\"\\%s\" is no escape; write \"\\\\\" for a backslash", shown);
	if (cp == 'x' || cp == 'e') {
		err_hint(err, "write the number of a character as in \"\\u00E9\"");
	} else {
		err_hint(err, "between single quotes a backslash is just a backslash: 'C:\\dir'");
	}
}

/* A backslash that ends a line of a multi-line string swallows the blanks and line ends up to the
 * next text. False when the one at the cursor does not. */
static bool folded_line(struct toml_reader *r)
{
	struct toml_cursor start = r->cur;

	r->cur.at++;
	toml_blanks(r);
	if (!toml_newline(r)) {
		r->cur = start;
		return false;
	}
	do {
		toml_blanks(r);
	} while (toml_newline(r));
	return true;
}

static void read_escape(struct toml_reader *r, bool lines, struct out *out)
{
	static const char names[] = "btnfr\"\\";
	static const char meant[] = "\b\t\n\f\r\"\\";
	int c = toml_peek(r, 1);
	const char *known = c > 0 ? strchr(names, c) : NULL;

	if (lines && folded_line(r)) {
		return;
	}
	if (known != NULL) {
		out->s[out->n++] = meant[known - names];
		r->cur.at += 2;
	} else if (c == 'u' || c == 'U') {
		read_code_point(r, out);
	} else {
		bad_escape(r);
	}
}

static void not_closed(struct toml_reader *r, struct toml_pos start, int quote, bool lines)
{
	struct err *err = NULL;

	if (lines) {
		err = toml_fail(r, start, "this multi-line string is not closed");
		err_hint(err, quote == '"' ? "it ends with \"\"\"" : "it ends with '''");
		return;
	}
	r->open_quote = quote;
	err = toml_fail(r, start, "this string is not closed");
	if (quote == '"' && r->cur.at >= 2 && r->text[r->cur.at - 1] == '"' &&
	    r->text[r->cur.at - 2] == '\\') {
		err_hint(err, "\"\\\"\" is a quotation mark inside the string; write \"\\\\\" for "
			      "a backslash at its end");
	} else if (quote == '"') {
		err_hint(err, "end it with \" on the same line; text of several lines stands "
			      "between \"\"\" and \"\"\"");
	} else {
		err_hint(err, "end it with ' on the same line; text that holds a ' stands "
			      "between \" and \"");
	}
}

/* At a quote in a multi-line string. True when it is the end: up to two more quotes before the
 * closing three belong to the text. */
static bool read_quotes(struct toml_reader *r, int quote, struct out *out)
{
	size_t n = 0;

	while (n < 5 && toml_peek(r, n) == quote) {
		n++;
	}
	r->cur.at += n;
	bool end = n >= 3;
	for (n -= end ? 3 : 0; n > 0; n--) {
		out->s[out->n++] = (char)quote;
	}
	return end;
}

enum toml_got toml_read_string(struct toml_reader *r, bool lines, const char **ret_s,
			       size_t *ret_len)
{
	struct toml_pos start = toml_here(r);
	int quote = toml_peek(r, 0);
	struct out out = {.s = r->scratch};

	lines = lines && toml_peek(r, 1) == quote && toml_peek(r, 2) == quote;
	r->cur.at += lines ? 3 : 1;
	if (lines) {
		toml_newline(r);
	}
	for (;;) {
		int c = toml_peek(r, 0);

		if (c < 0 || (!lines && toml_at_line_end(r))) {
			not_closed(r, start, quote, lines);
			return TOML_GOT_BAD;
		}
		if (toml_newline(r)) {
			/* CR LF is a line end like LF here, whatever editor wrote the file. */
			out.s[out.n++] = '\n';
		} else if (c == quote && !lines) {
			r->cur.at++;
			break;
		} else if (c == quote) {
			if (read_quotes(r, quote, &out)) {
				break;
			}
		} else if (c == '\\' && quote == '"') {
			read_escape(r, lines, &out);
		} else if (toml_is_control(c)) {
			toml_bad_control(r);
		} else {
			out.s[out.n++] = (char)c;
			r->cur.at++;
		}
	}
	*ret_s = arena_strndup(r->arena, out.s, out.n);
	*ret_len = out.n;
	return TOML_GOT_IT;
}
