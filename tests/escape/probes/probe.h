/* The attacks of the escape tests. Each is tried in the sandbox, where it must be refused, and
 * outside or with one guard left out, where it must succeed: a test whose attack is broken fails.
 */
#ifndef LNK_TESTS_ESCAPE_PROBE_H
#define LNK_TESTS_ESCAPE_PROBE_H

#include <stdbool.h>

/* One attack. argv[0] is its name. 0: it succeeded; -1: refused, errno says how. It may print what
 * it found on a line of its own. */
typedef int attack_fn(int argc, char **argv);

struct attack {
	const char *name;
	const char *usage;
	attack_fn *run;
};

/* Ended by an entry without a name. */
extern const struct attack call_attacks[];
extern const struct attack exec_attacks[];
extern const struct attack process_attacks[];
extern const struct attack file_attacks[];
extern const struct attack view_attacks[];
extern const struct attack audit_attacks[];

/* A number as strtoul(3) reads it with base 0; ends the probe when it is none. */
unsigned long number(const char *text);

/* -1 with errno set. */
int refused(int error);

#endif
