/* tools.toml: every mistake with its place, what is written reads back, and the file is whole at
 * every moment. Then what must hold of a tool before it is started. */
#include "base/fd.h"
#include "base/str.h"
#include "broker/profiles.h"
#include "broker/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const closed[] = {"/home/u/.config/link", "/home/u/.local/state/link"};

static struct tools_place place(void)
{
	return (struct tools_place){
		.home = "/home/u", .uid = getuid(), .closed = closed, .nclosed = ARRAY_LEN(closed)};
}

static bool parse(const char *text, size_t len, struct arena *arena, struct tools *tools,
		  struct err_list *errs)
{
	struct tools_place at = place();
	char *exact = malloc(len > 0 ? len : 1);
	bool ok;

	/* Of its exact size, so that a sanitizer sees a byte too far. */
	assert_non_null(exact);
	memcpy(exact, text, len);
	memset(errs, 0, sizeof(*errs));
	ok = tools_parse("t.toml", exact, len, &at, arena, tools, errs);
	free(exact);
	assert_int_equal(ok, errs->total == 0);
	return ok;
}

/* --- reading ------------------------------------------------------------------------------ */

#define GOOD "[tool.x]\nprogram = \"/bin/x\"\nany = true\n"

/* Text, and what each error says: "line:col: message" with "|" between errors. */
static const char *const bad[][2] = {
	{"x = 1\n", "1:1: there is no key \"x\" here"},
	{"tool = 1\n", "1:1: \"tool\" is not a table of tools"},
	{"[[tool]]\nname = \"gh\"\n", "1:3: \"tool\" is not a table of tools"},
	{"[tools.gh]\nany = true\n", "1:2: there is no key \"tools\" here"},
	{"[tool]\ngh = 1\n", "2:1: [tool.gh] is a table, not an integer"},
	{"[[tool.gh]]\nany = true\n", "1:8: [tool.gh] is a table, not an array"},
	{"[tool.gh]\n", "1:1: [tool.gh] has no program"},
	{"[tool.frob]\nprogram = \"/bin/x\"\n",
	 "1:1: [tool.frob] allows nothing, and has no built-in profile"},
	{"[tool.frob]\nprogram = \"/bin/x\"\nany = false\n", "1:1: [tool.frob] allows nothing"},
	{"[tool.gh]\nprogram = \"/bin/gh\"\nprofile = \"none\"\n", "1:1: [tool.gh] allows nothing"},
	{"[tool.gh]\nprogram = \"/bin/gh\"\nprofile = \"hub\"\n",
	 "3:11: there is no built-in profile \"hub\""},
	{"[tool.gh]\nprogram = \"/bin/gh\"\nprofile = \"gh\\u0000\"\n",
	 "3:11: there is no built-in profile"},
	{"[tool.gh]\nprogram = \"/bin/gh\"\nprofile = \"\"\n",
	 "3:11: there is no built-in profile \"\""},
	{"[tool.\"../../bin/sh\"]\nany = true\n", "1:7: \"../../bin/sh\" is not a tool's name"},
	{"[tool.\"gh\\u0000x\"]\nany = true\n", "1:7: \"gh"},
	{"[tool.\"a/b\"]\nany = true\n", "1:7: \"a/b\" is not a tool's name"},
	{"[tool.\".x\"]\nany = true\n", "1:7: \".x\" is not a tool's name"},
	{"[tool.-x]\nany = true\n", "1:7: \"-x\" is not a tool's name"},
	{"[tool.\"\"]\nany = true\n", "1:7: \"\" is not a tool's name"},
	{"[tool.\"a b\"]\nany = true\n", "1:7: \"a b\" is not a tool's name"},
	{"[tool.\"*\"]\nany = true\n", "1:7: \"*\" is not a tool's name"},
	{"[tool.a.b]\nany = true\n", "1:9: [tool.a] has no key \"b\""},
	{"[tool.gh]\nprogram = \"gh\"\n", "2:11: \"gh\" is not the whole path of a program"},
	{"[tool.gh]\nprogram = \"/bin/../gh\"\n", "2:11: \"/bin/../gh\" is not the whole path"},
	{"[tool.gh]\nprogram = \"/bin//gh\"\n", "2:11: \"/bin//gh\" is not the whole path"},
	{"[tool.gh]\nprogram = \"/\"\n", "2:11: \"/\" is not the whole path"},
	{"[tool.gh]\nprogram = \"\"\n", "2:11: \"\" is not the whole path"},
	{"[tool.gh]\nprogram = \"/bin/gh\\u0000\"\n", "2:11: "},
	{"[tool.gh]\nprogram = 1\n", "2:11: [tool.gh] program takes a string, not an integer"},
	{"[tool.gh]\nprogram = [\"/bin/gh\"]\n",
	 "2:11: [tool.gh] program takes a string, not an array"},
	{GOOD "any = false\n", "4:1: "},
	{GOOD "[tool.x]\n", "4:"},
	{"[tool.x]\nprogram = \"/bin/x\"\nany = 1\n",
	 "3:7: [tool.x] any takes true or false, not an integer"},
	{"[tool.x]\nprogram = \"/bin/x\"\nany = \"true\"\n",
	 "3:7: [tool.x] any takes true or false, not a string"},
	{GOOD "allow = \"x\"\n", "4:9: [tool.x] allow takes a list of strings, not a string"},
	{GOOD "allow = []\n", "4:9: [tool.x] allow is empty"},
	{GOOD "allow = [1]\n", "4:10: [tool.x] allow takes a list of strings, not an integer"},
	{GOOD "allow = [\"a\", [\"b\"]]\n", "4:15: [tool.x] allow takes a list of strings"},
	{GOOD "allow = [\"\"]\n", "4:10: a pattern is empty"},
	{GOOD "allow = [\" \\t \"]\n", "4:10: a pattern is empty"},
	{GOOD "allow = [\"*\"]\n", "4:10: the pattern \"*\" is every call"},
	{GOOD "allow = [\"* *\"]\n", "4:10: the pattern \"* *\" is every call"},
	{GOOD "deny = [\"**\"]\n", "4:9: the pattern \"**\" is every call"},
	{GOOD "allow = [\"x pr\"]\n", "4:10: the pattern \"x pr\" begins with the tool's own name"},
	{GOOD "allow = [\"x\"]\n", "4:10: the pattern \"x\" begins with the tool's own name"},
	{GOOD "allow = [\"a 'b'\"]\n", "4:10: the pattern \"a 'b'\" holds a quote"},
	{GOOD "allow = [\"a\\nb\"]\n", "4:10: the pattern \"a"},
	{GOOD "allow = [\"a\\u0000b\"]\n", "4:10: the pattern \"a"},
	{GOOD "allow = [\n  \"a *\",\n  \"\",\n]\n", "6:3: a pattern is empty"},
	{GOOD "read = [\"x\"]\n", "4:9: the path \"x\" is relative, and to nothing"},
	{GOOD "read = [\"~\"]\n", "4:9: \"/home/u\" is your whole home"},
	{GOOD "read = [\"/home\"]\n", "4:9: \"/home\" is a folder above your home"},
	{GOOD "write = [\"/\"]\n", "4:10: \"/\" is a folder above your home"},
	{GOOD "read = [\"~/.config/link\"]\n",
	 "4:9: \"/home/u/.config/link\" lies in Link's own folder"},
	{GOOD "read = [\"~/.config/link/x\"]\n", "4:9: \"/home/u/.config/link/x\" lies in Link's"},
	{GOOD "write = [\"~/.config\"]\n", "4:10: \"/home/u/.config\" holds Link's own folder"},
	{GOOD "read = [\"~/../v\"]\n", "4:9: \"~/../v\" holds \"..\""},
	{GOOD "read = [\"/a\\u0000b\"]\n", "4:9: "},
	{GOOD "read = [\"~root/x\"]\n", "4:9: \"~root/x\""},
	{GOOD "env = [\"A=b\"]\n", "4:8: \"A=b\" is not a variable's name"},
	{GOOD "env = [\"1A\"]\n", "4:8: \"1A\" is not a variable's name"},
	{GOOD "env = [\"\"]\n", "4:8: \"\" is not a variable's name"},
	{GOOD "env = [\"A\\u0000\"]\n", "4:8: "},
	{GOOD "alow = [\"a\"]\n", "4:1: [tool.x] has no key \"alow\"; did you mean \"allow\"?"},
	{GOOD "frobnicate = 1\n", "4:1: [tool.x] has no key \"frobnicate\""},
	{GOOD "\"any\\u0000\" = 1\n", "4:1: [tool.x] has no key"},
	{GOOD "allow = [\"a\"\n", "4:9: "},
	{GOOD "x\n", "4:2: "},
	{GOOD "\xff\n", "4:1: "},
	{"[tool.a]\nprogram = 1\nany = 2\n[tool.b]\nx = 3\n",
	 "2:11: [tool.a] program takes|3:7: [tool.a] any takes|5:1: [tool.b] has no key \"x\""},
};

static void bad_files(void **state)
{
	static struct err_list errs;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_arena struct arena arena = {NULL};
		struct tools tools;
		char copy[512];
		unsigned n = 0;

		if (parse(bad[i][0], strlen(bad[i][0]), &arena, &tools, &errs)) {
			fail_msg("taken: %s", bad[i][0]);
		}
		snprintf(copy, sizeof(copy), "%s", bad[i][1]);
		for (char *s = strtok(copy, "|"); s != NULL; s = strtok(NULL, "|"), n++) {
			char all[1024];

			assert_true(n < errs.n);
			snprintf(all, sizeof(all), "%u:%u: %.900s", errs.v[n].line, errs.v[n].col,
				 errs.v[n].msg);
			if (!str_starts(all, s)) {
				fail_msg("%s: \"%s\", not \"%s\"", bad[i][0], all, s);
			}
			assert_string_equal(errs.v[n].file, "t.toml");
			assert_true(errs.v[n].hint[0] != '\0' || errs.v[n].msg[0] != '\0');
			assert_true(errs.v[n].source[0] != '\0' || errs.v[n].line > 4);
			assert_int_equal(errs.v[n].code, ERR_SPEC);
		}
		assert_int_equal(errs.total, n);
	}
}

static void good_file(void **state)
{
	static const char text[] = "# mine\n"
				   "[tool.gh]\n"
				   "program = \"/usr/bin/gh\"\n"
				   "allow = [\" pr   merge\t* \", 'run rerun *']\n"
				   "deny = [\"gist\"]\n"
				   "read = [\"~/.config/gh/\", \"/srv//x\"]\n"
				   "write = [\"~/.cache/gh\"]\n"
				   "env = [\"GH_HOST\", \"_x1\"]\n"
				   "\n"
				   "[tool.\"c++.2\"]\n"
				   "program = \"/opt/c\"\n"
				   "any = true\n"
				   "[tool]\n"
				   "hub = {program = \"/usr/bin/gh\"}\n"
				   "git.program = \"/usr/bin/git\"\n"
				   "git.profile = \"none\"\n"
				   "git.allow = [\"x\"]\n"
				   "K8S = {program = \"/usr/bin/k\", profile = \"kubectl\"}\n";
	static struct err_list errs;
	auto_arena struct arena arena = {NULL};
	struct tools tools;
	const struct tool *gh;

	(void)state;
	if (!parse(text, sizeof(text) - 1, &arena, &tools, &errs)) {
		fail_msg("%u:%u: %s", errs.v[0].line, errs.v[0].col, errs.v[0].msg);
	}
	assert_int_equal(tools.n, 5);
	gh = tools_find(&tools, "gh");
	assert_non_null(gh);
	assert_string_equal(gh->program, "/usr/bin/gh");
	assert_ptr_equal(gh->profile, profile_find("gh"));
	assert_string_equal(gh->allow.v[0], "pr merge *");
	assert_string_equal(gh->allow.v[1], "run rerun *");
	assert_string_equal(gh->deny.v[0], "gist");
	assert_string_equal(gh->read.v[0], "/home/u/.config/gh");
	assert_string_equal(gh->read.v[1], "/srv/x");
	assert_string_equal(gh->write.v[0], "/home/u/.cache/gh");
	assert_int_equal(gh->env.n, 2);
	assert_int_equal(gh->from.line, 2);
	assert_false(gh->any);
	assert_null(tools_find(&tools, "c++.2")->profile);
	assert_true(tools_find(&tools, "c++.2")->any);
	/* By the program's name; none where that is said; another where that is. */
	assert_ptr_equal(tools_find(&tools, "hub")->profile, profile_find("gh"));
	assert_null(tools_find(&tools, "git")->profile);
	assert_ptr_equal(tools_find(&tools, "K8S")->profile, profile_find("kubectl"));
	assert_null(tools_find(&tools, "g"));
	assert_true(parse("", 0, &arena, &tools, &errs));
	assert_int_equal(tools.n, 0);
}

/* The caps hold, and say so. */
static void large_files(void **state)
{
	static struct err_list errs;
	static char text[1 << 20];
	auto_arena struct arena arena = {NULL};
	struct tools tools;
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i <= TOOLS_MAX; i++) {
		n += (size_t)sprintf(text + n, "[tool.t%u]\nprogram=\"/x\"\nany=true\n", i);
	}
	assert_false(parse(text, n, &arena, &tools, &errs));
	assert_non_null(strstr(errs.v[0].msg, "257 tools"));
	n = (size_t)sprintf(text, GOOD "allow = [");
	for (unsigned i = 0; i <= TOOL_ENTRIES_MAX; i++) {
		n += (size_t)sprintf(text + n, "\"a%u\",", i);
	}
	n += (size_t)sprintf(text + n, "]\n");
	assert_false(parse(text, n, &arena, &tools, &errs));
	assert_non_null(strstr(errs.v[0].msg, "257 entries"));
	n = (size_t)sprintf(text, GOOD "allow = [\"%0*d\"]\n", TOOL_PATTERN_MAX + 1, 0);
	assert_false(parse(text, n, &arena, &tools, &errs));
	assert_non_null(strstr(errs.v[0].msg, "is too long"));
	n = (size_t)sprintf(text, GOOD "allow = [\"");
	for (unsigned i = 0; i <= TOOL_WORDS_MAX; i++) {
		n += (size_t)sprintf(text + n, "a ");
	}
	n += (size_t)sprintf(text + n, "\"]\n");
	assert_false(parse(text, n, &arena, &tools, &errs));
	assert_non_null(strstr(errs.v[0].msg, "33 words"));
	n = (size_t)sprintf(text, "[tool.%065d]\nany = true\n", 0);
	assert_false(parse(text, n, &arena, &tools, &errs));
	assert_non_null(strstr(errs.v[0].msg, "is not a tool's name"));
	/* More errors than are kept are counted. */
	n = 0;
	for (unsigned i = 0; i < 50; i++) {
		n += (size_t)sprintf(text + n, "k%u = 1\n", i);
	}
	assert_false(parse(text, n, &arena, &tools, &errs));
	assert_int_equal(errs.n, ERR_LIST_MAX);
	assert_int_equal(errs.total, 50);
}

/* --- the file ----------------------------------------------------------------------------- */

struct folder {
	char dir[64];
	char path[128]; /* of tools.toml, in a folder of its own */
};

static int set_up(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		return -1;
	}
	snprintf(f->dir, sizeof(f->dir), "/tmp/lnk-tools-XXXXXX");
	if (mkdtemp(f->dir) == NULL) {
		return -1;
	}
	snprintf(f->path, sizeof(f->path), "%s/a/link/tools.toml", f->dir);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct folder *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	int rc = system(command);
	free(f);
	return rc;
}

static void put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_true(fd_write_all(fd, text, strlen(text)));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void expect_unreadable(const char *path, struct tools_place *at, const char *says)
{
	static struct err_list errs;
	auto_arena struct arena arena = {NULL};
	struct tools tools;

	memset(&errs, 0, sizeof(errs));
	if (tools_read(path, at, &arena, &tools, &errs)) {
		fail_msg("taken, and not: %s", says);
	}
	if (strstr(errs.v[0].msg, says) == NULL) {
		fail_msg("nothing of \"%s\" in: %s", says, errs.v[0].msg);
	}
	assert_string_equal(errs.v[0].file, path);
}

static void expect_readable(const char *path, struct tools_place *at, size_t n)
{
	static struct err_list errs;
	auto_arena struct arena arena = {NULL};
	struct tools tools;

	memset(&errs, 0, sizeof(errs));
	if (!tools_read(path, at, &arena, &tools, &errs)) {
		fail_msg("%s: %s", path, errs.v[0].msg);
	}
	assert_int_equal(tools.n, n);
	assert_string_equal(tools.path, path);
}

static void file_must_be_mine(void **state)
{
	struct folder *f = *state;
	struct tools_place at = place();
	struct tools_place other = at;
	char link_path[128];
	char *large = malloc(TOOLS_FILE_MAX + 2);

	expect_readable(f->path, &at, 0); /* not there */
	assert_int_equal(mkdir(strcat(strcpy(link_path, f->dir), "/a"), 0700), 0);
	assert_int_equal(mkdir(strcat(link_path, "/link"), 0700), 0);
	put(f->path, GOOD, 0600);
	expect_readable(f->path, &at, 1);
	put(f->path, GOOD, 0644);
	expect_readable(f->path, &at, 1);
	put(f->path, GOOD, 0620);
	expect_unreadable(f->path, &at, "may be written by others (mode 0620)");
	put(f->path, GOOD, 0602);
	expect_unreadable(f->path, &at, "may be written by others (mode 0602)");
	put(f->path, GOOD, 0600);
	assert_int_equal(chmod(link_path, 0702), 0);
	expect_unreadable(f->path, &at, "may be written by others (mode 0702)");
	assert_int_equal(chmod(link_path, 0700), 0);
	/* Somebody else's: made so where that is possible, else asked for as somebody else. */
	if (getuid() == 0) {
		assert_int_equal(chown(f->path, 12345, 12345), 0);
	}
	other.uid = 54321;
	expect_unreadable(f->path, &other, "belongs to another user");
	if (getuid() == 0) {
		expect_unreadable(f->path, &at, "belongs to another user (12345)");
		assert_int_equal(chown(f->path, 0, 0), 0);
	}
	/* Other kinds of files, and large ones. Nothing waits. */
	assert_non_null(large);
	memset(large, '#', TOOLS_FILE_MAX + 1);
	large[TOOLS_FILE_MAX + 1] = '\0';
	put(f->path, large, 0600);
	expect_unreadable(f->path, &at, "larger than 64 KiB");
	large[TOOLS_FILE_MAX] = '\0';
	put(f->path, large, 0600);
	expect_readable(f->path, &at, 0);
	free(large);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	expect_unreadable(f->path, &at, "not a file");
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkdir(f->path, 0700), 0);
	expect_unreadable(f->path, &at, "not a file");
	assert_int_equal(rmdir(f->path), 0);
	/* A link to a file that is fine, in a folder that is not. */
	snprintf(link_path, sizeof(link_path), "%s/open", f->dir);
	assert_int_equal(mkdir(link_path, 0700), 0);
	assert_int_equal(chmod(link_path, 0777), 0);
	strcat(link_path, "/t");
	put(link_path, GOOD, 0600);
	assert_int_equal(symlink(link_path, f->path), 0);
	expect_unreadable(f->path, &at, "may be written by others (mode 0777)");
}

static void make_tools(struct arena *arena, struct tools *tools, const char *path, unsigned n)
{
	*tools = (struct tools){.path = path};
	for (unsigned i = 0; i < n; i++) {
		struct tool tool = {.name = arena_printf(arena, "t%u.+", i),
				    .program = "/usr/bin/\"x\\\t\x7f\xc3\xa9",
				    .any = i % 2 == 0};

		tool.profile = i % 3 == 0 ? profile_find("gh") : NULL;
		for (unsigned k = 0; k < 5; k++) {
			ARENA_PUSH(arena, &tool.allow, arena_printf(arena, "a\\%u *", k));
			ARENA_PUSH(arena, &tool.deny, arena_printf(arena, "d%u", k));
			ARENA_PUSH(arena, &tool.read, arena_printf(arena, "/r \"%u", k));
			ARENA_PUSH(arena, &tool.write, arena_printf(arena, "/w%u", k));
			ARENA_PUSH(arena, &tool.env, arena_printf(arena, "E%u", k));
		}
		ARENA_PUSH(arena, tools, tool);
	}
}

static void same_list(const struct tool_list *a, const struct tool_list *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_string_equal(a->v[i], b->v[i]);
	}
}

static void written_reads_back(void **state)
{
	static struct err_list errs;
	struct folder *f = *state;
	struct tools_place at = place();
	auto_arena struct arena arena = {NULL};
	struct tools tools;
	struct tools again;
	struct stat st;
	struct err err;
	char folder[128];

	umask(0);
	make_tools(&arena, &tools, f->path, 40);
	if (!tools_write(f->path, &tools, &at, &err)) {
		fail_msg("%s", err.msg);
	}
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	snprintf(folder, sizeof(folder), "%s/a/link", f->dir);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	memset(&errs, 0, sizeof(errs));
	if (!tools_read(f->path, &at, &arena, &again, &errs)) {
		fail_msg("%u:%u: %s", errs.v[0].line, errs.v[0].col, errs.v[0].msg);
	}
	assert_int_equal(again.n, tools.n);
	for (size_t i = 0; i < tools.n; i++) {
		assert_string_equal(again.v[i].name, tools.v[i].name);
		assert_string_equal(again.v[i].program, tools.v[i].program);
		assert_ptr_equal(again.v[i].profile, tools.v[i].profile);
		assert_int_equal(again.v[i].any, tools.v[i].any);
		same_list(&again.v[i].allow, &tools.v[i].allow);
		same_list(&again.v[i].deny, &tools.v[i].deny);
		same_list(&again.v[i].read, &tools.v[i].read);
		same_list(&again.v[i].write, &tools.v[i].write);
		same_list(&again.v[i].env, &tools.v[i].env);
	}
}

static char *contents(const char *path)
{
	static char text[TOOLS_FILE_MAX + 1];
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	ssize_t n = fd_read_all(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	return text;
}

/* Names in the folder of tools.toml. */
static int count_names(const struct folder *f)
{
	char command[160];
	FILE *out;
	int n = -1;

	snprintf(command, sizeof(command), "ls -A %s/a/link | wc -l", f->dir);
	out = popen(command, "r");
	assert_non_null(out);
	assert_int_equal(fscanf(out, "%d", &n), 1);
	pclose(out);
	return n;
}

static void nothing_changes_on_failure(void **state)
{
	struct folder *f = *state;
	struct tools_place at = place();
	auto_arena struct arena arena = {NULL};
	struct tools tools;
	struct err err;
	char *before;

	make_tools(&arena, &tools, f->path, 2);
	assert_true(tools_write(f->path, &tools, &at, &err));
	before = strdup(contents(f->path));
	/* What could not be read again, and what is too large. */
	tools.v[1].name = "a/b";
	assert_false(tools_write(f->path, &tools, &at, &err));
	tools.v[1].name = "t0.+";
	assert_false(tools_write(f->path, &tools, &at, &err));
	tools.v[1].name = "x";
	tools.v[1].program = "/\xff";
	assert_false(tools_write(f->path, &tools, &at, &err));
	make_tools(&arena, &tools, f->path, 250);
	assert_false(tools_write(f->path, &tools, &at, &err));
	assert_non_null(strstr(err.msg, "64 KiB"));
	assert_string_equal(contents(f->path), before);
	/* A name in the way. */
	char work[160];
	snprintf(work, sizeof(work), "%s/a/link/.lnk-tools-new", f->dir);
	assert_int_equal(mkdir(work, 0700), 0);
	make_tools(&arena, &tools, f->path, 3);
	assert_false(tools_write(f->path, &tools, &at, &err));
	assert_string_equal(contents(f->path), before);
	assert_int_equal(rmdir(work), 0);
	/* What a killed one left is no hindrance. */
	put(work, "half", 0644);
	assert_true(tools_write(f->path, &tools, &at, &err));
	assert_int_equal(count_names(f), 1);
	free(before);
}

static void links_stay(void **state)
{
	struct folder *f = *state;
	struct tools_place at = place();
	auto_arena struct arena arena = {NULL};
	struct tools tools;
	struct err err;
	struct stat st;
	char real[160];

	make_tools(&arena, &tools, f->path, 1);
	assert_true(tools_write(f->path, &tools, &at, &err));
	snprintf(real, sizeof(real), "%s/dotfiles.toml", f->dir);
	assert_int_equal(rename(f->path, real), 0);
	assert_int_equal(symlink(real, f->path), 0);
	make_tools(&arena, &tools, f->path, 2);
	assert_true(tools_write(f->path, &tools, &at, &err));
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat(real, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	expect_readable(f->path, &at, 2);
	assert_int_equal(unlink(real), 0);
	assert_false(tools_write(f->path, &tools, &at, &err));
	assert_non_null(strstr(err.msg, "leads nowhere"));
}

/* Killed at any moment, it has written all of it or nothing; and a reader never sees half. */
static void whole_at_every_moment(void **state)
{
	struct folder *f = *state;
	struct tools_place at = place();
	auto_arena struct arena arena = {NULL};
	struct tools tools;
	struct err err;
	unsigned new_seen = 0;

	make_tools(&arena, &tools, f->path, 1);
	assert_true(tools_write(f->path, &tools, &at, &err));
	for (unsigned i = 0; i < 150; i++) {
		static struct err_list errs;
		struct arena inner = {NULL};
		struct tools seen;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			for (unsigned n = 1;; n = n % 60 + 1) {
				auto_arena struct arena own = {NULL};

				make_tools(&own, &tools, f->path, n);
				if (!tools_write(f->path, &tools, &at, &err)) {
					_exit(1);
				}
			}
		}
		nanosleep(&(struct timespec){.tv_nsec = 300000L + 400000L * (i % 50)}, NULL);
		for (unsigned r = 0; r < 3; r++) {
			memset(&errs, 0, sizeof(errs));
			if (!tools_read(f->path, &at, &inner, &seen, &errs) || seen.n == 0) {
				kill(pid, SIGKILL);
				fail_msg("half a file: %s", errs.v[0].msg);
			}
			new_seen += seen.n > 1 ? 1 : 0;
		}
		kill(pid, SIGKILL);
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		memset(&errs, 0, sizeof(errs));
		assert_true(tools_read(f->path, &at, &inner, &seen, &errs) && seen.n > 0);
		arena_release(&inner);
	}
	assert_true(new_seen > 20);
}

/* Ten writers, each adding one: the lock lets none be lost. */
static void the_lock_holds(void **state)
{
	struct folder *f = *state;
	struct tools_place at = place();

	for (unsigned i = 0; i < 10; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			static struct err_list errs;
			struct arena arena = {NULL};
			struct tools tools;
			struct err err;
			int lock;

			if (!tools_lock(f->path, &lock, &err) ||
			    !tools_read(f->path, &at, &arena, &tools, &errs)) {
				_exit(1);
			}
			struct tool tool = {.name = arena_printf(&arena, "w%u", i),
					    .program = "/x",
					    .any = true};
			ARENA_PUSH(&arena, &tools, tool);
			usleep(3000);
			_exit(tools_write(f->path, &tools, &at, &err) ? 0 : 1);
		}
	}
	for (unsigned i = 0; i < 10; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	expect_readable(f->path, &at, 10);
}

/* --- programs and specs ------------------------------------------------------------------- */

static void expect_program(const char *path, const char *says)
{
	struct tools_place at = place();
	struct err err = {.msg = ""};
	bool ok = tool_program_check(path, &at, &err);

	if (says == NULL && !ok) {
		fail_msg("%s: %s", path, err.msg);
	}
	if (says != NULL && (ok || strstr(err.msg, says) == NULL)) {
		fail_msg("%s: %s, not \"%s\"", path, ok ? "taken" : err.msg, says);
	}
}

static void programs(void **state)
{
	struct folder *f = *state;
	char bin[128];
	char x[160];
	char link_path[160];

	snprintf(bin, sizeof(bin), "%s/bin", f->dir);
	snprintf(x, sizeof(x), "%s/x", bin);
	snprintf(link_path, sizeof(link_path), "%s/l", f->dir);
	assert_int_equal(mkdir(bin, 0755), 0);
	expect_program(x, "is not there");
	put(x, "#!/bin/sh\n", 0644);
	expect_program(x, "not a program that you may run");
	put(x, "#!/bin/sh\n", 0755);
	expect_program(x, NULL);
	expect_program(bin, "not a program that you may run");
	put(x, "#!/bin/sh\n", 0757);
	expect_program(x, "others may change");
	put(x, "#!/bin/sh\n", 0775);
	expect_program(x, NULL);
	put(x, "#!/bin/sh\n", 0755);
	assert_int_equal(chmod(bin, 0757), 0);
	expect_program(x, "others may replace");
	assert_int_equal(chmod(bin, 01777), 0);
	expect_program(x, NULL);
	assert_int_equal(chmod(bin, 0755), 0);
	assert_int_equal(symlink(bin, link_path), 0);
	strcat(link_path, "/x");
	expect_program(link_path, "a link now");
	expect_program("/", "not a program");
	if (getuid() == 0) {
		assert_int_equal(chown(x, 12345, 0), 0);
		expect_program(x, "others may change");
		assert_int_equal(chown(x, 0, 0), 0);
		assert_int_equal(chown(bin, 12345, 0), 0);
		expect_program(x, "others may replace");
	}
	/* An owner without a number in this user namespace cannot be told. */
	if (getuid() == 0) {
		assert_int_equal(chown(bin, 65534, 0), 0);
		expect_program(x, NULL);
	}
}

static void specs(void **state)
{
	static struct err_list errs;
	struct folder *f = *state;
	struct tools_place at;
	auto_arena struct arena arena = {NULL};
	struct machine machine;
	struct tools tools;
	struct spec spec;
	struct err err;
	char *text;
	char file[128];
	char *const env[] = {arena_printf(&arena, "HOME=%s", f->dir), (char *)"PATH=/usr/bin",
			     arena_printf(&arena, "XDG_CONFIG_HOME=%s/a", f->dir), NULL};
	static const struct {
		const char *write, *name, *says, *hint;
		unsigned line;
	} cases[] = {
		{"w", "gh", NULL, NULL, 0},
		{"w", "nosuch", "there is no tool \"nosuch\"",
		 "lnk sandbox tool add nosuch --allow 'COMMAND *'", 4},
		{"w", "git", "there is no tool \"git\"", "lnk sandbox tool add git", 4},
		{"bin", "gh", "the sandbox may write", "move the program out of \"bin\"", 4},
		{"to-bin", "gh", "the sandbox may write", "\"to-bin\"", 4},
		{"a", "gh", "which says what runs outside", "\"a\"", 4},
		{"w", "gone", "tool gone: ", "--program PATH", 4},
		{"w", "leads", "tool leads, ", "", 4},
	};

	assert_true(machine_read(env, &arena, &machine, &err));
	tools_place(&machine, &arena, &at);
	assert_string_equal(tools_path(&machine, &arena), f->path);
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = {"w", "bin", "a", "a/link"};

		assert_int_equal(mkdir(arena_printf(&arena, "%s/%s", f->dir, names[i]), 0755), 0);
	}
	put(arena_printf(&arena, "%s/bin/gh", f->dir), "#!/bin/sh\n", 0755);
	assert_int_equal(symlink("bin", arena_printf(&arena, "%s/to-bin", f->dir)), 0);
	assert_int_equal(symlink("a", arena_printf(&arena, "%s/to-link", f->dir)), 0);
	text = arena_printf(&arena,
			    "[tool.gh]\nprogram = \"%s/bin/gh\"\n"
			    "[tool.gone]\nprogram = \"%s/bin/gone\"\nany = true\n"
			    "[tool.leads]\nprogram = \"%s/bin/gh\"\nread = [\"%s/to-link\"]\n",
			    f->dir, f->dir, f->dir, f->dir);
	put(f->path, text, 0600);
	snprintf(file, sizeof(file), "%s/s.toml", f->dir);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put(file,
		    arena_printf(&arena, "[files]\nwrite = [\"%s\"]\n[tools]\nnames = [\"%s\"]\n",
				 cases[i].write, cases[i].name),
		    0600);
		struct spec_input input = {.file = file, .cwd = f->dir, .home = f->dir};

		memset(&errs, 0, sizeof(errs));
		assert_true(tools_read(f->path, &at, &arena, &tools, &errs));
		assert_true(spec_read(&input, &arena, &spec, &errs));
		bool ok = tools_check(&spec, &tools, &machine, &arena, &errs);
		assert_int_equal(ok, errs.total == 0);
		if (ok != (cases[i].says == NULL)) {
			fail_msg("%s %s: %s", cases[i].write, cases[i].name, errs.v[0].msg);
		}
		if (ok) {
			continue;
		}
		if (strstr(errs.v[0].msg, cases[i].says) == NULL ||
		    strstr(errs.v[0].hint, cases[i].hint) == NULL) {
			fail_msg("%s %s: %s (%s)", cases[i].write, cases[i].name, errs.v[0].msg,
				 errs.v[0].hint);
		}
		assert_int_equal(errs.v[0].line, cases[i].line);
		assert_string_equal(errs.v[0].file, file);
		assert_true(errs.v[0].source[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_files),
		cmocka_unit_test(good_file),
		cmocka_unit_test(large_files),
		cmocka_unit_test_setup_teardown(file_must_be_mine, set_up, tear_down),
		cmocka_unit_test_setup_teardown(written_reads_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_changes_on_failure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whole_at_every_moment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_lock_holds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(programs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(specs, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
