#include "confine/network.h"

#include "base/fd.h"
#include "confine/sys.h"
#include "plan/kernel.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static bool loopback(struct err *err)
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

static void *make(void *data)
{
	struct network *n = data;

	n->tid = syscall(SYS_gettid);
	/* Of this thread only, until the other one enters it too. */
	if (unshare(CLONE_NEWNET) < 0) {
		int sys = errno;

		err_set(&n->err, ERR_SETUP, sys, "cannot make the sandbox's network namespace");
		kernel_explain("network", sys, n->err.hint, sizeof(n->err.hint));
		return NULL;
	}
	if (!loopback(&n->err)) {
		return NULL;
	}
	n->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (n->fd < 0) {
		err_set(&n->err, ERR_SETUP, errno, "cannot open the sandbox's network namespace");
	}
	return NULL;
}

bool network_start(struct network *network, struct err *err)
{
	pthread_attr_t attr;

	network->fd = -1;
	int sys = pthread_attr_init(&attr);
	if (sys == 0) {
		/* Small: the default is mapped with a guard and 8 MiB. */
		sys = pthread_attr_setstacksize(&attr, 64UL * 1024UL);
		sys = sys != 0 ? sys : pthread_create(&network->thread, &attr, make, network);
		pthread_attr_destroy(&attr);
	}
	return sys == 0 || err_set(err, ERR_SETUP, sys, "cannot start a thread");
}

/* A joined thread may still be on its way out, and unshare(CLONE_NEWUSER) refuses a process that
 * has two. */
static void wait_until_gone(long tid)
{
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0) {
		sched_yield();
	}
}

bool network_enter(struct network *network, struct err *err)
{
	int sys = pthread_join(network->thread, NULL);

	if (sys != 0) {
		return err_set(err, ERR_SETUP, sys, "cannot wait for a thread");
	}
	wait_until_gone(network->tid);
	auto_close int fd = fd_take(&network->fd);
	if (fd < 0) {
		*err = network->err;
		return false;
	}
	return setns(fd, CLONE_NEWNET) == 0 ||
	       err_set(err, ERR_SETUP, errno, "cannot enter the sandbox's network namespace");
}
