/* A spec as JSON, for programs. The shape is fixed: every section and every key is there, null
 * when it is unset; lists are lists of entries, other keys one entry:
 *
 *   {"file": "/home/u/app.toml" or null, "os": "linux",
 *    "name": ENTRY, "version": ENTRY,
 *    "files": {"granted": true, "note": null, "write": [ENTRY, …], "read": null, …}, …}
 *
 *   ENTRY: {"value": as written, "line": 7, "column": 10, "flag": null, "note": null}
 *     paths and commands add "path" (absolute; null for a program's name), "real" (what it
 *     resolves to; null when it is not there or was not looked up) and "exists" (null when not
 *     looked up); hosts add "host" (normal form), host:port also "port"; folders of commands
 *     "folder". */
#include "cli/spec_view.h"

#include "base/str.h"
#include "spec/keys.h"

#include <jansson.h>
#include <string.h>

/* Names that are not UTF-8 (a flag's can be anything) are shown with their bytes as \xNN. */
static json_t *text(const char *s)
{
	json_t *made = s != NULL ? json_string(s) : json_null();

	if (made == NULL) {
		char clean[8192];

		made = json_string(str_printable(s, clean, sizeof(clean)));
	}
	return made;
}

static json_t *plain_value(enum spec_key key, const struct spec_item *item)
{
	if (spec_keys[key].type == SPEC_TYPE_BOOL) {
		return json_boolean(item->number != 0);
	}
	return item->text != NULL ? text(item->text) : json_integer(item->number);
}

static void add_path(const struct spec_view *view, json_t *entry, const struct spec_item *item,
		     const struct view_entry *e, bool star)
{
	json_object_set_new(entry, "path", text(item->path));
	json_object_set_new(entry, "real", text(e->real));
	json_object_set_new(entry, "exists",
			    view->looked_up && !star ? json_boolean(!e->missing) : json_null());
}

static json_t *entry_json(const struct spec_view *view, enum spec_key key,
			  const struct spec_item *item)
{
	enum spec_type type = spec_keys[key].type;
	struct view_entry e;
	struct err ignored;
	json_t *entry = json_object();

	if (!view_look_up(view, key, item, &e, &ignored)) {
		return entry;
	}
	json_object_set_new(entry, "value", plain_value(key, item));
	if (type == SPEC_TYPE_PATHS || type == SPEC_TYPE_COMMANDS) {
		add_path(view, entry, item, &e, str_eq(item->text, "*"));
	}
	if (type == SPEC_TYPE_COMMANDS) {
		json_object_set_new(entry, "folder", json_boolean(item->folder));
	}
	if (type == SPEC_TYPE_HOSTS || type == SPEC_TYPE_LAN_HOSTS ||
	    type == SPEC_TYPE_HOST_PORTS) {
		json_object_set_new(entry, "host", text(item->path));
	}
	if (type == SPEC_TYPE_HOST_PORTS) {
		json_object_set_new(entry, "port", json_integer(item->number));
	}
	bool flag = item->from.flag != NULL;
	json_object_set_new(entry, "line", flag ? json_null() : json_integer(item->from.line));
	json_object_set_new(entry, "column", flag ? json_null() : json_integer(item->from.col));
	json_object_set_new(entry, "flag", text(item->from.flag));
	json_object_set_new(entry, "note", text(e.note));
	return entry;
}

static json_t *key_json(const struct spec_view *view, enum spec_key key)
{
	const struct spec_value *value = &view->spec->value[key];
	json_t *list;

	if (!value->set || value->n == 0) {
		return json_null();
	}
	if (!spec_keys[key].repeatable) {
		return entry_json(view, key, &value->v[0]);
	}
	list = json_array();
	for (size_t i = 0; i < value->n; i++) {
		json_array_append_new(list, entry_json(view, key, &value->v[i]));
	}
	return list;
}

static void add_keys(const struct spec_view *view, enum spec_section section, json_t *object)
{
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == section) {
			json_object_set_new(object, spec_keys[k].name,
					    view->spec->section_set[section] ||
							    section == SPEC_SECTION_ROOT
						    ? key_json(view, k)
						    : json_null());
		}
	}
}

bool view_print_json(const struct spec_view *view, FILE *out)
{
	const struct spec *spec = view->spec;
	json_t *root = json_object();

	json_object_set_new(root, "file", text(spec->file_path));
	json_object_set_new(root, "os", json_string(keys_os[spec->os]));
	add_keys(view, SPEC_SECTION_ROOT, root);
	for (enum spec_section s = SPEC_SECTION_ROOT + 1; s < SPEC_SECTION_COUNT; s++) {
		json_t *section = json_object();

		json_object_set_new(section, "granted", json_boolean(spec->section_set[s]));
		json_object_set_new(section, "note", text(view_section_note(view, s)));
		add_keys(view, s, section);
		json_object_set_new(root, spec_sections[s].name, section);
	}
	bool ok = json_dumpf(root, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF;
	json_decref(root);
	return ok;
}
