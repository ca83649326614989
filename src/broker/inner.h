/* Inside broker.c, handler.c and tool.c: the broker's state, and what the process of one call has
 * of it. */
#ifndef LNK_BROKER_INNER_H
#define LNK_BROKER_INNER_H

#include "broker/broker.h"
#include "broker/decision.h"
#include "broker/frame.h"

#include <poll.h>
#include <signal.h>

/* Tools whose next call has a sandbox waiting for it, at one time. */
#define READY_MAX 8

/* One of them, as the broker sees it. */
struct ready {
	pid_t pid;   /* of the process that waits; 0: none */
	size_t tool; /* index in config->tools: it takes the next call at that one's socket */
	int told;    /* READY_BUSY and READY_WAITS come from there; closes when it is no more than
			an ordinary call, or has ended */
	bool busy;
	bool again; /* the tool is called, so that another is to be made when this one is gone */
};

/* One byte each: it has a call; it waits for another. */
#define READY_BUSY  'b'
#define READY_WAITS 'w'

struct broker {
	const struct broker_config *config;
	int control;    /* to the supervisor */
	int door;       /* to init, until the listeners have come */
	int *listeners; /* of each tool, and after them PLAN_BROKER; -1: none */
	int signals;    /* signalfd */
	int told[2];    /* SOCK_SEQPACKET: decisions of calls, [1] theirs */
	int turn;       /* ask_turn_make; its bytes from TURN_LARGE on are slots of large calls */
	int log;        /* --log, or -1 */
	int terminal;   /* the supervisor's, or -1 */
	pid_t group;    /* the supervisor's */
	pid_t self;
	sigset_t mask;    /* as the supervisor had it */
	sigset_t ignored; /* the signals that the supervisor had ignored */
	struct decided *decided;
	size_t ncalls;
	pid_t calls[BROKER_CALLS_MAX + READY_MAX];
	struct ready ready[READY_MAX];
	struct pollfd *heard; /* all that the broker waits for */
	bool over;
};

/* One call, in its own process. */
struct handler {
	struct broker *broker;
	int client;
	pid_t peer; /* that asked, as seen from here; may be gone */
	enum frame_kind kind;
	bool large;         /* it holds the slot of a large call */
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

/* A tool's process that waits for its call. */
struct waiting {
	pid_t pid; /* 0: there is none */
	const struct tool *tool;
	uint64_t state; /* of the tool, when it was made */
	int late;       /* the call goes there */
	int failed;     /* why it could not be run: a struct err, whole, or nothing; and what
			   broker_call's `over` says */
	int signals;    /* signalfd: SIGCHLD, SIGTERM */
	int told;       /* to the broker, see struct ready */
};

/* In a process of a call's own: nothing of the broker's that is not for calls. Of the listeners
 * `keep` stays; -1: none. */
void handler_leave(struct broker *broker, int keep);

/* One call; `client` is the accepted socket. Returns when `waiting` has done it and waits for
 * another; any other call is the last of this process. */
void handler_serve(struct broker *broker, int client, struct waiting *waiting);

/* Starts one in a child of this process, which watches it from then on and alone keeps `told` and
 * the listener. False: not to be had. */
bool tool_prepare(struct broker *broker, const struct tool *tool, int told,
		  struct waiting *ret_waiting);

/* Runs the tool that was asked for and judged, until it ends; in the one that waits, if that is
 * still of use. Returns as handler_serve. */
void tool_serve(struct handler *h, const struct broker_call *call, struct waiting *waiting);

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

/* --- ready.c ------------------------------------------------------------------------------- */

/* In the broker: one waits for calls of the tool, so that they are not the broker's. */
bool ready_waits(const struct broker *broker, size_t tool);

/* In the broker, where `told` of one can be read. */
void ready_hear(struct broker *broker, struct ready *ready);

/* In the broker: a call of the tool was allowed, so that one is to wait for the next. */
void ready_want(struct broker *broker, size_t tool);

/* In the broker: the process `pid` has ended. True: it was one that waited. */
bool ready_ended(struct broker *broker, pid_t pid);

/* In the broker, at the end: they become calls, to be ended like the others. In other processes:
 * nothing of them is kept. */
void ready_end(struct broker *broker);

#endif
