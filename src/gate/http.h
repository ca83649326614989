/* HTTP/1 between a program and one server: every request is read whole as far as its head, judged,
 * and written out anew; bodies and answers pass as they come. llhttp reads, we write. No sockets in
 * here: bytes in, bytes out, so that a fuzzer drives it. Source: RFC 9110, RFC 9112.
 *
 * One request is under way at a time: bytes of the next one wait (the caller does not feed them:
 * http_wants_client) until the answer is complete.
 *
 * A request's head is read twice, by a strict reader of our own (http_head.c) and by llhttp; where
 * the two differ, or either refuses, it is answered 400 and the call ends. What a server gets is
 * written from what was judged, never copied: the framing and the Host are ours. So a body with GET
 * or HEAD passes where its length is beyond doubt (Elasticsearch's clients send them). A request of
 * HTTP/1.0 may leave Host out: it is then the host that was called.
 *
 * An answer that comes before the request's body is complete passes; when it is complete no more of
 * the body does, and the call ends: what would follow could be read as another request by a server
 * that has stopped reading this one.
 *
 * A body that is not in chunks may pass unread, past this one (http_unread_client): nothing in it
 * is judged, and its length is known.
 *
 * Memory (http_memory): HTTP_HEAD_MAX and a little until a request is let through; at most
 * GATE_CALL_LATE after, but for the body of a request to a model runtime, which is gathered as it
 * comes. */
#ifndef LNK_GATE_HTTP_H
#define LNK_GATE_HTTP_H

#include "gate/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request's or an answer's head: more is 431, or ends the call. Less than
 * GATE_CALL_EARLY, which a call must keep to while a head is gathered. */
#define HTTP_HEAD_MAX (48UL * 1024UL)
/* When so much waits to be written to one side, the other is not read: while bodies pass, and when
 * the next head is due. A head, or one more step of a body, may come on top. */
#define HTTP_QUEUE_MAX  (64UL * 1024UL)
#define HTTP_QUEUE_HEAD (16UL * 1024UL)
/* Body of a request to a model runtime, which is judged whole. */
#define HTTP_MODEL_BODY_MAX (32UL * 1024UL * 1024UL)

/* A queue of bytes to be written. `v + at` on, `n` bytes. What is in `next` follows: http_written
 * brings it forward when the rest is gone, so that a body of 32 MiB is not copied behind its head.
 */
struct http_out {
	unsigned char *v;
	size_t at, n, cap;
	unsigned char *next;
	size_t next_n, next_cap;
	bool failed; /* memory was out: what is here is not whole */
};

/* One request, when its head (and for models its body) is complete. Strings end with NUL and hold
 * none otherwise. */
struct http_request {
	const char *method;
	/* Origin-form, "/path?query", exactly as it came (RFC 9112 section 3.2); "*" of OPTIONS. */
	const char *target;
	char host[HOST_MAX]; /* of Host, in normal form; without the port */
	uint16_t port;       /* of Host; the call's port when Host has none */
	bool upgrade;        /* asks for "websocket" */
	const char *body;    /* models: the whole body; else NULL */
	size_t body_len;
	/* Models: the body is still to come, and the same request will be judged again with it. A
	 * refusal now spares it; that nothing is refused is no decision yet, and not logged. */
	bool partial;
};

/* What is answered instead of passing a request on. status 0: it passes. */
struct http_refusal {
	unsigned status;      /* 400, 403, 405, 413, 429 ... */
	unsigned retry_after; /* seconds, for 429 */
	char allow[32];       /* for 405: the methods there are (RFC 9110 section 10.2.1) */
	char why[256];        /* printable, one sentence */
	char hint[384];       /* the line to add; may be empty */
};

struct http_config {
	/* Judges a request; fills `refusal` (all zero before) to refuse it. The strings of
	 * `request` are gone when it returns. Not asked about what is no proper request. */
	void (*judge)(void *context, const struct http_request *request,
		      struct http_refusal *refusal);
	void *context;
	const char *host; /* of the call, normal form: what Host is written as, with the port
			     unless it is 80 (or always, for models) */
	uint16_t port;
	bool model;    /* bodies are read whole before they are judged (and left out of GET and
			  HEAD, where no runtime reads them); no upgrade; one request per
			  connection; Host is replaced, Origin and Referer are left out */
	bool absolute; /* to an upstream proxy: the target is written as http://host/path */
	const char *proxy_authorization; /* value of that header for the proxy, or NULL */
};

enum http_state {
	HTTP_GOING,
	HTTP_RAW,    /* upgraded: from here on bytes pass both ways unread (what is queued first) */
	HTTP_CLOSE,  /* write what is queued to the program, then close the call */
	HTTP_BROKEN, /* the server's answer cannot be read, or a side ended in the middle: write
			what is queued (a 502 when nothing of an answer has been passed on), then
			close; by a reset where the program must not take what it has for whole */
};

struct http;

/* NULL when memory is out. `config` is copied; its strings are borrowed. */
struct http *http_new(const struct http_config *config);
void http_free(struct http *http);

/* Feeds bytes of the program. Returns how many were taken: fewer when a request is under way and
 * the next has begun, or when HTTP_CLOSE. What a server must get is in `http_to_server`, what the
 * program must get in `http_to_client`; the caller writes them out and calls http_written. */
size_t http_from_client(struct http *http, const unsigned char *bytes, size_t len);
size_t http_from_server(struct http *http, const unsigned char *bytes, size_t len);
struct http_out *http_to_server(struct http *http);
struct http_out *http_to_client(struct http *http);
void http_written(struct http_out *out, size_t n);

/* How many of the bytes that come next, of the program or of the server, need not be fed: of a body
 * whose length is known all but the last one, which ends the message when it is fed; UINT64_MAX of
 * an answer that ends with its connection. They may pass as they are when what is queued for the
 * other side is written. 0: none (heads, chunks, bodies for models). */
uint64_t http_unread_client(const struct http *http);
uint64_t http_unread_server(const struct http *http);
/* So many of them were read, and are on their way. */
void http_passed_client(struct http *http, uint64_t n);
void http_passed_server(struct http *http, uint64_t n);

/* The other side ended its half (a read gave 0). */
void http_client_ended(struct http *http);
void http_server_ended(struct http *http);

enum http_state http_state(const struct http *http);
/* True when bytes of the program would be taken now; false while an answer is awaited and the next
 * request's bytes must wait in the kernel, and while the server does not read. The caller watches
 * for a hang-up all the same. */
bool http_wants_client(const struct http *http);
/* True when bytes of the server would be taken now; false while the program does not read. */
bool http_wants_server(const struct http *http);
/* True once a request was let through: a server is needed. */
bool http_needs_server(const struct http *http);
/* True when no request is under way: a server that closes now has done nothing wrong. */
bool http_idle(const struct http *http);

/* The gate's own answer, a short page of plain text, queued for the program; HTTP_CLOSE follows.
 * For what happens outside of a request's judging: the server cannot be reached (502, 504). */
void http_refuse(struct http *http, const struct http_refusal *refusal);

/* The status of the gate's answer to what is no proper request (400, 405, 413, 431), of which the
 * judge was not asked; 0 when there was none. `*ret_why` is static. For the log. */
unsigned http_refused(const struct http *http, const char **ret_why);

/* Bytes of memory that this one holds at the moment: for a bound over all calls. */
size_t http_memory(const struct http *http);

#endif
