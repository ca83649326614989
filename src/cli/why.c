/* lnk sandbox why: may it? The answer is tried in a sandbox of that spec, so that it is the
 * kernel's or the gate's; the plan only tells which line decides. */
#include "base/fd.h"
#include "base/str.h"
#include "cli/brokers.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/why_call.h"
#include "confine/confine.h"
#include "confine/placeholder.h"
#include "gate/client.h"
#include "plan/explain.h"
#include "plan/refuse.h"
#include "spec/values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

#define EXIT_NO 1

struct why {
	struct arena arena;
	struct err_list *errs;
	const char *spec_file;
	FACT_LIST(struct spec_flag) keys;
	FACT_LIST(const char *) words;
	bool help;
	const char *thing; /* as given */
	struct trial trial;
	struct spec spec;
	struct machine machine;
	struct facts facts;
	struct plan plan;
	struct net_plan net;
	struct gate_client gate;
	struct brokers brokers;
	int said_fd; /* what the gate decides; -1 */
};

static const struct {
	const char *word;
	const char *doing;
	enum trial_kind kind;
	enum explain_access access;
} verbs[] = {
	{"read", "read", TRIAL_READ, EXPLAIN_READ},
	{"write", "write", TRIAL_WRITE, EXPLAIN_WRITE},
	{"run", "run", TRIAL_RUN, EXPLAIN_RUN},
	{"call", "call", TRIAL_CALL, EXPLAIN_READ},
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
	if (str_starts(argv[*i], "--spec=")) {
		w->spec_file = argv[*i] + strlen("--spec=");
		return true;
	}
	if (str_eq(argv[*i], "--spec") && *i + 1 < argc) {
		w->spec_file = argv[++*i];
		return true;
	}
	return usage(w,
		     arena_printf(&w->arena, "lnk sandbox why has no flag %s, or it lacks its value",
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
		return usage(w, arena_printf(&w->arena, "nothing can be asked by \"%s\"",
					     w->words.v[0]),
			     "ask by read, write, run or call");
	}
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
	       (w->spec.file == NULL ||
		refuse_check(&w->spec, &w->machine, &w->arena, w->errs));
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

/* --- the answer ----------------------------------------------------------------------------- */

static void print(struct why *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print(struct why *w, const char *fmt, ...)
{
	char text[4096];
	char safe[sizeof(text) * 2];
	va_list ap;

	(void)w;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	puts(str_printable(text, safe, sizeof(safe)));
}

static void print_line(struct why *w, const struct origin *from, const char *why)
{
	if (from != NULL && from->file != NULL) {
		print(w, "%s:%u: %s", from->file, from->line, why);
	} else if (from != NULL && from->flag != NULL) {
		print(w, "%s: %s", from->flag, why);
	} else {
		print(w, "%s", why);
	}
}

static const char *verb_of(enum trial_kind kind)
{
	return verbs[kind].doing;
}

/* `#!/usr/bin/env node`: the kernel starts env, and env does not find node. */
static void print_interpreter(struct why *w, const struct explain *e,
			      const struct program_fact *p)
{
	struct explained x;

	if (!w->plan.commands_listed || p->script_arg_real == NULL ||
	    explain_lists(e, p->script_arg_real)) {
		return;
	}
	explain_path(e, EXPLAIN_RUN, false, p->script_arg_real, &x);
	print(w, "but it is a script for %s, which is not in allow; %s", p->script_arg, x.hint);
}

static int answer_path(struct why *w, int status)
{
	const struct explain e = {&w->spec, &w->facts, &w->plan, &w->arena};
	struct program_fact program = {.item = NULL};
	const char *path = w->trial.what;
	struct explained x;
	bool yes = status == 0;

	if (w->trial.kind == TRIAL_RUN) {
		program_look_up(path, &w->machine, &w->arena, &program);
		path = program.found ? program.at.name : path;
	}
	print(w, "%s: %s %s%s%s%s", yes ? "yes" : "no", verb_of(w->trial.kind), w->thing,
	      yes ? "" : " (", yes ? "" : strerror(status), yes ? "" : ")");
	if (path[0] != '/') {
		print(w, yes ? "it stands for a tool or a page of yours, which lnk runs outside"
			     : "no folder of PATH has such a program");
		return yes ? EXIT_OK : EXIT_NO;
	}
	explain_path(&e, verbs[w->trial.kind].access, yes, path, &x);
	print_line(w, x.from, x.why);
	if (!yes && x.hint != NULL) {
		print(w, "hint: %s", x.hint);
	}
	if (yes && w->trial.kind == TRIAL_RUN) {
		print_interpreter(w, &e, &program);
	}
	return yes ? EXIT_OK : EXIT_NO;
}

static int answer_call(struct why *w, int status)
{
	const struct explain e = {&w->spec, &w->facts, &w->plan, &w->arena};
	struct gate_said said = {.allowed = false};
	const char *port = arena_printf(&w->arena, "port %u", (unsigned)w->trial.port);

	if (w->said_fd >= 0 && why_call_said(w->said_fd, &w->arena, &said)) {
		print(w, "%s: call %s, %s", said.allowed ? "yes" : "no", w->thing, port);
		if (said.allowed) {
			print(w, "%s: [%s] opens it; nothing was called to find out",
			      said.line != NULL ? said.line : "flags", said.section);
			return EXIT_OK;
		}
		print(w, "%s", said.why != NULL ? said.why : "the gate refuses it");
		if (said.hint != NULL) {
			print(w, "hint: %s", said.hint);
		}
		return EXIT_NO;
	}
	print(w, "no: call %s, %s", w->thing, port);
	if (w->said_fd < 0) {
		print(w, "no section opens the network (%s)", strerror(status));
		print(w, "hint: %s", why_call_add(&e, &w->trial));
	} else if (status == TRIAL_NO_NAME) {
		print(w, "a line grants this name, but nobody here knows an address of it");
	} else {
		print(w, "the gate gave no answer");
	}
	return EXIT_NO;
}

static int answer(struct why *w, int status)
{
	struct err failure;

	if (status == TRIAL_PIPE || status > TRIAL_OTHER) {
		err_set(&failure, ERR_SETUP, 0,
			status == TRIAL_PIPE
				? "%s is a pipe or a socket, which cannot be tried in secret"
				: "the trial of %s was ended",
			w->thing);
		failed(w, &failure);
		return EXIT_LNK;
	}
	return w->trial.kind == TRIAL_CALL ? answer_call(w, status) : answer_path(w, status);
}

/* With mode = "host" there is nothing to be asked. */
static int answer_host_mode(struct why *w)
{
	print(w, "yes: call %s, port %u", w->thing, (unsigned)w->trial.port);
	print_line(w, &w->spec.value[SPEC_NETWORK_MODE].v[0].from,
		   "the network is this machine's own, and nothing is filtered");
	return EXIT_OK;
}

int cli_why(int argc, char **argv, struct err_list *errs)
{
	/* Not on the stack: as in run. */
	static struct why w;
	int status = 0;
	int result = EXIT_LNK;

	w = (struct why){.errs = errs, .said_fd = -1};
	if (parse(&w, argc, argv) && w.help) {
		cli_help("why");
		result = EXIT_OK;
	} else if (errs->total == 0 && read_spec(&w) && read_question(&w)) {
		net_plan_make(&w.spec, &w.arena, &w.net);
		if (w.net.host_mode && w.trial.kind == TRIAL_CALL) {
			result = answer_host_mode(&w);
		} else if (start_gate(&w) && make_plan(&w)) {
			bool ok = try_it(&w, &status);

			end(&w);
			result = ok ? answer(&w, status) : EXIT_LNK;
		}
	}
	end(&w);
	fd_close(&w.said_fd);
	arena_release(&w.arena);
	return result;
}
