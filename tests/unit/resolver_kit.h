/* For tests of the resolver: the real one, which asks getaddrinfo(3), on a loopback and with an
 * /etc of their own. The name server that resolv.conf tells of is the test: on the resolver's loop,
 * so that it answers when the test wants it to. */
#ifndef LNK_TESTS_RESOLVER_KIT_H
#define LNK_TESTS_RESOLVER_KIT_H

#include "dns_kit.h"
#include "loop_kit.h"
#include "policy_kit.h"

#include "base/fd.h"
#include "confine/network.h"
#include "gate/event.h"
#include "gate/resolver_inner.h"
#include "plan/door.h"

#include <arpa/nameser.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define TYPE_MX    15
#define TYPE_TXT   16
#define TYPE_SRV   33
#define TYPE_HTTPS 65
#define TYPE_ANY   255

#define HELD_MAX 1024

/* Ends the test's program: nothing would work. */
static inline void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(99);
	}
}

static inline void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	must(fd >= 0 && fd_write_all(fd, text, strlen(text)), path);
	close(fd);
}

/* Once, at the beginning, before there is a thread. */
static inline void kit_world(void)
{
	char map[64];
	unsigned uid = getuid();
	unsigned gid = getgid();
	struct err err;

	must(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS) == 0, "unshare");
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	write_text("/proc/self/gid_map", map);
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	must(mount("none", "/etc", "tmpfs", 0, NULL) == 0, "an /etc");
	write_text("/etc/hosts", "127.0.0.1 localhost\n192.168.7.7 nas.local\n");
	write_text("/etc/nsswitch.conf", "hosts: files dns\n");
	/* It is asked once, and has time. Without a domain, names are looked up as they are. */
	write_text("/etc/resolv.conf", "nameserver 127.0.0.1\n"
				       "options timeout:30 attempts:1\n");
	must(sethostname("box", 3) == 0, "a host's name");
	must(network_loopback(&err), "loopback");
}

/* --- the name server -------------------------------------------------------------------------- */

struct held {
	struct sockaddr_in from;
	unsigned char v[512];
	size_t n;
	char name[HOST_MAX];
};

struct server {
	int fd;
	struct event_fd *event;
	bool hold;      /* answers nothing for now */
	unsigned asked; /* packets; a look-up makes two: A and AAAA */
	unsigned nheld;
	struct held held[HELD_MAX];
};

/* gone.*: NXDOMAIN. broken.*: SERVFAIL. empty.*: nothing. full.*: 20 addresses. Else one of each.
 */
static inline void server_answer(struct server *s, const struct held *q)
{
	struct packet p = {.n = 0};
	bool v6 = q->v[q->n - 3] == DNS_AAAA;
	unsigned rcode = strncmp(q->name, "gone", 4) == 0     ? DNS_NXDOMAIN
			 : strncmp(q->name, "broken", 6) == 0 ? DNS_SERVFAIL
							      : DNS_NOERROR;
	unsigned n = strncmp(q->name, "full", 4) == 0 ? 20 : 1;

	n = rcode != DNS_NOERROR || strncmp(q->name, "empty", 5) == 0 ? 0 : n;
	put(&p, q->v, q->n);
	p.v[2] = 0x81;
	p.v[3] = (unsigned char)(0x80 | rcode);
	p.v[7] = (unsigned char)n;
	for (unsigned i = 0; i < n; i++) {
		put16(&p, 0xc000 | HEADER_LEN);
		put_record(&p, v6 ? DNS_AAAA : DNS_A, DNS_IN, 60, v6 ? 16 : 4);
		put(&p, v6 ? "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0" : "\xc0\0\2", v6 ? 15 : 3);
		put(&p, &(unsigned char){(unsigned char)(i + 1)}, 1);
	}
	sendto(s->fd, p.v, p.n, 0, (const struct sockaddr *)&q->from, sizeof(q->from));
}

static inline void on_asked(void *context, int events)
{
	struct server *s = context;
	struct dns_query query;
	socklen_t len = sizeof(s->held[0].from);

	(void)events;
	assert_true(s->nheld < HELD_MAX);
	struct held *q = &s->held[s->nheld];
	ssize_t n = recvfrom(s->fd, q->v, sizeof(q->v), MSG_DONTWAIT, (struct sockaddr *)&q->from,
			     &len);
	if (n < 0) {
		return;
	}
	q->n = (size_t)n;
	assert_int_equal(dns_read(q->v, q->n, &query), DNS_OK);
	snprintf(q->name, sizeof(q->name), "%s", query.name);
	s->asked++;
	if (s->hold) {
		s->nheld++;
	} else {
		server_answer(s, q);
	}
}

static inline void server_release(struct server *s)
{
	s->hold = false;
	for (unsigned i = 0; i < s->nheld; i++) {
		server_answer(s, &s->held[i]);
	}
	s->nheld = 0;
}

static inline void server_start(struct server *s, uv_loop_t *loop)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons(53),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int room = 1 << 20;

	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	assert_int_equal(bind(s->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	s->event = event_fd_new(loop, s->fd, on_asked, s);
	event_fd_want(s->event, UV_READABLE);
}

/* --- the resolver ----------------------------------------------------------------------------- */

struct world {
	struct gate *gate; /* for its loop */
	struct kit kit;
	struct names *names;
	struct decisions *decisions;
	int log;
	struct server server;
	struct resolver *resolver;
	struct sockaddr_in udp4;
	struct sockaddr_in6 udp6;
	uint16_t tcp4, tcp6;
	unsigned fds;
};

static const char grants[] =
	"[internet]\n"
	"hosts = [\"ok.test\", \"*.ok.test\", \"gone.test\", \"broken.test\", \"empty.test\",\n"
	"  \"full.test\"]\n"
	"[lan]\n"
	"hosts = [\"nas.local\"]\n";

static inline int datagrams_at(void *address, socklen_t len)
{
	struct sockaddr *sa = address;
	int fd = socket(sa->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int room = 1 << 20;

	assert_int_equal(bind(fd, sa, len), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	assert_int_equal(getsockname(fd, sa, &len), 0);
	return fd;
}

static inline struct world *begin_with(bool proxied)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->gate = kit_gate();
	kit_make(&w->kit, grants, NULL, 0);
	w->fds = kit_fds();
	w->log = memfd_create("log", MFD_CLOEXEC);
	w->names = names_new();
	w->decisions = decisions_new(w->log);
	server_start(&w->server, &w->gate->loop);
	w->udp4 = (struct sockaddr_in){.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	w->udp6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	const struct resolver_config config = {
		.loop = &w->gate->loop,
		.policy = w->kit.policy,
		.names = w->names,
		.decisions = w->decisions,
		.udp4 = datagrams_at(&w->udp4, sizeof(w->udp4)),
		.udp6 = datagrams_at(&w->udp6, sizeof(w->udp6)),
		.tcp4 = kit_listen(AF_INET, &w->tcp4),
		.tcp6 = kit_listen(AF_INET6, &w->tcp6),
		.proxied = proxied,
	};
	w->resolver = resolver_start(&config);
	assert_non_null(w->resolver);
	return w;
}

static inline struct world *begin(void)
{
	return begin_with(false);
}

static inline bool alone(void)
{
	struct stat st;

	/* A folder for each thread, "." and "..". */
	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

/* Threads that wait for the name server are left to end by themselves; nothing else is left. */
static inline void end(struct world *w)
{
	resolver_stop(w->resolver);
	server_release(&w->server);
	KIT_UNTIL(w->gate, alone());
	event_fd_free(w->server.event);
	kit_spin(w->gate, 1);
	close(w->server.fd);
	decisions_free(w->decisions);
	names_free(w->names);
	close(w->log);
	assert_int_equal(kit_fds(), w->fds);
	kit_gate_end(w->gate);
	kit_release(&w->kit);
	free(w);
}

/* How often a text stands in the log. */
static inline unsigned logged(const struct world *w, const char *text)
{
	static char log[1 << 20];
	ssize_t n = pread(w->log, log, sizeof(log) - 1, 0);
	unsigned found = 0;

	assert_in_range(n, 0, sizeof(log) - 2);
	log[n] = '\0';
	for (const char *p = log; (p = strstr(p, text)) != NULL; p += strlen(text)) {
		found++;
	}
	return found;
}

/* --- asking ----------------------------------------------------------------------------------- */

struct reply {
	unsigned id, rcode, answers;
	uint32_t addr;          /* of an A record */
	char name[NS_MAXDNAME]; /* of a PTR record */
	unsigned char addr6[16];
};

static inline struct reply reply_of(const unsigned char *v, size_t n)
{
	struct reply reply = {.id = 0};
	ns_msg msg;
	ns_rr rr;

	assert_int_equal(ns_initparse(v, (int)n, &msg), 0);
	assert_int_equal(ns_msg_getflag(msg, ns_f_qr), 1);
	reply.id = ns_msg_id(msg);
	reply.rcode = (unsigned)ns_msg_getflag(msg, ns_f_rcode);
	reply.answers = ns_msg_count(msg, ns_s_an);
	if (reply.answers > 0) {
		assert_int_equal(ns_parserr(&msg, ns_s_an, 0, &rr), 0);
		if (ns_rr_type(rr) == ns_t_a) {
			reply.addr = (uint32_t)ns_get32(ns_rr_rdata(rr));
		} else if (ns_rr_type(rr) == ns_t_aaaa) {
			memcpy(reply.addr6, ns_rr_rdata(rr), 16);
		} else {
			assert_int_equal(ns_rr_type(rr), ns_t_ptr);
			assert_true(ns_name_uncompress(v, v + n, ns_rr_rdata(rr), reply.name,
						       sizeof(reply.name)) > 0);
		}
	}
	return reply;
}

/* A socket to ask from, connected to one of the resolver's. */
static inline int asker(const void *address, socklen_t len)
{
	const struct sockaddr *sa = address;
	int fd = socket(sa->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int room = 1 << 20;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	assert_int_equal(connect(fd, sa, len), 0);
	return fd;
}

static inline int asker4(const struct world *w)
{
	return asker(&w->udp4, sizeof(w->udp4));
}

static inline void send_packet(int fd, const struct packet *p)
{
	assert_int_equal(send(fd, p->v, p->n, MSG_NOSIGNAL), p->n);
}

/* The next answer to a socket. */
static inline struct reply next_reply(struct world *w, int fd)
{
	unsigned char v[1024];
	ssize_t n;

	KIT_UNTIL(w->gate, (n = recv(fd, v, sizeof(v), MSG_DONTWAIT)) >= 0);
	return reply_of(v, (size_t)n);
}

/* One question, one answer. */
static inline struct reply ask(struct world *w, const char *name, unsigned type)
{
	struct packet p = asking(name, type, 0);
	int fd = asker4(w);

	send_packet(fd, &p);
	struct reply reply = next_reply(w, fd);
	assert_int_equal(reply.id, ID);
	close(fd);
	return reply;
}

static inline void expect_rcode(struct world *w, const char *name, unsigned type, unsigned rcode)
{
	struct reply reply = ask(w, name, type);

	if (reply.rcode != rcode || reply.answers != 0) {
		fail_msg("%s, type %u: RCODE %u with %u answers", name, type, reply.rcode,
			 reply.answers);
	}
}

static inline uint32_t expect_address(struct world *w, const char *name)
{
	struct reply reply = ask(w, name, DNS_A);

	if (reply.rcode != 0 || reply.answers != 1) {
		fail_msg("%s: RCODE %u with %u answers", name, reply.rcode, reply.answers);
	}
	assert_in_range(reply.addr, NET_NAMES_FIRST, NET_NAMES_LAST);
	assert_string_equal(names_of(w->names, reply.addr), name);
	return reply.addr;
}

#endif
