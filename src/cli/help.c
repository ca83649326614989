/* --help of every command: 80 columns, made from the tables. */
#include "base/str.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/wrap.h"

#include <stdio.h>
#include <string.h>

#define WIDTH    80
#define HELP_COL 28 /* where a flag's text begins */

static const struct command {
	const char *id, *words, *usage, *help;
} commands[] = {
#define COMMAND(id, words, usage, help) {#id, words, usage, help},
#include "cli/commands.def"
#undef COMMAND
};

/* "  left", then `text` from HELP_COL on; on the next line when `left` is too long. A "+" before
 * `left` stands in the margin. */
static void print_item(const char *left, const char *text)
{
	int n = left[0] == '+' ? printf("+ %s", left + 1) : printf("  %s", left);

	if (n + 2 > HELP_COL) {
		fputc('\n', stdout);
		n = 0;
	}
	printf("%*s", HELP_COL - n, "");
	wrap_print(stdout, HELP_COL, HELP_COL, WIDTH, text);
}

static void print_flags(enum flags_of of)
{
	struct flag_view flag;

	for (size_t i = 0; flags_at(of, i, &flag); i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%s%s%s", flag.repeatable ? "+" : "", flag.name,
			 flag.metavar != NULL ? " " : "", flag.metavar != NULL ? flag.metavar : "");
		print_item(left, flag.help);
	}
}

static void print_text(const char *text)
{
	wrap_print(stdout, 0, 0, WIDTH, text);
}

static const struct command *find(const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (str_eq(commands[i].id, id)) {
			return &commands[i];
		}
	}
	return NULL;
}

static void print_usage(const struct command *command)
{
	printf("usage: lnk %s%s%s\n\n", command->words, command->usage[0] != '\0' ? " " : "",
	       command->usage);
}

/* Those commands whose words begin with `prefix`. */
static void print_commands(const char *prefix)
{
	puts("Commands:");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		char left[64];

		if (str_starts(commands[i].words, prefix)) {
			snprintf(left, sizeof(left), "lnk %s", commands[i].words);
			print_item(left, commands[i].help);
		}
	}
	puts("\nEach has its own --help.");
}

static void help_lnk(void)
{
	puts("usage: lnk COMMAND [WORD...]\n");
	print_text("Link Sandbox runs a program so that it touches only what a spec grants: some "
		   "folders, some hosts, some programs. What is not granted is closed. It needs no "
		   "root, no daemon and no set-up.\n");
	print_commands("");
	puts("\nFlags:");
	print_item("--help", "print this help");
	print_item("--version", "print the version");
	puts("\nExamples:\n"
	     "  lnk sandbox run --write . -- npm install\n"
	     "  lnk sandbox run --spec app.toml -- make");
}

static void help_sandbox(void)
{
	puts("usage: lnk sandbox COMMAND [WORD...]\n");
	print_commands("sandbox");
}

static void help_run(void)
{
	print_text("Runs PROGRAM in a sandbox. With --spec, what it may touch is what the file "
		   "grants; without, the flags are the whole spec, and any program runs unless "
		   "--command names them. A flag replaces the file's key, but --hide, which adds "
		   "to it. Those marked + may be repeated.\n");
	puts("Grants, each a key of a spec:");
	print_flags(FLAGS_OF_KEYS);
	puts("\nOther flags:");
	print_flags(FLAGS_OF_RUN);
	puts("\nExit status:");
	print_item("PROGRAM's own", "or 128+N when signal N ended it");
	print_item("125", "a bad spec, flag or operand, or lnk itself failed; nothing was started");
	print_item("126, 127", "PROGRAM may not run, or is not found");
	puts("\nMore: lnk-sandbox-run(1), lnk-sandbox-spec(5)");
}

static void help_spec(void)
{
	print_text("Checks the spec FILE and prints what it grants on this machine, each entry "
		   "with the line that it comes from. With flags beside the file, or flags alone, "
		   "it shows what run would grant with them. Those marked + may be repeated. "
		   "Exit status: 0 good, 2 refused.\n");
	puts("Flags:");
	print_flags(FLAGS_OF_SPEC);
	puts("\nGrants, each a key of a spec:");
	print_flags(FLAGS_OF_KEYS);
	puts("\nMore: lnk-sandbox-spec(1), lnk-sandbox-spec(5)");
}

static void help_why(void)
{
	print_text(
		"Sets up a sandbox of the spec, tries the thing in it, and prints yes or no, the "
		"line of the spec that decides, and for a no the line to add. Nothing is "
		"changed, no program gets to do anything, and no call leaves the machine but "
		"the look-up of a name that is granted. Exit status: 0 yes, 1 no, 2 a bad "
		"spec or question.\n");
	puts("  read PATH          open a file, list a folder\n"
	     "  write PATH         write a file; make one, where there is none\n"
	     "  run PROGRAM        start a program, by name or path\n"
	     "  call HOST[:PORT]   call a host; an address with https:// or http:// too\n\n"
	     "Flags:");
	print_flags(FLAGS_OF_WHY);
	puts("\nGrants, each a key of a spec; those marked + may be repeated:");
	print_flags(FLAGS_OF_KEYS);
	puts("\nExamples:\n"
	     "  lnk sandbox why --spec app.toml read ~/.gitconfig\n"
	     "  lnk sandbox why --spec app.toml call github.com:22\n"
	     "\nMore: lnk-sandbox-why(1), lnk-sandbox-spec(5)");
}

static void help_learn(void)
{
	print_text(
		"Runs PROGRAM with little open, watched, and writes the spec of what it wanted to "
		"a "
		"new file: the folder that it ran in, files that it looked for, hosts that it "
		"called, programs that it started. The current folder may be written, the rest of "
		"the home and the network are closed, and every program runs; flags of run open "
		"more. What may hold a secret stays closed, and you are asked before it goes into "
		"the spec. Exit status: the program's, or as for run.\n");
	puts("Flags:\n"
	     "  -o FILE                   the spec to write, outside of what it opens; first\n"
	     "                            of all words\n"
	     "  others                    as for `lnk sandbox run`, such as --host and --read\n"
	     "\nExamples:\n"
	     "  lnk sandbox learn -o ~/specs/app.toml -- make check\n"
	     "  lnk sandbox learn -o ~/specs/app.toml --host '*' -- npm ci\n"
	     "\nMore: lnk-sandbox-learn(1), lnk-sandbox-spec(5)");
}

static void help_tool(void)
{
	puts("  lnk sandbox tool add NAME [FLAG...]\n"
	     "  lnk sandbox tool list\n"
	     "  lnk sandbox tool show NAME\n"
	     "  lnk sandbox tool remove NAME\n");
	print_text(
		"A tool is a program of yours that a sandbox may call though it runs outside, "
		"with your login: a spec with [tools] names = [\"NAME\"] opens it. Here you say "
		"what it may be called with. For gh, glab, git, npm, docker, kubectl, aws and "
		"gcloud there are built-in rules; for others give --allow or --any. A tool that is "
		"there already keeps what it has, and gets what you add.\n");
	puts("Flags of add; those marked + may be repeated:");
	print_flags(FLAGS_OF_TOOL);
	puts("\nA PATTERN is words: 'pr view *' allows `pr view` and all that begins so.\n"
	     "\nExamples:\n"
	     "  lnk sandbox tool add gh --allow 'pr create *'\n"
	     "  lnk sandbox tool add terraform --allow 'plan *' --read ~/.terraformrc\n"
	     "\nMore: lnk-sandbox-tool(1)");
}

static void help_doctor(void)
{
	print_text(
		"Tries every guard that a run is made of and prints which this machine's kernel "
		"offers, since which version of Linux, what stands in for one that is missing "
		"and how to turn it on. A first fence is one without which run refuses to "
		"start. Exit status: 0 when run works here, 125 when a first fence is missing.\n");
	puts("Flags:");
	print_item("--help", "print this help");
}

static void help_completion(void)
{
	print_text("Prints the completion script of a shell. script/install puts them where the "
		   "shells look; by hand:\n");
	puts("  bash: lnk completion bash >~/.local/share/bash-completion/completions/lnk\n"
	     "  zsh:  lnk completion zsh >DIR/_lnk      (DIR a folder of $fpath)\n"
	     "  fish: lnk completion fish >~/.config/fish/completions/lnk.fish\n\n"
	     "Flags:");
	print_item("--help", "print this help");
}

static const struct {
	const char *id;
	void (*print)(void);
} pages[] = {
	{"run", help_run},
	{"spec", help_spec},
	{"why", help_why},
	{"learn", help_learn},
	{"tool", help_tool},
	{"doctor", help_doctor},
	{"completion", help_completion},
};

void cli_help(const char *command)
{
	const struct command *known = find(command);

	if (str_eq(command, "sandbox")) {
		help_sandbox();
		return;
	}
	for (size_t i = 0; known != NULL && i < ARRAY_LEN(pages); i++) {
		if (str_eq(pages[i].id, command)) {
			print_usage(known);
			pages[i].print();
			return;
		}
	}
	help_lnk();
}
