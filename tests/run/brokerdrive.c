/* Runs a command in a small sandbox of its own (user, mount and PID namespace) with the real shims
 * in /run/lnk/bin, first on PATH, and the real broker outside. What `lnk sandbox run` adds to that,
 * the tools' confinement above all, is left out: tools are executed as they are.
 *
 *   brokerdrive SHIM [--tool NAME=PROGRAM]... [--browse HOST]... [--log FILE] [--ask-ms N]
 *               [--passes-signals] -- CMD...
 *
 * The judge refuses every call with the argument "forbidden". Exit: the command's status; the
 * report comes on stderr, a line "refused COUNT WHAT (HINT)" for each refusal, and "broker died".
 * With --broker-pid FILE the broker's number is written there. */
#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "broker/broker.h"
#include "plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_MAX 16

extern char **environ;

struct drive {
	const char *shim;
	struct tool tools[LIST_MAX];
	struct broker_tool granted[LIST_MAX];
	size_t ntools;
	struct net_host browse[LIST_MAX];
	size_t nbrowse;
	struct broker_config config;
	const char *pid_file;
	char **command;
};

static void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "brokerdrive: %s: %s\n", what, strerror(errno));
		_exit(99);
	}
}

static bool judge(const struct broker_call *call, void *context, struct tool_refusal *ret_refusal)
{
	(void)context;
	for (int i = 1; i < call->argc; i++) {
		if (str_eq(call->argv[i], "forbidden")) {
			snprintf(ret_refusal->why, sizeof(ret_refusal->why), "%s is forbidden",
				 call->argv[0]);
			snprintf(ret_refusal->hint, sizeof(ret_refusal->hint), "leave it out");
			return false;
		}
	}
	return true;
}

static bool run_tool(const struct broker_call *call, void *context, int *ret_status,
		     struct err *err)
{
	(void)context;
	(void)ret_status;
	if (chdir(call->cwd) < 0) {
		return err_set(err, ERR_NOT_PERMITTED, errno, "cannot go to %s", call->cwd);
	}
	execve(call->tool->program, call->argv, environ);
	return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_NOT_PERMITTED, errno,
		       "cannot run %s", call->tool->program);
}

/* --- the command line ---------------------------------------------------------------------- */

static void add_tool(struct drive *d, char *text)
{
	char *equals = strchr(text, '=');

	errno = EINVAL;
	must(equals != NULL && d->ntools < LIST_MAX, "--tool");
	*equals = '\0';
	d->tools[d->ntools] = (struct tool){.name = text, .program = equals + 1};
	d->granted[d->ntools] = (struct broker_tool){
		&d->tools[d->ntools], {.file = "app.toml", .line = (unsigned)d->ntools + 1}};
	d->ntools++;
}

static void parse(struct drive *d, int argc, char **argv)
{
	static char none[] = "";

	errno = EINVAL;
	must(argc > 3, "too few arguments");
	d->shim = argv[1];
	d->config.log_fd = -1;
	for (int i = 2; i < argc; i++) {
		char *value = i + 1 < argc ? argv[i + 1] : none;

		if (str_eq(argv[i], "--")) {
			d->command = argv + i + 1;
			return;
		}
		if (str_eq(argv[i], "--passes-signals")) {
			d->config.passes_signals = true;
			continue;
		}
		if (str_eq(argv[i], "--tool")) {
			add_tool(d, value);
		} else if (str_eq(argv[i], "--browse") && d->nbrowse < LIST_MAX) {
			d->browse[d->nbrowse++] =
				(struct net_host){value, {.file = "app.toml", .line = 50}};
		} else if (str_eq(argv[i], "--log")) {
			d->config.log_fd =
				open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
			must(d->config.log_fd >= 0, value);
		} else if (str_eq(argv[i], "--ask-ms")) {
			d->config.ask_ms = atol(value);
		} else if (str_eq(argv[i], "--broker-pid")) {
			d->pid_file = value;
		} else {
			must(false, argv[i]);
		}
		i++;
	}
	must(false, "no command");
}

/* --- the sandbox --------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	must(fd >= 0 && fd_write_all(fd, text, strlen(text)), path);
}

static void enter_namespaces(void)
{
	char text[64];
	unsigned uid = getuid();
	unsigned gid = getgid();

	must(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) == 0, "unshare");
	write_text("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	write_text("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	write_text("/proc/self/gid_map", text);
}

static void add_shim(const struct drive *d, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), PLAN_SHIMS "/%s", name);
	write_text(path, "");
	must(mount(d->shim, path, NULL, MS_BIND, NULL) == 0, path);
}

static void make_files(const struct drive *d)
{
	static const char *const browsers[] = {"xdg-open", "open", "sensible-browser",
					       "www-browser"};
	const char *path = getenv("PATH");
	char text[4096];

	must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	must(mount("tmpfs", "/run", "tmpfs", MS_NOSUID, "mode=755") == 0, "/run");
	must(mkdir("/run/lnk", 0755) == 0 && mkdir(PLAN_SHIMS, 0755) == 0, PLAN_SHIMS);
	for (size_t i = 0; i < d->ntools; i++) {
		add_shim(d, d->tools[i].name);
	}
	for (size_t i = 0; i < ARRAY_LEN(browsers); i++) {
		add_shim(d, browsers[i]);
	}
	(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	snprintf(text, sizeof(text), PLAN_SHIMS ":%s", path != NULL ? path : "/usr/bin:/bin");
	setenv("PATH", text, 1);
	setenv("BROWSER", PLAN_SHIMS "/xdg-open", 1);
}

static void hand_socket_out(int door)
{
	const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = PLAN_BROKER};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(fd >= 0 && bind(fd, (const struct sockaddr *)&name, sizeof(name)) == 0 &&
		     listen(fd, 128) == 0 &&
		     pass_send(door, PLAN_BROKER, sizeof(PLAN_BROKER), &fd, 1),
	     PLAN_BROKER);
}

/* PID 1 in there: as lnk's, of the supervisor's group, and so is the command. */
static _Noreturn void be_init(const struct drive *d, const struct broker_client *client)
{
	int status = 0;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(client->control);
	make_files(d);
	hand_socket_out(client->door);
	close(client->door);
	pid_t command = fork();
	if (command == 0) {
		signal(SIGTSTP, SIG_DFL);
		execvp(d->command[0], d->command);
		must(false, d->command[0]);
	}
	while ((pid = waitpid(-1, &status, 0)) != command) {
		must(pid > 0 || errno == EINTR, "waitpid");
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void print_report(const struct broker_report *report, bool died)
{
	for (uint32_t i = 0; i < report->n; i++) {
		fprintf(stderr, "refused %u %s (%s)\n", report->v[i].count, report->v[i].what,
			report->v[i].hint);
	}
	if (report->more > 0) {
		fprintf(stderr, "refused %u more\n", report->more);
	}
	if (died) {
		fprintf(stderr, "broker died\n");
	}
}

int main(int argc, char **argv)
{
	static struct drive d;
	static struct broker_report report;
	struct broker_client client;
	struct err err;
	bool died = false;
	char text[32];
	int status = 0;

	parse(&d, argc, argv);
	d.config.tools = d.granted;
	d.config.ntools = d.ntools;
	d.config.browse = d.browse;
	d.config.nbrowse = d.nbrowse;
	d.config.envp = environ;
	d.config.judge = judge;
	d.config.run_tool = run_tool;
	if (!broker_start(&d.config, &client, &err)) {
		fprintf(stderr, "brokerdrive: %s\n", err.msg);
		return 99;
	}
	if (d.pid_file != NULL) {
		snprintf(text, sizeof(text), "%d\n", (int)client.pid);
		write_text(d.pid_file, text);
	}
	enter_namespaces();
	pid_t init = fork();
	if (init == 0) {
		be_init(&d, &client);
	}
	must(init > 0, "fork");
	broker_started_init(&client);
	/* Its keys are the command's. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
	while (waitpid(init, &status, 0) < 0 && errno == EINTR) {
	}
	broker_finish(&client, &report, &died);
	print_report(&report, died);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
