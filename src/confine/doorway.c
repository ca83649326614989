#include "confine/doorway.h"

#include "base/fd.h"
#include "base/pass.h"
#include "confine/netlink.h"
#include "confine/nft.h"
#include "plan/door.h"
#include "plan/kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* The index of the first interface of a network namespace. */
#define LOOPBACK 1
#define BACKLOG  4096

static bool fail(const char *what, const char *step, struct err *err)
{
	int sys = errno;

	err_set(err, ERR_SETUP, sys, "cannot %s", what);
	kernel_explain(step, sys, err->hint, sizeof(err->hint));
	return false;
}

/* Calls to elsewhere leave from these; without them they would leave from 0.0.0.0 and hang, and
 * getaddrinfo's AI_ADDRCONFIG would find no network. */
static void put_address(struct netlink *nl, int family)
{
	const struct ifaddrmsg fixed = {.ifa_family = (__u8)family,
					.ifa_prefixlen = family == AF_INET ? 32 : 128,
					.ifa_flags = family == AF_INET ? 0 : IFA_F_NODAD,
					.ifa_index = LOOPBACK};
	unsigned char addr[16];
	size_t len = family == AF_INET ? 4 : 16;

	inet_pton(family, family == AF_INET ? NET_OWN_V4 : NET_OWN_V6, addr);
	netlink_begin(nl, RTM_NEWADDR, NLM_F_CREATE, &fixed, sizeof(fixed));
	netlink_put(nl, IFA_LOCAL, addr, len);
	netlink_put(nl, IFA_ADDRESS, addr, len);
}

static void put_route(struct netlink *nl, int family)
{
	const struct rtmsg fixed = {.rtm_family = (unsigned char)family,
				    .rtm_table = RT_TABLE_MAIN,
				    .rtm_protocol = RTPROT_BOOT,
				    .rtm_scope = RT_SCOPE_UNIVERSE,
				    .rtm_type = RTN_UNICAST};
	const int device = LOOPBACK;

	netlink_begin(nl, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, &fixed, sizeof(fixed));
	netlink_put(nl, RTA_OIF, &device, sizeof(device));
}

static bool add_routes(int family)
{
	struct netlink nl;

	netlink_start(&nl);
	put_address(&nl, family);
	put_route(&nl, family);
	return netlink_send(&nl, NETLINK_ROUTE);
}

/* A socket bound to `addr`; listening when it is one of TCP. -1 with errno. */
static int bound(int type, const struct sockaddr *addr, socklen_t len)
{
	const int off = 0;
	auto_close int fd = socket(addr->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0) {
		return -1;
	}
	/* Where the wildcard is bound, IPv4 calls come as ::ffff:a.b.c.d. */
	if (addr->sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) {
		return -1;
	}
	if (bind(fd, addr, len) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)) {
		return -1;
	}
	return fd_take(&fd);
}

static int bound_v4(int type, uint32_t addr, uint16_t port)
{
	const struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(addr)};

	return bound(type, (const struct sockaddr *)&sin, sizeof(sin));
}

static int bound_v6(int type, struct in6_addr addr, uint16_t port)
{
	const struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = addr};

	return bound(type, (const struct sockaddr *)&sin6, sizeof(sin6));
}

/* Answers from a wildcard socket would not find their way back through the redirect, so the
 * resolver's are bound to the loopback's two addresses. */
static bool listeners(bool v6, int fds[DOOR_FDS])
{
	fds[DOOR_TCP] = v6 ? bound_v6(SOCK_STREAM, in6addr_any, NFT_GATE_PORT)
			   : bound_v4(SOCK_STREAM, INADDR_ANY, NFT_GATE_PORT);
	fds[DOOR_UDP4] = bound_v4(SOCK_DGRAM, INADDR_LOOPBACK, NFT_DNS_PORT);
	fds[DOOR_DNS4] = bound_v4(SOCK_STREAM, INADDR_LOOPBACK, NFT_DNS_PORT);
	if (v6) {
		fds[DOOR_UDP6] = bound_v6(SOCK_DGRAM, in6addr_loopback, NFT_DNS_PORT);
		fds[DOOR_DNS6] = bound_v6(SOCK_STREAM, in6addr_loopback, NFT_DNS_PORT);
	}
	for (size_t i = 0; i < (v6 ? DOOR_FDS : DOOR_UDP6); i++) {
		if (fds[i] < 0) {
			return false;
		}
	}
	return true;
}

bool doorway_open(const struct net_plan *net, int door, struct err *err)
{
	const unsigned char hello = DOOR_LISTENERS;
	int fds[DOOR_FDS] = {-1, -1, -1, -1, -1};
	/* A kernel without IPv6, or one where it is switched off, has no address to give. */
	bool v6 = add_routes(AF_INET6);

	if (!add_routes(AF_INET)) {
		return fail("give the sandbox's loopback an address", "network", err);
	}
	bool ok = listeners(v6, fds) ||
		  fail("make the gate's listeners in the sandbox", "network", err);
	ok = ok && (nft_redirect_all(net) ||
		    fail("redirect the sandbox's calls to the gate", "nft", err));
	/* A gate that is gone already is found by doorway_wait, and says why itself. */
	if (ok && !pass_send(door, &hello, sizeof(hello), fds, v6 ? DOOR_FDS : DOOR_UDP6) &&
	    errno != EPIPE && errno != ECONNRESET) {
		ok = fail("hand the listeners to the gate", "network", err);
	}
	for (size_t i = 0; i < DOOR_FDS; i++) {
		fd_close(&fds[i]);
	}
	return ok;
}

bool doorway_wait(int door, struct err *err)
{
	unsigned char answer = 0;
	ssize_t n;

	do {
		n = recv(door, &answer, sizeof(answer), 0);
	} while (n < 0 && errno == EINTR);
	return (n == 1 && answer == DOOR_READY) ||
	       err_set(err, ERR_GATE, n < 0 ? errno : 0,
		       "the gate ended before the program started");
}

bool doorway_serve(int door)
{
	unsigned char request[2];
	ssize_t n = recv(door, request, sizeof(request), MSG_DONTWAIT);

	if (n <= 0) {
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	}
	if (n != sizeof(request) || request[0] != DOOR_SOCKET) {
		return false;
	}
	auto_close int fd = socket(request[1] == 6 ? AF_INET6 : AF_INET,
				   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const unsigned char answer = fd < 0 ? DOOR_NONE : DOOR_SOCKET;
	return pass_send(door, &answer, sizeof(answer), &fd, fd < 0 ? 0 : 1);
}
