/* Bytes both ways between two sockets, until both halves ended. Half-close is passed on. At most
 * GATE_CALL_LATE bytes wait in a call; a peer that does not read stops the other one. */
#ifndef LNK_GATE_RELAY_H
#define LNK_GATE_RELAY_H

#include "gate/gate.h"

struct relay;
/* Called once, never from inside relay_start: both halves ended (0) or one broke (errno value). The
 * descriptors are still open and the caller's. */
typedef void relay_done(void *context, int sys);

/* `first` (len bytes) goes to `b` before anything else, `first_back` to `a`. NULL: memory is out.
 */
struct relay *relay_start(struct gate *gate, int a, int b, const void *first, size_t len,
			  const void *first_back, size_t len_back, relay_done *done, void *context);
void relay_stop(struct relay *relay);
/* Bytes from a to b and from b to a so far. */
void relay_counts(const struct relay *relay, uint64_t *ret_sent, uint64_t *ret_received);

#endif
