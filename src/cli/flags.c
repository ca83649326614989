#include "cli/flags.h"

#include "base/str.h"
#include "spec/spec.h"

#define FLAG(id, name, metavar, repeatable, help) {name, metavar, repeatable, help},
static const struct flag_view run_flags[] = {
#include "cli/flags.def"
};
static const struct flag_view spec_flags[] = {
#include "cli/spec_flags.def"
};
static const struct flag_view why_flags[] = {
#include "cli/why_flags.def"
};
#undef FLAG
static const struct flag_view tool_flags[] = {
#define TOOL_KEY(id, name, type, flag, metavar, repeatable, help, example)                         \
	{flag, metavar, repeatable, help},
#include "broker/tool_keys.def"
#undef TOOL_KEY
	{"--help", NULL, false, "print this help"},
};

/* Those that can only be given in tools.toml have no flag. */
static bool tool_flag(size_t index, struct flag_view *ret_flag)
{
	for (size_t i = 0; i < ARRAY_LEN(tool_flags); i++) {
		if (tool_flags[i].name != NULL && index-- == 0) {
			*ret_flag = tool_flags[i];
			return true;
		}
	}
	return false;
}

static bool key_flag(size_t index, struct flag_view *ret_flag)
{
	for (size_t i = 0; i < SPEC_KEY_COUNT; i++) {
		const struct spec_key_info *key = &spec_keys[i];

		if (key->flag != NULL && index-- == 0) {
			*ret_flag = (struct flag_view){key->flag, key->metavar, key->repeatable,
						       key->help};
			return true;
		}
	}
	return false;
}

bool flags_at(enum flags_of of, size_t index, struct flag_view *ret_flag)
{
	const struct flag_view *table = of == FLAGS_OF_RUN   ? run_flags
					: of == FLAGS_OF_WHY ? why_flags
							     : spec_flags;
	size_t n = of == FLAGS_OF_RUN   ? ARRAY_LEN(run_flags)
		   : of == FLAGS_OF_WHY ? ARRAY_LEN(why_flags)
					: ARRAY_LEN(spec_flags);

	if (of == FLAGS_OF_KEYS) {
		return key_flag(index, ret_flag);
	}
	if (of == FLAGS_OF_TOOL) {
		return tool_flag(index, ret_flag);
	}
	if (index >= n) {
		return false;
	}
	*ret_flag = table[index];
	return true;
}
