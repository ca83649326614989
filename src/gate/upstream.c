/* When the user's proxy is used, and how a tunnel through it is asked for. */
#include "gate/upstream.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* An answer's head that is longer is no good answer. */
#define ANSWER_MAX 16384

/* --- NO_PROXY ----------------------------------------------------------------------------- */

/* A host and, when it is an address, that too. */
struct target {
	const char *host;
	uint16_t port;
	bool is_addr;
	struct addr addr;
};

/* Decimal digits only, at most `max`. */
static bool decimal(const char *s, unsigned max, unsigned *ret_value)
{
	size_t n = strlen(s);
	unsigned value = 0;

	if (n == 0 || n > 5 || strspn(s, "0123456789") != n) {
		return false;
	}
	for (; *s != '\0'; s++) {
		value = value * 10 + (unsigned)(*s - '0');
	}
	*ret_value = value;
	return value <= max;
}

/* "10.0.0.0/8", "10.0.0.5", "fd00::/8", "[::1]". False: no address. */
static bool matches_address(char *entry, const struct target *target, bool *ret_matches)
{
	char *slash = strchr(entry, '/');
	size_t n = strlen(entry);
	struct addr a;
	unsigned bits;

	if (slash != NULL) {
		*slash = '\0';
	} else if (entry[0] == '[' && entry[n - 1] == ']') {
		entry[n - 1] = '\0';
		entry++;
	}
	if (!addr_parse(entry, &a)) {
		return false;
	}
	unsigned most = a.v6 ? 128 : 32;
	if (slash == NULL) {
		bits = most;
	} else if (!decimal(slash + 1, most, &bits)) {
		*ret_matches = false;
		return true;
	}
	*ret_matches = target->is_addr && target->addr.v6 == a.v6 &&
		       addr_same_prefix(&a, &target->addr, bits);
	return true;
}

/* "example.com", ".example.com", "*.example.com": itself and what is below it. */
static bool matches_name(const char *entry, const struct target *target)
{
	size_t n = strlen(target->host);

	entry += entry[0] == '*' && entry[1] == '.' ? 1 : 0;
	entry += entry[0] == '.' ? 1 : 0;
	size_t k = strlen(entry);
	if (k > 0 && entry[k - 1] == '.') {
		k--;
	}
	return k > 0 && n >= k && strncasecmp(target->host + n - k, entry, k) == 0 &&
	       (n == k || target->host[n - k - 1] == '.') && !target->is_addr;
}

/* Takes ":port" off an entry. False when it is of another port. */
static bool port_fits(char *entry, uint16_t port)
{
	char *close = strchr(entry, ']');
	char *colon = strchr(close != NULL ? close : entry, ':');
	unsigned number;

	/* Two colons: an IPv6 address without brackets, which has no port. */
	if (colon == NULL || strchr(colon + 1, ':') != NULL) {
		return true;
	}
	*colon = '\0';
	return decimal(colon + 1, 65535, &number) && number == port;
}

static bool entry_matches(const char *s, size_t len, const struct target *target)
{
	/* No name and no range is longer. */
	char entry[HOST_MAX + 16];
	bool matches = false;

	if (len >= sizeof(entry)) {
		return false;
	}
	memcpy(entry, s, len);
	entry[len] = '\0';
	if (str_eq(entry, "*")) {
		return true;
	}
	if (!port_fits(entry, target->port) || entry[0] == '\0') {
		return false;
	}
	return matches_address(entry, target, &matches) ? matches : matches_name(entry, target);
}

static bool goes_straight(const char *list, const struct target *target)
{
	static const char between[] = ", \t";

	for (list += strspn(list, between); *list != '\0'; list += strspn(list, between)) {
		size_t n = strcspn(list, between);

		if (entry_matches(list, n, target)) {
			return true;
		}
		list += n;
	}
	return false;
}

const struct proxy *upstream_for(const struct upstream *upstream, bool plain_http, const char *host,
				 uint16_t port)
{
	const struct proxy *proxy = plain_http ? upstream->http : upstream->https;
	struct target target = {.host = host, .port = port};

	if (proxy == NULL || upstream->no_proxy == NULL) {
		return proxy;
	}
	target.is_addr = addr_parse(host, &target.addr);
	return goes_straight(upstream->no_proxy, &target) ? NULL : proxy;
}

/* --- the tunnel --------------------------------------------------------------------------- */

size_t upstream_connect_request(const struct proxy *proxy, const char *host, uint16_t port,
				char out[UPSTREAM_CONNECT_MAX])
{
	bool v6 = strchr(host, ':') != NULL;
	bool login = proxy->authorization != NULL;
	char authority[HOST_MAX + 16];
	int n = snprintf(authority, sizeof(authority), "%s%s%s:%u", v6 ? "[" : "", host,
			 v6 ? "]" : "", (unsigned)port);

	if (n < 0 || (size_t)n >= sizeof(authority)) {
		return 0;
	}
	n = snprintf(out, UPSTREAM_CONNECT_MAX, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n",
		     authority, authority, login ? "Proxy-Authorization: " : "",
		     login ? proxy->authorization : "", login ? "\r\n" : "");
	return n > 0 && n < UPSTREAM_CONNECT_MAX ? (size_t)n : 0;
}

/* How much of the head of one answer is there: its length with the empty line, or 0. Lines may end
 * in a bare LF (RFC 9112 section 2.2). */
static size_t head_length(const char *bytes, size_t len)
{
	const char *line = bytes;

	for (;;) {
		const char *end = memchr(line, '\n', len - (size_t)(line - bytes));

		if (end == NULL) {
			return 0;
		}
		if (end == line || (end == line + 1 && *line == '\r')) {
			return (size_t)(end + 1 - bytes);
		}
		line = end + 1;
	}
}

/* "HTTP/1.1 200 ": 1 when it is one, 0 when more bytes are needed, -1. */
static int read_status(const char *bytes, size_t len, unsigned *ret_status)
{
	static const char form[] = "HTTP/1.d ddd";

	*ret_status = 0;
	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		if (i >= len) {
			return 0;
		}
		bool digit = bytes[i] >= '0' && bytes[i] <= '9';
		if (form[i] == 'd' ? !digit : bytes[i] != form[i]) {
			return -1;
		}
	}
	if (len < sizeof(form)) {
		return 0;
	}
	/* A reason may be missing, the space before it too. */
	if (strchr(" \r\n", bytes[sizeof(form) - 1]) == NULL || bytes[sizeof(form) - 1] == '\0') {
		return -1;
	}
	*ret_status = (unsigned)((bytes[9] - '0') * 100 + (bytes[10] - '0') * 10 + bytes[11] - '0');
	return 1;
}

long upstream_connect_answer(const char *bytes, size_t len, unsigned *ret_status)
{
	size_t at = 0;

	for (;;) {
		int read = read_status(bytes + at, len - at, ret_status);
		bool good = read > 0 && *ret_status >= 200 && *ret_status <= 299;
		/* Those come before the answer; but nobody asked for another protocol. */
		bool interim =
			read > 0 && *ret_status >= 100 && *ret_status <= 199 && *ret_status != 101;

		if (read < 0 || (read > 0 && !good && !interim)) {
			return -1;
		}
		size_t head = head_length(bytes + at, len - at);
		if (head == 0) {
			return len > ANSWER_MAX ? -1 : 0;
		}
		if (read == 0) {
			/* The head is over before its first line is whole. */
			return -1;
		}
		at += head;
		if (good) {
			return (long)at;
		}
	}
}
