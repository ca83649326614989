/* For tests of ClientHellos: put together by hand, and read from memory of their exact size. */
#ifndef LNK_TESTS_HELLO_KIT_H
#define LNK_TESTS_HELLO_KIT_H

#include "base/str.h"
#include "gate/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM          (2 * HELLO_MAX)
#define RECORD_HEADER 5
#define RECORD_MAX    16384

/* --- hellos put together -------------------------------------------------------------------- */

struct bytes {
	unsigned char v[ROOM];
	size_t n;
};

static inline void put(struct bytes *b, const void *data, size_t n)
{
	assert_true(n <= sizeof(b->v) - b->n);
	memcpy(b->v + b->n, data, n);
	b->n += n;
}

static inline void put_number(struct bytes *b, size_t value, unsigned width)
{
	while (width-- > 0) {
		put(b, &(unsigned char){(unsigned char)(value >> 8 * width)}, 1);
	}
}

/* `n` bytes that are there, whatever they are. */
static inline void put_any(struct bytes *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		put(b, &(unsigned char){(unsigned char)(i * 7 + 1)}, 1);
	}
}

/* A length of `width` bytes, to be filled by close_part(); where it stands. */
static inline size_t open_part(struct bytes *b, unsigned width)
{
	put_number(b, 0, width);
	return b->n;
}

static inline void close_part(struct bytes *b, size_t from, unsigned width)
{
	size_t end = b->n;

	b->n = from - width;
	put_number(b, end - from, width);
	b->n = end;
}

static inline void put_extension(struct bytes *b, unsigned type, const void *data, size_t n)
{
	put_number(b, type, 2);
	put_number(b, n, 2);
	put(b, data, n);
}

/* One entry of a ServerNameList. */
static inline void put_entry(struct bytes *b, unsigned type, const char *name, size_t n)
{
	put_number(b, type, 1);
	put_number(b, n, 2);
	put(b, name, n);
}

static inline void put_name(struct bytes *b, const char *name, size_t n)
{
	put_number(b, 0, 2);
	size_t extension = open_part(b, 2);
	size_t list = open_part(b, 2);
	put_entry(b, 0, name, n);
	close_part(b, list, 2);
	close_part(b, extension, 2);
}

/* How the parts before the extensions are. */
struct shape {
	unsigned version;
	size_t session, ciphers, compressions;
};

static const struct shape usual = {0x0303, 32, 6, 1};

/* A message with these extensions (NULL: without any). */
static inline void put_message(struct bytes *b, const struct shape *shape,
			       const struct bytes *extensions)
{
	put_number(b, 1, 1);
	size_t message = open_part(b, 3);
	put_number(b, shape->version, 2);
	put_any(b, 32);
	put_number(b, shape->session, 1);
	put_any(b, shape->session);
	put_number(b, shape->ciphers, 2);
	put_any(b, shape->ciphers);
	put_number(b, shape->compressions, 1);
	put_any(b, shape->compressions);
	if (extensions != NULL) {
		put_number(b, extensions->n, 2);
		put(b, extensions->v, extensions->n);
	}
	close_part(b, message, 3);
}

/* A message in records of `piece` bytes each. */
static inline void put_records(struct bytes *b, const struct bytes *message, size_t piece)
{
	for (size_t at = 0; at < message->n; at += piece) {
		size_t n = message->n - at < piece ? message->n - at : piece;

		put_number(b, 22, 1);
		put_number(b, 0x0301, 2);
		put_number(b, n, 2);
		put(b, message->v + at, n);
	}
}

/* Zeroed, on the heap: they are large. */
static inline struct bytes *none(void)
{
	struct bytes *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	return b;
}

/* The message of a hello with these extensions. */
static inline struct bytes *message_of(const struct bytes *extensions)
{
	struct bytes *b = none();

	put_message(b, &usual, extensions);
	return b;
}

static inline struct bytes *records_of(const struct bytes *message, size_t piece)
{
	struct bytes *b = none();

	put_records(b, message, piece);
	return b;
}

/* A hello with that server name, in one record. */
static inline struct bytes *hello_for(const char *name, size_t n)
{
	struct bytes *extensions = none();

	put_name(extensions, name, n);
	put_extension(extensions, 16, "\0\3\2h2", 5);
	struct bytes *message = message_of(extensions);
	struct bytes *b = records_of(message, RECORD_MAX);
	free(extensions);
	free(message);
	return b;
}

/* --- reading -------------------------------------------------------------------------------- */

/* The first `n` bytes, from memory of their exact size. No name without HELLO_OK. */
static inline enum hello_read read_n(const struct bytes *b, size_t n, char name[HOST_MAX])
{
	unsigned char *exact = malloc(n > 0 ? n : 1);

	assert_non_null(exact);
	memcpy(exact, b->v, n);
	memset(name, 'x', HOST_MAX);
	enum hello_read how = hello_read(exact, n, name);
	free(exact);
	assert_true(how == HELLO_OK || name[0] == '\0');
	return how;
}

/* Complete with that name, and before its end not, however few bytes come at a time. */
static inline void expect_name(const struct bytes *b, const char *wanted)
{
	char name[HOST_MAX];
	size_t step = b->n > 2000 ? 97 : 1;

	for (size_t n = 0; n < b->n; n += step) {
		assert_int_equal(read_n(b, n, name), HELLO_MORE);
	}
	assert_int_equal(read_n(b, b->n - 1, name), HELLO_MORE);
	assert_int_equal(read_n(b, b->n, name), HELLO_OK);
	assert_string_equal(name, wanted);
}

/* Refused when all of it is there; before, it is never taken, and no more is waited for once it
 * was refused. */
static inline void expect_bad(const struct bytes *b)
{
	char name[HOST_MAX];
	size_t step = b->n > 2000 ? 97 : 1;
	bool bad = false;

	for (size_t n = 0; n < b->n; n += step) {
		enum hello_read how = read_n(b, n, name);

		assert_int_equal(how, how == HELLO_BAD || bad ? HELLO_BAD : HELLO_MORE);
		bad = how == HELLO_BAD;
	}
	assert_int_equal(read_n(b, b->n, name), HELLO_BAD);
}

/* Bad as soon as `n` bytes are there, and not before. */
static inline void expect_bad_at(const struct bytes *b, size_t n)
{
	char name[HOST_MAX];

	if (n > 1) {
		assert_int_equal(read_n(b, n - 1, name), HELLO_MORE);
	}
	assert_int_equal(read_n(b, n, name), HELLO_BAD);
	expect_bad(b);
}

static inline void expect_name_and_free(struct bytes *b, const char *wanted)
{
	expect_name(b, wanted);
	free(b);
}

static inline void expect_bad_and_free(struct bytes *b)
{
	expect_bad(b);
	free(b);
}

#endif
