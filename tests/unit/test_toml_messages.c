/* What the TOML reader says about each mistake: the place, the message, the hint. */
#include "toml_kit.h"

/* What a text of one mistake must bring: the place, the message, the hint ("" for none). */
struct mistake {
	const char *text;
	unsigned line;
	unsigned col;
	const char *msg;
	const char *hint;
};

static void check_mistakes(const struct mistake *cases, size_t n)
{
	bool bad = false;

	for (size_t i = 0; i < n; i++) {
		const struct mistake *m = &cases[i];
		auto_reading re;

		read_text(&re, m->text);
		const struct err *e = &re.errs.v[0];
		bool right = re.errs.n == 1 && re.errs.total == 1 && e->code == ERR_SPEC &&
			     str_eq(e->file, "t.toml") && e->line == m->line && e->col == m->col &&
			     str_eq(e->msg, m->msg) && str_eq(e->hint, m->hint);
		if (!right) {
			print_error("%s\nwanted %u:%u: %s (hint: %s), got\n", m->text, m->line,
				    m->col, m->msg, m->hint);
			print_errors(&re);
			bad = true;
		}
	}
	assert_false(bad);
}

#define BARE_HINT "only A-Z a-z 0-9 _ and - go without quotes: "

static void messages_about_keys(void **state)
{
	static const struct mistake cases[] = {
		{"hosts [1]", 1, 7, "expected '=' after the key \"hosts\"", ""},
		{"a.hosts: 1", 1, 8, "expected '=' after the key \"a.hosts\"",
		 "TOML puts '=' between a key and its value"},
		{"a b = 1", 1, 3, "expected '=' after the key \"a\"",
		 "a key with other characters than A-Z a-z 0-9 _ and - needs quotes"},
		{"key\nb = 1", 1, 4, "expected '=' after the key \"key\"",
		 "write the key, '=' and its value on one line"},
		{" = 1", 1, 2, "a key is missing here", ""},
		{"a. = 1", 1, 4, "a part of the key is missing after '.'", ""},
		{".a = 1", 1, 1, "a part of the key is missing before '.'", ""},
		{"grün = 1", 1, 3, "expected '=' after the key \"gr\"",
		 "a key with other characters than A-Z a-z 0-9 _ and - needs quotes"},
		{"µ = 1", 1, 1, "expected a key, found µ", BARE_HINT "\"µ\""},
		{"~/x = 1", 1, 1, "expected a key, found ~/x", BARE_HINT "\"~/x\""},
		{"'''a''' = 1", 1, 1, "a key cannot be a multi-line string",
		 "put it between single '"},
		{"} = 1", 1, 1, "expected a key, found '}'", ""},
		{"\"a\\n\\u0007\\u0000\" 1", 1, 19,
		 "expected '=' after the key \"a\\x0a\\x07\\x00\"", ""},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

static void messages_about_headers(void **state)
{
	static const struct mistake cases[] = {
		{"[]", 1, 2, "a table name is missing here", ""},
		{"[a", 1, 3, "expected ']' after the table name", "write [a]"},
		{"[[a.b]", 1, 6, "expected ']]' after the table name", "write [[a.b]]"},
		{"[a b]", 1, 4, "expected ']' after the table name",
		 "a name with other characters than A-Z a-z 0-9 _ and - needs quotes"},
		{"[a] x = 1", 1, 5, "expected the end of the line after the table header", ""},
		{"[é]", 1, 2, "expected a table name, found é", BARE_HINT "\"é\""},
		{"[a..b]", 1, 4, "a part of the table name is missing after '.'", ""},
		{"[ [a]]", 1, 3, "expected a table name, found '['", ""},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

static void messages_about_words(void **state)
{
	static const struct mistake cases[] = {
		{"mode = proxy", 1, 8, "expected a value, found proxy",
		 "strings need quotes: \"proxy\""},
		{"é = 1", 1, 1, "expected a key, found é", BARE_HINT "\"é\""},
		{"name = my app # x", 1, 8, "expected a value, found my",
		 "strings need quotes: \"my app\""},
		{"k = [~/a b, 1]", 1, 6, "expected a value, found ~/a",
		 "strings need quotes: \"~/a\""},
		{"k = C:\\dir", 1, 5, "expected a value, found C:\\dir",
		 "strings need quotes: 'C:\\dir'"},
		{"k = [192.168.1.0/24]", 1, 6, "expected a value, found 192.168.1.0/24",
		 "strings need quotes: \"192.168.1.0/24\""},
		{"k = 1.2.3", 1, 5, "expected a value, found 1.2.3",
		 "strings need quotes: \"1.2.3\""},
		{"k = 8080:80", 1, 5, "expected a value, found 8080:80",
		 "strings need quotes: \"8080:80\""},
		{"k = True", 1, 5, "expected a value, found True", "write true in small letters"},
		{"k = yes", 1, 5, "expected a value, found yes",
		 "write true, or the text in quotes"},
		{"k = null", 1, 5, "expected a value, found null",
		 "TOML has no null; leave the key out"},
		{"k = [1,,2]", 1, 8, "expected a value, found ','", ""},
		{"k == 1", 1, 4, "expected a value, found '='", ""},
		{"k = # x", 1, 5, "a value is missing after '='", "it must begin on the same line"},
		{"k = {a = }", 1, 10, "expected a value, found '}'", ""},
		{"k = 1 2", 1, 7, "expected the end of the line after the value", ""},
		{"k = 1,", 1, 6, "expected the end of the line after the value",
		 "several values stand between brackets: [1, 2]"},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

static void messages_about_numbers(void **state)
{
	static const char *const under = "a '_' in a number stands between two digits";
	static const char *const range =
		"integers reach from -9223372036854775808 to 9223372036854775807";
	const struct mistake cases[] = {
		{"k = 0755", 1, 5, "a number may not begin with 0",
		 "write it without the 0; an octal number begins with 0o"},
		{"k = -01.5", 1, 6, "a number may not begin with 0", "write it without the 0"},
		{"k = 1__0", 1, 6, under, "write 1_000"},
		{"k = 1_", 1, 6, under, "write 1_000"},
		{"k = 0x_1", 1, 7, under, "write 1_000"},
		{"k = 1.", 1, 7, "a digit is missing after the '.'", ""},
		{"k = .5", 1, 5, "a digit is missing before the '.'", "write 0.5"},
		{"k = 1e+", 1, 8, "a digit is missing in the exponent", ""},
		{"k = 0xfg", 1, 8, "'g' is no hexadecimal digit", ""},
		{"k = 0b", 1, 7, "a digit is missing after 0b", ""},
		{"k = -0x1", 1, 5, "a number in another base takes no sign",
		 "write it in decimal, or without the sign"},
		{"k = 0X1", 1, 6, "the letter of the base is a small one", "write 0x, 0o or 0b"},
		{"k = 9223372036854775808", 1, 5, "this number is too large", range},
		{"k = -9223372036854775809", 1, 5, "this number is too small", range},
		{"k = 0x8000000000000000", 1, 5, "this number is too large", range},
		{"k = 99999999999999999999999999999999", 1, 5, "this number is too large", range},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

static void messages_about_dates(void **state)
{
	static const struct mistake cases[] = {
		{"k = 2023-02-29", 1, 13, "February 2023 has days 01 to 28, not 29", ""},
		{"k = 1900-02-29", 1, 13, "February 1900 has days 01 to 28, not 29", ""},
		{"k = 2024-04-31T00:00:00Z", 1, 13, "April 2024 has days 01 to 30, not 31", ""},
		{"k = 2024-13-01", 1, 10, "there is no month 13", ""},
		{"k = 2024-01-01 24:00:00", 1, 16, "there is no hour 24; the last is 23", ""},
		{"k = 10:60:00", 1, 8, "there is no minute 60; the last is 59", ""},
		{"k = 10:00:61", 1, 11, "there is no second 61; the last is 60", ""},
		{"k = 10:00:00.", 1, 14, "a digit is missing after the '.'", ""},
		{"k = 2024-01-01T00:00:00+24:00", 1, 25, "there is no hour 24; the last is 23", ""},
		{"k = 2024-01-01T00:00:00-23:60", 1, 28, "there is no minute 60; the last is 59",
		 ""},
		{"k = 2024-1-1", 1, 5, "a date is written like 2006-01-31",
		 "if it is meant as text, write \"2024-1-1\""},
		{"k = 10:30", 1, 5, "a time is written like 08:30:00, with seconds",
		 "if it is meant as text, write \"10:30\""},
		{"k = 10:30:00Z", 1, 5, "a time is written like 08:30:00, without an offset",
		 "if it is meant as text, write \"10:30:00Z\""},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

#define SLASH_HINT "between single quotes a backslash is just a backslash: 'C:\\dir'"
#define CLOSE_HINT                                                                                 \
	"end it with \" on the same line; text of several lines stands between \"\"\" and \"\"\""

static void messages_about_strings(void **state)
{
	static const struct mistake cases[] = {
		{"k = \"é\\q\"", 1, 7, "\"\\q\" is no escape; write \"\\\\\" for a backslash",
		 SLASH_HINT},
		{"k = \"\\é\"", 1, 6, "\"\\é\" is no escape; write \"\\\\\" for a backslash",
		 SLASH_HINT},
		{"k = \"abc\nb = 1", 1, 5, "this string is not closed", CLOSE_HINT},
		{"k = \"C:\\dir\\\"\nb = 1", 1, 8,
		 "\"\\d\" is no escape; write \"\\\\\" for a backslash", SLASH_HINT},
		{"k = \"x\\\"\nb = 1", 1, 5, "this string is not closed",
		 "\"\\\"\" is a quotation mark inside the string; write \"\\\\\" for a backslash "
		 "at its end"},
		{"k = 'abc\nb = 1", 1, 5, "this string is not closed",
		 "end it with ' on the same line; text that holds a ' stands between \" and \""},
		{"a = 1\nk = \"\"\"abc\n[x]\ny", 2, 5, "this multi-line string is not closed",
		 "it ends with \"\"\""},
		{"k = \"\"\"x\"\"\"\"\"\"", 1, 14, "expected the end of the line after the value",
		 ""},
		{"k = '''\nx''", 1, 5, "this multi-line string is not closed", "it ends with '''"},
		{"k = \"\\ud800\"", 1, 6, "U+D800 is half of a surrogate pair, no character",
		 "write the character itself, or its number after \"\\U\""},
		{"k = \"\\U00110000\"", 1, 6, "there is no character U+110000",
		 "the last one is U+10FFFF"},
		{"k = \"\\u12x\"", 1, 6, "\"\\u\" takes four hexadecimal digits, not 2",
		 "write \"\\u00E9\" for é, or \"\\\\\" for a backslash"},
		{"k = \"a\tb\x01\"", 1, 9, "the control character U+0001 is not allowed here",
		 "in a string between \" write it as \\u0001"},
		{"k = \"\"\"\n\rx\"\"\"", 2, 1, "a carriage return stands alone here",
		 "end lines with LF or CR LF"},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

#define ENTRY_HINT  "a comma stands between two entries, a ']' behind the last"
#define INLINE_HINT "an inline table stands on one line; a [table] may have many"

static void messages_about_lists(void **state)
{
	static const struct mistake cases[] = {
		{"k = [1 2]", 1, 8, "expected ',' or ']' in the array", ENTRY_HINT},
		{"k = [\n \"a\"\n \"b\"\n]", 3, 2, "expected ',' or ']' in the array", ENTRY_HINT},
		{"k = [1, 2", 1, 5, "this '[' is not closed", "a ']' is missing"},
		{"k = [[1, 2], [3\n", 1, 14, "this '[' is not closed", "a ']' is missing"},
		{"k = [1,\nb = 2", 1, 5, "this '[' is not closed",
		 "a ']' is missing before line 2"},
		{"k = [1,\n\n[b.c] # x\nd = 1", 1, 5, "this '[' is not closed",
		 "a ']' is missing before line 3"},
		{"k = {a = 1\nb = 2", 1, 5, "this '{' is not closed", INLINE_HINT},
		{"k = {a = 1 # }\nb = 2", 1, 5, "this '{' is not closed", INLINE_HINT},
		{"k = {\n a = 1,\n b = {c = 2}\n}\nd = 3", 1, 5,
		 "this inline table goes over several lines", INLINE_HINT},
		{"k = {a = 1, }", 1, 11, "an inline table may not end with a comma", "remove it"},
		{"k = {a = 1 b = 2}", 1, 12, "expected ',' or '}' in the inline table",
		 "a comma stands between two keys, a '}' behind the last"},
		{"k = {a}", 1, 7, "expected '=' after the key \"a\"", ""},
		{"k = {,}", 1, 6, "expected a key, found ','", ""},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

static void messages_about_duplicates(void **state)
{
	static const struct mistake cases[] = {
		{"[files]\n\nwrite = []\nread = []\n\"write\" = []", 5, 1,
		 "the key \"write\" was already given on line 3", ""},
		{"a.b = 1\na.\"b\" = 2", 2, 3, "the key \"a.b\" was already given on line 1", ""},
		{"[a]\nb = 1\n[c]\n[a]\nb = 2", 4, 2, "the table [a] was already given on line 1",
		 "put its keys together under one header"},
		{"[a]\n[[a]]", 2, 3, "the table [a] was already given on line 1",
		 "of several such tables, each is written as [[a]]"},
		{"[[a]]\n[a]", 2, 2, "\"a\" is an array of tables since line 1",
		 "write [[a]] for its next entry"},
		{"a = []\n[[a]]", 2, 3, "\"a\" is an array since line 1; no key can be added",
		 "write this key inside one of its entries"},
		{"a.b = 1\n[a]", 2, 2, "the table [a] was already made by a dotted key on line 1",
		 "put all its keys under one header, or all in dotted form"},
		{"[a.b]\n[a]\nb.c = 1", 3, 1, "the table \"b\" has a header of its own on line 1",
		 "put this key under that header"},
		{"[a.b.c]\n[a]\nb.x = 1\n[a.b]", 4, 4,
		 "the table [a.b] was already made by a dotted key on line 3",
		 "put all its keys under one header, or all in dotted form"},
		{"a = {b = 1}\na.c = 2", 2, 1,
		 "nothing can be added to the inline table \"a\" of line 1",
		 "write this key between its braces"},
		{"a = {b = {}}\n[a.b.c]", 2, 2,
		 "nothing can be added to the inline table \"a\" of line 1",
		 "write this key between its braces"},
		{"a = 1\na.b = 2", 2, 1, "\"a\" cannot hold keys: line 1 gives it as integer", ""},
		{"x = 1\na.b = ''\n[a.b.c]", 3, 4,
		 "\"a.b\" cannot hold keys: line 2 gives it as string", ""},
		{"k = {a = 1, a = 2}", 1, 13, "the key \"a\" was already given on line 1", ""},
		{"[a.b]\nx = 1\n[a]\nb = 2", 4, 1, "the key \"b\" was already given on line 1", ""},
		{"[[a.b]]\n[[a]]", 2, 3, "the table [a] was already given on line 1",
		 "of several such tables, each is written as [[a]]"},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

static void messages_about_characters(void **state)
{
	static const struct mistake cases[] = {
		{"k = 1 \x0b", 1, 7, "the control character U+000B is not allowed here", ""},
		{"# \x7f", 1, 3, "the control character U+007F is not allowed here", ""},
		{"k = 1\rb = 2", 1, 6, "a carriage return stands alone here",
		 "end lines with LF or CR LF"},
		{"k = 1\r", 1, 6, "a carriage return stands alone here",
		 "end lines with LF or CR LF"},
		{"k\xc2\xa0= 1", 1, 2, "U+00A0 only looks like a space",
		 "replace it with an ordinary space"},
		{"k = \xe2\x80\x9cx\xe2\x80\x9d", 1, 5, "U+201C is no quotation mark of TOML",
		 "use the straight ones: \"text\""},
		{"\xef\xbb\xbf\xef\xbb\xbfk = 1", 1, 1,
		 "a byte order mark (U+FEFF) may only begin the file",
		 "remove this invisible character"},
		{"k = [1\xe3\x80\x80, 2]", 1, 6, "expected a value, found 1\\u{3000}",
		 "strings need quotes: \"1\\u{3000}\""},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
}

static void text_that_is_not_utf8(void **state)
{
	static const char *const hint = "save the file as UTF-8";
	const struct mistake cases[] = {
		{"a = 1\nb = 'é\xff'", 2, 7, "the byte 0xff is not UTF-8", hint},
		{"# \xed\xa0\x80", 1, 3, "the byte 0xed is not UTF-8", hint},     /* a surrogate */
		{"# \xc0\x80", 1, 3, "the byte 0xc0 is not UTF-8", hint},         /* overlong */
		{"# \xe0\x80\xaf", 1, 3, "the byte 0xe0 is not UTF-8", hint},     /* overlong */
		{"# \xf0\x80\x80\xaf", 1, 3, "the byte 0xf0 is not UTF-8", hint}, /* overlong */
		{"# \xf4\x90\x80\x80", 1, 3, "the byte 0xf4 is not UTF-8", hint}, /* > U+10FFFF */
		{"# \x80", 1, 3, "the byte 0x80 is not UTF-8", hint},
		{"# \xe2\x82", 1, 3, "the byte 0xe2 is not UTF-8", hint}, /* the text ends */
		{"\xff\xfe"
		 "a",
		 1, 1, "the file is not UTF-8 (it looks like UTF-16)", "save it as UTF-8"},
	};

	(void)state;
	check_mistakes(cases, ARRAY_LEN(cases));
	auto_reading re;
	read_bytes(&re, "\0a\0=\0001", 6);
	assert_string_equal(re.errs.v[0].msg, "the file is not UTF-8 (it looks like UTF-16)");
	auto_reading nul;
	read_bytes(&nul, "a = '\0'\n", 8);
	assert_int_equal(nul.errs.v[0].col, 6);
	assert_string_equal(nul.errs.v[0].msg, "the control character U+0000 is not allowed here");
	assert_string_equal(nul.errs.v[0].source, "a = '?'");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_about_keys),
		cmocka_unit_test(messages_about_headers),
		cmocka_unit_test(messages_about_words),
		cmocka_unit_test(messages_about_numbers),
		cmocka_unit_test(messages_about_dates),
		cmocka_unit_test(messages_about_strings),
		cmocka_unit_test(messages_about_lists),
		cmocka_unit_test(messages_about_duplicates),
		cmocka_unit_test(messages_about_characters),
		cmocka_unit_test(text_that_is_not_utf8),
	};

	return cmocka_run_group_tests_name("toml messages", tests, NULL, NULL);
}
