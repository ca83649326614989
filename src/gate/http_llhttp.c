/* What llhttp tells while it reads: where heads and messages end, bodies and trailers. */
#include "gate/http_inner.h"

/* Trailers of one body. */
#define TRAILERS_MAX 4096

static bool is_in(const struct http *h, const llhttp_t *parser)
{
	return parser == &h->in;
}

static int on_head(llhttp_t *parser)
{
	struct http *h = parser->data;

	/* An upgrade is ours to see to: llhttp would stop after the head. */
	parser->upgrade = 0;
	if (is_in(h, parser)) {
		h->in_head = !(parser->flags & F_CHUNKED) == !h->head.chunked &&
			     !(parser->flags & F_CONTENT_LENGTH) == !h->head.has_length &&
			     parser->content_length == h->head.length;
		return 0;
	}
	h->out_head = true;
	/* 1: no body, whatever the head says (RFC 9112 section 6.3). */
	return h->is_head || parser->status_code == 204 || parser->status_code == 304;
}

static int on_body(llhttp_t *parser, const char *bytes, size_t n)
{
	struct http *h = parser->data;

	if (!is_in(h, parser)) {
		if (h->chunk_out) {
			write_chunk(bytes, n, &h->to_client);
		} else {
			out_add(&h->to_client, bytes, n);
		}
	} else if (h->config.model) {
		if (!h->no_body) {
			out_add(&h->body, bytes, n);
		}
	} else if (h->head.chunked) {
		write_chunk(bytes, n, &h->to_server);
	} else {
		out_add(&h->to_server, bytes, n);
	}
	return 0;
}

static int on_done(llhttp_t *parser)
{
	struct http *h = parser->data;

	*(is_in(h, parser) ? &h->in_done : &h->out_done) = true;
	return HPE_PAUSED;
}

/* A request has no business with them; in an answer they are left out. */
static int on_extension(llhttp_t *parser, const char *bytes, size_t n)
{
	struct http *h = parser->data;

	(void)bytes;
	(void)n;
	if (is_in(h, parser)) {
		h->in_bad = true;
	}
	return 0;
}

static struct trailers *trailers_of(llhttp_t *parser)
{
	struct http *h = parser->data;

	if (!(parser->flags & F_TRAILING)) {
		return NULL;
	}
	return is_in(h, parser) ? &h->in_trailers : &h->out_trailers;
}

static int trailer_add(struct trailers *t, const char *bytes, size_t n)
{
	t->bad = t->bad || t->lines.n + n > TRAILERS_MAX;
	if (!t->bad) {
		out_add(&t->lines, bytes, n);
	}
	return 0;
}

static int on_field(llhttp_t *parser, const char *bytes, size_t n)
{
	struct trailers *t = trailers_of(parser);

	return t != NULL ? trailer_add(t, bytes, n) : 0;
}

static int on_field_end(llhttp_t *parser)
{
	struct trailers *t = trailers_of(parser);

	if (t != NULL) {
		t->value = t->lines.n + 2;
		trailer_add(t, ": ", 2);
	}
	return 0;
}

static int on_value(llhttp_t *parser, const char *bytes, size_t n)
{
	struct trailers *t = trailers_of(parser);

	for (size_t i = 0; t != NULL && i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];
		t->bad = t->bad || (c < 0x20 && c != '\t') || c == 0x7f;
	}
	return t != NULL ? trailer_add(t, bytes, n) : 0;
}

static int on_value_end(llhttp_t *parser)
{
	struct trailers *t = trailers_of(parser);

	if (t == NULL || t->bad || t->lines.failed) {
		return 0;
	}
	const char *name = (const char *)t->lines.v + t->lines.at + t->name;
	size_t name_len = t->value - 2 - t->name;
	t->bad = !head_is_token(name, name_len);
	if (head_trailer_name(name, name_len)) {
		trailer_add(t, "\r\n", 2);
	} else {
		t->lines.n = t->name;
	}
	t->name = t->lines.n;
	return 0;
}

const llhttp_settings_t http_llhttp = {
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_done,
	.on_chunk_extension_name = on_extension,
	.on_chunk_extension_value = on_extension,
	.on_header_field = on_field,
	.on_header_field_complete = on_field_end,
	.on_header_value = on_value,
	.on_header_value_complete = on_value_end,
};
