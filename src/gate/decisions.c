/* Decisions told. Hosts, methods and paths come from the program: everything is made printable, cut
 * to its share of a line, and counted in tables that have an end. */
#include "gate/decisions.h"

#include "base/clock.h"
#include "base/logline.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares of a line, in bytes of JSON without the quotes: 3,798 with "..." behind each that is cut,
 * and some 200 for the rest. */
#define HOST_SHARE   500
#define WHY_SHARE    500
#define HINT_SHARE   800
#define METHOD_SHARE 80
#define PATH_SHARE   1600

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
	bool failed;
	long last_ms;
	size_t host_len; /* of `what` */
	char what[sizeof(((struct gate_refusal *)NULL)->what)];
	char hint[sizeof(((struct gate_refusal *)NULL)->hint)];
};

struct decisions {
	struct logfile log;
	struct kept *kept[DECISIONS_KEPT];
	uint32_t nkept;
	uint64_t *beyond; /* NULL until it is needed */
	uint32_t nbeyond;
};

struct decisions *decisions_new(int log_fd)
{
	struct decisions *d = calloc(1, sizeof(*d));

	if (d != NULL) {
		logfile_init(&d->log, log_fd);
	}
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

/* --- a line of the log -------------------------------------------------------------------- */

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

static void make_line(const struct decision *d, struct logline *line)
{
	logline_begin(line);
	logline_text(line, "section", section_name(d->section), 16);
	logline_text(line, "host", d->host, HOST_SHARE);
	if (d->port != 0) {
		logline_number(line, "port", d->port);
	} else {
		logline_text(line, "port", NULL, 0);
	}
	logline_text(line, "verdict",
		     d->allowed  ? "allowed"
		     : d->failed ? "failed"
				 : "refused",
		     16);
	logline_origin(line, "spec", d->from);
	if (!d->allowed || d->why != NULL) {
		logline_text(line, "why", d->why, WHY_SHARE);
	}
	if (!d->allowed) {
		logline_text(line, "hint", d->hint, HINT_SHARE);
	}
	if (d->method != NULL) {
		logline_text(line, "method", d->method, METHOD_SHARE);
	}
	if (d->path != NULL) {
		logline_text(line, "path", d->path, PATH_SHARE);
	}
	if (d->allowed && d->port != 0 && d->method == NULL) {
		logline_number(line, "sent", d->sent);
		logline_number(line, "received", d->received);
	}
	logline_end(line);
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
	k->failed = d->failed;
	str_printable(d->host != NULL ? d->host : "", host, sizeof(host));
	/* With blanks in it, it could fill the terminal's line and go on as one of lnk's own. */
	for (char *blank = host; (blank = strchr(blank, ' ')) != NULL;) {
		*blank = '_';
	}
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
	if (decisions->log.fd >= 0) {
		struct logline line = {.n = 0};

		make_line(decision, &line);
		logfile_write(&decisions->log, &line);
	}
	if (!decision->allowed) {
		count(decisions, decision);
	}
}

uint32_t decisions_lost(const struct decisions *decisions)
{
	uint64_t lost = decisions->log.lost;

	return lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
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
		out[i].failed = told[i]->failed;
		memcpy(out[i].what, told[i]->what, sizeof(out[i].what));
		memcpy(out[i].hint, told[i]->hint, sizeof(out[i].hint));
	}
	*ret_more = n - shown + decisions->nbeyond;
	return shown;
}
