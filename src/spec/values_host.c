/* Hosts: names, "*.name", "*", address literals and ranges, and which section each belongs to.
 * Names follow RFC 1123 with "_" added, as resolvers take them. */
#include "base/str.h"
#include "spec/host.h"
#include "spec/values_inner.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX  253
#define LABEL_BYTES_MAX 63
/* Longest text that can be meant as a host: "*." + name + ".", or an address with its range. */
#define HOST_BYTES_MAX (NAME_BYTES_MAX + 3)

static const char *section_of(enum spec_key key)
{
	return spec_sections[spec_keys[key].section].name;
}

/* --- texts that are not a host, but look as if they were meant as one ---------------------- */

static bool not_ascii(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	err_set(err, ERR_SPEC, 0, "%s is not in ASCII", value_shown(s, len, shown));
	return err_hint(err, "write its xn-- form, as in \"xn--bcher-kva.example\" for "
			     "bücher.example");
}

static bool not_a_host(const char *s, size_t len, const char *why, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	err_set(err, ERR_SPEC, 0, "%s is not a host: %s", value_shown(s, len, shown), why);
	return err_hint(err,
			"a host is a name (\"api.example.com\"), \"*.\" and a name, an address, or "
			"\"*\" alone");
}

/* "https://github.com/x", "user@host", "github.com/x": the host in it for the hint. */
static bool url_refused(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	const char *scheme = strstr(s, "://");
	const char *host = scheme != NULL ? scheme + 3 : s;
	size_t n = strcspn(host, "/?#");
	const char *at = memchr(host, '@', n);

	if (at != NULL) {
		n -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	err_set(err, ERR_SPEC, 0, "%s is not a host alone", value_shown(s, len, shown));
	if (n == 0) {
		return err_hint(err, "write the host's name: \"github.com\"");
	}
	return err_hint(err, "write the host without the rest: %s", value_shown(host, n, shown));
}

static bool port_refused(enum spec_key key, const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	size_t n = strcspn(s, ":");

	err_set(err, ERR_SPEC, 0, "%s: hosts take no port", value_shown(s, len, shown));
	value_shown(s, n, shown);
	if (key == SPEC_INTERNET_HOSTS) {
		return err_hint(err,
				"write %s, which opens HTTPS and HTTP; another port of it goes "
				"into tcp as \"host:port\"",
				shown);
	}
	return err_hint(err, "write %s: %s", shown,
			key == SPEC_LAN_HOSTS ? "any TCP port of it is open then"
					      : "its pages are meant, on any port");
}

/* --- names -------------------------------------------------------------------------------- */

static bool label_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Checks the labels of a lower-case name without its last dot. */
static bool labels_allowed(const char *name, const char **ret_why)
{
	size_t n = strlen(name);

	if (n > NAME_BYTES_MAX) {
		*ret_why = "a name has at most 253 bytes";
		return false;
	}
	for (const char *p = name;;) {
		size_t label = strcspn(p, ".");

		if (label == 0) {
			*ret_why =
				n == 0 ? "it is empty" : "there is nothing between two of its dots";
			return false;
		}
		if (label > LABEL_BYTES_MAX) {
			*ret_why = "a part between dots has at most 63 bytes";
			return false;
		}
		for (size_t i = 0; i < label; i++) {
			if (!label_char((unsigned char)p[i])) {
				*ret_why = p[i] == '*'
						   ? "\"*\" may only stand before the first dot, "
						     "for all of it"
						   : "letters, digits, \"-\", \"_\" and dots only";
				return false;
			}
		}
		if (p[label] == '\0') {
			return true;
		}
		p += label + 1;
	}
}

static bool number_refused(const char *s, size_t len, const char *name, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	struct in_addr in;

	err_set(err, ERR_SPEC, 0, "%s looks like an address, and is not written as one",
		value_shown(s, len, shown));
	/* inet_aton(3) reads the old forms; what it makes of this one is what is meant. */
	if (name != NULL && inet_aton(name, &in) == 1) {
		char dotted[INET_ADDRSTRLEN];

		return err_hint(err, "write four decimal numbers; programs take this for %s",
				inet_ntop(AF_INET, &in, dotted, sizeof(dotted)));
	}
	return err_hint(err, "write four decimal numbers from 0 to 255 without leading zeros, or a "
			     "name that does not end in a number");
}

static bool local_refused(enum spec_key key, const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	err_set(err, ERR_SPEC, 0, "%s is this machine, which [%s] does not open",
		value_shown(s, len, shown), section_of(key));
	if (key == SPEC_BROWSER_HOSTS) {
		return err_hint(err,
				"[browser] is for pages of other machines; ports of this one are "
				"opened by [localhost] ports");
	}
	return err_hint(err, "open a port of this machine instead: [localhost] ports = [8080]");
}

/* --- addresses ---------------------------------------------------------------------------- */

static const char *addr_text(const struct addr *a, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(a->v6 ? AF_INET6 : AF_INET, a->b, text, sizeof(text)) == NULL) {
		return "";
	}
	return arena_strdup(arena, text);
}

/* Where the clouds' metadata services answer (AWS, Azure, Google and more; AWS on IPv6; Alibaba).
 */
static bool is_metadata(const char *text)
{
	return str_eq(text, "169.254.169.254") || str_eq(text, "fd00:ec2::254") ||
	       str_eq(text, "100.100.100.200");
}

/* An address that [lan] holds, in another section. */
static bool belongs_in_lan(enum spec_key key, const char *shown, const char *text, const char *why,
			   struct err *err)
{
	err_set(err, ERR_SPEC, 0, "%s is not a public address (%s), and [%s] opens only those",
		shown, why, section_of(key));
	if (is_metadata(text)) {
		return err_hint(err, "a cloud's metadata service answers there and hands out this "
				     "machine's logins: leave it closed");
	}
	if (key == SPEC_BROWSER_HOSTS) {
		return err_hint(err, "give the machine's name instead, as in \"nas.local\"");
	}
	return err_hint(err, "machines of your network are opened by [lan]: hosts = [\"%s\"]%s",
			text, key == SPEC_INTERNET_TCP ? ", with any TCP port" : "");
}

static bool address_allowed(enum spec_key key, const char *s, size_t len, const struct addr *a,
			    const char *text, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	const char *why = NULL;

	switch (addr_classify(a, &why)) {
	case ADDR_PUBLIC:
		if (key != SPEC_LAN_HOSTS) {
			return true;
		}
		err_set(err, ERR_SPEC, 0,
			"%s is a public address, and [lan] opens only private ones",
			value_shown(s, len, shown));
		return err_hint(err, "public hosts are opened by [internet]: hosts = [\"%s\"]",
				text);
	case ADDR_PRIVATE:
	case ADDR_SHARED:
	case ADDR_LINK_LOCAL:
		return key == SPEC_LAN_HOSTS ||
		       belongs_in_lan(key, value_shown(s, len, shown), text, why, err);
	case ADDR_LOOPBACK:
		return local_refused(key, s, len, err);
	case ADDR_CARRIER:
		err_set(err, ERR_SPEC, 0, "%s stands for another address (%s)",
			value_shown(s, len, shown), why);
		return err_hint(err,
				"write the IPv4 address that it stands for, or the host's name");
	case ADDR_RESERVED:
	default:
		err_set(err, ERR_SPEC, 0, "%s is an address that no host has: it is %s",
			value_shown(s, len, shown), why);
		return err_hint(err, "write the address or the name of the host that is meant");
	}
}

/* --- ranges ------------------------------------------------------------------------------- */

/* "24" → 24, at most `max`. False for anything but plain decimal. */
static bool prefix_length(const char *s, unsigned max, unsigned *ret_bits)
{
	size_t n = strlen(s);
	unsigned bits = 0;

	if (n == 0 || n > 3 || strspn(s, "0123456789") != n || (s[0] == '0' && n > 1)) {
		return false;
	}
	for (; *s != '\0'; s++) {
		bits = bits * 10 + (unsigned)(*s - '0');
	}
	*ret_bits = bits;
	return bits <= max;
}

static void clear_host_bits(struct addr *a, unsigned bits)
{
	for (unsigned i = bits / 8; i < (a->v6 ? 16U : 4U); i++) {
		unsigned keep = i == bits / 8 ? bits % 8 : 0;

		a->b[i] &= (unsigned char)(0xff00U >> keep);
	}
}

/* A range is one of your network's when it lies whole in a private, shared or link-local block:
 * both of its ends are of one such class, and no other block lies between. */
static bool range_is_private(const struct addr *first, unsigned bits)
{
	static const struct {
		struct addr at;
		unsigned bits;
	} blocks[] = {
		{{.b = {10}}, 8},
		{{.b = {172, 16}}, 12},
		{{.b = {192, 168}}, 16},
		{{.b = {100, 64}}, 10},
		{{.b = {169, 254}}, 16},
		{{.v6 = true, .b = {0xfc}}, 7},
		{{.v6 = true, .b = {0xfe, 0x80}}, 10},
	};

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		if (blocks[i].at.v6 == first->v6 && bits >= blocks[i].bits &&
		    addr_same_prefix(first, &blocks[i].at, blocks[i].bits)) {
			return true;
		}
	}
	return false;
}

static bool range_refused(const char *s, size_t len, const struct addr *first, unsigned bits,
			  struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	const char *why;
	enum addr_class class = addr_classify(first, &why);

	if (class == ADDR_LOOPBACK) {
		return local_refused(SPEC_LAN_HOSTS, s, len, err);
	}
	err_set(err, ERR_SPEC, 0, "%s is not a range of private addresses",
		value_shown(s, len, shown));
	if (bits == 0) {
		return err_hint(err,
				"for every private range write hosts = [\"*\"]; public hosts are "
				"opened by [internet]");
	}
	return err_hint(err, "[lan] takes ranges in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and "
			     "fc00::/7; public hosts are opened by [internet], by name");
}

/* `slash` divides `text` (a NUL-terminated copy of s) into address and length. */
static bool read_range(const char *s, size_t len, char *text, char *slash, struct arena *arena,
		       const char **ret_host, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	struct addr given;
	struct addr first;
	unsigned bits = 0;

	*slash = '\0';
	/* A mapped address has become IPv4, and its length counted 128 bits. */
	if (!addr_parse(text, &given) || (!given.v6 && strchr(text, ':') != NULL) ||
	    !prefix_length(slash + 1, given.v6 ? 128 : 32, &bits)) {
		err_set(err, ERR_SPEC, 0, "%s is not a range of addresses",
			value_shown(s, len, shown));
		return err_hint(err, "write its first address and how many bits are fixed: "
				     "\"192.168.1.0/24\"");
	}
	first = given;
	clear_host_bits(&first, bits);
	const char *canonical = arena_printf(arena, "%s/%u", addr_text(&first, arena), bits);
	if (memcmp(first.b, given.b, sizeof(first.b)) != 0) {
		err_set(err, ERR_SPEC, 0, "%s does not begin where a /%u begins",
			value_shown(s, len, shown), bits);
		return err_hint(err, "write \"%s\" for the range, or \"%s\" for the one machine",
				canonical, addr_text(&given, arena));
	}
	if (!range_is_private(&first, bits)) {
		return range_refused(s, len, &first, bits, err);
	}
	*ret_host = canonical;
	return true;
}

/* --- a host ------------------------------------------------------------------------------- */

/* A text with a slash: a range in [lan], else an address or a piece of a URL. */
static bool slash_host(enum spec_key key, const char *s, size_t len, char *text,
		       struct arena *arena, const char **ret_host, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	char *slash = strchr(text, '/');
	struct addr a;

	*slash = '\0';
	bool address =
		addr_parse(text, &a) || (host_ends_in_number(text) && strchr(text, ':') == NULL);
	*slash = '/';
	if (!address) {
		return url_refused(s, len, err);
	}
	if (key == SPEC_LAN_HOSTS) {
		return read_range(s, len, text, slash, arena, ret_host, err);
	}
	err_set(err, ERR_SPEC, 0, "%s is a range of addresses, and only [lan] takes those",
		value_shown(s, len, shown));
	return err_hint(err, key == SPEC_BROWSER_HOSTS
				     ? "name each host, or write hosts = [\"*\"]"
				     : "name each host, or move the range of your network to [lan] "
				       "hosts");
}

static bool colon_host(enum spec_key key, const char *s, size_t len, const char *text,
		       struct arena *arena, const char **ret_host, struct err *err)
{
	const char *colon = strchr(text, ':');
	struct addr a;

	if (addr_parse(text, &a)) {
		*ret_host = addr_text(&a, arena);
		return address_allowed(key, s, len, &a, *ret_host, err);
	}
	if (strchr(text, '%') != NULL) {
		return not_a_host(s, len, "an address with an interface (\"%\") is not taken", err);
	}
	if (colon != text && strchr(colon + 1, ':') == NULL) {
		return port_refused(key, s, len, err);
	}
	return not_a_host(s, len, "it has colons and is no IPv6 address", err);
}

/* A name, "*.name" or an IPv4 address, in lower case without its last dot. */
static bool name_host(enum spec_key key, const char *s, size_t len, const char *text,
		      struct arena *arena, const char **ret_host, struct err *err)
{
	bool wildcard = text[0] == '*' && text[1] == '.';
	const char *name = wildcard ? text + 2 : text;
	const char *why = NULL;
	struct addr a;

	if (!wildcard && addr_parse(text, &a)) {
		*ret_host = addr_text(&a, arena);
		return address_allowed(key, s, len, &a, *ret_host, err);
	}
	if (!labels_allowed(name, &why)) {
		return not_a_host(s, len, why, err);
	}
	if (host_ends_in_number(name)) {
		return number_refused(s, len, wildcard ? NULL : name, err);
	}
	if (host_is_local_name(name)) {
		return local_refused(key, s, len, err);
	}
	*ret_host = text;
	return true;
}

/* Refuses bytes that no host has. */
static bool bytes_allowed(const char *s, size_t len, struct err *err)
{
	if (len == 0) {
		return not_a_host(s, len, "it is empty", err);
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= 0x80) {
			return not_ascii(s, len, err);
		}
		if (c <= 0x20 || c == 0x7f) {
			return not_a_host(s, len,
					  c == ' ' ? "it holds a space"
						   : "it holds a control character",
					  err);
		}
	}
	return (len <= HOST_BYTES_MAX || strchr(s, '/') != NULL) ||
	       not_a_host(s, len, "a name has at most 253 bytes", err);
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* In lower case and without one dot at the end: `s` itself where it is so already, as nearly all
 * are, else a copy. */
static const char *fold(const char *s, size_t len, struct arena *arena)
{
	/* "*." is no "*". */
	bool dot = len > 1 && s[len - 1] == '.' && !str_eq(s, "*.");
	size_t upper = 0;

	while (upper < len && !is_upper(s[upper])) {
		upper++;
	}
	if (!dot && upper == len) {
		return s;
	}
	char *text = arena_strndup(arena, s, dot ? len - 1 : len);
	for (; text[upper] != '\0'; upper++) {
		if (is_upper(text[upper])) {
			text[upper] = (char)(text[upper] + ('a' - 'A'));
		}
	}
	return text;
}

bool value_host(enum spec_key key, const char *s, size_t len, struct arena *arena,
		const char **ret_host, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	if (!bytes_allowed(s, len, err)) {
		return false;
	}
	const char *text = fold(s, len, arena);
	if (str_eq(text, "*")) {
		*ret_host = text;
		return true;
	}
	if (strstr(text, "://") != NULL || strchr(text, '@') != NULL) {
		return url_refused(s, len, err);
	}
	if (strchr(text, '/') != NULL) {
		return slash_host(key, s, len, arena_strdup(arena, text), arena, ret_host, err);
	}
	if (text[0] == '[') {
		err_set(err, ERR_SPEC, 0, "%s: an address stands without brackets here",
			value_shown(s, len, shown));
		return err_hint(err, "write %s", value_shown(s + 1, strcspn(s + 1, "]"), shown));
	}
	if (strchr(text, ':') != NULL) {
		return colon_host(key, s, len, text, arena, ret_host, err);
	}
	return name_host(key, s, len, text, arena, ret_host, err);
}

/* --- host:port ---------------------------------------------------------------------------- */

static bool host_port_form(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	err_set(err, ERR_SPEC, 0, "%s is not a host and a port", value_shown(s, len, shown));
	return err_hint(err, "write them with a colon between: \"github.com:22\", "
			     "\"[2606:4700::1111]:22\"");
}

static bool read_port(const char *s, int64_t *ret_port)
{
	size_t n = strlen(s);
	int64_t port = 0;

	if (n == 0 || n > 5 || strspn(s, "0123456789") != n || s[0] == '0') {
		return false;
	}
	for (; *s != '\0'; s++) {
		port = port * 10 + (*s - '0');
	}
	*ret_port = port;
	return port <= 65535;
}

static bool bad_port(const char *s, size_t len, const char *port, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	err_set(err, ERR_SPEC, 0, "%s is not a port", value_shown(port, strlen(port), shown));
	return err_hint(err, "a port is a number from 1 to 65535: \"%.*s:22\"",
			len < 64 ? (int)(port - 1 - s) : 4, len < 64 ? s : "host");
}

bool value_host_port(const char *s, size_t len, struct arena *arena, const char **ret_host,
		     int64_t *ret_port, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	const char *colon;
	const char *host = s;
	size_t n;

	if (len == 0 || strlen(s) != len) {
		return host_port_form(s, len, err);
	}
	if (strstr(s, "://") != NULL || strchr(s, '/') != NULL || strchr(s, '@') != NULL) {
		return host_port_form(s, len, err);
	}
	if (s[0] == '[') {
		n = strcspn(s, "]");
		host = s + 1;
		colon = s[n] == ']' ? s + n + 1 : s + len;
		n = n > 0 ? n - 1 : 0;
		if (memchr(host, ':', n) == NULL) {
			return host_port_form(s, len, err);
		}
	} else {
		colon = strchr(s, ':');
		n = colon != NULL ? (size_t)(colon - s) : len;
		if (colon == NULL || strchr(colon + 1, ':') != NULL) {
			return host_port_form(s, len, err);
		}
	}
	if (*colon != ':' || n == 0) {
		return host_port_form(s, len, err);
	}
	if (memchr(host, '*', n) != NULL) {
		err_set(err, ERR_SPEC, 0, "%s: tcp takes no wildcards", value_shown(s, len, shown));
		return err_hint(err, "name each host: \"github.com:22\"");
	}
	if (!read_port(colon + 1, ret_port)) {
		return bad_port(s, len, colon + 1, err);
	}
	return value_host(SPEC_INTERNET_TCP, arena_strndup(arena, host, n), n, arena, ret_host,
			  err);
}
