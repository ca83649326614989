/* Reading a whole spec: files of every kind, tables of one system, flags beside a file, positions
 * of errors, refusals by name and by what it resolves to, and that it stays linear. */
#include "base/fd.h"
#include "base/str.h"
#include "plan/refuse.h"
#include "spec/keys.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* One reading in a folder of its own. */
struct box {
	char dir[PATH_MAX];
	struct arena arena;
	struct err_list errs;
	struct spec spec;
	struct spec_flag flags[16];
	size_t nflags;
	enum spec_os os;
	bool ok;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int set_up(void **state)
{
	struct box *b = calloc(1, sizeof(*b));
	const char *base = getenv("TMPDIR");

	if (b == NULL) {
		return -1;
	}
	snprintf(b->dir, sizeof(b->dir), "%s/lnk-spec-XXXXXX", base != NULL ? base : "/tmp");
	*state = b;
	return mkdtemp(b->dir) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	struct box *b = *state;
	int failed = nftw(b->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	arena_release(&b->arena);
	free(b);
	return failed;
}

static const char *in_box(struct box *b, const char *name)
{
	return arena_printf(&b->arena, "%s/%s", b->dir, name);
}

static void write_bytes(struct box *b, const char *name, const char *text, size_t len)
{
	auto_close int fd = open(in_box(b, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && fd_write_all(fd, text, len));
}

static void flag(struct box *b, enum spec_key key, const char *value)
{
	b->flags[b->nflags++] = (struct spec_flag){key, value};
}

/* Reads the named file of the box; NULL: flags only. The home is the box, too. */
static void read_file(struct box *b, const char *name)
{
	struct spec_input input = {
		.file = name,
		.cwd = b->dir,
		.home = b->dir,
		.os = b->os,
		.flags = b->flags,
		.nflags = b->nflags,
	};

	memset(&b->errs, 0, sizeof(b->errs));
	b->ok = spec_read(&input, &b->arena, &b->spec, &b->errs);
	assert_int_equal(b->ok, b->errs.total == 0);
	assert_true(b->errs.n <= ERR_LIST_MAX && b->errs.n <= b->errs.total);
}

static void read_text(struct box *b, const char *text)
{
	write_bytes(b, "s.toml", text, strlen(text));
	read_file(b, "s.toml");
}

static void good(struct box *b, const char *text)
{
	read_text(b, text);
	if (!b->ok) {
		fail_msg("%s\n%s:%u:%u: %s", text, b->errs.v[0].file, b->errs.v[0].line,
			 b->errs.v[0].col, b->errs.v[0].msg);
	}
}

/* One error, and where. */
static void bad(struct box *b, const char *text, unsigned line, unsigned col, const char *in_msg)
{
	read_text(b, text);
	const struct err *e = &b->errs.v[0];

	if (b->errs.total != 1 || e->line != line || e->col != col ||
	    strstr(e->msg, in_msg) == NULL) {
		fail_msg("%s\n%u errors, %u:%u: %s", text, b->errs.total, e->line, e->col, e->msg);
	}
	assert_int_equal(e->code, ERR_SPEC);
	assert_string_equal(e->file, line > 0 ? "s.toml" : e->file);
	assert_true(line == 0 || e->source[0] != '\0');
}

static const struct spec_value *value(struct box *b, enum spec_key key)
{
	return &b->spec.value[key];
}

static void files_of_every_kind(void **state)
{
	struct box *b = *state;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	auto_close int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	read_file(b, "none.toml");
	assert_non_null(strstr(b->errs.v[0].msg, "no such file"));
	assert_int_equal(b->errs.v[0].line, 0);
	assert_string_equal(b->errs.v[0].file, "none.toml");
	read_file(b, "none/none.toml");
	assert_non_null(strstr(b->errs.v[0].msg, "no such file"));
	read_file(b, ".");
	assert_non_null(strstr(b->errs.v[0].msg, "folder"));
	read_file(b, "/dev/null");
	assert_non_null(strstr(b->errs.v[0].msg, "device"));
	read_file(b, "");
	assert_false(b->ok);

	/* Nobody writes into it: reading it would wait for ever. */
	assert_int_equal(mkfifo(in_box(b, "fifo"), 0600), 0);
	alarm(10);
	read_file(b, "fifo");
	alarm(0);
	assert_non_null(strstr(b->errs.v[0].msg, "pipe"));

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", in_box(b, "sock"));
	assert_int_equal(bind(s, (struct sockaddr *)&at, sizeof(at)), 0);
	read_file(b, "sock");
	assert_non_null(strstr(b->errs.v[0].msg, "socket"));

	assert_int_equal(symlink("loop", in_box(b, "loop")), 0);
	read_file(b, "loop");
	assert_non_null(strstr(b->errs.v[0].msg, "cannot be read"));

	write_bytes(b, "real.toml", "version = 3\n", 12);
	assert_int_equal(symlink("real.toml", in_box(b, "link.toml")), 0);
	read_file(b, "link.toml");
	assert_true(b->ok);
	assert_int_equal(value(b, SPEC_VERSION)->v[0].number, 3);
	assert_string_equal(b->spec.file_path, in_box(b, "link.toml"));
}

static void sizes(void **state)
{
	struct box *b = *state;
	char *text = malloc(SPEC_FILE_MAX + 1);

	assert_non_null(text);
	memset(text, '#', SPEC_FILE_MAX + 1);
	write_bytes(b, "s.toml", text, SPEC_FILE_MAX);
	read_file(b, "s.toml");
	assert_true(b->ok);
	write_bytes(b, "s.toml", text, SPEC_FILE_MAX + 1);
	read_file(b, "s.toml");
	assert_non_null(strstr(b->errs.v[0].msg, "64 KiB"));
	write_bytes(b, "s.toml", "", 0);
	read_file(b, "s.toml");
	assert_true(b->ok);
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		assert_false(value(b, k)->set);
	}
	for (enum spec_section s = 0; s < SPEC_SECTION_COUNT; s++) {
		assert_false(b->spec.section_set[s]);
	}
	/* A file whose size is told as 0, and is not. */
	read_file(b, "/proc/self/status");
	assert_non_null(strstr(b->errs.v[0].msg, "expected"));
	free(text);
}

static void bytes_that_are_no_text(void **state)
{
	struct box *b = *state;

	write_bytes(b, "s.toml", "name = \"a\0b\"\n", 13);
	read_file(b, "s.toml");
	assert_int_equal(b->errs.v[0].line, 1);
	assert_int_equal(b->errs.v[0].col, 10);
	write_bytes(b, "s.toml", "\n# \xff\n", 5);
	read_file(b, "s.toml");
	assert_int_equal(b->errs.v[0].line, 2);
	assert_int_equal(b->errs.v[0].col, 3);
}

static void folders_of_relative_paths(void **state)
{
	struct box *b = *state;
	static const char text[] = "[files]\nread = [\"x\"]\n";

	assert_int_equal(mkdir(in_box(b, "a"), 0700), 0);
	assert_int_equal(mkdir(in_box(b, "a/b"), 0700), 0);
	write_bytes(b, "a/s.toml", text, strlen(text));
	read_file(b, "a/s.toml");
	assert_string_equal(value(b, SPEC_FILES_READ)->v[0].path, in_box(b, "a/x"));
	assert_string_equal(b->spec.folder, in_box(b, "a"));
	read_file(b, in_box(b, "a//./s.toml"));
	assert_string_equal(value(b, SPEC_FILES_READ)->v[0].path, in_box(b, "a/x"));

	/* "link/.." is the folder above where the link leads, as the kernel has it. */
	assert_int_equal(symlink("a/b", in_box(b, "link")), 0);
	read_file(b, "link/../s.toml");
	assert_true(b->ok);
	assert_string_equal(path_base(b->spec.folder), "a");
	assert_string_equal(path_base(value(b, SPEC_FILES_READ)->v[0].path), "x");

	/* Flags start from the current folder. */
	flag(b, SPEC_FILES_HIDE, "y");
	read_file(b, "a/s.toml");
	assert_string_equal(value(b, SPEC_FILES_HIDE)->v[0].path, in_box(b, "y"));
}

static void positions(void **state)
{
	struct box *b = *state;

	good(b, "version = 1\n[files]\n  read = [\n\t\"~/ü\", '~/b',\n]\n");
	assert_int_equal(value(b, SPEC_VERSION)->v[0].from.line, 1);
	assert_int_equal(value(b, SPEC_VERSION)->v[0].from.col, 11);
	assert_int_equal(value(b, SPEC_FILES_READ)->from.line, 3);
	assert_int_equal(value(b, SPEC_FILES_READ)->from.col, 3);
	assert_int_equal(value(b, SPEC_FILES_READ)->v[1].from.line, 4);
	assert_int_equal(value(b, SPEC_FILES_READ)->v[1].from.col, 9);
	assert_string_equal(value(b, SPEC_FILES_READ)->v[1].from.file, "s.toml");
	assert_null(value(b, SPEC_FILES_READ)->v[1].from.flag);
	assert_int_equal(b->spec.section[SPEC_SECTION_FILES].line, 2);

	bad(b, "nmae = 1\n", 1, 1, "did you mean \"name\"");
	bad(b, "[files]\nread = [\"~/é\", 7]\n", 2, 16, "integer");
	bad(b, "[files]\nread = [\n\"~\",\n  \"\"]\n", 4, 3, "empty");
	bad(b, "[internet]\nhosts = []\n", 2, 9, "empty");
	bad(b, "[ files ]\n", 1, 1, "empty");
	bad(b, "files.read = \"~\"\n", 1, 14, "list of strings");
	bad(b, "version = -1\n", 1, 11, "out of range");
	bad(b, "[lan]\nhosts = [\"a\"]\n[lan.windows]\n", 3, 6, "no key \"windows\"");
}

static void errors_up_to_twenty_in_order(void **state)
{
	struct box *b = *state;
	char text[4096] = "[commands]\n";

	for (int i = 0; i < 50; i++) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof(text) - n, "k%d = 1\n", i);
	}
	read_text(b, text);
	assert_int_equal(b->errs.n, ERR_LIST_MAX);
	assert_int_equal(b->errs.total, 50);
	for (unsigned i = 0; i < ERR_LIST_MAX; i++) {
		assert_int_equal(b->errs.v[i].line, i + 2);
	}

	/* Those that come late are put where they belong, and flags go last. */
	flag(b, SPEC_INTERNET_PER_MINUTE, "0");
	read_text(b, "[files]\nhide = [\"~\"]\n[lan]\nhosts = [\"8.8.8.8\"]\n[tools]\nnames = 1\n");
	assert_int_equal(b->errs.total, 5);
	assert_int_equal(b->errs.v[0].line, 1);
	assert_int_equal(b->errs.v[1].line, 4);
	assert_int_equal(b->errs.v[2].line, 6);
	assert_int_equal(b->errs.v[3].line, 0);
	assert_string_equal(b->errs.v[3].file, "--per-minute");
	assert_string_equal(b->errs.v[4].file, "--per-minute");
	assert_non_null(strstr(b->errs.v[4].msg, "needs hosts"));
}

static void tables_of_one_system(void **state)
{
	struct box *b = *state;
	static const char text[] = "[files]\nread = [\"~/a\"]\nhide = [\"~/1\"]\n"
				   "[files.linux]\nread = [\"~/b\", \"~/c\"]\nhide = [\"~/2\"]\n"
				   "[files.linux.linux]\nhide = [\"~/3\"]\n"
				   "[files.linux.macos]\nhide = [\"~/4\"]\n"
				   "[files.macos]\nwrite = [\"~/d\"]\n"
				   "[commands.macos]\nallow = [\"*\"]\n";

	good(b, text);
	assert_int_equal(value(b, SPEC_FILES_READ)->n, 2);
	assert_int_equal(value(b, SPEC_FILES_HIDE)->n, 3);
	assert_string_equal(value(b, SPEC_FILES_HIDE)->v[2].text, "~/3");
	assert_false(value(b, SPEC_FILES_WRITE)->set);
	assert_false(b->spec.section_set[SPEC_SECTION_COMMANDS]);
	assert_int_equal(b->spec.section[SPEC_SECTION_COMMANDS].line, 13);
	b->os = SPEC_OS_MACOS;
	good(b, text);
	assert_int_equal(value(b, SPEC_FILES_READ)->n, 1);
	assert_int_equal(value(b, SPEC_FILES_HIDE)->n, 1);
	assert_true(value(b, SPEC_FILES_WRITE)->set);
	assert_true(b->spec.section_set[SPEC_SECTION_COMMANDS]);
	assert_int_equal(b->spec.os, SPEC_OS_MACOS);

	/* The other system's keys are checked, and do not count. */
	b->os = SPEC_OS_LINUX;
	bad(b, "[lan]\nhosts = [\"a\"]\n[lan.macos]\nhosts = [\"8.8.8.8\"]\n", 4, 10, "public");
	bad(b, "[files.macos]\nhide = [\"~\"]\n", 1, 1, "needs write or read");
	bad(b, "[files]\nhide = [\"~\"]\n[files.macos]\nread = [\"~\"]\n", 1, 1, "needs write");
	good(b, "[files]\nhide = [\"~\"]\n[files.linux]\nread = [\"~\"]\n");
}

static void flags_beside_a_file(void **state)
{
	struct box *b = *state;

	flag(b, SPEC_FILES_READ, "~/x");
	flag(b, SPEC_FILES_READ, "/y");
	flag(b, SPEC_FILES_HIDE, "~/h");
	flag(b, SPEC_COMMANDS_DEVELOPER_TOOLS, "true");
	good(b, "[files]\nread = [\"~/a\"]\nhide = [\"~/b\"]\nwrite = [\"~/w\"]\n"
		"[commands]\nallow = [\"*\"]\ndeveloper_tools = false\n");
	assert_int_equal(value(b, SPEC_FILES_READ)->n, 2);
	assert_string_equal(value(b, SPEC_FILES_READ)->v[0].from.flag, "--read");
	assert_int_equal(value(b, SPEC_FILES_READ)->v[0].from.line, 0);
	assert_int_equal(value(b, SPEC_FILES_HIDE)->n, 2);
	assert_int_equal(value(b, SPEC_FILES_HIDE)->v[0].from.line, 3);
	assert_string_equal(value(b, SPEC_FILES_HIDE)->v[1].from.flag, "--hide");
	assert_int_equal(value(b, SPEC_FILES_WRITE)->n, 1);
	assert_int_equal(value(b, SPEC_COMMANDS_DEVELOPER_TOOLS)->v[0].number, 1);
}

static void flags_alone(void **state)
{
	struct box *b = *state;

	read_file(b, NULL);
	assert_true(b->ok);
	assert_null(b->spec.file);
	flag(b, SPEC_FILES_WRITE, "../x");
	flag(b, SPEC_LOCALHOST_PORTS, "80");
	read_file(b, NULL);
	assert_true(b->ok);
	assert_string_equal(path_base(value(b, SPEC_FILES_WRITE)->v[0].path), "x");
	assert_null(strstr(value(b, SPEC_FILES_WRITE)->v[0].path, ".."));
	assert_true(b->spec.section_set[SPEC_SECTION_LOCALHOST]);
	assert_false(b->spec.section_set[SPEC_SECTION_COMMANDS]);
	flag(b, SPEC_LOCALHOST_MODELS, "80");
	read_file(b, NULL);
	assert_int_equal(b->errs.total, 1);
	assert_string_equal(b->errs.v[0].file, "--model");
}

static void flags_of_the_command_line(void **state)
{
	char *argv[] = {(char *)"--write",
			(char *)"a",
			(char *)"--read=b=c",
			(char *)"--host=",
			(char *)"--developer-tools",
			(char *)"x",
			(char *)"--developer-tools=false",
			(char *)"--hides",
			(char *)"-w",
			(char *)"--",
			(char *)"--tcp"};
	int argc = ARRAY_LEN(argv);
	struct spec_flag got;
	struct err err;
	bool wrong;
	int i = 0;

	(void)state;
	assert_int_equal(spec_flag_take(argc, argv, &i, &got, &wrong, &err), SPEC_FILES_WRITE);
	assert_string_equal(got.value, "a");
	assert_int_equal(i, 1);
	i = 2;
	assert_int_equal(spec_flag_take(argc, argv, &i, &got, &wrong, &err), SPEC_FILES_READ);
	assert_string_equal(got.value, "b=c");
	assert_int_equal(i, 2);
	i = 3;
	assert_int_equal(spec_flag_take(argc, argv, &i, &got, &wrong, &err), SPEC_INTERNET_HOSTS);
	assert_string_equal(got.value, "");
	i = 4;
	assert_int_equal(spec_flag_take(argc, argv, &i, &got, &wrong, &err),
			 SPEC_COMMANDS_DEVELOPER_TOOLS);
	assert_string_equal(got.value, "true");
	assert_int_equal(i, 4);
	i = 6;
	assert_int_equal(spec_flag_take(argc, argv, &i, &got, &wrong, &err),
			 SPEC_COMMANDS_DEVELOPER_TOOLS);
	assert_string_equal(got.value, "false");
	for (i = 7; i < 10; i++) {
		int at = i;

		assert_int_equal(spec_flag_take(argc, argv, &at, &got, &wrong, &err),
				 SPEC_KEY_COUNT);
		assert_false(wrong);
		assert_int_equal(at, i);
	}
	i = 10;
	assert_int_equal(spec_flag_take(argc, argv, &i, &got, &wrong, &err), SPEC_KEY_COUNT);
	assert_true(wrong);
	assert_int_equal(err.code, ERR_USAGE);
}

static void tcp_needs_its_host(void **state)
{
	struct box *b = *state;

	good(b,
	     "[internet]\nhosts = [\"a.example\", \"*.b.example\", \"1.1.1.1\"]\n"
	     "tcp = [\"A.example.:1\", \"x.b.example:1\", \"x.y.b.example:1\", \"1.1.1.1:1\"]\n");
	good(b, "[internet]\nhosts = [\"*\"]\ntcp = [\"x.example:1\", \"1.1.1.1:1\"]\n");
	bad(b, "[internet]\nhosts = [\"*.b.example\"]\ntcp = [\"b.example:1\"]\n", 3, 8,
	    "not among");
	bad(b, "[internet]\nhosts = [\"*.b.example\"]\ntcp = [\"xb.example:1\"]\n", 3, 8,
	    "not among");
	bad(b, "[internet]\nhosts = [\"*.1\", \"a\"]\ntcp = [\"a:1\"]\n", 2, 10, "address");
	bad(b, "[internet]\nhosts = [\"a.example\"]\ntcp = [\"x.a.example:1\"]\n", 3, 8,
	    "not among");
	bad(b, "[internet]\nhosts = [\"1.1.1.1\"]\ntcp = [\"1.0.0.1:1\"]\n", 3, 8, "not among");
	/* Nothing follows from hosts that are wrong themselves. */
	bad(b, "[internet]\nhosts = \"a\"\ntcp = [\"b:1\"]\n", 2, 9, "list of strings");
}

static void keys_and_flags_are_one_table(void **state)
{
	(void)state;
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		const struct spec_key_info *info = &spec_keys[k];

		assert_int_equal(keys_find(info->section, info->name, strlen(info->name)), k);
		assert_true(info->help[0] != '\0' && info->example[0] != '\0');
		if (info->flag != NULL) {
			assert_int_equal(spec_key_by_flag(info->flag), k);
		}
		if (info->repeatable) {
			assert_true(info->flag != NULL && info->metavar != NULL);
		}
	}
	assert_int_equal(spec_key_by_flag("--nothing"), SPEC_KEY_COUNT);
	assert_int_equal(keys_find(SPEC_SECTION_FILES, "write", 4), SPEC_KEY_COUNT);
	assert_int_equal(keys_find(SPEC_SECTION_FILES, "hosts", 5), SPEC_KEY_COUNT);
	assert_int_equal(keys_find_section("", 0), SPEC_SECTION_COUNT);
}

/* The examples of the table, which hints and the schema show, are good themselves. */
static void examples_are_good(void **state)
{
	struct box *b = *state;

	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		const struct spec_key_info *info = &spec_keys[k];
		const char *section = spec_sections[info->section].name;
		const char *more = k == SPEC_FILES_HIDE              ? "read = [\"~\"]\n"
				   : k == SPEC_FILES_WRITE_DOT_FILES ? "write = [\"~/code/app\"]\n"
				   : k == SPEC_INTERNET_TCP || k == SPEC_INTERNET_PER_MINUTE
					   ? "hosts = [\"*\"]\n"
				   : k == SPEC_COMMANDS_DEVELOPER_TOOLS ? "allow = [\"*\"]\n"
									: "";

		good(b,
		     arena_printf(&b->arena, "%s%s%s\n%s%s = %s\n", section[0] != '\0' ? "[" : "",
				  section, section[0] != '\0' ? "]" : "", more, info->name,
				  info->example));
		assert_true(value(b, k)->set);
		assert_true(value(b, k)->n > 0);
	}
}

/* --- refusals ----------------------------------------------------------------------------- */

/* The machine as a struct: home is BOX/home, PATH holds BOX/home/tools, sockets lie in BOX/run. */
static struct machine machine_of(struct box *b)
{
	struct machine m = {.user = "u", .path = in_box(b, "home/tools")};
	struct err err;
	struct path_info info;

	m.resolved = arena_alloc(&b->arena, sizeof(*m.resolved));
	assert_true(resolve_path(in_box(b, "home"), &b->arena, &m.home, &err));
	m.cwd = m.home;
	assert_true(resolve_path(in_box(b, "home/tools"), &b->arena, &info, &err));
	ARENA_PUSH(&b->arena, &m.path_folders, info);
	/* By way of a link in home/mid, which leads to the same folder. */
	assert_true(resolve_path(in_box(b, "home/way"), &b->arena, &info, &err));
	ARENA_PUSH(&b->arena, &m.path_folders, info);
	assert_true(resolve_path(in_box(b, "home/.config/link"), &b->arena, &info, &err));
	ARENA_PUSH(&b->arena, &m.link_folders, info);
	assert_true(resolve_path(in_box(b, "run"), &b->arena, &info, &err));
	ARENA_PUSH(&b->arena, &m.socket_folders, info);
	assert_true(resolve_path(in_box(b, "sys"), &b->arena, &info, &err));
	ARENA_PUSH(&b->arena, &m.system_folders, info);
	return m;
}

static void make_home(struct box *b)
{
	static const char *const folders[] = {
		"home",       "home/code", "home/code/app", "home/code/app/.git",
		"home/tools", "home/.ssh", "home/specs",    "run",
		"sys",        "sys/x",     "data",          "home/mid",
	};
	static const char *const links[][2] = {
		{"../.ssh", "home/code/keys"},
		{"../../run", "home/code/sockets"},
		{"tools", "home/t"},
		{"specs", "home/s"},
		{"../sys/x", "home/x"},
		{"app/.git", "home/code/repo"},
		{".", "home/me"},
		{"keys", "home/code/keys2"},
		{"mid/hop", "home/way"},
		{"../tools", "home/mid/hop"},
	};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		assert_int_equal(mkdir(in_box(b, folders[i]), 0700), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		assert_int_equal(symlink(links[i][0], in_box(b, links[i][1])), 0);
	}
}

/* One of the ways to write a path. */
struct spelling {
	const char *before, *after;
};

/* True when the one entry is refused. */
static bool is_refused(struct box *b, const struct machine *m, const char *key, const char *path,
		       const struct spelling *spelling)
{
	char entry[PATH_MAX];
	char text[PATH_MAX + 100];
	struct spec_input input = {
		.file = in_box(b, "home/specs/s.toml"),
		.cwd = m->home.name,
		.home = m->home.name,
	};

	snprintf(entry, sizeof(entry), "%s%s%s", spelling->before, path, spelling->after);
	snprintf(text, sizeof(text), "[files]\n%s = [\"%s\"]\n", key, entry);
	write_bytes(b, "home/specs/s.toml", text, strlen(text));
	memset(&b->errs, 0, sizeof(b->errs));
	memset(m->resolved, 0, sizeof(*m->resolved));
	if (!spec_read(&input, &b->arena, &b->spec, &b->errs)) {
		fail_msg("%s: %s", text, b->errs.v[0].msg);
	}
	bool ok = refuse_check(&b->spec, m, &b->arena, &b->errs);
	assert_int_equal(ok, b->errs.total == 0);
	if (!ok) {
		assert_int_equal(b->errs.total, 1);
		assert_int_equal(b->errs.v[0].line, 2);
		assert_int_equal(b->errs.v[0].col, strlen(key) + 5);
		assert_true(b->errs.v[0].hint[0] != '\0');
	}
	return !ok;
}

static void refused_by_any_name(void **state)
{
	struct box *b = *state;
	static const struct spelling spellings[] = {{"", ""},   {"", "/"},  {"", "//"},
						    {"", "/."}, {"/.", ""}, {"//", ""}};
	static const struct {
		const char *path;
		bool read, write; /* refused */
	} cases[] = {
		{"home/code/app", false, false},
		{"data", false, false},
		{"home", false, true},
		{"home/me", false, true},
		{"home/.ssh", false, true},
		{"home/.ssh/new", false, true},
		{"home/code/keys", false, true},
		{"home/code/keys2", false, true},
		{"home/code/keys2/new", false, true},
		{"home/bin", false, true},
		{"home/bin/x", false, true},
		{"home/binary", false, false},
		{"home/Library/x", false, true},
		{"home/.config/link", true, true},
		{"home/.config/link/x", true, true},
		{"home/.config/linked", false, true},
		{"home/.config", false, true},
		{"home/tools", false, true},
		{"home/t", false, true},
		{"home/mid", false, true},
		{"home/mid/below", false, false},
		{"home/tools/x", false, true},
		{"home/tools/x/y", false, false},
		{"home/specs", false, true},
		{"home/s", false, true},
		{"home/specs/data", false, false},
		{"home/specs/s.toml", false, true},
		{"home/s/s.toml", false, true},
		{"sys", false, true},
		{"sys/x", false, true},
		{"home/x", false, true},
		{"run", true, true},
		{"run/x", true, true},
		{"home/code/sockets", true, true},
		{"home/code/app/.git", false, true},
		{"home/code/app/.git/hooks", false, true},
		{"home/code/repo", false, true},
		{"home/code/repo/x", false, true},
		{"home/code/app/.gitignore", false, false},
		{"home/code/app/x/.vscode", false, true},
		{"home/code/app/.idea", false, true},
		{"home/code/app/.envrc", false, true},
		{"home/code/app/.ENVRC", false, true},
		{"", true, true},
	};

	make_home(b);
	struct machine m = machine_of(b);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = in_box(b, cases[i].path);

		for (size_t s = 0; s < ARRAY_LEN(spellings); s++) {
			if (is_refused(b, &m, "read", path, &spellings[s]) != cases[i].read) {
				fail_msg("read %s, spelling %zu", cases[i].path, s);
			}
			if (is_refused(b, &m, "write", path, &spellings[s]) != cases[i].write) {
				fail_msg("write %s, spelling %zu", cases[i].path, s);
			}
		}
	}
}

static void nothing_is_refused_of_flags_alone(void **state)
{
	struct box *b = *state;

	make_home(b);
	struct machine m = machine_of(b);
	flag(b, SPEC_FILES_WRITE, "home/.ssh");
	flag(b, SPEC_FILES_WRITE, "/");
	flag(b, SPEC_FILES_READ, "run");
	read_file(b, NULL);
	assert_true(b->ok);
	assert_true(refuse_check(&b->spec, &m, &b->arena, &b->errs));
	/* The same beside a file. */
	read_text(b, "");
	assert_true(b->ok);
	assert_false(refuse_check(&b->spec, &m, &b->arena, &b->errs));
	assert_int_equal(b->errs.total, 3);
	assert_string_equal(b->errs.v[0].file, "--write");
}

/* --- speed -------------------------------------------------------------------------------- */

/* Best time for a file of spec[0] and `n` times spec[1], a number, spec[2]. */
static double read_seconds(struct box *b, const char *const spec[3], unsigned n)
{
	struct timespec from;
	struct timespec to;
	double best = 1e9;
	size_t cap = SPEC_FILE_MAX + 100;
	char *text = malloc(cap);

	assert_non_null(text);
	size_t len = (size_t)snprintf(text, cap, "%s", spec[0]);
	for (unsigned i = 0; i < n; i++) {
		len += (size_t)snprintf(text + len, cap - len, "%s%u%s", spec[1], i, spec[2]);
	}
	len += (size_t)snprintf(text + len, cap - len, "]\n");
	assert_true(len <= SPEC_FILE_MAX);
	write_bytes(b, "s.toml", text, len);
	free(text);
	for (int i = 0; i < 7; i++) {
		arena_release(&b->arena);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		read_file(b, "s.toml");
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		double t = (double)(to.tv_sec - from.tv_sec) +
			   (double)(to.tv_nsec - from.tv_nsec) / 1e9;
		best = t < best ? t : best;
	}
	return best;
}

/* Ten times the entries may cost thirty times the time, not a hundred. */
static void large_specs_are_read_in_linear_time(void **state)
{
	struct box *b = *state;
	static const char *const cases[][3] = {
		{"[files]\nread = [\"~\"]\nhide = [", "\"~/a", "\","},
		{"[internet]\nhosts = [\"*.b\"]\ntcp = [", "\"a", ".b:22\","},
		{"[internet]\nhosts = [", "\"a", ".b\","},
		{"[lan]\nhosts = [", "\"a", "\","},
		{"[files]\nwrite = [\"~/a\"]\nwrite_dot_files = [", "\"~/", "\","},
		{"[commands]\nallow = [", "\"a", "\","},
		{"x = [\n", "", ",\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double small = read_seconds(b, cases[i], 400);
		double large = read_seconds(b, cases[i], 4000);

		if (large > small * 30 && large > 0.01) {
			fail_msg("%s: %f s, then %f s", cases[i][0], small, large);
		}
	}
}

#define IN_BOX(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_BOX(files_of_every_kind),
		IN_BOX(sizes),
		IN_BOX(bytes_that_are_no_text),
		IN_BOX(folders_of_relative_paths),
		IN_BOX(positions),
		IN_BOX(errors_up_to_twenty_in_order),
		IN_BOX(tables_of_one_system),
		IN_BOX(flags_beside_a_file),
		IN_BOX(flags_alone),
		cmocka_unit_test(flags_of_the_command_line),
		IN_BOX(tcp_needs_its_host),
		cmocka_unit_test(keys_and_flags_are_one_table),
		IN_BOX(examples_are_good),
		IN_BOX(refused_by_any_name),
		IN_BOX(nothing_is_refused_of_flags_alone),
		IN_BOX(large_specs_are_read_in_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
