/* For test_http*.c: a pair of connections without sockets. What is fed is copied to memory of its
 * exact size, so that a sanitizer sees a byte too far. */
#ifndef HTTP_KIT_H
#define HTTP_KIT_H

#include "gate/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_MAX (512UL * 1024UL)

struct pair {
	struct http *http;
	size_t step; /* bytes in one feed; 0: all */
	unsigned judged, partial;
	unsigned refuse; /* status for the next judgement */
	char last[512];  /* "METHOD target host:port [upgrade] [body]" of the last judgement */
	char *got;       /* what was taken out last */
};

static inline void pair_judge(void *context, const struct http_request *request,
			      struct http_refusal *refusal)
{
	struct pair *p = context;

	assert_int_equal(refusal->status, 0);
	if (request->partial) {
		p->partial++;
		assert_null(request->body);
	} else {
		p->judged++;
	}
	snprintf(p->last, sizeof(p->last), "%s %s %s:%u%s%s%.*s", request->method, request->target,
		 request->host, request->port, request->upgrade ? " upgrade" : "",
		 request->body != NULL ? " " : "", (int)(request->body_len % 256),
		 request->body != NULL ? request->body : "");
	if (p->refuse != 0) {
		refusal->status = p->refuse;
		refusal->retry_after = p->refuse == 429 ? 7 : 0;
		strcpy(refusal->why, "no\nsuch thing");
		strcpy(refusal->hint, "add it");
	}
}

static inline struct pair *pair_with(struct http_config config)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	config.judge = pair_judge;
	config.context = p;
	config.host = config.host != NULL ? config.host : "ok.test";
	config.port = config.port != 0 ? config.port : 80;
	p->http = http_new(&config);
	assert_non_null(p->http);
	return p;
}

static inline struct pair *pair_new(void)
{
	return pair_with((struct http_config){0});
}

static inline void pair_end(struct pair *p)
{
	http_free(p->http);
	free(p->got);
	free(p);
}

/* Feeds bytes as far as they are taken; how many were. */
static inline size_t feed(struct pair *p, bool server, const char *bytes, size_t len)
{
	size_t taken = 0;

	while (taken < len) {
		size_t n = p->step > 0 && p->step < len - taken ? p->step : len - taken;
		unsigned char *exact = malloc(n);

		assert_non_null(exact);
		memcpy(exact, bytes + taken, n);
		size_t now = server ? http_from_server(p->http, exact, n)
				    : http_from_client(p->http, exact, n);
		free(exact);
		assert_true(now <= n);
		taken += now;
		if (now < n) {
			break;
		}
	}
	return taken;
}

static inline size_t client(struct pair *p, const char *text)
{
	return feed(p, false, text, strlen(text));
}

static inline size_t server(struct pair *p, const char *text)
{
	return feed(p, true, text, strlen(text));
}

/* Takes out all that is queued, as text. */
static inline const char *take(struct pair *p, struct http_out *out)
{
	size_t n = 0;

	free(p->got);
	p->got = malloc(1);
	assert_non_null(p->got);
	while (out->n > 0) {
		p->got = realloc(p->got, n + out->n + 1);
		assert_non_null(p->got);
		memcpy(p->got + n, out->v + out->at, out->n);
		n += out->n;
		http_written(out, out->n);
	}
	p->got[n] = '\0';
	return p->got;
}

static inline const char *to_server(struct pair *p)
{
	return take(p, http_to_server(p->http));
}

static inline const char *to_client(struct pair *p)
{
	return take(p, http_to_client(p->http));
}

static inline void expect_page(struct pair *p, unsigned status)
{
	char start[32];

	snprintf(start, sizeof(start), "HTTP/1.1 %u ", status);
	const char *page = to_client(p);
	if (!page || strncmp(page, start, strlen(start)) != 0) {
		fail_msg("not a %u: %s", status, page ? page : "nothing");
	}
	assert_non_null(strstr(page, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(page, "\r\nCache-Control: no-store\r\n"));
	assert_non_null(strstr(page, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
}

#endif
