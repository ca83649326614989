/* Which questions are told: a look-up of a program once, not each of its questions. */
#include "base/str.h"
#include "gate/dns.h"
#include "gate/resolver_inner.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void told_start(struct told *told)
{
	char host[HOST_MAX] = "";
	const char *dot;

	memset(told, 0, sizeof(*told));
	if (gethostname(host, sizeof(host) - 1) == 0 && (dot = strchr(host, '.')) != NULL) {
		(void)host_normal(dot + 1, strlen(dot + 1), told->domain);
	}
}

/* True when `longer` is `name` with the machine's domain behind it. */
static bool is_with_domain(const struct told *told, const char *name, const char *longer)
{
	size_t n = strlen(name);

	return told->domain[0] != '\0' && strncmp(longer, name, n) == 0 && longer[n] == '.' &&
	       str_eq(longer + n + 1, told->domain);
}

enum { TYPE_HTTPS = 65 };

static unsigned type_bit(unsigned type)
{
	return type == DNS_A ? 1 : type == DNS_AAAA ? 2 : type == TYPE_HTTPS ? 4 : 8;
}

bool told_is_new(struct told *told, const char *name, unsigned type, uint64_t now_ms)
{
	bool with_domain = false;

	for (size_t i = 0; i < TOLD_MAX; i++) {
		char *other = told->v[i].name;

		if (other[0] == '\0' || now_ms - told->v[i].at_ms >= TOLD_MS) {
			continue;
		}
		if (!str_eq(other, name)) {
			with_domain = with_domain || is_with_domain(told, name, other) ||
				      is_with_domain(told, other, name);
			continue;
		}
		/* The same question again is another look-up. */
		bool again = (told->v[i].types & type_bit(type)) != 0;
		told->v[i].types = (again ? 0 : told->v[i].types) | type_bit(type);
		if (again) {
			told->v[i].at_ms = now_ms;
		}
		return again;
	}
	if (with_domain) {
		return false;
	}
	snprintf(told->v[told->next].name, sizeof(told->v[0].name), "%s", name);
	told->v[told->next].types = type_bit(type);
	told->v[told->next].at_ms = now_ms;
	told->next = (told->next + 1) % TOLD_MAX;
	return true;
}
