/* What a watched run called: from the gate's own decisions. */
#include "cli/learn_inner.h"

#include "base/fd.h"
#include "base/str.h"
#include "spec/host.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Longer logs are read so far: by then a program has called everything that it needs, or wants to
 * fill the memory. */
#define CALLS_BYTES (4UL * 1024UL * 1024UL)

static bool section_of(const char *host, const char *told, enum spec_section *ret_section)
{
	const char *why;
	struct addr addr;
	size_t n = strlen(host);

	if (told != NULL && str_eq(told, "localhost")) {
		*ret_section = SPEC_SECTION_LOCALHOST;
		return true;
	}
	if (addr_parse(host, &addr)) {
		enum addr_class class = addr_classify(&addr, &why);

		*ret_section = class == ADDR_PUBLIC ? SPEC_SECTION_INTERNET : SPEC_SECTION_LAN;
		return class == ADDR_PUBLIC || class == ADDR_PRIVATE;
	}
	bool lan = (told != NULL && str_eq(told, "lan")) || strchr(host, '.') == NULL ||
		   (n > 6 && str_eq(host + n - 6, ".local"));
	*ret_section = lan ? SPEC_SECTION_LAN : SPEC_SECTION_INTERNET;
	return !host_is_local_name(host);
}

static struct learn_host *known(struct learn *l, const char *host, uint16_t port)
{
	for (size_t i = 0; i < l->hosts.n; i++) {
		if (l->hosts.v[i].port == port && str_eq(l->hosts.v[i].host, host)) {
			return &l->hosts.v[i];
		}
	}
	return NULL;
}

/* A refusal that no line would open is no wish to be written down. */
static bool can_be_opened(const json_t *line)
{
	const char *hint = json_string_value(json_object_get(line, "hint"));

	return hint != NULL && (str_starts(hint, "add") || strstr(hint, ": add") != NULL);
}

static void take(struct learn *l, const json_t *line)
{
	const char *text = json_string_value(json_object_get(line, "host"));
	const char *verdict = json_string_value(json_object_get(line, "verdict"));
	json_int_t port = json_integer_value(json_object_get(line, "port"));
	struct learn_host h = {.port = (uint16_t)port, .count = 1};
	char host[HOST_MAX];
	const char *section = json_string_value(json_object_get(line, "section"));

	if (text == NULL || verdict == NULL || !host_normal(text, strlen(text), host) ||
	    !section_of(host, section, &h.section)) {
		return;
	}
	h.refused = str_eq(verdict, "refused");
	if (h.refused && !can_be_opened(line)) {
		return;
	}
	struct learn_host *old = known(l, host, h.port);
	if (old != NULL) {
		old->count++;
	} else if (l->hosts.n < LEARN_MAX) {
		h.host = arena_strdup(&l->arena, host);
		ARENA_PUSH(&l->arena, &l->hosts, h);
	}
}

void learn_calls(struct learn *l)
{
	char *text = arena_alloc(&l->arena, CALLS_BYTES + 1);

	if (lseek(l->watch.calls_fd, 0, SEEK_SET) < 0 ||
	    fd_read_all(l->watch.calls_fd, text, CALLS_BYTES) < 0) {
		return;
	}
	for (char *line = text; *line != '\0';) {
		size_t n = strcspn(line, "\n");
		json_t *o = json_loadb(line, n, 0, NULL);

		take(l, o);
		json_decref(o);
		line += n + (line[n] == '\n' ? 1 : 0);
	}
}
