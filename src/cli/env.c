#include "cli/env.h"

#include "base/str.h"
#include "base/testguard.h"

#include <string.h>
#include <strings.h>

static const char *const passed[] = {
#define ENV(name)  name,
#define CERT(name) name,
#define PROXY(name)
#include "cli/env.def"
#undef ENV
#undef CERT
#undef PROXY
};

static const char *const certificates[] = {
#define ENV(name)
#define CERT(name) name,
#define PROXY(name)
#include "cli/env.def"
#undef ENV
#undef CERT
#undef PROXY
};

static const char *const proxies[] = {
#define ENV(name)
#define CERT(name)
#define PROXY(name) name,
#include "cli/env.def"
#undef ENV
#undef CERT
#undef PROXY
};

struct env_list {
	char **v;
	size_t n;
	size_t cap;
};

static size_t name_length(const char *variable)
{
	return strcspn(variable, "=");
}

static bool same_name(const char *variable, const char *name, size_t len)
{
	return name_length(variable) == len && strncmp(variable, name, len) == 0;
}

/* Sets a variable, replacing an earlier one of the name. */
static void set(struct env_list *list, struct arena *arena, const char *variable)
{
	size_t len = name_length(variable);

	for (size_t i = 0; i < list->n; i++) {
		if (same_name(list->v[i], variable, len)) {
			list->v[i] = arena_strdup(arena, variable);
			return;
		}
	}
	char *copy = arena_strdup(arena, variable);
	ARENA_PUSH(arena, list, copy);
}

static bool passes(const char *variable)
{
	size_t len = name_length(variable);

	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		size_t n = strlen(passed[i]);

		if (same_name(variable, passed[i], n) ||
		    (passed[i][n - 1] == '_' && len > n && strncmp(variable, passed[i], n) == 0)) {
			return true;
		}
	}
	return false;
}

static bool is_proxy(const char *variable)
{
	for (size_t i = 0; i < ARRAY_LEN(proxies); i++) {
		size_t n = strlen(proxies[i]);

		if (name_length(variable) == n && strncasecmp(variable, proxies[i], n) == 0) {
			return true;
		}
	}
	return false;
}

static bool add_wanted(struct env_list *list, struct arena *arena, const struct env_config *config,
		       const char *wanted, struct err *err)
{
	const struct origin from = {.flag = "--env"};
	bool all = str_eq(wanted, "*");

	if (wanted[0] == '\0' || wanted[0] == '=') {
		err_set(err, ERR_USAGE, 0, "\"%s\" names no variable", wanted);
		err_hint(err, "write --env NAME, --env NAME=VALUE or --env '*'");
		return err_at(err, &from);
	}
	if (strchr(wanted, '=') != NULL) {
		set(list, arena, wanted);
		return true;
	}
	for (char *const *v = config->outside; *v != NULL; v++) {
		if (all ? config->plan->net.host_mode || !is_proxy(*v)
			: same_name(*v, wanted, strlen(wanted))) {
			set(list, arena, *v);
		}
	}
	return true;
}

/* After all that the user wants: calls of tools by name have to meet the shims. */
static void add_shims(struct env_list *list, struct arena *arena, const struct env_config *config)
{
	const char *path = "/usr/local/bin:/usr/bin:/bin";

	if (config->browser) {
		set(list, arena, "BROWSER=" PLAN_SHIMS "/xdg-open");
	}
	for (size_t i = 0; i < list->n; i++) {
		path = same_name(list->v[i], "PATH", 4) ? list->v[i] + 5 : path;
	}
	if (config->shims) {
		set(list, arena, arena_printf(arena, "PATH=" PLAN_SHIMS ":%s", path));
	}
}

bool env_make(const struct env_config *config, struct arena *arena, char ***ret_envp,
	      struct err *err)
{
	struct env_list list = {NULL, 0, 0};
	bool temp_given = false;

	for (char *const *v = config->outside; *v != NULL; v++) {
		if (passes(*v) || !guard_on("environment")) {
			char *copy = arena_strdup(arena, *v);
			ARENA_PUSH(arena, &list, copy);
		}
	}
	set(&list, arena, arena_printf(arena, "HOME=%s", config->plan->home));
	for (size_t i = 0; i < config->nwanted; i++) {
		if (!add_wanted(&list, arena, config, config->wanted[i], err)) {
			return false;
		}
		temp_given = temp_given || str_starts(config->wanted[i], "TMPDIR=");
	}
	/* Not to be had from outside: what they name there does not exist inside. */
	if (!temp_given) {
		set(&list, arena, "TMPDIR=/tmp");
	}
	set(&list, arena, arena_printf(arena, "PWD=%s", config->plan->cwd));
	add_shims(&list, arena, config);
	char *end = NULL;
	ARENA_PUSH(arena, &list, end);
	*ret_envp = list.v;
	return true;
}

void env_each_certificate(char *const *outside,
			  void (*each)(void *data, const char *name, const char *file), void *data)
{
	for (; *outside != NULL; outside++) {
		for (size_t i = 0; i < ARRAY_LEN(certificates); i++) {
			size_t n = strlen(certificates[i]);

			if (same_name(*outside, certificates[i], n) && (*outside)[n + 1] != '\0') {
				each(data, certificates[i], *outside + n + 1);
			}
		}
	}
}
