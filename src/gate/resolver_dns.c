/* The DNS service of the sandbox: its sockets, its queries, and answers to datagrams. */
#include "base/fd.h"
#include "gate/dns.h"
#include "gate/resolver_inner.h"

#include <stdlib.h>
#include <string.h>

/* Datagrams taken in one go, before others of the loop have their turn. */
#define BURST 64
/* A socket that broke, or found no descriptor, is looked at again after this long. */
#define AGAIN_MS 50

/* --- queries -------------------------------------------------------------------------------- */

/* One that waits for a look-up. */
struct query {
	struct ring link; /* of its asker */
	struct dns_service *service;
	struct asker asker;
	struct dns_query read; /* its question is the copy */
	unsigned char question[DNS_QUESTION_MAX];
};

static void free_query(struct query *query)
{
	ring_take(&query->link);
	query->service->nqueries--;
	free(query);
}

static void on_resolved(void *context, const struct resolved *resolved)
{
	struct query *query = context;
	const struct asker asker = query->asker;
	unsigned char out[DNS_ANSWER_MAX];
	size_t n = answer_found(query->service->resolver, &query->read, resolved, out);

	free_query(query);
	asker.answer(&asker, out, n);
}

static bool wait_for_name(struct dns_service *service, const struct dns_query *read,
			  const struct asker *asker)
{
	struct query *query = service->nqueries < QUERIES_MAX ? calloc(1, sizeof(*query)) : NULL;

	if (query == NULL) {
		return false;
	}
	query->service = service;
	query->asker = *asker;
	query->read = *read;
	memcpy(query->question, read->question, read->question_len);
	query->read.question = query->question;
	ring_add(asker->queries, &query->link);
	service->nqueries++;
	/* The last thing done with it: the answer may be known. */
	resolver_look_up(service->resolver, query->read.name, on_resolved, query);
	return true;
}

bool query_take(struct dns_service *service, const unsigned char *packet, size_t len,
		const struct asker *asker)
{
	struct dns_query read;
	unsigned char out[DNS_ANSWER_MAX];
	enum dns_read how = dns_read(packet, len, &read);
	size_t n;

	if (how == DNS_DROP) {
		return false;
	}
	if (how != DNS_OK) {
		n = dns_answer_broken(&read, how, out);
	} else {
		n = answer_at_once(service->resolver, &read, out);
		if (n == 0 && wait_for_name(service, &read, asker)) {
			return true;
		}
		n = n > 0 ? n : dns_answer_empty(&read, DNS_SERVFAIL, out);
	}
	asker->answer(asker, out, n);
	return true;
}

void queries_forget(struct dns_service *service, struct ring *queries)
{
	struct query *query;

	while ((query = RING_OWNER(ring_first(queries), struct query, link)) != NULL) {
		resolver_forget(service->resolver, query);
		free_query(query);
	}
}

/* --- datagrams ------------------------------------------------------------------------------ */

/* What cannot be sent is lost, as datagrams may be; the program asks again. */
static void answer_datagram(const struct asker *asker, const unsigned char *answer, size_t len)
{
	const struct source *source = asker->context;

	(void)sendto(source->fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL, &asker->peer.any,
		     asker->peer_len);
}

static void udp_ready(struct source *source)
{
	unsigned char packet[DNS_QUERY_MAX];

	for (int i = 0; i < BURST; i++) {
		struct asker asker = {.answer = answer_datagram,
				      .context = source,
				      .queries = &source->service->queries,
				      .peer_len = sizeof(asker.peer)};
		/* MSG_TRUNC: a longer one says its length, and is dropped for it. */
		ssize_t n = recvfrom(source->fd, packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC,
				     &asker.peer.any, &asker.peer_len);

		if (n < 0) {
			return;
		}
		(void)query_take(source->service, packet, (size_t)n, &asker);
	}
}

/* --- sockets -------------------------------------------------------------------------------- */

static void on_event(void *context, int events)
{
	struct source *source = context;

	if ((events & EVENT_BROKEN) != 0) {
		int error;
		socklen_t len = sizeof(error);

		/* Taking the error off the socket makes it whole. */
		(void)getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		event_fd_free(source->event);
		source->event = NULL;
		event_timer_start(source->again, AGAIN_MS);
		return;
	}
	source->ready(source);
}

static void on_again(void *context)
{
	struct source *source = context;

	if (source->event == NULL) {
		source->event = event_fd_new(source->service->resolver->config.loop, source->fd,
					     on_event, source);
	}
	if (source->event != NULL) {
		event_fd_want(source->event, UV_READABLE);
	} else {
		event_timer_start(source->again, AGAIN_MS);
	}
}

void source_pause(struct source *source)
{
	event_fd_want(source->event, 0);
	event_timer_start(source->again, AGAIN_MS);
}

static bool watch(struct source *source)
{
	uv_loop_t *loop = source->service->resolver->config.loop;

	if (source->fd < 0) {
		return true;
	}
	source->event = event_fd_new(loop, source->fd, on_event, source);
	source->again = event_timer_new(loop, on_again, source);
	if (source->event == NULL || source->again == NULL) {
		return false;
	}
	event_fd_want(source->event, UV_READABLE);
	return true;
}

struct dns_service *dns_service_start(struct resolver *resolver)
{
	const struct resolver_config *config = &resolver->config;
	struct dns_service *service = calloc(1, sizeof(*service));
	const struct source sources[] = {
		{.service = service, .fd = config->udp4, .ready = udp_ready},
		{.service = service, .fd = config->udp6, .ready = udp_ready},
		{.service = service, .fd = config->tcp4, .ready = tcp_ready},
		{.service = service, .fd = config->tcp6, .ready = tcp_ready},
	};
	bool ok = service != NULL;

	for (size_t i = 0; i < 4; i++) {
		int fd = sources[i].fd;

		if (service != NULL) {
			service->source[i] = sources[i];
		} else {
			fd_close(&fd);
		}
	}
	if (service == NULL) {
		return NULL;
	}
	service->resolver = resolver;
	ring_init(&service->queries);
	ring_init(&service->clients);
	for (size_t i = 0; i < 4; i++) {
		ok = ok && watch(&service->source[i]);
	}
	if (!ok) {
		dns_service_stop(service);
		return NULL;
	}
	return service;
}

void dns_service_stop(struct dns_service *service)
{
	if (service == NULL) {
		return;
	}
	tcp_end_all(service);
	queries_forget(service, &service->queries);
	for (size_t i = 0; i < 4; i++) {
		event_fd_free(service->source[i].event);
		event_timer_free(service->source[i].again);
		fd_close(&service->source[i].fd);
	}
	free(service);
}
