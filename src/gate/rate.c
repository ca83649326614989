#include "gate/rate.h"

#include <string.h>

void rate_start(struct rate *rate, uint64_t per_minute, uint64_t now_ms)
{
	memset(rate, 0, sizeof(*rate));
	/* No machine makes more calls in a quarter of a second than a slot can count. */
	rate->per_minute = per_minute < UINT32_MAX ? per_minute : UINT32_MAX;
	rate->now_slot = now_ms / RATE_SLOT_MS;
}

/* Forgets what is older than a minute. */
static void move_on(struct rate *rate, uint64_t slot)
{
	if (slot <= rate->now_slot) {
		return;
	}
	if (slot - rate->now_slot >= RATE_SLOTS) {
		memset(rate->count, 0, sizeof(rate->count));
		rate->total = 0;
		rate->now_slot = slot;
		return;
	}
	while (rate->now_slot < slot) {
		uint32_t *count = &rate->count[++rate->now_slot % RATE_SLOTS];

		rate->total -= *count;
		*count = 0;
	}
}

bool rate_take(struct rate *rate, uint64_t now_ms, unsigned *ret_wait_s)
{
	if (rate->per_minute == 0) {
		return true;
	}
	move_on(rate, now_ms / RATE_SLOT_MS);
	if (rate->total < rate->per_minute) {
		rate->count[rate->now_slot % RATE_SLOTS]++;
		rate->total++;
		return true;
	}
	/* The oldest that still count are forgotten first; one there is, as `total` is not 0. */
	uint64_t forgotten = rate->now_slot + 1;
	while (rate->count[forgotten % RATE_SLOTS] == 0) {
		forgotten++;
	}
	uint64_t free_ms = forgotten * RATE_SLOT_MS;
	*ret_wait_s = free_ms > now_ms + 1000 ? (unsigned)((free_ms - now_ms + 999) / 1000) : 1;
	return false;
}
