/* Reads TOML from standard input (or the file named) and prints the tagged JSON that the toml-test
 * corpus compares with: {"type": "integer", "value": "1"}. Exit 1 with the errors on stderr, one a
 * line as line:col: message, when the text is refused. For test_toml_corpus.py. */
#include "base/arena.h"
#include "base/fd.h"
#include "spec/toml.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INPUT_MAX (1UL << 20)

static void dump_string(const char *s, size_t len)
{
	putchar('"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\') {
			printf("\\%c", c);
		} else if (c < 0x20 || c == 0x7f) {
			printf("\\u%04x", (unsigned)c);
		} else {
			putchar(c);
		}
	}
	putchar('"');
}

static void dump_float(double n)
{
	if (isnan(n)) {
		printf("nan");
	} else if (isinf(n)) {
		printf(n > 0 ? "inf" : "-inf");
	} else {
		printf("%.17g", n);
	}
}

static const char *tag(enum toml_type type)
{
	static const char *const tags[] = {
		[TOML_STRING] = "string",
		[TOML_INTEGER] = "integer",
		[TOML_FLOAT] = "float",
		[TOML_BOOL] = "bool",
		[TOML_OFFSET_DATETIME] = "datetime",
		[TOML_LOCAL_DATETIME] = "datetime-local",
		[TOML_LOCAL_DATE] = "date-local",
		[TOML_LOCAL_TIME] = "time-local",
	};

	return tags[type];
}

static void dump(const struct toml_value *value);

static void dump_scalar(const struct toml_value *value)
{
	printf("{\"type\": \"%s\", \"value\": ", tag(value->type));
	if (value->type == TOML_INTEGER) {
		printf("\"%lld\"", (long long)value->u.integer);
	} else if (value->type == TOML_FLOAT) {
		putchar('"');
		dump_float(value->u.number);
		putchar('"');
	} else if (value->type == TOML_BOOL) {
		printf(value->u.boolean ? "\"true\"" : "\"false\"");
	} else {
		dump_string(value->u.str.s, value->u.str.len);
	}
	putchar('}');
}

static void dump(const struct toml_value *value)
{
	if (value->type == TOML_TABLE) {
		putchar('{');
		for (size_t i = 0; i < value->u.table.n; i++) {
			printf(i > 0 ? ", " : "");
			dump_string(value->u.table.v[i].key, value->u.table.v[i].key_len);
			printf(": ");
			dump(value->u.table.v[i].value);
		}
		putchar('}');
	} else if (value->type == TOML_ARRAY) {
		putchar('[');
		for (size_t i = 0; i < value->u.array.n; i++) {
			printf(i > 0 ? ", " : "");
			dump(value->u.array.v[i]);
		}
		putchar(']');
	} else {
		dump_scalar(value);
	}
}

int main(int argc, char **argv)
{
	auto_arena struct arena arena = {0};
	auto_close int file = -1;
	static struct err_list errs;
	struct toml_value *root = NULL;
	char *data = arena_alloc(&arena, INPUT_MAX);

	if (argc > 1) {
		file = open(argv[1], O_RDONLY | O_CLOEXEC);
		if (file < 0) {
			perror(argv[1]);
			return 2;
		}
	}
	ssize_t len = fd_read_all(argc > 1 ? file : STDIN_FILENO, data, INPUT_MAX);
	if (len < 0) {
		perror("read");
		return 2;
	}
	if (toml_read(argc > 1 ? argv[1] : "-", data, (size_t)len, &arena, &root, &errs)) {
		dump(root);
		putchar('\n');
		return 0;
	}
	for (unsigned i = 0; i < errs.n; i++) {
		const struct err *e = &errs.v[i];

		fprintf(stderr, "%u:%u: %s%s%s\n", e->line, e->col, e->msg,
			e->hint[0] != '\0' ? " | hint: " : "", e->hint);
	}
	return 1;
}
