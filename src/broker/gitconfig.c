/* The reader takes each byte as git's own does (config.c there: a line's end by CR LF, the end of
 * the file as a line's end, what counts as space), so that both see the same keys; where that one
 * gives up, this one does. */
#include "broker/gitconfig.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct kept {
	const char *section;
	bool named;
	const char *key;
};

static const struct kept kept[] = {
#define KEEP(section, named, key) {section, named, key},
#include "broker/gitconfig.def"
};

struct bytes {
	char *v;
	size_t n;
	size_t cap;
};

struct reader {
	const char *text;
	size_t len;
	size_t at;   /* of the next byte */
	size_t seen; /* of the one that was read last */
	bool end;
	const char *file;
	struct arena *arena;
	struct bytes section; /* "remote", or "remote.origin"; empty: none yet */
	struct bytes key;
	struct bytes value;
	bool has_value;
	struct gitconfig *config;
	struct err *err;
};

/* Line and column of the byte that was read last. */
static bool fail(struct reader *r, const char *what)
{
	struct origin from = {.file = r->file, .line = 1, .col = 1};

	for (size_t i = 0; i < r->seen && i < r->len; i++) {
		if (r->text[i] == '\n') {
			from.line++;
			from.col = 1;
		} else if (((unsigned char)r->text[i] & 0xc0) != 0x80) {
			from.col++;
		}
	}
	err_set(r->err, ERR_NOT_PERMITTED, 0, "in the repository's settings: %s", what);
	return err_at(r->err, &from);
}

/* The end of the file is a line's end, for ever. */
static char next(struct reader *r)
{
	r->seen = r->at;
	if (r->at >= r->len) {
		r->end = true;
		return '\n';
	}
	char c = r->text[r->at++];
	if (c == '\r' && r->at < r->len && r->text[r->at] == '\n') {
		r->at++;
		return '\n';
	}
	return c;
}

static void put(struct reader *r, struct bytes *to, char c)
{
	ARENA_PUSH(r->arena, to, c);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Behind `[remote `: "origin"]. */
static bool read_subsection(struct reader *r, char c)
{
	while (is_space(c)) {
		if (c == '\n') {
			return fail(r, "the line ends in the middle of a section's name");
		}
		c = next(r);
	}
	if (c != '"') {
		return fail(r, "a quotation mark is missing in a section's name");
	}
	put(r, &r->section, '.');
	for (;;) {
		c = next(r);
		if (c == '"') {
			break;
		}
		if (c == '\\') {
			c = next(r);
		}
		if (c == '\n') {
			return fail(r, "the line ends in the middle of a section's name");
		}
		put(r, &r->section, c);
	}
	return next(r) == ']' || fail(r, "\"]\" is missing behind a section's name");
}

static bool read_section(struct reader *r)
{
	r->section.n = 0;
	for (;;) {
		char c = next(r);

		if (c == ']') {
			break;
		}
		if (is_space(c)) {
			if (!read_subsection(r, c)) {
				return false;
			}
			break;
		}
		if (!is_name(c) && c != '.') {
			return fail(r, "a character that no section's name may have");
		}
		put(r, &r->section, small(c));
	}
	return (r->section.n > 0 && r->section.v[0] != '.') || fail(r, "a section has no name");
}

/* Behind a backslash. False: no such escape. */
static bool read_escape(struct reader *r)
{
	char c = next(r);

	switch (c) {
	case '\n':
		return true; /* the value goes on in the next line */
	case 't':
		c = '\t';
		break;
	case 'b':
		c = '\b';
		break;
	case 'n':
		c = '\n';
		break;
	case '\\':
	case '"':
		break;
	default:
		return fail(r, "an escape that git does not know");
	}
	put(r, &r->value, c);
	return true;
}

static bool read_value(struct reader *r)
{
	bool quoted = false;
	bool comment = false;
	size_t used = 0; /* of the value, without the space behind it */

	for (;;) {
		char c = next(r);

		if (c == '\n') {
			break;
		}
		if (comment) {
			continue;
		}
		if (!quoted && is_space(c)) {
			if (r->value.n > 0) {
				put(r, &r->value, c);
			}
			continue;
		}
		if (!quoted && (c == ';' || c == '#')) {
			comment = true;
			continue;
		}
		if (c == '"') {
			quoted = !quoted;
		} else if (c != '\\') {
			put(r, &r->value, c);
		} else if (!read_escape(r)) {
			return false;
		}
		used = r->value.n;
	}
	r->value.n = used;
	return !quoted || fail(r, "the line ends in the middle of a quoted value");
}

static bool read_key(struct reader *r, char c)
{
	if (r->section.n == 0) {
		return fail(r, "a key before the first section");
	}
	r->key.n = 0;
	r->value.n = 0;
	for (; is_name(c); c = next(r)) {
		put(r, &r->key, small(c));
	}
	while (c == ' ' || c == '\t') {
		c = next(r);
	}
	r->has_value = c != '\n';
	return !r->has_value ||
	       (c == '=' ? read_value(r) : fail(r, "\"=\" is missing behind a key"));
}

/* --- what is kept --------------------------------------------------------------------------- */

static bool is(const struct bytes *bytes, size_t from, size_t to, const char *word)
{
	return bytes->n > 0 && to - from == strlen(word) &&
	       memcmp(bytes->v + from, word, to - from) == 0;
}

static bool value_is(const struct reader *r, const char *word)
{
	return r->value.n == strlen(word) &&
	       (r->value.n == 0 || strncasecmp(r->value.v, word, r->value.n) == 0);
}

/* Where the section's own name begins: behind the first dot. 0: it has none. */
static size_t own_name(const struct bytes *section)
{
	const char *dot = section->n > 0 ? memchr(section->v, '.', section->n) : NULL;

	return dot != NULL ? (size_t)(dot - section->v) + 1 : 0;
}

static bool is_kept(const struct reader *r)
{
	size_t name = own_name(&r->section);
	size_t end = name > 0 ? name - 1 : r->section.n;

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (kept[i].named == (name > 0) && is(&r->section, 0, end, kept[i].section) &&
		    is(&r->key, 0, r->key.n, kept[i].key)) {
			return true;
		}
	}
	return false;
}

static void write_bytes(struct reader *r, const char *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ARENA_PUSH(r->arena, &r->config->text, v[i]);
	}
}

static void write_text(struct reader *r, const char *text)
{
	write_bytes(r, text, strlen(text));
}

static void write_quoted(struct reader *r, const char *v, size_t n)
{
	write_text(r, "\"");
	for (size_t i = 0; i < n; i++) {
		if (v[i] == '"' || v[i] == '\\') {
			write_text(r, "\\");
		}
		write_bytes(r, v + i, 1);
	}
	write_text(r, "\"");
}

static bool has_control(const struct bytes *bytes)
{
	for (size_t i = 0; i < bytes->n; i++) {
		if ((unsigned char)bytes->v[i] < 0x20 || bytes->v[i] == 0x7f) {
			return true;
		}
	}
	return false;
}

/* Each key with its section again: in git's order, and nothing to remember. */
static bool write_kept(struct reader *r)
{
	size_t name = own_name(&r->section);

	if (has_control(&r->section) || has_control(&r->value)) {
		return fail(r, "control characters in a name or value that is needed");
	}
	write_text(r, "[");
	write_bytes(r, r->section.v, name > 0 ? name - 1 : r->section.n);
	if (name > 0) {
		write_text(r, " ");
		write_quoted(r, r->section.v + name, r->section.n - name);
	}
	write_text(r, "]\n\t");
	write_bytes(r, r->key.v, r->key.n);
	if (r->has_value) {
		write_text(r, " = ");
		write_quoted(r, r->value.v, r->value.n);
	}
	write_text(r, "\n");
	return true;
}

/* Whatever may be a yes counts as one: then one more file is vetted. */
static bool may_be_true(const struct reader *r)
{
	static const char *const no[] = {"", "false", "no", "off", "0"};

	for (size_t i = 0; r->has_value && i < ARRAY_LEN(no); i++) {
		if (value_is(r, no[i])) {
			return false;
		}
	}
	return true;
}

static bool take(struct reader *r)
{
	bool extension = is(&r->section, 0, r->section.n, "extensions");

	if (extension && is(&r->key, 0, r->key.n, "worktreeconfig")) {
		r->config->worktree = may_be_true(r);
		return true;
	}
	if (extension && is(&r->key, 0, r->key.n, "refstorage") && !value_is(r, "files")) {
		fail(r, "its references are stored in a way that git as a tool does not know");
		return err_hint(r->err, "outside: git refs migrate --ref-format=files");
	}
	return !is_kept(r) || write_kept(r);
}

static bool read_all(struct reader *r)
{
	bool comment = false;

	if (r->len >= 3 && memcmp(r->text, "\xef\xbb\xbf", 3) == 0) {
		r->at = 3;
	}
	for (;;) {
		char c = next(r);

		if (c == '\n') {
			if (r->end) {
				return true;
			}
			comment = false;
		} else if (comment || is_space(c)) {
			continue;
		} else if (c == '#' || c == ';') {
			comment = true;
		} else if (c == '[') {
			if (!read_section(r)) {
				return false;
			}
		} else if (!is_letter(c)) {
			return fail(r, "neither a section nor a key nor a comment");
		} else if (!read_key(r, c) || !take(r)) {
			return false;
		}
	}
}

bool gitconfig_vet(const char *text, size_t len, const char *file, struct arena *arena,
		   struct gitconfig *config, struct err *err)
{
	struct reader r = {.text = text,
			   .len = len,
			   .file = file,
			   .arena = arena,
			   .config = config,
			   .err = err};
	const char *nul = len > 0 ? memchr(text, '\0', len) : NULL;

	if (len > GITCONFIG_MAX || nul != NULL) {
		r.seen = nul != NULL ? (size_t)(nul - text) : 0;
		return fail(&r, nul != NULL ? "a NUL character" : "more than a mebibyte");
	}
	return read_all(&r);
}
