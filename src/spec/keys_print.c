/* What `lnk sandbox spec --keys` prints. */
#include "base/str.h"
#include "spec/keys.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Names of one table's fields; the root's is the longest list. */
#define FIELDS_MAX (SPEC_SECTION_COUNT + SPEC_KEY_COUNT)

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t fields_of(enum spec_section section, const char *fields[FIELDS_MAX])
{
	size_t n = 0;

	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (spec_keys[k].section == section) {
			fields[n++] = spec_keys[k].name;
		}
	}
	if (section == SPEC_SECTION_ROOT) {
		for (enum spec_section s = SPEC_SECTION_ROOT + 1; s < SPEC_SECTION_COUNT; s++) {
			fields[n++] = spec_sections[s].name;
		}
	} else {
		for (unsigned os = 0; os < KEYS_OS_COUNT; os++) {
			fields[n++] = keys_os[os];
		}
	}
	qsort(fields, n, sizeof(*fields), by_name);
	return n;
}

static void print_fields(FILE *out, enum spec_section section, const char *label, const char *below)
{
	const char *fields[FIELDS_MAX];
	size_t n = fields_of(section, fields);

	fprintf(out, "%s%s%s:", label, below[0] != '\0' ? "." : "", below);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%s %s", i > 0 ? "," : "", fields[i]);
	}
	fputc('\n', out);
}

static void print_all_fields(FILE *out)
{
	const char *names[SPEC_SECTION_COUNT];
	size_t n = 0;

	for (enum spec_section s = SPEC_SECTION_ROOT + 1; s < SPEC_SECTION_COUNT; s++) {
		names[n++] = spec_sections[s].name;
	}
	qsort(names, n, sizeof(*names), by_name);
	print_fields(out, SPEC_SECTION_ROOT, "root", "");
	for (size_t i = 0; i < n; i++) {
		enum spec_section s = keys_find_section(names[i], strlen(names[i]));

		print_fields(out, s, names[i], "");
		for (unsigned os = 0; os < KEYS_OS_COUNT; os++) {
			print_fields(out, s, names[i], keys_os[os]);
		}
	}
}

/* "files.write", "name". */
static const char *full_name(enum spec_key key, char *out, size_t cap)
{
	const char *section = spec_sections[spec_keys[key].section].name;

	snprintf(out, cap, "%s%s%s", section, section[0] != '\0' ? "." : "", spec_keys[key].name);
	return out;
}

static const char *range_text(const struct spec_key_info *k, char *out, size_t cap)
{
	if (k->min == 0 && k->max == 0) {
		return k->type == SPEC_TYPE_MODE ? "proxy, host" : "-";
	}
	if (k->max == INT64_MAX) {
		snprintf(out, cap, "%" PRId64 " or more", k->min);
	} else {
		snprintf(out, cap, "%" PRId64 " to %" PRId64, k->min, k->max);
	}
	return out;
}

static void print_key(FILE *out, enum spec_key key)
{
	const struct spec_key_info *k = &spec_keys[key];
	char name[64];
	char range[64];
	char flag[64];

	if (k->flag == NULL) {
		snprintf(flag, sizeof(flag), "-");
	} else {
		snprintf(flag, sizeof(flag), "%s%s%s", k->flag, k->metavar != NULL ? " " : "",
			 k->metavar != NULL ? k->metavar : "");
	}
	fprintf(out, "%-25s %-18s %-11s %-4s %-4s %-7s %-24s %s\n",
		full_name(key, name, sizeof(name)), keys_type_text(k->type),
		range_text(k, range, sizeof(range)), k->main ? "yes" : "-",
		k->repeatable ? "yes" : "-", k->fallback, flag, k->help);
}

void keys_print(FILE *out)
{
	char name[64];

	fprintf(out, "%-25s %-18s %-11s %-4s %-4s %-7s %-24s %s\n", "KEY", "TYPE", "RANGE", "MAIN",
		"LIST", "DEFAULT", "FLAG", "WHAT IT IS");
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		print_key(out, k);
	}
	fputs("\nMAIN: a section needs one of its main keys. LIST: its flag may be given again.\nA "
	      "section's tables for one system, [SECTION.linux] and [SECTION.macos], have its "
	      "keys.\n\nFIELDS\n",
	      out);
	print_all_fields(out);
	fputc('\n', out);
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		if (!str_eq(spec_keys[k].fallback, "unset")) {
			fprintf(out, "%s = %s\n", full_name(k, name, sizeof(name)),
				spec_keys[k].fallback);
		}
	}
}
