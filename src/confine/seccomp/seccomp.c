/* Loads a filter made at build time. The only input is the variant; nothing here is under the
 * program's control. */
#include "confine/seccomp/seccomp.h"

#include "base/str.h"

#include "seccomp_filters.h" /* from gen.c: seccomp_filter_0..5, SECCOMP_NEWEST */

#include <assert.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

struct program {
	const struct sock_filter *v;
	size_t n;
};

static const struct program programs[] = {
	[SECCOMP_PLAIN] = {seccomp_filter_0, ARRAY_LEN(seccomp_filter_0)},
	[SECCOMP_COMMANDS] = {seccomp_filter_1, ARRAY_LEN(seccomp_filter_1)},
	[SECCOMP_USER_NAMESPACES] = {seccomp_filter_2, ARRAY_LEN(seccomp_filter_2)},
	[SECCOMP_COMMANDS |
		SECCOMP_USER_NAMESPACES] = {seccomp_filter_3, ARRAY_LEN(seccomp_filter_3)},
	[SECCOMP_BARE_HOST_NETWORK] = {seccomp_filter_4, ARRAY_LEN(seccomp_filter_4)},
	[SECCOMP_BARE] = {seccomp_filter_5, ARRAY_LEN(seccomp_filter_5)},
};
static_assert(ARRAY_LEN(programs) == SECCOMP_VARIANT_COUNT, "one program per variant");

const struct sock_filter *seccomp_program(enum seccomp_variant variant, size_t *ret_len)
{
	assert(variant < SECCOMP_VARIANT_COUNT);
	*ret_len = programs[variant].n;
	return programs[variant].v;
}

unsigned seccomp_newest(void)
{
	return SECCOMP_NEWEST;
}

bool seccomp_load(enum seccomp_variant variant, struct err *err)
{
	size_t n;
	const struct sock_filter *v = seccomp_program(variant, &n);
	/* The field is not const, but the kernel only reads. */
	union {
		const struct sock_filter *in;
		struct sock_filter *out;
	} filter = {.in = v};
	struct sock_fprog prog = {.len = (unsigned short)n, .filter = filter.out};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &prog) == 0) {
		return true;
	}
	int sys = errno;

	err_set(err, ERR_SETUP, sys, "the system-call filter could not be loaded (seccomp)");
	if (sys == ENOSYS || sys == EINVAL) {
		err_hint(err,
			 "the kernel was built without CONFIG_SECCOMP_FILTER; see `lnk sandbox "
			 "doctor`");
	} else if (sys == EACCES) {
		err_hint(err, "no_new_privs was not set first; this is a mistake in lnk");
	}
	return false;
}
