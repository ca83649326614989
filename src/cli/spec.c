/* lnk sandbox spec: checks a spec and says what it grants here; the keys; the JSON Schema. */
#include "base/str.h"
#include "cli/cli.h"
#include "cli/spec_view.h"
#include "plan/refuse.h"
#include "spec/keys.h"
#include "spec/schema.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct options {
	const char *file;
	bool json;
	bool keys;
	bool schema;
	bool os_given;
	bool help;
	enum spec_os os;
	struct spec_flag *flags; /* one slot per word of the command line */
	size_t nflags;
};

static bool usage(struct err_list *errs, const struct err *err)
{
	*err_list_next(errs) = *err;
	return false;
}

/* The system that this machine runs. */
static enum spec_os this_os(void)
{
	struct utsname u;

	return uname(&u) == 0 && str_eq(u.sysname, "Darwin") ? SPEC_OS_MACOS : SPEC_OS_LINUX;
}

static bool take_os(const char *name, struct options *o, struct err_list *errs)
{
	unsigned os = name != NULL ? keys_find_os(name, strlen(name)) : KEYS_OS_COUNT;
	struct err e;

	if (os == KEYS_OS_COUNT) {
		err_set(&e, ERR_USAGE, 0, "--os takes linux or macos");
		err_hint(&e, "lnk sandbox spec --os macos FILE");
		return usage(errs, &e);
	}
	o->os = (enum spec_os)os;
	o->os_given = true;
	return true;
}

static bool take_file(const char *name, struct options *o, struct err_list *errs)
{
	struct err e;

	if (o->file != NULL || name == NULL) {
		err_set(&e, ERR_USAGE, 0, "lnk sandbox spec takes one FILE");
		err_hint(&e, "lnk sandbox spec app.toml");
		return usage(errs, &e);
	}
	if (name[0] == '\0') {
		err_set(&e, ERR_USAGE, 0, "the name of the spec file is empty");
		err_hint(&e, "lnk sandbox spec app.toml");
		return usage(errs, &e);
	}
	o->file = name;
	return true;
}

static bool unknown_flag(const char *word, struct err_list *errs)
{
	static const char *const own[] = {"--json",   "--os",   "--keys",
					  "--schema", "--spec", "--help"};
	const char *nearest = NULL;
	size_t best = strlen(word) / 3 + 1;
	char clean[128];
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(own) + SPEC_KEY_COUNT; i++) {
		const char *flag = i < ARRAY_LEN(own) ? own[i] : spec_keys[i - ARRAY_LEN(own)].flag;
		size_t d = flag != NULL ? str_distance(flag, word) : best;

		if (d < best) {
			best = d;
			nearest = flag;
		}
	}
	str_printable(word, clean, sizeof(clean));
	err_set(&e, ERR_USAGE, 0, "lnk sandbox spec has no flag %s%s%s%s", clean,
		nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
		nearest != NULL ? "?" : "");
	err_hint(&e, "see `lnk sandbox spec --help`");
	return usage(errs, &e);
}

/* One word that begins with a dash. */
static bool take_flag(int argc, char **argv, int *i, struct options *o, struct err_list *errs)
{
	const char *word = argv[*i];
	bool bad;
	struct err e;

	if (spec_flag_take(argc, argv, i, &o->flags[o->nflags], &bad, &e) != SPEC_KEY_COUNT) {
		o->nflags++;
		return true;
	}
	if (bad) {
		return usage(errs, &e);
	}
	if (str_eq(word, "--json")) {
		o->json = true;
	} else if (str_eq(word, "--keys")) {
		o->keys = true;
	} else if (str_eq(word, "--schema")) {
		o->schema = true;
	} else if (str_eq(word, "--help") || str_eq(word, "-h")) {
		o->help = true;
	} else if (str_starts(word, "--os=")) {
		return take_os(word + strlen("--os="), o, errs);
	} else if (str_eq(word, "--os")) {
		*i += 1;
		return take_os(*i < argc ? argv[*i] : NULL, o, errs);
	} else if (str_starts(word, "--spec=")) {
		return take_file(word + strlen("--spec="), o, errs);
	} else if (str_eq(word, "--spec")) {
		*i += 1;
		return take_file(*i < argc ? argv[*i] : NULL, o, errs);
	} else {
		return unknown_flag(word, errs);
	}
	return true;
}

static bool check_options(const struct options *o, struct err_list *errs)
{
	bool spec = o->file != NULL || o->nflags > 0;
	struct err e;

	if (o->help || spec != (o->keys || o->schema)) {
		bool alone = (o->keys && o->schema) ||
			     ((o->keys || o->schema) && (o->json || o->os_given));
		if (o->help || !alone) {
			return true;
		}
	}
	if (!spec && !o->keys && !o->schema) {
		err_set(&e, ERR_USAGE, 0, "lnk sandbox spec needs a FILE, --keys or --schema");
		err_hint(&e, "lnk sandbox spec app.toml");
	} else {
		err_set(&e, ERR_USAGE, 0, "%s stands alone", o->keys ? "--keys" : "--schema");
		err_hint(&e, "lnk sandbox spec %s", o->keys ? "--keys" : "--schema");
	}
	return usage(errs, &e);
}

static bool read_options(int argc, char **argv, struct options *o, struct err_list *errs)
{
	bool operands = false;

	for (int i = 0; i < argc; i++) {
		if (!operands && str_eq(argv[i], "--")) {
			operands = true;
		} else if (!operands && argv[i][0] == '-' && argv[i][1] != '\0') {
			if (!take_flag(argc, argv, &i, o, errs)) {
				return false;
			}
		} else if (!take_file(argv[i], o, errs)) {
			return false;
		}
	}
	return check_options(o, errs);
}

/* What a run would refuse of the grants as they are on this machine. */
static void check_grants(const struct spec_view *view, struct err_list *errs)
{
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		const struct spec_value *value = &view->spec->value[k];

		for (size_t i = 0; spec_keys[k].type == SPEC_TYPE_PATHS && i < value->n; i++) {
			struct view_entry ignored;
			struct err e;

			if (!view_look_up(view, k, &value->v[i], &ignored, &e)) {
				spec_err_at(view->spec, &e, &value->v[i].from);
				*err_list_next(errs) = e;
			}
		}
	}
}

static int show(const struct options *o, struct err_list *errs)
{
	auto_arena struct arena arena = {0};
	struct machine machine;
	struct spec spec;
	struct err e;

	if (!machine_read(environ, &arena, &machine, &e)) {
		usage(errs, &e);
		return EXIT_LNK;
	}
	struct spec_input input = {
		.file = o->file,
		.cwd = machine.cwd.name,
		.home = machine.home.name,
		.os = o->os_given ? o->os : this_os(),
		.flags = o->flags,
		.nflags = o->nflags,
	};
	if (!spec_read(&input, &arena, &spec, errs) ||
	    !refuse_check(&spec, &machine, &arena, errs)) {
		return EXIT_USAGE;
	}
	struct spec_view view = {&spec, &machine, &arena, input.os == this_os()};
	check_grants(&view, errs);
	if (errs->total > 0) {
		spec_sort_errors(errs);
		return EXIT_USAGE;
	}
	if (!o->json) {
		view_print(&view, stdout);
	} else if (!view_print_json(&view, stdout)) {
		err_set(&e, ERR_SETUP, 0, "cannot print the spec as JSON");
		usage(errs, &e);
		return EXIT_LNK;
	}
	return EXIT_OK;
}

int cli_spec(int argc, char **argv, struct err_list *errs)
{
	auto_arena struct arena arena = {0};
	struct options o = {
		.flags = arena_alloc(&arena, ((size_t)argc + 1) * sizeof(*o.flags)),
	};

	if (!read_options(argc, argv, &o, errs)) {
		return EXIT_USAGE;
	}
	if (o.help) {
		cli_help("spec");
	} else if (o.keys) {
		keys_print(stdout);
	} else if (o.schema) {
		if (!schema_print(stdout)) {
			err_set(err_list_next(errs), ERR_SETUP, 0, "cannot print the schema");
			return EXIT_LNK;
		}
	} else {
		return show(&o, errs);
	}
	return EXIT_OK;
}
