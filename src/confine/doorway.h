/* Init's side of the gate: the network namespace made to lead to it, the listeners handed out, and
 * sockets for calls that come in. The messages are in plan/door.h. */
#ifndef LNK_CONFINE_DOORWAY_H
#define LNK_CONFINE_DOORWAY_H

#include "base/err.h"
#include "plan/netplan.h"

#include <stdbool.h>

/* Gives the loopback its addresses and default routes, makes the nft table and the gate's
 * listeners, and sends those through the door; nothing of them stays open here. After
 * network_loopback, with CAP_NET_ADMIN over the namespace. */
bool doorway_open(const struct net_plan *net, int door, struct err *err);

/* Waits until the gate has confined itself. False: it ended instead, and tells the supervisor why.
 */
bool doorway_wait(int door, struct err *err);

/* One request for a socket. False when the gate is gone: close the door, nothing answers any
 * longer. */
bool doorway_serve(int door);

#endif
