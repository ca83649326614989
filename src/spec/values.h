/* What one value of a spec means: paths, hosts, tools, programs. Pure: text in, normal form out;
 * nothing is looked up on the machine. Every byte is hostile. */
#ifndef LNK_SPEC_VALUES_H
#define LNK_SPEC_VALUES_H

#include "base/arena.h"
#include "base/err.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where relative paths start, and whose rules hold. */
struct value_place {
	const char *folder; /* absolute, normalised */
	const char *home;   /* absolute, normalised; what "~" is */
	bool strict;        /* the value is in a file or beside one: ".." is refused. Otherwise ".."
			       takes away the part before it, by name, as the shell's `cd` does. */
};

/* Fills `item` (text, path, number, folder; not `from`) from the `len` bytes at `s`, which a NUL
 * follows, by the type of `key`. Keys of numbers and booleans take their flag's text. False: err
 * has code ERR_SPEC, message and hint, and no position. Strings live in `arena`, or are `s`. */
bool value_read(enum spec_key key, const char *s, size_t len, const struct value_place *place,
		struct arena *arena, struct spec_item *item, struct err *err);

/* The same for a number that TOML has read. */
bool value_number(enum spec_key key, int64_t number, struct spec_item *item, struct err *err);

/* Joins `name` to `folder` unless it is absolute, takes out "//" and "/./" and a slash at the end;
 * ".." takes away the part before it. `folder` must be absolute. For names that the user typed
 * for lnk itself; paths of a spec go through value_read. */
const char *value_join(const char *folder, const char *name, struct arena *arena);

/* Both keep `s` where it is in normal form already, so it must live as long as `arena`.
 *
 * A host of `key` (INTERNET_HOSTS, LAN_HOSTS, BROWSER_HOSTS) in normal form: lower case, no dot at
 * the end, addresses as inet_ntop writes them, ranges as ADDRESS/LENGTH. */
bool value_host(enum spec_key key, const char *s, size_t len, struct arena *arena,
		const char **ret_host, struct err *err);

/* "host:port", "[v6]:port" of INTERNET_TCP. The host is a name or a public address. */
bool value_host_port(const char *s, size_t len, struct arena *arena, const char **ret_host,
		     int64_t *ret_port, struct err *err);

/* Puts `s` (len bytes, may hold NULs) between quotes for a message: printable, cut to ~60 bytes. */
#define VALUE_SHOWN_MAX 96
const char *value_shown(const char *s, size_t len, char out[VALUE_SHOWN_MAX]);

/* --- addresses ---------------------------------------------------------------------------- */

/* By the IANA special-purpose address registries (RFC 6890 and its updates). */
enum addr_class {
	ADDR_PUBLIC,     /* globally reachable unicast */
	ADDR_PRIVATE,    /* RFC 1918, fc00::/7: what [lan] "*" opens */
	ADDR_SHARED,     /* 100.64.0.0/10, RFC 6598: [lan] only when listed */
	ADDR_LINK_LOCAL, /* 169.254.0.0/16, fe80::/10: [lan] only when listed */
	ADDR_LOOPBACK,   /* 127.0.0.0/8, ::1 */
	ADDR_CARRIER,    /* stands for an IPv4 address: NAT64, 6to4, Teredo, compatible */
	ADDR_RESERVED,   /* no host has it: documentation, multicast, benchmarking … */
};

struct addr {
	bool v6;
	unsigned char b[16]; /* network order; the first 4 of IPv4 */
};

/* Reads an address literal, IPv4 as four decimal numbers only. v4-mapped IPv6 (::ffff:1.2.3.4)
 * becomes the IPv4 address. False when it is none; `s` needs a NUL at its end. */
bool addr_parse(const char *s, struct addr *ret_addr);

/* Its class; `*ret_why` says what a special one is for ("documentation"); static. */
enum addr_class addr_classify(const struct addr *addr, const char **ret_why);

/* True when the first `bits` bits of both are the same. Both of one family. */
bool addr_same_prefix(const struct addr *a, const struct addr *b, unsigned bits);

#endif
