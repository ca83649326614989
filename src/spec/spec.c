/* Reads a spec: file, tables, flags, checks, in this order. An attacker may have written the file;
 * the flags are the user's own. */
#include "spec/spec_inner.h"

#include "base/str.h"

#include <string.h>

bool spec_errors_full(const struct spec_reader *r)
{
	return r->errs->n >= ERR_LIST_MAX;
}

void spec_report(struct spec_reader *r, struct err *err, const struct origin *from)
{
	if (spec_errors_full(r)) {
		/* The first twenty are kept, the rest is counted. */
		r->errs->total++;
		return;
	}
	spec_err_at(&r->spec, err, from);
	*err_list_next(r->errs) = *err;
}

static size_t characters(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++) {
		n += ((unsigned char)*s & 0xc0) != 0x80 ? 1 : 0;
	}
	return n;
}

bool spec_err_at(const struct spec *spec, struct err *err, const struct origin *from)
{
	err_at(err, from);
	if (from->line > 0 && from->file != NULL && spec->text != NULL) {
		toml_source_line(spec->text, spec->text_len, from->line, err->source,
				 sizeof(err->source));
		/* A line that was cut before the column would get its caret at a wrong place. */
		if (characters(err->source) < from->col) {
			err->source[0] = '\0';
		}
	}
	return false;
}

void spec_take(struct spec_reader *r, enum spec_key key, const struct spec_value *list)
{
	struct spec_value *value = &r->spec.value[key];

	if (!value->set || !spec_keys[key].adds) {
		*value = *list;
		value->set = true;
		return;
	}
	for (size_t i = 0; i < list->n; i++) {
		ARENA_PUSH(r->arena, value, list->v[i]);
	}
}

static bool is_star(const struct spec_item *item)
{
	return item->text != NULL && str_eq(item->text, "*");
}

void spec_check_star(struct spec_reader *r, enum spec_key key, const struct spec_value *list)
{
	const struct spec_key_info *k = &spec_keys[key];
	const struct spec_item *star = NULL;
	bool others = false;

	if (k->type != SPEC_TYPE_HOSTS && k->type != SPEC_TYPE_LAN_HOSTS &&
	    k->type != SPEC_TYPE_COMMANDS) {
		return;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (!is_star(&list->v[i])) {
			others = true;
		} else if (star == NULL) {
			star = &list->v[i];
		}
	}
	if (star == NULL || !others) {
		return;
	}
	struct err e;
	err_set(&e, ERR_SPEC, 0, "\"*\" stands beside other entries, which it covers already");
	if (star->from.flag != NULL) {
		err_hint(&e, "give %s '*' alone, or leave it out", star->from.flag);
	} else {
		err_hint(&e, "write %s = [\"*\"] alone, or take \"*\" out", k->name);
	}
	spec_report(r, &e, &star->from);
}

/* True when error `a` stands before `b`: by line and column, those without a line (flags) last. */
static bool before(const struct err *a, const struct err *b)
{
	if ((a->line == 0) != (b->line == 0)) {
		return b->line == 0;
	}
	return a->line != b->line ? a->line < b->line : a->col < b->col;
}

void spec_sort_errors(struct err_list *errs)
{
	for (unsigned i = 1; i < errs->n; i++) {
		for (unsigned j = i; j > 0 && before(&errs->v[j], &errs->v[j - 1]); j--) {
			struct err swap = errs->v[j];

			errs->v[j] = errs->v[j - 1];
			errs->v[j - 1] = swap;
		}
	}
}

bool spec_read(const struct spec_input *input, struct arena *arena, struct spec *ret_spec,
	       struct err_list *errs)
{
	const char *home = value_join("/", input->home, arena);
	const char *cwd = value_join("/", input->cwd, arena);
	struct spec_reader r = {
		.input = input,
		.arena = arena,
		.errs = errs,
		.flag_place = {.folder = cwd, .home = home, .strict = input->file != NULL},
	};

	r.spec.os = input->os;
	if (input->file != NULL) {
		struct toml_value *root = NULL;

		if (!spec_load(&r)) {
			return false;
		}
		r.file_place = (struct value_place){
			.folder = r.spec.folder,
			.home = home,
			.strict = true,
		};
		if (!toml_read(r.spec.file, r.spec.text, r.spec.text_len, arena, &root, errs)) {
			spec_sort_errors(errs);
			return false;
		}
		spec_read_tables(&r, root);
	}
	spec_merge_flags(&r);
	spec_check(&r);
	if (errs->total > 0) {
		spec_sort_errors(errs);
		return false;
	}
	*ret_spec = r.spec;
	return true;
}
