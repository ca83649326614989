/* The proxy of the user's own environment, for machines that have no other way out: HTTPS_PROXY,
 * HTTP_PROXY, ALL_PROXY (http:// only, lower case names first as curl has it), NO_PROXY. */
#ifndef LNK_GATE_UPSTREAM_H
#define LNK_GATE_UPSTREAM_H

#include "base/arena.h"
#include "base/err.h"
#include "gate/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct proxy {
	char host[HOST_MAX];
	uint16_t port;
	const char *authorization; /* "Basic ..." or NULL */
};

struct upstream {
	struct proxy *https, *http; /* NULL: go straight out */
	const char *no_proxy;       /* the list as written */
};

/* Reads them out of an environment. A variable that cannot be read (socks5://, a bad port) is an
 * error that names it, not its value: the value may hold a password. */
bool upstream_read(char *const *envp, struct arena *arena, struct upstream *ret_upstream,
		   struct err *err);

/* The proxy for a call to `host`:`port` (plain HTTP or not), or NULL: go straight. NO_PROXY: "*",
 * names (which cover what is below them), ".name", addresses, ranges, each with an optional port.
 */
const struct proxy *upstream_for(const struct upstream *upstream, bool plain_http, const char *host,
				 uint16_t port);

/* The request that opens a tunnel, and its answer: > 0 the length of a good (2xx) answer's head, 0
 * more bytes are needed, -1 refused or broken, with `ret_status` the status code or 0. Source: RFC
 * 9110 9.3.6. */
#define UPSTREAM_CONNECT_MAX 2048
size_t upstream_connect_request(const struct proxy *proxy, const char *host, uint16_t port,
				char out[UPSTREAM_CONNECT_MAX]);
long upstream_connect_answer(const char *bytes, size_t len, unsigned *ret_status);

#endif
