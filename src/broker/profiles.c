#include "broker/profiles.h"

#include "base/str.h"
#include "spec/values.h"

#include <string.h>

static const struct profile profiles[] = {
#define PROFILE(id, name, depth, abbreviates, help) {PROFILE_##id, name, depth, abbreviates, help},
#include "broker/profiles.def"
};

/* clang-format off */
static const struct profile_row rows[] = {
#define ALLOW(id, pattern) {.of = PROFILE_##id, .kind = PROFILE_ALLOW, .words = pattern},
#define CLOSED(id, pattern, reason)                                                                \
	{.of = PROFILE_##id, .kind = PROFILE_CLOSED, .words = pattern, .why = reason},
#define OPTION(id, letter_, name_, takes_)                                                         \
	{.of = PROFILE_##id, .kind = PROFILE_OPTION, .letter = letter_, .name = name_,             \
	 .takes = PROFILE_TAKES_##takes_},
#define REFUSE(id, where, letter_, name_, value_, reason)                                          \
	{.of = PROFILE_##id, .kind = PROFILE_REFUSE, .words = where, .letter = letter_,            \
	 .name = name_, .value = value_, .why = reason},
#define WORD(id, where, word, reason)                                                              \
	{.of = PROFILE_##id, .kind = PROFILE_WORD, .words = where, .value = word, .why = reason},
#define KNOWN(id, list) {.of = PROFILE_##id, .kind = PROFILE_KNOWN, .words = list},
#define READ(id, path) {.of = PROFILE_##id, .kind = PROFILE_READ, .words = path},
#define WRITE(id, path) {.of = PROFILE_##id, .kind = PROFILE_WRITE, .words = path},
#define ENV(id, variable) {.of = PROFILE_##id, .kind = PROFILE_ENV, .words = variable},
#define SET(id, variable, value_)                                                                  \
	{.of = PROFILE_##id, .kind = PROFILE_SET, .words = variable, .value = value_},
#define PROGRAM(id, path) {.of = PROFILE_##id, .kind = PROFILE_PROGRAM, .words = path},
#include "broker/profiles.def"
};
/* clang-format on */

const struct profile *profile_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
		if (str_eq(profiles[i].name, name)) {
			return &profiles[i];
		}
	}
	return NULL;
}

const struct profile *profile_at(size_t index)
{
	return index < ARRAY_LEN(profiles) ? &profiles[index] : NULL;
}

const struct profile_row *profile_next(const struct profile *profile, enum profile_kind kind,
				       const struct profile_row *after)
{
	enum profile_id id = profile != NULL ? profile->id : PROFILE_COMMON;

	for (size_t i = after != NULL ? (size_t)(after - rows) + 1 : 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].of == id && rows[i].kind == kind) {
			return &rows[i];
		}
	}
	return NULL;
}

static const char *variable(char *const *envp, const char *name, size_t len)
{
	for (; *envp != NULL; envp++) {
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=') {
			return *envp + len + 1;
		}
	}
	return NULL;
}

/* Where a variable of the XDG base directories leads when it is unset; NULL for others. */
static const char *fallback(const char *name, size_t len, const char *home, struct arena *arena)
{
	static const struct {
		const char *name, *below_home;
	} known[] = {
		{"XDG_CONFIG_HOME", ".config"},
		{"XDG_DATA_HOME", ".local/share"},
		{"XDG_STATE_HOME", ".local/state"},
		{"XDG_CACHE_HOME", ".cache"},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strlen(known[i].name) == len && memcmp(known[i].name, name, len) == 0) {
			return value_join(home, known[i].below_home, arena);
		}
	}
	return NULL;
}

void profile_expand(const struct profile_row *row, const char *home, char *const *envp,
		    struct arena *arena, struct profile_paths *paths)
{
	const char *path = row->words;
	const char *from;
	const char *rest;
	size_t len;

	if (path[0] != '$') {
		ARENA_PUSH(arena, paths, value_join(home, path + (path[0] == '~' ? 2 : 0), arena));
		return;
	}
	len = strcspn(path + 1, "/");
	rest = path + 1 + len;
	from = variable(envp, path + 1, len);
	if (from == NULL || from[0] != '/') {
		from = fallback(path + 1, len, home, arena);
	}
	while (from != NULL && *from != '\0') {
		/* A folder's name may hold a colon; only whole values are lists. */
		size_t n = *rest == '\0' ? strcspn(from, ":") : strlen(from);
		const char *one = arena_printf(arena, "%.*s%s", (int)n, from, rest);

		if (one[0] == '/') {
			ARENA_PUSH(arena, paths, value_join("/", one, arena));
		}
		from += n + (from[n] == ':' ? 1 : 0);
	}
}
