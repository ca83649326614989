/* The door: the pair of sockets (SOCK_SEQPACKET) between init, which lives in the sandbox's network
 * namespace, and the gate, which lives outside. Neither end is in the program's reach.
 *
 *   init -> gate   once: one byte DOOR_LISTENERS with the descriptors of enum door_fd, in its
 * order: all DOOR_FDS, or without IPv6 the first three gate -> init   once: one byte DOOR_READY,
 * after it has confined itself; init waits for it before the program starts, and fails the run when
 * the door closes instead gate -> init   any time later: DOOR_SOCKET and a family byte (4 or 6): a
 * fresh TCP socket of the sandbox's namespace is wanted, for a call that comes in by --publish init
 * -> gate   DOOR_SOCKET with one descriptor; DOOR_NONE without when there is none to be had
 *
 * Requests are answered in order. */
#ifndef LNK_PLAN_DOOR_H
#define LNK_PLAN_DOOR_H

enum door_message { DOOR_LISTENERS = 1, DOOR_READY, DOOR_SOCKET, DOOR_NONE };

/* All non-blocking, close-on-exec, bound inside. */
enum door_fd {
	DOOR_TCP,  /* listens, dual stack; where TCP to anywhere is redirected */
	DOOR_UDP4, /* DNS on 127.0.0.1, where port 53 of any address is redirected */
	DOOR_DNS4, /* DNS over TCP, listening */
	DOOR_UDP6, /* the same on ::1; these two are missing where the kernel has no IPv6 */
	DOOR_DNS6,
	DOOR_FDS
};

/* Addresses of the sandbox's loopback besides 127.0.0.1 and ::1: calls to elsewhere leave from
 * these, and the resolver is asked at the first (resolv.conf). */
#define NET_OWN_V4 "198.18.0.1"
#define NET_OWN_V6 "fd6c:6e6b::1"

/* Names get addresses from here up to the end of 198.18.0.0/15 (RFC 2544: no host has them). */
#define NET_NAMES_MASK  0xfffe0000U
#define NET_NAMES_FIRST 0xc6120002U /* 198.18.0.2 */
#define NET_NAMES_LAST  0xc613fffeU /* 198.19.255.254 */

#endif
