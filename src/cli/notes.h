/* What `run` tells the user on stderr besides errors: one line each, beginning with "lnk: ". */
#ifndef LNK_CLI_NOTES_H
#define LNK_CLI_NOTES_H

#include "broker/broker.h"
#include "confine/confine.h"
#include "gate/client.h"
#include "plan/plan.h"

/* Before the program starts: what will surely fail, with the line to add. */
void notes_at_start(const struct plan *plan, char *const *env, const struct facts *facts);

/* When it has ended: what the program may have left where it runs outside. Said even when quiet is
 * asked for. Frees result->notes. */
void notes_to_look_at(struct confine_result *result);

/* A thing that was refused, how often, and what to do instead (may be empty). */
void notes_refused(const char *what, uint32_t count, const char *hint);

/* When it has ended: what the gate refused, and the line to add; or that the gate itself ended. */
void notes_of_gate(const struct gate_report *report, bool died);

/* Likewise of the broker. */
void notes_of_broker(const struct broker_report *report, bool died);

/* That the log is not whole, when lines of it were lost. Said even when quiet is asked for. */
void notes_of_log(uint32_t lost);

/* When it has ended: what was in the private home and is gone with it. */
void notes_at_exit(const struct confine_result *result);

#endif
