/* Queues, and what is written into them: heads made anew, and chunks. Nothing of a message's
 * framing is copied from what was read. */
#include "gate/http_inner.h"

#include "base/testguard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A queue that is empty keeps no more than this. */
#define OUT_KEPT 4096

/* Few steps, and none far over what is needed: a call has a bound. From 128 KiB on (only the body
 * of a request to a model runtime) by doubling. */
static size_t room_for(size_t need)
{
	size_t cap = 1024;

	if (need > 16384 && need <= 131072) {
		return (need + 16383) / 16384 * 16384;
	}
	while (cap < need) {
		cap *= need <= 16384 ? 4 : 2;
	}
	return cap;
}

void out_add(struct http_out *out, const void *bytes, size_t n)
{
	if (n == 0 || out->failed) {
		return;
	}
	if (out->n + n > out->cap) {
		size_t cap = room_for(out->n + n);
		unsigned char *v = malloc(cap);

		if (v == NULL) {
			out->failed = true;
			return;
		}
		if (out->n > 0) {
			memcpy(v, out->v + out->at, out->n);
		}
		free(out->v);
		out->v = v;
		out->cap = cap;
		out->at = 0;
	} else if (out->at + out->n + n > out->cap) {
		memmove(out->v, out->v + out->at, out->n);
		out->at = 0;
	}
	memcpy(out->v + out->at + out->n, bytes, n);
	out->n += n;
}

void out_text(struct http_out *out, const char *text)
{
	out_add(out, text, strlen(text));
}

void out_number(struct http_out *out, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	out_text(out, text);
}

void out_release(struct http_out *out)
{
	free(out->v);
	free(out->next);
	*out = (struct http_out){0};
}

void http_written(struct http_out *out, size_t n)
{
	out->at += n;
	out->n -= n;
	if (out->n > 0) {
		return;
	}
	out->at = 0;
	if (out->next != NULL) {
		free(out->v);
		out->v = out->next;
		out->n = out->next_n;
		out->cap = out->next_cap;
		out->next = NULL;
		out->next_n = out->next_cap = 0;
	} else if (out->cap > OUT_KEPT) {
		free(out->v);
		out->v = NULL;
		out->cap = 0;
	}
}

static void write_line(const struct head_line *line, struct http_out *out)
{
	out_add(out, line->name, line->name_len);
	out_add(out, ": ", 2);
	out_add(out, line->value, line->value_len);
	out_add(out, "\r\n", 2);
}

/* The line of a length, with the name as it came. */
static void write_length(const struct head_line *line, uint64_t length, struct http_out *out)
{
	out_add(out, line->name, line->name_len);
	out_add(out, ": ", 2);
	out_number(out, length);
	out_add(out, "\r\n", 2);
}

/* host, [host] of an IPv6 address; and the port unless it goes without saying. */
static void write_authority(const struct http_config *config, struct http_out *out)
{
	bool v6 = strchr(config->host, ':') != NULL;

	out_text(out, v6 ? "[" : "");
	out_text(out, config->host);
	out_text(out, v6 ? "]" : "");
	if (config->model || config->port != 80) {
		out_text(out, ":");
		out_number(out, config->port);
	}
}

static void write_ask_line(const struct http_ask *ask, struct http_out *out)
{
	out_text(out, ask->method);
	out_text(out, " ");
	if (ask->config->absolute) {
		out_text(out, "http://");
		write_authority(ask->config, out);
	}
	/* "OPTIONS *" has no path behind the authority (RFC 9112 section 3.2.4). */
	if (!ask->config->absolute || strcmp(ask->target, "*") != 0) {
		out_text(out, ask->target);
	}
	out_text(out, " HTTP/1.1\r\n");
	if (guard_on("requests")) {
		out_text(out, "Host: ");
		write_authority(ask->config, out);
		out_text(out, "\r\n");
	}
}

static bool ask_passes(const struct http_ask *ask, enum field field, const struct head_line *line)
{
	switch (field) {
	case FIELD_ORIGIN:
	case FIELD_REFERER:
		return !ask->config->model && !head_is_option(ask->v, ask->head, line);
	case FIELD_EXPECT:
		/* A client of HTTP/1.0 does not wait (RFC 9110 section 10.1.1); to a model runtime
		 * the body goes with the head, and the gate has told the client to go on. */
		return !ask->config->model && ask->head->minor > 0;
	case FIELD_TRAILER:
		return ask->chunked;
	case FIELD_HOST:
		return !guard_on("requests"); /* ours stands for it */
	case FIELD_OTHER:
		return !head_is_option(ask->v, ask->head, line);
	case FIELD_CONNECTION:
	case FIELD_CONTENT_LENGTH:
	case FIELD_DISGUISED:
	case FIELD_HTTP2_SETTINGS:
	case FIELD_KEEP_ALIVE:
	case FIELD_PROXY:
	case FIELD_TE:
	case FIELD_TRANSFER_ENCODING:
	case FIELD_UPGRADE:
		break;
	}
	return false;
}

void write_ask(const struct http_ask *ask, struct http_out *out)
{
	struct head_line line;
	size_t at = ask->head->lines;
	bool trailers = ask->head->te_trailers && !ask->config->model;
	bool length = ask->has_length;

	write_ask_line(ask, out);
	while (head_next(ask->v, &at, &line)) {
		enum field field = head_field(&line);

		if (field == FIELD_CONTENT_LENGTH && length) {
			write_length(&line, ask->length, out);
			length = false;
		} else if (ask_passes(ask, field, &line)) {
			write_line(&line, out);
		}
	}
	if (length) {
		out_text(out, "Content-Length: ");
		out_number(out, ask->length);
		out_text(out, "\r\n");
	}
	out_text(out, ask->chunked ? "Transfer-Encoding: chunked\r\n" : "");
	out_text(out, trailers ? "TE: trailers\r\n" : "");
	if (ask->websocket) {
		out_text(out, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
	} else if (ask->close || trailers) {
		out_text(out, "Connection: ");
		out_text(out, trailers ? "TE" : "");
		out_text(out, trailers && ask->close ? ", " : "");
		out_text(out, ask->close ? "close\r\n" : "\r\n");
	}
	if (ask->config->absolute && ask->config->proxy_authorization != NULL) {
		out_text(out, "Proxy-Authorization: ");
		out_text(out, ask->config->proxy_authorization);
		out_text(out, "\r\n");
	}
	out_text(out, "\r\n");
}

static bool reply_passes(const struct http_reply *reply, enum field field,
			 const struct head_line *line)
{
	switch (field) {
	case FIELD_KEEP_ALIVE:
		/* How long the server will wait: the program's connection lives as long as the
		 * server's, so it may know. */
		return reply->keep_alive;
	case FIELD_TRAILER:
		return reply->chunked;
	case FIELD_OTHER:
	case FIELD_EXPECT:
	case FIELD_HOST:
	case FIELD_HTTP2_SETTINGS:
	case FIELD_ORIGIN:
	case FIELD_REFERER:
		return !head_is_option(reply->v, reply->head, line);
	case FIELD_CONNECTION:
	case FIELD_CONTENT_LENGTH:
	case FIELD_DISGUISED:
	case FIELD_PROXY:
	case FIELD_TE:
	case FIELD_TRANSFER_ENCODING:
	case FIELD_UPGRADE:
		break;
	}
	return false;
}

void write_reply(const struct http_reply *reply, struct http_out *out)
{
	struct head_line line;
	size_t at = reply->head->lines;

	out_text(out, "HTTP/1.1 ");
	out_number(out, reply->head->status);
	out_text(out, " ");
	out_add(out, reply->v + reply->head->reason.at, reply->head->reason.n);
	out_text(out, "\r\n");
	while (head_next(reply->v, &at, &line)) {
		enum field field = head_field(&line);

		if (field == FIELD_CONTENT_LENGTH && reply->length) {
			write_length(&line, reply->head->length, out);
		} else if (reply_passes(reply, field, &line)) {
			write_line(&line, out);
		}
	}
	out_text(out, reply->chunked ? "Transfer-Encoding: chunked\r\n" : "");
	if (reply->switching) {
		out_text(out, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
	} else if (reply->close) {
		out_text(out, "Connection: close\r\n");
	} else if (reply->keep_alive) {
		out_text(out, "Connection: keep-alive\r\n");
	}
	out_text(out, "\r\n");
}

void write_chunk(const char *bytes, size_t n, struct http_out *out)
{
	char size[24];

	if (n == 0) {
		return; /* would be the last one */
	}
	int len = snprintf(size, sizeof(size), "%zx\r\n", n);
	out_add(out, size, (size_t)len);
	out_add(out, bytes, n);
	out_add(out, "\r\n", 2);
}

void write_last_chunk(struct http_out *trailers, struct http_out *out)
{
	out_text(out, "0\r\n");
	if (trailers->n > 0) {
		out_add(out, trailers->v + trailers->at, trailers->n);
	}
	out_text(out, "\r\n");
	out_release(trailers);
}
