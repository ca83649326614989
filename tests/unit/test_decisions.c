/* The log and the report: every line is JSON of at most 4 KiB whatever a program calls itself, and
 * each refusal is told once. */
#include "base/fd.h"
#include "base/str.h"
#include "gate/decisions.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const struct origin line_12 = {.file = "app.toml", .line = 12, .col = 3};
static const struct origin flag = {.flag = "--host"};

/* Longer than A and AAAA of one look-up are apart. */
static void a_moment(void)
{
	const struct timespec t = {.tv_nsec = 8000000};

	nanosleep(&t, NULL);
}

static struct decision refused(const char *host, uint16_t port)
{
	return (struct decision){.host = host,
				 .port = port,
				 .why = "it is not among the hosts of [internet]",
				 .hint = "app.toml:4: add it"};
}

static void add_refused(struct decisions *d, const char *host, uint16_t port)
{
	const struct decision r = refused(host, port);

	decisions_add(d, &r);
}

/* --- the log ------------------------------------------------------------------------------ */

#define LOG_MAX (256 * 1024)

struct log {
	int fd;
	char text[LOG_MAX];
};

static void log_open(struct log *log)
{
	char name[] = "/tmp/lnk-log-XXXXXX";

	log->fd = mkostemp(name, O_APPEND | O_CLOEXEC);
	assert_true(log->fd >= 0);
	unlink(name);
}

/* The lines so far; each ends in a newline and has at most 4 KiB. */
static size_t log_lines(struct log *log, json_t **lines, size_t max)
{
	ssize_t n = pread(log->fd, log->text, sizeof(log->text) - 1, 0);
	size_t count = 0;

	assert_true(n >= 0);
	log->text[n] = '\0';
	for (char *p = log->text; *p != '\0';) {
		char *end = strchr(p, '\n');
		json_error_t error;

		assert_non_null(end);
		assert_true(end + 1 - p <= 4096);
		assert_true(count < max);
		lines[count] = json_loadb(p, (size_t)(end - p), JSON_REJECT_DUPLICATES, &error);
		if (lines[count] == NULL || !json_is_object(lines[count])) {
			fail_msg("%s: %.*s", error.text, (int)(end - p), p);
		}
		count++;
		p = end + 1;
	}
	return count;
}

static const char *text_of(const json_t *line, const char *key)
{
	const json_t *v = json_object_get(line, key);

	assert_non_null(v);
	return json_is_null(v) ? NULL : json_string_value(v);
}

static void expect_text(const json_t *line, const char *key, const char *expected)
{
	const char *got = text_of(line, key);

	if (expected == NULL) {
		assert_null(got);
	} else {
		assert_non_null(got);
		assert_string_equal(got, expected);
	}
}

static json_int_t number_of(const json_t *line, const char *key)
{
	const json_t *v = json_object_get(line, key);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static void what_a_line_holds(void **state)
{
	static struct log log;
	json_t *lines[8];
	time_t before = time(NULL);

	(void)state;
	log_open(&log);
	struct decisions *d = decisions_new(log.fd);
	const struct decision all[] = {
		{.section = GATE_INTERNET,
		 .host = "ok.test",
		 .port = 443,
		 .allowed = true,
		 .from = &line_12,
		 .sent = 12345678901234ULL,
		 .received = UINT64_MAX / 2},
		{.section = GATE_LAN,
		 .host = "10.0.0.1",
		 .port = 22,
		 .allowed = true,
		 .from = &flag},
		{.section = GATE_LOCALHOST,
		 .host = "127.0.0.1",
		 .port = 11434,
		 .why = "it is not inference",
		 .hint = "add 11434 to [localhost] ports",
		 .method = "POST",
		 .path = "/api/pull?x=\"1\"\\"},
		{.host = "other.test", .why = "no", .hint = "add \"other.test\""},
		{.section = GATE_INTERNET, .host = "ok.test", .allowed = true, .from = &line_12},
	};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		decisions_add(d, &all[i]);
	}
	decisions_free(d);
	assert_int_equal(log_lines(&log, lines, 8), ARRAY_LEN(all));

	struct tm tm = {.tm_year = 0};
	const char *rest = strptime(text_of(lines[0], "time"), "%Y-%m-%dT%H:%M:%S", &tm);
	assert_non_null(rest);
	assert_int_equal(strlen(rest), 5);
	assert_true(rest[0] == '.' && rest[4] == 'Z');
	assert_in_range(timegm(&tm), before, before + 60);
	expect_text(lines[0], "section", "internet");
	expect_text(lines[0], "host", "ok.test");
	expect_text(lines[0], "verdict", "allowed");
	expect_text(lines[0], "spec", "app.toml:12");
	assert_int_equal(number_of(lines[0], "port"), 443);
	assert_true(number_of(lines[0], "sent") == 12345678901234LL);
	assert_true(number_of(lines[0], "received") == INT64_MAX);
	assert_null(json_object_get(lines[0], "why"));
	assert_null(json_object_get(lines[0], "path"));
	expect_text(lines[1], "spec", "--host");
	assert_int_equal(number_of(lines[1], "sent"), 0);
	expect_text(lines[2], "section", "localhost");
	expect_text(lines[2], "verdict", "refused");
	expect_text(lines[2], "spec", NULL);
	expect_text(lines[2], "why", "it is not inference");
	expect_text(lines[2], "hint", "add 11434 to [localhost] ports");
	expect_text(lines[2], "method", "POST");
	/* A backslash stays one; what is written as \xNN cannot be told from it, nor need it. */
	expect_text(lines[2], "path", "/api/pull?x=\"1\"\\");
	assert_null(json_object_get(lines[2], "sent"));
	expect_text(lines[3], "section", NULL);
	expect_text(lines[3], "hint", "add \"other.test\"");
	assert_true(json_is_null(json_object_get(lines[3], "port")));
	assert_null(json_object_get(lines[4], "sent"));
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		json_decref(lines[i]);
	}
	fd_close(&log.fd);
}

/* Hosts, methods and paths of every byte, and far too long. */
static void hostile_texts(void **state)
{
	static struct log log;
	static char huge[70000], file[300000];
	json_t *lines[64];
	static const char *const fill[] = {"a",
					   "\"",
					   "\\",
					   "\xff",
					   "\xc3\xbc",
					   "\x1b[2J",
					   "\xe2\x80\xae",
					   "\xf0\x9f\x98\x80",
					   "\n",
					   "\xe2\x82",
					   "\xc2\x80",
					   "\x7f",
					   "\"\xc3\xbc",
					   "\"\xf0\x9f\x98\x80"};

	(void)state;
	log_open(&log);
	struct decisions *d = decisions_new(log.fd);
	for (size_t f = 0; f < ARRAY_LEN(fill); f++) {
		for (unsigned shift = 0; shift < 4; shift++) {
			size_t n = shift;

			memset(huge, 'x', shift);
			while (n + 8 < sizeof(huge)) {
				n += (size_t)sprintf(huge + n, "%s", fill[f]);
			}
			/* The one text that is printable already, by spec_read. */
			const struct origin from = {.file = str_printable(huge, file, sizeof(file)),
						    .line = UINT32_MAX};
			const struct decision all = {.section = GATE_LOCALHOST,
						     .host = huge,
						     .port = 65535,
						     .from = &from,
						     .why = huge,
						     .hint = huge,
						     .method = huge,
						     .path = huge};
			decisions_add(d, &all);
		}
	}
	struct gate_refusal report[GATE_REFUSALS_MAX];
	uint32_t more;
	uint32_t told = decisions_report(d, report, &more);
	assert_true(told > 0);
	for (uint32_t i = 0; i < told; i++) {
		assert_true(memchr(report[i].what, '\0', sizeof(report[i].what)) != NULL);
		assert_true(memchr(report[i].hint, '\0', sizeof(report[i].hint)) != NULL);
		assert_null(strpbrk(report[i].what, "\n\x1b\x7f"));
		assert_null(strpbrk(report[i].hint, "\n\x1b\x7f"));
	}
	decisions_free(d);
	assert_int_equal(log_lines(&log, lines, 64), 4 * ARRAY_LEN(fill));
	for (size_t i = 0; i < 4 * ARRAY_LEN(fill); i++) {
		const char *path = text_of(lines[i], "path");

		/* Visible, and said to be cut. */
		for (const char *p = path; *p != '\0'; p++) {
			assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
		}
		assert_non_null(strstr(path, "..."));
		/* Never cut within a character. */
		bool printable = strchr("a\"\xc3\xf0", fill[i / 4][0]) != NULL;
		assert_true(!printable || strstr(path, "\\x") == NULL);
		assert_non_null(strstr(text_of(lines[i], "host"), "..."));
		assert_non_null(strstr(text_of(lines[i], "spec"), ":4294967295"));
		json_decref(lines[i]);
	}
	assert_non_null(strstr(log.text, "\\\\xff"));
	fd_close(&log.fd);
}

static void a_bell_is_visible(void **state)
{
	static struct log log;
	json_t *line;

	(void)state;
	log_open(&log);
	struct decisions *d = decisions_new(log.fd);
	const struct decision r = {
		.host = "a\x1b]0;t\x07.evil.test", .port = 80, .why = "no", .hint = "h"};
	struct gate_refusal report[GATE_REFUSALS_MAX];
	uint32_t more;
	decisions_add(d, &r);
	assert_int_equal(log_lines(&log, &line, 1), 1);
	expect_text(line, "host", "a\\x1b]0;t\\x07.evil.test");
	assert_int_equal(decisions_report(d, report, &more), 1);
	assert_string_equal(report[0].what, "a\\x1b]0;t\\x07.evil.test, port 80: no");
	json_decref(line);
	decisions_free(d);
	fd_close(&log.fd);
}

static void a_full_disk_loses_lines(void **state)
{
	auto_close int fd = open("/dev/full", O_WRONLY | O_APPEND | O_CLOEXEC);
	uint32_t more;
	struct gate_refusal report[GATE_REFUSALS_MAX];

	(void)state;
	assert_true(fd >= 0);
	struct decisions *d = decisions_new(fd);
	add_refused(d, "other.test", 80);
	assert_int_equal(decisions_report(d, report, &more), 1);
	decisions_free(d);
}

/* A file that may not grow: the line that was cut does not spoil the next. */
static void a_line_cut_by_the_disk(void **state)
{
	static struct log log;
	struct rlimit old, small;
	json_t *lines[3];

	(void)state;
	log_open(&log);
	struct decisions *d = decisions_new(log.fd);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 100;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	add_refused(d, "first.test", 80);
	add_refused(d, "lost.test", 80);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	add_refused(d, "next.test", 80);
	add_refused(d, "last.test", 80);
	assert_int_equal(decisions_lost(d), 2);
	decisions_free(d);
	ssize_t n = pread(log.fd, log.text, sizeof(log.text) - 1, 0);
	assert_true(n > 100);
	/* Past the broken line. */
	char *rest = strchr(log.text, '\n');
	assert_int_equal(rest - log.text, 100);
	assert_int_equal(pwrite(log.fd, "", 0, 0), 0);
	for (unsigned i = 0; i < 3; i++) {
		char *end = strchr(rest + 1, '\n');

		assert_non_null(end);
		lines[i] = json_loadb(rest + 1, (size_t)(end - rest - 1), 0, NULL);
		assert_non_null(lines[i]);
		rest = end;
	}
	assert_int_equal(json_integer_value(json_object_get(lines[0], "lost")), 2);
	expect_text(lines[1], "host", "next.test");
	expect_text(lines[2], "host", "last.test");
	for (unsigned i = 0; i < 3; i++) {
		json_decref(lines[i]);
	}
	fd_close(&log.fd);
}

/* A pipe nobody reads fills up; then lines are lost, and nothing waits. */
static void a_pipe_nobody_reads(void **state)
{
	int fds[2];
	static char text[2 << 20];
	size_t n = 0;
	ssize_t got;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	struct decisions *d = decisions_new(fds[1]);
	alarm(20);
	for (unsigned i = 0; i < 5000; i++) {
		add_refused(d, "other.test", 80);
	}
	alarm(0);
	fd_close(&fds[1]);
	while (n < sizeof(text) && (got = read(fds[0], text + n, sizeof(text) - n)) > 0) {
		n += (size_t)got;
	}
	assert_true(n > 10000 && n < sizeof(text));
	/* Whole lines only. */
	for (char *p = text; p < text + n;) {
		char *end = memchr(p, '\n', (size_t)(text + n - p));

		assert_non_null(end);
		json_t *line = json_loadb(p, (size_t)(end - p), 0, NULL);
		assert_non_null(line);
		json_decref(line);
		p = end + 1;
	}
	fd_close(&fds[0]);
	decisions_free(d);
}

/* --- the report --------------------------------------------------------------------------- */

static struct gate_refusal report[GATE_REFUSALS_MAX];

static void once_each_with_a_count(void **state)
{
	uint32_t more = 99;

	(void)state;
	struct decisions *d = decisions_new(-1);
	assert_int_equal(decisions_report(d, report, &more), 0);
	assert_int_equal(more, 0);
	const struct decision fine = {.host = "ok.test", .port = 443, .allowed = true};
	decisions_add(d, &fine);
	add_refused(d, "rare.test", 443);
	for (unsigned i = 0; i < 7; i++) {
		add_refused(d, "often.test", 443);
		add_refused(d, "often.test", 80);
	}
	add_refused(d, "often.test", 80);
	assert_int_equal(decisions_report(d, report, &more), 3);
	assert_int_equal(more, 0);
	assert_string_equal(report[0].what,
			    "often.test, port 80: it is not among the hosts of [internet]");
	assert_int_equal(report[0].count, 8);
	assert_string_equal(report[0].hint, "app.toml:4: add it");
	assert_int_equal(report[1].count, 7);
	assert_string_equal(report[2].what,
			    "rare.test, port 443: it is not among the hosts of [internet]");
	decisions_free(d);
}

static void two_reasons_are_two(void **state)
{
	uint32_t more;

	(void)state;
	struct decisions *d = decisions_new(-1);
	const struct decision pull = {
		.host = "localhost", .port = 11434, .why = "POST /api/pull", .hint = "x"};
	const struct decision push = {
		.host = "localhost", .port = 11434, .why = "POST /api/push", .hint = "x"};
	decisions_add(d, &pull);
	decisions_add(d, &push);
	assert_int_equal(decisions_report(d, report, &more), 2);
	decisions_free(d);
}

static void look_ups(void **state)
{
	uint32_t more;

	(void)state;
	struct decisions *d = decisions_new(-1);
	/* A and AAAA at once, three times. */
	for (unsigned i = 0; i < 3; i++) {
		add_refused(d, "other.test", 0);
		add_refused(d, "other.test", 0);
	}
	a_moment();
	add_refused(d, "other.test", 0);
	a_moment();
	add_refused(d, "other.test", 0);
	assert_int_equal(decisions_report(d, report, &more), 1);
	assert_int_equal(report[0].count, 5);
	assert_string_equal(report[0].what, "other.test: it is not among the hosts of [internet]");
	/* The look-up says nothing that the port does not say. */
	add_refused(d, "other.test", 22);
	add_refused(d, "other.tests", 0);
	assert_int_equal(decisions_report(d, report, &more), 2);
	assert_string_equal(report[0].what,
			    "other.test, port 22: it is not among the hosts of [internet]");
	assert_string_equal(report[1].what, "other.tests: it is not among the hosts of [internet]");
	decisions_free(d);
}

static void bounded(void **state)
{
	uint32_t more;
	char name[64];

	(void)state;
	struct decisions *d = decisions_new(-1);
	for (unsigned i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "h%u.other.test", i);
		add_refused(d, name, 80);
		add_refused(d, name, 80);
	}
	assert_int_equal(decisions_report(d, report, &more), GATE_REFUSALS_MAX);
	assert_int_equal(more, 400 - GATE_REFUSALS_MAX);
	assert_string_equal(report[0].what,
			    "h0.other.test, port 80: it is not among the hosts of [internet]");
	/* A flood ends somewhere. */
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "h%u.flood.test", i);
		add_refused(d, name, 80);
	}
	assert_int_equal(decisions_report(d, report, &more), GATE_REFUSALS_MAX);
	assert_int_equal(more, DECISIONS_KEPT - GATE_REFUSALS_MAX + 4096);
	decisions_free(d);
	decisions_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_line_holds),
		cmocka_unit_test(hostile_texts),
		cmocka_unit_test(a_bell_is_visible),
		cmocka_unit_test(a_full_disk_loses_lines),
		cmocka_unit_test(a_line_cut_by_the_disk),
		cmocka_unit_test(a_pipe_nobody_reads),
		cmocka_unit_test(once_each_with_a_count),
		cmocka_unit_test(two_reasons_are_two),
		cmocka_unit_test(look_ups),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
