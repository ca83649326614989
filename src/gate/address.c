#include "gate/address.h"

#include "base/fd.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

/* --- addresses inside addresses ----------------------------------------------------------- */

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

static void inner_at(const struct addr *addr, size_t at, unsigned char flip, struct addr *ret_inner)
{
	*ret_inner = (struct addr){.v6 = false};
	for (size_t i = 0; i < 4; i++) {
		ret_inner->b[i] = addr->b[at + i] ^ flip;
	}
}

static bool begins(const struct addr *addr, struct addr prefix, unsigned bits)
{
	return addr_same_prefix(addr, &prefix, bits);
}

bool address_unwrap(const struct addr *addr, struct addr *ret_inner)
{
	if (!addr->v6) {
		return false;
	}
	/* NAT64, RFC 6052 section 2.2. The local prefix (RFC 8215) is for networks to cut their own
	 * from; where the address stands in those only they know, mostly at the end. */
	if (begins(addr, (struct addr){.v6 = true, .b = {0, 0x64, 0xff, 0x9b}}, 96) ||
	    begins(addr, (struct addr){.v6 = true, .b = {0, 0x64, 0xff, 0x9b, 0, 1}}, 48)) {
		inner_at(addr, 12, 0, ret_inner);
		return true;
	}
	/* 6to4, RFC 3056 section 2. */
	if (begins(addr, (struct addr){.v6 = true, .b = {0x20, 0x02}}, 16)) {
		inner_at(addr, 2, 0, ret_inner);
		return true;
	}
	/* Teredo, RFC 4380 section 4: the client's address, with its bits turned over. */
	if (begins(addr, (struct addr){.v6 = true, .b = {0x20, 0x01, 0, 0}}, 32)) {
		inner_at(addr, 12, 0xff, ret_inner);
		return true;
	}
	/* Mapped and compatible, RFC 4291 section 2.5.5; "::" and "::1" are neither. */
	if (memcmp(addr->b, mapped, sizeof(mapped)) == 0 ||
	    (begins(addr, (struct addr){.v6 = true}, 96) &&
	     !begins(addr, (struct addr){.v6 = true}, 127))) {
		inner_at(addr, 12, 0, ret_inner);
		return true;
	}
	return false;
}

/* --- metadata services -------------------------------------------------------------------- */

/* Where a machine of a cloud is told about itself, its logins included. */
static const struct addr metadata[] = {
	/* AWS, Azure, Google Cloud, Oracle, IBM, DigitalOcean, Hetzner, OpenStack and most others:
	 * "Instance metadata service" of each one's manual. */
	{.b = {169, 254, 169, 254}},
	/* AWS, "Use IMDS" (IPv6). */
	{.v6 = true, .b = {0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}},
	/* AWS, "Amazon ECS task IAM role": credentials of containers. */
	{.b = {169, 254, 170, 2}},
	/* AWS, "EKS Pod Identity": credentials of pods, on both families. */
	{.b = {169, 254, 170, 23}},
	{.v6 = true, .b = {0xfd, 0, 0x0e, 0xc2, [15] = 0x23}},
	/* Google Cloud, "About VM metadata": machines with IPv6 only. */
	{.v6 = true, .b = {0xfd, 0x20, 0, 0xce, [14] = 0x02, [15] = 0x54}},
	/* Azure, "What is IP address 168.63.129.16?": a public address that is the host. */
	{.b = {168, 63, 129, 16}},
	/* Alibaba Cloud, "Obtain instance metadata", on both families. */
	{.b = {100, 100, 100, 200}},
	{.v6 = true, .b = {0xfd, 0, 0x01, 0, [12] = 0x01, [13] = 0, [14] = 0x02, [15] = 0}},
	/* Tencent Cloud, "Viewing instance metadata" (metadata.tencentyun.com). */
	{.b = {169, 254, 0, 23}},
	/* Scaleway, "Using instance metadata", on both families. */
	{.b = {169, 254, 42, 42}},
	{.v6 = true, .b = {0xfd, 0, 0, 0x42, [15] = 0x42}},
	/* Oracle Cloud Infrastructure Classic, "Retrieving instance metadata". */
	{.b = {192, 0, 0, 192}},
	/* Oracle Cloud, "Instance metadata": over IPv6. */
	{.v6 = true, .b = {0xfd, 0, 0, 0xc1, [12] = 0xa9, [13] = 0xfe, [14] = 0xa9, [15] = 0xfe}},
	/* Linode, "Metadata service": over IPv6. */
	{.v6 = true, .b = {0xfd, 0, 0xa9, 0xfe, 0xa9, 0xfe, [15] = 0x01}},
	/* OpenStack Nova, "Metadata service": over IPv6. */
	{.v6 = true, .b = {0xfe, 0x80, [12] = 0xa9, [13] = 0xfe, [14] = 0xa9, [15] = 0xfe}},
};

static bool in_table(const struct addr *addr)
{
	for (size_t i = 0; i < ARRAY_LEN(metadata); i++) {
		if (metadata[i].v6 == addr->v6 &&
		    addr_same_prefix(&metadata[i], addr, addr->v6 ? 128 : 32)) {
			return true;
		}
	}
	return false;
}

bool address_is_metadata(const struct addr *addr)
{
	struct addr inner;

	return in_table(addr) || (address_unwrap(addr, &inner) && in_table(&inner));
}

/* --- socket addresses and text ------------------------------------------------------------ */

bool address_from_sockaddr(const struct sockaddr *sa, struct addr *ret_addr, uint16_t *ret_port)
{
	*ret_addr = (struct addr){.v6 = false};
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in sin;

		memcpy(&sin, sa, sizeof(sin));
		memcpy(ret_addr->b, &sin.sin_addr, 4);
		*ret_port = ntohs(sin.sin_port);
		return true;
	}
	if (sa->sa_family != AF_INET6) {
		return false;
	}
	struct sockaddr_in6 sin6;
	memcpy(&sin6, sa, sizeof(sin6));
	*ret_port = ntohs(sin6.sin6_port);
	if (IN6_IS_ADDR_V4MAPPED(&sin6.sin6_addr)) {
		memcpy(ret_addr->b, &sin6.sin6_addr.s6_addr[12], 4);
		return true;
	}
	ret_addr->v6 = true;
	memcpy(ret_addr->b, &sin6.sin6_addr, 16);
	return true;
}

socklen_t address_to_sockaddr(const struct addr *addr, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (addr->v6) {
		struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

		memcpy(&sin6.sin6_addr, addr->b, 16);
		memcpy(ret, &sin6, sizeof(sin6));
		return sizeof(sin6);
	}
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};

	memcpy(&sin.sin_addr, addr->b, 4);
	memcpy(ret, &sin, sizeof(sin));
	return sizeof(sin);
}

const char *address_text(const struct addr *addr, char out[ADDRESS_TEXT_MAX])
{
	if (inet_ntop(addr->v6 ? AF_INET6 : AF_INET, addr->b, out, ADDRESS_TEXT_MAX) == NULL) {
		out[0] = '\0';
	}
	return out;
}

/* --- this machine's own ------------------------------------------------------------------- */

int address_routes_open(void)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	auto_close int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	/* Connected, it takes messages of the kernel only. */
	if (fd < 0 || connect(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) != 0) {
		return -1;
	}
	return fd_take(&fd);
}

struct question {
	struct nlmsghdr header;
	struct rtmsg route;
	struct rtattr attr;
	unsigned char dst[16];
};

static bool ask(int routes, const struct addr *addr)
{
	const size_t bytes = addr->v6 ? 16 : 4;
	const size_t len = offsetof(struct question, dst) + bytes;
	struct question q = {
		.header = {.nlmsg_len = (uint32_t)len,
			   .nlmsg_type = RTM_GETROUTE,
			   .nlmsg_flags = NLM_F_REQUEST},
		.route = {.rtm_family = addr->v6 ? AF_INET6 : AF_INET,
			  .rtm_dst_len = (unsigned char)(bytes * 8)},
		.attr = {.rta_len = (unsigned short)RTA_LENGTH(bytes), .rta_type = RTA_DST},
	};
	unsigned char stale[64];

	memcpy(q.dst, addr->b, bytes);
	/* An answer that nobody read is not taken for this one's. */
	while (recv(routes, stale, sizeof(stale), MSG_DONTWAIT) >= 0) {
	}
	return send(routes, &q, len, 0) == (ssize_t)len;
}

/* True when the kernel knows no way there. */
static bool no_route(int error)
{
	return error == -ENETUNREACH || error == -EHOSTUNREACH || error == -ENETDOWN ||
	       error == -EACCES || error == -EAGAIN;
}

/* The kernel has answered before send(2) returns (linux/net/netlink/af_netlink.c,
 * netlink_unicast_kernel), so that nothing is waited for. */
static bool answer_is_own(int routes)
{
	_Alignas(NLMSG_ALIGNTO) unsigned char buf[4096];
	struct nlmsghdr header;
	struct rtmsg route;
	int error;
	ssize_t n = recv(routes, buf, sizeof(buf), MSG_DONTWAIT);

	if (n < (ssize_t)sizeof(header)) {
		return true;
	}
	memcpy(&header, buf, sizeof(header));
	if (header.nlmsg_type == NLMSG_ERROR && (size_t)n >= sizeof(header) + sizeof(error)) {
		memcpy(&error, buf + sizeof(header), sizeof(error));
		return !no_route(error);
	}
	if (header.nlmsg_type != RTM_NEWROUTE || (size_t)n < sizeof(header) + sizeof(route)) {
		return true;
	}
	memcpy(&route, buf + sizeof(header), sizeof(route));
	return route.rtm_type == RTN_LOCAL || route.rtm_type == RTN_BROADCAST ||
	       route.rtm_type == RTN_ANYCAST || route.rtm_type == RTN_MULTICAST;
}

bool address_is_own(int routes, const struct addr *addr)
{
	struct addr inner;

	if (!ask(routes, addr) || answer_is_own(routes)) {
		return true;
	}
	/* A NAT64 would bring it back to this machine. */
	return address_unwrap(addr, &inner) && (!ask(routes, &inner) || answer_is_own(routes));
}
