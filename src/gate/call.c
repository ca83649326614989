/* Where a call comes from, who it is for, and its end. What the program controls: the address and
 * port it asked for, every byte, and when it goes away; what servers control: likewise. */
#include "gate/call.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/testguard.h"
#include "gate/address.h"
#include "gate/call_inner.h"
#include "gate/sock.h"
#include "plan/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* From linux/netfilter_ipv4.h and linux/netfilter_ipv6/ip6_tables.h, which clash with the C
 * library's headers. */
#define ORIGINAL_DST 80

/* --- life ----------------------------------------------------------------------------------- */

static struct call *call_new(struct gate *gate, int program)
{
	struct call *call = calloc(1, sizeof(*call));

	if (call == NULL) {
		sock_reset(&program);
		return NULL;
	}
	call->gate = gate;
	call->program = program;
	call->server = -1;
	call->told = true;
	call->next = gate->calls;
	if (gate->calls != NULL) {
		gate->calls->prev = call;
	}
	gate->calls = call;
	gate->ncalls++;
	sock_prepare(program);
	return call;
}

static void unlink_call(struct call *call)
{
	struct gate *gate = call->gate;

	if (call->prev != NULL) {
		call->prev->next = call->next;
	} else {
		gate->calls = call->next;
	}
	if (call->next != NULL) {
		call->next->prev = call->prev;
	}
	gate->ncalls--;
}

static void close_one(int *fd, bool reset)
{
	if (reset) {
		sock_reset(fd);
	} else {
		fd_close(fd);
	}
}

void call_end(struct call *call, bool reset)
{
	struct gate *gate = call->gate;

	unlink_call(call);
	if (!call->told) {
		call_tell(call, NULL, NULL, NULL, NULL);
	}
	if (call->looking_up) {
		resolver_forget(gate->resolver, call);
	}
	dial_cancel(call->dial);
	relay_stop(call->relay);
	call_http_free(call->http);
	event_fd_free(call->on_program);
	event_timer_free(call->timer);
	close_one(&call->program, reset);
	close_one(&call->server, reset);
	if (call->held != 0) {
		names_release(gate->names, call->held);
	}
	free(call->hello);
	free(call->refused);
	free(call->host);
	free(call);
}

void call_end_all(struct gate *gate)
{
	while (gate->calls != NULL) {
		/* It takes itself off the list; the analyzer loses sight of that. */
		call_end(gate->calls, true); // NOLINT(clang-analyzer-unix.Malloc)
	}
	pipes_close(&gate->pipes);
}

bool call_watch(struct call *call, event_ready *ready, int events)
{
	event_fd_free(call->on_program);
	call->on_program = event_fd_new(&call->gate->loop, call->program, ready, call);
	if (call->on_program == NULL) {
		return false;
	}
	event_fd_want(call->on_program, events);
	return true;
}

bool call_wait(struct call *call, event_due *due, uint64_t ms)
{
	event_timer_free(call->timer);
	call->timer = ms > 0 ? event_timer_new(&call->gate->loop, due, call) : NULL;
	if (ms > 0 && call->timer == NULL) {
		return false;
	}
	if (ms > 0) {
		event_timer_start(call->timer, ms);
	}
	return true;
}

/* --- the last word -------------------------------------------------------------------------- */

static void linger_over(void *context)
{
	call_end(context, true);
}

static void on_linger(void *context, int events)
{
	struct call *call = context;
	unsigned char buf[16384];
	ssize_t n = recv(call->program, buf, sizeof(buf), MSG_DONTWAIT);

	bool again = n < 0 && (errno == EAGAIN || errno == EINTR);

	call->drained += n > 0 ? (size_t)n : 0;
	if (n == 0 && !(events & EVENT_BROKEN)) {
		if (call->cut) {
			event_fd_want(call->on_program, 0); /* the reset comes in its time */
		} else {
			call_end(call, false);
		}
	} else if ((events & EVENT_BROKEN) || (n < 0 && !again) ||
		   call->drained > CALL_LINGER_BYTES) {
		call_end(call, true);
	}
}

void call_linger(struct call *call, bool cut)
{
	sock_reset(&call->server);
	if (!cut) {
		shutdown(call->program, SHUT_WR);
	}
	call->drained = 0;
	call->cut = cut;
	if (!call_watch(call, on_linger, UV_READABLE) ||
	    !call_wait(call, linger_over, cut ? CALL_CUT_MS : CALL_LINGER_MS)) {
		call_end(call, true);
	}
}

/* --- decisions ------------------------------------------------------------------------------ */

void call_tell(const struct call *call, const struct verdict *refused, const char *host,
	       const char *method, const char *path)
{
	struct decision decision = {
		.section = refused != NULL ? refused->section : call->section,
		.host = host != NULL ? host : call->host,
		.port = call->port,
		.allowed = refused == NULL,
		.from = refused == NULL ? call->from : NULL,
		.why = refused != NULL ? refused->why : NULL,
		.hint = refused != NULL ? refused->hint : NULL,
		.method = method,
		.path = path,
	};

	if (call->relay != NULL) {
		relay_counts(call->relay, &decision.sent, &decision.received);
	}
	decisions_add(call->gate->decisions, &decision);
}

bool call_rate(struct call *call, struct verdict *ret_refused, unsigned *ret_wait_s)
{
	struct gate *gate = call->gate;

	if (call->section != GATE_INTERNET || !guard_on("rate") ||
	    rate_take(&gate->rate, (uint64_t)clock_now_ms(), ret_wait_s)) {
		return true;
	}
	*ret_refused = (struct verdict){.section = GATE_INTERNET};
	snprintf(ret_refused->why, sizeof(ret_refused->why),
		 "there were %llu calls in this minute already",
		 (unsigned long long)gate->plan.per_minute);
	snprintf(ret_refused->hint, sizeof(ret_refused->hint),
		 "raise per_minute of [internet], or leave it out");
	return false;
}

/* --- judging -------------------------------------------------------------------------------- */

/* What was asked is answered. */
static void call_answer(struct call *call)
{
	struct decision decision = {.section = call->section,
				    .host = call->host,
				    .port = call->port,
				    .allowed = true,
				    .from = call->from,
				    .why = call->unknown ? "nobody here knows an address of it now"
							 : NULL};

	decisions_add(call->gate->decisions, &decision);
	call_end(call, false);
}

static void call_judged(struct call *call, const struct verdict *verdict)
{
	call->how = verdict->how;
	call->section = verdict->section;
	call->from = verdict->from;
	if (call->gate->ask && verdict->how != GATE_REFUSED) {
		call_answer(call);
		return;
	}
	switch (verdict->how) {
	case GATE_REFUSED:
		call_refuse(call, verdict);
		break;
	case GATE_TLS:
		call_tls_start(call);
		break;
	case GATE_HTTP:
	case GATE_MODEL:
		call_http_start(call);
		break;
	case GATE_RAW:
		call_raw_start(call);
		break;
	}
}

/* The name's addresses are known: which section the call belongs to, and whether it may be at all,
 * is told before its first byte is read. */
static void on_resolved(void *context, const struct resolved *resolved)
{
	struct call *call = context;
	struct verdict granted, verdict;

	call->looking_up = false;
	call_wait(call, NULL, 0);
	policy_call_name(call->gate->policy, call->host, call->port, &granted);
	call->unknown = resolved->n == 0 &&
			dial_proxy(call->gate, call->host, call->port, &granted) == NULL;
	dial_judge(call->gate, call->host, call->port, resolved, &granted, &verdict);
	call_judged(call, &verdict);
}

static void look_up_over(void *context)
{
	static const struct resolved nothing = {.status = UV_EAI_AGAIN};
	struct call *call = context;

	resolver_forget(call->gate->resolver, call);
	on_resolved(call, &nothing);
}

static bool keep_host(struct call *call, const char *host)
{
	call->host = strdup(host);
	return call->host != NULL;
}

static void begin_named(struct call *call, const char *name)
{
	struct verdict verdict;
	struct gate *gate = call->gate;

	policy_call_name(gate->policy, name, call->port, &verdict);
	if (verdict.how == GATE_REFUSED) {
		call_judged(call, &verdict);
		return;
	}
	if (dial_proxy(gate, name, call->port, &verdict) != NULL &&
	    !call_wait(call, look_up_over, CALL_LOOK_UP_PROXIED_MS)) {
		call_end(call, true);
		return;
	}
	call->looking_up = true;
	/* The last thing done here: the answer may be there already, and the call gone. */
	resolver_look_up(gate->resolver, name, on_resolved, call);
}

static void begin_address(struct call *call)
{
	struct verdict verdict;
	struct gate *gate = call->gate;

	policy_call_address(gate->policy, &call->addr, call->port, &verdict);
	if (verdict.how != GATE_REFUSED && verdict.section != GATE_LOCALHOST &&
	    address_is_own(gate->routes, &call->addr)) {
		policy_refuse_own(gate->policy, NULL, call->port, &call->addr, &verdict);
	}
	call_judged(call, &verdict);
}

/* One of the addresses that the resolver gives out. 0: none. Host order. */
static uint32_t given_out(const struct addr *addr)
{
	uint32_t v4;

	if (addr->v6) {
		return 0;
	}
	memcpy(&v4, addr->b, sizeof(v4));
	v4 = ntohl(v4);
	return (v4 & NET_NAMES_MASK) == (NET_NAMES_FIRST & NET_NAMES_MASK) ? v4 : 0;
}

static void refuse_nameless(struct call *call, const char *why, const char *hint)
{
	struct verdict verdict = {.how = GATE_REFUSED};

	snprintf(verdict.why, sizeof(verdict.why), "%s", why);
	snprintf(verdict.hint, sizeof(verdict.hint), "%s", hint);
	call_judged(call, &verdict);
}

void call_begin(struct gate *gate, int fd, const struct addr *addr, uint16_t port)
{
	struct call *call = call_new(gate, fd);
	char text[ADDRESS_TEXT_MAX];

	if (call == NULL) {
		return;
	}
	uint32_t given = given_out(addr);
	const char *name = given != 0 ? names_of(gate->names, given) : NULL;
	call->addr = *addr;
	call->port = port;
	call->named = name != NULL;
	if (!keep_host(call, name != NULL ? name : address_text(addr, text))) {
		call_end(call, true);
		return;
	}
	if (name != NULL) {
		call->held = given;
		names_hold(gate->names, given);
		begin_named(call, call->host);
	} else if (given != 0) {
		refuse_nameless(call, "the sandbox's resolver gave this address to no name",
				"look the name up again");
	} else {
		begin_address(call);
	}
}

/* --- where it wanted to go ------------------------------------------------------------------ */

/* The destination before the redirect. False: it was not redirected. */
static bool original(int fd, struct addr *ret_addr, uint16_t *ret_port)
{
	struct sockaddr_storage own = {0}, dst = {0};
	socklen_t own_len = sizeof(own), len = sizeof(dst);
	struct addr own_addr;
	uint16_t own_port;

	if (getsockname(fd, (struct sockaddr *)&own, &own_len) < 0 ||
	    !address_from_sockaddr((const struct sockaddr *)&own, &own_addr, &own_port)) {
		return false;
	}
	/* IPv4 calls to the dual-stack listener have mapped addresses; address_from_sockaddr has
	 * made them IPv4. */
	if (getsockopt(fd, own_addr.v6 ? SOL_IPV6 : SOL_IP, ORIGINAL_DST, &dst, &len) < 0 ||
	    !address_from_sockaddr((const struct sockaddr *)&dst, ret_addr, ret_port)) {
		*ret_addr = own_addr;
		*ret_port = own_port;
		return false;
	}
	/* Who connects to the gate's own port is not redirected, and wants to go nowhere. */
	return *ret_port != own_port || ret_addr->v6 != own_addr.v6 ||
	       !addr_same_prefix(ret_addr, &own_addr, own_addr.v6 ? 128 : 32);
}

void call_accept(struct gate *gate, int fd)
{
	struct addr addr = {0};
	uint16_t port = 0;
	char text[ADDRESS_TEXT_MAX];

	if (original(fd, &addr, &port)) {
		call_begin(gate, fd, &addr, port);
		return;
	}
	struct decision decision = {
		.host = address_text(&addr, text),
		.port = port,
		.why = "this port is the gate's own",
		.hint = "call the address that is meant; the gate finds the way"};
	decisions_add(gate->decisions, &decision);
	sock_reset(&fd);
}

void call_published(struct gate *gate, int outside_fd, int inside_fd)
{
	struct call *call = call_new(gate, outside_fd);

	if (call == NULL) {
		sock_reset(&inside_fd);
		return;
	}
	sock_prepare(inside_fd);
	call->server = inside_fd;
	call_relay(call, NULL, 0, NULL, 0);
}
