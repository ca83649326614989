/* TOML's four date types (RFC 3339, section 5.6): each is checked down to the day of the month and
 * kept as text in one normal form. A second of 60 is let through, as the RFC does for leap
 * seconds; which minutes have had one is not for a reader to know. */
#include "spec/toml_reader.h"

struct word {
	struct toml_reader *r;
	struct toml_pos pos;
	const char *s;
	size_t len;
	size_t i;
};

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static int peek(const struct word *w)
{
	return w->i < w->len ? (unsigned char)w->s[w->i] : -1;
}

/* How many digits stand `from` bytes into the word. */
static size_t digits_at(const struct word *w, size_t from)
{
	size_t n = 0;

	while (from + n < w->len && is_digit((unsigned char)w->s[from + n])) {
		n++;
	}
	return n;
}

static bool is_at(const struct word *w, size_t i, char c)
{
	return i < w->len && w->s[i] == c;
}

/* 1-2-3: what nobody writes but as a date. */
static bool like_date(const struct word *w)
{
	size_t a = digits_at(w, 0);
	size_t b = digits_at(w, a + 1);

	return a > 0 && is_at(w, a, '-') && b > 0 && is_at(w, a + 1 + b, '-') &&
	       digits_at(w, a + b + 2) > 0;
}

/* 1:2, but not 8080:80. */
static bool like_time(const struct word *w)
{
	size_t a = digits_at(w, 0);

	return (a == 1 || a == 2) && is_at(w, a, ':') && digits_at(w, a + 1) > 0;
}

/* A number of exactly `n` digits. */
static bool read_field(struct word *w, size_t n, unsigned *ret)
{
	unsigned v = 0;

	if (digits_at(w, w->i) != n) {
		return false;
	}
	for (size_t k = 0; k < n; k++) {
		v = v * 10 + (unsigned)(w->s[w->i++] - '0');
	}
	*ret = v;
	return true;
}

static bool read_char(struct word *w, char c)
{
	if (!is_at(w, w->i, c)) {
		return false;
	}
	w->i++;
	return true;
}

static bool misshapen(const struct word *w, const char *what, const char *example)
{
	char text[TOML_SHOW_MAX];

	toml_show(w->s, w->len, text, sizeof(text));
	err_hint(toml_fail(w->r, w->pos, "%s is written like %s", what, example),
		 "if it is meant as text, write \"%s\"", text);
	return false;
}

/* YYYY-MM-DD */
static bool read_date(struct word *w)
{
	static const char *const names[] = {"January",   "February", "March",    "April",
					    "May",       "June",     "July",     "August",
					    "September", "October",  "November", "December"};
	static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	unsigned year = 0;
	unsigned month = 0;
	unsigned day = 0;

	if (!read_field(w, 4, &year) || !read_char(w, '-') || !read_field(w, 2, &month) ||
	    !read_char(w, '-') || !read_field(w, 2, &day)) {
		return misshapen(w, "a date", "2006-01-31");
	}
	if (month < 1 || month > 12) {
		toml_fail(w->r, toml_pos_plus(w->pos, w->i - 5), "there is no month %02u", month);
		return false;
	}
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	unsigned last = lengths[month - 1] + (month == 2 && leap ? 1U : 0U);
	if (day < 1 || day > last) {
		toml_fail(w->r, toml_pos_plus(w->pos, w->i - 2),
			  "%s %04u has days 01 to %u, not %02u", names[month - 1], year, last, day);
		return false;
	}
	return true;
}

/* A two-digit field that was just read is beyond `most`. */
static bool too_much(struct word *w, const char *what, unsigned n, unsigned most)
{
	toml_fail(w->r, toml_pos_plus(w->pos, w->i - 2), "there is no %s %02u; the last is %u",
		  what, n, most);
	return false;
}

/* HH:MM:SS, perhaps with a fraction */
static bool read_time(struct word *w)
{
	unsigned hour = 0;
	unsigned minute = 0;
	unsigned second = 0;

	if (!read_field(w, 2, &hour)) {
		return misshapen(w, "a time", "08:30:00");
	}
	if (hour > 23) {
		return too_much(w, "hour", hour, 23);
	}
	if (!read_char(w, ':') || !read_field(w, 2, &minute)) {
		return misshapen(w, "a time", "08:30:00");
	}
	if (minute > 59) {
		return too_much(w, "minute", minute, 59);
	}
	if (!read_char(w, ':')) {
		return misshapen(w, "a time", "08:30:00, with seconds");
	}
	if (!read_field(w, 2, &second)) {
		return misshapen(w, "a time", "08:30:00");
	}
	if (second > 60) {
		return too_much(w, "second", second, 60);
	}
	if (peek(w) == '.') {
		w->i++;
		size_t n = digits_at(w, w->i);
		if (n == 0) {
			toml_fail(w->r, toml_pos_plus(w->pos, w->i),
				  "a digit is missing after the '.'");
			return false;
		}
		w->i += n;
	}
	return true;
}

/* Z, +HH:MM or -HH:MM */
static bool read_offset(struct word *w)
{
	unsigned hour = 0;
	unsigned minute = 0;

	if (peek(w) == 'Z' || peek(w) == 'z') {
		w->i++;
		return true;
	}
	w->i++;
	if (!read_field(w, 2, &hour)) {
		return misshapen(w, "the offset of a time", "Z, +02:00 or -07:30");
	}
	if (hour > 23) {
		return too_much(w, "hour", hour, 23);
	}
	if (!read_char(w, ':') || !read_field(w, 2, &minute)) {
		return misshapen(w, "the offset of a time", "Z, +02:00 or -07:30");
	}
	return minute <= 59 || too_much(w, "minute", minute, 59);
}

/* Reads what like_date() or like_time() took for one. */
static bool read_whole(struct word *w, bool date, enum toml_type *ret_type)
{
	*ret_type = date ? TOML_LOCAL_DATE : TOML_LOCAL_TIME;
	if (date) {
		if (!read_date(w)) {
			return false;
		}
		if (w->i == w->len) {
			return true;
		}
		if (!read_char(w, 'T') && !read_char(w, 't') && !read_char(w, ' ')) {
			return misshapen(w, "a date with a time", "2006-01-31T08:30:00");
		}
		*ret_type = TOML_LOCAL_DATETIME;
	}
	if (!read_time(w)) {
		return false;
	}
	int c = peek(w);
	if (date && (c == 'Z' || c == 'z' || c == '+' || c == '-')) {
		*ret_type = TOML_OFFSET_DATETIME;
		if (!read_offset(w)) {
			return false;
		}
	}
	if (w->i < w->len) {
		return date ? misshapen(w, "a date with a time", "2006-01-31T08:30:00Z")
			    : misshapen(w, "a time", "08:30:00, without an offset");
	}
	return true;
}

enum toml_word toml_read_date(struct toml_reader *r, const char *s, size_t len,
			      struct toml_value *value)
{
	struct word w = {.r = r, .pos = value->pos, .s = s, .len = len};
	bool date = like_date(&w);

	if (!date && !like_time(&w)) {
		return TOML_WORD_OTHER;
	}
	enum toml_type type = TOML_LOCAL_DATE;
	if (!read_whole(&w, date, &type)) {
		return TOML_WORD_REPORTED;
	}
	char *text = arena_strndup(r->arena, s, len);
	if (type == TOML_LOCAL_DATETIME || type == TOML_OFFSET_DATETIME) {
		text[10] = 'T';
		if (text[len - 1] == 'z') {
			text[len - 1] = 'Z';
		}
	}
	value->type = type;
	value->u.str.s = text;
	value->u.str.len = len;
	return TOML_WORD_READ;
}
