#include "broker/profiles.h"

#include "base/str.h"

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
