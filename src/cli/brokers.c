#include "cli/brokers.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the shims' program is, relative to the folder of this one: installed, or built. */
static const char *const places[] = {"../libexec/lnk/lnk-shim", "shim/lnk-shim"};

/* The names that programs call a browser by. */
static const char *const browsers[] = {"xdg-open", "open", "sensible-browser", "www-browser"};

static bool find_shim(struct arena *arena, const char **ret_shim, struct err *err)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(self, '/');
	for (size_t i = 0; slash != NULL && i < ARRAY_LEN(places); i++) {
		const char *path =
			arena_printf(arena, "%.*s/%s", (int)(slash - self), self, places[i]);
		char *real = realpath(path, NULL);

		if (real != NULL) {
			*ret_shim = arena_strdup(arena, real);
			free(real);
			return true;
		}
	}
	err_set(err, ERR_SETUP, ENOENT, "cannot find lnk-shim, which stands for tools inside");
	return err_hint(err, "install lnk as a whole, by `sudo script/install`");
}

static void add_shim(struct brokers *b, const char *name, bool tool, const struct origin *from,
		     struct arena *arena)
{
	const struct plan_shim shim = {name, *from, tool};

	for (size_t i = 0; i < b->shims.n; i++) {
		if (str_eq(b->shims.v[i].name, name)) {
			return;
		}
	}
	ARENA_PUSH(arena, &b->shims, shim);
}

static void read_tools(const struct spec *spec, struct arena *arena, struct brokers *b)
{
	const struct spec_value *names = &spec->value[SPEC_TOOLS_NAMES];

	for (size_t i = 0; i < names->n; i++) {
		const struct tool *tool = tools_find(&b->tools, names->v[i].text);

		if (tool != NULL) {
			const struct broker_tool granted = {tool, names->v[i].from};

			ARENA_PUSH(arena, &b->granted, granted);
			add_shim(b, tool->name, true, &names->v[i].from, arena);
		}
	}
}

static void read_browser(const struct spec *spec, struct arena *arena, struct brokers *b)
{
	const struct spec_value *hosts = &spec->value[SPEC_BROWSER_HOSTS];

	for (size_t i = 0; i < hosts->n; i++) {
		const struct net_host host = {hosts->v[i].path, hosts->v[i].from};

		ARENA_PUSH(arena, &b->browse, host);
	}
	b->browser = hosts->n > 0;
	for (size_t i = 0; b->browser && i < ARRAY_LEN(browsers); i++) {
		add_shim(b, browsers[i], false, &hosts->v[0].from, arena);
	}
}

bool brokers_read(const struct spec *spec, const struct machine *machine, char *const *outside,
		  struct arena *arena, struct brokers *ret_brokers, struct err_list *errs)
{
	struct brokers *b = ret_brokers;
	struct tools_place place;
	struct err failure;

	*b = (struct brokers){.run = {.spec = spec, .machine = machine, .outside = outside}};
	if (spec->value[SPEC_TOOLS_NAMES].n == 0 && spec->value[SPEC_BROWSER_HOSTS].n == 0) {
		return true;
	}
	if (spec->value[SPEC_TOOLS_NAMES].n > 0) {
		tools_place(machine, arena, &place);
		if (!tools_read(tools_path(machine, arena), &place, arena, &b->tools, errs) ||
		    !tools_check(spec, &b->tools, machine, arena, errs)) {
			return false;
		}
	}
	read_tools(spec, arena, b);
	read_browser(spec, arena, b);
	if (!find_shim(arena, &b->shim, &failure)) {
		*err_list_next(errs) = failure;
		return false;
	}
	b->run.shim = b->shim;
	return true;
}

/* --- in the process of a call --------------------------------------------------------------- */

static bool judge(const struct broker_call *call, void *context, struct tool_refusal *ret_refusal)
{
	const struct toolrun *run = context;
	struct arena arena = {NULL};
	char shown[256];
	const char *word;

	if (!tool_judge(call->tool, call->argc - 1, call->argv + 1, ret_refusal)) {
		return false;
	}
	if (toolrun_words(run, call->tool, call->cwd, call->argv, &arena, &word)) {
		arena_release(&arena);
		return true;
	}
	snprintf(ret_refusal->why, sizeof(ret_refusal->why),
		 "\"%s\" leads into the tool's own files, which hold its login",
		 str_printable(word, shown, sizeof(shown)));
	snprintf(ret_refusal->hint, sizeof(ret_refusal->hint),
		 "name a file that the sandbox may read");
	return false;
}

static void over(int status, void *context)
{
	(void)!write(*(int *)context, &status, sizeof(status));
}

static void again(void *context)
{
	const char waits = 'w';

	(void)!write(*(int *)context, &waits, sizeof(waits));
}

static bool run_tool(const struct broker_call *call, void *context, int *ret_status,
		     struct err *err)
{
	int fd = call->over;
	const struct toolrun_end end = {over, NULL, &fd};

	return toolrun(context, call->tool, call->argv, call->cwd, &end, ret_status, err);
}

static bool prepare(const struct tool *tool, void *context)
{
	struct err ignored; /* the call that is made without says it */

	return toolrun_prepare(context, tool, &ignored);
}

static bool run_late(const struct tool *tool, void *context, int late, int fd, int *ret_status,
		     struct err *err)
{
	const struct toolrun_end end = {over, again, &fd};

	(void)context;
	return toolrun_late(tool, late, &end, ret_status, err);
}

static bool call_late(const struct broker_call *call, void *context, int late, const int fds[3],
		      pid_t group)
{
	(void)context;
	return toolrun_call(call->tool, call->argv, call->cwd, late, fds, group);
}

static uint64_t state(const struct tool *tool, void *context)
{
	return toolrun_state(context, tool);
}

bool brokers_start(struct brokers *b, int log_fd, const int *close, size_t nclose, struct err *err)
{
	if (b->shim == NULL) {
		return true;
	}
	b->config = (struct broker_config){
		.tools = b->granted.v,
		.ntools = b->granted.n,
		.browse = b->browse.v,
		.nbrowse = b->browse.n,
		.envp = b->run.outside,
		.log_fd = log_fd,
		.close = close,
		.nclose = nclose,
		.passes_signals = true,
		.judge = judge,
		.run_tool = run_tool,
		.prepare = prepare,
		.run_late = run_late,
		.call_late = call_late,
		.state = state,
		.context = &b->run,
	};
	return broker_start(&b->config, &b->client, err);
}
