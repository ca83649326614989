/* Bytes both ways between two sockets, until both halves ended. Half-close is passed on. At most
 * GATE_CALL_LATE bytes wait in a call; a peer that does not read stops the other one.
 *
 * Small pieces are copied through one buffer that all relays share. Where they come in bulk,
 * splice(2) moves them through a pipe that is lent for the moment (pipes.h), so that an idle call
 * holds its two descriptors and nothing else. In one turn of the loop a relay moves RELAY_TURN
 * bytes each way at most. */
#ifndef LNK_GATE_RELAY_H
#define LNK_GATE_RELAY_H

#include "gate/gate.h"

#define RELAY_TURN (256UL * 1024UL)
/* After a reset the bytes that came before it are still passed on, until the other side takes none
 * of them for so long. */
#define RELAY_DRAIN_MS 5000

struct relay;
/* Called once, never from inside relay_start: both halves ended (0) or one broke (errno value). The
 * descriptors are still open and the caller's; the relay is there until relay_stop. */
typedef void relay_done(void *context, int sys);

/* `first` (len bytes) goes to `b` before anything else, `first_back` to `a`; both are copied. NULL:
 * memory is out. */
struct relay *relay_start(struct gate *gate, int a, int b, const void *first, size_t len,
			  const void *first_back, size_t len_back, relay_done *done, void *context);
/* Ends it, at any time, and frees it. NULL is fine. */
void relay_stop(struct relay *relay);
/* Bytes from a to b and from b to a so far. */
void relay_counts(const struct relay *relay, uint64_t *ret_sent, uint64_t *ret_received);

#endif
