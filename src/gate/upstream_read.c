/* The proxy variables. What they hold may be a password: messages name the variable alone. */
#include "base/str.h"
#include "gate/upstream.h"

#include <string.h>
#include <strings.h>

/* No login is longer, so that the request for a tunnel fits into UPSTREAM_CONNECT_MAX. */
#define LOGIN_MAX 1024
/* Of a proxy without one, as in any other http:// URL. */
#define PORT_DEFAULT 80

/* The value of a variable; NULL when it is unset or empty, which to curl and Go is the same. */
static const char *look_up(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp != NULL && *envp != NULL; envp++) {
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=') {
			return (*envp)[n + 1] != '\0' ? *envp + n + 1 : NULL;
		}
	}
	return NULL;
}

/* The first of some names that is set. */
static const char *first_set(char *const *envp, const char *const *names, const char **ret_name)
{
	for (; *names != NULL; names++) {
		const char *value = look_up(envp, *names);

		if (value != NULL) {
			*ret_name = *names;
			return value;
		}
	}
	return NULL;
}

static bool unreadable(const char *name, const char *why, struct err *err)
{
	err_set(err, ERR_SETUP, 0, "%s cannot be used: %s", name, why);
	return err_hint(err,
			"write it as http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, or leave "
			"it out: env -u %s lnk ...",
			name);
}

/* --- the login ---------------------------------------------------------------------------- */

static int hex(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if (c >= 'a' && c <= 'f') {
		return c - 'a' + 10;
	}
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Undoes %XX; a "%" that begins none stays, as curl has it. The number of bytes written. */
static size_t percent_decode(const char *s, size_t len, unsigned char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int high = i + 2 < len && s[i] == '%' ? hex(s[i + 1]) : -1;
		int low = high >= 0 ? hex(s[i + 2]) : -1;

		if (low >= 0) {
			out[n++] = (unsigned char)(high * 16 + low);
			i += 2;
		} else {
			out[n++] = (unsigned char)s[i];
		}
	}
	return n;
}

/* RFC 4648 section 4. */
static void base64(const unsigned char *bytes, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		unsigned v = (unsigned)bytes[i] << 16;

		v |= i + 1 < len ? (unsigned)bytes[i + 1] << 8 : 0;
		v |= i + 2 < len ? (unsigned)bytes[i + 2] : 0;
		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = i + 1 < len ? digits[v >> 6 & 63] : '=';
		*out++ = i + 2 < len ? digits[v & 63] : '=';
	}
	*out = '\0';
}

/* "user:password" with its %XX as the value of Proxy-Authorization (RFC 7617). */
static bool read_login(const char *s, size_t len, struct arena *arena, struct proxy *proxy)
{
	static const char scheme[] = "Basic ";
	unsigned char login[LOGIN_MAX + 1];
	const char *colon = memchr(s, ':', len);
	size_t user = colon != NULL ? (size_t)(colon - s) : len;
	size_t n;

	if (len > LOGIN_MAX) {
		return false;
	}
	n = percent_decode(s, user, login);
	login[n++] = ':';
	if (colon != NULL) {
		n += percent_decode(colon + 1, len - user - 1, login + n);
	}
	char *value = arena_alloc(arena, sizeof(scheme) + (n + 2) / 3 * 4);
	memcpy(value, scheme, sizeof(scheme) - 1);
	base64(login, n, value + sizeof(scheme) - 1);
	proxy->authorization = value;
	return true;
}

/* --- the address -------------------------------------------------------------------------- */

static bool read_port(const char *s, size_t len, uint16_t *ret_port)
{
	unsigned port = 0;

	if (len == 0) {
		*ret_port = PORT_DEFAULT;
		return true;
	}
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || i == 5) {
			return false;
		}
		port = port * 10 + (unsigned)(s[i] - '0');
	}
	*ret_port = (uint16_t)port;
	return port >= 1 && port <= 65535;
}

/* "host", "host:port", "[v6]:port". */
static const char *read_address(const char *s, size_t len, struct proxy *proxy)
{
	const char *close = len > 0 && s[0] == '[' ? memchr(s, ']', len) : NULL;
	const char *from = close != NULL ? close + 1 : s;
	const char *colon = memchr(from, ':', len - (size_t)(from - s));
	size_t host = colon != NULL ? (size_t)(colon - s) : len;

	if (!host_normal(s, host, proxy->host)) {
		return "its host cannot be read";
	}
	if (colon == NULL) {
		proxy->port = PORT_DEFAULT;
		return NULL;
	}
	return read_port(colon + 1, len - host - 1, &proxy->port)
		       ? NULL
		       : "its port is no number from 1 to 65535";
}

static bool scheme_is(const char *s, size_t len, const char *scheme)
{
	return strlen(scheme) == len && strncasecmp(s, scheme, len) == 0;
}

/* "http://user:password@host:port/", of which only the host must be there. */
static bool read_proxy(const char *name, const char *value, struct arena *arena,
		       struct proxy **ret_proxy, struct err *err)
{
	struct proxy *proxy = arena_alloc(arena, sizeof(*proxy));
	const char *scheme = strstr(value, "://");
	const char *s = scheme != NULL ? scheme + 3 : value;
	size_t len = strcspn(s, "/?#");
	const char *at = memrchr(s, '@', len);

	if (scheme != NULL && scheme_is(value, (size_t)(scheme - value), "https")) {
		return unreadable(name, "it names a proxy that is reached by https://", err);
	}
	if (scheme != NULL && strncasecmp(value, "socks", 5) == 0) {
		return unreadable(name, "it names a SOCKS proxy", err);
	}
	if (scheme != NULL && !scheme_is(value, (size_t)(scheme - value), "http")) {
		return unreadable(name, "it is no http:// URL", err);
	}
	if (at != NULL) {
		if (!read_login(s, (size_t)(at - s), arena, proxy)) {
			return unreadable(name, "its user name and password are too long", err);
		}
		len -= (size_t)(at + 1 - s);
		s = at + 1;
	}
	const char *why = read_address(s, len, proxy);
	if (why != NULL) {
		return unreadable(name, why, err);
	}
	*ret_proxy = proxy;
	return true;
}

bool upstream_read(char *const *envp, struct arena *arena, struct upstream *ret_upstream,
		   struct err *err)
{
	static const char *const https[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
					    NULL};
	static const char *const http[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY",
					   NULL};
	/* Where a web server runs lnk, HTTP_PROXY is what a request's header Proxy says. */
	static const char *const http_of_cgi[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
	static const char *const no[] = {"no_proxy", "NO_PROXY", NULL};
	struct upstream upstream = {.https = NULL};
	const char *name = NULL;
	const char *value = first_set(envp, https, &name);

	if (value != NULL && !read_proxy(name, value, arena, &upstream.https, err)) {
		return false;
	}
	value = first_set(envp, look_up(envp, "REQUEST_METHOD") != NULL ? http_of_cgi : http,
			  &name);
	if (value != NULL && !read_proxy(name, value, arena, &upstream.http, err)) {
		return false;
	}
	value = first_set(envp, no, &name);
	upstream.no_proxy = value != NULL ? arena_strdup(arena, value) : NULL;
	*ret_upstream = upstream;
	return true;
}
