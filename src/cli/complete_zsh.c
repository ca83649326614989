/* The completion script of zsh, on its _arguments. */
#include "base/str.h"
#include "cli/complete_inner.h"

#include <stdio.h>
#include <string.h>

static void put_action(const struct complete_value *value, char *out, size_t cap)
{
	switch (value->kind) {
	case COMPLETE_FILES:
		snprintf(out, cap, "_files");
		break;
	case COMPLETE_SPEC:
		snprintf(out, cap, "_files -g \"*.toml(-.)\"");
		break;
	case COMPLETE_PROGRAM:
		snprintf(out, cap, " _command_names -e");
		break;
	case COMPLETE_WORDS:
		snprintf(out, cap, "(%s)", value->words);
		break;
	case COMPLETE_NOTHING:
	default:
		/* A space: a value that is not completed. */
		snprintf(out, cap, " ");
		break;
	}
}

/* `text` with a backslash before each character of `special`. */
static const char *escaped(const char *text, const char *special, char *out, size_t cap)
{
	size_t n = 0;

	for (; *text != '\0' && n + 2 < cap; text++) {
		if (strchr(special, *text) != NULL) {
			out[n++] = '\\';
		}
		out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

/* '*--flag=[help]:METAVAR:action' */
static void put_flag(const struct flag_view *flag)
{
	char help[256];
	char metavar[64];
	char action[128];
	char text[512];

	escaped(flag->help, "[]\\:", help, sizeof(help));
	if (flag->metavar == NULL) {
		snprintf(text, sizeof(text), "%s[%s]", flag->name, help);
	} else {
		escaped(flag->metavar, "\\:", metavar, sizeof(metavar));
		put_action(complete_value_of(flag), action, sizeof(action));
		snprintf(text, sizeof(text), "%s%s=[%s]:%s:%s", flag->repeatable ? "*" : "",
			 flag->name, help, metavar, action);
	}
	fputs(" \\\n\t\t", stdout);
	complete_quoted(text, false);
}

static void put_flags(enum flags_of of)
{
	struct flag_view flag;

	for (size_t i = 0; flags_at(of, i, &flag); i++) {
		put_flag(&flag);
	}
}

/* Words with what they do, for _describe. */
static void put_commands(bool sandbox)
{
	const struct complete_command *command;
	size_t skip = strlen("sandbox ");

	for (size_t i = 0; (command = complete_command_at(i)) != NULL; i++) {
		char text[256];

		if (str_starts(command->words, "sandbox ") == sandbox) {
			snprintf(text, sizeof(text), "%s:%s", command->words + (sandbox ? skip : 0),
				 command->help);
			fputs("\n\t\t\t", stdout);
			complete_quoted(text, false);
		}
	}
}

void complete_zsh(void)
{
	puts("#compdef lnk\n"
	     "# zsh completion for lnk, printed by `lnk completion zsh`\n");
	/* -A: what looks like a flag after PROGRAM is PROGRAM's. */
	fputs("_lnk_run() {\n\t_arguments -S -A '-*'", stdout);
	put_flags(FLAGS_OF_KEYS);
	put_flags(FLAGS_OF_RUN);
	puts(" \\\n\t\t'(-)1:program: _command_names -e' \\\n\t\t'*::arguments:_normal'\n}\n");
	fputs("_lnk_learn() {\n\t_arguments -S -A '-*' '-o[the spec to write]:spec:_files -g "
	      "\"*.toml(-.)\"'",
	      stdout);
	put_flags(FLAGS_OF_KEYS);
	put_flags(FLAGS_OF_RUN);
	puts(" \\\n\t\t'(-)1:program: _command_names -e' \\\n\t\t'*::arguments:_normal'\n}\n");
	fputs("_lnk_spec() {\n\t_arguments -S", stdout);
	put_flags(FLAGS_OF_SPEC);
	put_flags(FLAGS_OF_KEYS);
	puts(" \\\n\t\t'1:spec:_files -g \"*.toml(-.)\"'\n}\n");
	fputs("_lnk_thing() {\n"
	      "\tcase $words[(r)(read|write|run|call)] in\n"
	      "\trun) _command_names -e ;;\n"
	      "\tread | write) _files ;;\n"
	      "\tesac\n}\n\n"
	      "_lnk_why() {\n\t_arguments -S",
	      stdout);
	put_flags(FLAGS_OF_WHY);
	put_flags(FLAGS_OF_KEYS);
	puts(" \\\n\t\t'1:question:(read write run call)' \\\n\t\t'2:thing:_lnk_thing'\n}\n");
	puts("_lnk_tools() {\n"
	     "\tlocal -a tools=(${${(f)\"$(lnk sandbox tool list 2>/dev/null)\"}%% *})\n"
	     "\t(($#tools)) && compadd -a tools\n"
	     "}\n");
	fputs("_lnk_tool() {\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\tcompadd add list show remove\n"
	      "\t\t_arguments '--help[print the help]'\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tlocal verb=$words[2]\n"
	      "\tshift words\n"
	      "\t((CURRENT--))\n"
	      "\tcase $verb in\n"
	      "\tadd) _arguments -S",
	      stdout);
	put_flags(FLAGS_OF_TOOL);
	puts(" \\\n\t\t'1:tool: _command_names -e' ;;\n"
	     "\tshow | remove) _arguments '1:tool:_lnk_tools' ;;\n"
	     "\tesac\n}\n");
	/* Not called `commands`: that is a parameter of zsh itself. */
	fputs("_lnk() {\n"
	      "\tlocal -a offered\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\toffered=(\n"
	      "\t\t\t'sandbox:run programs in a sandbox'",
	      stdout);
	put_commands(false);
	fputs("\n\t\t)\n"
	      "\t\t_describe command offered\n"
	      "\t\t_arguments '--help[print the help]' '--version[print the version]'\n"
	      "\telif [[ $words[2] == completion ]]; then\n"
	      "\t\t((CURRENT == 3)) && compadd bash zsh fish\n"
	      "\telif [[ $words[2] == sandbox ]] && ((CURRENT == 3)); then\n"
	      "\t\toffered=(",
	      stdout);
	put_commands(true);
	puts("\n\t\t)\n"
	     "\t\t_describe command offered\n"
	     "\telif [[ $words[2] == sandbox ]]; then\n"
	     "\t\tlocal name=$words[3]\n"
	     "\t\tshift 2 words\n"
	     "\t\t((CURRENT -= 2))\n"
	     "\t\tcase $name in\n"
	     "\t\trun | spec | tool | why | learn) _lnk_$name ;;\n"
	     "\t\tdoctor) _arguments '--help[print the help]' ;;\n"
	     "\t\tesac\n"
	     "\tfi\n"
	     "}\n\n"
	     "_lnk \"$@\"");
}
