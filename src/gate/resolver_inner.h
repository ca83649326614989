/* Inside resolver*.c only: the look-ups (resolver.c), their threads (resolver_thread.c), the DNS
 * service (resolver_dns.c), and what of it is told (resolver_told.c). */
#ifndef LNK_GATE_RESOLVER_INNER_H
#define LNK_GATE_RESOLVER_INNER_H

#include "gate/event.h"
#include "gate/resolver.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Look-ups under way, waiting in line, and known. */
#define LOOKUPS_MAX       64
#define LINE_LOOKUPS_MAX  4096
#define KNOWN_LOOKUPS_MAX 1024

struct lookup;

/* --- rings ----------------------------------------------------------------------------------- */

/* A link of a ring, or the ring itself, which is its own neighbour while it is empty. */
struct ring {
	struct ring *prev, *next;
};

void ring_init(struct ring *ring);
/* Behind the last one. */
void ring_add(struct ring *ring, struct ring *link);
void ring_take(struct ring *link);
/* NULL when it is empty. */
struct ring *ring_first(const struct ring *ring);

/* The struct that a link is a member of. */
#define RING_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
/* NULL of NULL. */
#define RING_OWNER(link, type, member) ((link) != NULL ? RING_OF(link, type, member) : NULL)

/* --- threads: one for each look-up, for as long as it takes -------------------------------- */

/* libuv's own pool would do two look-ups at a time, or keep two threads waiting for each that may
 * be under way; and a name server that is down holds one for half a minute. */
struct look_threads;
/* `found` is called in the loop's thread. NULL: memory or descriptors are out. */
typedef void look_found(void *context, struct lookup *lookup, const struct resolved *resolved);
struct look_threads *look_threads_new(uv_loop_t *loop, look_found *found, void *context);
/* Threads that are still waiting for a name server end by themselves; `found` is not called. */
void look_threads_free(struct look_threads *threads);
/* Starts getaddrinfo(3) for a name. False: there is no thread to be had. */
bool look_threads_start(struct look_threads *threads, struct lookup *lookup, const char *name);

/* --- what is told --------------------------------------------------------------------------- */

/* A program asks several questions for one name: A, AAAA and HTTPS at once, and again with the
 * machine's domain behind it. They are one look-up, told once. */
#define TOLD_MAX 16
#define TOLD_MS  1000

struct told {
	struct {
		char name[HOST_MAX];
		unsigned types; /* that were asked for */
		uint64_t at_ms;
	} v[TOLD_MAX];
	unsigned next;
	char domain[HOST_MAX]; /* libraries put it behind names; may be "" */
};

/* Reads the domain out of this machine's name, which is the sandbox's too: gethostname(2). */
void told_start(struct told *told);
/* True when this question begins a look-up that was not told yet. */
bool told_is_new(struct told *told, const char *name, unsigned type, uint64_t now_ms);

/* --- the resolver --------------------------------------------------------------------------- */

struct dns_service;
struct dns_query;
#define WAITER_BUCKETS 1024

struct resolver {
	struct resolver_config config;
	struct look_threads *threads;
	void *by_name; /* tsearch(3): of struct lookup */
	struct ring line, known;
	unsigned nline, nunder_way, nknown;
	struct ring bucket[WAITER_BUCKETS]; /* of waiters, by context */
	struct dns_service *service;
	struct told told;
};

/* True when resolver_look_up would ask nobody outside for this name. */
bool resolver_knows(const struct resolver *resolver, const char *name);

/* --- answers: resolver_answer.c --------------------------------------------------------------- */

/* How long a program may keep an address of ours, in seconds. */
#define ANSWER_TTL 30

/* Writes the answer to a query that was read (DNS_ANSWER_MAX bytes); its length. 0: its name must
 * be looked up first, and is granted. Records the decision. */
size_t answer_at_once(struct resolver *resolver, const struct dns_query *query, unsigned char *out);
/* The answer after the look-up. */
size_t answer_found(struct resolver *resolver, const struct dns_query *query,
		    const struct resolved *resolved, unsigned char *out);

/* --- the DNS service: resolver_dns.c (datagrams), resolver_tcp.c -------------------------------
 */

/* Queries that wait for a look-up; beyond, the answer is SERVFAIL. */
#define QUERIES_MAX 4096
/* Clients over TCP; of more, the one that has been silent longest is closed. */
#define TCP_CLIENTS_MAX 64
/* So long without a complete query, or without reading its answers. */
#define TCP_IDLE_MS 10000
/* Answers that wait to be read, or to be found; then nothing more is read. */
#define TCP_OUT_MAX 16384

/* Who gets the answer to a query. */
struct asker {
	/* Called once for each query that gets an answer, maybe from inside query_take. */
	void (*answer)(const struct asker *asker, const unsigned char *answer, size_t len);
	void *context;
	struct ring *queries; /* those that wait; none of them is left when it ends */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} peer; /* of a datagram */
	socklen_t peer_len;
};

/* Reads, judges and answers one query. False: it gets no answer, now or later. */
bool query_take(struct dns_service *service, const unsigned char *packet, size_t len,
		const struct asker *asker);
/* Nobody waits for the queries of this ring any more. */
void queries_forget(struct dns_service *service, struct ring *queries);

/* A socket that is watched for as long as the service lives, even when it breaks. */
struct source {
	struct dns_service *service;
	int fd; /* -1: there is none */
	struct event_fd *event;
	struct event_timer *again;
	void (*ready)(struct source *source);
};

struct dns_service {
	struct resolver *resolver;
	struct source source[4];
	struct ring queries; /* of datagrams */
	struct ring clients; /* of TCP, the one silent longest first */
	unsigned nqueries, nclients;
};

/* Not watched for a moment, when there is no descriptor left. */
void source_pause(struct source *source);

void tcp_ready(struct source *source);
void tcp_end_all(struct dns_service *service);

/* Owns the four sockets of the config from here on. NULL: memory is out. */
struct dns_service *dns_service_start(struct resolver *resolver);
void dns_service_stop(struct dns_service *service);

#endif
