/* Decisions told: to --log as JSON lines, and summed up for the report at exit. */
#ifndef LNK_GATE_DECISIONS_H
#define LNK_GATE_DECISIONS_H

#include "gate/client.h"
#include "gate/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct decision {
	enum gate_section section;
	const char *host; /* name or address; hostile bytes are made visible here */
	uint16_t port;    /* 0: a look-up of the name only */
	bool allowed;
	bool failed; /* granted, but it did not work outside: neither allowed nor refused */
	const struct origin *from; /* the granting line; NULL when refused */
	const char *why;           /* refused, or failed; or, where a call was only asked for, what
				      stands in its way all the same */
	const char *hint;          /* refused, or failed */
	const char *method;        /* of an HTTP request, or NULL */
	const char *path;          /* likewise */
	uint64_t sent, received;   /* bytes, of a call that ended */
};

/* Different refused things that are remembered; beyond them only their number. */
#define DECISIONS_KEPT 256

struct decisions;
/* `log_fd` (borrowed) -1: no log. NULL when memory is out. */
struct decisions *decisions_new(int log_fd);
void decisions_free(struct decisions *decisions);

/* One call, request or look-up decided. A line is written whole with one write(2) (O_APPEND), at
 * most 4 KiB; a full disk, and a pipe that nobody reads, lose lines, not calls; they are counted
 * (logline.h). A refused look-up followed by nothing else is one refusal, its A and AAAA questions
 * too; a name refused at several ports is told once per port, and once per reason.
 *
 * A line: {"time": RFC 3339 in UTC, "section": "internet", "lan", "localhost" or null, "host",
 * "port": null of a look-up, "verdict": "allowed", "refused" or "failed", "spec": "app.toml:12",
 * "--host" or null; "why" and "hint" of a refusal or a failure; "method" and "path" of a request;
 * "sent" and "received" of an allowed call that is not judged request by request}. Texts that are
 * too long end in "...". */
void decisions_add(struct decisions *decisions, const struct decision *decision);

/* The refusals and failures, most counted first, at most GATE_REFUSALS_MAX; the number of them.
 * `what` is "HOST, port N: WHY". `ret_more`: how many different ones there are beyond, as far as
 * they were counted (4,096 after DECISIONS_KEPT). */
uint32_t decisions_report(const struct decisions *decisions, struct gate_refusal *out,
			  uint32_t *ret_more);

/* Decisions that are missing in the log. */
uint32_t decisions_lost(const struct decisions *decisions);

#endif
