/* Taking one guard away, so that an escape test shows which guard stops an attack. Exists only in
 * builds with -Dtest_guards=true; in every other build each guard is always on. */
#ifndef LNK_BASE_TESTGUARD_H
#define LNK_BASE_TESTGUARD_H

#include <stdbool.h>

#ifdef LNK_TEST_GUARDS
#include <stdlib.h>
#include <string.h>

/* LNK_TEST_WITHOUT holds the names of the guards to leave out, separated by commas. */
static inline bool guard_on(const char *name)
{
	const char *without = getenv("LNK_TEST_WITHOUT");
	size_t n = strlen(name);

	while (without != NULL && *without != '\0') {
		size_t len = strcspn(without, ",");

		if (len == n && strncmp(without, name, n) == 0) {
			return false;
		}
		without += len + (without[len] == ',' ? 1 : 0);
	}
	return true;
}
#else
static inline bool guard_on(const char *name)
{
	(void)name;
	return true;
}
#endif

#endif
