/* Makes the JSON Schema from keys.def. Core and validation vocabularies of
 * https://json-schema.org/draft/2020-12. */
#include "spec/schema.h"

#include "base/str.h"
#include "spec/keys.h"

#include <jansson.h>
#include <string.h>

/* Regular expressions in the dialect of JSON Schema (ECMA-262), pieces of one first. */
#define NO_CONTROL   "[^\\u0000-\\u001f\\u007f]+$"
#define NO_PARENT    "(?!(.*/)?\\.\\.(/|$))"
#define NO_EXPANSION "(?!~[^/])(?!\\$[A-Za-z_{])"
/* A name has no colon, an IPv6 address two or more. */
#define NAME_OR_V4 "[!-.0-9;-Z^-~]{1,255}"
#define V6         "[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*"

/* Forms, not meanings: what a host is, is told by the reader itself. */
static const char *pattern_of(enum spec_type type)
{
	switch (type) {
	case SPEC_TYPE_PATHS:
		return "^" NO_EXPANSION NO_PARENT "[^*?\\[\\u0000-\\u001f\\u007f]+$";
	case SPEC_TYPE_HOSTS:
		return "^(" NAME_OR_V4 "|" V6 ")$";
	case SPEC_TYPE_LAN_HOSTS:
		return "^(" NAME_OR_V4 "|" V6 ")(/[0-9]{1,3})?$";
	case SPEC_TYPE_HOST_PORTS:
		return "^[!-)+-.0-~]+:[1-9][0-9]{0,4}$";
	case SPEC_TYPE_TOOLS:
		return "^[A-Za-z0-9_+][A-Za-z0-9._+-]{0,63}$";
	case SPEC_TYPE_COMMANDS:
		return "^" NO_EXPANSION NO_PARENT NO_CONTROL;
	case SPEC_TYPE_TEXT:
	case SPEC_TYPE_MODE:
	case SPEC_TYPE_NUMBER:
	case SPEC_TYPE_BOOL:
	case SPEC_TYPE_PORTS:
	default:
		return "^" NO_CONTROL;
	}
}

static json_t *number_form(const struct spec_key_info *k)
{
	json_t *form = json_pack("{s:s, s:I}", "type", "integer", "minimum", (json_int_t)k->min);

	if (k->max != INT64_MAX) {
		json_object_set_new(form, "maximum", json_integer(k->max));
	}
	return form;
}

static json_t *string_form(enum spec_type type)
{
	return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern_of(type));
}

static bool has_star(enum spec_type type)
{
	return type == SPEC_TYPE_HOSTS || type == SPEC_TYPE_LAN_HOSTS || type == SPEC_TYPE_COMMANDS;
}

static json_t *list_form(const struct spec_key_info *k)
{
	json_t *item = k->type == SPEC_TYPE_PORTS ? number_form(k) : string_form(k->type);
	json_t *list = json_pack("{s:s, s:i, s:o}", "type", "array", "minItems", 1, "items", item);

	if (has_star(k->type)) {
		json_object_set_new(list, "anyOf",
				    json_pack("[{s:{s:s}}, {s:{s:{s:s}}}]", "items", "const", "*",
					      "items", "not", "const", "*"));
	}
	return list;
}

/* A value as TOML that is JSON as well: the table's examples and defaults are. */
static json_t *literal(const char *text)
{
	return json_loads(text, JSON_DECODE_ANY, NULL);
}

static json_t *key_schema(enum spec_key key)
{
	const struct spec_key_info *k = &spec_keys[key];
	json_t *schema;

	if (k->repeatable) {
		schema = list_form(k);
	} else if (k->type == SPEC_TYPE_NUMBER) {
		schema = number_form(k);
	} else if (k->type == SPEC_TYPE_BOOL) {
		schema = json_pack("{s:s}", "type", "boolean");
	} else if (k->type == SPEC_TYPE_MODE) {
		schema = json_pack("{s:s, s:[s, s]}", "type", "string", "enum", "proxy", "host");
	} else {
		schema = string_form(k->type);
	}
	json_object_set_new(schema, "description", json_string(k->help));
	if (!str_eq(k->fallback, "unset")) {
		json_object_set_new(schema, "default", literal(k->fallback));
	}
	json_object_set_new(schema, "examples", json_pack("[o]", literal(k->example)));
	return schema;
}

/* {"$ref": "#/$defs/files_for_one_os"} */
static json_t *reference(const char *section, const char *suffix)
{
	char path[80];

	snprintf(path, sizeof(path), "#/$defs/%s%s", section, suffix);
	return json_pack("{s:s}", "$ref", path);
}

static json_t *section_properties(enum spec_section section)
{
	json_t *properties = json_object();

	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == section) {
			json_object_set_new(properties, spec_keys[k].name, key_schema(k));
		}
	}
	for (unsigned os = 0; os < KEYS_OS_COUNT; os++) {
		json_object_set_new(properties, keys_os[os],
				    reference(spec_sections[section].name, "_for_one_os"));
	}
	return properties;
}

static json_t *table_schema(enum spec_section section, const char *description)
{
	return json_pack("{s:s, s:s, s:i, s:b, s:o}", "type", "object", "description", description,
			 "minProperties", 1, "additionalProperties", 0, "properties",
			 section_properties(section));
}

/* One of the main keys, here or in a table for one system, at any depth. */
static json_t *main_needed(enum spec_section section)
{
	json_t *ways = json_array();

	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == section && spec_keys[k].main) {
			json_array_append_new(ways,
					      json_pack("{s:[s]}", "required", spec_keys[k].name));
		}
	}
	for (unsigned os = 0; os < KEYS_OS_COUNT; os++) {
		json_array_append_new(ways, json_pack("{s:[s], s:{s:o}}", "required", keys_os[os],
						      "properties", keys_os[os],
						      reference(spec_sections[section].name,
								"_opens_something")));
	}
	return json_pack("{s:s, s:o}", "type", "object", "anyOf", ways);
}

static void add_section(json_t *defs, enum spec_section section)
{
	const struct spec_section_info *s = &spec_sections[section];
	char name[80];
	char text[160];

	json_t *whole = table_schema(section, s->help);
	json_object_set_new(whole, "allOf",
			    json_pack("[o]", reference(s->name, "_opens_something")));
	json_object_set_new(defs, s->name, whole);

	snprintf(name, sizeof(name), "%s_for_one_os", s->name);
	snprintf(text, sizeof(text), "keys of [%s] for one system: each replaces the section's%s",
		 s->name, section == SPEC_SECTION_FILES ? ", hide adds to it" : "");
	json_object_set_new(defs, name, table_schema(section, text));

	snprintf(name, sizeof(name), "%s_opens_something", s->name);
	json_object_set_new(defs, name, main_needed(section));
}

static json_t *schema_make(void)
{
	json_t *properties = json_object();
	json_t *defs = json_object();

	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == SPEC_SECTION_ROOT) {
			json_object_set_new(properties, spec_keys[k].name, key_schema(k));
		}
	}
	for (enum spec_section s = SPEC_SECTION_ROOT + 1; s < SPEC_SECTION_COUNT; s++) {
		json_object_set_new(properties, spec_sections[s].name,
				    reference(spec_sections[s].name, ""));
		add_section(defs, s);
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "$schema",
			 "https://json-schema.org/draft/2020-12/schema", "title",
			 "Spec of a Link sandbox", "description",
			 "What a program may touch; a section that is left out is closed", "type",
			 "object", "additionalProperties", 0, "properties", properties, "$defs",
			 defs);
}

bool schema_print(FILE *out)
{
	json_t *schema = schema_make();
	bool ok = schema != NULL && json_dumpf(schema, out, JSON_INDENT(2)) == 0 &&
		  fputc('\n', out) != EOF;

	json_decref(schema);
	return ok;
}
