/* A connection to a judged name or address: looked up, classed, and the vetted address dialled;
 * both families, the fastest first (RFC 8305); by the upstream proxy where there is one. */
#ifndef LNK_GATE_DIAL_H
#define LNK_GATE_DIAL_H

#include "gate/gate.h"

/* Next address after this long without an answer; all of it at most. */
#define DIAL_NEXT_MS 250
#define DIAL_MS      30000
/* So many addresses of one name are tried at one time: each costs a descriptor. When one more is
 * due, the oldest is given up, but not before it had DIAL_LONG_MS. */
#define DIAL_AT_ONCE 3
#define DIAL_LONG_MS 2000

struct dial;
struct dial_result {
	int fd; /* connected, non-blocking, owned by the callee of `done`; -1: failed */
	struct verdict verdict;    /* of the address; refused: why */
	int sys;                   /* errno value of the last failed connect, or 0 */
	int unknown;               /* UV_EAI_*: the name could not be looked up; or 0 */
	const struct proxy *proxy; /* the upstream proxy that was dialled instead; NULL: none. For
				      TLS and raw calls the tunnel is open already. */
	bool tunnel;               /* failed: the proxy was reached, and did not open the tunnel */
	unsigned proxy_status;     /* of its answer then; 0: it gave none that can be read */
};
typedef void dial_done(void *context, const struct dial_result *result);

/* Which section a call to a name belongs to, and how its bytes are judged, now that its addresses
 * are known: `granted` is policy_call_name's verdict. The verdict of the first address that may be
 * dialled, one of the same section before others; when there are addresses and none may, the
 * refusal of the first. `granted` itself when there are none (nobody knows the name, or only the
 * proxy does). Pure but for the kernel's routes (address_is_own). */
void dial_judge(const struct gate *gate, const char *name, uint16_t port,
		const struct resolved *resolved, const struct verdict *granted,
		struct verdict *ret_verdict);

/* The proxy by which such a call goes out, or NULL: `host` is the name or the text of the address,
 * `verdict` what dial_judge or policy_call_address said. [lan] and [localhost] never go by one. */
const struct proxy *dial_proxy(const struct gate *gate, const char *host, uint16_t port,
			       const struct verdict *verdict);

/* `name` NULL: only `addr`. `verdict` is the final one: only addresses of its section are dialled.
 * GATE_LOCALHOST: 127.0.0.1 and ::1 of this machine at `port`, of which the one that `addr` says
 * goes first. `done` is called once, never from inside this function; not after dial_cancel. NULL
 * when memory is out. Through a proxy the proxy looks the name up. */
struct dial *dial_start(struct gate *gate, const char *name, const struct addr *addr, uint16_t port,
			const struct verdict *verdict, dial_done *done, void *context);
/* NULL is fine. */
void dial_cancel(struct dial *dial);

#endif
