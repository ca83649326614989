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
#undef FLAG

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
	const struct flag_view *table = of == FLAGS_OF_RUN ? run_flags : spec_flags;
	size_t n = of == FLAGS_OF_RUN ? ARRAY_LEN(run_flags) : ARRAY_LEN(spec_flags);

	if (of == FLAGS_OF_KEYS) {
		return key_flag(index, ret_flag);
	}
	if (index >= n) {
		return false;
	}
	*ret_flag = table[index];
	return true;
}
