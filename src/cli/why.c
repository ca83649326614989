/* lnk sandbox why: may it? The answer is tried in a sandbox of that spec, so that it is the
 * kernel's or the gate's; the plan only tells which line decides. */
#include "base/fd.h"
#include "base/str.h"
#include "cli/brokers.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/why_call.h"
#include "cli/why_inner.h"
#include "confine/confine.h"
#include "confine/placeholder.h"
#include "plan/refuse.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

static const struct {
	const char *word;
	enum trial_kind kind;
} verbs[] = {
	{"read", TRIAL_READ},
	{"write", TRIAL_WRITE},
	{"run", TRIAL_RUN},
	{"call", TRIAL_CALL},
};

static bool usage(struct why *w, const char *msg, const char *hint)
{
	struct err *err = err_list_next(w->errs);

	err_set(err, ERR_USAGE, 0, "%s", msg);
	return err_hint(err, "%s", hint);
}

static bool failed(struct why *w, const struct err *failure)
{
	*err_list_next(w->errs) = *failure;
	return false;
}

/* --- words ---------------------------------------------------------------------------------- */

static bool take_flag(struct why *w, int argc, char **argv, int *i)
{
	struct spec_flag key;
	struct err failure;
	bool bad = false;

	if (spec_flag_take(argc, argv, i, &key, &bad, &failure) != SPEC_KEY_COUNT) {
		ARENA_PUSH(&w->arena, &w->keys, key);
		return true;
	}
	if (bad) {
		return failed(w, &failure);
	}
	if (str_eq(argv[*i], "--help") || str_eq(argv[*i], "-h")) {
		w->help = true;
		return true;
	}
	if (str_eq(argv[*i], "--json")) {
		w->json = true;
		return true;
	}
	if (str_starts(argv[*i], "--spec=")) {
		w->spec_file = argv[*i] + strlen("--spec=");
		return true;
	}
	if (str_eq(argv[*i], "--spec") && *i + 1 < argc) {
		w->spec_file = argv[++*i];
		return true;
	}
	return usage(w,
		     arena_printf(&w->arena,
				  "lnk sandbox why has no flag %s, or it lacks its value",
				  argv[*i]),
		     "see `lnk sandbox why --help`");
}

static bool parse(struct why *w, int argc, char **argv)
{
	bool operands = false;

	for (int i = 0; i < argc; i++) {
		if (!operands && str_eq(argv[i], "--")) {
			operands = true;
		} else if (operands || argv[i][0] != '-') {
			ARENA_PUSH(&w->arena, &w->words, argv[i]);
		} else if (!take_flag(w, argc, argv, &i)) {
			return false;
		}
	}
	if (!w->help && (w->words.n != 2 || w->words.v[1][0] == '\0')) {
		return usage(w, "lnk sandbox why needs read, write, run or call, and one thing",
			     "lnk sandbox why --spec app.toml read ~/.gitconfig");
	}
	return true;
}

static const char *absolute(struct why *w, const char *path)
{
	const char *home = w->machine.home.name;

	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/')) {
		path = arena_printf(&w->arena, "%s%s", home, path + 1);
	}
	return value_join(w->machine.cwd.name, path, &w->arena);
}

static bool read_question(struct why *w)
{
	const char *thing = w->words.v[1];
	size_t i = 0;

	while (i < ARRAY_LEN(verbs) && !str_eq(verbs[i].word, w->words.v[0])) {
		i++;
	}
	if (i == ARRAY_LEN(verbs)) {
		return usage(
			w, arena_printf(&w->arena, "nothing can be asked by \"%s\"", w->words.v[0]),
			"ask by read, write, run or call");
	}
	w->verb = verbs[i].word;
	w->thing = thing;
	if (verbs[i].kind == TRIAL_CALL) {
		return why_call_read(thing, &w->arena, &w->trial) ||
		       usage(w, arena_printf(&w->arena, "\"%s\" is no host to call", thing),
			     "write HOST, HOST:PORT, or an address that begins with https:// or "
			     "http://");
	}
	bool name = verbs[i].kind == TRIAL_RUN && strchr(thing, '/') == NULL;
	w->trial = (struct trial){.kind = verbs[i].kind, .what = name ? thing : absolute(w, thing)};
	return strlen(w->trial.what) < PATH_MAX ||
	       usage(w, "this path is longer than any can be", "ask for a shorter one");
}

/* --- the sandbox ---------------------------------------------------------------------------- */

static bool read_spec(struct why *w)
{
	struct err failure;

	if (!machine_read(environ, &w->arena, &w->machine, &failure)) {
		return failed(w, &failure);
	}
	placeholders_sweep(w->machine.state_folder);
	struct spec_input input = {
		.file = w->spec_file,
		.cwd = w->machine.cwd.name,
		.home = w->machine.home.name,
		.os = SPEC_OS_LINUX,
		.flags = w->keys.v,
		.nflags = w->keys.n,
	};
	return spec_read(&input, &w->arena, &w->spec, w->errs) &&
	       (w->spec.file == NULL || refuse_check(&w->spec, &w->machine, &w->arena, w->errs));
}

/* A gate that judges and dials nowhere; only for a call. */
static bool start_gate(struct why *w)
{
	struct err failure;

	net_plan_make(&w->spec, &w->arena, &w->net);
	w->net.gate = w->net.gate && !w->net.host_mode && w->trial.kind == TRIAL_CALL;
	if (!w->net.gate) {
		return true;
	}
	w->said_fd = memfd_create("lnk-why", MFD_CLOEXEC);
	if (w->said_fd < 0 || fcntl(w->said_fd, F_SETFL, O_APPEND) < 0) {
		err_set(&failure, ERR_SETUP, errno, "cannot listen to the gate");
		return failed(w, &failure);
	}
	struct gate_config config = {
		.plan = &w->net, .log_fd = w->said_fd, .envp = environ, .ask = true};
	return gate_start(&config, &w->gate, &failure) || failed(w, &failure);
}

static bool make_plan(struct why *w)
{
	struct err failure;

	if (!brokers_read(&w->spec, &w->machine, environ, &w->arena, &w->brokers, w->errs)) {
		return false;
	}
	struct facts_wanted wanted = {.program = NULL};
	struct plan_options options = {.net = &w->net,
				       .shim = w->brokers.shim,
				       .shims = w->brokers.shims.v,
				       .nshims = w->brokers.shims.n};
	if (!facts_gather(&w->spec, &w->machine, &wanted, &w->arena, &w->facts, &failure)) {
		return failed(w, &failure);
	}
	return plan_make(&w->spec, &w->facts, &options, &w->arena, &w->plan, w->errs);
}

/* Sets the sandbox up and tries. *ret_status: 0 for yes, or as in trial.h. False: lnk failed. */
static bool try_it(struct why *w, int *ret_status)
{
	struct confine_result result = {.status = 0};
	struct err failure;
	const char *argv[] = {w->trial.what, NULL};
	char *none[] = {NULL};
	const int of_gate[] = {w->gate.control, w->gate.pidfd, w->gate.door};
	int outside[5] = {w->said_fd};
	size_t n = w->said_fd >= 0 ? 1 : 0;

	if (!brokers_start(&w->brokers, -1, of_gate, w->gate.pid > 0 ? ARRAY_LEN(of_gate) : 0,
			   &failure)) {
		return failed(w, &failure);
	}
	if (w->gate.pid > 0) {
		outside[n++] = w->gate.control;
		outside[n++] = w->gate.pidfd;
	}
	if (w->brokers.client.pid > 0) {
		outside[n++] = w->brokers.client.control;
		outside[n++] = w->brokers.client.pidfd;
	}
	struct confine_config config = {
		.plan = &w->plan,
		.machine = &w->machine,
		.landlock_abi = w->facts.kernel.landlock_abi,
		.argv = (char *const *)(uintptr_t)argv,
		.envp = none,
		.path = w->brokers.shims.n > 0
				? arena_printf(&w->arena, PLAN_SHIMS ":%s", w->machine.path)
				: w->machine.path,
		.door = w->gate.pid > 0 ? w->gate.door : -1,
		.broker = w->brokers.client.pid > 0 ? w->brokers.client.door : -1,
		.late = -1,
		.outside_fds = outside,
		.noutside_fds = n,
		.trial = &w->trial,
	};
	bool ok = confine_run(&config, &result, &failure);
	free(result.notes);
	w->gate.door = -1;
	w->brokers.client.door = -1;
	*ret_status = ok && w->trial.kind == TRIAL_RUN ? 0 : result.status;
	if (!ok && w->trial.kind == TRIAL_RUN &&
	    (failure.code == ERR_NOT_FOUND || failure.code == ERR_NOT_PERMITTED)) {
		*ret_status = failure.sys != 0 ? failure.sys : ENOENT;
		return true;
	}
	if (!ok && failure.code == ERR_GATE) {
		(void)gate_failed(&w->gate, &failure);
	}
	return ok || failed(w, &failure);
}

static void end(struct why *w)
{
	static struct gate_report gate;
	static struct broker_report broker;
	bool died;

	broker_finish(&w->brokers.client, &broker, &died);
	if (w->gate.pid > 0) {
		gate_finish(&w->gate, &gate, &died);
	}
}

/* False: the trial gave no answer, and `errs` tells why. */
static bool can_answer(struct why *w, int status)
{
	struct err failure;

	if (status == TRIAL_PIPE) {
		err_set(&failure, ERR_USAGE, 0,
			"%s is a pipe or a socket: to try it would be felt at its other end",
			w->thing);
		err_hint(&failure, "ask for the folder that it lies in");
		return failed(w, &failure);
	}
	if (status > TRIAL_OTHER) {
		err_set(&failure, ERR_SETUP, 0, "the trial of %s was ended by signal %d", w->thing,
			status - 128);
		return failed(w, &failure);
	}
	return true;
}

/* A bad spec and a bad question are told apart from what lnk could not do. */
static int failure_status(const struct err_list *errs)
{
	bool user = errs->n > 0 && (errs->v[0].code == ERR_USAGE || errs->v[0].code == ERR_SPEC);

	return user ? EXIT_USAGE : EXIT_LNK;
}

static int ask(struct why *w)
{
	int status = 0;

	if (!read_spec(w) || !read_question(w)) {
		return failure_status(w->errs);
	}
	net_plan_make(&w->spec, &w->arena, &w->net);
	if (w->net.host_mode && w->trial.kind == TRIAL_CALL) {
		return why_answer_host_mode(w);
	}
	bool ok = start_gate(w) && make_plan(w) && try_it(w, &status);
	end(w);
	if (!ok || !can_answer(w, status)) {
		return failure_status(w->errs);
	}
	return w->trial.kind == TRIAL_CALL ? why_answer_call(w, status) : why_answer(w, status);
}

int cli_why(int argc, char **argv, struct err_list *errs)
{
	/* Not on the stack: as in run. */
	static struct why w;
	int result = EXIT_OK;

	w = (struct why){.errs = errs, .said_fd = -1};
	if (!parse(&w, argc, argv)) {
		result = failure_status(errs);
	} else if (w.help) {
		cli_help("why");
	} else {
		result = ask(&w);
	}
	fd_close(&w.said_fd);
	arena_release(&w.arena);
	return result;
}
