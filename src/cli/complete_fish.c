/* The completion script of fish. */
#include "base/str.h"
#include "cli/complete_inner.h"

#include <stdio.h>
#include <string.h>

/* Every flag that is followed by its value. */
static void put_valued(void)
{
	struct flag_view flag;

	for (enum flags_of of = FLAGS_OF_KEYS; of <= FLAGS_OF_RUN; of++) {
		for (size_t i = 0; flags_at(of, i, &flag); i++) {
			if (flag.metavar != NULL) {
				printf(" %s", flag.name);
			}
		}
	}
}

static void put_flag(const struct flag_view *flag, const char *when)
{
	const struct complete_value *value = complete_value_of(flag);

	fputs("complete -c lnk -n ", stdout);
	complete_quoted(when, true);
	printf(" -l %s -d ", flag->name + strlen("--"));
	complete_quoted(flag->help, true);
	switch (value->kind) {
	case COMPLETE_FILES:
		fputs(" -r -F", stdout);
		break;
	case COMPLETE_SPEC:
		fputs(" -x -a '(__lnk_specs)'", stdout);
		break;
	case COMPLETE_PROGRAM:
		fputs(" -x -a '(__fish_complete_command)'", stdout);
		break;
	case COMPLETE_WORDS:
		fputs(" -x -a ", stdout);
		complete_quoted(value->words, true);
		break;
	case COMPLETE_NOTHING:
	default:
		fputs(flag->metavar != NULL ? " -x" : "", stdout);
		break;
	}
	putchar('\n');
}

static void put_flags(enum flags_of of, const char *when)
{
	struct flag_view flag;

	for (size_t i = 0; flags_at(of, i, &flag); i++) {
		put_flag(&flag, when);
	}
}

static void put_word(const char *when, const char *word, const char *help)
{
	fputs("complete -c lnk -n ", stdout);
	complete_quoted(when, true);
	fputs(" -a ", stdout);
	complete_quoted(word, true);
	fputs(" -d ", stdout);
	complete_quoted(help, true);
	putchar('\n');
}

static void put_commands(void)
{
	const struct complete_command *command;
	size_t skip = strlen("sandbox ");

	put_word("__lnk_words", "sandbox", "run programs in a sandbox");
	for (size_t i = 0; (command = complete_command_at(i)) != NULL; i++) {
		bool sandbox = str_starts(command->words, "sandbox ");

		put_word(sandbox ? "__lnk_words sandbox" : "__lnk_words",
			 command->words + (sandbox ? skip : 0), command->help);
	}
	puts("complete -c lnk -n '__lnk_words completion' -a 'bash zsh fish'\n"
	     "complete -c lnk -n '__lnk_words' -l version -d 'print the version'");
	static const char *const helps[] = {"__lnk_words", "__lnk_words sandbox",
					    "__lnk_words completion", "__lnk_words sandbox doctor",
					    "__lnk_words sandbox tool"};

	for (size_t i = 0; i < ARRAY_LEN(helps); i++) {
		fputs("complete -c lnk -n ", stdout);
		complete_quoted(helps[i], true);
		puts(" -l help -d 'print the help'");
	}
}

static void put_functions(void)
{
	puts("# The words before the cursor are exactly these.\n"
	     "function __lnk_words\n"
	     "    set -l words (commandline -opc)\n"
	     "    test \"$words[2..]\" = \"$argv\"\n"
	     "end\n\n"
	     "# They begin with these.\n"
	     "function __lnk_in\n"
	     "    set -l words (commandline -opc)\n"
	     "    test (count $words) -gt 2; and test \"$words[2..3]\" = \"$argv\"\n"
	     "end\n\n"
	     "# The question of `lnk sandbox why` is there, and one of these.\n"
	     "function __lnk_why\n"
	     "    __lnk_in sandbox why; or return 1\n"
	     "    set -l words (commandline -opc)\n"
	     "    set -q argv[1]; or set argv read write run call\n"
	     "    for word in $argv\n"
	     "        contains -- $word $words[4..]; and return 0\n"
	     "    end\n"
	     "    return 1\n"
	     "end\n\n"
	     "# A command of `lnk sandbox tool`.\n"
	     "function __lnk_tool\n"
	     "    set -l words (commandline -opc)\n"
	     "    test (count $words) -gt 3; and test \"$words[2..4]\" = \"sandbox tool $argv\"\n"
	     "end\n\n"
	     "function __lnk_tools\n"
	     "    lnk sandbox tool list 2>/dev/null | string replace -r ' .*' ''\n"
	     "end\n\n"
	     "# PROGRAM and what follows it, as far as it stands there; false without.\n"
	     "function __lnk_program\n"
	     "    set -l words (commandline -opc)");
	fputs("    set -l valued -o", stdout);
	put_valued();
	puts("\n"
	     "    set -e words[1..3]\n"
	     "    while set -q words[1]\n"
	     "        switch $words[1]\n"
	     "            case --\n"
	     "                set -e words[1]\n"
	     "                break\n"
	     "            case '-*'\n"
	     "                if contains -- $words[1] $valued\n"
	     "                    set -e words[1]\n"
	     "                end\n"
	     "                set -e words[1]\n"
	     "            case '*'\n"
	     "                break\n"
	     "        end\n"
	     "    end\n"
	     "    string join \\n -- $words\n"
	     "    set -q words[1]\n"
	     "end\n\n"
	     "function __lnk_flags\n"
	     "    __lnk_in sandbox run; or __lnk_in sandbox learn; and not __lnk_program "
	     ">/dev/null\n"
	     "end\n\n"
	     "function __lnk_complete_program\n"
	     "    set -l words (__lnk_program)\n"
	     "    complete --do-complete=(string join ' ' -- (string escape -- $words) "
	     "(commandline -ct))\n"
	     "end\n\n"
	     "function __lnk_specs\n"
	     "    __fish_complete_path (commandline -ct) | string match -r "
	     "'.*(?:\\.toml|/)(?:\\t.*)?$'\n"
	     "end\n");
}

void complete_fish(void)
{
	puts("# fish completion for lnk, printed by `lnk completion fish`\n");
	put_functions();
	puts("complete -c lnk -f");
	put_commands();
	put_flags(FLAGS_OF_KEYS, "__lnk_flags");
	put_flags(FLAGS_OF_RUN, "__lnk_flags");
	puts("complete -c lnk -n '__lnk_in sandbox run; or __lnk_in sandbox learn' -x -a "
	     "'(__lnk_complete_program)'\n"
	     "complete -c lnk -n '__lnk_in sandbox learn' -s o -r -F -d 'the spec to write'");
	put_flags(FLAGS_OF_SPEC, "__lnk_in sandbox spec");
	put_flags(FLAGS_OF_KEYS, "__lnk_in sandbox spec");
	puts("complete -c lnk -n '__lnk_in sandbox spec' -x -a '(__lnk_specs)'");
	put_flags(FLAGS_OF_WHY, "__lnk_in sandbox why");
	put_flags(FLAGS_OF_KEYS, "__lnk_in sandbox why");
	puts("complete -c lnk -n '__lnk_in sandbox why; and not __lnk_why' -x -a "
	     "'read write run call'\n"
	     "complete -c lnk -n '__lnk_why read write' -r -F\n"
	     "complete -c lnk -n '__lnk_why run' -x -a '(__fish_complete_command)'");
	puts("complete -c lnk -n '__lnk_words sandbox tool' -x -a 'add list show remove'\n"
	     "complete -c lnk -n '__lnk_words sandbox tool add' -x -a "
	     "'(__fish_complete_command)'\n"
	     "complete -c lnk -n '__lnk_words sandbox tool show' -x -a '(__lnk_tools)'\n"
	     "complete -c lnk -n '__lnk_words sandbox tool remove' -x -a '(__lnk_tools)'");
	put_flags(FLAGS_OF_TOOL, "__lnk_tool add");
}
