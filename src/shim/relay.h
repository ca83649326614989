/* Sockets as standard descriptors. Node.js, among others, gives its children socket pairs; the
 * broker takes no sockets from a sandbox (they carry descriptors, and can be listened at). So the
 * shim puts a pipe in a socket's place and copies. */
#ifndef LNK_SHIM_RELAY_H
#define LNK_SHIM_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define RELAY_BYTES 16384
#define RELAY_FDS   3

struct relay {
	int from, to;  /* -1 both: nothing to copy */
	bool own_from; /* `from` is our pipe's end, else `to` is */
	size_t at, n;  /* of buf, still to be written */
	unsigned char buf[RELAY_BYTES];
};

struct relays {
	struct relay v[RELAY_FDS];
};

/* What goes to the tool as 0 to 2: the descriptor itself, a pipe's end where it is a socket (one
 * for both when 1 and 2 are the same socket), /dev/null where it is closed. False with errno set.
 * relays_passed closes ours of what was made for it. */
bool relays_prepare(struct relays *relays, int ret_fds[RELAY_FDS]);
void relays_passed(const int fds[RELAY_FDS]);

/* Adds what to wait for, 2 * RELAY_FDS entries; those of no use have fd -1. */
void relays_wait(const struct relays *relays, struct pollfd *fds);
/* Copies what can be, after poll(2) has filled the same entries. */
void relays_copy(struct relays *relays, const struct pollfd *fds);

/* The tool has ended: nothing more goes to it. True as long as something comes from it. */
bool relays_ending(struct relays *relays);

#endif
