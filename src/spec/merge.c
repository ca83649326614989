/* Flags beside a file: a flag's key replaces the file's, but hide adds to it; flags of one key add
 * up with each other. */
#include "base/str.h"
#include "spec/spec_inner.h"

#include <string.h>

/* All flags of one key. A key that takes one value may not be given two different ones. */
static void collect(struct spec_reader *r, enum spec_key key, struct spec_value *list)
{
	const struct spec_input *in = r->input;
	const char *first = NULL;

	for (size_t i = 0; i < in->nflags; i++) {
		const char *text = in->flags[i].value;
		struct spec_item item = {.from = {.flag = spec_keys[key].flag}};
		struct err e;

		if (in->flags[i].key != key) {
			continue;
		}
		list->set = true;
		list->from = item.from;
		if (!spec_keys[key].repeatable && first != NULL) {
			if (!str_eq(first, text)) {
				err_set(&e, ERR_SPEC, 0,
					"it is given twice, with different values");
				err_hint(&e, "give it once");
				spec_report(r, &e, &item.from);
			}
			continue;
		}
		first = text;
		if (!value_read(key, text, strlen(text), &r->flag_place, r->arena, &item, &e)) {
			r->broken_key[key] = true;
			spec_report(r, &e, &item.from);
			continue;
		}
		ARENA_PUSH(r->arena, list, item);
	}
}

void spec_merge_flags(struct spec_reader *r)
{
	bool given[SPEC_KEY_COUNT] = {false};

	for (size_t i = 0; i < r->input->nflags; i++) {
		given[r->input->flags[i].key] = true;
	}
	for (enum spec_key key = 0; key < SPEC_KEY_COUNT; key++) {
		struct spec_value list = {.set = false};

		if (!given[key]) {
			continue;
		}
		collect(r, key, &list);
		spec_check_star(r, key, &list);
		enum spec_section s = spec_keys[key].section;
		if (r->table[s] == NULL && !r->own_keys[s]) {
			r->spec.section[s] = list.from;
		}
		r->own_keys[s] = true;
		spec_take(r, key, &list);
	}
}

enum spec_key spec_flag_take(int argc, char *const *argv, int *i, struct spec_flag *ret_flag,
			     bool *ret_bad, struct err *err)
{
	const char *word = argv[*i];
	const char *equals = strchr(word, '=');
	size_t n = equals != NULL ? (size_t)(equals - word) : strlen(word);
	char name[64];

	*ret_bad = false;
	if (n >= sizeof(name) || !str_starts(word, "--")) {
		return SPEC_KEY_COUNT;
	}
	memcpy(name, word, n);
	name[n] = '\0';
	enum spec_key key = spec_key_by_flag(name);
	if (key == SPEC_KEY_COUNT) {
		return SPEC_KEY_COUNT;
	}
	ret_flag->key = key;
	if (equals != NULL) {
		ret_flag->value = equals + 1;
	} else if (spec_keys[key].type == SPEC_TYPE_BOOL) {
		ret_flag->value = "true";
	} else if (*i + 1 < argc) {
		ret_flag->value = argv[++*i];
	} else {
		*ret_bad = true;
		err_set(err, ERR_USAGE, 0, "%s needs a value", name);
		err_hint(err, "%s %s: %s", name, spec_keys[key].metavar, spec_keys[key].help);
		return SPEC_KEY_COUNT;
	}
	return key;
}
