/* Paths and programs. Names only: links are not followed here, and nothing is looked up. */
#include "base/str.h"
#include "spec/values_inner.h"

#include <limits.h>
#include <string.h>

/* A path as it is taken apart: absolute, no slash at the end, "" for "/". */
struct builder {
	char *s;
	size_t len;
	bool dotdot;   /* met ".." */
	bool too_long; /* met a part over NAME_MAX */
};

static void add_part(struct builder *b, const char *part, size_t n)
{
	if (n == 0 || (n == 1 && part[0] == '.')) {
		return;
	}
	if (n == 2 && part[0] == '.' && part[1] == '.') {
		b->dotdot = true;
		while (b->len > 0 && b->s[--b->len] != '/') {
		}
		return;
	}
	b->too_long |= n > NAME_MAX;
	b->s[b->len++] = '/';
	memcpy(b->s + b->len, part, n);
	b->len += n;
}

static void add_parts(struct builder *b, const char *s)
{
	while (*s != '\0') {
		size_t n = strcspn(s, "/");

		add_part(b, s, n);
		s += n + (s[n] == '/' ? 1 : 0);
	}
}

/* `name` after `folder`, each part checked. */
static struct builder build(const char *folder, const char *name, struct arena *arena)
{
	size_t base = name[0] == '/' ? 0 : strlen(folder);
	struct builder b = {.s = arena_alloc(arena, base + strlen(name) + 3)};

	if (base > 0) {
		add_parts(&b, folder);
		b.dotdot = false;
		b.too_long = false;
	}
	add_parts(&b, name);
	if (b.len == 0) {
		b.s[b.len++] = '/';
	}
	b.s[b.len] = '\0';
	return b;
}

const char *value_join(const char *folder, const char *name, struct arena *arena)
{
	return build(folder, name, arena).s;
}

/* The folder part before the first wildcard, for a hint. */
static void glob_refused(const char *s, size_t glob, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	size_t n = glob;

	while (n > 0 && s[n - 1] != '/') {
		n--;
	}
	err_set(err, ERR_SPEC, 0, "%s holds \"%c\", and a path has no wildcards",
		value_shown(s, strlen(s), shown), s[glob]);
	if (n == 0) {
		err_hint(err, "name the folder itself: all below it is meant");
		return;
	}
	err_hint(err, "name the folder, all below it is meant: %s",
		 value_shown(s, n > 1 ? n - 1 : n, shown));
}

static bool control_refused(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	err_set(err, ERR_SPEC, 0, "%s holds a control character", value_shown(s, len, shown));
	return err_hint(err, "a name on one line, without tabs, newlines or NUL");
}

static bool has_control(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) {
			return true;
		}
	}
	return false;
}

static bool starts_with_variable(const char *s)
{
	return s[0] == '$' && (s[1] == '{' || s[1] == '_' || (s[1] >= 'A' && s[1] <= 'Z') ||
			       (s[1] >= 'a' && s[1] <= 'z'));
}

/* What cannot be a path of a spec at all, by its text alone. */
static bool text_allowed(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	if (len == 0) {
		err_set(err, ERR_SPEC, 0, "a path is empty");
		return err_hint(err,
				"name a folder or file; \".\" is the folder that relative paths "
				"start from");
	}
	if (has_control(s, len)) {
		return control_refused(s, len, err);
	}
	size_t glob = strcspn(s, "*?[");
	if (glob < len) {
		glob_refused(s, glob, err);
		return false;
	}
	if (s[0] == '~' && s[1] != '\0' && s[1] != '/') {
		err_set(err, ERR_SPEC, 0,
			"%s: \"~\" is your own home, and a name after it is not read",
			value_shown(s, len, shown));
		return err_hint(err,
				"write the whole path, or ./ before a name that begins with ~");
	}
	if (starts_with_variable(s)) {
		err_set(err, ERR_SPEC, 0, "%s: variables are not read in a path",
			value_shown(s, len, shown));
		return err_hint(err, "write ~ for your home, or the path itself");
	}
	return true;
}

/* The path that was meant, whole, so that it can be copied. */
static bool without_parents(const char *path, const char *slash, const struct value_place *place,
			    struct err *err)
{
	char clean[400];
	bool home = path_within(path, place->home) && !str_eq(place->home, "/");

	str_printable(home ? path + strlen(place->home) : path, clean, sizeof(clean));
	return err_hint(err, "write the path without it: \"%s%s%s\"", home ? "~" : "", clean,
			path[1] == '\0' ? "" : slash);
}

static bool read_path(const char *s, size_t len, const struct value_place *place,
		      struct arena *arena, const char **ret_path, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	bool home = s[0] == '~';
	struct builder b;

	if (len >= PATH_MAX) {
		err_set(err, ERR_SPEC, 0, "a path of %zu bytes is too long; %d is the most", len,
			PATH_MAX - 1);
		return err_hint(err, "name a folder above it");
	}
	b = build(home ? place->home : place->folder, home ? s + 1 + strspn(s + 1, "/") : s, arena);
	if (b.dotdot && place->strict) {
		err_set(err, ERR_SPEC, 0, "%s holds \"..\"", value_shown(s, len, shown));
		return without_parents(b.s, s[len - 1] == '/' ? "/" : "", place, err);
	}
	if (b.len >= PATH_MAX || b.too_long) {
		err_set(err, ERR_SPEC, 0, "%s is too long: %d bytes at most, %d in one name",
			value_shown(s, len, shown), PATH_MAX - 1, NAME_MAX);
		return err_hint(err, "name a folder above it");
	}
	*ret_path = b.s;
	return true;
}

bool value_path(const char *s, size_t len, const struct value_place *place, struct arena *arena,
		const char **ret_path, struct err *err)
{
	return text_allowed(s, len, err) && read_path(s, len, place, arena, ret_path, err);
}

/* A program looked up through PATH. "[" is one. */
static bool program_name(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	if (str_eq(s, ".") || str_eq(s, "..")) {
		err_set(err, ERR_SPEC, 0, "\"%s\" is a folder, not a program", s);
		return err_hint(err, "end a folder of programs with a slash: \"%s/\"", s);
	}
	if (len > NAME_MAX) {
		err_set(err, ERR_SPEC, 0, "%s is too long for a program's name",
			value_shown(s, len, shown));
		return err_hint(err, "a name has at most %d bytes", NAME_MAX);
	}
	if (!str_eq(s, "[") && strpbrk(s, "*?[") != NULL) {
		err_set(err, ERR_SPEC, 0, "%s: a program's name has no wildcards",
			value_shown(s, len, shown));
		return err_hint(err,
				"name each program, a folder of programs ending in /, or \"*\" "
				"alone for any");
	}
	return true;
}

bool value_command(const char *s, size_t len, const struct value_place *place, struct arena *arena,
		   struct spec_item *item, struct err *err)
{
	if (len == 0) {
		err_set(err, ERR_SPEC, 0, "a program's name is empty");
		return err_hint(err, "name a program (\"git\"), a path, or a folder ending in /");
	}
	if (has_control(s, len)) {
		return control_refused(s, len, err);
	}
	if (str_eq(s, "*")) {
		return true;
	}
	if (s[0] == '~' && s[1] == '\0') {
		err_set(err, ERR_SPEC, 0, "\"~\" is a folder, not a program");
		return err_hint(err, "end a folder of programs with a slash: \"~/bin/\"");
	}
	if (strchr(s, '/') == NULL && s[0] != '~') {
		return program_name(s, len, err);
	}
	if (!value_path(s, len, place, arena, &item->path, err)) {
		return false;
	}
	item->folder = s[len - 1] == '/';
	return true;
}

bool value_text(const char *s, size_t len, struct err *err)
{
	if (len == 0) {
		err_set(err, ERR_SPEC, 0, "a name is empty");
		return err_hint(err, "leave the key out, or give it a text: name = \"app\"");
	}
	return has_control(s, len) ? control_refused(s, len, err) : true;
}
