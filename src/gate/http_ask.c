/* A request: its head gathered, read twice and judged; its body passed on as it comes, or for a
 * model runtime gathered and judged. */
#include "gate/http_inner.h"

#include <string.h>

/* Bytes of a head that are looked at in one step, and of a body. */
#define HEAD_STEP 4096
#define BODY_STEP 16384
/* Empty lines before a request (RFC 9112 section 2.2 lets a client send one). */
#define BLANK_MAX 8

/* Runs llhttp over a head that our own reader took. False when it sees another message in it. */
static bool same_reading(struct http *h)
{
	const struct head *head = &h->head;
	const char *v = (const char *)h->ask_raw.v + h->ask_raw.at;

	llhttp_init(&h->in, HTTP_REQUEST, &http_llhttp);
	h->in.data = h;
	out_release(&h->in_trailers.lines);
	h->in_trailers = (struct trailers){0};
	h->in_head = h->in_done = h->in_bad = false;
	h->last = 0;
	llhttp_errno_t e = llhttp_execute(&h->in, v, h->ask_raw.n);
	bool body = head->chunked || head->length > 0;

	if (!h->in_head || h->in_done == body ||
	    (h->in_done ? e != HPE_PAUSED || llhttp_get_error_pos(&h->in) != v + h->ask_raw.n
			: e != HPE_OK)) {
		return false;
	}
	const char *method = llhttp_method_name((llhttp_method_t)llhttp_get_method(&h->in));
	return strlen(method) == head->method.n &&
	       strncmp(method, v + head->method.at, head->method.n) == 0 &&
	       llhttp_get_http_major(&h->in) == 1 && llhttp_get_http_minor(&h->in) == head->minor;
}

/* Host, and the authority of an absolute-form target, which must say the same. */
static const char *read_hosts(struct http *h, const char *v)
{
	const struct head *head = &h->head;
	char host[HOST_MAX];
	uint16_t port = 0;

	h->port = 0;
	if (!head->has_host) { /* HTTP/1.0 */
		strncpy(h->host, h->config.host, sizeof(h->host) - 1);
	} else if (!head_authority(v + head->host.at, head->host.n, h->host, &h->port)) {
		return "its Host header names no host";
	}
	h->port = h->port != 0 ? h->port : h->config.port;
	if (head->absolute.n == 0) {
		return NULL;
	}
	if (!head_authority(v + head->absolute.at, head->absolute.n, host, &port)) {
		return "its target names no host";
	}
	port = port != 0 ? port : h->config.port;
	return strcmp(host, h->host) == 0 && port == h->port
		       ? NULL
		       : "its target names another host than its Host header";
}

/* Ends the strings in the head, where only what is behind the first line is read from now on. */
static void read_first_line(struct http *h, char *v)
{
	struct head *head = &h->head;
	char *target = v + head->target.at;

	if (head->bare) {
		/* http://host and http://host?query: the byte before is the authority's, which has
		 * been read. */
		target--;
		head->target.n++;
		*target = strncmp(v, "OPTIONS ", 8) == 0 && head->target.n == 1 ? '*' : '/';
	}
	v[head->method.n] = '\0';
	target[head->target.n] = '\0';
	h->method = v;
	h->target = target;
}

static bool judge(struct http *h, bool partial)
{
	struct http_refusal refusal = {0};
	struct http_request request = {
		.method = h->method,
		.target = h->target,
		.port = h->port,
		.upgrade = h->websocket,
		.partial = partial,
	};

	memcpy(request.host, h->host, sizeof(request.host));
	if (h->config.model && !partial) {
		request.body = h->body.n > 0 ? (const char *)h->body.v + h->body.at : "";
		request.body_len = h->body.n;
	}
	h->config.judge(h->config.context, &request, &refusal);
	if (refusal.status != 0) {
		http_page(h, &refusal, HTTP_CLOSE);
	}
	return refusal.status == 0;
}

/* The head goes out, as it was judged. */
static void pass_on(struct http *h)
{
	bool model = h->config.model;
	const struct http_ask ask = {
		.config = &h->config,
		.v = (const char *)h->ask_raw.v + h->ask_raw.at,
		.head = &h->head,
		.method = h->method,
		.target = h->target,
		.chunked = h->head.chunked && !model,
		.has_length = model ? h->body.n > 0 : h->head.has_length,
		.length = model ? h->body.n : h->head.length,
		.close = !h->keep && !h->websocket,
		.websocket = h->websocket,
	};

	write_ask(&ask, &h->to_server);
	if (h->body.n > 0) { /* of a request to a model runtime: follows without a copy */
		h->to_server.next = h->body.v;
		h->to_server.next_n = h->body.n;
		h->to_server.next_cap = h->body.cap;
		h->body = (struct http_out){0};
	}
	out_release(&h->ask_raw);
	h->passed = true;
	h->reply = REPLY_HEAD;
}

static void ask_done(struct http *h)
{
	if (h->config.model) {
		if (!judge(h, false)) {
			return;
		}
		pass_on(h);
	} else if (h->head.chunked) {
		write_last_chunk(&h->in_trailers.lines, &h->to_server);
	}
	h->ask = ASK_DONE;
}

/* What may not be asked, whatever the judge says. True when it was refused. */
static bool refuse_kind(struct http *h)
{
	bool websocket = h->head.websocket && h->head.upgrade && h->head.minor > 0;
	bool body = h->head.chunked || h->head.length > 0;

	h->websocket = websocket && !h->config.model;
	if (websocket && h->config.model) {
		http_refuse_with(h, 405, "no websocket to a model runtime");
	} else if (h->websocket && (body || strcmp(h->method, "GET") != 0)) {
		http_refuse_with(h, 400, "a websocket begins with GET and no body");
	} else if (h->config.model && h->head.length > HTTP_MODEL_BODY_MAX) {
		http_refuse_with(h, 413, "bodies to a model runtime may have 32 MiB");
	}
	return h->state != HTTP_GOING;
}

static void ask_ready(struct http *h)
{
	char *v = (char *)h->ask_raw.v + h->ask_raw.at;
	const char *why = NULL;

	if (!head_read_request(v, h->ask_raw.n, &h->head, &why)) {
		http_refuse_with(h, 400, why);
		return;
	}
	h->is_head = strncmp(v, "HEAD ", 5) == 0;
	/* Before llhttp, which takes CONNECT for the end of all requests. */
	if (strncmp(v, "CONNECT ", 8) == 0 || strncmp(v, "TRACE ", 6) == 0) {
		http_refuse_with(h, 405, "the methods CONNECT and TRACE do not pass");
		return;
	}
	why = same_reading(h) ? read_hosts(h, v) : "it can be read in two ways, or in none";
	if (why != NULL) {
		http_refuse_with(h, 400, why);
		return;
	}
	read_first_line(h, v);
	if (refuse_kind(h)) {
		return;
	}
	h->keep = !h->config.model && !h->head.close && (h->head.minor > 0 || h->head.keep_alive);
	h->no_body = h->config.model && (h->is_head || strcmp(h->method, "GET") == 0);
	if (!h->config.model || !h->in_done) {
		if (!judge(h, h->config.model)) {
			return;
		}
	}
	h->ask = ASK_BODY;
	if (!h->config.model) {
		pass_on(h);
	} else if (h->head.expect_continue && h->head.minor > 0 && !h->in_done) {
		out_text(&h->to_client, "HTTP/1.1 100 Continue\r\n\r\n");
	}
	if (h->in_done) {
		ask_done(h);
	}
}

/* Takes an empty line off that comes before a request. False when there were too many. */
static bool skip_blank(struct http *h)
{
	struct http_out *raw = &h->ask_raw;

	while (raw->n >= 2 && raw->v[raw->at] == '\r' && raw->v[raw->at + 1] == '\n') {
		raw->at += 2;
		raw->n -= 2;
		h->ask_at = 0;
		if (++h->blank > BLANK_MAX) {
			return false;
		}
	}
	return true;
}

/* The first line is looked at as soon as it is there: who speaks another protocol to this port
 * learns at once, not when the time for a head is over. */
static bool check_first_line(struct http *h)
{
	const char *v = (const char *)h->ask_raw.v + h->ask_raw.at;
	const char *end = h->line_read ? NULL : memchr(v, '\n', h->ask_raw.n);
	struct head head;
	const char *why = NULL;

	if (end != NULL && end > v) {
		h->line_read = head_first_line(v, (size_t)(end - v) - 1, &head, &why);
		if (!h->line_read) {
			http_refuse_with(h, 400, why);
			return false;
		}
	}
	return true;
}

/* Gathers a head; how many bytes were taken. */
size_t http_ask_head(struct http *h, const unsigned char *bytes, size_t len)
{
	struct http_out *raw = &h->ask_raw;
	size_t n = len < HEAD_STEP ? len : HEAD_STEP;

	if (n > HTTP_HEAD_MAX - raw->n) {
		n = HTTP_HEAD_MAX - raw->n;
	}
	if (n == 0) {
		http_refuse_with(h, 431, "its head is longer than 48 KiB");
		return 0;
	}
	out_add(raw, bytes, n);
	if (raw->failed) {
		return 0;
	}
	enum head_scan scan =
		skip_blank(h) ? head_scan(raw->v + raw->at, raw->n, &h->ask_at) : HEAD_BAD;
	if (scan == HEAD_BAD) {
		http_refuse_with(h, 400, "its head has control bytes, or lines without CR LF");
		return 0;
	}
	if (scan == HEAD_END) {
		n -= raw->n - h->ask_at;
		raw->n = h->ask_at;
	}
	if (check_first_line(h) && scan == HEAD_END) {
		h->ask_at = 0;
		h->line_read = false;
		h->blank = 0;
		ask_ready(h);
	}
	return n;
}

/* A body that does not hold together. */
static void bad_body(struct http *h)
{
	if (h->state == HTTP_GOING) {
		http_refuse_with(h, 400, "its body is not framed as RFC 9112 has it");
	}
}

/* Passes a step of a body through llhttp; how many bytes were taken. */
size_t http_ask_body(struct http *h, const unsigned char *bytes, size_t len)
{
	size_t n = len < BODY_STEP ? len : BODY_STEP;

	llhttp_errno_t e = llhttp_execute(&h->in, (const char *)bytes, n);
	if (e == HPE_PAUSED && h->in_done) {
		n = (size_t)(llhttp_get_error_pos(&h->in) - (const char *)bytes);
	} else if (e != HPE_OK) {
		bad_body(h);
		return n;
	}
	for (size_t i = n > 4 ? n - 4 : 0; i < n; i++) {
		h->last = h->last << 8 | bytes[i];
	}
	/* llhttp takes a bare LF for the empty line at the very end. */
	if (h->in_bad || h->in_trailers.bad ||
	    (h->in_done && h->head.chunked && h->last != 0x0d0a0d0a)) {
		bad_body(h);
	} else if (h->config.model && h->body.n > HTTP_MODEL_BODY_MAX) {
		http_refuse_with(h, 413, "bodies to a model runtime may have 32 MiB");
	} else if (h->in_done) {
		ask_done(h);
	}
	return n;
}
