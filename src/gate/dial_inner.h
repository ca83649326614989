/* Inside gate/dial*.c only: the tunnel through an upstream proxy. */
#ifndef LNK_GATE_DIAL_INNER_H
#define LNK_GATE_DIAL_INNER_H

#include "gate/upstream.h"

#include <stdbool.h>
#include <uv.h>

struct tunnel;
/* `ok`: what comes from the socket now is the server's. Else `status` is the proxy's, 0 when it
 * gave none, and `sys` an errno value or 0. */
typedef void tunnel_done(void *context, bool ok, unsigned status, int sys);

/* Asks the proxy at the other end of `fd` (borrowed) for a tunnel. `done` is called once, never
 * from inside. NULL: memory is out, or the request does not fit. Source: RFC 9110 section 9.3.6. */
struct tunnel *tunnel_start(uv_loop_t *loop, int fd, const struct proxy *proxy, const char *host,
			    uint16_t port, tunnel_done *done, void *context);
/* To be called before `fd` is closed or used otherwise. NULL is fine. */
void tunnel_free(struct tunnel *tunnel);

#endif
