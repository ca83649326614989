/* Inside broker.c, handler.c and tool.c: the broker's state, and what the process of one call has
 * of it. */
#ifndef LNK_BROKER_INNER_H
#define LNK_BROKER_INNER_H

#include "broker/broker.h"
#include "broker/decision.h"
#include "broker/frame.h"

#include <signal.h>

struct broker {
	const struct broker_config *config;
	int control; /* to the supervisor */
	int door;    /* to init, until the listener has come */
	int listener;
	int signals;  /* signalfd */
	int told[2];  /* SOCK_SEQPACKET: decisions of calls, [1] theirs */
	int turn;     /* ask_turn_make; its bytes from TURN_LARGE on are slots of large calls */
	int log;      /* --log, or -1 */
	int terminal; /* the supervisor's, or -1 */
	pid_t group;  /* the supervisor's */
	pid_t self;
	sigset_t mask;    /* as the supervisor had it */
	sigset_t ignored; /* the signals that the supervisor had ignored */
	struct decided *decided;
	size_t ncalls;
	pid_t calls[BROKER_CALLS_MAX];
};

/* One call, in its own process. */
struct handler {
	struct broker *broker;
	int client;
	pid_t peer; /* that asked, as seen from here; may be gone */
	enum frame_kind kind;
	int fds[FRAME_FDS]; /* of a TOOL; else -1 */
	unsigned char *payload;
	struct frame_request request;
	char **argv; /* argv[0] is the name */
	struct broker_decision decision;
};

/* What the broker says to the supervisor over the control socket, one message each. */
enum broker_message {
	BROKER_END = 1, /* supervisor to broker: end all calls, report, exit */
	BROKER_REFUSAL, /* broker to supervisor: one of the report */
	BROKER_REPORTED /* the report is complete */
};

struct broker_told {
	uint32_t kind;
	uint32_t more; /* of BROKER_REPORTED */
	struct broker_refusal refusal;
};
#define BROKER_TOLD_HEAD offsetof(struct broker_told, refusal)

/* The signals whose effect the broker changes, for tools to have it as it was. */
#define BROKER_SIGNALS 9
extern const int broker_signals[BROKER_SIGNALS];

/* The whole life of a call's process; `client` is the accepted socket. */
_Noreturn void handler_main(struct broker *broker, int client);

/* Runs the tool that was asked for and judged, until it ends. */
_Noreturn void tool_serve(struct handler *h, const struct broker_call *call);

/* Sends a small frame; a shim that does not read loses it. */
void handler_send(int client, enum frame_kind kind, uint32_t number, uint32_t more,
		  const char *text);

/* Tells shim and broker that it was refused (h->decision.why and hint, made printable here), and
 * ends. `status` is the shim's. */
_Noreturn void handler_refuse(struct handler *h, int status);

/* Fills h->decision's why and hint. */
void handler_why(struct handler *h, const char *why, const char *hint);

/* h->decision to the broker. */
void handler_tell(struct handler *h);

#endif
