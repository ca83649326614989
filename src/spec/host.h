/* Host names and addresses as they come from outside (requests, server names, URLs), read into the
 * one form that the spec's entries have, and matched with those. Pure; every byte is hostile. */
#ifndef LNK_SPEC_HOST_H
#define LNK_SPEC_HOST_H

#include "spec/values.h"

#include <stdbool.h>
#include <stddef.h>

/* The longest host name in text form, RFC 1035 section 2.3.4, with the NUL. */
#define HOST_MAX 254

/* Reads a host as it stands in a Host header, a server name or a URL into normal form: lower case,
 * one dot at the end dropped, brackets off an IPv6 address. False when it is no host: empty, over
 * 253 bytes, labels of 0 or over 63 bytes, other bytes than [a-z0-9_-.], numeric oddities
 * (0177.1, 1.2.3); `out` is empty then. */
bool host_normal(const char *s, size_t len, char out[HOST_MAX]);

/* True when an entry of hosts ("*", "*.name", a name or an address, in normal form) is `host` or a
 * wildcard over it. "*.name" is not the name itself. */
bool host_matches(const char *pattern, const char *host);

/* True when inet_aton(3) and browsers would read the last label as a number, so that the whole is
 * an address to them (WHATWG URL, "ends in a number"). `name` in lower case. */
bool host_ends_in_number(const char *name);

/* "localhost" and what lies below it, RFC 6761 section 6.3. `name` in lower case. */
bool host_is_local_name(const char *name);

#endif
