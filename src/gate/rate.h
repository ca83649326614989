/* per_minute: how many calls to [internet] a minute. A bucket on the monotonic clock: it holds
 * `per_minute` calls at start and gains one every 60/per_minute seconds, up to that many. */
#ifndef LNK_GATE_RATE_H
#define LNK_GATE_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct rate {
	uint64_t per_minute; /* 0: no bound */
	uint64_t level;      /* in 1/60,000 of a call, so that a millisecond is exact */
	uint64_t last_ms;
};

void rate_start(struct rate *rate, uint64_t per_minute, uint64_t now_ms);

/* Takes one call. False when there is none left; `ret_wait_s` is then the number of seconds, at
 * least 1, after which there is (Retry-After, RFC 9110 section 10.2.3). */
bool rate_take(struct rate *rate, uint64_t now_ms, unsigned *ret_wait_s);

#endif
