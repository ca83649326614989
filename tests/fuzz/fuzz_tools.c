/* tools.toml and the judge: an input is the text of a file, and after a NUL the arguments of a
 * call, with a NUL between two. The file is read; what was read is written and read back; each of
 * its tools, and each tool with built-in rules alone, judges the call. */
#include "base/str.h"
#include "broker/judge.h"
#include "broker/profiles.h"
#include "fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 256

static const char *const closed[] = {"/home/u/.config/link"};
static const struct tools_place place = {
	.home = "/home/u", .uid = 0, .closed = closed, .nclosed = 1};

/* --- the file ----------------------------------------------------------------------------- */

static void check_errors(const struct err_list *errs)
{
	REQUIRE(errs->n <= ERR_LIST_MAX && errs->n <= errs->total);
	for (unsigned i = 0; i < errs->n; i++) {
		REQUIRE(errs->v[i].code == ERR_SPEC && errs->v[i].msg[0] != '\0');
		REQUIRE(errs->v[i].line > 0 && errs->v[i].col > 0);
		REQUIRE(str_eq(errs->v[i].file, "t.toml"));
	}
}

static void check_patterns(const struct tool_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *p = list->v[i];
		size_t n = strlen(p);

		REQUIRE(n > 0 && n <= TOOL_PATTERN_MAX && p[0] != ' ' && p[n - 1] != ' ');
		REQUIRE(strstr(p, "  ") == NULL && strpbrk(p, "\t\n\"'`") == NULL);
		REQUIRE(strspn(p, "* ") < n);
	}
}

static void check_paths(const struct tool_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *p = list->v[i];

		REQUIRE(p[0] == '/' && p[1] != '\0' && strstr(p, "//") == NULL);
		REQUIRE(!path_within("/home/u", p) && !path_within(p, closed[0]));
		REQUIRE(!path_within(closed[0], p));
	}
}

static void check_tools(const struct tools *tools)
{
	REQUIRE(tools->n <= TOOLS_MAX);
	for (size_t i = 0; i < tools->n; i++) {
		const struct tool *tool = &tools->v[i];
		struct err err;

		REQUIRE(tool_name_check(tool->name, strlen(tool->name), &err));
		REQUIRE(tool->program[0] == '/');
		REQUIRE(tool->profile != NULL || tool->allow.n > 0 || tool->any);
		REQUIRE(tools_find(tools, tool->name) == tool);
		check_patterns(&tool->allow);
		check_patterns(&tool->deny);
		check_paths(&tool->read);
		check_paths(&tool->write);
	}
}

static void check_list(const struct tool_list *a, const struct tool_list *b)
{
	REQUIRE(a->n == b->n);
	for (size_t i = 0; i < a->n; i++) {
		REQUIRE(str_eq(a->v[i], b->v[i]));
	}
}

/* Written and read back it is the same. */
static void write_and_read(const struct tools *tools)
{
	char folder[] = "/dev/shm/lnk-fuzz-XXXXXX";
	char path[64];
	static struct err_list errs;
	auto_arena struct arena arena = {NULL};
	struct tools_place mine = place;
	struct tools again;
	struct err err;

	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/t", folder);
	mine.uid = getuid();
	memset(&errs, 0, sizeof(errs));
	if (!tools_write(path, tools, &mine, &err)) {
		/* Escapes make it longer. */
		REQUIRE(strstr(err.msg, "64 KiB") != NULL);
		rmdir(folder);
		return;
	}
	REQUIRE(tools_read(path, &mine, &arena, &again, &errs));
	REQUIRE(unlink(path) == 0 && rmdir(folder) == 0);
	REQUIRE(again.n == tools->n);
	for (size_t i = 0; i < again.n; i++) {
		REQUIRE(str_eq(again.v[i].program, tools->v[i].program));
		REQUIRE(again.v[i].profile == tools->v[i].profile);
		REQUIRE(again.v[i].any == tools->v[i].any);
		check_list(&again.v[i].allow, &tools->v[i].allow);
		check_list(&again.v[i].deny, &tools->v[i].deny);
		check_list(&again.v[i].read, &tools->v[i].read);
		check_list(&again.v[i].write, &tools->v[i].write);
		check_list(&again.v[i].env, &tools->v[i].env);
	}
}

/* --- the judge ---------------------------------------------------------------------------- */

struct call {
	char *argv[ARGUMENTS_MAX];
	int argc;
};

static bool judge(const struct tool *tool, const struct call *call)
{
	struct tool_refusal refusal;
	bool ok = tool_judge(tool, call->argc, call->argv, &refusal);

	REQUIRE(ok == (refusal.why[0] == '\0') && ok == (refusal.hint[0] == '\0'));
	for (const char *c = refusal.why; *c != '\0'; c++) {
		REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
	for (const char *c = refusal.hint; *c != '\0'; c++) {
		REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
	return ok;
}

/* A second opinion on one word, as plain as can be. */
static bool word_fits(const char *p, size_t len, const char *s, unsigned *left)
{
	if (*left == 0) {
		return false;
	}
	*left -= 1;
	if (len == 0) {
		return *s == '\0';
	}
	if (p[0] == '*') {
		return word_fits(p + 1, len - 1, s, left) ||
		       (*s != '\0' && word_fits(p, len, s + 1, left));
	}
	return *s == p[0] && word_fits(p + 1, len - 1, s + 1, left);
}

/* And on a pattern, where no options are known. *ret_sure: it was not given up. */
static bool pattern_fits(const char *pattern, const struct call *call, bool *ret_sure)
{
	unsigned left = 20000;
	int at = 0;

	for (;; at++) {
		size_t len = strcspn(pattern, " ");
		bool option =
			at < call->argc && call->argv[at][0] == '-' && call->argv[at][1] != '\0';

		if (len == 1 && pattern[0] == '*' && pattern[1] == '\0') {
			return true;
		}
		if (at == call->argc || (option && pattern[0] != '-') ||
		    !word_fits(pattern, len, call->argv[at], &left)) {
			*ret_sure = left > 0;
			return false;
		}
		if (pattern[len] == '\0') {
			return at + 1 == call->argc;
		}
		pattern += len + 1;
	}
}

static void judge_without_profile(const struct tool *tool, const struct call *call)
{
	struct tool plain = *tool;
	bool expected = false;
	bool sure = true;

	plain.profile = NULL;
	plain.deny.n = 0;
	plain.any = false;
	for (size_t i = 0; i < plain.allow.n && !expected && sure; i++) {
		expected = pattern_fits(plain.allow.v[i], call, &sure);
	}
	if (sure) {
		REQUIRE(judge(&plain, call) == expected);
	}
	plain.any = true;
	REQUIRE(judge(&plain, call));
}

/* More is never less: what is allowed stays so when more is, and what is refused when less is. */
static void judge_tool(const struct tool *tool, const struct call *call)
{
	struct tool other = *tool;
	bool ok = judge(tool, call);

	other.any = true;
	REQUIRE(!ok || judge(&other, call));
	other = *tool;
	other.deny.n = 0;
	REQUIRE(!ok || judge(&other, call));
	other = *tool;
	other.allow.n /= 2;
	REQUIRE(ok || !judge(&other, call));
	judge_without_profile(tool, call);
}

static bool begins(const struct call *call, const char *first, const char *second)
{
	return call->argc > 0 && str_eq(call->argv[0], first) &&
	       (second == NULL || (call->argc > 1 && str_eq(call->argv[1], second)));
}

/* What must never get through, whatever stands around it. */
static void judge_profile(const struct profile *profile, const struct call *call)
{
	struct tool tool = {
		.name = profile->name, .program = "/usr/bin/x", .profile = profile, .any = true};
	bool ok = judge(&tool, call);

	if (str_eq(profile->name, "gh")) {
		REQUIRE(!ok || !begins(call, "auth", "token"));
		REQUIRE(!ok || !begins(call, "alias", NULL));
	} else if (str_eq(profile->name, "git")) {
		for (int i = 0; i < call->argc; i++) {
			REQUIRE(!ok || !str_eq(call->argv[i], "--upload-pack"));
			REQUIRE(!ok || !str_starts(call->argv[i], "--upload-pack="));
			REQUIRE(!ok || i > 0 || !str_starts(call->argv[i], "-c"));
		}
		REQUIRE(!ok || !begins(call, "config", NULL));
	} else if (str_eq(profile->name, "kubectl")) {
		REQUIRE(!ok || !begins(call, "exec", NULL));
	}
	tool.any = false;
	REQUIRE(ok || !judge(&tool, call));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena arena = {NULL};
	static struct err_list errs;
	const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
	size_t len = end != NULL ? (size_t)(end - data) : size;
	struct call call = {.argc = 0};
	struct tools tools;

	if (end != NULL) {
		const char *s = arena_strndup(&arena, (const char *)end + 1, size - len - 1);
		const char *stop = s + (size - len - 1);

		while (s < stop && call.argc < ARGUMENTS_MAX) {
			call.argv[call.argc] = arena_strdup(&arena, s);
			s += strlen(call.argv[call.argc++]) + 1;
		}
	}
	memset(&errs, 0, sizeof(errs));
	if (tools_parse("t.toml", (const char *)data, len, &place, &arena, &tools, &errs)) {
		REQUIRE(errs.total == 0);
		check_tools(&tools);
		write_and_read(&tools);
		for (size_t i = 0; i < tools.n; i++) {
			judge_tool(&tools.v[i], &call);
		}
	} else {
		REQUIRE(errs.total > 0);
		check_errors(&errs);
	}
	for (size_t i = 0; profile_at(i) != NULL; i++) {
		judge_profile(profile_at(i), &call);
	}
	return 0;
}
