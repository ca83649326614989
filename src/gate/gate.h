/* Inside gate/: the gate's one state, and the limits it holds to. One libuv loop; the resolver's
 * threads (resolver_inner.h) run getaddrinfo and nothing else. */
#ifndef LNK_GATE_GATE_H
#define LNK_GATE_GATE_H

#include "base/arena.h"
#include "gate/decisions.h"
#include "gate/names.h"
#include "gate/pipes.h"
#include "gate/policy.h"
#include "gate/rate.h"
#include "gate/resolver.h"
#include "gate/upstream.h"
#include "plan/netplan.h"

#include <uv.h>

/* Calls open at one time; the next waits in the listen queue. Fewer where RLIMIT_NOFILE is small:
 * a call needs two descriptors. */
#define GATE_CALLS_MAX 10000
/* Memory of one call before its first byte is passed on, and after. */
#define GATE_CALL_EARLY (64UL * 1024UL)
#define GATE_CALL_LATE  (256UL * 1024UL)
/* Bodies for model runtimes, which are gathered whole, of all calls together: 503 beyond. */
#define GATE_BODIES_MAX (128UL * 1024UL * 1024UL)
/* A ClientHello or a request's head must be complete this long after the call began. */
#define GATE_FIRST_MS 10000

struct call; /* call.h */

struct gate {
	uv_loop_t loop;
	struct arena arena;
	struct net_plan plan;
	struct policy *policy;
	struct names *names;
	struct decisions *decisions;
	struct resolver *resolver;
	struct upstream upstream;
	struct rate rate;
	bool ask;           /* calls are judged, told and closed: nothing is dialled */
	int routes;         /* address_routes_open */
	int door;           /* to init, for sockets of --publish */
	struct call *calls; /* all that are open */
	unsigned ncalls, max_calls;
	size_t bodies; /* bytes held by the sessions of models */
	struct pipes pipes;
};

#endif
