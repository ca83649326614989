/* A program that comes late: what is sent arrives, and nothing else is taken for one. */
#include "base/fd.h"
#include "base/pass.h"
#include "confine/late.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
	int sender;
	int receiver;
	int null;
	struct arena arena;
};

static int begin(void **state)
{
	static struct world w;
	int pair[2];

	w = (struct world){.arena = {NULL}};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		return -1;
	}
	w.sender = pair[0];
	w.receiver = pair[1];
	w.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	*state = &w;
	return w.null < 0 ? -1 : 0;
}

static int end(void **state)
{
	struct world *w = *state;

	fd_close(&w->sender);
	fd_close(&w->receiver);
	fd_close(&w->null);
	arena_release(&w->arena);
	return 0;
}

static struct late program(const struct world *w, char **argv, char **env)
{
	return (struct late){.argv = argv,
			     .env = env,
			     .cwd = "/a b",
			     .fds = {w->null, w->null, w->null},
			     .group = 77};
}

static void test_arrives(void **state)
{
	struct world *w = *state;
	char *argv[] = {"tool", "", "x\ny", NULL};
	char *env[] = {"A=1", "B=", NULL};
	const struct late_name names[] = {
		{"/x", NULL, NULL}, {"/x/f", "text\n", NULL}, {"/x/l", NULL, ".."}};
	struct late sent = program(w, argv, env);
	struct late got;

	sent.names = names;
	sent.nnames = 3;
	assert_true(late_send(w->sender, &sent));
	assert_true(late_begin(w->receiver, &got));
	assert_int_equal(got.group, 77);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fcntl(got.fds[i], F_GETFD), FD_CLOEXEC);
		close(got.fds[i]);
	}
	assert_true(late_read(w->receiver, &w->arena, &got));
	assert_string_equal(got.cwd, "/a b");
	assert_string_equal(got.argv[0], "tool");
	assert_string_equal(got.argv[1], "");
	assert_string_equal(got.argv[2], "x\ny");
	assert_null(got.argv[3]);
	assert_string_equal(got.env[1], "B=");
	assert_null(got.env[2]);
	assert_int_equal(got.nnames, 3);
	assert_string_equal(got.names[0].path, "/x");
	assert_null(got.names[0].text);
	assert_null(got.names[0].to);
	assert_string_equal(got.names[1].text, "text\n");
	assert_null(got.names[1].to);
	assert_string_equal(got.names[2].to, "..");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fcntl(got.fds[i], F_GETFD), FD_CLOEXEC);
		close(got.fds[i]);
	}
}

static void test_too_long(void **state)
{
	struct world *w = *state;
	char *word = malloc(LATE_MAX);
	char *argv[] = {"tool", word, NULL};
	char *none[] = {NULL};
	const struct late sent = program(w, argv, none);
	const size_t others = sizeof("/a b") + sizeof("tool");
	struct late got;

	assert_non_null(word);
	memset(word, 'x', LATE_MAX);
	word[LATE_MAX - others] = '\0';
	assert_false(late_send(w->sender, &sent));
	assert_int_equal(errno, E2BIG);
	/* Nothing of it has been sent; one byte less fits. */
	assert_false(late_begin(w->receiver, &got));
	word[LATE_MAX - others - 1] = '\0';
	assert_true(late_send(w->sender, &sent));
	assert_true(late_begin(w->receiver, &got));
	assert_true(late_read(w->receiver, &w->arena, &got));
	assert_int_equal(strlen(got.argv[1]), LATE_MAX - others - 1);
	free(word);
}

static void test_nobody(void **state)
{
	struct world *w = *state;
	char *argv[] = {"tool", NULL};
	char *none[] = {NULL};
	const struct late sent = program(w, argv, none);
	struct late got;

	fd_close(&w->receiver);
	assert_false(late_send(w->sender, &sent));
	assert_int_equal(errno, EPIPE);
	*state = w;
	assert_false(late_begin(w->sender, &got));
}

/* Messages that are cut, too long, or have the wrong number of descriptors. */
static void test_broken(void **state)
{
	struct world *w = *state;
	char *argv[] = {"tool", "x", NULL};
	char *none[] = {NULL};
	const struct late sent = program(w, argv, none);
	unsigned char message[256];
	int fds[3];
	size_t nfds;
	struct late got;

	assert_true(late_send(w->sender, &sent));
	assert_true(pass_receive(w->receiver, message, sizeof(message), fds, 3, &nfds) > 0);
	ssize_t n = pass_receive(w->receiver, message, sizeof(message), fds, 3, &nfds);
	assert_true(n > 0);
	for (size_t len = 1; len <= (size_t)n + 1; len++) {
		bool whole = len == (size_t)n;

		assert_true(pass_send(w->sender, message, len, fds, 3));
		assert_int_equal(late_read(w->receiver, &w->arena, &got), whole);
		assert_true(pass_send(w->sender, message, len, fds, 2));
		assert_false(late_read(w->receiver, &w->arena, &got));
	}
	/* The counts, the length and the text, byte by byte: refused or read, never beyond. */
	for (size_t i = 0; i < (size_t)n; i++) {
		message[i] ^= 0xff;
		assert_true(pass_send(w->sender, message, (size_t)n, fds, 3));
		(void)late_read(w->receiver, &w->arena, &got);
		message[i] ^= 0xff;
	}
}

/* Folders, files and links where they belong; nothing is followed, and nothing is written over. */
static void test_names(void **state)
{
	char folder[] = "/tmp/test_late_XXXXXX";
	char inner[64], file[64], link[64], text[16] = "";
	struct err err = {.code = 0};
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(inner, sizeof(inner), "%s/inner", folder);
	snprintf(file, sizeof(file), "%s/inner/file", folder);
	snprintf(link, sizeof(link), "%s/inner/link", folder);
	const struct late_name names[] = {{folder, NULL, NULL},
					  {inner, NULL, NULL},
					  {file, "abc", NULL},
					  {link, NULL, "file"}};
	const struct late late = {.names = names, .nnames = 4};

	assert_true(late_make(&late, &err));
	assert_true(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
	int fd = open(link, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "abc");
	close(fd);
	const struct late_name again[] = {{link, "x", NULL}};
	const struct late second = {.names = again, .nnames = 1};
	assert_false(late_make(&second, &err));
	assert_int_equal(err.code, ERR_SETUP);
	unlink(link);
	unlink(file);
	rmdir(inner);
	rmdir(folder);
}

static void test_environment(void **state)
{
	struct world *w = *state;
	char *planned[] = {"A=0", "PWD=/x", "AB=2", "C=3", NULL};
	char *env[] = {"A=1", "D=4", NULL};
	const struct late late = {.env = env};
	char **got = late_env(planned, &late, "/here", &w->arena);
	const char *expected[] = {"AB=2", "C=3", "A=1", "D=4", "PWD=/here"};

	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(got[i], expected[i]);
	}
	assert_null(got[5]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arrives, begin, end),
		cmocka_unit_test_setup_teardown(test_too_long, begin, end),
		cmocka_unit_test_setup_teardown(test_nobody, begin, end),
		cmocka_unit_test_setup_teardown(test_broken, begin, end),
		cmocka_unit_test_setup_teardown(test_names, begin, end),
		cmocka_unit_test_setup_teardown(test_environment, begin, end),
	};

	return cmocka_run_group_tests_name("late", tests, NULL, NULL);
}
