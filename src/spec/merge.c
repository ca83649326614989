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
				err_set(&e, ERR_SPEC, 0, "is given twice, with different values");
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
