/* Fuzzes the gate's HTTP: bytes of a program and of a server in the order that the input says,
 * judged by a policy that refuses some requests. Whatever the bytes:
 *
 * - what is written to the server is read by a second reader, which knows nothing of the first and
 *   takes one form only: the requests that were let through, in their order, each with the granted
 *   Host first and no other, and with one framing; for a model runtime with the very body that was
 *   judged. Nothing comes after the end of the call;
 * - what is written to the program is read likewise: answers to those requests, one each, in order;
 * - fed byte by byte the same requests pass, and likewise where bodies pass unread;
 * - memory stays within the bounds of gate.h.
 *
 * Input: a byte of flags, then operations: a byte that says what, a byte of length, the bytes. */
#include "fuzz.h"
#include "gate/gate.h"
#include "gate/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_MODEL = 1, FLAG_ABSOLUTE = 2, FLAG_PORT = 4, FLAG_V6 = 8 };
enum { OP_CLIENT, OP_SERVER, OP_CLIENT_END, OP_SERVER_END, OP_REFUSE, OPS };

#define PASSED_MAX 64
#define TARGET_MAX 512

/* Bytes of both sides in one run; what comes after is not fed. */
#define FED_MAX (300UL * 1024UL)

struct bytes {
	char *v;
	size_t n, cap;
};

/* A request that the judge let through. */
struct passed {
	char method[24], target[TARGET_MAX];
	size_t target_len;
	struct bytes body; /* of a model runtime's */
};

struct run {
	struct http_config config;
	char authority[64]; /* what Host must be */
	struct passed passed[PASSED_MAX];
	unsigned npassed;
	bool refused; /* the judge refused one: the last */
	struct bytes server, client;
	size_t fed;
	/* what the second reader found, for the comparison */
	unsigned nread;
	uint64_t digest;
};

static void append(struct bytes *to, const void *v, size_t n)
{
	if (to->n + n + 1 > to->cap) {
		to->cap = 2 * (to->n + n + 1);
		to->v = realloc(to->v, to->cap);
		REQUIRE(to->v != NULL);
	}
	memcpy(to->v + to->n, v, n);
	to->n += n;
	to->v[to->n] = '\0';
}

static void judge(void *context, const struct http_request *request, struct http_refusal *refusal)
{
	struct run *run = context;
	size_t len = strlen(request->target);

	REQUIRE(refusal->status == 0 && !run->refused);
	REQUIRE(request->host[0] != '\0' && request->port != 0);
	REQUIRE(request->target[0] == '/' || strcmp(request->target, "*") == 0);
	REQUIRE(!run->config.model || !request->upgrade);
	REQUIRE((request->body != NULL) == (run->config.model && !request->partial));
	if (strstr(request->target, "no") != NULL || run->npassed == PASSED_MAX ||
	    strlen(request->method) >= sizeof(run->passed[0].method) ||
	    (!run->config.model && strcmp(request->host, run->config.host) != 0)) {
		refusal->status = 403;
		strcpy(refusal->why, "no");
		run->refused = true;
		return;
	}
	if (request->partial) {
		return;
	}
	struct passed *p = &run->passed[run->npassed++];
	strcpy(p->method, request->method);
	snprintf(p->target, sizeof(p->target), "%s", request->target);
	p->target_len = len;
	if (request->body != NULL) {
		append(&p->body, request->body, request->body_len);
	}
}

/* --- the second reader ---------------------------------------------------------------------- */

struct reader {
	const char *v, *end;
};

static bool starts(const struct reader *r, const char *s)
{
	return (size_t)(r->end - r->v) >= strlen(s) && memcmp(r->v, s, strlen(s)) == 0;
}

/* A line up to CR LF, without control bytes. NULL when the bytes end before. */
static const char *line(struct reader *r, size_t *len)
{
	const char *start = r->v;
	const char *lf = memchr(start, '\n', (size_t)(r->end - start));

	if (lf == NULL) {
		return NULL;
	}
	REQUIRE(lf > start && lf[-1] == '\r');
	*len = (size_t)(lf - 1 - start);
	for (size_t i = 0; i < *len; i++) {
		unsigned char c = (unsigned char)start[i];
		REQUIRE((c >= 0x20 || c == '\t') && c != 0x7f);
	}
	r->v = lf + 1;
	return start;
}

struct fields {
	bool has_length, chunked, close, websocket;
	unsigned hosts;
	unsigned long long length;
};

static bool is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(s, word, n) == 0;
}

static void read_length(struct fields *f, const char *value, size_t n)
{
	REQUIRE(!f->has_length && n > 0 && n <= 18);
	for (size_t i = 0; i < n; i++) {
		REQUIRE(value[i] >= '0' && value[i] <= '9');
		f->length = f->length * 10 + (unsigned)(value[i] - '0');
	}
	REQUIRE(n == 1 || value[0] != '0');
	f->has_length = true;
}

/* The lines of a head, to the empty one. All heads are there whole. */
static struct fields read_fields(struct reader *r, const struct run *run, bool request)
{
	static const char *const never[] = {"HTTP2-Settings", "Proxy-Connection", "Content_Length",
					    "Transfer_Encoding", "TE"};
	struct fields f = {0};
	size_t n = 0;

	for (unsigned i = 0;; i++) {
		const char *s = line(r, &n);
		REQUIRE(s != NULL);
		if (n == 0) {
			break;
		}
		const char *colon = memchr(s, ':', n);
		REQUIRE(colon != NULL && colon > s);
		size_t name = (size_t)(colon - s);
		REQUIRE(memchr(s, ' ', name) == NULL && memchr(s, '\t', name) == NULL);
		REQUIRE(n >= name + 2 && colon[1] == ' ');
		const char *value = colon + 2;
		size_t len = n - name - 2;
		REQUIRE(len == 0 || (value[0] > ' ' || (unsigned char)value[0] >= 0x80));
		if (is(s, name, "Host") && request) {
			REQUIRE(i == 0 && strlen(run->authority) == len &&
				memcmp(value, run->authority, len) == 0);
			f.hosts++;
		} else if (is(s, name, "Content-Length")) {
			read_length(&f, value, len);
		} else if (is(s, name, "Transfer-Encoding")) {
			REQUIRE(!f.chunked && len == 7 && memcmp(value, "chunked", 7) == 0);
			f.chunked = true;
		} else if (is(s, name, "Upgrade")) {
			REQUIRE(is(value, len, "websocket") && !run->config.model);
			f.websocket = true;
		} else if (is(s, name, "Connection")) {
			f.close = is(value, len, "close") || is(value, len, "TE, close");
		} else if (is(s, name, "TE")) {
			REQUIRE(request && is(value, len, "trailers"));
		} else if (is(s, name, "Origin") || is(s, name, "Referer")) {
			REQUIRE(!request || !run->config.model);
		}
		for (size_t k = 0; k + 1 < sizeof(never) / sizeof(never[0]); k++) {
			REQUIRE(!is(s, name, never[k]) || !request);
		}
	}
	REQUIRE(!(f.has_length && f.chunked));
	REQUIRE(!request || f.hosts == 1);
	return f;
}

/* A chunked body. False when the bytes end before. */
static bool read_chunks(struct reader *r, struct bytes *body)
{
	size_t n = 0;

	for (;;) {
		const char *s = line(r, &n);
		if (s == NULL) {
			return false;
		}
		REQUIRE(n > 0 && n <= 8);
		size_t len = 0;
		for (size_t i = 0; i < n; i++) {
			const char *digit = strchr("0123456789abcdef", s[i]);
			REQUIRE(digit != NULL && s[i] != '\0' && (i > 0 || n == 1 || s[i] != '0'));
			len = len * 16 +
			      (size_t)(strchr("0123456789abcdef", s[i]) - "0123456789abcdef");
		}
		if (len == 0) {
			break;
		}
		if ((size_t)(r->end - r->v) < len + 2) {
			return false;
		}
		append(body, r->v, len);
		REQUIRE(r->v[len] == '\r' && r->v[len + 1] == '\n');
		r->v += len + 2;
	}
	do { /* trailers */
		const char *s = line(r, &n);
		REQUIRE(s != NULL); /* written at once with the last chunk */
		REQUIRE(n == 0 || memchr(s, ':', n) != NULL);
		REQUIRE(n < 5 || !is(s, 5, "Host:"));
	} while (n > 0);
	return true;
}

static void digest(struct run *run, const void *v, size_t n)
{
	const unsigned char *s = v;

	for (size_t i = 0; i < n; i++) {
		run->digest = (run->digest ^ s[i]) * 0x100000001b3;
	}
}

/* "METHOD target HTTP/1.1" of a request that was let through. */
static void read_ask_line(struct run *run, struct reader *r, const struct passed *p)
{
	size_t n = 0, at = strlen(p->method);
	const char *s = line(r, &n);

	REQUIRE(s != NULL && n > at && memcmp(s, p->method, at) == 0 && s[at] == ' ');
	at++;
	if (run->config.absolute) {
		REQUIRE(n > at + 7 && memcmp(s + at, "http://", 7) == 0);
		at += 7;
		REQUIRE(n > at + strlen(run->authority) &&
			memcmp(s + at, run->authority, strlen(run->authority)) == 0);
		at += strlen(run->authority);
	}
	bool star = run->config.absolute && strcmp(p->target, "*") == 0;
	size_t target = star ? 0 : p->target_len;
	REQUIRE(n == at + target + 9 && memcmp(s + at + target, " HTTP/1.1", 9) == 0);
	REQUIRE(strncmp(s + at, p->target, target < TARGET_MAX - 1 ? target : TARGET_MAX - 1) == 0);
	for (size_t i = 0; i < n; i++) {
		REQUIRE((unsigned char)s[i] < 0x7f);
	}
	REQUIRE(memchr(s + at, ' ', target) == NULL);
}

/* All that went to the server. */
static void read_server(struct run *run)
{
	struct reader r = {run->server.v, run->server.v + run->server.n};

	while (r.v < r.end) {
		struct bytes body = {0};
		REQUIRE(run->nread < run->npassed);
		const struct passed *p = &run->passed[run->nread];
		const char *start = r.v;

		read_ask_line(run, &r, p);
		struct fields f = read_fields(&r, run, true);
		digest(run, start, (size_t)(r.v - start));
		run->nread++;
		bool whole = true;
		if (f.chunked) {
			whole = read_chunks(&r, &body);
		} else if (f.length <= (size_t)(r.end - r.v)) {
			append(&body, r.v, (size_t)f.length);
			r.v += f.length;
		} else {
			whole = false;
		}
		if (run->config.model) {
			REQUIRE(whole && !f.chunked && f.close);
			REQUIRE(body.n == p->body.n || strcmp(p->method, "GET") == 0 ||
				strcmp(p->method, "HEAD") == 0);
			REQUIRE(memcmp(body.v, p->body.v, body.n) == 0);
		}
		if (whole) {
			digest(run, body.v, body.n);
		}
		free(body.v);
		if (!whole) {
			break; /* the last one: cut off */
		}
	}
	REQUIRE(run->nread == run->npassed);
}

/* All that went to the program; `cut`: its last answer may not be whole. */
static void read_client(struct run *run, bool cut, bool idle)
{
	struct reader r = {run->client.v, run->client.v + run->client.n};
	unsigned answers = 0;
	size_t n = 0;

	while (r.v < r.end) {
		struct bytes body = {0};
		bool head =
			answers < run->npassed && strcmp(run->passed[answers].method, "HEAD") == 0;

		REQUIRE(starts(&r, "HTTP/1.1 "));
		const char *s = line(&r, &n);
		REQUIRE(s != NULL && n >= 13 && s[12] == ' ');
		int status = atoi(s + 9);
		REQUIRE(status >= 100 && status <= 999);
		struct fields f = read_fields(&r, run, false);
		if (status == 101) {
			REQUIRE(f.websocket && r.v == r.end);
			return;
		}
		if (status < 200) {
			REQUIRE(!f.chunked && !f.has_length);
			continue;
		}
		answers++;
		REQUIRE(answers <= run->npassed + 1);
		bool page = r.v < r.end && starts(&r, "lnk: ");
		bool empty = (head && !page) || status == 204 || status == 304;
		if (empty) {
			REQUIRE(!f.chunked);
		} else if (f.chunked) {
			if (!read_chunks(&r, &body)) {
				REQUIRE(cut);
				r.v = r.end;
			}
		} else if (f.has_length && f.length <= (size_t)(r.end - r.v)) {
			r.v += f.length;
		} else {
			/* The page for a HEAD that was refused has a length only. */
			REQUIRE(cut || !f.has_length || r.v == r.end);
			REQUIRE(cut || f.close);
			r.v = r.end;
		}
		free(body.v);
		REQUIRE(!f.close || r.v == r.end);
	}
	REQUIRE(!idle || answers == run->npassed);
}

/* --- running -------------------------------------------------------------------------------- */

static void drain(struct run *run, struct http *http)
{
	struct http_out *outs[] = {http_to_server(http), http_to_client(http)};
	size_t most = run->config.model         ? GATE_CALL_LATE + 3 * run->fed
		      : http_needs_server(http) ? GATE_CALL_LATE
						: GATE_CALL_EARLY;

	REQUIRE(http_memory(http) <= most);
	for (int i = 0; i < 2; i++) {
		while (outs[i]->n > 0) {
			append(i == 0 ? &run->server : &run->client, outs[i]->v + outs[i]->at,
			       outs[i]->n);
			http_written(outs[i], outs[i]->n);
		}
	}
}

/* Passes bytes of a body by, as a pipe does; how many. */
static size_t pass_by(struct run *run, struct http *http, bool server, const uint8_t *data,
		      size_t n)
{
	uint64_t unread = server ? http_unread_server(http) : http_unread_client(http);
	size_t some = unread < n ? (size_t)unread : n;

	if (some == 0) {
		return 0;
	}
	drain(run, http);
	append(server ? &run->client : &run->server, data, some);
	if (server) {
		http_passed_server(http, some);
	} else {
		http_passed_client(http, some);
	}
	run->fed += some;
	return some;
}

static void feed(struct run *run, struct http *http, bool server, const uint8_t *data, size_t n,
		 bool single)
{
	while (n > 0) {
		size_t few = run->fed < 4096 ? 1 : 61;
		size_t step = single && few < n ? few : n;
		size_t by = !single && run->fed % 3 == 0 ? pass_by(run, http, server, data, n) : 0;

		if (by > 0) {
			data += by;
			n -= by;
			continue;
		}
		bool wanted = server ? http_wants_server(http) : http_wants_client(http);
		uint8_t *exact = malloc(step);

		REQUIRE(exact != NULL);
		memcpy(exact, data, step);
		size_t taken = server ? http_from_server(http, exact, step)
				      : http_from_client(http, exact, step);
		free(exact);
		REQUIRE(taken <= step && (wanted || taken == 0));
		run->fed += taken;
		data += taken;
		n -= taken;
		/* Larger queues in one case of two: the bounds are to be reached. */
		if (single || run->fed % 2 == 0) {
			drain(run, http);
		}
		if (taken == 0) {
			drain(run, http);
			if (!(server ? http_wants_server(http) : http_wants_client(http))) {
				break;
			}
		}
	}
}

static void operate(struct run *run, struct http *http, const uint8_t **data, size_t *size,
		    bool single)
{
	unsigned op = (*data)[0] % OPS, times = (*data)[0] / OPS % 8;
	size_t n = (*data)[1] < *size - 2 ? (*data)[1] : *size - 2;
	const struct http_refusal refusal = {.status = 504, .why = "late"};

	*data += 2;
	*size -= 2;
	switch (op) {
	case OP_CLIENT:
	case OP_SERVER:
		/* Some again and again, so that a short input makes a long body. */
		for (unsigned i = 0; i < (times == 7 ? 500 : times == 6 ? 2 : 1); i++) {
			if (run->fed > FED_MAX) {
				break;
			}
			feed(run, http, op == OP_SERVER, *data, n, single);
		}
		*data += n;
		*size -= n;
		break;
	case OP_CLIENT_END:
		http_client_ended(http);
		break;
	case OP_SERVER_END:
		http_server_ended(http);
		break;
	default:
		http_refuse(http, &refusal);
		run->refused = true;
		break;
	}
}

static void run_once(struct run *run, const uint8_t *data, size_t size, bool single)
{
	uint8_t flags = data[0];
	size_t sent = 0;

	run->config.model = flags & FLAG_MODEL;
	run->config.absolute = (flags & FLAG_ABSOLUTE) && !run->config.model;
	run->config.port = flags & FLAG_PORT ? 8080 : 80;
	run->config.host = flags & FLAG_V6 ? "2001:db8::1" : "ok.test";
	run->config.proxy_authorization = "Basic xyz";
	run->config.judge = judge;
	run->config.context = run;
	snprintf(run->authority, sizeof(run->authority), flags & FLAG_V6 ? "[%s]" : "%s",
		 run->config.host);
	if (run->config.model || run->config.port != 80) {
		snprintf(run->authority + strlen(run->authority), 16, ":%u", run->config.port);
	}
	struct http *http = http_new(&run->config);
	REQUIRE(http != NULL);
	append(&run->server, "", 0);
	append(&run->client, "", 0);
	data++;
	size--;
	while (size >= 2) {
		enum http_state before = http_state(http);

		operate(run, http, &data, &size, single);
		drain(run, http);
		if (before != HTTP_GOING) {
			REQUIRE(http_state(http) == before && run->server.n == sent);
		}
		sent = run->server.n;
	}
	drain(run, http);
	enum http_state state = http_state(http);
	REQUIRE(http_needs_server(http) == (run->npassed > 0));
	read_server(run);
	read_client(run, state == HTTP_BROKEN || (state == HTTP_GOING && !http_idle(http)),
		    state == HTTP_GOING && http_idle(http));
	http_free(http);
}

static void run_release(struct run *run)
{
	for (unsigned i = 0; i < run->npassed; i++) {
		free(run->passed[i].body.v);
	}
	free(run->server.v);
	free(run->client.v);
	free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1) {
		return 0;
	}
	struct run *whole = calloc(1, sizeof(*whole)), *single = calloc(1, sizeof(*single));

	REQUIRE(whole != NULL && single != NULL);
	run_once(whole, data, size, false);
	run_once(single, data, size, true);
	/* In pieces of a byte an error can be seen before the chunk that it follows; what passed as
	 * a request is the same. */
	REQUIRE(whole->npassed == single->npassed && whole->digest == single->digest);
	run_release(whole);
	run_release(single);
	return 0;
}
