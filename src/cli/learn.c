/* lnk sandbox learn: a run with little open, watched; then the spec of what it wanted. */
#include "base/str.h"
#include "cli/cli.h"
#include "cli/learn_inner.h"
#include "plan/refuse.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Secrets that are closed one by one, in folders that are opened while learning. */
#define HIDES_MAX 64

static bool failed(struct learn *l, enum err_code code, const char *msg, const char *hint)
{
	struct err *err = err_list_next(l->errs);

	err_set(err, code, 0, "%s", msg);
	return err_hint(err, "%s", hint);
}

/* --- secrets -------------------------------------------------------------------------------- */

struct secret {
	const char *name, *what;
};

static const struct secret home_secrets[] = {
#define HOME_SECRET(name, what) {name, what},
#define FILE_SECRET(name, what)
#include "cli/learn.def"
#undef HOME_SECRET
#undef FILE_SECRET
};
static const struct secret file_secrets[] = {
#define HOME_SECRET(name, what)
#define FILE_SECRET(name, what) {name, what},
#include "cli/learn.def"
#undef HOME_SECRET
#undef FILE_SECRET
};

static const char *below_home(const struct machine *m, const char *path)
{
	const char *home = path_within(path, m->home.name)   ? m->home.name
			   : path_within(path, m->home.real) ? m->home.real
							     : NULL;

	return home != NULL ? path + strlen(home) : NULL;
}

const char *learn_secret(const struct machine *machine, const char *path)
{
	const char *rest = below_home(machine, path);
	size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_LEN(home_secrets) && rest != NULL; i++) {
		char at[PATH_MAX] = "/";

		strncat(at, home_secrets[i].name, sizeof(at) - 2);
		if (path_within(rest, at) || path_within(at, rest[0] == '\0' ? "/" : rest)) {
			return home_secrets[i].what;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(file_secrets); i++) {
		size_t k = strlen(file_secrets[i].name);

		if (n >= k && str_eq(path + n - k, file_secrets[i].name)) {
			return file_secrets[i].what;
		}
	}
	return NULL;
}

size_t learn_secrets_in(const struct machine *machine, const char *folder, struct arena *arena,
			const char **ret_paths, size_t max)
{
	size_t n = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(home_secrets) + ARRAY_LEN(file_secrets) && n < max; i++) {
		bool home = i < ARRAY_LEN(home_secrets);
		const char *name = home ? home_secrets[i].name
					: file_secrets[i - ARRAY_LEN(home_secrets)].name;
		const char *path =
			arena_printf(arena, "%s/%s", home ? machine->home.name : folder, name);

		if (path_within(path, folder) && lstat(path, &st) == 0) {
			ret_paths[n++] = path;
		}
	}
	return n;
}

/* --- grants --------------------------------------------------------------------------------- */

static const char *absolute(struct learn *l, const struct machine *m, const char *path)
{
	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/')) {
		path = arena_printf(&l->arena, "%s%s", m->home.name, path + 1);
	}
	return value_join(m->cwd.name, path, &l->arena);
}

/* The file must be a spec that its own grants do not let the program change. */
static bool check_write(struct learn *l, const struct refuse_rules *rules, const char *path)
{
	struct err failure;

	if (refuse_may(rules, SPEC_FILES_WRITE, path, &failure)) {
		return true;
	}
	failure.code = ERR_USAGE;
	err_wrap(&failure, "no spec could be written that opens the folder to write");
	*err_list_next(l->errs) = failure;
	return false;
}

static bool check_out(struct learn *l, const struct machine *m)
{
	struct stat st;

	if (l->out == NULL || l->out[0] == '\0') {
		return failed(l, ERR_USAGE, "learn needs a file to write the spec to",
			      "lnk sandbox learn -o ~/specs/app.toml -- PROGRAM [ARGUMENT...]");
	}
	l->out_path = absolute(l, m, l->out);
	if (lstat(l->out_path, &st) == 0) {
		return failed(l, ERR_USAGE, arena_printf(&l->arena, "%s is there already", l->out),
			      "name a new file: a spec that you have is not written over");
	}
	return true;
}

/* Whatever the flags open, the secrets in it stay closed. */
static void hide_secrets(struct learn *l, const struct machine *m, const char *path,
			 struct run_keys *keys)
{
	const char *secrets[HIDES_MAX];
	size_t n = learn_secrets_in(m, path, &l->arena, secrets, HIDES_MAX);

	for (size_t i = 0; i < n; i++) {
		struct spec_flag hide = {SPEC_FILES_HIDE, secrets[i]};

		ARENA_PUSH(&l->arena, keys, hide);
		ARENA_PUSH(&l->arena, &l->hidden, secrets[i]);
	}
}

static bool check_keys(struct learn *l, const struct run_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++) {
		enum spec_key key = keys->v[i].key;

		if (key == SPEC_COMMANDS_ALLOW || key == SPEC_NETWORK_MODE) {
			return failed(
				l, ERR_USAGE,
				arena_printf(&l->arena, "learn takes no %s", spec_keys[key].flag),
				"programs and calls are what it watches; open hosts by "
				"--host");
		}
	}
	return true;
}

static bool prepare(const struct machine *m, struct run_keys *keys, void *context)
{
	struct learn *l = context;
	size_t given = keys->n;
	bool write = false;

	if (!check_out(l, m) || !check_keys(l, keys)) {
		return false;
	}
	const struct spec spec = {.file = l->out, .file_path = l->out_path};
	const struct refuse_rules *rules = refuse_rules_read(&spec, m, &l->arena);
	if (rules == NULL) {
		return failed(l, ERR_USAGE, "the folder of the spec cannot be looked at",
			      "name a file in a folder of yours");
	}
	for (size_t i = 0; i < given; i++) {
		enum spec_key key = keys->v[i].key;

		if (key != SPEC_FILES_WRITE && key != SPEC_FILES_READ) {
			continue;
		}
		const char *path = absolute(l, m, keys->v[i].value);
		if (key == SPEC_FILES_WRITE && !check_write(l, rules, path)) {
			return false;
		}
		write = write || key == SPEC_FILES_WRITE;
		hide_secrets(l, m, path, keys);
	}
	if (!write) {
		struct spec_flag here = {SPEC_FILES_WRITE, m->cwd.name};

		hide_secrets(l, m, m->cwd.name, keys);
		ARENA_PUSH(&l->arena, keys, here);
		return check_write(l, rules, m->cwd.name);
	}
	return true;
}

/* --- the run -------------------------------------------------------------------------------- */

static bool seen(const struct run_seen *seen, void *context)
{
	struct learn *l = context;

	learn_calls(l);
	return learn_write(l, seen);
}

int cli_learn(int argc, char **argv, struct err_list *errs)
{
	/* Not on the stack: as in run. */
	static struct learn l;
	const struct run_watch *w = &l.watch;

	l = (struct learn){.errs = errs};
	if (argc > 0 && (str_eq(argv[0], "--help") || str_eq(argv[0], "-h"))) {
		cli_help("learn");
		return EXIT_OK;
	}
	if (argc >= 2 && str_eq(argv[0], "-o")) {
		l.out = argv[1];
		argc -= 2;
		argv += 2;
	}
	l.argc = argc;
	l.argv = argv;
	l.watch = (struct run_watch){memfd_create("lnk-learn", MFD_CLOEXEC), prepare, seen, &l};
	if (w->calls_fd < 0 || fcntl(w->calls_fd, F_SETFL, O_APPEND) < 0) {
		err_set(err_list_next(errs), ERR_SETUP, errno, "cannot listen to the gate");
		return EXIT_LNK;
	}
	int status = run_watched(argc, argv, w, errs);
	close(w->calls_fd);
	arena_release(&l.arena);
	return status;
}
