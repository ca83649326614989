/* lnk sandbox run: words to spec, spec to plan, plan to confinement; one direction. */
#include "cli/run.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/brokers.h"
#include "cli/cli.h"
#include "cli/env.h"
#include "cli/flags.h"
#include "cli/log.h"
#include "cli/notes.h"
#include "cli/report.h"
#include "confine/confine.h"
#include "confine/placeholder.h"
#include "confine/program.h"
#include "gate/client.h"
#include "plan/plan.h"
#include "plan/refuse.h"
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* In the order of flags_at(FLAGS_OF_RUN). */
enum run_flag {
#define FLAG(id, ...) RUN_##id,
#include "cli/flags.def"
#undef FLAG
	RUN_FLAG_COUNT
};

struct run {
	struct arena arena;
	struct err_list *errs;
	const char *spec_file;
	struct run_keys keys;
	FACT_LIST(const char *) env;
	int fds[PROGRAM_KEEP_MAX];
	size_t nfds;
	bool given[RUN_FLAG_COUNT];
	char **program;  /* argv of the program */
	const char *log; /* --log */
	int log_fd;      /* its file; -1: none */
	struct net_plan net;
	struct gate_client gate;
	struct brokers brokers;
	struct spec spec;
	struct machine machine;
	struct facts facts;
	struct plan plan;
	struct report report;
	const struct run_watch *watch; /* NULL: a plain run */
};

static bool usage(struct run *r, const char *flag, const char *msg, const char *hint)
{
	const struct origin from = {.flag = flag};
	struct err *err = err_list_next(r->errs);

	err_set(err, ERR_USAGE, 0, "%s", msg);
	err_hint(err, "%s", hint);
	return err_at(err, &from);
}

static bool keep_fd(struct run *r, const char *value)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (end == value || *end != '\0' || n < 0 || n > 1 << 20 || fcntl((int)n, F_GETFD) < 0) {
		return usage(r, "--fd", arena_printf(&r->arena, "%s is no open descriptor", value),
			     "write the number of a descriptor that is open, such as --fd 3");
	}
	if (r->nfds == PROGRAM_KEEP_MAX) {
		return usage(r, "--fd", "too many descriptors", "keep 64 at most");
	}
	if (n > 2) {
		r->fds[r->nfds++] = (int)n;
	}
	return true;
}

/* PORT or PORT:HOSTPORT. */
static bool publish(struct run *r, const char *value)
{
	char *end;
	unsigned long port[2];

	port[0] = value[0] >= '0' && value[0] <= '9' ? strtoul(value, &end, 10) : 0;
	port[1] = port[0];
	if (port[0] != 0 && end[0] == ':') {
		port[1] = end[1] >= '0' && end[1] <= '9' ? strtoul(end + 1, &end, 10) : 0;
	}
	if (port[0] - 1 > 65534 || port[1] - 1 > 65534 || *end != '\0') {
		return usage(r, "--publish", arena_printf(&r->arena, "%s names no port", value),
			     "write --publish 8080, or --publish 8080:9090 to be called at 9090");
	}
	struct net_publish p = {(uint16_t)port[0], (uint16_t)port[1]};
	ARENA_PUSH(&r->arena, &r->net.publish, p);
	return true;
}

/* What a run that is watched decides itself. */
static bool is_watchers(enum run_flag flag)
{
	return flag == RUN_SPEC || flag == RUN_DRY_RUN || flag == RUN_LOG || flag == RUN_REPORT ||
	       flag == RUN_WITHOUT_NAMESPACES;
}

static bool run_flag(struct run *r, enum run_flag flag, const char *value)
{
	if (r->watch != NULL && is_watchers(flag)) {
		return usage(r, NULL,
			     "learn takes no --spec, --dry-run, --log, --report or "
			     "--without-namespaces",
			     "it watches by itself, and writes what it saw to the file of -o");
	}
	r->given[flag] = true;
	if (flag == RUN_SPEC) {
		r->spec_file = value;
	} else if (flag == RUN_ENV) {
		ARENA_PUSH(&r->arena, &r->env, value);
	} else if (flag == RUN_LOG) {
		r->log = value;
	} else if (flag == RUN_PUBLISH) {
		return publish(r, value);
	} else if (flag == RUN_FD) {
		return keep_fd(r, value);
	}
	return true;
}

/* A flag of run that is no key of a spec: "--flag value" or "--flag=value". Advances *i. */
static bool parse_run_flag(struct run *r, int argc, char **argv, int *i)
{
	char *word = argv[*i];
	size_t len = strcspn(word, "=");
	const char *name = arena_strndup(&r->arena, word, len);
	const char *value = word[len] == '=' ? word + len + 1 : NULL;
	struct flag_view flag;
	size_t id = 0;

	while (flags_at(FLAGS_OF_RUN, id, &flag) && !str_eq(flag.name, name)) {
		id++;
	}
	if (id == RUN_FLAG_COUNT) {
		return usage(r, name, "there is no such flag", "see `lnk sandbox run --help`");
	}
	if (flag.metavar == NULL) {
		return value == NULL
			       ? run_flag(r, (enum run_flag)id, NULL)
			       : usage(r, name, "this flag takes no value", "leave the value out");
	}
	if (value == NULL && *i + 1 >= argc) {
		return usage(r, name, "this flag needs a value",
			     arena_printf(&r->arena, "write %s %s", name, flag.metavar));
	}
	if (r->given[id] && !flag.repeatable) {
		return usage(r, name, "this flag is given twice", "give it once");
	}
	return run_flag(r, (enum run_flag)id, value != NULL ? value : argv[++*i]);
}

static bool parse_flag(struct run *r, int argc, char **argv, int *i)
{
	struct spec_flag key;
	struct err failure;
	bool bad = false;

	if (spec_flag_take(argc, argv, i, &key, &bad, &failure) != SPEC_KEY_COUNT) {
		ARENA_PUSH(&r->arena, &r->keys, key);
		return true;
	}
	if (bad) {
		*err_list_next(r->errs) = failure;
		return false;
	}
	return parse_run_flag(r, argc, argv, i);
}

static bool parse(struct run *r, int argc, char **argv)
{
	int i = 0;

	for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
		if (str_eq(argv[i], "--")) {
			i++;
			break;
		}
		if (str_eq(argv[i], "-h")) {
			r->given[RUN_HELP] = true;
			continue;
		}
		if (!parse_flag(r, argc, argv, &i)) {
			return false;
		}
	}
	r->program = argv + i;
	if (!r->given[RUN_HELP] && (i >= argc || argv[i][0] == '\0')) {
		return usage(r, NULL, "no program was given",
			     "lnk sandbox run --spec app.toml -- PROGRAM [ARGUMENT...]");
	}
	return true;
}

static bool read_spec(struct run *r)
{
	struct err *err;
	struct err failure;

	if (!machine_read(environ, &r->arena, &r->machine, &failure)) {
		err = err_list_next(r->errs);
		*err = failure;
		return false;
	}
	/* What killed runs left goes before anything is looked at: it would be taken for real. */
	if (!r->given[RUN_DRY_RUN]) {
		placeholders_sweep(r->machine.state_folder);
	}
	if (r->watch != NULL && !r->watch->prepare(&r->machine, &r->keys, r->watch->context)) {
		return false;
	}
	struct spec_input input = {
		.file = r->spec_file,
		.cwd = r->machine.cwd.name,
		.home = r->machine.home.name,
		.os = SPEC_OS_LINUX,
		.flags = r->keys.v,
		.nflags = r->keys.n,
	};
	return spec_read(&input, &r->arena, &r->spec, r->errs) &&
	       (r->spec.file == NULL || refuse_check(&r->spec, &r->machine, &r->arena, r->errs));
}

/* What --without-namespaces has no way to do, before anything is started for it. */
static bool check_bare(struct run *r)
{
	static const struct {
		enum run_flag flag;
		const char *name;
		const char *why;
	} never[] = {
		{RUN_KEEP_HOME, "--keep-home", "there is no private home without namespaces"},
		{RUN_PUBLISH, "--publish", "there is no gate without namespaces"},
		{RUN_LOG, "--log", "there is no gate without namespaces that could write it"},
		{RUN_REPORT, "--report", "without namespaces nobody watches the program"},
		{RUN_USER_NAMESPACES, "--user-namespaces", "they are what is done without"},
	};

	if (!r->given[RUN_WITHOUT_NAMESPACES]) {
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(never); i++) {
		if (r->given[never[i].flag]) {
			return usage(r, never[i].name, never[i].why,
				     "leave it out, or --without-namespaces");
		}
	}
	return plan_bare_fits(&r->spec, r->errs);
}

static bool open_log(struct run *r)
{
	struct err failure;

	r->log_fd = -1;
	if (r->watch != NULL) {
		r->log_fd = r->watch->calls_fd;
		return true;
	}
	if (r->log == NULL || r->given[RUN_DRY_RUN]) {
		return true;
	}
	if (r->net.host_mode && !r->given[RUN_REPORT] && r->spec.value[SPEC_TOOLS_NAMES].n == 0 &&
	    r->spec.value[SPEC_BROWSER_HOSTS].n == 0) {
		return usage(r, "--log", "calls are not seen with the network of this machine",
			     "leave it out, or take out network.mode and name the hosts");
	}
	r->log_fd = log_open(r->log, &r->spec, &r->machine, &r->arena, &failure);
	if (r->log_fd < 0) {
		*err_list_next(r->errs) = failure;
	}
	return r->log_fd >= 0;
}

/* The gate reads the plan and loads its libraries while the rest of the machine is looked at. */
static bool start_gate(struct run *r)
{
	struct net_plan net;
	struct err failure;

	net_plan_make(&r->spec, &r->arena, &net);
	net.publish.v = r->net.publish.v;
	net.publish.n = r->net.publish.n;
	net.gate = !net.host_mode && (net.gate || net.publish.n > 0 || r->watch != NULL);
	r->net = net;
	if (!open_log(r)) {
		return false;
	}
	if (!net.gate || r->given[RUN_DRY_RUN] || r->given[RUN_WITHOUT_NAMESPACES]) {
		return true;
	}
	struct gate_config config = {.plan = &r->net, .log_fd = r->log_fd, .envp = environ};
	if (!gate_start(&config, &r->gate, &failure)) {
		*err_list_next(r->errs) = failure;
		return false;
	}
	return true;
}

/* Makes every missing folder of an absolute path, 0700. */
static bool make_folders(const char *path, struct arena *arena)
{
	char *p = arena_strdup(arena, path);

	for (char *s = strchr(p + 1, '/'); s != NULL; s = strchr(s + 1, '/')) {
		*s = '\0';
		if (mkdir(p, 0700) < 0 && errno != EEXIST) {
			return false;
		}
		*s = '/';
	}
	return mkdir(p, 0700) == 0 || errno == EEXIST;
}

/* The folder that keeps the home of this spec's name; NULL where none is wanted. */
static bool kept_home(struct run *r, const char **ret_folder)
{
	const struct spec_value *name = &r->spec.value[SPEC_NAME];
	struct path_info at;
	struct err failure;

	if (!r->given[RUN_KEEP_HOME]) {
		*ret_folder = NULL;
		return true;
	}
	if (!name->set) {
		return usage(r, "--keep-home", "the spec has no name to keep a home by",
			     "add to the spec's top: name = \"app\"");
	}
	const char *text = name->v[0].text;
	if (text[0] == '.' || strlen(text) > 100 ||
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			      "._-")] != '\0') {
		return usage(r, "--keep-home", "the spec's name cannot name a folder",
			     "use letters, digits, \".\", \"_\" and \"-\" in name, 100 at most");
	}
	const char *folder = arena_printf(&r->arena, "%s/homes/%s", r->machine.state_folder, text);
	if (!make_folders(folder, &r->arena) || !resolve_path(folder, &r->arena, &at, &failure) ||
	    !at.exists) {
		return usage(r, "--keep-home",
			     arena_printf(&r->arena, "cannot make %s: %s", folder, strerror(errno)),
			     "make that folder writable for you");
	}
	*ret_folder = at.real;
	return true;
}

/* A descriptor of a folder would lead out of the sandbox: `..` is looked up from where it was
 * opened, and neither mounts nor Landlock stand in the way of every call. */
static bool check_descriptors(struct run *r)
{
	struct stat st;

	for (size_t i = 0; i < 3 + r->nfds; i++) {
		int fd = i < 3 ? (int)i : r->fds[i - 3];
		int flags = fcntl(fd, F_GETFL);

		if (flags >= 0 && fstat(fd, &st) == 0 &&
		    (S_ISDIR(st.st_mode) || (flags & O_PATH) != 0)) {
			return usage(
				r, i < 3 ? NULL : "--fd",
				arena_printf(&r->arena,
					     "descriptor %d is a folder or names a "
					     "file without opening it",
					     fd),
				"such a descriptor leads out of the sandbox: pass an open file, "
				"pipe or socket, or close it");
		}
	}
	return true;
}

/* PROGRAM may be a shim, which is not on this machine's PATH, or not as the same file. */
static bool is_shim(const struct run *r)
{
	for (size_t i = 0; i < r->brokers.shims.n; i++) {
		if (str_eq(r->brokers.shims.v[i].name, r->program[0])) {
			return true;
		}
	}
	return false;
}

static bool make_plan(struct run *r)
{
	struct err failure;

	if (!check_descriptors(r) ||
	    !brokers_read(&r->spec, &r->machine, environ, &r->arena, &r->brokers, r->errs)) {
		return false;
	}
	const char *program = is_shim(r) ? NULL : r->program[0];
	bool bare = r->given[RUN_WITHOUT_NAMESPACES];
	struct facts_wanted wanted = {.program = program, .bare = bare};
	struct plan_options options = {.program = program,
				       .user_namespaces = r->given[RUN_USER_NAMESPACES],
				       .bare = bare,
				       .net = &r->net,
				       .shim = r->brokers.shim,
				       .shims = r->brokers.shims.v,
				       .nshims = r->brokers.shims.n};
	if (!kept_home(r, &options.kept_home)) {
		return false;
	}
	if (!facts_gather(&r->spec, &r->machine, &wanted, &r->arena, &r->facts, &failure)) {
		*err_list_next(r->errs) = failure;
		return false;
	}
	return plan_make(&r->spec, &r->facts, &options, &r->arena, &r->plan, r->errs);
}

/* Without its gate a run does not start: what the gate has to say is the reason. */
static void gate_explain(struct run *r, struct err *failure)
{
	if (failure->code == ERR_GATE) {
		(void)gate_failed(&r->gate, failure);
	}
}

/* Asked for: so told even when quiet. */
static void tell_report(struct run *r, bool lost)
{
	const struct explain explain = explain_begin(&r->spec, &r->facts, &r->plan, &r->arena);

	notes_of_log(report_tell(&r->report, &explain, r->log_fd, lost));
}

static bool start(struct run *r, int *ret_status)
{
	struct confine_result result;
	struct err failure;
	char **envp;
	struct env_config env = {.outside = environ,
				 .wanted = r->env.v,
				 .nwanted = r->env.n,
				 .plan = &r->plan,
				 .shims = r->brokers.shims.n > 0,
				 .browser = r->brokers.browser};

	if (!env_make(&env, &r->arena, &envp, &failure)) {
		*err_list_next(r->errs) = failure;
		return false;
	}
	const int of_gate[] = {r->gate.control, r->gate.pidfd, r->gate.door};
	if (!brokers_start(&r->brokers, r->log_fd, of_gate,
			   r->gate.pid > 0 ? ARRAY_LEN(of_gate) : 0, &failure)) {
		*err_list_next(r->errs) = failure;
		return false;
	}
	int outside[5];
	size_t noutside = 0;
	const struct broker_client *broker = &r->brokers.client;
	if (r->gate.pid > 0) {
		outside[noutside++] = r->gate.control;
		outside[noutside++] = r->gate.pidfd;
	}
	if (broker->pid > 0) {
		outside[noutside++] = broker->control;
		outside[noutside++] = broker->pidfd;
	}
	if (r->log_fd >= 0) {
		outside[noutside++] = r->log_fd;
	}
	struct confine_config config = {
		.plan = &r->plan,
		.machine = &r->machine,
		.landlock_abi = r->facts.kernel.landlock_abi,
		.argv = r->program,
		.envp = envp,
		.path = r->brokers.shims.n > 0
				? arena_printf(&r->arena, PLAN_SHIMS ":%s", r->machine.path)
				: r->machine.path,
		.keep_fds = r->fds,
		.nkeep_fds = r->nfds,
		.door = r->gate.pid > 0 ? r->gate.door : -1,
		.broker = broker->pid > 0 ? broker->door : -1,
		.late = -1,
		.outside_fds = outside,
		.noutside_fds = noutside,
		.refused = r->given[RUN_REPORT] || r->watch != NULL ? report_add : NULL,
		.starts = r->watch != NULL,
		.context = &r->report,
	};
	r->report = (struct report){.plan = &r->plan, .arena = &r->arena};
	if (!r->given[RUN_QUIET]) {
		notes_at_start(&r->plan, environ, &r->facts);
	}
	bool ok = confine_run(&config, &result, &failure);
	r->gate.door = -1; /* closed by confine_run */
	r->brokers.client.door = -1;
	notes_to_look_at(&result);
	if (!ok) {
		gate_explain(r, &failure);
		*err_list_next(r->errs) = failure;
	} else if (!r->given[RUN_QUIET]) {
		notes_at_exit(&result);
	}
	if (ok && r->given[RUN_REPORT]) {
		tell_report(r, result.trace_lost);
	}
	*ret_status = result.status;
	return ok;
}

/* What was refused is told at the end, unless that is not wanted. */
static bool is_told(const struct run *r)
{
	return (!r->given[RUN_QUIET] && r->watch == NULL) || r->given[RUN_REPORT];
}

/* What the gate refused, for the user to see which line to add. */
static void end_gate(struct run *r, bool started)
{
	static struct gate_report report;
	bool died;

	if (r->gate.pid <= 0) {
		return;
	}
	gate_finish(&r->gate, &report, &died);
	if (started && (died || is_told(r))) {
		notes_of_gate(&report, died);
	}
	notes_of_log(report.lost);
}

/* The same of the broker: of tools and pages. */
static void end_broker(struct run *r, bool started)
{
	static struct broker_report report;
	bool died;

	broker_finish(&r->brokers.client, &report, &died);
	if (started && (died || is_told(r))) {
		notes_of_broker(&report, died);
	}
}

/* What kind of failure it was, for callers who tell lnk's own from the program's: 2 may be the
 * program's, so everything of ours is 125 or above. */
static int failure_status(const struct err_list *errs)
{
	for (unsigned i = 0; i < errs->n; i++) {
		if (errs->v[i].code == ERR_NOT_PERMITTED) {
			return EXIT_NOT_RUN;
		}
		if (errs->v[i].code == ERR_NOT_FOUND) {
			return EXIT_NOT_FOUND;
		}
	}
	return EXIT_LNK;
}

static bool tell_watch(struct run *r)
{
	const struct run_seen seen = {&r->spec, &r->machine, &r->facts, &r->plan, &r->report};

	return r->watch->seen(&seen, r->watch->context);
}

int cli_run(int argc, char **argv, struct err_list *errs)
{
	return run_watched(argc, argv, NULL, errs);
}

int run_watched(int argc, char **argv, const struct run_watch *watch, struct err_list *errs)
{
	/* Not on the stack: facts and lists are large, and init lives on this stack too. */
	static struct run r;
	int status = EXIT_OK;

	r.errs = errs;
	r.watch = watch;
	bool ok = parse(&r, argc, argv);
	if (ok && r.given[RUN_HELP]) {
		cli_help("run");
	} else if (ok) {
		ok = read_spec(&r) && check_bare(&r) && start_gate(&r) && make_plan(&r);
		if (ok && r.given[RUN_DRY_RUN]) {
			plan_print(&r.plan, stdout);
		} else if (ok) {
			ok = start(&r, &status);
		}
	}
	end_broker(&r, ok);
	end_gate(&r, ok);
	ok = ok && (watch == NULL || tell_watch(&r));
	arena_release(&r.arena);
	return ok ? status : failure_status(errs);
}
