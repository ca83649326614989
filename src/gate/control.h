/* Inside gate/ only: what client.c and the gate's main.c say to each other over the control socket
 * (SOCK_SEQPACKET, one message each). Both are programs of one version, which the first
 * message shows, so that structs without pointers may pass as they are. */
#ifndef LNK_GATE_CONTROL_H
#define LNK_GATE_CONTROL_H

#include "gate/client.h"

/* Descriptors of lnk-gate when it starts. */
#define CONTROL_FD 3
#define DOOR_FD    4

enum control_kind {
	/* supervisor to gate. First of all, with descriptors: [0] a memfd with the encoded plan and
	 * after it the environment's proxy variables, each "NAME=VALUE" with its NUL; [1] the log,
	 * where there is one. Not in the gate's own environment: a proxy's password stands in
	 * them, and /proc/PID/environ is open to all of the user's processes for a moment. */
	CONTROL_PLAN = 1,
	CONTROL_END, /* the run is over: send the report and exit */
	/* gate to supervisor */
	CONTROL_REFUSAL,  /* one entry of the report */
	CONTROL_REPORTED, /* the report is complete */
	CONTROL_FAILED    /* the gate ends for this reason */
};

/* Longer ones are of no use to anybody; a hostile environment must not fill the gate's memory. */
#define CONTROL_ENV_MAX (64UL * 1024UL)

struct control_plan {
	char version[32]; /* LNK_VERSION of the supervisor */
	uint64_t plan_len;
	uint64_t env_len;
	uint32_t ask; /* as in gate_config */
};

/* Sent only as far as its kind goes: control_len. */
struct control {
	uint32_t kind;
	uint32_t more; /* of CONTROL_REPORTED: different refusals that were not told */
	uint32_t lost; /* likewise: decisions that the log has not */
	union {
		struct control_plan plan;
		struct gate_refusal refusal;
		struct err err;
	} u;
};

/* The length of a message of `kind` on the wire; 0 when there is no such kind. */
static inline size_t control_len(uint32_t kind)
{
	const size_t head = offsetof(struct control, u);

	switch (kind) {
	case CONTROL_PLAN:
		return head + sizeof(struct control_plan);
	case CONTROL_REFUSAL:
		return head + sizeof(struct gate_refusal);
	case CONTROL_FAILED:
		return head + sizeof(struct err);
	case CONTROL_END:
	case CONTROL_REPORTED:
		return head;
	default:
		return 0;
	}
}

#endif
