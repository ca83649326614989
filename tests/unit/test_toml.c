/* The TOML reader: values and where they stand, how it goes on after a mistake, its limits. Its
 * messages are in test_toml_messages.c; that it reads the whole language is test_toml_corpus.py's
 * to show. */
#include "toml_kit.h"

#include <math.h>
#include <stdint.h>
#include <time.h>

/* The value at a path of keys, each of them ended by '/'. */
static const struct toml_entry *at(const struct reading *re, const char *path)
{
	const struct toml_value *table = re->root;
	const struct toml_entry *entry = NULL;
	char key[64];

	for (const char *p = path; *p != '\0'; p = strchr(p, '/') + 1) {
		size_t n = strcspn(p, "/");

		assert_true(n < sizeof(key) && p[n] == '/');
		snprintf(key, sizeof(key), "%.*s", (int)n, p);
		assert_int_equal(table->type, TOML_TABLE);
		entry = toml_find(table, key);
		assert_non_null(entry);
		table = entry->value;
	}
	return entry;
}

static const struct toml_value *value(const struct reading *re, const char *path)
{
	return at(re, path)->value;
}

static void assert_pos(struct toml_pos pos, unsigned line, unsigned col)
{
	assert_int_equal(pos.line, line);
	assert_int_equal(pos.col, col);
}

static void assert_str(const struct toml_value *v, const char *s, size_t len)
{
	assert_int_equal(v->u.str.len, len);
	assert_memory_equal(v->u.str.s, s, len + 1);
}

/* --- values ----------------------------------------------------------------------------------- */

static void integers(void **state)
{
	static const struct {
		const char *text;
		int64_t number;
	} cases[] = {
		{"0", 0},
		{"-0", 0},
		{"+1_000", 1000},
		{"9223372036854775807", INT64_MAX},
		{"-9223372036854775808", INT64_MIN},
		{"0x7fff_ffff_ffff_ffff", INT64_MAX},
		{"0o0777", 0777},
		{"0b1_01", 5},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_reading re;
		char text[64];

		snprintf(text, sizeof(text), "k = %s", cases[i].text);
		read_good(&re, text);
		assert_int_equal(value(&re, "k/")->type, TOML_INTEGER);
		assert_true(value(&re, "k/")->u.integer == cases[i].number);
	}
}

static void floats(void **state)
{
	static const struct {
		const char *text;
		double number;
	} cases[] = {
		{"0.5", 0.5},  {"-1_0.2_5", -10.25}, {"6.626e-34", 6.626e-34},
		{"1E+2", 100}, {"inf", HUGE_VAL},    {"-inf", -HUGE_VAL},
		{"0e0", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_reading re;
		char text[64];

		snprintf(text, sizeof(text), "k = %s", cases[i].text);
		read_good(&re, text);
		assert_int_equal(value(&re, "k/")->type, TOML_FLOAT);
		assert_true(value(&re, "k/")->u.number == cases[i].number);
	}
	auto_reading re;
	read_good(&re, "a = nan\nb = -0.0\n");
	assert_true(isnan(value(&re, "a/")->u.number));
	assert_true(signbit(value(&re, "b/")->u.number));
}

static void dates_have_one_form(void **state)
{
	static const struct {
		const char *text;
		enum toml_type type;
		const char *form;
	} cases[] = {
		{"1979-05-27 07:32:00z", TOML_OFFSET_DATETIME, "1979-05-27T07:32:00Z"},
		{"1979-05-27t07:32:00.50-07:00", TOML_OFFSET_DATETIME,
		 "1979-05-27T07:32:00.50-07:00"},
		{"2000-02-29 23:59:60", TOML_LOCAL_DATETIME, "2000-02-29T23:59:60"},
		{"2024-02-29", TOML_LOCAL_DATE, "2024-02-29"},
		{"1600-02-29", TOML_LOCAL_DATE, "1600-02-29"},
		{"00:00:00.123456789", TOML_LOCAL_TIME, "00:00:00.123456789"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_reading re;
		char text[64];

		snprintf(text, sizeof(text), "k = [%s ] # x", cases[i].text);
		read_good(&re, text);
		const struct toml_value *v = value(&re, "k/")->u.array.v[0];
		assert_int_equal(v->type, cases[i].type);
		assert_str(v, cases[i].form, strlen(cases[i].form));
	}
}

static void strings(void **state)
{
	(void)state;
	auto_reading re;
	read_good(&re, "a = \"\\u0000x\\U0001F600\\\"\"\n"
		       "b = 'C:\\dir'\n"
		       "c = \"\"\"\r\nx\r\n\\\r\n   y\\n\"\"\"\"\"\r\n"
		       "d = '''\n'''''\n"
		       "\"k\\u0000\" = 1\n");
	assert_str(value(&re, "a/"), "\0x\xf0\x9f\x98\x80\"", 7);
	assert_str(value(&re, "b/"), "C:\\dir", 6);
	/* CR LF is one line end, whichever editor wrote the file. */
	assert_str(value(&re, "c/"), "x\ny\n\"\"", 6);
	assert_str(value(&re, "d/"), "''", 2);
	assert_int_equal(re.root->u.table.n, 5);
	assert_int_equal(re.root->u.table.v[4].key_len, 2);
	assert_null(toml_find(re.root, "k"));
}

static void entries_keep_their_order(void **state)
{
	(void)state;
	auto_reading re;
	read_good(&re, "z = 1\na = 2\nm.x = 3\nb = 4\nm.a = 5\n");
	static const char *const keys[] = {"z", "a", "m", "b"};
	assert_int_equal(re.root->u.table.n, ARRAY_LEN(keys));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		assert_string_equal(re.root->u.table.v[i].key, keys[i]);
	}
	assert_string_equal(value(&re, "m/")->u.table.v[1].key, "a");
	assert_null(toml_find(re.root, "x"));
	assert_null(toml_find(re.root, ""));
}

static void nothing_at_all(void **state)
{
	static const char *const texts[] = {"", "\n", " \t", "# only this", "\xef\xbb\xbf", "\r\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		auto_reading re;

		read_good(&re, texts[i]);
		assert_int_equal(re.root->type, TOML_TABLE);
		assert_int_equal(re.root->u.table.n, 0);
	}
	struct reading re = {0};
	assert_true(toml_read("t.toml", NULL, 0, &re.arena, &re.root, &re.errs));
	release(&re);
}

static void types_have_names(void **state)
{
	(void)state;
	assert_string_equal(toml_type_name(TOML_STRING), "string");
	assert_string_equal(toml_type_name(TOML_LOCAL_DATETIME), "local date-time");
	assert_string_equal(toml_type_name(TOML_TABLE), "table");
}

/* --- positions -------------------------------------------------------------------------------- */

static void positions_of_keys_and_values(void **state)
{
	(void)state;
	auto_reading re;
	read_good(&re, "a = 1\n"
		       "\tb.c  .  'd' = [ 2,\n"
		       "   {e = \"x\"} ]\n"
		       "  [f . g]\n"
		       "h = true\n"
		       "[[ i ]]\n"
		       "[[i]]\n"
		       "j = 07:32:00\n");
	assert_pos(at(&re, "a/")->key_pos, 1, 1);
	assert_pos(value(&re, "a/")->pos, 1, 5);
	assert_pos(at(&re, "b/")->key_pos, 2, 2);
	assert_pos(at(&re, "b/c/")->key_pos, 2, 4);
	assert_pos(at(&re, "b/c/d/")->key_pos, 2, 10);
	const struct toml_value *array = value(&re, "b/c/d/");
	assert_pos(array->pos, 2, 16);
	assert_pos(array->u.array.v[0]->pos, 2, 18);
	assert_pos(array->u.array.v[1]->pos, 3, 4);
	assert_pos(array->u.array.v[1]->u.table.v[0].key_pos, 3, 5);
	assert_pos(array->u.array.v[1]->u.table.v[0].value->pos, 3, 9);
	assert_pos(at(&re, "f/")->key_pos, 4, 4);
	assert_pos(at(&re, "f/g/")->key_pos, 4, 8);
	assert_pos(value(&re, "f/g/")->pos, 4, 3);
	assert_pos(at(&re, "i/")->key_pos, 6, 4);
	assert_pos(value(&re, "i/")->u.array.v[0]->pos, 6, 1);
	assert_pos(value(&re, "i/")->u.array.v[1]->pos, 7, 1);
	assert_pos(value(&re, "i/")->u.array.v[1]->u.table.v[0].value->pos, 8, 5);
}

static void an_implied_table_takes_the_place_it_is_given(void **state)
{
	(void)state;
	auto_reading re;
	read_good(&re, "[a.b]\n[a]\n[c.d]\n[c.e]\n[f.g.h]\n[f]\ng.x = 1\n");
	assert_pos(at(&re, "a/")->key_pos, 2, 2);
	assert_pos(value(&re, "a/")->pos, 2, 1);
	assert_pos(at(&re, "c/")->key_pos, 3, 2);
	assert_pos(value(&re, "c/")->pos, 3, 1);
	assert_pos(value(&re, "f/g/")->pos, 7, 1);
}

static void columns_count_characters(void **state)
{
	(void)state;
	auto_reading re;
	/* Two, three and four bytes; the byte order mark is no column. */
	read_good(&re, "\xef\xbb\xbf'é日𝄞' = ['é', 'x']\r\n"
		       "b = \"\"\"é\r\n日\"\"\"\r\n"
		       "c = 1\r\n");
	assert_pos(re.root->u.table.v[0].key_pos, 1, 1);
	const struct toml_value *array = re.root->u.table.v[0].value;
	assert_pos(array->pos, 1, 9);
	assert_pos(array->u.array.v[1]->pos, 1, 15);
	assert_pos(at(&re, "b/")->key_pos, 2, 1);
	assert_pos(at(&re, "c/")->key_pos, 4, 1);
	assert_pos(value(&re, "c/")->pos, 4, 5);
}

/* --- going on --------------------------------------------------------------------------------- */

/* A text and the places of all its errors, as "line:col line:col". */
struct several {
	const char *text;
	const char *places;
};

static void one_mistake_one_message(void **state)
{
	static const struct several cases[] = {
		/* Independent mistakes are all found. */
		{"a = x\nb = 1\nc = y\n[d\ne = z\n", "1:5 3:5 4:3 5:5"},
		/* One error for a line. */
		{"a = \"\\q \\w\" x\n", "1:6"},
		{"a = [x, y, 1 2]\nb = z\n", "1:6 2:5"},
		/* Entries of an array, each on its own line. */
		{"a = [\n  \"x\",\n  y,\n  I don't,\n  \"z\"\n  \"w\",\n]\nb = 1\n", "3:3 4:3 6:3"},
		/* A missing bracket ends with the next statement. */
		{"a = [\"x\",\nb = [\"y\"]\nc = 1\n", "1:5"},
		{"a = [\"x\", y\n\n[t]\nb = z\n", "1:11 4:5"},
		{"a = [[\"x\"],\n[t]\nb = 1\n", "1:5"},
		{"a = [{b = 1}\n[[t]]\nb = 1\n", "1:5"},
		/* A missing quote takes nothing with it… */
		{"a = \"x\nb = 1\n[t]\nc = y\n", "1:5 4:5"},
		{"a = [\"x]\nb = [\"y\"]\n", "1:6"},
		{"a = [\"x, \"y\"]\nb = 1\n", "1:11"},
		{"a = [\n  \"x,\n  \"y\",\n  \"z\"\n]\nb = z\n", "2:3 6:5"},
		/* …nor does a string that was meant for two lines. */
		{"a = \"first\nsecond\"\nb = y\n", "1:5 3:5"},
		{"\"a\nb\" = 1\nc = y\n", "1:1 3:5"},
		/* A value on the next line, and over more. */
		{"a =\n  [\"x\",\n   \"y\"]\nb = z\n", "1:4 4:5"},
		{"a =\nb = z\n", "1:4 2:5"},
		{"a [\n  \"x\",\n  \"y\",\n]\nb = z\n", "1:3 5:5"},
		{"a\n= 1\nb = z\n", "1:2 3:5"},
		/* An inline table over several lines, or never closed. */
		{"a = {\n b = 1,\n c = [1,\n 2]\n}\nd = z\n", "1:5 6:5"},
		{"a = {b = 1\nc = {d = 2}\n[t]\ne = z\n", "1:5 4:5"},
		{"a = [\n {b = x},\n {c = 1 d = 2},\n {e = 1,\n]\nf = z\n", "2:7 3:9 4:2 6:5"},
		/* Keys under a bad header do not clash with those before, nor do repeated ones. */
		{"[a]\nk = 1\n[a\nk = 2\n[a]\nk = 3\n", "3:3 5:2"},
		{"[a]\n[b]\n[a]\nk = 1\n[b.c]\nk = 1\n", "3:2"},
		{"a = x\na.b = 1\n", "1:5"},
		{"]\n}\n,\na = x\n", "1:1 4:5"},
		/* The rest of a line is skipped with the lines its brackets reach over. */
		{"a = 1 [\n 2,\n 3,\n]\nb = x\n", "1:7 5:5"},
	};

	(void)state;
	bool bad = false;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_reading re;
		char places[256] = "";
		size_t n = 0;

		read_text(&re, cases[i].text);
		for (unsigned k = 0; k < re.errs.n; k++) {
			n += (size_t)snprintf(places + n, sizeof(places) - n, "%s%u:%u",
					      k > 0 ? " " : "", re.errs.v[k].line,
					      re.errs.v[k].col);
		}
		if (!str_eq(places, cases[i].places)) {
			print_error("%s\nwanted %s, got\n", cases[i].text, cases[i].places);
			print_errors(&re);
			bad = true;
		}
	}
	assert_false(bad);
}

static void twenty_errors_are_kept(void **state)
{
	char text[30 * 8 + 1];
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "k%02u = x\n", i);
	}
	auto_reading re;
	read_text(&re, text);
	assert_int_equal(re.errs.n, ERR_LIST_MAX);
	assert_int_equal(re.errs.total, 30);
	for (unsigned i = 0; i < re.errs.n; i++) {
		assert_int_equal(re.errs.v[i].line, i + 1);
	}
}

static void errors_show_their_line(void **state)
{
	(void)state;
	auto_reading re;
	read_text(&re, "\xef\xbb\xbf"
		       "a = é\r\n  b = x # y\r\n");
	assert_int_equal(re.errs.n, 2);
	assert_string_equal(re.errs.v[0].source, "a = é");
	assert_int_equal(re.errs.v[0].col, 5);
	assert_string_equal(re.errs.v[1].source, "  b = x # y");
	assert_int_equal(re.errs.v[1].col, 7);
}

static void source_lines(void **state)
{
	static const char text[] = "one\r\n\ntwo é\nthree";
	char out[8] = "x";

	(void)state;
	toml_source_line(text, strlen(text), 1, out, sizeof(out));
	assert_string_equal(out, "one");
	toml_source_line(text, strlen(text), 2, out, sizeof(out));
	assert_string_equal(out, "");
	toml_source_line(text, strlen(text), 3, out, sizeof(out));
	assert_string_equal(out, "two é");
	toml_source_line(text, strlen(text), 4, out, sizeof(out));
	assert_string_equal(out, "three");
	toml_source_line(text, strlen(text), 5, out, sizeof(out));
	assert_string_equal(out, "");
	toml_source_line(text, strlen(text), 0, out, sizeof(out));
	assert_string_equal(out, "");
	toml_source_line(NULL, 0, 1, out, sizeof(out));
	assert_string_equal(out, "");
	/* Cut between two characters, never inside one. */
	toml_source_line(text, strlen(text), 3, out, 6);
	assert_string_equal(out, "two ");
	toml_source_line(text, strlen(text), 3, out, 7);
	assert_string_equal(out, "two é");
	toml_source_line(text, strlen(text), 1, out, 1);
	assert_string_equal(out, "");
}

/* --- limits ----------------------------------------------------------------------------------- */

/* `before`, then n times `open`, `middle`, n times `close`. */
static char *nested(const char *before, const char *open, size_t n, const char *middle,
		    const char *close)
{
	size_t cap = strlen(before) + strlen(middle) + n * (strlen(open) + strlen(close)) + 1;
	char *text = malloc(cap);

	assert_non_null(text);
	char *p = stpcpy(text, before);
	for (size_t i = 0; i < n; i++) {
		p = stpcpy(p, open);
	}
	p = stpcpy(p, middle);
	for (size_t i = 0; i < n; i++) {
		p = stpcpy(p, close);
	}
	return text;
}

static void nesting_has_a_limit(void **state)
{
	static const struct {
		const char *before, *open, *middle, *close;
		size_t most; /* repetitions that are read */
		const char *msg;
	} cases[] = {
		{"k = ", "[", "1", "]", 128, "arrays and tables are nested deeper than 128"},
		{"k = ", "{a=", "1", "}", 128, "arrays and tables are nested deeper than 128"},
		{"k = ", "[{a=", "1", "}]", 64, "arrays and tables are nested deeper than 128"},
		{"", "a.", "a = 1", "", 127, "the key has more than 128 parts"},
		{"[", "a.", "a]", "", 127, "the table name has more than 128 parts"},
		{"[[", "a.", "a]]", "", 126, "tables are nested deeper than 128"},
		{"[a.a.a.a.a.a.a.a]\n", "a.", "a = 1", "", 120,
		 "tables are nested deeper than 128"},
		{"[a.a]\nk = ", "[", "1", "]", 126, "arrays and tables are nested deeper than 128"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text = nested(cases[i].before, cases[i].open, cases[i].most, cases[i].middle,
				    cases[i].close);
		auto_reading good;
		read_good(&good, text);
		free(text);

		static const size_t too_many[] = {1, 2, 10000};
		for (size_t k = 0; k < ARRAY_LEN(too_many); k++) {
			text = nested(cases[i].before, cases[i].open, cases[i].most + too_many[k],
				      cases[i].middle, cases[i].close);
			auto_reading re;
			read_text(&re, text);
			free(text);
			assert_int_equal(re.errs.total, 1);
			if (too_many[k] == 1) {
				assert_string_equal(re.errs.v[0].msg, cases[i].msg);
			}
		}
	}
}

static void ten_thousand_open_arrays(void **state)
{
	(void)state;
	char *text = nested("k = ", "[", 10000, "\nb = x\n", "");
	auto_reading re;
	read_text(&re, text);
	free(text);
	assert_int_equal(re.errs.total, 2);
	assert_int_equal(re.errs.v[0].line, 1);
	assert_int_equal(re.errs.v[0].col, 5 + 128);
	assert_int_equal(re.errs.v[1].line, 2);
}

/* 16 times the size of a spec: what is quadratic takes minutes here. */
static void time_grows_with_size_only(void **state)
{
	/* The one without a line end makes a single long line. */
	static const char *const pieces[] = {
		"1, ",
		"k%zu = 1\n",
		"[k%zu]\n",
		"a.b.c.k%zu = 1\n",
		"a = {\n",
		"a = [\n",
		"a = \"\n",
		"a = \"\"\"\\\n",
		"[[a]]\n",
		"x'\"\n",
		"k%zu = {a = [{b.c = 1}]}\n",
	};
	const size_t size = 1UL << 20;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		char *text = malloc(size + 64);
		size_t n = strchr(pieces[i], '\n') == NULL ? 3 : 0;

		assert_non_null(text);
		memcpy(text, "a=[", n);
		for (size_t k = 0; n < size; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			n += (size_t)snprintf(text + n, 64, pieces[i], k);
#pragma GCC diagnostic pop
		}
		clock_t start = clock();
		auto_reading re;
		read_bytes(&re, text, n);
		double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
		free(text);
		if (seconds > 5) {
			print_error("%.1f s for pieces like %s", seconds, pieces[i]);
			fail();
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(floats),
		cmocka_unit_test(dates_have_one_form),
		cmocka_unit_test(strings),
		cmocka_unit_test(entries_keep_their_order),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(types_have_names),
		cmocka_unit_test(positions_of_keys_and_values),
		cmocka_unit_test(an_implied_table_takes_the_place_it_is_given),
		cmocka_unit_test(columns_count_characters),
		cmocka_unit_test(one_mistake_one_message),
		cmocka_unit_test(twenty_errors_are_kept),
		cmocka_unit_test(errors_show_their_line),
		cmocka_unit_test(source_lines),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(ten_thousand_open_arrays),
		cmocka_unit_test(time_grows_with_size_only),
	};

	return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
