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

static const struct {
	const char *words, *usage, *help;
} commands[] = {
#define COMMAND(id, words, usage, help) {words, usage, help},
#include "cli/commands.def"
#undef COMMAND
};

void man_commands(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		fputs("\n*lnk ", out);
		put_text(out, commands[i].words);
		fputc('*', out);
		if (commands[i].usage[0] != '\0') {
			fputc(' ', out);
			put_text(out, commands[i].usage);
		}
		fputs("\n\t", out);
		put_sentence(out, commands[i].help);
		fputc('\n', out);
	}
}

/* Names of variables in one line; one that ends in an underscore stands for all that begin so. */
static void put_variables(FILE *out, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);

		fputs(i > 0 ? ", *" : "*", out);
		put_text(out, names[i]);
		fputs(names[i][len - 1] == '_' ? "\\**" : "*", out);
	}
	fputs("\n", out);
}

void man_environment(FILE *out)
{
	static const char *const passed[] = {
#define ENV(name) name,
#define CERT(name)
#define PROXY(name)
#include "cli/env.def"
#undef ENV
#undef CERT
#undef PROXY
	};
	static const char *const certificates[] = {
#define ENV(name)
#define CERT(name) name,
#define PROXY(name)
#include "cli/env.def"
#undef ENV
#undef CERT
#undef PROXY
	};

	fputc('\n', out);
	put_variables(out, passed, ARRAY_LEN(passed));
	fputs("\nand those that name files of certificates:\n\n", out);
	put_variables(out, certificates, ARRAY_LEN(certificates));
}

static const struct {
	const char *name, *since, *fence, *without;
} guards[] = {
#define GUARD(name, since, fence, namespaces, probe, step, without) {name, since, #fence, without},
#include "cli/guards.def"
#undef GUARD
};

static bool is_first(size_t guard)
{
	return str_eq(guards[guard].fence, "FIRST");
}

static void put_since(FILE *out, size_t guard)
{
	fputs(guards[guard].since[0] == 'A' ? "Landlock's " : "Linux ", out);
	put_text(out, guards[guard].since);
}

void man_guards(FILE *out)
{
	bool began = false;

	fputs("\nFirst fences, without which nothing runs: ", out);
	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		if (is_first(i)) {
			fputs(began ? ", *" : "*", out);
			put_text(out, guards[i].name);
			fputs("* (", out);
			put_since(out, i);
			fputc(')', out);
			began = true;
		}
	}
	fputs(".\n\nSecond fences:\n", out);
	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		if (!is_first(i)) {
			fputs("\n*", out);
			put_text(out, guards[i].name);
			fputs("*, since ", out);
			put_since(out, i);
			fputs("\n\tWithout it: ", out);
			put_text(out, guards[i].without);
			fputs(".\n", out);
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

void man_spec_flags(FILE *out)
{
	put_flags(out, FLAGS_OF_SPEC);
}
