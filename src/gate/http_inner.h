/* Inside gate/http*.c only: heads read and written, and the state of one pair of connections. */
#ifndef LNK_GATE_HTTP_INNER_H
#define LNK_GATE_HTTP_INNER_H

#include "gate/http.h"

#include <llhttp.h>

/* --- queues (http_write.c) ------------------------------------------------------------------ */

/* Adds bytes. Sets `failed` when memory is out; nothing is added then or later. */
void out_add(struct http_out *out, const void *bytes, size_t n);
void out_text(struct http_out *out, const char *text);
void out_number(struct http_out *out, uint64_t number);
/* Frees what it holds and leaves it empty. */
void out_release(struct http_out *out);

/* --- heads read (http_head.c) --------------------------------------------------------------- */

/* Bytes of a head, by position, because its buffer moves while it grows. */
struct piece {
	uint32_t at, n;
};

/* One line of a head that was found strict, the space around the value taken off. */
struct head_line {
	const char *name, *value;
	size_t name_len, value_len;
};

/* The headers that are not simply passed on. */
enum field {
	FIELD_OTHER,
	FIELD_CONNECTION,
	FIELD_CONTENT_LENGTH,
	FIELD_DISGUISED, /* Content_Length, Transfer_Encoding: some servers take them for the real
			  */
	FIELD_EXPECT,
	FIELD_HOST,
	FIELD_HTTP2_SETTINGS,
	FIELD_KEEP_ALIVE,
	FIELD_ORIGIN,
	FIELD_PROXY, /* any that begins with "Proxy-" */
	FIELD_REFERER,
	FIELD_TE,
	FIELD_TRAILER,
	FIELD_TRANSFER_ENCODING,
	FIELD_UPGRADE,
};

/* Options of Connection that are remembered, so that what they name is not passed on. More are
 * refused: looking each header up in a list as long as a head would cost seconds. */
#define HEAD_OPTIONS_MAX 16

struct head {
	unsigned minor;                        /* HTTP/1.minor, 0 or 1 */
	struct piece method, target;           /* of a request; the target in origin-form */
	struct piece absolute;                 /* host and port of an absolute-form target */
	bool bare;                             /* absolute-form without a path */
	struct piece host;                     /* value of Host */
	unsigned status;                       /* of an answer */
	struct piece reason;                   /* likewise */
	size_t lines;                          /* where the lines after the first begin */
	bool has_length, chunked;              /* framing */
	uint64_t length;                       /* value of Content-Length */
	bool close, keep_alive, upgrade;       /* options of Connection */
	bool has_host, websocket, te_trailers; /* Upgrade names websocket; TE names trailers */
	bool expect_continue;
	unsigned noptions;
	struct piece option[HEAD_OPTIONS_MAX];
};

/* Looks on from `*at` for the end of a head, with CR LF at every line's end and no control bytes.
 * `*at` is then behind it; or where to look on. */
enum head_scan { HEAD_MORE, HEAD_END, HEAD_BAD };
enum head_scan head_scan(const unsigned char *v, size_t n, size_t *at);
/* The same for an answer, where a bare LF ends a line too. Never HEAD_BAD. */
enum head_scan head_scan_loose(const unsigned char *v, size_t n, size_t *at);

/* Is this first line, without its CR LF, of a request that HTTP/1 knows? `why` is static. */
bool head_first_line(const char *line, size_t n, struct head *head, const char **why);

/* Reads a request's head that head_scan found whole. False: `why` (static) says what is wrong. */
bool head_read_request(const char *v, size_t n, struct head *head, const char **why);

/* Writes an answer's head anew so that it is strict: CR LF at every end, folded lines joined (RFC
 * 9112 section 5.2), no space before a colon; lines that have no name are left out. False when it
 * holds bytes that no head may hold. */
bool head_tidy(const unsigned char *v, size_t n, struct http_out *tidy);

/* Reads an answer's head that is strict. */
bool head_read_answer(const char *v, size_t n, struct head *head, const char **why);

/* The next line of a strict head from `*at` on; false at its end. */
bool head_next(const char *v, size_t *at, struct head_line *line);
enum field head_field(const struct head_line *line);
/* True when Connection names this header. */
bool head_is_option(const char *v, const struct head *head, const struct head_line *line);
/* A name of a header or method (RFC 9110 section 5.6.2). */
bool head_is_token(const char *s, size_t n);
/* A name that may stand in a trailer: a token, and none that says where a message ends, where it
 * goes or who sends it (RFC 9110 section 6.5.1). */
bool head_trailer_name(const char *name, size_t n);
/* Host and port as in Host and absolute-form; port 0 when it has none. Source: RFC 3986 3.2.2. */
bool head_authority(const char *s, size_t n, char host[HOST_MAX], uint16_t *ret_port);

/* --- heads written (http_write.c) ----------------------------------------------------------- */

struct http_ask {
	const struct http_config *config;
	const char *v; /* the head as it came */
	const struct head *head;
	const char *method, *target;
	bool chunked;    /* a chunked body follows */
	bool has_length; /* a body of `length` bytes follows */
	uint64_t length;
	bool close, websocket;
};
void write_ask(const struct http_ask *ask, struct http_out *out);

struct http_reply {
	const char *v;
	const struct head *head;
	bool chunked;
	bool length; /* Content-Length is passed on */
	bool close;
	bool keep_alive; /* must be said: to a client of HTTP/1.0, or the server says how long */
	bool switching;  /* 101: the upgrade to websocket */
};
void write_reply(const struct http_reply *reply, struct http_out *out);

void write_chunk(const char *bytes, size_t n, struct http_out *out);
void write_last_chunk(struct http_out *trailers, struct http_out *out);

/* --- one pair of connections (http.c) ------------------------------------------------------- */

/* The trailers of a chunked body, gathered from llhttp's pieces. */
struct trailers {
	struct http_out lines;
	size_t name;  /* where the line under way begins, and its value */
	size_t value; /* 0: not there yet */
	bool bad;
};

struct http {
	struct http_config config;
	enum http_state state;
	enum { ASK_HEAD, ASK_BODY, ASK_DONE } ask;
	enum { REPLY_NONE, REPLY_HEAD, REPLY_BODY } reply;

	struct http_out to_server, to_client;
	struct http_out ask_raw, reply_raw; /* heads while they are gathered */
	size_t ask_at, reply_at;            /* scanned up to here */
	bool line_read;                     /* the request's first line was found good */
	unsigned blank;                     /* empty lines before it */
	struct http_out body;               /* models: the request's, until it is judged */

	llhttp_t in, out;
	bool in_head, in_done, in_bad; /* what llhttp told by its calls: of the request, */
	bool out_head, out_done;       /* and of the answer */
	uint32_t last;                 /* the last four bytes of the request's body as it came */
	struct trailers in_trailers, out_trailers;

	struct head head; /* of the request under way */
	const char *method, *target;
	bool is_head;         /* HEAD: its answer has no body */
	bool keep;            /* both sides may stay open after this answer */
	bool websocket;       /* an upgrade was asked for */
	bool no_body;         /* models: the body is read and left out */
	bool chunk_out;       /* the answer goes out in chunks */
	bool to_end;          /* the answer ends with the connection */
	bool in_chunks;       /* the answer comes in chunks */
	unsigned provisional; /* answers 1xx to the request under way */
	bool answered;        /* the answer's head has been passed on */
	bool passed;          /* some request was let through */
	bool used;            /* some answer was complete */
	unsigned refused;     /* status of a refusal of our own, and why (static) */
	const char *why;
	char host[HOST_MAX];
	uint16_t port;
};

/* No server sends more of them before it answers: one that does is broken, or wants to be read for
 * ever. */
#define PROVISIONAL_MAX 256

/* http.c: the gate's own answer, unless half of another one has gone out; then the state. */
void http_page(struct http *h, const struct http_refusal *refusal, enum http_state state);
void http_refuse_with(struct http *h, unsigned status, const char *why);
/* The answer cannot be passed on: a 502 where nothing of it was, and HTTP_BROKEN. */
void http_break(struct http *h, const char *why);

/* http_ask.c, http_reply.c: one step; how many bytes were taken. `len` is not 0. */
size_t http_ask_head(struct http *h, const unsigned char *bytes, size_t len);
size_t http_ask_body(struct http *h, const unsigned char *bytes, size_t len);
size_t http_reply_head(struct http *h, const unsigned char *bytes, size_t len);
size_t http_reply_body(struct http *h, const unsigned char *bytes, size_t len);
/* The answer is complete. */
void http_reply_done(struct http *h);

/* http_llhttp.c: what llhttp calls, for both sides; `data` is the struct http. */
extern const llhttp_settings_t http_llhttp;

#endif
