/* The Unix sockets of this machine that lie in granted paths: a socket connects through a read
 * only mount too, and what answers on it runs outside the sandbox. */
#ifndef LNK_PLAN_SOCKETS_H
#define LNK_PLAN_SOCKETS_H

#include "plan/facts.h"

/* Lists the bound sockets of this network namespace (sock_diag(7), UDIAG_SHOW_NAME and
 * UDIAG_SHOW_VFS; stream, datagram and seqpacket) and adds to `facts->sockets` those found below
 * a write or read entry. A socket that is not where its name says (relative or moved names) but on
 * the file system of a grant is looked for by walking that grant. Sockets made later, or in other
 * network namespaces, are not seen. */
bool sockets_find(struct facts *facts, struct arena *arena, struct err *err);

#endif
