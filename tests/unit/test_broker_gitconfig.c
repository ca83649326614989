/* A repository's settings, vetted: git would read the same keys, and what is not on the list is not
 * among them. */
#include "broker/gitconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *vetted(const char *text, struct arena *arena, struct err *err)
{
	struct gitconfig config = {.worktree = false};

	memset(err, 0, sizeof(*err));
	if (!gitconfig_vet(text, strlen(text), "config", arena, &config, err)) {
		return NULL;
	}
	return arena_strndup(arena, config.text.n > 0 ? config.text.v : "", config.text.n);
}

static void test_kept(void **state)
{
	static const struct {
		const char *given, *kept;
	} rows[] = {
		{"", ""},
		{"[core]\n\tbare = false\n", "[core]\n\tbare = \"false\"\n"},
		{"[CORE]BARE", "[core]\n\tbare\n"},
		{"[core] bare = \"\"", "[core]\n\tbare = \"\"\n"},
		{"[remote \"Or \\\"i\"]\nurl = a\\\"b ; no\n",
		 "[remote \"Or \\\"i\"]\n\turl = \"a\\\"b\"\n"},
		{"[remote \"o\"] url = a \\\n b\n", "[remote \"o\"]\n\turl = \"a  b\"\n"},
		{"[remote.O]\nurl=x\r\n", "[remote \"o\"]\n\turl = \"x\"\n"},
		{"[user]name = \" a \" b  # c\n", "[user]\n\tname = \" a  b\"\n"},
		/* Not of the list, or of another section than it looks. */
		{"[http]proxy=x\n[http \"https://h/\"]sslVerify=false\n", ""},
		{"[remote \"o\"]proxy=x\nuploadpack=x\nvcs=x\n", ""},
		{"[credential]helper=store\n[credential \"https://h\"]helper=x\n", ""},
		{"[include]path=x\n[includeIf \"gitdir:/\"]path=x\n", ""},
		{"[core]sshCommand=x\nhooksPath=x\nfsmonitor=x\neditor=x\ngitProxy=x\nworktree=/\n",
		 ""},
		{"[core \"x\"]bare=false\n[remote]url=x\n", ""},
		{"[url \"x\"]insteadOf=y\n[filter \"x\"]clean=y\n[alias]x=!y\n[submodule "
		 "\"x\"]url=y\n",
		 ""},
		{"# [core]bare=true\n; x\n[core]filemode=true # [http]proxy=x\n",
		 "[core]\n\tfilemode = \"true\"\n"},
		{"[http]x = \"\\\n[core]\\nbare = false\"\n", ""},
	};
	struct arena arena = {NULL};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *got = vetted(rows[i].given, &arena, &err);

		if (got == NULL) {
			fail_msg("row %zu: %s", i, err.msg);
		}
		assert_string_equal(got, rows[i].kept);
	}
	arena_release(&arena);
}

static void test_refused(void **state)
{
	static const struct {
		const char *given;
		unsigned line, col;
	} rows[] = {
		{"x", 1, 1},
		{"bare = true\n", 1, 1},
		{"[core]\n1 = 2\n", 2, 1},
		{"[core]\nbare true\n", 2, 6},
		{"[core]\nbare = \"x\n", 2, 10},
		{"[core]\nbare = \\x\n", 2, 9},
		{"[remote \"x\nurl=1\n", 1, 11},
		{"[remote x]\n", 1, 9},
		{"[remote \"x\"y]\n", 1, 12},
		{"[]\n", 1, 2},
		{"[a_b]\n", 1, 3},
		{"[user]\nname = \"a\\nb\"\n", 2, 14},
		{"[extensions]\nrefStorage = reftable\n", 2, 22},
	};
	struct arena arena = {NULL};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(vetted(rows[i].given, &arena, &err));
		if (err.line != rows[i].line || err.col != rows[i].col) {
			fail_msg("row %zu: %u:%u %s", i, err.line, err.col, err.msg);
		}
	}
	arena_release(&arena);
}

static void test_sizes(void **state)
{
	struct arena arena = {NULL};
	struct gitconfig config = {.worktree = false};
	struct err err = {.code = 0};
	char *text = malloc(GITCONFIG_MAX + 1);

	(void)state;
	assert_non_null(text);
	memset(text, '#', GITCONFIG_MAX + 1);
	assert_true(gitconfig_vet(text, GITCONFIG_MAX, "c", &arena, &config, &err));
	assert_false(gitconfig_vet(text, GITCONFIG_MAX + 1, "c", &arena, &config, &err));
	text[3] = '\0';
	assert_false(gitconfig_vet(text, 10, "c", &arena, &config, &err));
	assert_int_equal(err.col, 4);
	free(text);
	arena_release(&arena);
}

static void test_worktrees(void **state)
{
	static const struct {
		const char *value;
		bool on;
	} rows[] = {{"", true},          {" = true", true}, {" = 1", true},    {" = what", true},
		    {" = false", false}, {" = ", false},    {" = OFF", false}, {" = 0", false}};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena arena = {NULL};
		struct gitconfig config = {.worktree = false};
		struct err err;

		snprintf(text, sizeof(text), "[extensions]worktreeConfig%s\n", rows[i].value);
		assert_true(gitconfig_vet(text, strlen(text), "c", &arena, &config, &err));
		assert_int_equal(config.worktree, rows[i].on);
		assert_int_equal(config.text.n, 0);
		arena_release(&arena);
	}
}

/* What git itself reads, of a file of its syntax: the last value of a key; empty when it has none
 * or does not take the file. */
static void git_reads(const char *text, const char *key, char *out, size_t size)
{
	char name[] = "/tmp/test_gitconfig_XXXXXX";
	char command[256];
	int fd = mkstemp(name);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	snprintf(command, sizeof(command), "git config --file %s --get '%s' 2>/dev/null", name,
		 key);
	FILE *p = popen(command, "r");
	assert_non_null(p);
	out[fread(out, 1, size - 1, p)] = '\0';
	pclose(p);
	unlink(name);
}

/* Both read the same of odd files: here as in git's own reader, a value is one value. */
static void test_as_git_reads(void **state)
{
	static const char *const values[] = {
		"x",        " x ",          "\"x\"", "a\\\n  b", "a  b",     "\"a;b\" c;d",
		"a\\\\b",   "\"\\\"\"",     "a#b",   "'a b'",    "\xc3\xbc", "x\r",
		"\"x \"  ", "a\\\nb\\\n c", "= y",   "[x]",      "\t\tq\t",  "a\"b\"c",
	};
	struct arena arena = {NULL};
	struct err err;
	char text[256], theirs[256], ours[256];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(text, sizeof(text), "[remote \"o\"]\nurl =%s\n", values[i]);
		char *kept = vetted(text, &arena, &err);

		git_reads(text, "remote.o.url", theirs, sizeof(theirs));
		assert_true(theirs[0] != '\0');
		assert_non_null(kept);
		git_reads(kept, "remote.o.url", ours, sizeof(ours));
		assert_string_equal(ours, theirs);
	}
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),         cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sizes),        cmocka_unit_test(test_worktrees),
		cmocka_unit_test(test_as_git_reads),
	};

	return cmocka_run_group_tests_name("broker gitconfig", tests, NULL, NULL);
}
