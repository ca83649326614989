/* The server name of a ClientHello, and what stands around it: every good and broken shape. */
#include "hello_kit.h"

/* --- names ---------------------------------------------------------------------------------- */

static void test_names(void **state)
{
	static const struct {
		const char *in, *out; /* NULL: no name at all */
	} rows[] = {
		{"ok.test", "ok.test"},
		{"OK.Test", "ok.test"},
		{"ok.test.", "ok.test"},
		{"a_b-c.x", "a_b-c.x"},
		{"localhost", "localhost"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		/* RFC 6066 allows no addresses; who is called by one compares. */
		{"192.0.2.1", "192.0.2.1"},
		{"[2001:DB8:0:0::1]", "2001:db8::1"},
		{"2001:db8::1", NULL},
		{"192.0.2", NULL},
		{"192.0.2.1.", NULL},
		{"0x7f.1", NULL},
		{"017700000001", NULL},
		{"", NULL},
		{".", NULL},
		{".ok.test", NULL},
		{"ok..test", NULL},
		{"ok.test..", NULL},
		{"*.ok.test", NULL},
		{"ok.test:443", NULL},
		{"ok test", NULL},
		{"ok.test\n", NULL},
		{"b\xc3\xbc"
		 "cher.example",
		 NULL},
	};
	char longest[HOST_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes *b = hello_for(rows[i].in, strlen(rows[i].in));

		if (rows[i].out != NULL) {
			expect_name_and_free(b, rows[i].out);
		} else {
			expect_bad_and_free(b);
		}
	}
	memset(longest, 'x', sizeof(longest));
	longest[63] = longest[127] = longest[191] = '.';
	longest[HOST_MAX - 1] = '\0';
	expect_name_and_free(hello_for(longest, HOST_MAX - 1), longest);
	longest[HOST_MAX - 1] = 'x';
	expect_bad_and_free(hello_for(longest, HOST_MAX));
	expect_bad_and_free(
		hello_for("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 64));
}

static void test_nul(void **state)
{
	(void)state;
	expect_bad_and_free(hello_for("ok.test\0", 8));
	expect_bad_and_free(hello_for("ok.test\0.evil.test", 18));
	expect_bad_and_free(hello_for("\0ok.test", 8));
	expect_bad_and_free(hello_for("\0", 1));
	expect_bad_and_free(hello_for("[::1]\0", 6));
	expect_bad_and_free(hello_for("[::1\0]", 6));
}

/* A hello whose server_name extension has this data. */
static struct bytes *hello_with_data(const void *data, size_t n)
{
	struct bytes *extensions = none();

	put_extension(extensions, 0, data, n);
	struct bytes *message = message_of(extensions);
	struct bytes *b = records_of(message, RECORD_MAX);
	free(extensions);
	free(message);
	return b;
}

static void test_lists(void **state)
{
	static const struct {
		const char *data;
		size_t n;
	} rows[] = {
		{"", 0},                        /* a server's answer has that */
		{"\0", 1},                      /* half a length */
		{"\0\0", 2},                    /* a list of none */
		{"\0\1\0", 3},                  /* no length of a name */
		{"\0\3\0\0\0", 5},              /* a name of no bytes */
		{"\0\4\1\0\1a", 6},             /* another kind */
		{"\0\4\xff\0\1a", 6},           /* likewise */
		{"\0\5\0\0\1a\0", 7},           /* a byte behind the name */
		{"\0\4\0\0\1a\0", 7},           /* a byte behind the list */
		{"\0\5\0\0\1a", 6},             /* a list that is longer than there is */
		{"\0\3\0\0\1a", 6},             /* and one that is shorter */
		{"\0\4\0\0\2a", 6},             /* a name that is longer */
		{"\0\4\0\1\1a", 6},             /* much longer */
		{"\0\x08\0\0\1a\0\0\1b", 10},   /* two names */
		{"\0\x08\0\0\1a\0\0\1a", 10},   /* twice the same */
		{"\0\x08\0\0\1a\1\0\1b", 10},   /* one of another kind behind */
		{"\0\x08\1\0\1b\0\0\1a", 10},   /* and before */
		{"\0\4\0\0\1a\0\4\0\0\1b", 12}, /* two lists */
	};

	(void)state;
	expect_name_and_free(hello_with_data("\0\4\0\0\1a", 6), "a");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect_bad_and_free(hello_with_data(rows[i].data, rows[i].n));
	}
}

static void test_no_name(void **state)
{
	struct bytes *extensions = none();
	struct bytes *message = message_of(NULL);

	(void)state;
	expect_name_and_free(records_of(message, RECORD_MAX), "");
	free(message);
	message = message_of(extensions); /* a block of none */
	expect_name_and_free(records_of(message, RECORD_MAX), "");
	free(message);
	put_extension(extensions, 43, "\2\3\4", 3);
	message = message_of(extensions);
	expect_name_and_free(records_of(message, RECORD_MAX), "");
	free(message);
	free(extensions);
}

static void test_two_extensions(void **state)
{
	static const char *const names[] = {"ok.test", "evil.test"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct bytes *extensions = none();

		put_name(extensions, names[i & 1], strlen(names[i & 1]));
		put_extension(extensions, 23, "", 0);
		put_name(extensions, names[i >> 1], strlen(names[i >> 1]));
		struct bytes *message = message_of(extensions);
		expect_bad_and_free(records_of(message, RECORD_MAX));
		free(message);
		free(extensions);
	}
}

/* Values of RFC 8701, an encrypted hello, post-quantum keys, what nobody knows yet: anywhere. */
static void test_unknown_extensions(void **state)
{
	(void)state;
	for (size_t place = 0; place < 4; place++) {
		struct bytes *extensions = none();
		struct bytes *any = none();

		put_any(any, 1216);
		for (size_t i = 0; i < 4; i++) {
			static const unsigned types[] = {0x0a0a, 0xfe0d, 51, 0xfafa};

			if (i == place) {
				put_name(extensions, "ok.test", 7);
			}
			put_extension(extensions, types[i], any->v, i % 3 == 0 ? i : any->n);
		}
		struct bytes *message = message_of(extensions);
		expect_name_and_free(records_of(message, RECORD_MAX), "ok.test");
		expect_name_and_free(records_of(message, 100), "ok.test");
		free(message);
		free(extensions);
		free(any);
	}
}

/* --- what is around the name ----------------------------------------------------------------- */

static void test_shapes(void **state)
{
	static const struct {
		struct shape shape;
		bool good;
	} rows[] = {
		{{0x0301, 0, 2, 1}, true},
		{{0x0302, 32, 2, 1}, true},
		{{0x0303, 1, 0xfffe - 400, 1}, true},
		{{0x0304, 0, 2, 255}, true},
		{{0x03ff, 0, 2, 1}, true},
		{{0x0300, 0, 2, 1}, false},
		{{0x0200, 0, 2, 1}, false},
		{{0x0002, 0, 2, 1}, false},
		{{0x0400, 0, 2, 1}, false},
		{{0xfeff, 0, 2, 1}, false},
		{{0x0303, 33, 2, 1}, false},
		{{0x0303, 255, 2, 1}, false},
		{{0x0303, 0, 0, 1}, false},
		{{0x0303, 0, 1, 1}, false},
		{{0x0303, 0, 7, 1}, false},
		{{0x0303, 0, 2, 0}, false},
	};
	struct bytes *extensions = none();

	(void)state;
	put_name(extensions, "ok.test", 7);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes *message = none();

		put_message(message, &rows[i].shape, extensions);
		struct bytes *b = records_of(message, RECORD_MAX);
		if (rows[i].good) {
			expect_name_and_free(b, "ok.test");
		} else {
			expect_bad_and_free(b);
		}
		free(message);
	}
	free(extensions);
}

/* The first byte of each length of hello_for(): record, message, session, ciphers, compressions,
 * extensions, extension, list, name, extension. Their widths stand beside them. */
static const struct {
	size_t at;
	unsigned width;
} lengths[] = {
	{3, 2}, {6, 3}, {43, 1}, {76, 2}, {84, 1}, {86, 2}, {90, 2}, {92, 2}, {95, 2}, {106, 2},
};

static void test_lengths_disagree(void **state)
{
	static const long by[] = {-300, -2, -1, 1, 2, 300, 30000};
	char name[HOST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths) * ARRAY_LEN(by); i++) {
		struct bytes *b = hello_for("ok.test", 7);
		size_t at = lengths[i / ARRAY_LEN(by)].at;
		unsigned width = lengths[i / ARRAY_LEN(by)].width;
		size_t end = b->n;
		long value = 0;

		for (unsigned k = 0; k < width; k++) {
			value = value << 8 | b->v[at + k];
		}
		assert_in_range(value, 1, end); /* a length indeed */
		value += by[i % ARRAY_LEN(by)];
		b->n = at;
		put_number(b, (size_t)value, width);
		b->n = end;
		/* One that is longer than all waits for the rest; with it, it is none either. */
		assert_int_not_equal(read_n(b, b->n, name), HELLO_OK);
		put_any(b, HELLO_MAX);
		assert_int_equal(read_n(b, b->n, name), HELLO_BAD);
		free(b);
	}
}

/* Bytes behind the last extension that are none, or half of one. */
static void test_half_extensions(void **state)
{
	(void)state;
	for (size_t n = 1; n < 4; n++) {
		struct bytes *extensions = none();

		put_name(extensions, "ok.test", 7);
		put(extensions, "\0\0\0", n);
		struct bytes *message = message_of(extensions);
		expect_bad_and_free(records_of(message, RECORD_MAX));
		free(message);
		free(extensions);
	}
}

static void test_every_byte_cut(void **state)
{
	struct bytes *whole = hello_for("ok.test", 7);
	size_t n = whole->n - RECORD_HEADER - 4;

	(void)state;
	/* The message ends early, and says so. */
	for (size_t body = 0; body < n; body++) {
		struct bytes *message = none();

		put_number(message, 1, 1);
		put_number(message, body, 3);
		put(message, whole->v + RECORD_HEADER + 4, body);
		struct bytes *b = records_of(message, RECORD_MAX);
		/* Without its extensions it is one of TLS 1.0. */
		if (body == 2 + 32 + 1 + 32 + 2 + 6 + 1 + 1) {
			expect_name_and_free(b, "");
		} else {
			expect_bad_and_free(b);
		}
		free(message);
	}
	free(whole);
}

/* --- hellos of real clients ------------------------------------------------------------------- */

static struct bytes *recorded(const char *client)
{
	struct bytes *b = none();
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/hello/%s", getenv("LNK_SOURCE"), client);
	FILE *f = fopen(path, "rbe");
	if (f == NULL) {
		fail_msg("%s cannot be read", path);
	}
	b->n = fread(b->v, 1, sizeof(b->v), f);
	fclose(f);
	return b;
}

static void test_clients(void **state)
{
	static const struct {
		const char *client, *name;
	} rows[] = {
		{"chromium", "www.example.com"},
		{"curl", "www.example.com"},
		{"go", "www.example.com"},
		{"node", "www.example.com"},
		{"openssl_alpn", "www.example.com"},
		{"openssl_no_name", ""},
		{"openssl_split", "www.example.com"},
		{"openssl_tls10", "www.example.com"},
		{"openssl_tls12", "www.example.com"},
		{"python", "www.example.com"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect_name_and_free(recorded(rows[i].client), rows[i].name);
	}
}

static void test_alert(void **state)
{
	(void)state;
	assert_memory_equal(hello_alert, "\x15\3\3\0\2\2\x31", HELLO_ALERT_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),           cmocka_unit_test(test_nul),
		cmocka_unit_test(test_lists),           cmocka_unit_test(test_no_name),
		cmocka_unit_test(test_two_extensions),  cmocka_unit_test(test_unknown_extensions),
		cmocka_unit_test(test_shapes),          cmocka_unit_test(test_lengths_disagree),
		cmocka_unit_test(test_half_extensions), cmocka_unit_test(test_every_byte_cut),
		cmocka_unit_test(test_clients),         cmocka_unit_test(test_alert),
	};

	return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}
