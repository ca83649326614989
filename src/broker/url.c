#include "broker/url.h"

#include "base/str.h"
#include "base/testguard.h"

#include <stdio.h>
#include <string.h>

#define PORT_MAX 65535U

/* Where the written form grows. */
struct writer {
	char *out; /* URL_MAX + 1 bytes */
	size_t n;
	bool full;
};

static void put(struct writer *w, const char *s, size_t len)
{
	if (w->full || len > URL_MAX - w->n) {
		w->full = true;
		return;
	}
	memcpy(w->out + w->n, s, len);
	w->n += len;
	w->out[w->n] = '\0';
}

static void put_text(struct writer *w, const char *s)
{
	put(w, s, strlen(s));
}

static void put_encoded(struct writer *w, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char coded[] = {'%', digits[c >> 4], digits[c & 15]};

	put(w, coded, sizeof(coded));
}

/* --- refusals ----------------------------------------------------------------------------- */

static bool refused(struct err *err, const char *why)
{
	err_set(err, ERR_SPEC, 0, "%s", why);
	return err_hint(err, "addresses are opened that look like https://github.com/login");
}

static bool scheme_refused(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	const char *colon = memchr(s, ':', len);

	if (colon == NULL || memchr(s, '/', (size_t)(colon - s)) != NULL) {
		return refused(err, "it is no address of a page");
	}
	err_set(err, ERR_SPEC, 0,
		"only http and https addresses are opened, and this one begins "
		"with %s",
		value_shown(s, (size_t)(colon - s) + 1, shown));
	return err_hint(err, "addresses are opened that look like https://github.com/login");
}

/* --- bytes -------------------------------------------------------------------------------- */

/* Refuses what no address holds, and what is not what it seems when it is shown. */
static bool bytes_allowed(const char *s, size_t len, struct err *err)
{
	char copy[URL_MAX + 1];
	/* str_printable changes what is not UTF-8, and what moves a cursor or reorders text. */
	char shown[URL_MAX + 16];

	if (len == 0) {
		return refused(err, "it is empty");
	}
	if (len > URL_MAX) {
		return refused(err, "it is longer than 2,048 bytes");
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c == 0x7f) {
			return refused(err, "it holds a control character");
		}
		if (c == ' ' || c == '\\') {
			return refused(err, c == ' ' ? "it holds a space" : "it holds a backslash");
		}
		copy[i] = s[i];
	}
	copy[len] = '\0';
	str_printable(copy, shown, sizeof(shown));
	return str_eq(copy, shown) ||
	       refused(err, "it holds bytes that cannot be shown as they are");
}

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* RFC 3986 section 2.3. */
static bool unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("-._~", c) != NULL);
}

/* What stands in a path, query or fragment as it is: what is neither unreserved nor one of the
 * delimiters (without "'") is percent-encoded by browsers in one of the three at least. */
static bool plain(unsigned char c)
{
	return unreserved(c) || (c != '\0' && strchr("!$&()*+,;=:@/?", c) != NULL);
}

/* Path, query and fragment: everything behind the authority. */
static bool read_rest(const char *s, size_t len, struct writer *w, struct err *err)
{
	bool fragment = false;

	if (len == 0 || s[0] != '/') {
		put_text(w, "/");
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '%') {
			int high = i + 2 < len ? hex(s[i + 1]) : -1;
			int low = i + 2 < len ? hex(s[i + 2]) : -1;

			if (high < 0 || low < 0) {
				return refused(err, "it holds a \"%\" without two hexadecimal "
						    "digits");
			}
			c = (unsigned char)(high << 4 | low);
			i += 2;
			if (unreserved(c)) {
				put(w, (const char *)&c, 1);
			} else {
				put_encoded(w, c);
			}
		} else if (plain(c) || (c == '#' && !fragment)) {
			fragment = fragment || c == '#';
			put(w, (const char *)&c, 1);
		} else {
			put_encoded(w, c);
		}
	}
	return true;
}

/* --- the authority ------------------------------------------------------------------------ */

static bool read_port(const char *s, size_t len, bool https, struct writer *w, struct err *err)
{
	unsigned port = 0;
	char text[16];

	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || port > PORT_MAX) {
			return refused(err, "its port is no number up to 65535");
		}
		port = port * 10 + (unsigned)(s[i] - '0');
	}
	if (port == 0 || port > PORT_MAX) {
		return refused(err, "its port is no number from 1 to 65535");
	}
	if (port != (https ? 443U : 80U)) {
		snprintf(text, sizeof(text), ":%u", port);
		put_text(w, text);
	}
	return true;
}

static bool host_refused(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] >= 0x80) {
			err_set(err, ERR_SPEC, 0, "its host %s is not in ASCII",
				value_shown(s, len, shown));
			return err_hint(err, "write the host's xn-- form");
		}
	}
	err_set(err, ERR_SPEC, 0, "its host %s is none", value_shown(s, len, shown));
	return err_hint(err, "a host is a name (\"github.com\"), or an address in its usual form");
}

/* Host and port, `len` bytes. */
static bool read_authority(const char *s, size_t len, bool https, struct url *url, struct writer *w,
			   struct err *err)
{
	struct addr a;
	size_t host = 0;

	if (memchr(s, '@', len) != NULL) {
		return refused(err, "it has a user's name in it, which can pass for the host");
	}
	if (len > 0 && s[0] == '[') {
		const char *end = memchr(s, ']', len);

		host = end == NULL ? len : (size_t)(end - s) + 1;
	} else {
		const char *colon = memchr(s, ':', len);

		host = colon == NULL ? len : (size_t)(colon - s);
	}
	/* Dialogs and programs that are asked with take a "-" in front for an option. */
	if (!host_normal(s, host, url->host) || url->host[0] == '-' ||
	    (host < len && s[host] != ':')) {
		return host_refused(s, len, err);
	}
	url->address = addr_parse(url->host, &a);
	bool v6 = url->address && a.v6;
	put_text(w, v6 ? "[" : "");
	put_text(w, url->host);
	put_text(w, v6 ? "]" : "");
	return host == len || read_port(s + host + 1, len - host - 1, https, w, err);
}

/* The length of "http://" or "https://" in any case; 0: neither. */
static size_t scheme_of(const char *s, size_t len, bool *ret_https)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i]);
		size_t k = 0;

		while (k < n && k < len &&
		       (s[k] >= 'A' && s[k] <= 'Z' ? s[k] + ('a' - 'A') : s[k]) == schemes[i][k]) {
			k++;
		}
		if (k == n) {
			*ret_https = i == 1;
			return n;
		}
	}
	return 0;
}

bool url_read(const char *s, size_t len, struct url *ret_url, struct err *err)
{
	struct url url = {.text = ""};
	struct writer w = {.out = url.text};
	bool https = false;

	if (!bytes_allowed(s, len, err)) {
		return false;
	}
	size_t at = scheme_of(s, len, &https);
	if (at == 0) {
		return scheme_refused(s, len, err);
	}
	put_text(&w, https ? "https://" : "http://");
	size_t end = at;
	while (end < len && strchr("/?#", s[end]) == NULL) {
		end++;
	}
	if (!read_authority(s + at, end - at, https, &url, &w, err) ||
	    !read_rest(s + end, len - end, &w, err)) {
		return false;
	}
	if (w.full) {
		return refused(err, "it is longer than 2,048 bytes");
	}
	*ret_url = url;
	return true;
}

/* --- granted ------------------------------------------------------------------------------ */

/* Names of this machine in any /etc/hosts, besides those of RFC 6761. */
static bool is_this_machine(const struct url *url)
{
	static const char *const names[] = {"localhost.localdomain", "localhost6",
					    "localhost6.localdomain6", "ip6-localhost",
					    "ip6-loopback"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_eq(url->host, names[i])) {
			return true;
		}
	}
	return host_is_local_name(url->host);
}

static bool special_refused(const struct url *url, struct err *err)
{
	const char *why = NULL;
	struct addr a;

	if (is_this_machine(url)) {
		err_set(err, ERR_SPEC, 0, "%s is this machine, which [browser] does not open",
			url->host);
		return err_hint(err, "open it yourself where you trust it");
	}
	if (url->address && addr_parse(url->host, &a) && addr_classify(&a, &why) != ADDR_PUBLIC) {
		err_set(err, ERR_SPEC, 0, "%s is not a public address (%s)", url->host, why);
		return err_hint(err, "name the machine instead, in [browser] hosts and in the "
				     "address");
	}
	return true;
}

const struct net_host *url_granted(const struct url *url, const struct net_host *hosts, size_t n,
				   struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(hosts[i].pattern, url->host) || !guard_on("pages")) {
			return &hosts[i];
		}
	}
	if (!special_refused(url, err)) {
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		if (host_matches(hosts[i].pattern, url->host)) {
			return &hosts[i];
		}
	}
	err_set(err, ERR_SPEC, 0, "no line of [browser] names %s", url->host);
	err_hint(err, "add to [browser]: hosts = [..., \"%s\"]", url->host);
	return NULL;
}
