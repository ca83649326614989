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

static int load(enum seccomp_variant variant, unsigned long flags)
{
	size_t n;
	const struct sock_filter *v = seccomp_program(variant, &n);
	/* The field is not const, but the kernel only reads. */
	union {
		const struct sock_filter *in;
		struct sock_filter *out;
	} filter = {.in = v};
	struct sock_fprog prog = {.len = (unsigned short)n, .filter = filter.out};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static bool failed(int sys, struct err *err)
{
	err_set(err, ERR_SETUP, sys, "the system-call filter could not be loaded (seccomp)");
	if (sys == ENOSYS || sys == EINVAL) {
		err_hint(err,
			 "the kernel was built without CONFIG_SECCOMP_FILTER; see `lnk sandbox "
			 "doctor`");
	} else if (sys == EACCES) {
		err_hint(err, "no_new_privs was not set first; this is a mistake in lnk");
	} else if (sys == EBUSY) {
		err_hint(err,
			 "whatever started lnk listens to a filter of its own, and the kernel has "
			 "one listener at a time: --without-namespaces does not run in there, nor "
			 "in "
			 "itself");
	}
	return false;
}

bool seccomp_load(enum seccomp_variant variant, struct err *err)
{
	return load(variant, 0) == 0 || failed(errno, err);
}

bool seccomp_load_asking(enum seccomp_variant variant, int *ret_listener, struct err *err)
{
	*ret_listener = load(variant, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	return *ret_listener >= 0 || failed(errno, err);
}
