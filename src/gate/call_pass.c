/* Calls whose bytes are not looked at (any more): dialled and relayed; and refusals by port. */
#include "gate/call_inner.h"
#include "gate/sock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void call_refuse(struct call *call, const struct verdict *refused)
{
	call->told = true;
	call_tell(call, refused, NULL, NULL, NULL);
	if (call->port == 443) {
		call_tls_refuse(call);
		return;
	}
	call->refused = call->port == 80 ? malloc(sizeof(*call->refused)) : NULL;
	if (call->refused == NULL) {
		call_end(call, true);
		return;
	}
	*call->refused = *refused;
	call_http_start(call);
}

bool call_dial(struct call *call, dial_done *done)
{
	const struct verdict verdict = {
		.how = call->how, .section = call->section, .from = call->from};

	call->dial = dial_start(call->gate, call->named ? call->host : NULL, &call->addr,
				call->port, &verdict, done, call);
	return call->dial != NULL;
}

static void on_relayed(void *context, int sys)
{
	call_end(context, sys != 0);
}

void call_relay(struct call *call, const void *first, size_t len, const void *first_back,
		size_t len_back)
{
	event_fd_free(call->on_program);
	call->on_program = NULL;
	call_wait(call, NULL, 0);
	call->relay = relay_start(call->gate, call->program, call->server, first, len, first_back,
				  len_back, on_relayed, call);
	if (call->relay == NULL) {
		call_end(call, true);
	}
}

static void on_dialled(void *context, const struct dial_result *result)
{
	struct call *call = context;

	call->dial = NULL;
	if (result->fd < 0) {
		if (result->verdict.how == GATE_REFUSED) {
			call_refuse(call, &result->verdict);
		} else {
			call_end(call, true);
		}
		return;
	}
	unsigned char *first = call->hello;
	call->hello = NULL;
	call->server = result->fd;
	call_relay(call, first, call->hello_len, NULL, 0);
	free(first);
}

/* While a server is dialled the program's bytes wait; that it is gone is told all the same. */
static void on_reset(void *context, int events)
{
	struct call *call = context;

	if (events & EVENT_BROKEN) {
		call_end(call, true);
	} else {
		event_fd_want(call->on_program, 0); /* urgent bytes: told again and again */
	}
}

void call_pass(struct call *call)
{
	call->told = false;
	call_wait(call, NULL, 0);
	if (!call_watch(call, on_reset, UV_PRIORITIZED) || !call_dial(call, on_dialled)) {
		call_end(call, true);
	}
}

void call_raw_start(struct call *call)
{
	struct verdict refused;
	unsigned wait_s;

	if (call_rate(call, &refused, &wait_s)) {
		call_pass(call);
		return;
	}
	call_tell(call, &refused, NULL, NULL, NULL);
	call_end(call, true);
}
