/* The frames between shims and the broker: what is written is read back, and every way to write one
 * wrong is refused before anything is believed. */
#include "base/str.h"
#include "broker/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool head_of(uint32_t length, unsigned kind, unsigned version, enum frame_from from,
		    struct frame_head *ret)
{
	unsigned char bytes[FRAME_HEAD];
	const char *why = NULL;

	frame_u32_write(bytes, length);
	bytes[4] = (unsigned char)kind;
	bytes[5] = (unsigned char)(kind >> 8);
	bytes[6] = (unsigned char)version;
	bytes[7] = (unsigned char)(version >> 8);
	*ret = (struct frame_head){12345, FRAME_TOOL};
	bool ok = frame_head_read(bytes, from, ret, &why);
	assert_true(ok || (why != NULL && ret->length == 12345));
	return ok;
}

static void heads(void **state)
{
	static const struct {
		enum frame_kind kind;
		enum frame_from from;
		uint32_t min, max;
	} kinds[] = {
		{FRAME_TOOL, FRAME_FROM_SHIM, 8, FRAME_REQUEST_MAX},
		{FRAME_BROWSE, FRAME_FROM_SHIM, 8, FRAME_REQUEST_MAX},
		{FRAME_SIGNAL, FRAME_FROM_SHIM, 8, 8},
		{FRAME_EXIT, FRAME_FROM_BROKER, 8, 8},
		{FRAME_STOPPED, FRAME_FROM_BROKER, 8, 8},
		{FRAME_ERROR, FRAME_FROM_BROKER, 4, FRAME_SMALL_MAX},
	};
	struct frame_head h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		enum frame_from other =
			kinds[i].from == FRAME_FROM_SHIM ? FRAME_FROM_BROKER : FRAME_FROM_SHIM;

		assert_true(head_of(kinds[i].min, kinds[i].kind, 1, kinds[i].from, &h));
		assert_true(head_of(kinds[i].max, kinds[i].kind, 1, kinds[i].from, &h));
		assert_int_equal(h.kind, kinds[i].kind);
		assert_int_equal(h.length, kinds[i].max);
		assert_false(head_of(kinds[i].min - 1, kinds[i].kind, 1, kinds[i].from, &h));
		assert_false(head_of(kinds[i].max + 1, kinds[i].kind, 1, kinds[i].from, &h));
		assert_false(head_of(UINT32_MAX, kinds[i].kind, 1, kinds[i].from, &h));
		assert_false(head_of(0x80000000U, kinds[i].kind, 1, kinds[i].from, &h));
		assert_false(head_of(0, kinds[i].kind, 1, kinds[i].from, &h));
		assert_false(head_of(kinds[i].min, kinds[i].kind, 1, other, &h));
		assert_false(head_of(kinds[i].min, kinds[i].kind, 0, kinds[i].from, &h));
		assert_false(head_of(kinds[i].min, kinds[i].kind, 2, kinds[i].from, &h));
		assert_false(head_of(kinds[i].min, kinds[i].kind, 0x101, kinds[i].from, &h));
		assert_false(head_of(kinds[i].min, kinds[i].kind | 0x100, 1, kinds[i].from, &h));
	}
	for (unsigned kind = 0; kind < 70000; kind++) {
		bool known = (kind & 0xffff) >= FRAME_TOOL && (kind & 0xffff) <= FRAME_SIGNAL;

		assert_int_equal(head_of(8, kind, 1, FRAME_FROM_SHIM, &h), known);
	}
}

/* A payload of exact size, so that a read beyond its end is seen. */
static bool request_of(uint32_t nargs, const char *texts, size_t len, struct frame_request *ret,
		       unsigned char **ret_payload)
{
	const char *why = NULL;
	unsigned char *p = malloc(4 + len);

	assert_non_null(p);
	frame_u32_write(p, nargs);
	memcpy(p + 4, texts, len);
	*ret = (struct frame_request){.nargs = 4711};
	bool ok = frame_request_read(p, 4 + len, ret, &why);
	assert_true(ok || (why != NULL && ret->nargs == 4711));
	*ret_payload = p;
	return ok;
}

/* The texts of a literal, its last NUL among them. */
#define TEXTS(s) s, sizeof(s)

static void requests(void **state)
{
	struct frame_request r;
	unsigned char *p;
	const char *args[3];

	(void)state;
	assert_true(request_of(3, TEXTS("gh\0/home/u/x y\0pr\0\0a\n\"'\\ b"), &r, &p));
	assert_string_equal(r.name, "gh");
	assert_string_equal(r.cwd, "/home/u/x y");
	assert_int_equal(r.nargs, 3);
	frame_request_args(&r, args);
	assert_string_equal(args[0], "pr");
	assert_string_equal(args[1], "");
	assert_string_equal(args[2], "a\n\"'\\ b");
	free(p);
	assert_true(request_of(0, TEXTS("g\0/"), &r, &p));
	assert_int_equal(r.nargs, 0);
	frame_request_args(&r, NULL);
	free(p);
	/* Arguments are bytes. */
	assert_true(request_of(1, TEXTS("g\0/\0\xff\xfe\x01"), &r, &p));
	free(p);
}

static void broken_requests(void **state)
{
	static const struct {
		uint32_t nargs;
		const char *texts;
		size_t len;
	} rows[] = {
		/* counts that lie */
		{0, TEXTS("gh\0/\0x")},
		{2, TEXTS("gh\0/\0x")},
		{1, TEXTS("gh\0/")},
		{UINT32_MAX, TEXTS("gh\0/\0x")},
		{FRAME_ARGS_MAX + 1, TEXTS("gh\0/\0x")},
		{0x80000001U, TEXTS("gh\0/\0x")},
		/* an argument with a NUL is two */
		{1, TEXTS("gh\0/\0x\0y")},
		/* no NUL at the end, or bytes behind it */
		{1, "gh\0/\0x", 6},
		{1, "gh\0/\0x\0y", 8},
		{0, "gh\0/\0x", 6},
		{0, "gh\0/", 4},
		{0, "ghi/", 4},
		/* names and folders */
		{0, TEXTS("\0/")},
		{0, TEXTS("\0/abc")},
		{0, TEXTS("../../bin/sh\0/")},
		{0, TEXTS("/bin/sh\0/")},
		{0, TEXTS("a/\0/")},
		{0, TEXTS("..\0/")},
		{0, TEXTS(".\0/")},
		{0, TEXTS("gh\0relative")},
		{0, TEXTS("gh\0\0")},
		{1, TEXTS("gh\0\0/")},
		{0, TEXTS("gh")},
		{0, "", 0},
	};
	struct frame_request r;
	unsigned char *p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (request_of(rows[i].nargs, rows[i].texts, rows[i].len, &r, &p)) {
			fail_msg("row %zu is taken", i);
		}
		free(p);
	}
}

/* A request with a name, a folder and one argument of these lengths. */
static bool sized(size_t name, size_t cwd, size_t arg)
{
	struct frame_request r;
	unsigned char *p;
	size_t len = name + 1 + cwd + 1 + arg + 1;
	char *texts = malloc(len);

	assert_non_null(texts);
	memset(texts, 'x', len);
	texts[name] = '\0';
	texts[name + 1] = '/';
	texts[name + 1 + cwd] = '\0';
	texts[len - 1] = '\0';
	bool ok = request_of(1, texts, len, &r, &p);
	free(texts);
	free(p);
	return ok;
}

static void bounds(void **state)
{
	struct frame_request r;
	unsigned char *p;
	char *many = calloc(1, 8 + FRAME_ARGS_MAX + 1);

	(void)state;
	assert_true(sized(FRAME_NAME_MAX, FRAME_CWD_MAX, FRAME_ARG_BYTES_MAX - 1));
	assert_false(sized(FRAME_NAME_MAX + 1, 1, 1));
	assert_false(sized(1, FRAME_CWD_MAX + 1, 1));
	assert_false(sized(1, 1, FRAME_ARG_BYTES_MAX));
	assert_non_null(many);
	memcpy(many, "gh\0/", 5);
	assert_true(request_of(FRAME_ARGS_MAX, many, 5 + FRAME_ARGS_MAX, &r, &p));
	free(p);
	assert_false(request_of(FRAME_ARGS_MAX + 1, many, 5 + FRAME_ARGS_MAX + 1, &r, &p));
	free(p);
	free(many);
}

static bool again(enum frame_kind kind, uint32_t number, uint32_t more, const char *text,
		  size_t text_len)
{
	const struct frame_small small = {number, more, text, text_len};
	unsigned char *out = malloc(FRAME_HEAD + FRAME_SMALL_MAX);
	struct frame_small back = {4711, 4712, NULL, 0};
	struct frame_head head;
	const char *why = NULL;
	bool from_shim = kind == FRAME_SIGNAL;

	assert_non_null(out);
	size_t len = frame_small_write(out, kind, &small);
	assert_true(len <= FRAME_HEAD + FRAME_SMALL_MAX);
	assert_true(
		frame_head_read(out, from_shim ? FRAME_FROM_SHIM : FRAME_FROM_BROKER, &head, &why));
	assert_int_equal(head.kind, kind);
	assert_int_equal(head.length, len - FRAME_HEAD);
	bool ok = frame_small_read(&head, out + FRAME_HEAD, &back, &why);
	if (ok) {
		assert_int_equal(back.number, number);
		assert_int_equal(back.more, kind == FRAME_ERROR ? 0 : more);
		if (kind == FRAME_ERROR) {
			size_t kept = text_len < FRAME_TEXT_MAX ? text_len : FRAME_TEXT_MAX;

			assert_int_equal(back.text_len, kept);
			assert_memory_equal(back.text, text, kept);
		}
	} else {
		assert_non_null(why);
		assert_int_equal(back.number, 4711);
	}
	free(out);
	return ok;
}

static void small_frames(void **state)
{
	static char longest[FRAME_TEXT_MAX + 10];

	(void)state;
	assert_true(again(FRAME_SIGNAL, 2, 0, NULL, 0));
	assert_true(again(FRAME_SIGNAL, 64, 1, NULL, 0));
	assert_false(again(FRAME_SIGNAL, 0, 0, NULL, 0));
	assert_false(again(FRAME_SIGNAL, 65, 0, NULL, 0));
	assert_false(again(FRAME_SIGNAL, UINT32_MAX, 0, NULL, 0));
	assert_false(again(FRAME_SIGNAL, 2, 2, NULL, 0));
	assert_true(again(FRAME_EXIT, 0, 0, NULL, 0));
	assert_true(again(FRAME_EXIT, 255, 0, NULL, 0));
	assert_true(again(FRAME_EXIT, 0, 9, NULL, 0));
	assert_false(again(FRAME_EXIT, 256, 0, NULL, 0));
	assert_false(again(FRAME_EXIT, 0, 65, NULL, 0));
	assert_true(again(FRAME_STOPPED, 19, UINT32_MAX, NULL, 0));
	assert_false(again(FRAME_STOPPED, 0, 0, NULL, 0));
	assert_true(again(FRAME_ERROR, 126, 0, "no\nhint", 7));
	assert_true(again(FRAME_ERROR, 126, 0, "", 0));
	assert_false(again(FRAME_ERROR, 300, 0, "no", 2));
	assert_false(again(FRAME_ERROR, 126, 0, "a\0b", 3));
	memset(longest, 'x', sizeof(longest));
	assert_true(again(FRAME_ERROR, 126, 0, longest, sizeof(longest)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads),           cmocka_unit_test(requests),
		cmocka_unit_test(broken_requests), cmocka_unit_test(bounds),
		cmocka_unit_test(small_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
