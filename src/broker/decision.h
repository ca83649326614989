/* What the broker decided: told by the process of each call to the broker, which logs and counts
 * it. No pointers, so that it passes between processes as it is. */
#ifndef LNK_BROKER_DECISION_H
#define LNK_BROKER_DECISION_H

#include "base/logline.h"
#include "broker/broker.h"

enum decision_section { DECISION_TOOLS, DECISION_BROWSER };

struct broker_decision {
	uint32_t section;
	uint32_t allowed;
	uint32_t grant;           /* the index of the granting entry, from 1; 0: none */
	int32_t status;           /* of a tool that ran: exit status; -N: signal N */
	char name[256];           /* of the tool, or the host; may be empty */
	char what[URL_MAX + 16];  /* "pr view 12", or the address */
	char why[512];            /* refused */
	char hint[URL_MAX + 128]; /* refused */
};

/* Arguments as one text, for people: separated by spaces, cut with "...". */
void decision_words(char *const *words, char *out, size_t cap);

struct decided;
/* NULL when memory is out. `config` and the log (-1: none) are borrowed. */
struct decided *decided_new(const struct broker_config *config, int log_fd);
void decided_free(struct decided *decided);

/* Writes the line of --log, and counts a refusal. The struct may be hostile (a call's process ran
 * tools): strings are ended, numbers are bounded.
 *
 * A line: {"time", "section": "tools", "tool", "arguments", "verdict": "allowed" or "refused",
 * "spec", "why" and "hint" of a refusal, "status" or "signal" of a tool that has run}, or
 * {"time", "section": "browser", "host", "url", "verdict", "spec", "why", "hint"}. Allowed calls
 * are told when they have ended. */
void decided_add(struct decided *decided, struct broker_decision *decision);

/* Most counted first. */
void decided_report(const struct decided *decided, struct broker_report *ret_report);

#endif
