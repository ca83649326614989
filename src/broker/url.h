/* Addresses that a program asks to open in the user's browser: read strictly and written in one
 * form, so that what the user is shown, what is granted and what the browser opens are the same.
 * Pure; every byte is hostile. */
#ifndef LNK_BROKER_URL_H
#define LNK_BROKER_URL_H

#include "base/err.h"
#include "plan/netplan.h"
#include "spec/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest, as given and as written. */
#define URL_MAX 2048

struct url {
	char text[URL_MAX + 1]; /* printable ASCII without spaces, quotes and backslashes */
	char host[HOST_MAX];    /* in normal form; an IPv6 address without brackets */
	bool address;           /* the host is an address */
};

/* Reads `len` bytes. Taken: http and https, by WHATWG URL and RFC 3986 where both agree. Refused:
 * other schemes, a user's name in it, backslashes, spaces, control characters, bidirectional
 * controls, bytes that are not UTF-8, hosts that are not ASCII or are numbers in disguise, a lone
 * "%". Written: scheme and host in lower case, no dot at the host's end, no default port, "/" for
 * an empty path; percent-encoded what browsers encode, quotes too, and decoded what needs it not
 * (RFC 3986 section 2.3). False: err has message and hint, without a position. */
bool url_read(const char *s, size_t len, struct url *ret_url, struct err *err);

/* The entry of [browser] hosts that grants it. NULL: err has message and hint. This machine, and
 * addresses that are not public, are not granted by wildcards. */
const struct net_host *url_granted(const struct url *url, const struct net_host *hosts, size_t n,
				   struct err *err);

#endif
