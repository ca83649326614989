/* The sandbox's own network namespace. */
#ifndef LNK_CONFINE_NETWORK_H
#define LNK_CONFINE_NETWORK_H

#include "base/err.h"

#include <stdbool.h>

/* Brings up the loopback interface of the caller's network namespace and lets every port be bound
 * (the namespace is the program's alone). Nothing else is reachable from it. Before /proc/sys is
 * read only. */
bool network_loopback(struct err *err);

#endif
