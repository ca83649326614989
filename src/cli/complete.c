/* lnk completion bash|zsh|fish: scripts made from the tables. Nothing of the machine goes in, so
 * all that is quoted here is text of our own; it is quoted all the same.
 *
 * Further words, for the project itself and not in the help, print the lists of the man pages
 * (script/man). */
#include "base/str.h"
#include "cli/cli.h"
#include "cli/complete_inner.h"
#include "cli/man.h"

#include <stdio.h>
#include <string.h>

const struct complete_value *complete_value_of(const struct flag_view *flag)
{
	static const struct {
		const char *metavar;
		struct complete_value value;
	} values[] = {
		{"PATH", {COMPLETE_FILES, ""}},          {"FILE", {COMPLETE_FILES, ""}},
		{"PROGRAM", {COMPLETE_PROGRAM, ""}},     {"MODE", {COMPLETE_WORDS, "proxy host"}},
		{"OS", {COMPLETE_WORDS, "linux macos"}},
	};
	static const struct complete_value spec = {COMPLETE_SPEC, ""};
	static const struct complete_value none = {COMPLETE_NOTHING, ""};

	if (str_eq(flag->name, "--spec")) {
		return &spec;
	}
	for (size_t i = 0; flag->metavar != NULL && i < ARRAY_LEN(values); i++) {
		if (str_eq(values[i].metavar, flag->metavar)) {
			return &values[i].value;
		}
	}
	return &none;
}

const struct complete_command *complete_command_at(size_t index)
{
	static const struct complete_command commands[] = {
#define COMMAND(id, words, usage, help) {words, help},
#include "cli/commands.def"
#undef COMMAND
	};

	return index < ARRAY_LEN(commands) ? &commands[index] : NULL;
}

void complete_quoted(const char *text, bool fish)
{
	putchar('\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'') {
			fputs(fish ? "\\'" : "'\\''", stdout);
		} else if (*text == '\\' && fish) {
			fputs("\\\\", stdout);
		} else {
			putchar(*text);
		}
	}
	putchar('\'');
}

static const struct {
	const char *word;
	void (*print)(void);
} scripts[] = {
	{"bash", complete_bash},
	{"zsh", complete_zsh},
	{"fish", complete_fish},
};

static const struct {
	const char *word;
	void (*print)(FILE *out);
} man_lists[] = {
	{"man-keys", man_keys},
	{"man-flags", man_flags},
	{"man-spec-flags", man_spec_flags},
	{"man-why-flags", man_why_flags},
	{"man-commands", man_commands},
	{"man-environment", man_environment},
	{"man-guards", man_guards},
	{"man-tool-flags", man_tool_flags},
	{"man-tool-keys", man_tool_keys},
	{"man-profiles", man_profiles},
};

int cli_completion(int argc, char **argv, struct err_list *errs)
{
	if (argc > 0 && (str_eq(argv[0], "--help") || str_eq(argv[0], "-h"))) {
		cli_help("completion");
		return EXIT_OK;
	}
	for (size_t i = 0; argc == 1 && i < ARRAY_LEN(scripts); i++) {
		if (str_eq(argv[0], scripts[i].word)) {
			scripts[i].print();
			return EXIT_OK;
		}
	}
	for (size_t i = 0; argc == 1 && i < ARRAY_LEN(man_lists); i++) {
		if (str_eq(argv[0], man_lists[i].word)) {
			man_lists[i].print(stdout);
			return EXIT_OK;
		}
	}
	struct err *err = err_list_next(errs);

	if (argc == 0) {
		err_set(err, ERR_USAGE, 0, "completion needs the name of a shell");
	} else {
		err_set(err, ERR_USAGE, 0, "there is no completion for \"%s\"",
			argc == 1 ? argv[0] : argv[1]);
	}
	err_hint(err, "write `lnk completion bash`, `zsh` or `fish`");
	return EXIT_USAGE;
}
