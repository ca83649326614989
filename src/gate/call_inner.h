/* Inside gate/call*.c only: the state of one call, and the steps between the files.
 *
 *   call_begin -> names looked up -> call_judged -+-> call_tls_start  -> call_dial -> call_relay
 *                                                 +-> call_http_start -> call_dial, turn by turn
 *                                                 +-> call_raw_start  -> call_dial -> call_relay
 *                                                 +-> call_refuse: a page, an alert or a reset
 *
 * At any moment one of these files waits for the call's descriptors, and call_end may come. */
#ifndef LNK_GATE_CALL_INNER_H
#define LNK_GATE_CALL_INNER_H

#include "gate/call.h"
#include "gate/dial.h"
#include "gate/event.h"
#include "gate/http.h"
#include "gate/relay.h"

/* Through a proxy a name that nobody knows here is the proxy's to look up: not waited for longer.
 */
#define CALL_LOOK_UP_PROXIED_MS 3000
/* What was said last is read by a program that goes on writing: so long, and so much, is listened
 * to before the connection is closed, which would else reset it. */
#define CALL_LINGER_MS    2000
#define CALL_LINGER_BYTES (8UL * 1024UL * 1024UL)
/* The same before a reset that must not be taken for an end. */
#define CALL_CUT_MS 300
/* A connection that a client keeps for its next request, when its server's has ended. */
#define CALL_KEPT_MS 60000

struct call_http;

struct call {
	struct gate *gate;
	struct call *next, *prev;
	int program, server; /* -1: none */
	struct event_fd *on_program;
	struct event_timer *timer;

	char *host; /* the name, or the text of the address; NULL: published */
	bool named;
	bool unknown; /* nobody here, nor a proxy, knows an address of the name */
	struct addr addr;
	uint16_t port;
	uint32_t held; /* address whose name is held; 0: none */
	enum gate_how how;
	enum gate_section section;
	const struct origin *from;
	struct verdict *refused; /* an answer is owed; NULL: granted */
	bool looking_up;
	bool told; /* to the log; false while it is dialled or relayed: told when it ends */

	unsigned char *hello; /* what came of TLS so far */
	size_t hello_len, hello_cap;
	struct dial *dial;
	struct relay *relay;
	struct call_http *http;
	size_t drained;
	bool cut; /* the last word is not whole, and must not end like one that is */
};

/* --- call.c ------------------------------------------------------------------------------- */

/* Ends it and frees it. By a reset to both sides where they are still open, or not. */
void call_end(struct call *call, bool reset);

/* Waits for these events of the program with `ready` from now on; replaces what waited before.
 * False: memory is out. */
bool call_watch(struct call *call, event_ready *ready, int events);
/* The one timer of a call; 0 stops it. False: memory is out. */
bool call_wait(struct call *call, event_due *due, uint64_t ms);

/* Says the last word: closes our half, listens to the rest, then closes. `cut`: closes no half, and
 * resets in the end. */
void call_linger(struct call *call, bool cut);

/* Tells a decision of this call. `refused` NULL: allowed. `host` NULL: the call's own. */
void call_tell(const struct call *call, const struct verdict *refused, const char *host,
	       const char *method, const char *path);

/* Takes one call of per_minute, when the call is one to [internet]; the refusal when there is none
 * left. */
bool call_rate(struct call *call, struct verdict *ret_refused, unsigned *ret_wait_s);

/* --- call_pass.c -------------------------------------------------------------------------- */

/* Refuses from now on, as the port's clients understand it, and tells it. */
void call_refuse(struct call *call, const struct verdict *refused);

/* Dials; `done` when the call is still there. False: memory is out. */
bool call_dial(struct call *call, dial_done *done);

void call_raw_start(struct call *call);
/* Dials, then relays with what is in `hello` first. */
void call_pass(struct call *call);
/* Relays between both descriptors, and ends the call. */
void call_relay(struct call *call, const void *first, size_t len, const void *first_back,
		size_t len_back);

/* --- call_tls.c --------------------------------------------------------------------------- */

void call_tls_start(struct call *call);
/* An alert `access_denied`, when the program has begun to speak. */
void call_tls_refuse(struct call *call);

/* --- call_http.c -------------------------------------------------------------------------- */

/* Also for a refused call: every request gets the refusal. */
void call_http_start(struct call *call);
void call_http_free(struct call_http *http);

#endif
