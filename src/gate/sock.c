#include "gate/sock.h"

#include "base/fd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void sock_prepare(int fd)
{
	const int on = 1, idle = SOCK_IDLE_S, ask = SOCK_ASK_S, asks = SOCK_ASKS;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &ask, sizeof(ask));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof(asks));
}

void sock_reset(int *fd)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (*fd >= 0) {
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	}
	fd_close(fd);
	*fd = -1;
}

int sock_error(int fd)
{
	int sys = 0;
	socklen_t len = sizeof(sys);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0 ? errno : sys;
}
