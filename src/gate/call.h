/* One call: accepted, judged, dialled, relayed, ended. */
#ifndef LNK_GATE_CALL_H
#define LNK_GATE_CALL_H

#include "gate/gate.h"

/* A connection of the program, just accepted from DOOR_TCP. Reads where it wanted to go
 * (SO_ORIGINAL_DST, IP6T_SO_ORIGINAL_DST) and takes it from there; owns `fd`. */
void call_accept(struct gate *gate, int fd);

/* The same when it is known where the program wanted to go. */
void call_begin(struct gate *gate, int fd, const struct addr *addr, uint16_t port);

/* A connection from this machine's loopback to a published port, with a connected or connecting
 * socket of the sandbox: bytes pass both ways. Owns both. */
void call_published(struct gate *gate, int outside_fd, int inside_fd);

/* Ends all; they are logged with the bytes that they had. */
void call_end_all(struct gate *gate);

#endif
