#include "broker/decision.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Different refusals that are remembered; beyond them only how many came. */
#define KEPT 128

/* Shares of a line, in bytes of JSON: 3,822 with "..." behind each, and some 200 for the rest. */
#define NAME_SHARE 260
#define WHAT_SHARE LOGLINE_SHARE_MAX
#define WHY_SHARE  600
#define HINT_SHARE 600

struct kept {
	uint64_t key;
	struct broker_refusal refusal;
};

struct decided {
	const struct broker_config *config;
	struct logfile log;
	struct kept *v[KEPT];
	uint32_t n;
	uint32_t more;
};

void decision_words(char *const *words, char *out, size_t cap)
{
	static const char cut[] = "...";
	size_t n = 0;

	out[0] = '\0';
	for (; *words != NULL; words++) {
		size_t len = strlen(*words);
		size_t gap = n > 0 ? 1 : 0;

		if (len + gap + sizeof(cut) > cap - n) {
			size_t room = cap - n > gap + sizeof(cut) ? cap - n - gap - sizeof(cut) : 0;

			memcpy(out + n, " ", gap);
			memcpy(out + n + gap, *words, room);
			memcpy(out + n + gap + room, cut, sizeof(cut));
			return;
		}
		memcpy(out + n, " ", gap);
		memcpy(out + n + gap, *words, len + 1);
		n += gap + len;
	}
}

struct decided *decided_new(const struct broker_config *config, int log_fd)
{
	struct decided *d = calloc(1, sizeof(*d));

	if (d != NULL) {
		d->config = config;
		logfile_init(&d->log, log_fd);
	}
	return d;
}

void decided_free(struct decided *decided)
{
	for (uint32_t i = 0; decided != NULL && i < decided->n; i++) {
		free(decided->v[i]);
	}
	free(decided);
}

/* --- the log ------------------------------------------------------------------------------ */

static const struct origin *granting(const struct broker_config *config,
				     const struct broker_decision *d)
{
	if (d->section == DECISION_TOOLS) {
		return d->grant >= 1 && d->grant <= config->ntools
			       ? &config->tools[d->grant - 1].from
			       : NULL;
	}
	return d->grant >= 1 && d->grant <= config->nbrowse ? &config->browse[d->grant - 1].from
							    : NULL;
}

static void make_line(const struct broker_config *config, const struct broker_decision *d,
		      struct logline *line)
{
	bool tools = d->section == DECISION_TOOLS;

	logline_begin(line);
	logline_text(line, "section", tools ? "tools" : "browser", 16);
	logline_text(line, tools ? "tool" : "host", d->name[0] != '\0' ? d->name : NULL,
		     NAME_SHARE);
	logline_text(line, tools ? "arguments" : "url", d->what, WHAT_SHARE);
	logline_text(line, "verdict", d->allowed != 0 ? "allowed" : "refused", 16);
	logline_origin(line, "spec", granting(config, d));
	if (d->allowed == 0) {
		logline_text(line, "why", d->why, WHY_SHARE);
		logline_text(line, "hint", d->hint[0] != '\0' ? d->hint : NULL, HINT_SHARE);
	} else if (tools && d->status < 0) {
		logline_number(line, "signal", (uint64_t) - (int64_t)d->status);
	} else if (tools) {
		logline_number(line, "status", (uint64_t)d->status);
	}
	logline_end(line);
}

/* --- the report --------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, const char *s)
{
	for (; *s != '\0'; s++) {
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	}
	return (h ^ 0xff) * 0x100000001b3ULL;
}

static struct kept *kept_new(const struct broker_decision *d, uint64_t key)
{
	struct kept *k = calloc(1, sizeof(*k));
	char name[sizeof(d->name) + 1];
	char what[sizeof(d->what) + 1];
	char why[sizeof(d->why)];

	if (k == NULL) {
		return NULL;
	}
	/* A page's host stands in its address. */
	str_printable(d->section == DECISION_TOOLS ? d->name : "", name, sizeof(name));
	str_printable(d->what, what, sizeof(what));
	str_printable(d->why, why, sizeof(why));
	bool gap = name[0] != '\0' && what[0] != '\0';
	snprintf(k->refusal.what, sizeof(k->refusal.what), "%s%s%s: %s", name, gap ? " " : "", what,
		 why);
	str_printable(d->hint, k->refusal.hint, sizeof(k->refusal.hint));
	k->key = key;
	return k;
}

static void count(struct decided *d, const struct broker_decision *decision)
{
	uint64_t key = mix(
		mix(mix(0xcbf29ce484222325ULL + decision->section, decision->name), decision->what),
		decision->why);
	struct kept *k = NULL;

	for (uint32_t i = 0; i < d->n && k == NULL; i++) {
		k = d->v[i]->key == key ? d->v[i] : NULL;
	}
	if (k == NULL && d->n < KEPT && (k = kept_new(decision, key)) != NULL) {
		d->v[d->n++] = k;
	}
	if (k == NULL) {
		d->more += d->more < UINT32_MAX ? 1 : 0;
	} else {
		k->refusal.count += k->refusal.count < UINT32_MAX ? 1 : 0;
	}
}

void decided_add(struct decided *decided, struct broker_decision *decision)
{
	decision->name[sizeof(decision->name) - 1] = '\0';
	decision->what[sizeof(decision->what) - 1] = '\0';
	decision->why[sizeof(decision->why) - 1] = '\0';
	decision->hint[sizeof(decision->hint) - 1] = '\0';
	if (decided->log.fd >= 0) {
		struct logline line = {.n = 0};

		make_line(decided->config, decision, &line);
		logfile_write(&decided->log, &line);
	}
	if (decision->allowed == 0) {
		count(decided, decision);
	}
}

void decided_report(const struct decided *decided, struct broker_report *ret_report)
{
	const struct kept *told[KEPT] = {NULL};

	memset(ret_report, 0, sizeof(*ret_report));
	for (uint32_t i = 0; i < decided->n; i++) {
		const struct kept *k = decided->v[i];
		uint32_t at = i;

		for (; at > 0 && told[at - 1]->refusal.count < k->refusal.count; at--) {
			told[at] = told[at - 1];
		}
		told[at] = k;
	}
	ret_report->n = decided->n < BROKER_REFUSALS_MAX ? decided->n : BROKER_REFUSALS_MAX;
	for (uint32_t i = 0; i < ret_report->n; i++) {
		ret_report->v[i] = told[i]->refusal;
	}
	ret_report->more = decided->n - ret_report->n + decided->more;
}
