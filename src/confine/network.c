#include "confine/network.h"

#include "base/fd.h"
#include "confine/sys.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

bool network_loopback(struct err *err)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0) {
		return err_set(err, ERR_SETUP, errno, "cannot bring up the sandbox's loopback");
	}
	if (!fd_write_file(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")) {
		return err_set(err, ERR_SETUP, errno, "cannot open the sandbox's low ports");
	}
	return true;
}
