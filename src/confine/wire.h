/* Inside confine/ only: what init and the supervisor say to each other over a SOCK_SEQPACKET
 * pair. One message is one struct, written and read whole; neither end is in the program's reach.
 */
#ifndef LNK_CONFINE_WIRE_H
#define LNK_CONFINE_WIRE_H

#include "confine/confine.h"

enum wire_kind {
	/* init to supervisor */
	WIRE_FAILED = 1, /* err: before the program started */
	WIRE_STOPPED,    /* the program was; number: of the last WIRE_CONTINUE before */
	WIRE_ENDED,      /* number: wait status; left, names */
	WIRE_AGAIN,      /* after that: another program may come (late.h) */
	/* supervisor to init */
	WIRE_SIGNAL,   /* number: send it to the program */
	WIRE_CONTINUE, /* lnk was, for the number-th time: the program goes on too */
	WIRE_START,    /* the program that comes late has come */
};

struct wire {
	enum wire_kind kind;
	int number;
	union {
		struct err err;
		struct {
			unsigned count;
			char names[CONFINE_LEFT_MAX];
		} left;
	} u;
};

/* Sends one message; a peer that is gone is not an error here (its end is seen elsewhere). */
void wire_send(int fd, const struct wire *message);

/* Receives one message. False: the peer is gone, or the message is not one of ours. */
bool wire_receive(int fd, struct wire *ret_message);

#endif
