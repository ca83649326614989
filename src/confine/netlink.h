/* Netlink messages as bytes, sent to the kernel in one go. Source: netlink(7), rtnetlink(7),
 * linux/netfilter/nfnetlink.h. */
#ifndef LNK_CONFINE_NETLINK_H
#define LNK_CONFINE_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything that is sent at once fits. */
#define NETLINK_MAX 8192

struct netlink {
	_Alignas(4) unsigned char v[NETLINK_MAX];
	size_t n;
	size_t message; /* where the open message begins */
	bool full;      /* something did not fit: netlink_send fails with EMSGSIZE */
};

/* Empties the buffer: not the whole struct, whose pages are touched as they are used. */
void netlink_start(struct netlink *nl);

/* Begins a message of `type` with NLM_F_REQUEST and `flags`, and the fixed struct that its family
 * wants first. Ends the one before. */
void netlink_begin(struct netlink *nl, unsigned type, unsigned flags, const void *fixed,
		   size_t len);
/* The last one ends. */
void netlink_end(struct netlink *nl);

/* An attribute of the open message. */
void netlink_put(struct netlink *nl, unsigned type, const void *data, size_t len);
void netlink_put_text(struct netlink *nl, unsigned type, const char *text);
/* A number in network byte order, as nf_tables has them. */
void netlink_put_be32(struct netlink *nl, unsigned type, uint32_t value);

/* An attribute that holds others: nest returns where it began, for unnest. */
size_t netlink_nest(struct netlink *nl, unsigned type);
void netlink_unnest(struct netlink *nl, size_t at);

/* Sends all to the kernel by a socket of `protocol` (NETLINK_ROUTE, NETLINK_NETFILTER) and reads
 * what it says. At least one message must have NLM_F_ACK: the kernel handles them before send
 * returns, so that an answer which is missing then is an error. False with errno set. */
bool netlink_send(struct netlink *nl, int protocol);

#endif
