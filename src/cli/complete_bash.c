/* The completion script of bash. What is fixed in it stands here as text; the flags come from the
 * tables. */
#include "base/str.h"
#include "cli/complete_inner.h"

#include <stdio.h>
#include <string.h>

static void put_names(enum flags_of of)
{
	struct flag_view flag;

	for (size_t i = 0; flags_at(of, i, &flag); i++) {
		printf("%s%s", i > 0 ? " " : "", flag.name);
	}
}

/* An earlier command has a flag of this name too; its value is the same in both. */
static bool is_of_earlier(enum flags_of of, const char *name)
{
	struct flag_view flag;

	for (enum flags_of earlier = FLAGS_OF_KEYS; earlier < of; earlier++) {
		for (size_t i = 0; flags_at(earlier, i, &flag); i++) {
			if (str_eq(flag.name, name)) {
				return true;
			}
		}
	}
	return false;
}

/* One branch of a case: all flags whose value is completed like this. */
static void put_case(enum complete_kind kind, const char *action)
{
	struct flag_view flag;
	unsigned n = 0;

	for (enum flags_of of = FLAGS_OF_KEYS; of <= FLAGS_OF_TOOL; of++) {
		for (size_t i = 0; flags_at(of, i, &flag); i++) {
			const struct complete_value *value = complete_value_of(&flag);

			if (flag.metavar != NULL && value->kind == kind &&
			    !is_of_earlier(of, flag.name)) {
				printf("%s%s", n++ > 0 ? " | " : "\t", flag.name);
			}
		}
	}
	if (n > 0) {
		printf(") %s ;;\n", action);
	}
}

static void put_word_cases(void)
{
	struct flag_view flag;

	for (enum flags_of of = FLAGS_OF_KEYS; of <= FLAGS_OF_TOOL; of++) {
		for (size_t i = 0; flags_at(of, i, &flag); i++) {
			const struct complete_value *value = complete_value_of(&flag);

			if (value->kind == COMPLETE_WORDS && !is_of_earlier(of, flag.name)) {
				printf("\t%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")) ;;\n",
				       flag.name, value->words);
			}
		}
	}
}

static void put_values(void)
{
	puts("# Completes the value of the flag $1; false when it takes none.\n"
	     "_lnk_value() {\n"
	     "\tcase $1 in");
	put_case(COMPLETE_FILES, "_lnk_files -f");
	put_case(COMPLETE_SPEC, "_lnk_files -f -X '!*.toml'");
	puts("\t-o) _lnk_files -f -X '!*.toml' ;;"); /* of learn */
	put_case(COMPLETE_PROGRAM, "COMPREPLY=($(compgen -c -- \"$cur\"))");
	put_word_cases();
	put_case(COMPLETE_NOTHING, ":");
	puts("\t*) return 1 ;;\n"
	     "\tesac\n"
	     "}\n\n"
	     "_lnk_files() {\n"
	     "\tcompopt -o filenames 2>/dev/null\n"
	     "\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\"; compgen -d -- \"$cur\")\n"
	     "}\n");
}

/* Where PROGRAM stands, so that what follows it is completed as its own words. */
static void put_program(void)
{
	puts("# The place of PROGRAM among the words, or nothing when it is not there yet.\n"
	     "_lnk_program() {\n"
	     "\tlocal i=3 cur='' COMPREPLY=()\n"
	     "\twhile ((i < COMP_CWORD)); do\n"
	     "\t\tcase ${COMP_WORDS[i]} in\n"
	     "\t\t--)\n"
	     "\t\t\techo $((i + 1))\n"
	     "\t\t\treturn ;;\n"
	     "\t\t-*)\n"
	     "\t\t\tif [[ ${COMP_WORDS[i + 1]-} == = ]]; then\n"
	     "\t\t\t\ti=$((i + 3))\n"
	     "\t\t\telif _lnk_value \"${COMP_WORDS[i]}\"; then\n"
	     "\t\t\t\ti=$((i + 2))\n"
	     "\t\t\telse\n"
	     "\t\t\t\ti=$((i + 1))\n"
	     "\t\t\tfi ;;\n"
	     "\t\t*)\n"
	     "\t\t\techo \"$i\"\n"
	     "\t\t\treturn ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "}\n");
}

static void put_run(void)
{
	puts("_lnk_run() {\n"
	     "\tlocal at\n"
	     "\tat=$(_lnk_program)\n"
	     "\tif [[ -n $at ]] && ((COMP_CWORD > at)); then\n"
	     "\t\tif declare -F _command_offset >/dev/null; then\n"
	     "\t\t\t_command_offset \"$at\"\n"
	     "\t\telse\n"
	     "\t\t\t_lnk_files -f\n"
	     "\t\tfi\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tif [[ -z $at ]]; then\n"
	     "\t\t_lnk_value \"$prev\" && return\n"
	     "\t\tif [[ $cur == -* ]]; then");
	fputs("\t\t\tCOMPREPLY=($(compgen -W '", stdout);
	put_names(FLAGS_OF_KEYS);
	putchar(' ');
	put_names(FLAGS_OF_RUN);
	puts("' -- \"$cur\"))\n"
	     "\t\t\treturn\n"
	     "\t\tfi\n"
	     "\tfi\n"
	     "\tcompopt -o filenames 2>/dev/null\n"
	     "\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	     "}\n");
}

static void put_spec(void)
{
	puts("_lnk_spec() {\n"
	     "\t_lnk_value \"$prev\" && return\n"
	     "\tif [[ $cur == -* ]]; then");
	fputs("\t\tCOMPREPLY=($(compgen -W '", stdout);
	put_names(FLAGS_OF_SPEC);
	putchar(' ');
	put_names(FLAGS_OF_KEYS);
	puts("' -- \"$cur\"))\n"
	     "\telse\n"
	     "\t\t_lnk_value --spec\n"
	     "\tfi\n"
	     "}\n");
}

/* The question, then what it is about. */
static void put_why(void)
{
	puts("_lnk_why() {\n"
	     "\tlocal word verb=''\n"
	     "\tfor word in \"${COMP_WORDS[@]:3:COMP_CWORD-3}\"; do\n"
	     "\t\tcase $word in read | write | run | call) verb=$word ;; esac\n"
	     "\tdone\n"
	     "\t_lnk_value \"$prev\" && return\n"
	     "\tif [[ $cur == -* ]]; then");
	fputs("\t\tCOMPREPLY=($(compgen -W '", stdout);
	put_names(FLAGS_OF_WHY);
	putchar(' ');
	put_names(FLAGS_OF_KEYS);
	puts("' -- \"$cur\"))\n"
	     "\telif [[ -z $verb ]]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W 'read write run call' -- \"$cur\"))\n"
	     "\telif [[ $verb == run ]]; then\n"
	     "\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	     "\telif [[ $verb != call ]]; then\n"
	     "\t\t_lnk_files -f\n"
	     "\tfi\n"
	     "}\n");
}

static void put_tool(void)
{
	puts("_lnk_tool() {\n"
	     "\tif ((COMP_CWORD == 3)); then\n"
	     "\t\tCOMPREPLY=($(compgen -W 'add list show remove --help' -- \"$cur\"))\n"
	     "\telif [[ ${COMP_WORDS[3]} == add ]]; then\n"
	     "\t\t_lnk_value \"$prev\" && return");
	fputs("\t\tCOMPREPLY=($(compgen -W '", stdout);
	put_names(FLAGS_OF_TOOL);
	puts("' -- \"$cur\"))\n"
	     "\t\tif ((COMP_CWORD == 4)) && [[ $cur != -* ]]; then\n"
	     "\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	     "\t\tfi\n"
	     "\telif [[ ${COMP_WORDS[3]} == show || ${COMP_WORDS[3]} == remove ]]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W "
	     "\"$(lnk sandbox tool list 2>/dev/null | cut -d' ' -f1)\" -- \"$cur\"))\n"
	     "\tfi\n"
	     "}\n");
}

/* The second words of `lnk sandbox`, or the first words of the others. */
static void put_commands(bool sandbox)
{
	const struct complete_command *command;
	size_t skip = strlen("sandbox ");

	for (size_t i = 0; (command = complete_command_at(i)) != NULL; i++) {
		if (str_starts(command->words, "sandbox ") == sandbox) {
			printf("%s ", command->words + (sandbox ? skip : 0));
		}
	}
}

void complete_bash(void)
{
	puts("# bash completion for lnk, printed by `lnk completion bash`\n"
	     "# shellcheck shell=bash disable=SC2207\n");
	put_values();
	put_program();
	put_run();
	put_spec();
	put_why();
	put_tool();
	puts("_lnk() {\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	     "\tCOMPREPLY=()\n"
	     "\t# --flag=value: the sign is a word of its own.\n"
	     "\tif [[ $cur == = ]]; then\n"
	     "\t\tcur=''\n"
	     "\telif [[ $prev == = ]] && ((COMP_CWORD > 2)); then\n"
	     "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	     "\tfi\n"
	     "\tcase $COMP_CWORD:${COMP_WORDS[1]}:${COMP_WORDS[2]-} in");
	fputs("\t1:*) COMPREPLY=($(compgen -W 'sandbox ", stdout);
	put_commands(false);
	fputs("--help --version' -- \"$cur\")) ;;\n"
	      "\t2:sandbox:*) COMPREPLY=($(compgen -W '",
	      stdout);
	put_commands(true);
	puts("--help' -- \"$cur\")) ;;\n"
	     "\t2:completion:*) COMPREPLY=($(compgen -W 'bash zsh fish --help' -- \"$cur\")) ;;\n"
	     "\t3:sandbox:learn) COMPREPLY=($(compgen -W '-o --help' -- \"$cur\")) ;;\n"
	     "\t*:sandbox:run | *:sandbox:learn) _lnk_run ;;\n"
	     "\t*:sandbox:spec) _lnk_spec ;;\n"
	     "\t*:sandbox:why) _lnk_why ;;\n"
	     "\t*:sandbox:tool) _lnk_tool ;;\n"
	     "\t*:sandbox:doctor) COMPREPLY=($(compgen -W '--help' -- \"$cur\")) ;;\n"
	     "\tesac\n"
	     "}\n"
	     "complete -F _lnk lnk");
}
