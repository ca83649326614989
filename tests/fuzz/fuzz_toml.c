/* Fuzzes the TOML reader. Whatever the bytes: a tree or errors, never both; every position lies in
 * the text; a tree is no deeper than promised and its strings are whole; errors are complete, at
 * most one for a line. */
#include "base/arena.h"
#include "fuzz.h"
#include "spec/toml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text's lines, to look positions up: cols[i] is the last column of line i + 1, which is the
 * place behind its last character. */
struct lines {
	unsigned *cols;
	size_t n;
};

static struct lines count_lines(const uint8_t *data, size_t size)
{
	struct lines lines = {.cols = calloc(size + 1, sizeof(*lines.cols)), .n = 1};

	REQUIRE(lines.cols != NULL);
	lines.cols[0] = 1;
	size_t at = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	for (; at < size; at++) {
		if (data[at] == '\n') {
			lines.cols[lines.n++] = 1;
		} else if ((data[at] & 0xc0) != 0x80) {
			lines.cols[lines.n - 1]++;
		}
	}
	return lines;
}

static void check_pos(const struct lines *lines, unsigned line, unsigned col)
{
	REQUIRE(line >= 1 && line <= lines->n);
	REQUIRE(col >= 1 && col <= lines->cols[line - 1]);
}

static void check_value(const struct lines *lines, const struct toml_value *value, unsigned depth);

static void check_table(const struct lines *lines, const struct toml_value *table, unsigned depth)
{
	for (size_t i = 0; i < table->u.table.n; i++) {
		const struct toml_entry *e = &table->u.table.v[i];

		REQUIRE(e->key != NULL && e->key[e->key_len] == '\0');
		check_pos(lines, e->key_pos.line, e->key_pos.col);
		check_value(lines, e->value, depth + 1);
		if (i < 64 && strlen(e->key) == e->key_len) {
			REQUIRE(toml_find(table, e->key) == e);
		}
	}
}

static void check_value(const struct lines *lines, const struct toml_value *value, unsigned depth)
{
	REQUIRE(value != NULL);
	check_pos(lines, value->pos.line, value->pos.col);
	REQUIRE(toml_type_name(value->type) != NULL);
	switch (value->type) {
	case TOML_TABLE:
		REQUIRE(depth <= TOML_DEPTH_MAX);
		check_table(lines, value, depth);
		break;
	case TOML_ARRAY:
		REQUIRE(depth <= TOML_DEPTH_MAX);
		for (size_t i = 0; i < value->u.array.n; i++) {
			check_value(lines, value->u.array.v[i], depth + 1);
		}
		break;
	case TOML_STRING:
	case TOML_OFFSET_DATETIME:
	case TOML_LOCAL_DATETIME:
	case TOML_LOCAL_DATE:
	case TOML_LOCAL_TIME:
		REQUIRE(value->u.str.s != NULL && value->u.str.s[value->u.str.len] == '\0');
		break;
	case TOML_INTEGER:
	case TOML_FLOAT:
		break;
	case TOML_BOOL:
		REQUIRE(value->u.boolean == true || value->u.boolean == false);
		break;
	}
}

static void check_errors(const struct lines *lines, const struct err_list *errs)
{
	REQUIRE(errs->n >= 1 && errs->n <= ERR_LIST_MAX && errs->total >= errs->n);
	for (unsigned i = 0; i < errs->n; i++) {
		const struct err *e = &errs->v[i];

		REQUIRE(e->code == ERR_SPEC && e->msg[0] != '\0');
		REQUIRE(strcmp(e->file, "fuzz.toml") == 0);
		REQUIRE(strchr(e->msg, '\n') == NULL && strchr(e->hint, '\n') == NULL);
		REQUIRE(strchr(e->source, '\n') == NULL);
		check_pos(lines, e->line, e->col);
		for (unsigned k = 0; k < i; k++) {
			REQUIRE(errs->v[k].line != e->line);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena arena = {0};
	static struct err_list errs;
	struct toml_value *root = NULL;
	struct lines lines = count_lines(data, size);

	memset(&errs, 0, sizeof(errs));
	/* A copy of exact size, so that a read beyond the end is seen. */
	char *copy = malloc(size > 0 ? size : 1);
	REQUIRE(copy != NULL);
	memcpy(copy, data, size);
	if (toml_read("fuzz.toml", copy, size, &arena, &root, &errs)) {
		REQUIRE(errs.n == 0 && errs.total == 0 && root != NULL && root->type == TOML_TABLE);
		free(copy); /* the tree does not borrow from the text */
		check_value(&lines, root, 0);
	} else {
		REQUIRE(root == NULL);
		check_errors(&lines, &errs);
		free(copy);
	}
	free(lines.cols);
	return 0;
}
