/* per_minute: never more in any minute, and the wait that is told is true. */
#include "gate/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void as_many_as_granted(void **state)
{
	struct rate r;
	unsigned wait = 0;

	(void)state;
	rate_start(&r, 10, 123456);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(rate_take(&r, 123456 + i, &wait));
	}
	for (unsigned i = 0; i < 100; i++) {
		assert_false(rate_take(&r, 123500 + i, &wait));
		assert_in_range(wait, 60, 61);
	}
	/* Refused ones do not count; after a minute all are free again. */
	assert_false(rate_take(&r, 123456 + 59999, &wait));
	assert_int_equal(wait, 1);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(rate_take(&r, 123456 + 60300, &wait));
	}
	assert_false(rate_take(&r, 123456 + 60300, &wait));
}

static void no_bound(void **state)
{
	struct rate r;
	unsigned wait = 7;

	(void)state;
	rate_start(&r, 0, 5);
	for (unsigned i = 0; i < 100000; i++) {
		assert_true(rate_take(&r, 5, &wait));
	}
	assert_int_equal(wait, 7);
}

/* A number that no machine reaches overflows nothing. */
static void huge_bounds(void **state)
{
	static const uint64_t bounds[] = {UINT32_MAX, (uint64_t)UINT32_MAX + 1, INT64_MAX,
					  UINT64_MAX};
	unsigned wait;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct rate r;

		rate_start(&r, bounds[i], UINT64_MAX / 2);
		for (uint64_t t = 0; t < 1000000; t += 7) {
			assert_true(rate_take(&r, UINT64_MAX / 2 + t, &wait));
		}
	}
}

static void one_a_minute(void **state)
{
	struct rate r;
	unsigned wait = 0;

	(void)state;
	rate_start(&r, 1, 0);
	assert_true(rate_take(&r, 0, &wait));
	assert_false(rate_take(&r, 30000, &wait));
	assert_in_range(wait, 30, 31);
	assert_true(rate_take(&r, 30000 + wait * 1000UL, &wait));
	/* After a long sleep. */
	assert_true(rate_take(&r, 1UL << 40, &wait));
	assert_false(rate_take(&r, (1UL << 40) + 1, &wait));
	/* A clock that is read late by another part of the gate is no earlier minute. */
	assert_false(rate_take(&r, (1UL << 40) - 5000, &wait));
}

/* Calls at random times, thousands of them: in no window of 60 s more than the bound; and who waits
 * as long as told gets through. */
static void any_minute(void **state)
{
	enum { BOUND = 37, CALLS = 20000 };
	static uint64_t taken[CALLS];
	struct rate r;
	uint64_t now = 98765;
	unsigned n = 0;

	(void)state;
	srandom(1);
	rate_start(&r, BOUND, now);
	for (unsigned i = 0; i < CALLS; i++) {
		unsigned wait = 0;

		now += (uint64_t)(random() % 10 == 0 ? random() % 20000 : random() % 900);
		if (rate_take(&r, now, &wait)) {
			taken[n++] = now;
			continue;
		}
		assert_in_range(wait, 1, 61);
		if (i % 5 == 0) {
			now += wait * 1000UL;
			assert_true(rate_take(&r, now, &wait));
			taken[n++] = now;
		}
	}
	assert_true(n > 1000);
	for (unsigned i = BOUND; i < n; i++) {
		assert_true(taken[i] - taken[i - BOUND] >= 60000);
	}
	/* And not much less than granted: 10 calls a second asked for. */
	rate_start(&r, BOUND, 0);
	unsigned through = 0;
	for (uint64_t t = 0; t < 600000; t += 100) {
		unsigned wait;

		through += rate_take(&r, t, &wait) ? 1 : 0;
	}
	assert_in_range(through, BOUND * 10 - 5, BOUND * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_granted), cmocka_unit_test(no_bound),
		cmocka_unit_test(huge_bounds),        cmocka_unit_test(one_a_minute),
		cmocka_unit_test(any_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
