/* Names to addresses, outside: getaddrinfo(3) on threads of its own, so that hosts files, mDNS, VPN
 * and split DNS work; and the DNS service for the program. */
#ifndef LNK_GATE_RESOLVER_H
#define LNK_GATE_RESOLVER_H

#include "gate/decisions.h"
#include "gate/names.h"
#include "gate/policy.h"

#include <uv.h>

/* Addresses of one name that are kept. */
#define RESOLVED_MAX 16
/* How long an answer is used again, and a failure. */
#define RESOLVED_MS       10000
#define RESOLVE_FAILED_MS 2000

struct resolved {
	struct addr v[RESOLVED_MAX];
	unsigned n;
	int status; /* 0, or a UV_EAI_* error */
};

struct resolver;
struct resolver_config {
	uv_loop_t *loop;
	const struct policy *policy;
	struct names *names;
	struct decisions *decisions;
	int udp4, udp6, tcp4, tcp6; /* DNS sockets of the sandbox, owned from here on */
	bool proxied; /* everything goes out by an upstream proxy, which may be the only one that
			 knows the names (or calls are only asked for): a granted name is answered
			 even if it is unknown here */
};
struct resolver *resolver_start(const struct resolver_config *config);
void resolver_stop(struct resolver *resolver);

/* Looks a name up (or takes it from what was asked in the last seconds); `done` is called once,
 * maybe before this returns. At most 64 look-ups are under way; more wait in line, 4,096 at most,
 * then fail. */
typedef void resolver_done(void *context, const struct resolved *resolved);
void resolver_look_up(struct resolver *resolver, const char *name, resolver_done *done,
		      void *context);
/* Nobody waits any longer: `done` will not be called with this context. */
void resolver_forget(struct resolver *resolver, void *context);

#endif
