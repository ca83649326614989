/* TOML's integers and floats. The form is checked here, byte by byte; only a checked float goes to
 * strtod(). A word that is no number but may be meant as a text (192.168.1.0/24) is left to the
 * caller. */
#include "spec/toml_reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct word {
	struct toml_reader *r;
	struct toml_pos pos; /* of its first byte */
	const char *s;
	size_t len;
	size_t i; /* how far it is read */
};

static int peek(const struct word *w)
{
	return w->i < w->len ? (unsigned char)w->s[w->i] : -1;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* Reports a mistake at the byte that is read next. */
static struct err *fail_here(const struct word *w, const char *msg)
{
	return toml_fail(w->r, toml_pos_plus(w->pos, w->i), "%s", msg);
}

/* The value of a digit in base 2, 8, 10 or 16, or -1. */
static int digit_value(int c, int base)
{
	int v = is_digit(c)            ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;

	return v < base ? v : -1;
}

enum digits {
	DIGITS_READ,
	DIGITS_NONE,  /* no digit where one must be */
	DIGITS_UNDER, /* a '_' that does not stand between two digits, at w->i */
};

/* Reads digits with single '_' between them. */
static enum digits read_digits(struct word *w, int base)
{
	if (peek(w) == '_') {
		return DIGITS_UNDER;
	}
	if (digit_value(peek(w), base) < 0) {
		return DIGITS_NONE;
	}
	for (;;) {
		while (digit_value(peek(w), base) >= 0) {
			w->i++;
		}
		if (peek(w) != '_') {
			return DIGITS_READ;
		}
		if (w->i + 1 == w->len || digit_value((unsigned char)w->s[w->i + 1], base) < 0) {
			return DIGITS_UNDER;
		}
		w->i++;
	}
}

/* True when the word can be meant as nothing but a decimal number. */
static bool all_numeric(const struct word *w)
{
	for (size_t i = 0; i < w->len; i++) {
		if (memchr("0123456789_.eE+-", w->s[i], 16) == NULL) {
			return false;
		}
	}
	return true;
}

static enum toml_word bad_underscore(struct word *w)
{
	err_hint(fail_here(w, "a '_' in a number stands between two digits"), "write 1_000");
	return TOML_WORD_REPORTED;
}

/* --- integers --- */

/* The digits from w->s[from] to w->s[to], in `base`, as int64. */
static enum toml_word make_integer(struct word *w, size_t from, size_t to, int base, bool minus,
				   struct toml_value *value)
{
	const uint64_t most = (uint64_t)INT64_MAX + (minus ? 1 : 0);
	uint64_t n = 0;

	for (size_t i = from; i < to; i++) {
		if (w->s[i] == '_') {
			continue;
		}
		uint64_t v = (uint64_t)digit_value((unsigned char)w->s[i], base);
		if (n > (most - v) / (uint64_t)base) {
			w->i = 0;
			err_hint(fail_here(w, minus ? "this number is too small"
						    : "this number is too large"),
				 "integers reach from -9223372036854775808 to 9223372036854775807");
			return TOML_WORD_REPORTED;
		}
		n = n * (uint64_t)base + v;
	}
	value->type = TOML_INTEGER;
	value->u.integer = minus ? (int64_t)(0 - n) : (int64_t)n;
	return TOML_WORD_READ;
}

/* 0x…, 0o… or 0b…; `w` is at the 0. */
static enum toml_word read_radix(struct word *w, struct toml_value *value)
{
	int letter = (unsigned char)w->s[w->i + 1];
	int base = letter == 'x' || letter == 'X' ? 16 : letter == 'o' || letter == 'O' ? 8 : 2;
	const char *kind = base == 16 ? "hexadecimal" : base == 8 ? "octal" : "binary";

	if (w->i > 0) {
		w->i = 0;
		err_hint(fail_here(w, "a number in another base takes no sign"),
			 "write it in decimal, or without the sign");
		return TOML_WORD_REPORTED;
	}
	if (letter < 'a') {
		w->i = 1;
		err_hint(fail_here(w, "the letter of the base is a small one"),
			 "write 0x, 0o or 0b");
		return TOML_WORD_REPORTED;
	}
	w->i += 2;
	size_t from = w->i;
	enum digits found = read_digits(w, base);
	if (found == DIGITS_UNDER) {
		return bad_underscore(w);
	}
	if (found == DIGITS_READ && w->i == w->len) {
		return make_integer(w, from, w->len, base, false, value);
	}
	char shown[TOML_SHOW_MAX];
	if (w->i == w->len) {
		toml_fail(w->r, toml_pos_plus(w->pos, w->i), "a digit is missing after 0%c",
			  letter);
	} else {
		uint32_t cp = 0;
		size_t n = toml_utf8(w->s + w->i, w->len - w->i, &cp);

		toml_show(w->s + w->i, n, shown, sizeof(shown));
		toml_fail(w->r, toml_pos_plus(w->pos, w->i), "'%s' is no %s digit", shown, kind);
	}
	return TOML_WORD_REPORTED;
}

/* --- floats --- */

static enum toml_word make_float(struct word *w, struct toml_value *value)
{
	char *text = w->r->scratch;
	char *end = NULL;
	size_t n = 0;

	for (size_t i = 0; i < w->len; i++) {
		if (w->s[i] != '_') {
			text[n++] = w->s[i];
		}
	}
	text[n] = '\0';
	value->type = TOML_FLOAT;
	value->u.number = strtod(text, &end);
	/* Would fail under a locale whose decimal point is another; nothing here sets one. */
	assert(end == text + n);
	return TOML_WORD_READ;
}

/* A digit is missing at w->i after `what`. It is a mistake in a number only if the number breaks
 * off there; 1.x may be a name. */
static enum toml_word no_digits(struct word *w, enum digits found, const char *msg)
{
	int c = peek(w);

	if (!all_numeric(w)) {
		return TOML_WORD_OTHER;
	}
	if (found == DIGITS_UNDER) {
		return bad_underscore(w);
	}
	if (c >= 0 && c != 'e' && c != 'E') {
		return TOML_WORD_OTHER;
	}
	fail_here(w, msg);
	return TOML_WORD_REPORTED;
}

/* The fraction and exponent behind the digits that begin at w->s[first]. */
static enum toml_word read_float(struct word *w, struct toml_value *value)
{
	enum digits found = DIGITS_READ;

	if (peek(w) == '.') {
		w->i++;
		found = read_digits(w, 10);
		if (found != DIGITS_READ) {
			return no_digits(w, found, "a digit is missing after the '.'");
		}
	}
	if (peek(w) == 'e' || peek(w) == 'E') {
		w->i++;
		if (peek(w) == '+' || peek(w) == '-') {
			w->i++;
		}
		found = read_digits(w, 10);
		if (found != DIGITS_READ) {
			return no_digits(w, found, "a digit is missing in the exponent");
		}
	}
	return w->i == w->len ? make_float(w, value) : TOML_WORD_OTHER;
}

/* inf and nan, with or without a sign, stand whole in the word. */
static bool read_special(const struct word *w, size_t sign, struct toml_value *value)
{
	const char *rest = w->s + sign;

	if (w->len - sign != 3 || (memcmp(rest, "inf", 3) != 0 && memcmp(rest, "nan", 3) != 0)) {
		return false;
	}
	value->type = TOML_FLOAT;
	value->u.number = strtod(rest[0] == 'i' ? "inf" : "nan", NULL);
	if (w->s[0] == '-') {
		value->u.number = -value->u.number;
	}
	return true;
}

static enum toml_word leading_zero(struct word *w, size_t first, bool whole)
{
	w->i = first;
	struct err *err = fail_here(w, "a number may not begin with 0");
	if (whole) {
		err_hint(err, "write it without the 0; an octal number begins with 0o");
	} else {
		err_hint(err, "write it without the 0");
	}
	return TOML_WORD_REPORTED;
}

enum toml_word toml_read_number(struct toml_reader *r, const char *s, size_t len,
				struct toml_value *value)
{
	struct word w = {.r = r, .pos = value->pos, .s = s, .len = len};
	size_t first = s[0] == '+' || s[0] == '-' ? 1 : 0;

	if (read_special(&w, first, value)) {
		return TOML_WORD_READ;
	}
	w.i = first;
	if (len - first >= 2 && s[first] == '0' && memchr("xXoObB", s[first + 1], 6) != NULL) {
		return read_radix(&w, value);
	}
	enum digits found = read_digits(&w, 10);
	if (found == DIGITS_NONE && peek(&w) == '.' && len - first >= 2 && is_digit(s[first + 1]) &&
	    all_numeric(&w)) {
		err_hint(fail_here(&w, "a digit is missing before the '.'"), "write 0.5");
		return TOML_WORD_REPORTED;
	}
	if (found == DIGITS_NONE) {
		return TOML_WORD_OTHER;
	}
	if (found == DIGITS_UNDER) {
		return all_numeric(&w) && len > 1 ? bad_underscore(&w) : TOML_WORD_OTHER;
	}
	bool zero = s[first] == '0' && w.i - first > 1;
	bool whole = w.i == len;
	if (whole && !zero) {
		return make_integer(&w, first, len, 10, s[0] == '-', value);
	}
	enum toml_word got = whole ? TOML_WORD_READ : read_float(&w, value);
	return got == TOML_WORD_READ && zero ? leading_zero(&w, first, whole) : got;
}
