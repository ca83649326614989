/* lnk: the sub-commands, their exit statuses, and the only printer of errors. */
#include "base/pages.h"
#include "base/str.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv, struct err_list *errs);
};

static const struct command sandbox_commands[] = {
	{"run", cli_run},
	{"spec", cli_spec},
	{"tool", cli_tool},
	{"doctor", cli_doctor},
};

/* The line of the spec, and under it a caret at the column. */
static void print_source(const struct err *err)
{
	char plain[sizeof(err->source)];
	char line[sizeof(err->source) * 4];

	if (err->source[0] == '\0' || err->col == 0) {
		return;
	}
	/* A tab as one space, so that the caret stands under its character everywhere. */
	for (size_t i = 0; i < sizeof(plain); i++) {
		plain[i] = err->source[i] == '\t' ? ' ' : err->source[i];
	}
	fprintf(stderr, "  %s\n  %*s^\n", str_printable(plain, line, sizeof(line)),
		(int)err->col - 1, "");
}

static void print_error(const struct err *err)
{
	char text[sizeof(err->msg) * 4];

	if (err->file[0] != '\0') {
		fprintf(stderr, "%s", str_printable(err->file, text, sizeof(text)));
		if (err->line > 0) {
			fprintf(stderr, ":%u:%u", err->line, err->col);
		}
		fputs(": error: ", stderr);
	} else {
		fputs("lnk: error: ", stderr);
	}
	fprintf(stderr, "%s\n", str_printable(err->msg, text, sizeof(text)));
	print_source(err);
	if (err->hint[0] != '\0') {
		fprintf(stderr, "hint: %s\n", str_printable(err->hint, text, sizeof(text)));
	}
}

static void print_errors(const struct err_list *errs)
{
	for (unsigned i = 0; i < errs->n; i++) {
		print_error(&errs->v[i]);
	}
	if (errs->total > errs->n) {
		fprintf(stderr, "lnk: %u more errors\n", errs->total - errs->n);
	}
}

static int unknown(struct err_list *errs, const char *before, const char *word)
{
	struct err *err = err_list_next(errs);

	err_set(err, ERR_USAGE, 0, "%s has no command \"%s\"", before, word);
	err_hint(err, "see `%s --help`", before);
	return EXIT_USAGE;
}

static bool wants_help(const char *word)
{
	return str_eq(word, "--help") || str_eq(word, "-h") || str_eq(word, "help");
}

static int sandbox(int argc, char **argv, struct err_list *errs)
{
	if (argc < 1 || wants_help(argv[0])) {
		cli_help("sandbox");
		return argc < 1 ? EXIT_USAGE : EXIT_OK;
	}
	for (size_t i = 0; i < ARRAY_LEN(sandbox_commands); i++) {
		if (str_eq(argv[0], sandbox_commands[i].name)) {
			return sandbox_commands[i].run(argc - 1, argv + 1, errs);
		}
	}
	return unknown(errs, "lnk sandbox", argv[0]);
}

int main(int argc, char **argv)
{
	/* Not on the stack: it is large, and most runs never touch it. */
	static struct err_list errs;
	int status;

	pages_ready();
	if (argc < 2 || wants_help(argv[1])) {
		cli_help("lnk");
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	if (str_eq(argv[1], "--version")) {
		puts("lnk " LNK_VERSION);
		return EXIT_OK;
	}
	if (str_eq(argv[1], "sandbox")) {
		status = sandbox(argc - 2, argv + 2, &errs);
	} else if (str_eq(argv[1], "completion")) {
		status = cli_completion(argc - 2, argv + 2, &errs);
	} else {
		status = unknown(&errs, "lnk", argv[1]);
	}
	/* What was printed must have arrived: a full disk is an error too. */
	if (fflush(stdout) != 0 && errs.total == 0 && status == EXIT_OK) {
		err_set(err_list_next(&errs), ERR_SETUP, 0, "cannot write to standard output");
		status = EXIT_LNK;
	}
	print_errors(&errs);
	return status;
}
