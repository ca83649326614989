/* From TOML's tables to values: unknown names, wrong types, empty lists, the tables of one
 * operating system. Keys of the other system's tables are checked like all others. */
#include "base/str.h"
#include "spec/spec_inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One [section] or [section.os]. */
struct place {
	enum spec_section section;
	const char *name; /* "files", "files.linux"; "" for the root */
	bool active;      /* of the system that is asked for */
	unsigned depth;   /* of OS tables */
};

static struct origin origin_of(const struct spec_reader *r, struct toml_pos pos)
{
	return (struct origin){.file = r->spec.file, .line = pos.line, .col = pos.col};
}

static void report_at(struct spec_reader *r, struct err *e, struct toml_pos pos)
{
	struct origin from = origin_of(r, pos);

	spec_report(r, e, &from);
}

/* "[files] write", "name". */
static const char *label(const struct place *at, const char *key, char *out, size_t cap)
{
	if (at->name[0] == '\0') {
		snprintf(out, cap, "%s", key);
	} else {
		snprintf(out, cap, "[%s] %s", at->name, key);
	}
	return out;
}

static const char *article(const char *noun)
{
	return strchr("aeiou", noun[0]) != NULL ? "an" : "a";
}

/* --- wrong types -------------------------------------------------------------------------- */

static bool of_integers(enum spec_type type)
{
	return type == SPEC_TYPE_PORTS || type == SPEC_TYPE_NUMBER;
}

static bool is_list(enum spec_type type)
{
	return str_starts(keys_type_text(type), "a list");
}

/* A string that can stand in a hint as it is. */
static bool is_plain(const struct toml_value *v)
{
	if (v->type != TOML_STRING || v->u.str.len == 0 || v->u.str.len > 80) {
		return false;
	}
	for (size_t i = 0; i < v->u.str.len; i++) {
		unsigned char c = (unsigned char)v->u.str.s[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') {
			return false;
		}
	}
	return true;
}

static bool is_digits(const struct toml_value *v)
{
	return v->type == TOML_STRING && v->u.str.len > 0 && v->u.str.len < 19 &&
	       strspn(v->u.str.s, "0123456789") == v->u.str.len;
}

/* The user's own value in the right form where that can be told, else the table's example. */
static void right_form(enum spec_key key, const struct toml_value *v, struct err *e)
{
	const struct spec_key_info *k = &spec_keys[key];
	const char *open = is_list(k->type) ? "[" : "";
	const char *close = is_list(k->type) ? "]" : "";

	if (of_integers(k->type) && is_digits(v)) {
		err_hint(e, "write %s = %s%s%s", k->name, open, v->u.str.s, close);
	} else if (of_integers(k->type) && v->type == TOML_INTEGER) {
		err_hint(e, "write %s = %s%" PRId64 "%s", k->name, open, v->u.integer, close);
	} else if (!of_integers(k->type) && k->type != SPEC_TYPE_BOOL && is_plain(v)) {
		err_hint(e, "write %s = %s\"%s\"%s", k->name, open, v->u.str.s, close);
	} else if (k->type == SPEC_TYPE_BOOL && v->type == TOML_STRING &&
		   (str_eq(v->u.str.s, "true") || str_eq(v->u.str.s, "false"))) {
		err_hint(e, "write %s = %s", k->name, v->u.str.s);
	} else {
		err_hint(e, "for example: %s = %s", k->name, k->example);
	}
}

static void wrong_type(struct spec_reader *r, const struct place *at, enum spec_key key,
		       const struct toml_value *v)
{
	const struct spec_key_info *k = &spec_keys[key];
	const char *given = toml_type_name(v->type);
	char name[128];
	struct err e;

	err_set(&e, ERR_SPEC, 0, "%s takes %s, not %s %s", label(at, k->name, name, sizeof(name)),
		keys_type_text(k->type), article(given), given);
	right_form(key, v, &e);
	report_at(r, &e, v->pos);
}

static void wrong_element(struct spec_reader *r, const struct place *at, enum spec_key key,
			  const struct toml_value *v)
{
	const struct spec_key_info *k = &spec_keys[key];
	const char *given = toml_type_name(v->type);
	char name[128];
	struct err e;

	err_set(&e, ERR_SPEC, 0, "%s holds %s %s; it takes %s",
		label(at, k->name, name, sizeof(name)), article(given), given,
		of_integers(k->type) ? "integers" : "strings");
	right_form(key, v, &e);
	report_at(r, &e, v->pos);
}

/* --- values ------------------------------------------------------------------------------- */

/* One string or integer of the right type into `list`. */
static void read_item(struct spec_reader *r, const struct place *at, enum spec_key key,
		      const struct toml_value *v, struct spec_value *list)
{
	struct spec_item item = {.from = origin_of(r, v->pos)};
	struct err e;
	bool ok;

	if (of_integers(spec_keys[key].type)) {
		ok = value_number(key, v->u.integer, &item, &e);
	} else {
		ok = value_read(key, v->u.str.s, v->u.str.len, &r->file_place, r->arena, &item, &e);
	}
	if (!ok) {
		r->broken_key[key] |= at->active;
		spec_report(r, &e, &item.from);
		return;
	}
	list->v[list->n++] = item;
}

static enum toml_type wanted_type(enum spec_type type)
{
	if (type == SPEC_TYPE_BOOL) {
		return TOML_BOOL;
	}
	return of_integers(type) ? TOML_INTEGER : TOML_STRING;
}

static bool read_list(struct spec_reader *r, const struct place *at, enum spec_key key,
		      const struct toml_value *v, struct spec_value *list)
{
	const struct spec_key_info *k = &spec_keys[key];
	char name[128];

	if (v->type != TOML_ARRAY) {
		wrong_type(r, at, key, v);
		return false;
	}
	if (v->u.array.n == 0) {
		struct err e;

		err_set(&e, ERR_SPEC, 0, "%s is empty", label(at, k->name, name, sizeof(name)));
		err_hint(&e,
			 "what is left out is closed: take the key out, or write, for example, %s "
			 "= %s",
			 k->name, k->example);
		report_at(r, &e, v->pos);
		return false;
	}
	list->v = arena_alloc(r->arena, v->u.array.n * sizeof(*list->v));
	list->cap = v->u.array.n;
	for (size_t i = 0; i < v->u.array.n; i++) {
		const struct toml_value *element = v->u.array.v[i];

		if (element->type == wanted_type(k->type)) {
			read_item(r, at, key, element, list);
		} else {
			r->broken_key[key] |= at->active;
			wrong_element(r, at, key, element);
		}
	}
	spec_check_star(r, key, list);
	return true;
}

static bool read_scalar(struct spec_reader *r, const struct place *at, enum spec_key key,
			const struct toml_value *v, struct spec_value *list)
{
	if (v->type != wanted_type(spec_keys[key].type)) {
		wrong_type(r, at, key, v);
		return false;
	}
	list->v = arena_alloc(r->arena, sizeof(*list->v));
	list->cap = 1;
	if (v->type == TOML_BOOL) {
		list->v[list->n++] = (struct spec_item){
			.number = v->u.boolean ? 1 : 0,
			.from = origin_of(r, v->pos),
		};
		return true;
	}
	read_item(r, at, key, v, list);
	return true;
}

static void read_key(struct spec_reader *r, const struct place *at, enum spec_key key,
		     const struct toml_entry *entry)
{
	struct spec_value list = {.from = origin_of(r, entry->key_pos)};
	bool ok = spec_keys[key].repeatable ? read_list(r, at, key, entry->value, &list)
					    : read_scalar(r, at, key, entry->value, &list);

	if (at->active) {
		r->own_keys[at->section] = true;
		r->broken_key[key] |= !ok;
		/* Also when it is broken: it is not missing. */
		spec_take(r, key, &list);
	}
}

/* --- tables ------------------------------------------------------------------------------- */

static void unknown(struct spec_reader *r, const struct place *at, const struct toml_entry *entry)
{
	char shown[VALUE_SHOWN_MAX];
	struct err e;

	r->broken_section[at->section] = true;
	if (spec_errors_full(r)) {
		r->errs->total++;
		return;
	}
	value_shown(entry->key, entry->key_len, shown);
	if (at->section != SPEC_SECTION_ROOT) {
		err_set(&e, ERR_SPEC, 0, "[%s] has no key %s", at->name, shown);
	} else if (entry->value->type == TOML_TABLE) {
		err_set(&e, ERR_SPEC, 0, "there is no section %s", shown);
	} else {
		err_set(&e, ERR_SPEC, 0, "a spec has no key %s outside of its sections", shown);
	}
	keys_suggest(at->section, at->name, entry->key, entry->key_len, &e);
	report_at(r, &e, entry->key_pos);
}

/* The header's place, or the key's where a table came about by dotted keys. */
static struct toml_pos table_pos(const struct toml_entry *entry)
{
	return entry->value->pos.line > 0 ? entry->value->pos : entry->key_pos;
}

/* True for a table with something in it. */
static bool is_filled_table(struct spec_reader *r, enum spec_section section, const char *name,
			    const struct toml_entry *entry)
{
	const struct toml_value *v = entry->value;
	const char *given = toml_type_name(v->type);
	char main[64];
	struct err e;

	if (v->type != TOML_TABLE) {
		bool tables = v->type == TOML_ARRAY && v->u.array.n > 0 &&
			      v->u.array.v[0]->type == TOML_TABLE;

		err_set(&e, ERR_SPEC, 0, "[%s] is a table, not %s %s", name, article(given), given);
		err_hint(&e,
			 tables ? "write it once, with single brackets: [%s]"
				: "write a line [%s], and its keys below it",
			 name);
	} else if (v->u.table.n == 0) {
		err_set(&e, ERR_SPEC, 0, "[%s] is empty", name);
		err_hint(&e, "a section that is left out is closed: take it out, or give it %s",
			 keys_main_text(section, main, sizeof(main)));
	} else {
		return true;
	}
	r->broken_section[section] = true;
	report_at(r, &e, v->type == TOML_TABLE ? table_pos(entry) : entry->key_pos);
	return false;
}

static void read_section(struct spec_reader *r, const struct place *at,
			 const struct toml_value *table);

static void read_os_table(struct spec_reader *r, const struct place *at, unsigned os,
			  const struct toml_entry *entry)
{
	const char *name = arena_printf(r->arena, "%s.%s", at->name, keys_os[os]);
	struct place inner = {
		.section = at->section,
		.name = name,
		.active = at->active && os == (unsigned)r->input->os,
		.depth = at->depth + 1,
	};

	if (!is_filled_table(r, at->section, name, entry)) {
		return;
	}
	if (inner.depth > SPEC_OS_DEPTH_MAX) {
		char shown[VALUE_SHOWN_MAX];
		struct err e;

		err_set(&e, ERR_SPEC, 0, "%s is nested too deep",
			value_shown(name, strlen(name), shown));
		err_hint(&e, "a table for one system needs no other in it: [%s.%s]",
			 spec_sections[at->section].name, keys_os[os]);
		r->broken_section[at->section] = true;
		report_at(r, &e, entry->key_pos);
		return;
	}
	read_section(r, &inner, entry->value);
}

/* The section's own keys first, then the systems' tables, which replace or add. */
static void read_section(struct spec_reader *r, const struct place *at,
			 const struct toml_value *table)
{
	for (size_t i = 0; i < table->u.table.n; i++) {
		const struct toml_entry *entry = &table->u.table.v[i];
		enum spec_key key = keys_find(at->section, entry->key, entry->key_len);

		if (key != SPEC_KEY_COUNT) {
			read_key(r, at, key, entry);
		} else if (keys_find_os(entry->key, entry->key_len) == KEYS_OS_COUNT) {
			unknown(r, at, entry);
		}
	}
	for (size_t i = 0; i < table->u.table.n; i++) {
		const struct toml_entry *entry = &table->u.table.v[i];
		unsigned os = keys_find_os(entry->key, entry->key_len);

		if (os != KEYS_OS_COUNT) {
			read_os_table(r, at, os, entry);
		}
	}
}

void spec_read_tables(struct spec_reader *r, const struct toml_value *root)
{
	for (size_t i = 0; i < root->u.table.n; i++) {
		const struct toml_entry *entry = &root->u.table.v[i];
		enum spec_section s = keys_find_section(entry->key, entry->key_len);
		enum spec_key key = keys_find(SPEC_SECTION_ROOT, entry->key, entry->key_len);
		struct place at = {.section = s, .active = true, .name = ""};

		if (s != SPEC_SECTION_COUNT) {
			at.name = spec_sections[s].name;
			r->spec.section[s] = origin_of(r, table_pos(entry));
			if (is_filled_table(r, s, at.name, entry)) {
				r->table[s] = entry->value;
				read_section(r, &at, entry->value);
			}
			continue;
		}
		at.section = SPEC_SECTION_ROOT;
		if (key != SPEC_KEY_COUNT) {
			read_key(r, &at, key, entry);
		} else {
			unknown(r, &at, entry);
		}
	}
}
