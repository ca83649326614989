#include "confine/network.h"

#include "base/fd.h"
#include "confine/sys.h"
#include "plan/kernel.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static bool fail(const char *what, struct err *err)
{
	int sys = errno;

	err_set(err, ERR_SETUP, sys, "cannot %s", what);
	kernel_explain("network", sys, err->hint, sizeof(err->hint));
	return false;
}

bool network_loopback(struct err *err)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0) {
		return fail("bring up the sandbox's loopback", err);
	}
	return fd_write_file(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0") ||
	       fail("open the sandbox's low ports", err);
}
