/* Inside gate/ only: what client.c and the gate's main.c say to each other over the control socket
 * (SOCK_SEQPACKET, one message each). */
#ifndef LNK_GATE_CONTROL_H
#define LNK_GATE_CONTROL_H

#include "gate/client.h"

/* Descriptors of lnk-gate when it starts. */
#define CONTROL_FD 3
#define DOOR_FD    4

enum control_kind {
	/* supervisor to gate. First of all, with descriptors: [0] a memfd with the encoded plan,
	 * [1] the log, where there is one. */
	CONTROL_PLAN = 1,
	CONTROL_END, /* the run is over: send the report and exit */
	/* gate to supervisor */
	CONTROL_REFUSAL, /* one entry of the report */
	CONTROL_REPORTED /* the report is complete; `count` of the refusal is `more` */
};

struct control {
	enum control_kind kind;
	struct gate_refusal refusal;
};

#endif
