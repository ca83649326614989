/* Port 443 of [internet]: a ClientHello is gathered and its server name compared with the name that
 * was called; then bytes pass unread. Everything that comes here is the program's. */
#include "base/testguard.h"
#include "gate/call_inner.h"
#include "gate/hello.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static_assert(HELLO_MAX <= GATE_CALL_EARLY, "a hello is held until a server is there");

/* --- refusals ------------------------------------------------------------------------------- */

static void alert(struct call *call)
{
	send(call->program, hello_alert, HELLO_ALERT_LEN, MSG_NOSIGNAL | MSG_DONTWAIT);
	call_linger(call, false);
}

static void silent(void *context)
{
	call_end(context, true);
}

/* A client that got an alert before it has said anything would not believe it. */
static void on_word(void *context, int events)
{
	struct call *call = context;
	unsigned char byte;
	ssize_t n = recv(call->program, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (events & EVENT_BROKEN) {
		call_end(call, true);
	} else if (n > 0) {
		alert(call);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		call_end(call, n < 0);
	}
}

void call_tls_refuse(struct call *call)
{
	if (call->hello_len > 0) {
		alert(call);
	} else if (!call_wait(call, silent, GATE_FIRST_MS) ||
		   !call_watch(call, on_word, UV_READABLE)) {
		call_end(call, true);
	}
}

static void refuse(struct call *call, const struct verdict *refused, const char *host)
{
	call_tell(call, refused, host, NULL, NULL);
	alert(call);
}

static void refuse_no_tls(struct call *call)
{
	struct verdict v = {.section = call->section};
	bool v6 = strchr(call->host, ':') != NULL;

	snprintf(v.why, sizeof(v.why), "what was sent to port 443 is no TLS");
	snprintf(v.hint, sizeof(v.hint),
		 "for another protocol add to [internet]: tcp = [\"%s%s%s:443\"]", v6 ? "[" : "",
		 call->host, v6 ? "]" : "");
	refuse(call, &v, NULL);
}

/* --- the server name ------------------------------------------------------------------------ */

/* May a call to call->host ask for this server name? False: `v` and `*ret_host` say what is
 * refused. */
static bool name_fits(const struct call *call, const char *name, struct verdict *v,
		      const char **ret_host)
{
	*ret_host = NULL;
	if (!guard_on("hello")) {
		return true;
	}
	if (call->named ? strcmp(name, call->host) == 0 : name[0] == '\0') {
		return true;
	}
	*v = (struct verdict){.section = call->section};
	if (name[0] == '\0') {
		snprintf(v->why, sizeof(v->why), "its TLS names no server (SNI)");
		snprintf(v->hint, sizeof(v->hint),
			 "let the client send the name that it has looked up");
		return false;
	}
	*ret_host = name;
	policy_call_name(call->gate->policy, name, call->port, v);
	if (v->how == GATE_REFUSED) {
		return false;
	}
	/* An address was called, and both it and the name are granted. */
	if (!call->named && v->section == GATE_INTERNET) {
		return true;
	}
	*v = (struct verdict){.section = call->section};
	snprintf(v->why, sizeof(v->why), "its TLS was sent to an address of %.100s", call->host);
	snprintf(v->hint, sizeof(v->hint), "call each name at the address that it is looked up to");
	return false;
}

static void hello_complete(struct call *call, const char *name)
{
	struct verdict refused;
	const char *host;
	unsigned wait_s;

	if (!name_fits(call, name, &refused, &host)) {
		refuse(call, &refused, host);
	} else if (!call_rate(call, &refused, &wait_s)) {
		refuse(call, &refused, NULL);
	} else {
		call_pass(call);
	}
}

/* --- gathering ------------------------------------------------------------------------------ */

/* Room for what comes, as much as is likely to. False: memory is out. */
static bool make_room(struct call *call)
{
	size_t cap = call->hello_cap == 0 ? 2048 : call->hello_cap * 2;

	if (call->hello_len < call->hello_cap) {
		return true;
	}
	unsigned char *more = realloc(call->hello, cap < HELLO_MAX ? cap : HELLO_MAX);
	if (more == NULL) {
		return false;
	}
	call->hello = more;
	call->hello_cap = cap < HELLO_MAX ? cap : HELLO_MAX;
	return true;
}

static void read_hello(struct call *call)
{
	char name[HOST_MAX];

	switch (hello_read(call->hello, call->hello_len, name)) {
	case HELLO_MORE:
		if (call->hello_len == HELLO_MAX) {
			refuse_no_tls(call);
		}
		break;
	case HELLO_OK:
		hello_complete(call, name);
		break;
	case HELLO_BAD:
		refuse_no_tls(call);
		break;
	}
}

static void on_hello(void *context, int events)
{
	struct call *call = context;

	if ((events & EVENT_BROKEN) || !make_room(call)) {
		call_end(call, true);
		return;
	}
	ssize_t n = recv(call->program, call->hello + call->hello_len,
			 call->hello_cap - call->hello_len, MSG_DONTWAIT);
	if (n > 0) {
		call->hello_len += (size_t)n;
		read_hello(call);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		call_end(call, n < 0);
	}
}

void call_tls_start(struct call *call)
{
	if (!call_wait(call, silent, GATE_FIRST_MS) || !call_watch(call, on_hello, UV_READABLE)) {
		call_end(call, true);
	}
}
