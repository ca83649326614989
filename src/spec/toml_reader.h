/* What the files of the TOML reader share; nobody else includes this.
 *
 *   toml.c         lines, headers, keys with values; the public functions
 *   toml_lex.c     the cursor, errors, blanks and comments, going on after an error
 *   toml_key.c     dotted keys
 *   toml_value.c   arrays, inline tables, words without quotes
 *   toml_string.c  the four kinds of strings
 *   toml_number.c  integers and floats
 *   toml_date.c    dates and times
 *   toml_table.c   which key may be given where, and once
 *
 * The text is known to be UTF-8 before the first of them runs. Each error is reported where it is
 * found, at most one for a line; what follows is read as if it were right wherever that is clear,
 * else skipped, so that one mistake does not bring a second message. */
#ifndef LNK_SPEC_TOML_READER_H
#define LNK_SPEC_TOML_READER_H

#include "spec/toml.h"

/* Where the reader is. Copied to look ahead and put back. */
struct toml_cursor {
	size_t at;         /* offset of the next byte */
	size_t line_start; /* offset of the first byte of its line */
	unsigned line;
	size_t col_at; /* an offset of this line whose column is known… */
	unsigned col;  /* …and that column, so that long lines are not counted again and again */
};

/* A key as written: `a . "b c"` has two parts. */
struct toml_part {
	const char *s;
	size_t len;
	struct toml_pos pos;
};

/* One part more than the depth allows is never stored; see toml_read_key. */
struct toml_key {
	struct toml_part part[TOML_DEPTH_MAX];
	size_t n;
};

/* How a table or array came to be, which decides what may still be added to it. */
enum toml_made {
	TOML_BY_PATH,   /* [a.b] makes a; [a] may still come, once */
	TOML_BY_HEADER, /* [a], or one entry of [[a]] */
	TOML_BY_DOTS,   /* a.b = 1 makes a */
	TOML_BY_VALUE,  /* { … } or [ … ]: complete as it stands */
	TOML_BY_AOT,    /* the array of all [[a]] */
};

/* An entry's place in the search tree of its table. 0 is none, 1 the first entry. */
struct toml_link {
	uint32_t left;
	uint32_t right;
	uint32_t level;
};

/* A table or an array. The value comes first: a value of these types lies in a node. */
struct toml_node {
	struct toml_value value;
	enum toml_made made;
	unsigned depth; /* of the root: 0 */
	uint32_t top;   /* of the search tree */
	struct {
		struct toml_link *v;
		size_t n;
		size_t cap;
	} links;
};

struct toml_reader {
	const char *name;
	const char *text; /* without the byte order mark */
	size_t len;
	struct toml_cursor cur;
	struct arena *arena;
	struct err_list *errs;
	unsigned err_line;   /* of the last error */
	struct err spare;    /* takes errors that are not kept */
	int open_quote;      /* of a string that its line did not close, until toml_skip; else 0 */
	char *scratch;       /* len + 1 bytes: a string or number while it is decoded */
	struct toml_key key; /* the one being read; nested tables use it again */
	struct toml_node *root;
	struct toml_node *table; /* where keys go now */
};

/* What became of a value. */
enum toml_got {
	TOML_GOT_IT,   /* the cursor is behind it (errors inside it may have been reported) */
	TOML_GOT_BAD,  /* reported; the cursor is inside it, the list around it may go on */
	TOML_GOT_LOST, /* reported; the whole statement is given up */
};

/* --- toml_lex.c: the cursor --- */

/* The byte `ahead` of the cursor, -1 behind the end. */
int toml_peek(const struct toml_reader *r, size_t ahead);

/* True when the text at the cursor begins with `s`. */
bool toml_looking_at(const struct toml_reader *r, const char *s);

/* True at LF, at CR LF, and at the end of the text. */
bool toml_at_line_end(const struct toml_reader *r);

/* Steps over one line end. False when there is none (also at the end of the text). */
bool toml_newline(struct toml_reader *r);

/* Line and column of the cursor. */
struct toml_pos toml_here(struct toml_reader *r);

/* The same `bytes` further on, where all of these are ASCII and on one line. */
struct toml_pos toml_pos_plus(struct toml_pos pos, size_t bytes);

/* True for the bytes of a key without quotes. */
bool toml_is_bare(int c);

/* Steps over spaces and tabs. */
void toml_blanks(struct toml_reader *r);

/* Steps over a comment, if there is one, up to the line's end. Reports control characters. */
void toml_comment(struct toml_reader *r);

/* Steps over blanks, comments and line ends. */
void toml_gap(struct toml_reader *r);

/* Length and code point of the UTF-8 sequence at `s` of `n` bytes (n > 0); 0 when it is none. */
size_t toml_utf8(const char *s, size_t n, uint32_t *ret_cp);

/* Reports the first byte that is not UTF-8. True when there is none. */
bool toml_check_utf8(struct toml_reader *r);

/* --- toml_lex.c: errors --- */

/* Reports an error at `pos`, for err_hint to add to; a second one for the same line is dropped.
 * Never NULL. */
struct err *toml_fail(struct toml_reader *r, struct toml_pos pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* If the character at the cursor is one that TOML allows nowhere (control characters, bare CR) or
 * that only looks right (blanks and quotes of other scripts), reports that and returns true. */
bool toml_odd_character(struct toml_reader *r);

/* True for bytes that may not stand in strings and comments: control characters but tab. */
bool toml_is_control(int c);

/* Reports the control character at the cursor, inside a string, and steps over it. */
void toml_bad_control(struct toml_reader *r);

/* `s` made printable and cut to fit `out`; NUL bytes are shown, too. Returns `out`. */
const char *toml_show(const char *s, size_t len, char *out, size_t cap);

/* Room for what toml_show makes of a piece of the file inside a message. */
#define TOML_SHOW_MAX 80

/* --- toml_lex.c: going on --- */

/* True when a [header] that can be no array stands alone on the line at the cursor. */
bool toml_at_header(const struct toml_reader *r);

/* True when the line at the cursor is such a header or begins with `key =`. */
bool toml_at_statement(const struct toml_reader *r);

/* Skips a bad piece up to the line's end, brackets and strings in it whole, over more lines where
 * they are; stops before a line that begins a statement. `in_list`: stops before the next ',' or
 * closing bracket, too. A string that was not closed on its line may have been meant to go on on
 * the next one: the part up to its quote is skipped as well. */
void toml_skip(struct toml_reader *r, bool in_list);

/* From inside an inline table: behind its '}' on a later line; false, and nothing moves, when
 * there is none before the next header. */
bool toml_skip_to_brace(struct toml_reader *r);

/* --- the other files --- */

/* A key up to its '=' or ']'. False when it was reported; `what` is "key" or "table name". */
bool toml_read_key(struct toml_reader *r, struct toml_key *key, const char *what);

/* `a.b."c d"` up to part `n`, printable. Returns `out`. */
const char *toml_show_key(const struct toml_key *key, size_t n, char *out, size_t cap);

/* A value that would lie `depth` below the root. */
enum toml_got toml_read_value(struct toml_reader *r, unsigned depth, bool in_list,
			      struct toml_value **ret_value);

/* A string; the cursor is at its quote. Multi-line ones only where `lines`. The text is copied to
 * the arena. TOML_GOT_BAD: not closed, the cursor is at the line's (or the text's) end. */
enum toml_got toml_read_string(struct toml_reader *r, bool lines, const char **ret_s,
			       size_t *ret_len);

/* What reading a word as a number or date found. */
enum toml_word {
	TOML_WORD_READ,     /* it is one */
	TOML_WORD_REPORTED, /* nearly one: the mistake was reported */
	TOML_WORD_OTHER,    /* something else */
};

/* The word `s` that stands at `value->pos`, as a number. */
enum toml_word toml_read_number(struct toml_reader *r, const char *s, size_t len,
				struct toml_value *value);

/* The same as a date or time. */
enum toml_word toml_read_date(struct toml_reader *r, const char *s, size_t len,
			      struct toml_value *value);

/* A new table or array. */
struct toml_node *toml_new_node(struct toml_reader *r, enum toml_type type, enum toml_made made,
				struct toml_pos pos, unsigned depth);

/* The table that [key] or [[key]] at `pos` opens; NULL when it may not, reported. */
struct toml_node *toml_open_header(struct toml_reader *r, const struct toml_key *key,
				   struct toml_pos pos, bool array);

/* Makes the tables of a dotted key inside `base` and returns the one that its last part belongs
 * to; NULL when the key may not be given there, reported. */
struct toml_node *toml_place_key(struct toml_reader *r, struct toml_node *base,
				 const struct toml_key *key);

/* Appends an entry whose key is known to be new. */
void toml_add(struct toml_reader *r, struct toml_node *table, const struct toml_part *part,
	      struct toml_value *value);

#endif
