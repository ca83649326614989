/* The table of keys as data, and what is looked up in it. */
#include "spec/keys.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

const struct spec_key_info spec_keys[SPEC_KEY_COUNT] = {
#define KEY(id, section_, name_, type_, main_, repeatable_, adds_, min_, max_, flag_, metavar_,    \
	    help_, example_, fallback_, since_)                                                    \
	[SPEC_##id] = {                                                                            \
		.section = SPEC_SECTION_##section_,                                                \
		.name = name_,                                                                     \
		.type = SPEC_TYPE_##type_,                                                         \
		.main = main_,                                                                     \
		.repeatable = repeatable_,                                                         \
		.adds = adds_,                                                                     \
		.min = min_,                                                                       \
		.max = max_,                                                                       \
		.flag = flag_,                                                                     \
		.metavar = metavar_,                                                               \
		.help = help_,                                                                     \
		.example = example_,                                                               \
		.fallback = fallback_,                                                             \
		.since = since_,                                                                   \
	},
#include "spec/keys.def"
#undef KEY
};

const struct spec_section_info spec_sections[SPEC_SECTION_COUNT] = {
#define SECTION(id, name_, help_) [SPEC_SECTION_##id] = {.name = name_, .help = help_},
#include "spec/sections.def"
#undef SECTION
};

const char *const keys_os[KEYS_OS_COUNT] = {
	[SPEC_OS_LINUX] = "linux",
	[SPEC_OS_MACOS] = "macos",
};

static bool same(const char *name, const char *s, size_t len)
{
	return strlen(name) == len && memcmp(name, s, len) == 0;
}

enum spec_key keys_find(enum spec_section section, const char *name, size_t len)
{
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == section && same(spec_keys[k].name, name, len)) {
			return k;
		}
	}
	return SPEC_KEY_COUNT;
}

enum spec_section keys_find_section(const char *name, size_t len)
{
	for (enum spec_section s = 0; s < SPEC_SECTION_COUNT; s++) {
		if (s != SPEC_SECTION_ROOT && same(spec_sections[s].name, name, len)) {
			return s;
		}
	}
	return SPEC_SECTION_COUNT;
}

unsigned keys_find_os(const char *name, size_t len)
{
	for (unsigned os = 0; os < KEYS_OS_COUNT; os++) {
		if (same(keys_os[os], name, len)) {
			return os;
		}
	}
	return KEYS_OS_COUNT;
}

enum spec_key spec_key_by_flag(const char *flag)
{
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].flag != NULL && str_eq(spec_keys[k].flag, flag)) {
			return k;
		}
	}
	return SPEC_KEY_COUNT;
}

const char *keys_type_text(enum spec_type type)
{
	switch (type) {
	case SPEC_TYPE_TEXT:
	case SPEC_TYPE_MODE:
		return "a string";
	case SPEC_TYPE_NUMBER:
		return "an integer";
	case SPEC_TYPE_BOOL:
		return "true or false";
	case SPEC_TYPE_PORTS:
		return "a list of integers";
	case SPEC_TYPE_PATHS:
	case SPEC_TYPE_HOSTS:
	case SPEC_TYPE_LAN_HOSTS:
	case SPEC_TYPE_HOST_PORTS:
	case SPEC_TYPE_TOOLS:
	case SPEC_TYPE_COMMANDS:
	default:
		return "a list of strings";
	}
}

const char *keys_main_text(enum spec_section section, char *out, size_t cap)
{
	size_t used = 0;

	out[0] = '\0';
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT && used < cap; k++) {
		if (spec_keys[k].section == section && spec_keys[k].main) {
			used += (size_t)snprintf(out + used, cap - used, "%s%s",
						 used > 0 ? " or " : "", spec_keys[k].name);
		}
	}
	return out;
}

/* --- did you mean ------------------------------------------------------------------------- */

/* Names that other programs use for what a spec calls otherwise. */
static const struct {
	const char *other, *ours;
} aliases[] = {
	{"darwin", "macos"},      {"mac", "macos"},       {"osx", "macos"},
	{"network_mode", "mode"}, {"rate", "per_minute"}, {"deny", "hide"},
};

struct nearest {
	const char *name;
	size_t distance;
};

static void consider(struct nearest *best, const char *candidate, const char *given)
{
	size_t d = str_distance(candidate, given);

	if (d < best->distance) {
		best->distance = d;
		best->name = candidate;
	}
}

/* The closest name that may stand in this table; NULL when none is close. A third of the letters
 * may be wrong: more is another word. */
static const char *nearest_name(enum spec_section section, const char *given)
{
	struct nearest best = {.distance = strlen(given) / 3 + 2};

	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (str_eq(aliases[i].other, given) &&
		    (keys_find(section, aliases[i].ours, strlen(aliases[i].ours)) !=
			     SPEC_KEY_COUNT ||
		     str_eq(aliases[i].ours, "macos"))) {
			return aliases[i].ours;
		}
	}
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == section) {
			consider(&best, spec_keys[k].name, given);
		}
	}
	if (section == SPEC_SECTION_ROOT) {
		for (enum spec_section s = 0; s < SPEC_SECTION_COUNT; s++) {
			if (s != SPEC_SECTION_ROOT) {
				consider(&best, spec_sections[s].name, given);
			}
		}
	} else {
		consider(&best, keys_os[SPEC_OS_LINUX], given);
		consider(&best, keys_os[SPEC_OS_MACOS], given);
	}
	return best.name;
}

/* All names of a table, for the hint. */
static void list_names(enum spec_section section, char *out, size_t cap)
{
	size_t used = 0;

	out[0] = '\0';
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT && used < cap; k++) {
		if (spec_keys[k].section == section) {
			used += (size_t)snprintf(out + used, cap - used, "%s%s",
						 used > 0 ? ", " : "", spec_keys[k].name);
		}
	}
	for (enum spec_section s = SPEC_SECTION_ROOT + 1;
	     section == SPEC_SECTION_ROOT && s < SPEC_SECTION_COUNT && used < cap; s++) {
		used += (size_t)snprintf(out + used, cap - used, ", [%s]", spec_sections[s].name);
	}
	if (section != SPEC_SECTION_ROOT && used < cap) {
		snprintf(out + used, cap - used, ", and the tables linux and macos");
	}
}

/* The sections that have a key of this name: "[internet] or [lan] or [browser]". */
static size_t sections_with(const char *name, size_t len, char *out, size_t cap)
{
	size_t found = 0;
	size_t used = 0;

	out[0] = '\0';
	for (enum spec_section s = 0; s < SPEC_SECTION_COUNT && used < cap; s++) {
		if (keys_find(s, name, len) == SPEC_KEY_COUNT) {
			continue;
		}
		bool root = s == SPEC_SECTION_ROOT;
		used += (size_t)snprintf(out + used, cap - used, "%s%s%s%s",
					 found > 0 ? " or " : "", root ? "" : "[",
					 root ? "the top of the file" : spec_sections[s].name,
					 root ? "" : "]");
		found++;
	}
	return found;
}

static void add_meant(struct err *err, const char *meant)
{
	size_t n = strlen(err->msg);

	snprintf(err->msg + n, sizeof(err->msg) - n, "; did you mean \"%s\"?", meant);
}

void keys_suggest(enum spec_section section, const char *in, const char *name, size_t len,
		  struct err *err)
{
	char names[200];
	char where[120];
	const char *meant = strlen(name) == len ? nearest_name(section, name) : NULL;

	if (meant != NULL) {
		add_meant(err, meant);
	} else if (sections_with(name, len, where, sizeof(where)) > 0) {
		err_hint(err, "%s belongs in %s", name, where);
		return;
	} else if (section != SPEC_SECTION_ROOT &&
		   keys_find_section(name, len) != SPEC_SECTION_COUNT) {
		err_hint(err, "[%s] is a section of its own, beside [%s]", name, in);
		return;
	}
	list_names(section, names, sizeof(names));
	if (section == SPEC_SECTION_ROOT) {
		err_hint(err, "a spec has %s", names);
	} else {
		err_hint(err, "[%s] has %s", in, names);
	}
}
