#include "gate/http.h"

#include "gate/http_inner.h"
#include "gate/pages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void http_page(struct http *h, const struct http_refusal *refusal, enum http_state state)
{
	char page[PAGE_MAX];

	if (h->state != HTTP_GOING) {
		return;
	}
	if (h->answered) {
		h->state = HTTP_BROKEN; /* half an answer cannot become another one */
		return;
	}
	out_add(&h->to_client, page, page_write(refusal, h->is_head, page));
	h->answered = true;
	h->state = state;
}

void http_refuse_with(struct http *h, unsigned status, const char *why)
{
	struct http_refusal refusal = {.status = status};

	strncpy(refusal.why, why, sizeof(refusal.why) - 1);
	if (status == 405) {
		strcpy(refusal.allow, "GET, HEAD, POST, PUT, DELETE");
	}
	h->refused = h->state == HTTP_GOING && !h->answered ? status : 0;
	h->why = why;
	http_page(h, &refusal, HTTP_CLOSE);
}

void http_break(struct http *h, const char *why)
{
	struct http_refusal refusal = {.status = 502};

	strncpy(refusal.why, why, sizeof(refusal.why) - 1);
	http_page(h, &refusal, HTTP_BROKEN);
	if (h->state == HTTP_GOING) {
		h->state = HTTP_BROKEN;
	}
}

void http_refuse(struct http *h, const struct http_refusal *refusal)
{
	http_page(h, refusal, HTTP_CLOSE);
}

struct http *http_new(const struct http_config *config)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h != NULL) {
		h->config = *config;
	}
	return h;
}

void http_free(struct http *h)
{
	if (h == NULL) {
		return;
	}
	out_release(&h->to_server);
	out_release(&h->to_client);
	out_release(&h->ask_raw);
	out_release(&h->reply_raw);
	out_release(&h->body);
	out_release(&h->in_trailers.lines);
	out_release(&h->out_trailers.lines);
	free(h);
}

struct http_out *http_to_server(struct http *h)
{
	return &h->to_server;
}

struct http_out *http_to_client(struct http *h)
{
	return &h->to_client;
}

enum http_state http_state(const struct http *h)
{
	return h->state;
}

bool http_wants_client(const struct http *h)
{
	if (h->state != HTTP_GOING) {
		return false;
	}
	switch (h->ask) {
	case ASK_HEAD:
		return h->to_server.n < HTTP_QUEUE_HEAD && h->to_client.n < HTTP_QUEUE_MAX;
	case ASK_BODY:
		return h->to_server.n < HTTP_QUEUE_MAX;
	case ASK_DONE:
		break;
	}
	return false;
}

bool http_wants_server(const struct http *h)
{
	size_t most = h->reply == REPLY_BODY ? HTTP_QUEUE_MAX : HTTP_QUEUE_HEAD;

	return h->state == HTTP_GOING && (h->reply == REPLY_NONE || h->to_client.n < most);
}

bool http_needs_server(const struct http *h)
{
	return h->passed;
}

unsigned http_refused(const struct http *h, const char **ret_why)
{
	*ret_why = h->why;
	return h->refused;
}

bool http_idle(const struct http *h)
{
	return h->ask == ASK_HEAD && h->ask_raw.n == 0 && h->reply == REPLY_NONE;
}

static size_t held(const struct http_out *out)
{
	return out->cap + out->next_cap;
}

size_t http_memory(const struct http *h)
{
	return sizeof(*h) + held(&h->to_server) + held(&h->to_client) + held(&h->ask_raw) +
	       held(&h->reply_raw) + held(&h->body) + held(&h->in_trailers.lines) +
	       held(&h->out_trailers.lines);
}

/* Memory that was out leaves half a message somewhere: nothing more is sent. */
static void check_memory(struct http *h)
{
	if (h->to_server.failed || h->to_client.failed || h->ask_raw.failed ||
	    h->reply_raw.failed || h->body.failed || h->in_trailers.lines.failed ||
	    h->out_trailers.lines.failed) {
		out_release(&h->to_client);
		out_release(&h->to_server);
		h->state = HTTP_BROKEN;
	}
}

size_t http_from_client(struct http *h, const unsigned char *bytes, size_t len)
{
	size_t taken = 0;

	while (taken < len && http_wants_client(h)) {
		taken += h->ask == ASK_HEAD ? http_ask_head(h, bytes + taken, len - taken)
					    : http_ask_body(h, bytes + taken, len - taken);
		check_memory(h);
	}
	return taken;
}

/* What llhttp still awaits of a body is in content_length, which it counts down. */
static uint64_t all_but_the_last(const llhttp_t *parser)
{
	return parser->content_length > 0 ? parser->content_length - 1 : 0;
}

uint64_t http_unread_client(const struct http *h)
{
	bool plain = h->ask == ASK_BODY && !h->config.model && !h->head.chunked;

	return h->state == HTTP_GOING && plain ? all_but_the_last(&h->in) : 0;
}

uint64_t http_unread_server(const struct http *h)
{
	bool plain = h->reply == REPLY_BODY && !h->config.model && !h->in_chunks;

	if (h->state != HTTP_GOING || !plain) {
		return 0;
	}
	return h->to_end ? UINT64_MAX : all_but_the_last(&h->out);
}

void http_passed_client(struct http *h, uint64_t n)
{
	assert(n <= http_unread_client(h));
	h->in.content_length -= n;
}

void http_passed_server(struct http *h, uint64_t n)
{
	assert(n <= http_unread_server(h));
	if (!h->to_end) {
		h->out.content_length -= n;
	}
}

void http_client_ended(struct http *h)
{
	if (h->state != HTTP_GOING) {
		return;
	}
	switch (h->ask) {
	case ASK_HEAD:
		if (h->ask_raw.n > 0) {
			http_refuse_with(h, 400, "it ends within its head");
		}
		h->state = HTTP_CLOSE;
		break;
	case ASK_BODY:
		/* Not to be taken for whole by the server: the caller closes. */
		h->state = HTTP_BROKEN;
		break;
	case ASK_DONE:
		h->keep = false;
		break;
	}
}

size_t http_from_server(struct http *h, const unsigned char *bytes, size_t len)
{
	size_t taken = 0;

	while (taken < len && http_wants_server(h)) {
		switch (h->reply) {
		case REPLY_NONE:
			/* Nothing was asked: it would be taken for the next request's answer. */
			h->state = HTTP_CLOSE;
			break;
		case REPLY_HEAD:
			taken += http_reply_head(h, bytes + taken, len - taken);
			break;
		case REPLY_BODY:
			taken += http_reply_body(h, bytes + taken, len - taken);
			break;
		}
		check_memory(h);
	}
	return taken;
}

void http_server_ended(struct http *h)
{
	if (h->state != HTTP_GOING) {
		return;
	}
	switch (h->reply) {
	case REPLY_NONE:
		h->state = HTTP_CLOSE;
		break;
	case REPLY_HEAD:
		/* A connection that was kept may end just when it is used again. Clients know, and
		 * ask anew where nothing but the end comes back; a 502 they would believe. */
		if (h->used && h->reply_raw.n == 0) {
			h->state = HTTP_CLOSE;
		} else {
			http_break(h, "the server closed the connection without an answer");
		}
		break;
	case REPLY_BODY:
		if (h->to_end) {
			http_reply_done(h);
			h->state = HTTP_CLOSE;
		} else {
			h->state = HTTP_BROKEN;
		}
		break;
	}
}
