/* Which name an address stands for: given once, kept by open calls, given up in order. */
#include "gate/names.h"

#include "plan/door.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *nth(unsigned i)
{
	static char name[HOST_MAX];

	snprintf(name, sizeof(name), "n%u.example.com", i);
	return name;
}

static void test_gives_one_address_each(void **state)
{
	struct names *names = names_new();

	(void)state;
	assert_non_null(names);
	uint32_t a = names_give(names, "a.example.com");
	uint32_t b = names_give(names, "b.example.com");
	assert_int_equal(a, NET_NAMES_FIRST);
	assert_int_equal(b, NET_NAMES_FIRST + 1);
	assert_int_equal(names_give(names, "a.example.com"), a);
	assert_string_equal(names_of(names, a), "a.example.com");
	assert_string_equal(names_of(names, b), "b.example.com");
	assert_null(names_of(names, NET_NAMES_FIRST + 2));
	names_free(names);
	names_free(NULL);
}

static void test_other_addresses_and_odd_names(void **state)
{
	struct names *names = names_new();
	static const uint32_t others[] = {
		0,          1, 0x7f000001, NET_NAMES_FIRST - 1, NET_NAMES_LAST, NET_NAMES_LAST + 1,
		UINT32_MAX,
	};
	char longest[HOST_MAX + 1];

	(void)state;
	names_give(names, "a.example.com");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_null(names_of(names, others[i]));
		names_hold(names, others[i]);
		names_release(names, others[i]);
	}
	assert_int_equal(names_give(names, ""), 0);
	memset(longest, 'x', HOST_MAX);
	longest[HOST_MAX] = '\0';
	assert_int_equal(names_give(names, longest), 0);
	longest[HOST_MAX - 1] = '\0';
	uint32_t addr = names_give(names, longest);
	assert_int_not_equal(addr, 0);
	assert_string_equal(names_of(names, addr), longest);
	names_free(names);
}

/* A release without its hold must not make a name count as held, or as idle twice. */
static void test_release_too_often(void **state)
{
	struct names *names = names_new();
	uint32_t a = names_give(names, "a");
	uint32_t b = names_give(names, "b");

	(void)state;
	names_release(names, a);
	names_hold(names, a);
	names_hold(names, a);
	names_release(names, a);
	names_release(names, a);
	names_release(names, a);
	for (unsigned i = 2; i < NAMES_MAX; i++) {
		assert_int_not_equal(names_give(names, nth(i)), 0);
	}
	/* b was asked for longest ago: a's release counts as use. */
	assert_int_not_equal(names_give(names, "more"), 0);
	assert_null(names_of(names, b));
	assert_string_equal(names_of(names, a), "a");
	names_free(names);
}

static void test_oldest_gives_up(void **state)
{
	struct names *names = names_new();
	uint32_t addr[NAMES_MAX];

	(void)state;
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		addr[i] = names_give(names, nth(i));
		assert_int_not_equal(addr[i], 0);
	}
	names_hold(names, addr[0]);                           /* kept by a call */
	assert_int_equal(names_give(names, nth(1)), addr[1]); /* kept by being asked for */
	uint32_t fresh = names_give(names, "fresh.example.com");
	assert_int_not_equal(fresh, 0);
	assert_null(names_of(names, addr[2]));
	assert_string_equal(names_of(names, addr[0]), nth(0));
	assert_string_equal(names_of(names, addr[1]), nth(1));
	assert_string_equal(names_of(names, addr[3]), nth(3));
	/* Not the address that has just become free. */
	assert_int_not_equal(fresh, addr[2]);
	/* The name that gave its address up gets another. */
	assert_int_not_equal(names_give(names, nth(2)), addr[2]);
	assert_null(names_of(names, addr[3]));
	names_free(names);
}

static void test_all_held(void **state)
{
	struct names *names = names_new();
	uint32_t last = 0;

	(void)state;
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		last = names_give(names, nth(i));
		assert_int_not_equal(last, 0);
		names_hold(names, last);
	}
	assert_int_equal(names_give(names, "one.more"), 0);
	assert_int_equal(names_give(names, nth(NAMES_MAX - 1)), last);
	names_release(names, last);
	uint32_t more = names_give(names, "one.more");
	assert_int_not_equal(more, 0);
	assert_null(names_of(names, last));
	names_free(names);
}

/* A storm of names: an address comes back only after all the others. */
static void test_storm(void **state)
{
	struct names *names = names_new();
	const unsigned addresses = NET_NAMES_LAST - NET_NAMES_FIRST + 1;
	uint32_t kept = names_give(names, "kept.example.com");
	uint32_t first = 0;

	(void)state;
	names_hold(names, kept);
	for (unsigned i = 0; i < 2 * addresses + 7; i++) {
		uint32_t addr = names_give(names, nth(i));

		assert_in_range(addr, NET_NAMES_FIRST, NET_NAMES_LAST);
		assert_int_not_equal(addr, kept);
		assert_string_equal(names_of(names, addr), nth(i));
		if (i == 0) {
			first = addr;
		} else {
			assert_int_equal(addr == first, i % (addresses - 1) == 0);
		}
	}
	assert_string_equal(names_of(names, kept), "kept.example.com");
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_one_address_each),
		cmocka_unit_test(test_other_addresses_and_odd_names),
		cmocka_unit_test(test_release_too_often),
		cmocka_unit_test(test_oldest_gives_up),
		cmocka_unit_test(test_all_held),
		cmocka_unit_test(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
