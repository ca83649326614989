/* What the tests of the TOML reader share: reading a text and showing its errors. */
#ifndef LNK_TESTS_TOML_KIT_H
#define LNK_TESTS_TOML_KIT_H

#include "base/str.h"
#include "spec/toml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One text as it was read. */
struct reading {
	struct arena arena;
	struct err_list errs;
	struct toml_value *root; /* NULL when it was refused */
};

static inline void read_bytes(struct reading *re, const char *text, size_t len)
{
	/* Of exact size and without a NUL, so that the sanitizers see a byte too many. */
	char *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	memset(re, 0, sizeof(*re));
	bool ok = toml_read("t.toml", copy, len, &re->arena, &re->root, &re->errs);
	free(copy);
	assert_int_equal(ok, re->errs.n == 0);
	assert_int_equal(ok, re->root != NULL);
}

static inline void release(struct reading *re)
{
	arena_release(&re->arena);
}

#define auto_reading __attribute__((cleanup(release))) struct reading

static inline void read_text(struct reading *re, const char *text)
{
	read_bytes(re, text, strlen(text));
}

static inline void print_errors(const struct reading *re)
{
	for (unsigned i = 0; i < re->errs.n; i++) {
		const struct err *e = &re->errs.v[i];

		print_error("  %u:%u: %s (hint: %s)\n", e->line, e->col, e->msg, e->hint);
	}
}

static inline void read_good(struct reading *re, const char *text)
{
	read_text(re, text);
	if (re->root == NULL) {
		print_error("refused: %s\n", text);
		print_errors(re);
		fail();
	}
}

#endif
