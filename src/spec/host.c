/* Host names as they stand in requests, server names and URLs, read into the one form that is
 * matched. Names follow RFC 1123 with "_" added, as the spec's do (values_host.c). */
#include "spec/host.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <string.h>

#define LABEL_BYTES_MAX 63

/* The lower-case form of a byte that a name may hold, 0 for every other byte. */
static char name_byte(char c)
{
	if (c >= 'A' && c <= 'Z') {
		return (char)(c - 'A' + 'a');
	}
	bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
		    c == '.';
	return fine ? c : '\0';
}

static bool labels_allowed(const char *name)
{
	for (const char *p = name;;) {
		size_t label = strcspn(p, ".");

		if (label == 0 || label > LABEL_BYTES_MAX) {
			return false;
		}
		if (p[label] == '\0') {
			return true;
		}
		p += label + 1;
	}
}

bool host_ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot != NULL ? dot + 1 : name;

	if (last[0] == '0' && last[1] == 'x' &&
	    strspn(last + 2, "0123456789abcdef") == strlen(last + 2)) {
		return true;
	}
	return last[0] != '\0' && strspn(last, "0123456789") == strlen(last);
}

bool host_is_local_name(const char *name)
{
	static const char suffix[] = ".localhost";
	size_t n = strlen(name);

	return str_eq(name, "localhost") ||
	       (n >= sizeof(suffix) && str_eq(name + n - (sizeof(suffix) - 1), suffix));
}

/* "[2606:4700::1111]". A mapped address comes out as the IPv4 address that it is. */
static bool bracketed(const char *s, size_t len, char out[HOST_MAX])
{
	char inner[INET6_ADDRSTRLEN];
	struct addr a;

	if (len < 2 || len - 2 >= sizeof(inner) || s[len - 1] != ']' ||
	    memchr(s, ':', len) == NULL || memchr(s, '\0', len) != NULL) {
		return false;
	}
	memcpy(inner, s + 1, len - 2);
	inner[len - 2] = '\0';
	if (!addr_parse(inner, &a)) {
		return false;
	}
	return inet_ntop(a.v6 ? AF_INET6 : AF_INET, a.b, out, HOST_MAX) != NULL;
}

bool host_normal(const char *s, size_t len, char out[HOST_MAX])
{
	struct addr a;
	size_t n = 0;

	out[0] = '\0';
	if (len > 0 && s[0] == '[') {
		return bracketed(s, len, out);
	}
	/* One dot at the end is the root, and may come on top of 253 bytes. */
	bool dot = len > 1 && s[len - 1] == '.';
	if (dot) {
		len--;
	}
	if (len >= HOST_MAX) {
		return false;
	}
	for (; n < len; n++) {
		out[n] = name_byte(s[n]);
		if (out[n] == '\0') {
			break;
		}
	}
	out[n] = '\0';
	bool good = n == len && labels_allowed(out) &&
		    (!host_ends_in_number(out) || (!dot && addr_parse(out, &a)));
	if (!good) {
		out[0] = '\0';
	}
	return good;
}

bool host_matches(const char *pattern, const char *host)
{
	if (str_eq(pattern, "*") || str_eq(pattern, host)) {
		return true;
	}
	if (pattern[0] != '*' || pattern[1] != '.') {
		return false;
	}
	size_t below = strlen(pattern) - 1;
	size_t len = strlen(host);
	return len > below && str_eq(host + len - below, pattern + 1);
}
