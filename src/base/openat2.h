/* openat2(2), Linux 5.6, which the C library has no function for. */
#ifndef LNK_BASE_OPENAT2_H
#define LNK_BASE_OPENAT2_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One call, with errno as usual. Creates nothing. `resolve` is a set of RESOLVE_*. */
static inline int sys_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags, .resolve = resolve};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

#endif
