/* per_minute: the most calls to [internet] in a minute, on the monotonic clock. Whichever minute is
 * looked at, no more calls than that were let through in it: a bucket that is full at start and
 * refills meanwhile would let through twice as many. Calls are counted by quarters of a second, so
 * that one is forgotten 60 to 60.25 seconds after it was let through. */
#ifndef LNK_GATE_RATE_H
#define LNK_GATE_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_SLOT_MS 250
/* A minute and the quarter that has begun. */
#define RATE_SLOTS (60000 / RATE_SLOT_MS + 1)

struct rate {
	uint64_t per_minute; /* 0: no bound */
	uint64_t total;      /* of all slots */
	uint64_t now_slot;   /* since the clock's beginning */
	uint32_t count[RATE_SLOTS];
};

void rate_start(struct rate *rate, uint64_t per_minute, uint64_t now_ms);

/* Takes one call. False when there is none left; `ret_wait_s` is then the number of seconds, at
 * least 1, after which there is (Retry-After, RFC 9110 section 10.2.3). */
bool rate_take(struct rate *rate, uint64_t now_ms, unsigned *ret_wait_s);

#endif
