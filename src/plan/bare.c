/* --without-namespaces: the plan of a run that Landlock and seccomp hold alone. The operations are
 * made as for any run and judged: what only a mount can do is refused with its line, the rest is
 * turned into rights. */
#include "plan/build.h"

#include "base/str.h"

#include <stdarg.h>
#include <string.h>

#define LOOK (PLAN_MAY_LIST | PLAN_MAY_READ)

static void refuse(struct err_list *errs, const struct origin *from, const char *hint,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void refuse(struct err_list *errs, const struct origin *from, const char *hint,
		   const char *fmt, ...)
{
	struct err *err = err_list_next(errs);
	char text[sizeof(err->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(err, ERR_SPEC, 0, "--without-namespaces cannot %s", text);
	err_hint(err, "%s", hint);
	err_at(err, from);
}

bool plan_bare_fits(const struct spec *spec, struct err_list *errs)
{
	static const struct {
		enum spec_key key;
		bool network; /* without effect where mode = "host" */
		const char *what;
	} needs[] = {
		{SPEC_INTERNET_HOSTS, true, "open single hosts of the internet"},
		{SPEC_LAN_HOSTS, true, "open single machines of the local network"},
		{SPEC_LOCALHOST_PORTS, true, "open single ports of this machine"},
		{SPEC_LOCALHOST_MODELS, true, "open a model runtime for inference only"},
		{SPEC_TOOLS_NAMES, false, "put tools into the sandbox"},
		{SPEC_BROWSER_HOSTS, false, "let the program ask for pages"},
	};
	const struct spec_value *mode = &spec->value[SPEC_NETWORK_MODE];
	bool host = mode->set && str_eq(mode->v[0].text, "host");
	unsigned before = errs->total;

	for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
		const struct spec_value *value = &spec->value[needs[i].key];

		if (value->n > 0 && !(needs[i].network && host)) {
			refuse(errs, &value->v[0].from,
			       needs[i].network ? "leave the section out, for no network at all, "
						  "or open all "
						  "of it with mode = \"host\" in [network]"
						: "leave the section out",
			       "%s", needs[i].what);
		}
	}
	return errs->total == before;
}

/* The folder that is granted and holds `path`, and its line. */
static const struct plan_op *grant_of(const struct build *b, size_t n, const char *path)
{
	const struct plan_op *found = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct plan_op *op = &b->plan->ops.v[i];

		if (op->kind == PLAN_BIND && path_within(path, op->path) &&
		    (found == NULL || path_within(op->path, found->path))) {
			found = op;
		}
	}
	return found;
}

static bool is_dot_name(const struct build *b, const char *path)
{
	const char *parent = path_parent(path, b->arena);

	for (size_t i = 0; i < b->facts->write.n; i++) {
		if (str_eq(parent, b->facts->write.v[i].at.real)) {
			for (size_t k = 0; k < DOT_NAMES; k++) {
				if (str_eq(path_base(path), dot_names[k])) {
					return true;
				}
			}
		}
	}
	return false;
}

static void refuse_pin(struct build *b, const struct plan_op *op, const char **said)
{
	const char *parent = build_tilde(b, path_parent(op->path, b->arena));

	if (!is_dot_name(b, op->path)) {
		refuse(b->errs, &op->from,
		       "grant the folders beside it one by one, instead of the one that holds it",
		       "keep %s from being written, since it lies in a folder that is",
		       build_tilde(b, op->path));
	} else if (*said == NULL || !str_eq(*said, parent)) {
		/* The four of one folder once. */
		*said = parent;
		refuse(b->errs, &op->from,
		       arena_printf(
			       b->arena,
			       "let them be written, with write_dot_files = [\"%s\"] in "
			       "[files], and look at them before you use them outside; or write "
			       "a folder further down",
			       parent),
		       "keep .git, .envrc, .vscode and .idea of %s from being written", parent);
	}
}

static void refuse_cover(struct build *b, size_t n, const struct plan_op *op)
{
	bool asked = op->from.file != NULL || op->from.flag != NULL;
	const struct plan_op *grant = grant_of(b, n, op->path);
	const char *shown = build_tilde(b, op->path);

	if (asked && (grant != NULL || build_is_open(b, path_parent(op->path, b->arena)))) {
		refuse(b->errs, &op->from,
		       "grant the folders beside it one by one, instead of the one that holds it",
		       "hide %s, since it lies in a folder that is open", shown);
	} else if (!asked && grant != NULL && (op->flags & PLAN_GUARDED) != 0) {
		refuse(b->errs, &grant->from, "grant the folders that the program needs one by one",
		       "keep Link's own folder %s closed, since it lies in a folder that is open",
		       shown);
	}
}

/* What is not there but for a mount. Sockets need no cover: the filter lets nobody call them. */
static void judge(struct build *b, size_t n)
{
	const char *said = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct plan_op *op = &b->plan->ops.v[i];

		if (op->kind == PLAN_PIN) {
			refuse_pin(b, op, &said);
		} else if (op->kind == PLAN_COVER) {
			refuse_cover(b, n, op);
		}
	}
}

static void allow_system(struct build *b)
{
	static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
					      "/dev/random", "/dev/urandom", "/dev/tty"};
	static const char *const sizes[] = {"/sys/devices/system/cpu",
					    "/sys/kernel/mm/transparent_hugepage",
					    "/sys/kernel/mm/hugepages"};
	const struct facts *f = b->facts;
	unsigned execute = b->plan->commands_listed ? 0 : PLAN_MAY_EXECUTE;

	for (size_t i = 0; i < f->pieces.n; i++) {
		build_allow(b, f->pieces.v[i], LOOK | execute, &nowhere);
	}
	build_allow(b, "/proc", LOOK, &nowhere);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		build_allow(b, sizes[i], LOOK, &nowhere);
	}
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		build_allow(b, devices[i], PLAN_MAY_READ | PLAN_MAY_DEVICE, &nowhere);
	}
	if (b->plan->net.host_mode && f->resolv_conf.real != NULL && f->resolv_conf.exists) {
		build_allow(b, f->resolv_conf.real, PLAN_MAY_READ, &nowhere);
	}
}

/* What is weaker, at every start. */
static void say_difference(struct build *b)
{
	build_note(
		b, &nowhere,
		"without namespaces, Landlock and the system-call filter hold the program alone: "
		"what is closed is there and does not open; it sees the names, sizes and times of "
		"closed files, and other processes with their command lines");
	build_note(
		b, &nowhere,
		"the home, /tmp and /dev/shm are this machine's, and closed: for temporary files "
		"grant a folder in write and pass it with --env TMPDIR=FOLDER");
	build_note(
		b, &nowhere,
		b->plan->net.host_mode
			? "Unix sockets are closed, also the program's own"
			: "there is no network at all, not even a loopback of the program's own, "
			  "and no Unix sockets");
	if (b->plan->commands_listed) {
		build_note(
			b, &b->spec->value[SPEC_COMMANDS_ALLOW].from,
			"a listed program can start an unlisted one that it may read through the "
			"dynamic loader; the folders of programs are closed but for what is "
			"listed");
	}
}

static void check_kernel(struct build *b)
{
	const struct kernel_facts *k = &b->facts->kernel;

	if (k->landlock_abi >= PLAN_ABI_WITH_SCOPES) {
		return;
	}
	struct err *err = err_list_next(b->errs);
	if (k->landlock_abi < 1) {
		err_set(err, ERR_SETUP, k->landlock_errno, "this kernel offers no Landlock");
		kernel_explain("landlock", k->landlock_errno, err->hint, sizeof(err->hint));
		return;
	}
	err_set(err, ERR_SETUP, 0,
		"--without-namespaces needs Landlock's ABI 6 (Linux 6.12), and this kernel has "
		"ABI %d: the program could end your other processes",
		k->landlock_abi);
	err_hint(err, "use a newer kernel, or run with namespaces; `lnk sandbox doctor` tells what "
		      "keeps them away");
}

void build_bare(struct build *b)
{
	struct plan *plan = b->plan;

	check_kernel(b);
	build_files(b);
	build_commands(b);
	size_t n = plan->ops.n;
	judge(b, n);
	allow_system(b);
	build_rights_of_grants(b, n);
	/* Only rights are left of the operations. */
	struct plan rights = {.bare = true};
	for (size_t i = n; i < plan->ops.n; i++) {
		ARENA_PUSH(b->arena, &rights.ops, plan->ops.v[i]);
	}
	plan->ops.v = rights.ops.v;
	plan->ops.n = rights.ops.n;
	plan->ops.cap = rights.ops.cap;
	if (b->errs->total == 0) {
		say_difference(b);
	}
}
