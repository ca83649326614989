/* TOML 1.0 (https://toml.io/en/v1.0.0), the whole language, read into a tree in which every key
 * and value knows its line and column. Pure: bytes in, tree out. Every byte is hostile. */
#ifndef LNK_SPEC_TOML_H
#define LNK_SPEC_TOML_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many tables and arrays may lie around a value, whether written with brackets, in headers or
 * as the parts of a dotted key; deeper is an error, so that the stack of the reader and of those
 * who walk the tree stays small. Files that people write need far less. */
#define TOML_DEPTH_MAX 128

enum toml_type {
	TOML_STRING,
	TOML_INTEGER,
	TOML_FLOAT,
	TOML_BOOL,
	TOML_OFFSET_DATETIME,
	TOML_LOCAL_DATETIME,
	TOML_LOCAL_DATE,
	TOML_LOCAL_TIME,
	TOML_ARRAY,
	TOML_TABLE,
};

/* Both 1-based. The column counts characters (Unicode code points), as editors do. */
struct toml_pos {
	unsigned line;
	unsigned col;
};

struct toml_value;

struct toml_entry {
	const char *key;         /* NUL-terminated; may hold further NULs, see key_len */
	size_t key_len;          /* bytes */
	struct toml_pos key_pos; /* where the key's part of a dotted key or header stands */
	struct toml_value *value;
};

struct toml_value {
	enum toml_type type;
	struct toml_pos pos; /* first character of the value; of a [table], its header's '[' */
	union {
		struct {
			const char *s; /* NUL-terminated; may hold further NULs */
			size_t len;    /* bytes */
		} str; /* TOML_STRING (line ends in it are LF), and the date types in
			  normal form: "1979-05-27T07:32:00.5Z", 'T' and 'Z' in
			  capitals */
		int64_t integer;
		double number;
		bool boolean;
		struct {
			struct toml_value **v;
			size_t n;
			size_t cap;
		} array;
		struct {
			struct toml_entry *v; /* in the order of the file */
			size_t n;
			size_t cap;
		} table;
	} u;
};

/* Reads `len` bytes at `data` (need not be NUL-terminated). Everything is allocated in `arena`.
 * On success *ret_root is the root table and true is returned. Otherwise false, and `errs` (which
 * the caller zeroed) has at least one error with line, column and the source line; `name` is put
 * into err.file as it is. After an error the reader goes on at the next line where that makes
 * sense, so that several mistakes are reported at once. Does not limit `len`: the caller does. */
bool toml_read(const char *name, const char *data, size_t len, struct arena *arena,
	       struct toml_value **ret_root, struct err_list *errs);

/* The entry of `table` with exactly this key (a C string), or NULL. */
const struct toml_entry *toml_find(const struct toml_value *table, const char *key);

/* "string", "integer", "array" … as the TOML specification calls them. Static. */
const char *toml_type_name(enum toml_type type);

/* Copies line `line` (1-based) of the text into `out`, without its end, cut to fit. For
 * err.source. Leaves "" when there is no such line. */
void toml_source_line(const char *data, size_t len, unsigned line, char *out, size_t cap);

#endif
