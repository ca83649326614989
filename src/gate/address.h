/* Addresses that are dialled: unwrapped, classed, and checked against this machine's own. */
#ifndef LNK_GATE_ADDRESS_H
#define LNK_GATE_ADDRESS_H

#include "spec/values.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The IPv4 address inside a NAT64 (64:ff9b::/96, 64:ff9b:1::/48), 6to4, Teredo, mapped or
 * compatible IPv6 address; RFC 6052, 3056, 4380. False when there is none. */
bool address_unwrap(const struct addr *addr, struct addr *ret_inner);

/* Metadata services of clouds (169.254.169.254 and kin, fd00:ec2::254, 100.100.100.200 ...): never
 * opened by a range or a name. Table in address.c, each with its source. */
bool address_is_metadata(const struct addr *addr);

bool address_from_sockaddr(const struct sockaddr *sa, struct addr *ret_addr, uint16_t *ret_port);
socklen_t address_to_sockaddr(const struct addr *addr, uint16_t port, struct sockaddr_storage *ret);

/* Text of an address (inet_ntop(3)). */
#define ADDRESS_TEXT_MAX 46
const char *address_text(const struct addr *addr, char out[ADDRESS_TEXT_MAX]);

/* A netlink socket to ask the kernel's routing table (rtnetlink(7), RTM_GETROUTE). -1 with errno.
 */
int address_routes_open(void);

/* True when the kernel would deliver this address to this machine itself, broadcast or multicast
 * it: type RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST of its route at this moment, so
 * that an interface that came up a second ago counts. True (not dialled) when the kernel cannot be
 * asked; false for an address without a route. */
bool address_is_own(int routes, const struct addr *addr);

#endif
