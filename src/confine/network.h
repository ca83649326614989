/* The sandbox's own network namespace. */
#ifndef LNK_CONFINE_NETWORK_H
#define LNK_CONFINE_NETWORK_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>

/* A namespace in the making. */
struct network {
	pthread_t thread;
	int fd;         /* the namespace, once made */
	long tid;
	struct err err; /* when fd is -1 */
};

/* Starts making a network namespace whose loopback is up and whose every port may be bound (it is
 * the program's alone; nothing else is reachable from it). The kernel takes a third of all set-up
 * time for it, so a thread does it while the mounts are made. `network` must live until
 * network_enter. */
bool network_start(struct network *network, struct err *err);

/* Waits for it and enters it. Afterwards the caller has one thread again. */
bool network_enter(struct network *network, struct err *err);

#endif
