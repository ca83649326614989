/* lnk sandbox doctor: what this machine's kernel offers, guard by guard, tried and not looked up.
 */
#include "base/arena.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/probe.h"
#include "cli/wrap.h"
#include "confine/nft.h"
#include "plan/kernel.h"
#include "plan/machine.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

enum fence { FIRST, SECOND };

struct guard {
	const char *name;
	const char *since;
	enum fence fence;
	unsigned long namespaces;
	int (*probe)(void);
	const char *step;
	const char *without;
};

static const struct guard guards[] = {
#define GUARD(name, since, fence, namespaces, probe, step, without)                                \
	{name, since, fence, (unsigned)(namespaces), probe, step, without},
#include "cli/guards.def"
#undef GUARD
};

#define COL_GUARD  30
#define COL_SINCE  8
#define COL_HERE   6
#define COL_FENCE  8
#define COL_BEFORE (COL_GUARD + COL_SINCE + COL_HERE + COL_FENCE)
#define WIDTH      80

/* What is said below the table: each cause once, with the first guard that it took away. */
struct hint {
	const char *guard;
	unsigned more; /* further guards with the same cause */
	char why[512];
};
struct hints {
	struct hint v[ARRAY_LEN(guards) + 1];
	size_t n;
};

static void add_hint(struct hints *hints, const char *guard, const char *why)
{
	for (size_t i = 0; i < hints->n; i++) {
		if (str_eq(hints->v[i].why, why)) {
			hints->v[i].more++;
			return;
		}
	}
	struct hint *hint = &hints->v[hints->n++];

	hint->guard = guard;
	hint->more = 0;
	snprintf(hint->why, sizeof(hint->why), "%s", why);
}

static void print_row(const char *name, const char *since, bool here, enum fence fence,
		      const char *without)
{
	printf("%-*s%-*s%-*s%-*s", COL_GUARD, name, COL_SINCE, since, COL_HERE, here ? "yes" : "no",
	       COL_FENCE, fence == FIRST ? "first" : "second");
	wrap_print(stdout, COL_BEFORE, COL_BEFORE, WIDTH, without);
}

/* The nearest existing folder of `path` may be written. */
static bool can_be_made(const char *path, char *ret_at, size_t cap)
{
	snprintf(ret_at, cap, "%s", path);
	while (access(ret_at, F_OK) != 0) {
		char *slash = strrchr(ret_at, '/');

		if (slash == NULL || slash == ret_at) {
			snprintf(ret_at, cap, "/");
			break;
		}
		*slash = '\0';
	}
	struct stat st;

	return stat(ret_at, &st) == 0 && S_ISDIR(st.st_mode) && access(ret_at, W_OK | X_OK) == 0;
}

static bool state_folder(struct hints *hints)
{
	auto_arena struct arena arena = {NULL};
	struct machine machine;
	struct err err;
	char at[4096];
	char why[sizeof(hints->v[0].why)];
	bool good = machine_read(environ, &arena, &machine, &err);

	if (!good) {
		snprintf(why, sizeof(why), "%.200s; %.200s", err.msg, err.hint);
	} else {
		good = can_be_made(machine.state_folder, at, sizeof(at));
		snprintf(why, sizeof(why),
			 "%.300s cannot be written: set XDG_STATE_HOME to a folder that can be",
			 at);
	}
	print_row("state folder", "", good, FIRST, "no run");
	if (!good) {
		add_hint(hints, "state folder", why);
	}
	return good;
}

static void explain(const struct guard *guard, struct probe_result result, struct hints *hints)
{
	char why[sizeof(hints->v[0].why)];
	const char *step = result.inside ? guard->step : "unshare";

	if (!kernel_explain(step, result.err, why, sizeof(why))) {
		if (result.inside && (result.err == EINVAL || result.err == ENOSYS)) {
			snprintf(why, sizeof(why), "needs a newer kernel, with %s %s",
				 guard->since[0] == 'A' ? "Landlock" : "Linux", guard->since);
		} else {
			snprintf(why, sizeof(why), "failed here with \"%s\"", strerror(result.err));
		}
	}
	add_hint(hints, guard->name, why);
}

static void print_head(void)
{
	struct kernel_facts facts;
	struct utsname name;

	kernel_read(&facts);
	if (uname(&name) == 0) {
		printf("lnk %s on Linux %s (%s), ", LNK_VERSION, name.release, name.machine);
	}
	printf("Landlock ABI %d, user %u\n\n", facts.landlock_abi, geteuid());
	printf("%-*s%-*s%-*s%-*s%s\n", COL_GUARD, "guard", COL_SINCE, "Linux", COL_HERE, "here",
	       COL_FENCE, "fence", "without it");
}

/* Whether the way without namespaces is open: it stands on two guards alone. */
static void print_bare(void)
{
	const char *text = "lnk sandbox run --without-namespaces works here, for specs without "
			   "hosts, ports, tools, pages and hidden paths; it holds less: see "
			   "lnk-sandbox-run(1).";

	fflush(stdout);
	if (probe_in_child(0, probe_landlock_scope).err != 0) {
		text = "Nor can --without-namespaces, which needs Landlock's ABI 6 (Linux 6.12).";
	} else if (probe_in_child(0, probe_asking).err != 0) {
		text = "Nor can --without-namespaces: the system-call filter that it needs cannot "
		       "be loaded.";
	}
	wrap_print(stdout, 0, 0, WIDTH, text);
}

static void print_hints(const struct hints *hints, unsigned first, unsigned second)
{
	if (hints->n > 0) {
		puts("\nTo turn on what is missing:");
	}
	for (size_t i = 0; i < hints->n; i++) {
		const struct hint *hint = &hints->v[i];
		char text[sizeof(hint->why) + 100];

		if (hint->more > 0) {
			snprintf(text, sizeof(text), "%s, and %u more: %s", hint->guard, hint->more,
				 hint->why);
		} else {
			snprintf(text, sizeof(text), "%s: %s", hint->guard, hint->why);
		}
		fputs("- ", stdout);
		wrap_print(stdout, 2, 2, WIDTH, text);
	}
	if (first > 0) {
		printf("\nlnk sandbox run cannot work here: %u first fence%s missing.\n", first,
		       first == 1 ? " is" : "s are");
		print_bare();
	} else if (second > 0) {
		printf("\nlnk sandbox run works here; %u second fence%s missing.\n", second,
		       second == 1 ? " is" : "s are");
	} else {
		puts("\nlnk sandbox run works here, with every guard.");
	}
}

int cli_doctor(int argc, char **argv, struct err_list *errs)
{
	struct hints hints = {.n = 0};
	unsigned missing[2] = {0, 0};

	if (argc > 0 && (str_eq(argv[0], "--help") || str_eq(argv[0], "-h"))) {
		cli_help("doctor");
		return EXIT_OK;
	}
	if (argc > 0) {
		struct err *err = err_list_next(errs);

		err_set(err, ERR_USAGE, 0, "doctor takes no words, and \"%s\" is one", argv[0]);
		err_hint(err, "write `lnk sandbox doctor`");
		return EXIT_USAGE;
	}
	print_head();
	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		const struct guard *guard = &guards[i];

		/* A child must not print again what waits here. */
		fflush(stdout);
		struct probe_result result = probe_in_child(guard->namespaces, guard->probe);

		print_row(guard->name, guard->since, result.err == 0, guard->fence, guard->without);
		if (result.err != 0) {
			missing[guard->fence]++;
			explain(guard, result, &hints);
		}
	}
	missing[FIRST] += state_folder(&hints) ? 0U : 1U;
	print_hints(&hints, missing[FIRST], missing[SECOND]);
	return missing[FIRST] > 0 ? EXIT_LNK : EXIT_OK;
}
