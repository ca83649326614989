/* A connection to a judged name or address: looked up, classed, and the vetted address dialled;
 * both families, the fastest first (RFC 8305); by the upstream proxy where there is one. */
#ifndef LNK_GATE_DIAL_H
#define LNK_GATE_DIAL_H

#include "gate/gate.h"

/* Next address after this long without an answer; all of it at most. */
#define DIAL_NEXT_MS 250
#define DIAL_MS      30000

struct dial;
struct dial_result {
	int fd; /* connected, non-blocking, owned by the callee of `done`; -1: failed */
	struct verdict verdict;    /* of the address; refused: why */
	int sys;                   /* errno value of the last failed connect, or 0 */
	const struct proxy *proxy; /* the upstream proxy that was dialled instead; NULL: none. For
				      TLS and raw calls the tunnel is open already. */
};
typedef void dial_done(void *context, const struct dial_result *result);

/* `name` NULL: only `addr`. `section` GATE_LOCALHOST: 127.0.0.1 and ::1 of this machine at `port`,
 * of which the one that `addr` says goes first. `done` is called once, never from inside this
 * function; not after dial_cancel. NULL when memory is out. */
struct dial *dial_start(struct gate *gate, const char *name, const struct addr *addr, uint16_t port,
			const struct verdict *verdict, dial_done *done, void *context);
void dial_cancel(struct dial *dial);

#endif
