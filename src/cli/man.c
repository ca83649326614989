#include "cli/man.h"

#include "base/str.h"
#include "cli/flags.h"
#include "spec/keys.h"

#include <inttypes.h>
#include <string.h>

/* scdoc's marks in a text of the tables, as themselves. */
static void put_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("*_\\", *text) != NULL) {
			fputc('\\', out);
		}
		fputc(*text, out);
	}
}

/* The same, begun with a capital and ended with a full stop. */
static void put_sentence(FILE *out, const char *text)
{
	if (text[0] >= 'a' && text[0] <= 'z') {
		fputc(text[0] - 'a' + 'A', out);
		text++;
	}
	put_text(out, text);
	fputc('.', out);
}

static void put_flag(FILE *out, const char *name, const char *metavar)
{
	fprintf(out, "*%s*", name);
	if (metavar != NULL) {
		fputs(" _", out);
		put_text(out, metavar);
		fputc('_', out);
	}
}

static void put_key(FILE *out, const struct spec_key_info *key)
{
	fputs("\n*", out);
	put_text(out, key->name);
	fprintf(out, "* = %s\n\t", keys_type_text(key->type));
	put_sentence(out, key->help);
	if (key->type == SPEC_TYPE_NUMBER || key->type == SPEC_TYPE_PORTS) {
		fprintf(out, " From %" PRId64, key->min);
		if (key->max != INT64_MAX) {
			fprintf(out, " to %" PRId64, key->max);
		}
		fputs(".", out);
	}
	if (key->adds) {
		fputs(" Adds up: a flag or an operating system's table adds to the file's.", out);
	}
	fputs("\n\tDefault: ", out);
	put_text(out, key->fallback);
	fputs(". Example: ", out);
	put_text(out, key->name);
	fputs(" = ", out);
	put_text(out, key->example);
	if (key->flag != NULL) {
		fputs(". Flag: ", out);
		put_flag(out, key->flag, key->metavar);
	}
	fputs(".\n", out);
}

void man_keys(FILE *out)
{
	for (enum spec_section s = SPEC_SECTION_ROOT; s < SPEC_SECTION_COUNT; s++) {
		char main_keys[128];

		if (s != SPEC_SECTION_ROOT) {
			fprintf(out, "\n## [%s]\n\n", spec_sections[s].name);
			put_sentence(out, spec_sections[s].help);
			fputs(" The section needs ", out);
			put_text(out, keys_main_text(s, main_keys, sizeof(main_keys)));
			fputs(".\n", out);
		}
		for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
			if (spec_keys[k].section == s) {
				put_key(out, &spec_keys[k]);
			}
		}
	}
}

static void put_flags(FILE *out, enum flags_of of)
{
	struct flag_view flag;

	for (size_t i = 0; flags_at(of, i, &flag); i++) {
		fputc('\n', out);
		put_flag(out, flag.name, flag.metavar);
		fputs("\n\t", out);
		put_sentence(out, flag.help);
		fprintf(out, "%s\n", flag.repeatable ? " May be repeated." : "");
	}
}

void man_flags(FILE *out)
{
	fputs("\nThose that give a key of the spec (lnk-sandbox-spec(5)):\n", out);
	put_flags(out, FLAGS_OF_KEYS);
	fputs("\nThe others:\n", out);
	put_flags(out, FLAGS_OF_RUN);
}
