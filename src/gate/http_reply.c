/* An answer: its head gathered, put in order where it must be, and written anew; its body passed on
 * as it comes. */
#include "gate/http_inner.h"

#include <string.h>

/* Bytes of a head that are looked at in one step, and of a body. */
#define HEAD_STEP 4096
#define BODY_STEP 16384

void http_reply_done(struct http *h)
{
	if (h->chunk_out) {
		write_last_chunk(&h->out_trailers.lines, &h->to_client);
	}
	h->reply = REPLY_NONE;
	h->used = true;
	if (!h->keep || h->ask != ASK_DONE) {
		h->state = HTTP_CLOSE;
		return;
	}
	h->ask = ASK_HEAD;
	h->answered = h->is_head = h->chunk_out = false;
}

static bool no_body(const struct http *h, const struct head *head)
{
	return h->is_head || head->status == 204 || head->status == 304;
}

static bool until_close(const struct http *h, const struct head *head)
{
	return !no_body(h, head) && !head->chunked && !head->has_length;
}

/* Runs llhttp over the head of an answer. False when it sees another message in it. */
static bool same_answer(struct http *h, const struct head *head)
{
	const char *v = (const char *)h->reply_raw.v + h->reply_raw.at;
	bool body = !no_body(h, head) && (head->chunked || !head->has_length || head->length > 0);

	llhttp_init(&h->out, HTTP_RESPONSE, &http_llhttp);
	/* Both headers: the coding counts (RFC 9112 section 6.3), the length is left out. */
	llhttp_set_lenient_chunked_length(&h->out, 1);
	h->out.data = h;
	out_release(&h->out_trailers.lines);
	h->out_trailers = (struct trailers){0};
	h->out_head = h->out_done = false;
	llhttp_errno_t e = llhttp_execute(&h->out, v, h->reply_raw.n);

	if (!h->out_head || h->out_done == body ||
	    llhttp_get_status_code(&h->out) != (int)head->status) {
		return false;
	}
	if (!body) {
		return e == HPE_PAUSED && llhttp_get_error_pos(&h->out) == v + h->reply_raw.n;
	}
	return e == HPE_OK && !(h->out.flags & F_CHUNKED) == !head->chunked &&
	       !llhttp_message_needs_eof(&h->out) == !until_close(h, head) &&
	       (head->chunked || h->out.content_length == head->length);
}

/* An answer to come after this one: a provisional 1xx. */
static void pass_provisional(struct http *h, const struct head *head)
{
	const struct http_reply reply = {
		.v = (const char *)h->reply_raw.v + h->reply_raw.at,
		.head = head,
		.switching = head->status == 101,
	};

	if (head->status == 101 && !(h->websocket && head->websocket && head->upgrade)) {
		http_break(h, "the server switches to a protocol that was not asked for");
		return;
	}
	if (++h->provisional > PROVISIONAL_MAX) {
		http_break(h, "the server sends provisional answers and nothing else");
		return;
	}
	/* A client of HTTP/1.0 does not know them (RFC 9110 section 15.2). */
	if (h->head.minor > 0) {
		write_reply(&reply, &h->to_client);
	}
	out_release(&h->reply_raw);
	if (head->status == 101) {
		h->answered = true;
		h->state = HTTP_RAW;
	}
}

static void pass_answer(struct http *h, const struct head *head)
{
	h->keep = h->keep && h->ask == ASK_DONE && !until_close(h, head) && !head->close &&
		  (head->minor > 0 || head->keep_alive) && !(head->chunked && head->has_length) &&
		  (h->head.minor > 0 || !head->chunked);
	/* Not as llhttp says at the end: trailers change its mind. */
	h->to_end = until_close(h, head);
	h->in_chunks = head->chunked;
	h->chunk_out = head->chunked && !no_body(h, head) && h->head.minor > 0;
	const struct http_reply reply = {
		.v = (const char *)h->reply_raw.v + h->reply_raw.at,
		.head = head,
		.chunked = h->chunk_out,
		.length = head->has_length && !head->chunked && head->status != 204,
		.close = !h->keep,
		.keep_alive = h->keep && (h->head.minor == 0 || head->keep_alive),
	};

	write_reply(&reply, &h->to_client);
	out_release(&h->reply_raw);
	h->provisional = 0;
	h->answered = true;
	h->reply = REPLY_BODY;
	if (h->out_done) {
		http_reply_done(h);
	}
}

static void reply_ready(struct http *h)
{
	struct http_out *raw = &h->reply_raw, tidy = {0};
	struct head head;
	const char *why = NULL;
	size_t at = 0;

	if (head_scan(raw->v + raw->at, raw->n, &at) != HEAD_END || at != raw->n ||
	    !head_read_answer((const char *)raw->v + raw->at, raw->n, &head, &why)) {
		bool tidied = head_tidy(raw->v + raw->at, raw->n, &tidy);

		out_release(raw);
		*raw = tidy;
		if (!tidied) {
			http_break(h, "the server's answer has a head that cannot be read");
			return;
		}
		if (!head_read_answer((const char *)raw->v, raw->n, &head, &why)) {
			http_break(h, why);
			return;
		}
	}
	if (head.status < 200) {
		pass_provisional(h, &head);
	} else if (head.status == 407 && h->config.absolute) {
		http_break(h, "the proxy of this machine's environment asks for a password");
	} else if (!same_answer(h, &head)) {
		http_break(h, "the server's answer can be read in two ways, or in none");
	} else {
		pass_answer(h, &head);
	}
}

/* Gathers the head of an answer; how many bytes were taken. */
size_t http_reply_head(struct http *h, const unsigned char *bytes, size_t len)
{
	struct http_out *raw = &h->reply_raw;
	size_t n = len < HEAD_STEP ? len : HEAD_STEP;

	if (raw->n == 0 && (bytes[0] == '\r' || bytes[0] == '\n')) {
		return 1; /* left over from a body, by servers that do not count */
	}
	if (n > HTTP_HEAD_MAX - raw->n) {
		n = HTTP_HEAD_MAX - raw->n;
	}
	if (n == 0) {
		http_break(h, "the server's answer has a head longer than 48 KiB");
		return 0;
	}
	out_add(raw, bytes, n);
	if (raw->failed) {
		return 0;
	}
	if (memcmp(raw->v, "HTTP/1.", raw->n < 7 ? raw->n : 7) != 0) {
		http_break(h, "the server's answer does not begin like one of HTTP/1.1");
		return n;
	}
	if (head_scan_loose(raw->v, raw->n, &h->reply_at) == HEAD_END) {
		n -= raw->n - h->reply_at;
		raw->n = h->reply_at;
		h->reply_at = 0;
		reply_ready(h);
	}
	return n;
}

size_t http_reply_body(struct http *h, const unsigned char *bytes, size_t len)
{
	size_t n = len < BODY_STEP ? len : BODY_STEP;

	llhttp_errno_t e = llhttp_execute(&h->out, (const char *)bytes, n);
	bool done = e == HPE_PAUSED && h->out_done;
	if (done && !h->out_trailers.bad) {
		n = (size_t)(llhttp_get_error_pos(&h->out) - (const char *)bytes);
		http_reply_done(h);
	} else if ((e != HPE_OK && !done) || h->out_trailers.bad) {
		http_break(h, "the server's answer is not framed as RFC 9112 has it");
	}
	return n;
}
