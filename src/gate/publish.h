/* --publish PORT[:HOSTPORT]: the way in. A server of the program at PORT is reached at HOSTPORT of
 * this machine's loopback, by whoever may use that. */
#ifndef LNK_GATE_PUBLISH_H
#define LNK_GATE_PUBLISH_H

#include "base/err.h"
#include "gate/gate.h"

#include <stdbool.h>

/* Calls that wait for a socket of the sandbox or for its connection; the next one waits in the
 * listen queue. */
#define PUBLISH_WAITING_MAX 64
/* Ports of --publish; the plan may hold no more. */
#define PUBLISH_PORTS_MAX 64

struct publish;

/* Listens on 127.0.0.1 and, where there is IPv6, ::1 at the plan's ports; nothing is accepted yet.
 * To be called before the jail, which forbids it. *ret_publish is NULL when nothing is published.
 * False: err names the flag and the port (busy, or a port of [localhost], which leads out again).
 */
bool publish_listen(const struct net_plan *plan, struct publish **ret_publish, struct err *err);

/* Accepts from now on. For each call a socket of the sandbox's network namespace is asked for over
 * gate->door; it is connected to the program's server at 127.0.0.1, else ::1, then call_published
 * takes over. A call that finds no server is reset. NULL is fine. */
void publish_serve(struct publish *publish, struct gate *gate);

/* init has answered over the door: `inside` is the socket, owned from here on, or -1: there was
 * none to be had. False when nobody has asked. */
bool publish_answer(struct publish *publish, int inside);

/* The door is closed: calls that wait are reset, and no more are taken. NULL is fine. */
void publish_end(struct publish *publish);

#endif
