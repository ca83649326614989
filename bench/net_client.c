/* The client of bench/net, which runs inside the sandboxes. It reads jobs, one a line, and answers
 * each with a line:
 *
 *     get|put WAY HOST PORT BYTES          seconds
 *     call|keep WAY HOST PORT MS THREADS   seconds, how many, their latencies at p50 and p99
 *     look - HOST PORT MS 1                the same, of getaddrinfo(3)
 *     open WAY HOST PORT N                 seconds; N calls are open and have had one answer each
 *     ask WAY HOST PORT                    seconds; all that are open answered once more
 *     drop                                 seconds; all closed
 *
 * or "failed: ...". WAY: raw (HTTP as it is), http, tls. `call` makes a connection for each
 * request, `keep` one a thread; both go on for MS milliseconds.
 *
 * Where the sandbox has no network but a proxy in the environment, the client does as a program
 * with proxy support does: absolute requests for http, CONNECT for the others. no_proxy is not
 * looked at: the peers put this machine's loopback there, but have it behind their proxy only. */
#define _GNU_SOURCE
#include "net_wire.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>

enum way { RAW, HTTP, TLS };

struct job {
	char verb[8], way_name[8], host[256], port[8];
	unsigned long count, threads;
	enum way way;
	struct addrinfo *to;     /* of the host, or of the proxy */
	char authorization[600]; /* header for the proxy, or "" */
	char tunnel[1600];       /* the CONNECT request, or "" */
	char prefix[300];        /* of the request's target */
};

/* What one thread of a job does and finds. */
struct worker {
	const struct job *job;
	double until;
	double *latencies;
	size_t count, cap;
	char error[200];
	pthread_t thread;
};

static SSL_CTX *tls;
static struct wire *held;
static unsigned long nheld;
static char error[200];

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

__attribute__((format(printf, 2, 3))) static bool broken(char *out, const char *format, ...)
{
	char text[120];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(out, sizeof(error), "%s (%s)", text, errno ? strerror(errno) : "ended");
	return false;
}

/* -- where to ------------------------------------------------------------------------------- */

static void decode_percent(char *s)
{
	char *out = s;
	for (; *s; s++) {
		unsigned byte;
		if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
			*out++ = (char)byte;
			s += 2;
		} else {
			*out++ = *s;
		}
	}
	*out = 0;
}

/* http://[user:password@]host:port as the environment has it. */
static bool read_proxy(struct job *job, const char *url, char *host, size_t size, char *port)
{
	char copy[512];
	snprintf(copy, sizeof(copy), "%s", url);
	if (strncmp(copy, "http://", 7) != 0)
		return broken(error, "the proxy %s is no http://", url);
	char *at = strrchr(copy, '@');
	char *name = at ? at + 1 : copy + 7;
	if (at) {
		char coded[400];
		*at = 0;
		decode_percent(copy + 7);
		EVP_EncodeBlock((unsigned char *)coded, (unsigned char *)copy + 7,
				(int)strnlen(copy + 7, 280));
		snprintf(job->authorization, sizeof(job->authorization),
			 "Proxy-Authorization: Basic %s\r\n", coded);
	}
	name[strcspn(name, "/")] = 0;
	char *colon = strrchr(name, ':');
	if (!colon)
		return broken(error, "the proxy %s has no port", url);
	*colon = 0;
	snprintf(host, size, "%s", name);
	snprintf(port, 8, "%s", colon + 1);
	return true;
}

static bool resolve(const char *host, const char *port, struct addrinfo **ret)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	int status = getaddrinfo(host, port, &hints, ret);
	if (status != 0)
		return broken(error, "%s: %s", host, gai_strerror(status));
	return true;
}

static bool prepare(struct job *job)
{
	char host[256], port[8];
	snprintf(host, sizeof(host), "%s", job->host);
	snprintf(port, sizeof(port), "%s", job->port);
	job->way = strcmp(job->way_name, "tls") == 0    ? TLS
		   : strcmp(job->way_name, "http") == 0 ? HTTP
							: RAW;
	const char *url = getenv(job->way == HTTP ? "http_proxy" : "https_proxy");
	if (url && *url) {
		if (!read_proxy(job, url, host, sizeof(host), port))
			return false;
		if (job->way == HTTP)
			snprintf(job->prefix, sizeof(job->prefix), "http://%s", job->host);
		else
			snprintf(job->tunnel, sizeof(job->tunnel),
				 "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n", job->host,
				 job->port, job->host, job->port, job->authorization);
	}
	return resolve(host, port, &job->to);
}

/* -- one connection ------------------------------------------------------------------------- */

static bool write_all(const struct wire *wire, const char *bytes, size_t len, char *err)
{
	while (len > 0) {
		ssize_t n = wire_write(wire, bytes, len);
		if (n <= 0)
			return broken(err, "write");
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

/* A head that announces a body of `body` bytes; *ret_left are still to come. */
static bool read_head(const struct wire *wire, uint64_t body, uint64_t *ret_left, char *err)
{
	char head[4096];
	size_t have = 0;
	for (;;) {
		errno = 0;
		ssize_t n = wire_read(wire, head + have, sizeof(head) - 1 - have);
		if (n <= 0)
			return broken(err, "no answer");
		have += (size_t)n;
		head[have] = 0;
		char *blank = strstr(head, "\r\n\r\n");
		if (!blank)
			continue;
		errno = 0;
		if (strncmp(head, "HTTP/1.1 200", 12) != 0)
			return broken(err, "answer %.100s", head);
		char *length = strcasestr(head, "\ncontent-length:");
		uint64_t came = have - (size_t)(blank + 4 - head);
		if ((length ? strtoull(length + 16, NULL, 10) : 0) != body || came > body)
			return broken(err, "an answer of another length: %.80s", head);
		*ret_left = body - came;
		return true;
	}
}

static bool read_body(const struct wire *wire, uint64_t left, char *err)
{
	static _Thread_local char sink[CHUNK];
	while (left > 0) {
		errno = 0;
		ssize_t n = wire_read(wire, sink, left < sizeof(sink) ? left : sizeof(sink));
		if (n <= 0)
			return broken(err, "an answer cut short");
		left -= (uint64_t)n;
	}
	return true;
}

static void hang_up(struct wire *wire)
{
	if (wire->ssl)
		SSL_free(wire->ssl);
	close(wire->fd);
}

static bool shake_hands(const struct job *job, struct wire *wire, char *err)
{
	uint64_t none;
	if (*job->tunnel && (!write_all(wire, job->tunnel, strlen(job->tunnel), err) ||
			     !read_head(wire, 0, &none, err)))
		return false;
	if (job->way != TLS)
		return true;
	/* The server's certificate is of this run's own: that it is the right one is not what is
	 * measured. */
	wire->ssl = SSL_new(tls);
	SSL_set_fd(wire->ssl, wire->fd);
	SSL_set_tlsext_host_name(wire->ssl, job->host);
	if (SSL_connect(wire->ssl) != 1)
		return broken(err, "TLS");
	return true;
}

static bool call(const struct job *job, struct wire *ret, char *err)
{
	const struct addrinfo *to = job->to;
	struct wire wire = {.fd = -1};
	/* As programs do: one address after the other ("localhost" is ::1 first). */
	for (; to; to = to->ai_next) {
		wire.fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (wire.fd < 0)
			return broken(err, "socket");
		if (connect(wire.fd, to->ai_addr, to->ai_addrlen) == 0)
			break;
		close(wire.fd);
	}
	if (!to)
		return broken(err, "connect");
	setsockopt(wire.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	if (!shake_hands(job, &wire, err)) {
		hang_up(&wire);
		return false;
	}
	*ret = wire;
	return true;
}

/* A request without a body, or the head of a PUT. */
static bool ask(const struct job *job, const struct wire *wire, uint64_t get, uint64_t put,
		bool last, char *err)
{
	char request[2048], length[64] = "";
	if (put > 0)
		snprintf(length, sizeof(length), "Content-Length: %llu\r\n",
			 (unsigned long long)put);
	int n = snprintf(
		request, sizeof(request), "%s %s/%llu HTTP/1.1\r\nHost: %s%s%s\r\n%s%s%s\r\n",
		put > 0 ? "PUT" : "GET", job->prefix, (unsigned long long)get, job->host,
		job->way == RAW ? ":" : "", job->way == RAW ? job->port : "", length,
		last ? "Connection: close\r\n" : "", job->way == HTTP ? job->authorization : "");
	return write_all(wire, request, (size_t)n, err);
}

static bool answer(const struct wire *wire, uint64_t body, char *err)
{
	uint64_t left;
	return read_head(wire, body, &left, err) && read_body(wire, left, err);
}

/* -- jobs ----------------------------------------------------------------------------------- */

static bool transfer(const struct job *job, double *ret_seconds)
{
	static const char bulk[CHUNK];
	struct wire wire;
	bool up = strcmp(job->verb, "put") == 0;
	double start = now();
	if (!call(job, &wire, error))
		return false;
	bool ok = ask(job, &wire, up ? 3 : job->count, up ? job->count : 0, false, error);
	for (uint64_t left = up ? job->count : 0; ok && left > 0;) {
		size_t len = left < sizeof(bulk) ? left : sizeof(bulk);
		ok = write_all(&wire, bulk, len, error);
		left -= len;
	}
	ok = ok && answer(&wire, up ? 3 : job->count, error);
	*ret_seconds = now() - start;
	hang_up(&wire);
	return ok;
}

/* Waits until the server has closed, so that ports wait on its side for their next use. */
static void see_off(struct wire *wire)
{
	char byte;
	if (!wire->ssl)
		(void)!recv(wire->fd, &byte, 1, 0);
	hang_up(wire);
}

static bool look_up(const struct job *job, char *err)
{
	struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
	int status = getaddrinfo(job->host, job->port, &hints, &found);
	if (status != 0)
		return broken(err, "%s: %s", job->host, gai_strerror(status));
	freeaddrinfo(found);
	return true;
}

static void note(struct worker *worker, double latency)
{
	if (worker->count == worker->cap) {
		worker->cap = worker->cap ? 2 * worker->cap : 1024;
		worker->latencies =
			reallocarray(worker->latencies, worker->cap, sizeof(*worker->latencies));
		if (!worker->latencies)
			fail("reallocarray");
	}
	worker->latencies[worker->count++] = latency;
}

/* One connection, one request, one answer. */
static bool whole_call(struct worker *worker)
{
	struct wire wire;
	double start = now();
	if (!call(worker->job, &wire, worker->error))
		return false;
	bool ok = ask(worker->job, &wire, 3, 0, true, worker->error) &&
		  answer(&wire, 3, worker->error);
	note(worker, now() - start);
	see_off(&wire);
	return ok;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	const struct job *job = worker->job;
	bool keeps = strcmp(job->verb, "keep") == 0, ok = true;
	struct wire wire;
	if (keeps && !call(job, &wire, worker->error))
		return NULL;
	for (double start = now(); ok && start < worker->until; start = now()) {
		if (strcmp(job->verb, "call") == 0) {
			ok = whole_call(worker);
			continue;
		}
		ok = keeps ? ask(job, &wire, 3, 0, false, worker->error) &&
				     answer(&wire, 3, worker->error)
			   : look_up(job, worker->error);
		note(worker, now() - start);
	}
	if (keeps)
		hang_up(&wire);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

struct found {
	double seconds, p50, p99;
	size_t count;
};

/* Joins the threads; what they measured in one sorted list. */
static double *gather(struct worker *workers, const struct job *job, size_t *ret_count)
{
	size_t count = 0;
	double *all = NULL;
	for (unsigned long i = 0; i < job->threads; i++) {
		struct worker *worker = &workers[i];
		pthread_join(worker->thread, NULL);
		if (*worker->error)
			memcpy(error, worker->error, sizeof(error));
		all = reallocarray(all, count + worker->count + 1, sizeof(*all));
		if (!all)
			fail("reallocarray");
		if (worker->count > 0)
			memcpy(all + count, worker->latencies, worker->count * sizeof(*all));
		count += worker->count;
		free(worker->latencies);
	}
	qsort(all, count, sizeof(*all), by_size);
	*ret_count = count;
	return all;
}

static bool many(const struct job *job, struct found *ret)
{
	struct worker *workers = calloc(job->threads, sizeof(*workers));
	if (!workers)
		fail("calloc");
	double start = now();
	for (unsigned long i = 0; i < job->threads; i++) {
		workers[i].job = job;
		workers[i].until = start + (double)job->count / 1000;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			fail("pthread_create");
	}
	double *all = gather(workers, job, &ret->count);
	ret->seconds = now() - start;
	ret->p50 = ret->count ? all[ret->count / 2] : 0;
	ret->p99 = ret->count ? all[ret->count * 99 / 100] : 0;
	free(all);
	free(workers);
	return ret->count > 0 && !*error;
}

static bool open_many(const struct job *job)
{
	held = calloc(job->count, sizeof(*held));
	if (!held)
		fail("calloc");
	for (nheld = 0; nheld < job->count; nheld++) {
		char why[sizeof(error)];
		if (!call(job, &held[nheld], why))
			return broken(error, "call %lu: %.80s", nheld + 1, why);
		if (!ask(job, &held[nheld], 3, 0, false, why) || !answer(&held[nheld], 3, why)) {
			nheld++;
			return broken(error, "call %lu: %.80s", nheld, why);
		}
	}
	return true;
}

/* All ask before the first answer is read. */
static bool ask_held(const struct job *job)
{
	for (unsigned long i = 0; i < nheld; i++)
		if (!ask(job, &held[i], 3, 0, false, error))
			return false;
	for (unsigned long i = 0; i < nheld; i++)
		if (!answer(&held[i], 3, error))
			return false;
	return true;
}

static void drop_held(void)
{
	for (unsigned long i = 0; i < nheld; i++)
		hang_up(&held[i]);
	free(held);
	held = NULL;
	nheld = 0;
}

static void run(struct job *job)
{
	double start = now();
	struct found found = {0};
	bool ok = true;
	errno = 0;
	*error = 0;
	if (strcmp(job->verb, "drop") == 0)
		drop_held();
	else if (!prepare(job))
		ok = false;
	else if (strcmp(job->verb, "get") == 0 || strcmp(job->verb, "put") == 0)
		ok = transfer(job, &found.seconds);
	else if (strcmp(job->verb, "open") == 0)
		ok = open_many(job);
	else if (strcmp(job->verb, "ask") == 0)
		ok = ask_held(job);
	else
		ok = many(job, &found);
	if (found.seconds == 0)
		found.seconds = now() - start;
	if (ok)
		printf("%.9f %zu %.9f %.9f\n", found.seconds, found.count, found.p50, found.p99);
	else
		printf("failed: %s\n", error);
	fflush(stdout);
	if (job->to)
		freeaddrinfo(job->to);
}

int main(void)
{
	char line[512];
	signal(SIGPIPE, SIG_IGN);
	raise_descriptors();
	tls = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_verify(tls, SSL_VERIFY_NONE, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		struct job job = {.threads = 1};
		int n = sscanf(line, "%7s %7s %255s %7s %lu %lu", job.verb, job.way_name, job.host,
			       job.port, &job.count, &job.threads);
		if (n < 1 || job.threads == 0 || (n > 1 && n < 4)) {
			puts("failed: no job");
			fflush(stdout);
			continue;
		}
		run(&job);
	}
	return 0;
}
