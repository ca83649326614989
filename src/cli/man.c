#include "cli/man.h"

#include "base/str.h"
#include "broker/profiles.h"
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

void man_why_flags(FILE *out)
{
	put_flags(out, FLAGS_OF_WHY);
}

void man_tool_flags(FILE *out)
{
	put_flags(out, FLAGS_OF_TOOL);
}

void man_tool_keys(FILE *out)
{
	enum { STRING, LIST, BOOL };
	static const char *const types[] = {"a string", "a list of strings", "true or false"};
	static const struct {
		const char *name, *help, *example;
		int type;
	} keys[] = {
#define TOOL_KEY(id, name, type, flag, metavar, repeatable, help, example)                         \
	{name, help, example, type},
#include "broker/tool_keys.def"
#undef TOOL_KEY
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		fprintf(out, "\n*%s* = %s\n\t", keys[i].name, types[keys[i].type]);
		put_sentence(out, keys[i].help);
		fprintf(out, " Example: %s = ", keys[i].name);
		put_text(out, keys[i].example);
		fputs(".\n", out);
	}
}

/* Rows of one kind in one paragraph: "*word* (why); ..."; nothing when there are none. */
static void put_rows(FILE *out, const char *head, const struct profile *profile,
		     enum profile_kind kind)
{
	const struct profile_row *row = NULL;
	bool began = false;

	while ((row = profile_next(profile, kind, row)) != NULL) {
		fputs(began ? "; *" : "\n\t", out);
		if (!began) {
			fprintf(out, "%s: *", head);
		}
		put_text(out, row->words);
		fputc('*', out);
		if (kind == PROFILE_SET) {
			fputs(" to \"", out);
			put_text(out, row->value);
			fputc('"', out);
		} else if (row->why != NULL) {
			fputs(" (", out);
			put_text(out, row->why);
			fputc(')', out);
		}
		began = true;
	}
	fputs(began ? ".\n" : "", out);
}

/* Options and words that are refused: "*-w*, *--web* after pr|issue (why)". */
static void put_refused(FILE *out, const char *head, const struct profile *profile,
			enum profile_kind kind)
{
	const struct profile_row *row = NULL;
	bool began = false;

	while ((row = profile_next(profile, kind, row)) != NULL) {
		const char *texts[] = {row->letter, row->name, row->value};
		const char *between = "";

		fprintf(out, began ? "; " : "\n\t%s: ", head);
		for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
			if (texts[i] != NULL) {
				fprintf(out, "%s*", between);
				put_text(out, texts[i]);
				fputc('*', out);
				between = i == 1 ? " " : ", ";
			}
		}
		if (row->words[0] == '^') {
			fputs(" before the command", out);
		} else if (row->words[0] != '\0') {
			fputs(" after ", out);
			put_text(out, row->words);
		}
		fputs(" (", out);
		put_text(out, row->why);
		fputc(')', out);
		began = true;
	}
	fputs(began ? ".\n" : "", out);
}

void man_profiles(FILE *out)
{
	const struct profile *profile;

	for (size_t i = 0; (profile = profile_at(i)) != NULL; i++) {
		fprintf(out, "\n*%s*\n\t", profile->name);
		put_sentence(out, profile->help);
		fputc('\n', out);
		put_rows(out, "Allowed", profile, PROFILE_ALLOW);
		put_rows(out, "Closed", profile, PROFILE_CLOSED);
		put_refused(out, "Closed options", profile, PROFILE_REFUSE);
		put_refused(out, "Closed arguments", profile, PROFILE_WORD);
		put_rows(out, "Reads", profile, PROFILE_READ);
		put_rows(out, "Writes", profile, PROFILE_WRITE);
		put_rows(out, "Gets your variables", profile, PROFILE_ENV);
		put_rows(out, "Has set", profile, PROFILE_SET);
		put_rows(out, "Starts no other programs than", profile, PROFILE_PROGRAM);
	}
	fputs("\n*every tool*\n\tWith built-in rules or without.\n", out);
	put_rows(out, "Gets your variables", NULL, PROFILE_ENV);
	put_rows(out, "Has set", NULL, PROFILE_SET);
}
