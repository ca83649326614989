/* `lnk sandbox why call`: what is called, and what the gate said of it. */
#ifndef LNK_CLI_WHY_CALL_H
#define LNK_CLI_WHY_CALL_H

#include "confine/trial.h"
#include "plan/explain.h"

/* "github.com", "github.com:22", "[::1]:80", "https://github.com/x", "localhost:5432". Without a
 * port and a scheme it is 443. False: it is none of these. */
bool why_call_read(const char *word, struct arena *arena, struct trial *ret_trial);

/* What the gate wrote of its decisions into `log_fd` (its lines of --log), for the last one. False:
 * it decided nothing. Strings live in the arena. */
struct gate_said {
	bool allowed;
	const char *section; /* "internet"; NULL */
	const char *line;    /* "app.toml:12"; NULL */
	const char *why;     /* refused */
	const char *hint;    /* refused */
};
bool why_call_said(int log_fd, struct arena *arena, struct gate_said *ret_said);

bool why_call_is_loopback(const struct trial *trial);

/* The host as it is shown: the name that was asked for, without scheme, port and path. */
const char *why_call_shown(const struct trial *trial, const char *word, struct arena *arena);

/* How a spec without any section of the network gets to open this call. */
const char *why_call_add(const struct explain *e, const struct trial *trial);

#endif
