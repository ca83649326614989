/* The values of one tool, and looking tools up. */
#include "broker/tools.h"

#include "base/str.h"
#include "broker/profiles.h"
#include "spec/values.h"

#include <string.h>

void tools_place(const struct machine *machine, struct arena *arena, struct tools_place *ret_place)
{
	size_t n = machine->link_folders.n;
	const char **closed = arena_alloc(arena, 2 * n * sizeof(*closed));

	for (size_t i = 0; i < n; i++) {
		closed[2 * i] = value_join("/", machine->link_folders.v[i].name, arena);
		closed[2 * i + 1] = machine->link_folders.v[i].real;
	}
	*ret_place = (struct tools_place){
		.home = value_join("/", machine->home.name, arena),
		.uid = machine->uid,
		.closed = closed,
		.nclosed = 2 * n,
	};
}

const char *tools_path(const struct machine *machine, struct arena *arena)
{
	/* The first of Link's folders is the one of its settings. */
	return value_join(machine->link_folders.v[0].name, "tools.toml", arena);
}

const struct tool *tools_find(const struct tools *tools, const char *name)
{
	for (size_t i = 0; i < tools->n; i++) {
		if (str_eq(tools->v[i].name, name)) {
			return &tools->v[i];
		}
	}
	return NULL;
}

const struct profile *tool_profile_for(const char *name, const char *program)
{
	const struct profile *profile = profile_find(name);

	return profile != NULL ? profile : profile_find(path_base(program));
}

/* --- names -------------------------------------------------------------------------------- */

bool tool_name_check(const char *s, size_t len, struct err *err)
{
	struct arena none = {NULL};
	struct spec_item ignored;
	static const struct value_place nowhere = {"/", "/", true};

	/* By the rule for [tools] names: what can be added can be named there. */
	return value_read(SPEC_TOOLS_NAMES, s, len, &nowhere, &none, &ignored, err);
}

bool tool_env_check(const char *s, size_t len, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";
	char shown[VALUE_SHOWN_MAX];
	const char *equals = memchr(s, '=', len);

	if (len > 0 && len <= 128 && strspn(s, letters) == len && (s[0] < '0' || s[0] > '9')) {
		return true;
	}
	err_set(err, ERR_SPEC, 0, "%s is not a variable's name", value_shown(s, len, shown));
	if (equals != NULL && equals > s) {
		return err_hint(err, "give its name only; the tool gets the value that you have");
	}
	return err_hint(err, "a name has letters, digits and \"_\", such as GH_HOST");
}

/* --- patterns ----------------------------------------------------------------------------- */

static bool pattern_text(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	value_shown(s, len, shown);
	if (len > TOOL_PATTERN_MAX) {
		err_set(err, ERR_SPEC, 0, "a pattern of %zu bytes is too long; %d is the most", len,
			TOOL_PATTERN_MAX);
		return err_hint(err, "end it with *, which stands for any further arguments");
	}
	if (!str_is_utf8(s, len)) {
		err_set(err, ERR_SPEC, 0, "the pattern %s is not UTF-8", shown);
		return err_hint(err, "write * for what cannot be written");
	}
	for (size_t i = 0; i < len; i++) {
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f) {
			err_set(err, ERR_SPEC, 0, "the pattern %s holds a control character",
				shown);
			return err_hint(err, "write * for what cannot be written");
		}
		if (s[i] == '"' || s[i] == '\'' || s[i] == '`') {
			err_set(err, ERR_SPEC, 0, "the pattern %s holds a quote", shown);
			return err_hint(err, "a pattern is words with spaces between them; * in a "
					     "word stands for any characters, spaces included");
		}
	}
	return true;
}

/* The words of `s` with one space between them; *ret_words counts them. */
static const char *normal_form(const char *s, struct arena *arena, size_t *ret_words)
{
	char *out = arena_alloc(arena, strlen(s) + 1);
	size_t n = 0;

	*ret_words = 0;
	while (*s != '\0') {
		size_t len = strcspn(s, " \t");

		if (len > 0) {
			if (n > 0) {
				out[n++] = ' ';
			}
			memcpy(out + n, s, len);
			n += len;
			*ret_words += 1;
		}
		s += len + (s[len] != '\0' ? 1 : 0);
	}
	return out;
}

bool tool_pattern(const char *tool, const char *s, size_t len, struct arena *arena,
		  const char **ret_pattern, struct err *err)
{
	const char *pattern;
	size_t words;
	size_t n = strlen(tool);

	if (!pattern_text(s, len, err)) {
		return false;
	}
	pattern = normal_form(s, arena, &words);
	if (words == 0) {
		err_set(err, ERR_SPEC, 0, "a pattern is empty");
		return err_hint(err, "write the words of a command, such as 'pr view *'");
	}
	if (words > TOOL_WORDS_MAX) {
		err_set(err, ERR_SPEC, 0, "a pattern of %zu words is too long; %d is the most",
			words, TOOL_WORDS_MAX);
		return err_hint(err, "end it with *, which stands for any further arguments");
	}
	if (strspn(pattern, "* ") == strlen(pattern)) {
		err_set(err, ERR_SPEC, 0, "the pattern \"%s\" is every call", pattern);
		return err_hint(err, "name a command, such as 'pr view *'; to allow all arguments: "
				     "--any, or any = true in the file");
	}
	if (strncmp(pattern, tool, n) == 0 && (pattern[n] == ' ' || pattern[n] == '\0')) {
		err_set(err, ERR_SPEC, 0, "the pattern \"%.80s\" begins with the tool's own name",
			pattern);
		return err_hint(err,
				"a pattern is about the arguments, which come after it: '%.80s'",
				pattern[n] == ' ' ? pattern + n + 1 : "pr view *");
	}
	*ret_pattern = pattern;
	return true;
}

/* --- paths -------------------------------------------------------------------------------- */

bool tool_path_check(const char *path, const struct tools_place *place, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	value_shown(path, strlen(path), shown);
	if (path_within(place->home, path)) {
		err_set(err, ERR_SPEC, 0, "%s is %s", shown,
			str_eq(path, place->home) ? "your whole home" : "a folder above your home");
		return err_hint(err,
				"name what the tool itself needs, such as ~/.config/gh: what it "
				"reads, it may give away");
	}
	for (size_t i = 0; i < place->nclosed; i++) {
		if (path_within(path, place->closed[i]) || path_within(place->closed[i], path)) {
			err_set(err, ERR_SPEC, 0, "%s %s Link's own folder %s", shown,
				path_within(path, place->closed[i]) ? "lies in" : "holds",
				place->closed[i]);
			return err_hint(err, "name what the tool itself needs, such as "
					     "~/.config/gh");
		}
	}
	return true;
}

bool tool_path(const char *s, size_t len, const char *folder, const struct tools_place *place,
	       struct arena *arena, const char **ret_path, struct err *err)
{
	const struct value_place at = {
		.folder = folder != NULL ? folder : "/",
		.home = place->home,
		.strict = folder == NULL,
	};
	struct spec_item item;
	char shown[VALUE_SHOWN_MAX];

	if (!value_read(SPEC_FILES_READ, s, len, &at, arena, &item, err)) {
		return false;
	}
	value_shown(s, len, shown);
	if (!str_is_utf8(s, len) || !str_is_utf8(at.folder, strlen(at.folder))) {
		err_set(err, ERR_SPEC, 0, "the path %s is not UTF-8, as tools.toml must be", shown);
		return err_hint(err, "name the folder that it lies in");
	}
	if (folder == NULL && s[0] != '/' && s[0] != '~') {
		err_set(err, ERR_SPEC, 0, "the path %s is relative, and to nothing", shown);
		return err_hint(err, "write it whole, or from your home on: ~/...");
	}
	if (!tool_path_check(item.path, place, err)) {
		return false;
	}
	*ret_path = item.path;
	return true;
}
