/* The probe of nft: a table and a chain that redirects, in the child's own network namespace.
 * Source: linux/netfilter/nfnetlink.h and nf_tables.h, as bytes. */
#include "cli/probe.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NFT_TYPE(type) (NFNL_SUBSYS_NFTABLES << 8 | (type))

/* Netlink's messages and attributes are laid out in steps of four bytes. */
static size_t aligned(size_t len)
{
	return (len + 3U) & ~(size_t)3U;
}

struct batch {
	_Alignas(4) unsigned char v[512];
	size_t n;
};

static void *put(struct batch *b, const void *data, size_t len)
{
	unsigned char *at = b->v + b->n;

	memcpy(at, data, len);
	b->n += aligned(len);
	return at;
}

/* Begins a message; its length is set by finish. */
static size_t begin(struct batch *b, unsigned type, unsigned flags, unsigned family, unsigned res)
{
	const struct nlmsghdr header = {.nlmsg_type = (__u16)type,
					.nlmsg_flags = (__u16)(NLM_F_REQUEST | flags)};
	const struct nfgenmsg extra = {
		.nfgen_family = (__u8)family, .version = NFNETLINK_V0, .res_id = htons((__u16)res)};
	size_t at = b->n;

	put(b, &header, sizeof(header));
	put(b, &extra, sizeof(extra));
	return at;
}

static void finish(struct batch *b, size_t at)
{
	struct nlmsghdr header;

	memcpy(&header, b->v + at, sizeof(header));
	header.nlmsg_len = (__u32)(b->n - at);
	memcpy(b->v + at, &header, sizeof(header));
}

static void attribute(struct batch *b, unsigned type, const void *data, size_t len)
{
	const struct nlattr attr = {.nla_len = (__u16)(sizeof(struct nlattr) + len),
				    .nla_type = (__u16)type};

	put(b, &attr, sizeof(attr));
	put(b, data, len);
}

static void hook(struct batch *b)
{
	const __be32 number = htonl(NF_INET_LOCAL_OUT);
	const __be32 priority = htonl((__u32)-100);
	struct batch inner = {.n = 0};

	attribute(&inner, NFTA_HOOK_HOOKNUM, &number, sizeof(number));
	attribute(&inner, NFTA_HOOK_PRIORITY, &priority, sizeof(priority));
	attribute(b, NFTA_CHAIN_HOOK | NLA_F_NESTED, inner.v, inner.n);
}

static void fill(struct batch *b)
{
	size_t at = begin(b, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);

	finish(b, at);
	at = begin(b, NFT_TYPE(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_ACK, NFPROTO_INET, 0);
	attribute(b, NFTA_TABLE_NAME, "lnk", sizeof("lnk"));
	finish(b, at);
	at = begin(b, NFT_TYPE(NFT_MSG_NEWCHAIN), NLM_F_CREATE | NLM_F_ACK, NFPROTO_INET, 0);
	attribute(b, NFTA_CHAIN_TABLE, "lnk", sizeof("lnk"));
	attribute(b, NFTA_CHAIN_NAME, "out", sizeof("out"));
	hook(b);
	attribute(b, NFTA_CHAIN_TYPE, "nat", sizeof("nat"));
	finish(b, at);
	at = begin(b, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	finish(b, at);
}

/* The first error among the acknowledgements; two of them mean that all went well. */
static int answers(int fd)
{
	_Alignas(4) unsigned char buf[4096];

	for (int good = 0; good < 2;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n < 0) {
			return errno;
		}
		for (size_t at = 0; at + sizeof(struct nlmsghdr) + sizeof(int) <= (size_t)n;) {
			struct nlmsghdr header;
			int error;

			memcpy(&header, buf + at, sizeof(header));
			memcpy(&error, buf + at + sizeof(struct nlmsghdr), sizeof(error));
			if (header.nlmsg_type != NLMSG_ERROR ||
			    header.nlmsg_len < sizeof(struct nlmsghdr)) {
				return EBADMSG;
			}
			if (error != 0) {
				return -error;
			}
			good++;
			at += aligned(header.nlmsg_len);
		}
	}
	return 0;
}

int probe_nft(void)
{
	struct batch b = {.n = 0};
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	fill(&b);
	if (fd < 0 ||
	    sendto(fd, b.v, b.n, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0) {
		return errno;
	}
	return answers(fd);
}
