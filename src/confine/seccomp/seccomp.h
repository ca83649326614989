/* The system-call filter: one classic BPF program per variant, made at build time from rules.def
 * by gen.c and kept as bytes, so that nothing is compiled and no library is linked at run time.
 *
 * What it does not know passes; what is in rules.def is refused with the errno given there. Calls
 * of a foreign architecture (int 0x80) and of x32 kill the process. Numbers above the newest that
 * rules.def knows get ENOSYS, as on a kernel that does not have them yet. */
#ifndef LNK_CONFINE_SECCOMP_SECCOMP_H
#define LNK_CONFINE_SECCOMP_SECCOMP_H

#include "base/err.h"

#include <linux/filter.h>
#include <stddef.h>

/* Bits to OR together, up to SECCOMP_USER_NAMESPACES. */
enum seccomp_variant {
	SECCOMP_PLAIN = 0,
	/* [commands] is listed: a memfd must be sealed against execution (MFD_NOEXEC_SEAL). */
	SECCOMP_COMMANDS = 1,
	/* --user-namespaces: user, PID, network, IPC and UTS namespaces and chroot are allowed.
	 * Mount namespaces and every mount call stay refused. */
	SECCOMP_USER_NAMESPACES = 2,
	/* --without-namespaces, loaded beside one of those above: what namespaces hold otherwise.
	 * With this machine's network, and without any. No bits. */
	SECCOMP_BARE_HOST_NETWORK = 4,
	SECCOMP_BARE = 5,
	SECCOMP_VARIANT_COUNT = 6,
};

/* Loads the filter for the calling thread and everything it starts from now on; it cannot be
 * taken off. Needs no_new_privs (or CAP_SYS_ADMIN). To be called last: afterwards no namespace,
 * mount, setns or openat2 works. One system call, 60 to 110 us, most of it the kernel's fixed cost
 * for any filter. False: ERR_SETUP. Source: seccomp(2). */
bool seccomp_load(enum seccomp_variant variant, struct err *err);

/* The same for the last one, SECCOMP_BARE or SECCOMP_BARE_HOST_NETWORK, whose questions come to
 * *ret_listener (close-on-exec; seccomp_unotify(2)). With nobody there they are answered ENOSYS. */
bool seccomp_load_asking(enum seccomp_variant variant, int *ret_listener, struct err *err);

/* The program of a variant and its length in instructions; static. For tests and doctor. */
const struct sock_filter *seccomp_program(enum seccomp_variant variant, size_t *ret_len);

/* The highest system call number the filter lets through to the kernel. */
unsigned seccomp_newest(void);

#endif
