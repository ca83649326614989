/* A ClientHello cut over records in every way, up to the largest; and bytes that are none. */
#include "hello_kit.h"

static struct bytes *plain_message(void)
{
	struct bytes *extensions = none();

	put_extension(extensions, 0x1a1a, "", 0);
	put_name(extensions, "ok.test", 7);
	struct bytes *message = message_of(extensions);
	free(extensions);
	return message;
}

static void test_cut_over_records(void **state)
{
	struct bytes *message = plain_message();

	(void)state;
	for (size_t piece = 1; piece <= message->n; piece++) {
		expect_name_and_free(records_of(message, piece), "ok.test");
	}
	/* In two, at each place; of different versions. */
	for (size_t at = 1; at < message->n; at++) {
		struct bytes first = {.n = 0}, *b = none();

		put(&first, message->v, at);
		put_records(b, &first, RECORD_MAX);
		b->v[2] = 4;
		memcpy(first.v, message->v + at, message->n - at);
		first.n = message->n - at;
		put_records(b, &first, RECORD_MAX);
		expect_name_and_free(b, "ok.test");
	}
	free(message);
}

static void test_bytes_behind(void **state)
{
	struct bytes *b = hello_for("ok.test", 7);
	char name[HOST_MAX];
	size_t end = b->n;

	(void)state;
	/* Early data in records of its own, whatever it is. */
	put_any(b, 3 * RECORD_MAX);
	for (size_t n = end; n < b->n; n += n < end + 20 ? 1 : 4001) {
		assert_int_equal(read_n(b, n, name), HELLO_OK);
		assert_string_equal(name, "ok.test");
	}
	free(b);
	/* Another message, or a byte of one, in the same record. */
	for (size_t more = 1; more < 9; more++) {
		struct bytes *message = plain_message();

		put(message, "\1\0\0\4abcd", more);
		expect_bad_and_free(records_of(message, RECORD_MAX));
		/* Cut so that the hello's last byte begins a record. */
		expect_bad_and_free(records_of(message, message->n - more - 1));
		free(message);
	}
}

static void test_broken_records(void **state)
{
	static const struct {
		const char *record;
		size_t n;
		size_t bad_at; /* bytes of it that tell */
	} rows[] = {
		{"\x16\3\1\0\0", 5, 5},      /* empty ones could go on for ever */
		{"\x15\3\1\0\2\1\0", 7, 1},  /* an alert */
		{"\x14\3\1\0\1\1", 6, 1},    /* a change of ciphers */
		{"\x17\3\3\0\1a", 6, 1},     /* data */
		{"\x16\2\1\0\1a", 6, 2},     /* of another protocol */
		{"\x16\xfe\xff\0\1a", 6, 2}, /* DTLS */
		{"\x16\3\1\x40\1", 5, 5},    /* longer than a record may be */
		{"\x16\3\1\xff\xff", 5, 5},  /* likewise */
	};
	struct bytes *message = plain_message();

	(void)state;
	/* First, and between two good ones. */
	for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
		struct bytes *b = none(), *good = records_of(message, 50);
		size_t before = i % 2 * (RECORD_HEADER + 50);

		put(b, good->v, before);
		put(b, rows[i / 2].record, rows[i / 2].n);
		put(b, good->v + before, good->n - before);
		expect_bad_at(b, before + rows[i / 2].bad_at);
		free(good);
		free(b);
	}
	free(message);
}

static void test_no_hello(void **state)
{
	static const struct {
		const char *bytes;
		size_t n, bad_at;
	} rows[] = {
		{"GET / HTTP/1.1\r\n\r\n", 18, 1},
		{"SSH-2.0-x\r\n", 11, 1},
		{"\0\0\0\0\0\0\0\0", 8, 1},
		/* SSLv2: long header, short header, and one that offers TLS. */
		{"\x80\x1f\1\0\2\0\6\0\0\0\x10", 11, 1},
		{"\0\x20\1\1\0\2\0\6\0\0\0\x10", 12, 1},
		{"\x80\x2e\1\3\1\0\x15\0\0\0\x10", 11, 1},
		/* Other messages: a server's hello, HelloRequest, a client's finish. */
		{"\x16\3\3\0\4\2\0\0\0", 9, 6},
		{"\x16\3\3\0\4\0\0\0\0", 9, 6},
		{"\x16\3\3\0\4\x14\0\0\0", 9, 6},
		/* A hello of nothing, and one that is too long as it says itself. */
		{"\x16\3\3\0\4\1\0\0\0", 9, 9},
		{"\x16\3\3\0\5\1\1\0\0\3", 10, 9},
		{"\x16\3\3\0\5\1\xff\xff\xff\3", 10, 9},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes *b = none();

		put(b, rows[i].bytes, rows[i].n);
		expect_bad_at(b, rows[i].bad_at);
		free(b);
	}
}

/* --- size ------------------------------------------------------------------------------------- */

/* A hello of that many bytes with the headers of records that have `piece` bytes. */
static struct bytes *hello_of_size(size_t size, size_t piece)
{
	size_t records = (size + RECORD_HEADER + piece - 1) / (RECORD_HEADER + piece);
	struct bytes *extensions = none();

	put_name(extensions, "ok.test", 7);
	struct bytes *message = message_of(extensions);
	size_t padding = size - records * RECORD_HEADER - message->n - 4;
	put_number(extensions, 21, 2);
	put_number(extensions, padding, 2);
	assert_in_range(padding, 1, 0xffff);
	put_any(extensions, padding);
	free(message);
	message = message_of(extensions);
	struct bytes *b = records_of(message, piece);
	assert_int_equal(b->n, size);
	free(message);
	free(extensions);
	return b;
}

static void test_largest(void **state)
{
	static const size_t pieces[] = {RECORD_MAX, 16000, 700, 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		/* With records of a byte each, sizes are multiples of six. */
		size_t most = pieces[i] == 1 ? HELLO_MAX / 6 * 6 : HELLO_MAX;
		size_t more = pieces[i] == 1 ? most + 6 : HELLO_MAX + 1;
		char name[HOST_MAX];

		expect_name_and_free(hello_of_size(most, pieces[i]), "ok.test");
		struct bytes *b = hello_of_size(more, pieces[i]);
		/* Told before all that may come has come, and for good. */
		assert_int_equal(read_n(b, HELLO_MAX, name), HELLO_BAD);
		assert_int_equal(read_n(b, HELLO_MAX + 1, name), HELLO_BAD);
		expect_bad_and_free(b);
	}
}

/* Its length has three bytes, and the first one counts. */
static void test_much_larger(void **state)
{
	struct bytes *b = hello_for("ok.test", 7);

	(void)state;
	b->v[RECORD_HEADER + 1] = 1;
	expect_bad_at(b, RECORD_HEADER + 4);
	free(b);
}

/* A hello that never ends is over at the latest when HELLO_MAX bytes are there. */
static void test_endless(void **state)
{
	static const size_t pieces[] = {RECORD_MAX, 1};
	char name[HOST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct bytes *message = none();

		put_number(message, 1, 1);
		put_number(message, HELLO_MAX - 4, 3);
		put_any(message, pieces[i] == 1 ? HELLO_MAX / 6 : HELLO_MAX - 100);
		struct bytes *b = records_of(message, pieces[i]);
		size_t n = 0;
		while (read_n(b, n, name) == HELLO_MORE && n < HELLO_MAX) {
			n += n < HELLO_MAX - 200 ? 173 : 1;
		}
		assert_int_equal(read_n(b, n, name), HELLO_BAD);
		assert_in_range(n, 0, HELLO_MAX);
		free(b);
		free(message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_over_records), cmocka_unit_test(test_bytes_behind),
		cmocka_unit_test(test_broken_records),   cmocka_unit_test(test_no_hello),
		cmocka_unit_test(test_largest),          cmocka_unit_test(test_much_larger),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests_name("hello records", tests, NULL, NULL);
}
