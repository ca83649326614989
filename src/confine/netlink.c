#include "confine/netlink.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

/* Messages and attributes are laid out in steps of four bytes. */
static size_t aligned(size_t len)
{
	return (len + 3U) & ~(size_t)3U;
}

static void put_bytes(struct netlink *nl, const void *data, size_t len)
{
	size_t padded = aligned(len);

	if (nl->full || padded > sizeof(nl->v) - nl->n) {
		nl->full = true;
		return;
	}
	memset(nl->v + nl->n, 0, padded);
	if (len > 0) {
		memcpy(nl->v + nl->n, data, len);
	}
	nl->n += padded;
}

void netlink_start(struct netlink *nl)
{
	nl->n = 0;
	nl->message = 0;
	nl->full = false;
}

void netlink_begin(struct netlink *nl, unsigned type, unsigned flags, const void *fixed, size_t len)
{
	struct nlmsghdr header = {.nlmsg_type = (__u16)type,
				  .nlmsg_flags = (__u16)(NLM_F_REQUEST | flags)};

	netlink_end(nl);
	nl->message = nl->n;
	put_bytes(nl, &header, sizeof(header));
	put_bytes(nl, fixed, len);
}

void netlink_end(struct netlink *nl)
{
	uint32_t len = (uint32_t)(nl->n - nl->message);

	if (len > 0 && !nl->full) {
		memcpy(nl->v + nl->message + offsetof(struct nlmsghdr, nlmsg_len), &len,
		       sizeof(len));
	}
}

void netlink_put(struct netlink *nl, unsigned type, const void *data, size_t len)
{
	struct nlattr attr = {.nla_len = (__u16)(sizeof(attr) + len), .nla_type = (__u16)type};

	put_bytes(nl, &attr, sizeof(attr));
	put_bytes(nl, data, len);
}

void netlink_put_text(struct netlink *nl, unsigned type, const char *text)
{
	netlink_put(nl, type, text, strlen(text) + 1);
}

void netlink_put_be32(struct netlink *nl, unsigned type, uint32_t value)
{
	uint32_t be = htonl(value);

	netlink_put(nl, type, &be, sizeof(be));
}

size_t netlink_nest(struct netlink *nl, unsigned type)
{
	size_t at = nl->n;

	netlink_put(nl, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void netlink_unnest(struct netlink *nl, size_t at)
{
	uint16_t len = (uint16_t)(nl->n - at);

	if (!nl->full) {
		memcpy(nl->v + at + offsetof(struct nlattr, nla_len), &len, sizeof(len));
	}
}

/* The first error in one datagram of answers; counts those that say all is well. */
static int read_answers(const unsigned char *buf, size_t n, unsigned *good)
{
	struct nlmsghdr header;
	int error;

	for (size_t at = 0; n - at >= sizeof(header) + sizeof(error);
	     at += aligned(header.nlmsg_len)) {
		memcpy(&header, buf + at, sizeof(header));
		memcpy(&error, buf + at + sizeof(header), sizeof(error));
		if (header.nlmsg_type != NLMSG_ERROR || header.nlmsg_len < sizeof(header) ||
		    header.nlmsg_len > n - at) {
			return EBADMSG;
		}
		if (error != 0) {
			return -error;
		}
		(*good)++;
		if (aligned(header.nlmsg_len) > n - at) {
			break;
		}
	}
	return 0;
}

static int answers(int fd)
{
	_Alignas(4) unsigned char buf[4096];
	unsigned good = 0;

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n < 0) {
			return errno != EAGAIN ? errno : good > 0 ? 0 : ENODATA;
		}
		int error = read_answers(buf, (size_t)n, &good);
		if (error != 0) {
			return error;
		}
	}
}

bool netlink_send(struct netlink *nl, int protocol)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	netlink_end(nl);
	if (nl->full) {
		errno = EMSGSIZE;
		return false;
	}
	if (fd < 0 ||
	    sendto(fd, nl->v, nl->n, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0) {
		return false;
	}
	int error = answers(fd);
	errno = error;
	return error == 0;
}
