/* The whole way of a spec: flags of a command line and bytes of a file, reading, refusals, and both
 * ways of showing it. An input is lines of flags, "--write=~/x", up to the first line that does not
 * begin with "--"; the rest is the file. A line "-" alone says that there is none. */
#include "base/str.h"
#include "cli/spec_view.h"
#include "fuzz.h"
#include "plan/refuse.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FLAGS_MAX 32

struct input {
	struct spec_flag flags[FLAGS_MAX];
	size_t nflags;
	bool macos;
	bool no_file;
	const uint8_t *file;
	size_t file_len;
};

static void take_flag(char *line, struct input *in)
{
	char *argv[] = {line, NULL};
	struct err err;
	bool bad;
	int i = 0;

	if (str_eq(line, "--os=macos")) {
		in->macos = true;
	} else if (in->nflags < FLAGS_MAX && spec_flag_take(1, argv, &i, &in->flags[in->nflags],
							    &bad, &err) != SPEC_KEY_COUNT) {
		in->nflags++;
	}
}

static struct input divide(const uint8_t *data, size_t size, struct arena *arena)
{
	struct input in = {.nflags = 0};

	while (size > 1 && data[0] == '-') {
		const uint8_t *end = memchr(data, '\n', size);
		size_t n = end != NULL ? (size_t)(end - data) : size;

		if (n == 1) {
			in.no_file = true;
			return in;
		}
		if (data[1] != '-') {
			break;
		}
		take_flag(arena_strndup(arena, (const char *)data, n), &in);
		n += end != NULL ? 1 : 0;
		data += n;
		size -= n;
	}
	in.file = data;
	in.file_len = size;
	return in;
}

/* A regular file without a place on disk. */
static int file_of(const struct input *in, char name[64])
{
	int fd = memfd_create("spec", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, in->file, in->file_len) == (ssize_t)in->file_len);
	snprintf(name, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static const struct machine *machine_once(void)
{
	static char *const environment[] = {
		(char *)"HOME=/home/u",
		(char *)"PATH=/usr/bin:/home/u/tools:/home/u/go/bin/:relative",
		(char *)"TMPDIR=/home/u/tmp/",
		NULL,
	};
	static struct arena arena;
	static struct machine machine;
	struct err err;

	if (machine.path == NULL) {
		REQUIRE(machine_read(environment, &arena, &machine, &err));
	}
	return &machine;
}

static void check_errors(const struct err_list *errs)
{
	REQUIRE(errs->n <= ERR_LIST_MAX && errs->n <= errs->total);
	for (unsigned i = 0; i < errs->n; i++) {
		const struct err *e = &errs->v[i];

		REQUIRE(e->code == ERR_SPEC && e->msg[0] != '\0');
		REQUIRE(strlen(e->msg) < sizeof(e->msg) && strlen(e->hint) < sizeof(e->hint));
		REQUIRE(strlen(e->file) < sizeof(e->file));
		REQUIRE(strlen(e->source) < sizeof(e->source));
		REQUIRE(e->line <= SPEC_FILE_MAX + 1 && e->col <= SPEC_FILE_MAX + 1);
		REQUIRE(i == 0 || e->line == 0 || errs->v[i - 1].line <= e->line);
	}
}

/* Absolute and in normal form. */
static void check_path(const char *path)
{
	size_t n = strlen(path);

	REQUIRE(path[0] == '/' && strstr(path, "//") == NULL);
	REQUIRE(n == 1 || path[n - 1] != '/');
	for (const char *p = path; (p = strstr(p, "/.")) != NULL; p++) {
		REQUIRE(p[2] != '/' && p[2] != '\0');
		REQUIRE(p[2] != '.' || (p[3] != '/' && p[3] != '\0'));
	}
}

static void check_host(enum spec_key key, const struct spec_item *item)
{
	const char *name = item->path;

	REQUIRE(name[0] != '\0' && strlen(name) <= 255);
	REQUIRE(!str_eq(name, "*") || str_eq(item->text, "*"));
	REQUIRE(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.:*/") == strlen(name));
	REQUIRE(strchr(name, '*') == NULL || str_eq(name, "*") || strrchr(name, '*') == name);
	REQUIRE(strchr(name, '/') == NULL || key == SPEC_LAN_HOSTS);
}

static void check_value(enum spec_key key, const struct spec_value *value)
{
	const struct spec_key_info *k = &spec_keys[key];
	size_t stars = 0;

	REQUIRE(!value->set || value->n > 0);
	REQUIRE(value->n <= 1 || k->repeatable);
	for (size_t i = 0; i < value->n; i++) {
		const struct spec_item *item = &value->v[i];

		REQUIRE((item->from.flag != NULL) != (item->from.file != NULL));
		REQUIRE(item->from.flag != NULL || (item->from.line > 0 && item->from.col > 0));
		if (k->type == SPEC_TYPE_PATHS ||
		    (k->type == SPEC_TYPE_COMMANDS && item->path != NULL)) {
			check_path(item->path);
		}
		if (k->type == SPEC_TYPE_HOSTS || k->type == SPEC_TYPE_LAN_HOSTS ||
		    k->type == SPEC_TYPE_HOST_PORTS) {
			check_host(key, item);
		}
		if (k->max > 0) {
			REQUIRE(item->number >= k->min && item->number <= k->max);
		}
		stars += item->text != NULL && str_eq(item->text, "*") ? 1 : 0;
	}
	REQUIRE(stars == 0 || stars == value->n || k->type == SPEC_TYPE_TEXT);
}

static void check_spec(const struct spec *spec)
{
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		check_value(k, &spec->value[k]);
	}
	for (enum spec_section s = SPEC_SECTION_ROOT + 1; s < SPEC_SECTION_COUNT; s++) {
		bool main = false;

		for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
			main |= spec_keys[k].section == s && spec_keys[k].main &&
				spec->value[k].set;
		}
		REQUIRE(main == spec->section_set[s]);
	}
}

static void show(const struct spec *spec, const struct machine *machine, struct arena *arena)
{
	struct spec_view view = {spec, machine, arena, spec->os == SPEC_OS_LINUX};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(out != NULL);
	view_print(&view, out);
	REQUIRE(view_print_json(&view, out));
	fclose(out);
	/* Nothing that a terminal acts on comes through. */
	for (size_t i = 0; i < len; i++) {
		REQUIRE((unsigned char)text[i] >= 0x20 || text[i] == '\n');
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena arena = {0};
	static struct err_list errs;
	struct machine machine = *machine_once();
	struct str_set resolved = {.n = 0};
	struct spec spec;
	char name[64] = "";
	struct input in = divide(data, size, &arena);
	int fd = in.no_file ? -1 : file_of(&in, name);
	struct spec_input input = {
		.file = in.no_file ? NULL : name,
		.cwd = "/home/u/code",
		.home = "/home/u",
		.os = in.macos ? SPEC_OS_MACOS : SPEC_OS_LINUX,
		.flags = in.flags,
		.nflags = in.nflags,
	};

	memset(&errs, 0, sizeof(errs));
	machine.resolved = &resolved;
	bool ok = spec_read(&input, &arena, &spec, &errs);
	REQUIRE(ok == (errs.total == 0));
	if (ok) {
		check_spec(&spec);
		ok = refuse_check(&spec, &machine, &arena, &errs);
		REQUIRE(ok == (errs.total == 0));
		REQUIRE(ok || !in.no_file);
		show(&spec, &machine, &arena);
	}
	check_errors(&errs);
	if (fd >= 0) {
		close(fd);
	}
	return 0;
}
