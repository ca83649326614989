#include "cli/why_call.h"

#include "base/fd.h"
#include "base/str.h"
#include "spec/host.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One call is a handful of decisions. */
#define LOG_MAX 65536

static bool read_port(const char *text, uint16_t *ret_port)
{
	char *end;
	unsigned long port = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;

	if (port - 1 > 65534 || (*end != '\0' && *end != '/')) {
		return false;
	}
	*ret_port = (uint16_t)port;
	return true;
}

bool why_call_read(const char *word, struct arena *arena, struct trial *ret_trial)
{
	char host[HOST_MAX];
	uint16_t port = 443;
	bool url = str_starts(word, "https://") || str_starts(word, "http://");

	if (url) {
		port = str_starts(word, "https://") ? 443 : 80;
		word = strstr(word, "://") + 3;
		word = arena_strndup(arena, word, strcspn(word, "/?#"));
	}
	/* An IPv6 address may have brackets, and needs them before a port. */
	const char *bracket = word[0] == '[' ? strchr(word, ']') : NULL;
	const char *colon = strchr(bracket != NULL ? bracket : word, ':');
	bool bare_v6 = bracket == NULL && colon != NULL && strchr(colon + 1, ':') != NULL;
	size_t len = colon == NULL || bare_v6 ? strlen(word) : (size_t)(colon - word);

	if (colon != NULL && !bare_v6 && !read_port(colon + 1, &port)) {
		return false;
	}
	if (bare_v6) {
		word = arena_printf(arena, "[%s]", word);
		len = strlen(word);
	}
	if (!host_normal(word, len, host)) {
		return false;
	}
	const char *name = host_is_local_name(host) ? "127.0.0.1" : arena_strdup(arena, host);
	*ret_trial = (struct trial){.kind = TRIAL_CALL, .what = name, .port = port};
	return true;
}

static enum addr_class class_of(const struct trial *trial)
{
	const char *why;
	struct addr addr;

	return addr_parse(trial->what, &addr) ? addr_classify(&addr, &why) : ADDR_PUBLIC;
}

bool why_call_is_loopback(const struct trial *trial)
{
	return class_of(trial) == ADDR_LOOPBACK;
}

const char *why_call_shown(const struct trial *trial, const char *word, struct arena *arena)
{
	bool local = str_eq(trial->what, "127.0.0.1") && strstr(word, "localhost") != NULL;

	return local ? "localhost" : arena_strdup(arena, trial->what);
}

static const char *text_of(const json_t *line, const char *key, struct arena *arena)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text != NULL ? arena_strdup(arena, text) : NULL;
}

bool why_call_said(int log_fd, struct arena *arena, struct gate_said *ret_said)
{
	char *text = arena_alloc(arena, LOG_MAX + 1);
	bool said = false;

	if (lseek(log_fd, 0, SEEK_SET) < 0 || fd_read_all(log_fd, text, LOG_MAX) < 0) {
		return false;
	}
	for (char *line = text; *line != '\0';) {
		size_t n = strcspn(line, "\n");
		json_t *o = json_loadb(line, n, 0, NULL);
		const char *verdict = json_string_value(json_object_get(o, "verdict"));

		if (verdict != NULL) {
			*ret_said = (struct gate_said){
				.allowed = str_eq(verdict, "allowed"),
				.section = text_of(o, "section", arena),
				.line = text_of(o, "spec", arena),
				.why = text_of(o, "why", arena),
				.hint = text_of(o, "hint", arena),
			};
			said = true;
		}
		json_decref(o);
		line += n + (line[n] == '\n' ? 1 : 0);
	}
	return said;
}

const char *why_call_add(const struct explain *e, const struct trial *trial)
{
	const char *port = arena_printf(e->arena, "%u", (unsigned)trial->port);
	enum addr_class class = class_of(trial);

	if (class == ADDR_LOOPBACK) {
		return explain_add(e, SPEC_LOCALHOST_PORTS, port);
	}
	if (class != ADDR_PUBLIC || strchr(trial->what, '.') == NULL) {
		return explain_add(e, SPEC_LAN_HOSTS, trial->what);
	}
	const char *host = explain_add(e, SPEC_INTERNET_HOSTS, trial->what);
	if (trial->port == 443 || trial->port == 80) {
		return host;
	}
	return arena_printf(e->arena, "%s, and tcp = [\"%s:%s\"]", host, trial->what, port);
}
