/* The nf_tables of the sandbox's network namespace: whatever the program calls comes to the gate,
 * or is refused at once. Source: nft(8), linux/netfilter/nf_tables.h. */
#ifndef LNK_CONFINE_NFT_H
#define LNK_CONFINE_NFT_H

#include "plan/netplan.h"

#include <stdbool.h>

/* Where the gate listens inside, on the loopback. Nobody else is in the namespace yet, and these
 * are beyond the ports that the kernel gives to a program that asks for any. */
#define NFT_GATE_PORT 61080
#define NFT_DNS_PORT  61053

/* Makes one table, "lnk":
 *
 *   nat, output     TCP to 127.0.0.1 or ::1 at a granted port of [localhost]: to the gate; TCP to
 *                   a name's address: to the gate; port 53 of any address, the loopback's too, TCP
 *                   and UDP: to the resolver; else loopback is left alone; other TCP: to the gate
 *   filter, output  loopback and what belongs to a redirected call passes; the rest (UDP, ICMP,
 * raw) is answered "port unreachable"
 *
 * Needs CAP_NET_ADMIN over the namespace. False with errno set. */
bool nft_redirect_all(const struct net_plan *plan);

/* A table and a chain that redirects, for `lnk sandbox doctor`: errno, or 0. */
int nft_probe(void);

#endif
