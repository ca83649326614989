/* Decisions told. Hosts, methods and paths come from the program: everything is made printable, cut
 * to its share of a line, and counted in tables that have an end. */
#include "gate/decisions.h"

#include "base/clock.h"
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A line with its newline. A pipe takes so much in one piece, and without waiting when it takes
 * anything at all (pipe(7)). */
#define LINE_MAX_BYTES 4096
static_assert(LINE_MAX_BYTES <= PIPE_BUF, "a line goes into a pipe whole");

/* Shares of a line, in bytes of JSON without the quotes: 3,798 with "..." behind each that is cut,
 * and some 200 for the rest. */
#define HOST_SHARE   500
#define SPEC_SHARE   300
#define WHY_SHARE    500
#define HINT_SHARE   800
#define METHOD_SHARE 80
#define PATH_SHARE   1600

/* A longer name of a spec's file loses its beginning. It is printable (struct spec); JSON doubles
 * its bytes at most, so that the line's number always fits into SPEC_SHARE. */
#define FILE_SHOWN 130

/* getaddrinfo(3) and its like ask for A and AAAA at once: two look-ups of one name so close to each
 * other are one refusal. */
#define TWIN_MS 5

/* Fingerprints of what is beyond DECISIONS_KEPT, so that it is counted once each; a power of two.
 * When they are half full, counting ends. */
#define BEYOND_SLOTS 8192

struct kept {
	uint64_t key;
	uint32_t count;
	uint16_t port;
	bool paired; /* a look-up whose twin has come */
	long last_ms;
	size_t host_len; /* of `what` */
	char what[sizeof(((struct gate_refusal *)NULL)->what)];
	char hint[sizeof(((struct gate_refusal *)NULL)->hint)];
};

struct decisions {
	int log_fd;
	bool log_regular; /* a file that never makes a writer wait */
	bool log_broken;  /* the last line was cut: the next begins with a newline */
	struct kept *kept[DECISIONS_KEPT];
	uint32_t nkept;
	uint64_t *beyond; /* NULL until it is needed */
	uint32_t nbeyond;
};

struct decisions *decisions_new(int log_fd)
{
	struct decisions *d = calloc(1, sizeof(*d));
	struct stat st;
	struct tm tm;

	if (d == NULL) {
		return NULL;
	}
	/* The first call reads the time zone's file: better before the gate has confined itself. */
	gmtime_r(&(time_t){0}, &tm);
	d->log_fd = log_fd;
	d->log_regular = log_fd >= 0 && fstat(log_fd, &st) == 0 && S_ISREG(st.st_mode);
	return d;
}

void decisions_free(struct decisions *decisions)
{
	if (decisions == NULL) {
		return;
	}
	for (uint32_t i = 0; i < decisions->nkept; i++) {
		free(decisions->kept[i]);
	}
	free(decisions->beyond);
	free(decisions);
}

/* --- a line of JSON ----------------------------------------------------------------------- */

struct line {
	char v[LINE_MAX_BYTES];
	size_t n;
};

static void raw(struct line *line, const char *s, size_t len)
{
	if (len <= sizeof(line->v) - line->n) {
		memcpy(line->v + line->n, s, len);
		line->n += len;
	}
}

static void raw_text(struct line *line, const char *s)
{
	raw(line, s, strlen(s));
}

static void number(struct line *line, const char *key, uint64_t value)
{
	char text[64];
	int n = snprintf(text, sizeof(text), ",\"%s\":%" PRIu64, key, value);

	raw(line, text, (size_t)n);
}

/* Where a copy of at most `max` bytes of UTF-8 ends: not within a character. */
static size_t cut_at(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n <= max) {
		return n;
	}
	for (n = max; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; n--) {
	}
	return n;
}

/* A JSON string of at most `share` bytes between its quotes, "..." after it where it was cut. What
 * is no printable text of UTF-8 is written as \xNN (str_printable), whose backslash JSON doubles:
 * quotes and backslashes are then all that JSON wants escaped (RFC 8259 section 7). */
static void string(struct line *line, const char *s, size_t share)
{
	/* Printable text is at most four times as long. */
	char part[PATH_SHARE + 1];
	char shown[4 * PATH_SHARE + 1];
	size_t n = cut_at(s, share);
	bool cut = s[n] != '\0';
	size_t start;

	memcpy(part, s, n);
	part[n] = '\0';
	str_printable(part, shown, sizeof(shown));
	raw(line, "\"", 1);
	start = line->n;
	for (const char *p = shown; *p != '\0'; p += n) {
		bool escaped = *p == '"' || *p == '\\';

		for (n = 1; ((unsigned char)p[n] & 0xc0) == 0x80; n++) {
		}
		if (line->n - start + n + (escaped ? 1 : 0) > share) {
			cut = true;
			break;
		}
		if (escaped) {
			raw(line, "\\", 1);
		}
		raw(line, p, n);
	}
	raw_text(line, cut ? "...\"" : "\"");
}

static void member(struct line *line, const char *key, const char *value, size_t share)
{
	raw_text(line, ",\"");
	raw_text(line, key);
	raw_text(line, "\":");
	if (value != NULL) {
		string(line, value, share);
	} else {
		raw_text(line, "null");
	}
}

/* RFC 3339, UTC. */
static void put_time(struct line *line)
{
	struct timespec now = {.tv_sec = 0};
	struct tm tm = {.tm_year = 0};
	char text[96];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	int n = snprintf(text, sizeof(text), "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\"",
			 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			 tm.tm_sec, now.tv_nsec / 1000000L);
	raw(line, text, (size_t)n);
}

static const char *section_name(enum gate_section section)
{
	switch (section) {
	case GATE_INTERNET:
		return "internet";
	case GATE_LAN:
		return "lan";
	case GATE_LOCALHOST:
		return "localhost";
	case GATE_NONE:
		break;
	}
	return NULL;
}

/* "app.toml:12", or "--host". */
static void spec_line(struct line *line, const struct origin *from)
{
	char text[SPEC_SHARE + 16];

	if (from == NULL || (from->file == NULL && from->flag == NULL)) {
		member(line, "spec", NULL, 0);
	} else if (from->file == NULL) {
		member(line, "spec", from->flag, SPEC_SHARE);
	} else {
		size_t len = strlen(from->file);
		size_t skip = len > FILE_SHOWN ? len - FILE_SHOWN : 0;

		snprintf(text, sizeof(text), "%s%s:%u", skip > 0 ? "..." : "", from->file + skip,
			 from->line);
		member(line, "spec", text, SPEC_SHARE);
	}
}

static void make_line(const struct decision *d, struct line *line)
{
	put_time(line);
	member(line, "section", section_name(d->section), 16);
	member(line, "host", d->host, HOST_SHARE);
	if (d->port != 0) {
		number(line, "port", d->port);
	} else {
		member(line, "port", NULL, 0);
	}
	member(line, "verdict", d->allowed ? "allowed" : "refused", 16);
	spec_line(line, d->from);
	if (!d->allowed) {
		member(line, "why", d->why, WHY_SHARE);
		member(line, "hint", d->hint, HINT_SHARE);
	}
	if (d->method != NULL) {
		member(line, "method", d->method, METHOD_SHARE);
	}
	if (d->path != NULL) {
		member(line, "path", d->path, PATH_SHARE);
	}
	if (d->allowed && d->port != 0 && d->method == NULL) {
		number(line, "sent", d->sent);
		number(line, "received", d->received);
	}
	raw(line, "}\n", 2);
}

/* --- the log ------------------------------------------------------------------------------ */

/* True when a write does not wait for a reader: the log may be a pipe or a terminal. */
static bool log_ready(const struct decisions *d)
{
	struct pollfd p = {.fd = d->log_fd, .events = POLLOUT};

	return d->log_regular || (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0);
}

static void log_line(struct decisions *d, const struct decision *decision)
{
	struct line line = {.n = 0};
	ssize_t n;

	if (!log_ready(d)) {
		return;
	}
	if (d->log_broken) {
		raw(&line, "\n", 1);
	}
	make_line(decision, &line);
	do {
		n = write(d->log_fd, line.v, line.n);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		d->log_broken = (size_t)n < line.n;
	}
}

/* --- what was refused, counted ------------------------------------------------------------ */

static uint64_t mix(uint64_t h, const char *s)
{
	for (; s != NULL && *s != '\0'; s++) {
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	}
	return (h ^ 0xff) * 0x100000001b3ULL;
}

/* What makes two refusals the same. Never 0. A program that makes two collide hides one of its own
 * from the report, not from the log. */
static uint64_t key_of(const struct decision *d)
{
	uint64_t h = mix(0xcbf29ce484222325ULL, d->host);

	h = mix(h ^ d->port, d->why);
	return h != 0 ? h : 1;
}

static void count_beyond(struct decisions *d, uint64_t key)
{
	if (d->beyond == NULL) {
		d->beyond = calloc(BEYOND_SLOTS, sizeof(*d->beyond));
	}
	if (d->beyond == NULL || d->nbeyond >= BEYOND_SLOTS / 2) {
		return;
	}
	size_t i = (key ^ key >> 32) & (BEYOND_SLOTS - 1);
	while (d->beyond[i] != 0 && d->beyond[i] != key) {
		i = (i + 1) & (BEYOND_SLOTS - 1);
	}
	d->nbeyond += d->beyond[i] == 0 ? 1 : 0;
	d->beyond[i] = key;
}

static struct kept *kept_new(const struct decision *d, uint64_t key)
{
	struct kept *k = calloc(1, sizeof(*k));
	char why[256];
	char host[HOST_MAX];

	if (k == NULL) {
		return NULL;
	}
	k->key = key;
	k->port = d->port;
	str_printable(d->host != NULL ? d->host : "", host, sizeof(host));
	str_printable(d->why != NULL ? d->why : "", why, sizeof(why));
	k->host_len = strlen(host);
	int n = snprintf(k->what, sizeof(k->what), "%s", host);
	if (d->port != 0) {
		n += snprintf(k->what + n, sizeof(k->what) - (size_t)n, ", port %u",
			      (unsigned)d->port);
	}
	if (why[0] != '\0') {
		snprintf(k->what + n, sizeof(k->what) - (size_t)n, ": %s", why);
	}
	str_printable(d->hint != NULL ? d->hint : "", k->hint, sizeof(k->hint));
	return k;
}

static void count(struct decisions *d, const struct decision *decision)
{
	uint64_t key = key_of(decision);
	long now = clock_now_ms();

	for (uint32_t i = 0; i < d->nkept; i++) {
		struct kept *k = d->kept[i];

		if (k->key == key) {
			k->paired = k->port == 0 && !k->paired && now - k->last_ms < TWIN_MS;
			k->count += k->paired || k->count == UINT32_MAX ? 0 : 1;
			k->last_ms = now;
			return;
		}
	}
	struct kept *k = d->nkept < DECISIONS_KEPT ? kept_new(decision, key) : NULL;
	if (k == NULL) {
		count_beyond(d, key);
		return;
	}
	k->count = 1;
	k->last_ms = now;
	d->kept[d->nkept++] = k;
}

void decisions_add(struct decisions *decisions, const struct decision *decision)
{
	if (decisions->log_fd >= 0) {
		log_line(decisions, decision);
	}
	if (!decision->allowed) {
		count(decisions, decision);
	}
}

/* --- the report --------------------------------------------------------------------------- */

/* A refused look-up whose host was then refused at a port as well: the port says more. */
static bool told_by_port(const struct decisions *d, const struct kept *look_up)
{
	for (uint32_t i = 0; look_up->port == 0 && i < d->nkept; i++) {
		const struct kept *k = d->kept[i];

		if (k->port != 0 && k->host_len == look_up->host_len &&
		    memcmp(k->what, look_up->what, k->host_len) == 0) {
			return true;
		}
	}
	return false;
}

uint32_t decisions_report(const struct decisions *decisions, struct gate_refusal *out,
			  uint32_t *ret_more)
{
	const struct kept *told[DECISIONS_KEPT];
	uint32_t n = 0;

	/* By insertion: few, and those that were first stay first among equals. */
	for (uint32_t i = 0; i < decisions->nkept; i++) {
		const struct kept *k = decisions->kept[i];
		uint32_t at = n;

		if (told_by_port(decisions, k)) {
			continue;
		}
		for (; at > 0 && told[at - 1]->count < k->count; at--) {
			told[at] = told[at - 1];
		}
		told[at] = k;
		n++;
	}
	uint32_t shown = n < GATE_REFUSALS_MAX ? n : GATE_REFUSALS_MAX;
	for (uint32_t i = 0; i < shown; i++) {
		out[i].count = told[i]->count;
		memcpy(out[i].what, told[i]->what, sizeof(out[i].what));
		memcpy(out[i].hint, told[i]->hint, sizeof(out[i].hint));
	}
	*ret_more = n - shown + decisions->nbeyond;
	return shown;
}
