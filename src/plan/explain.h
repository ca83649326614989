/* Why the sandbox of a plan opens a path or not, in words of the user's own spec: the line that
 * decides, and the line to add. It explains an answer that the kernel has given; it gives none. */
#ifndef LNK_PLAN_EXPLAIN_H
#define LNK_PLAN_EXPLAIN_H

#include "plan/plan.h"

enum explain_access { EXPLAIN_READ, EXPLAIN_WRITE, EXPLAIN_RUN };

struct refuse_rules;

struct explain {
	const struct spec *spec;
	const struct facts *facts;
	const struct plan *plan;
	struct arena *arena;
	const struct refuse_rules *rules; /* of a spec's file; NULL: flags, which may do all */
};

struct explained {
	const struct origin *from; /* the line that decides; NULL: none does */
	const char *why;           /* one clause, without a full stop */
	const char *hint;          /* what to write, or to do instead; NULL when there is nothing */
	const char *add;           /* the path or name that the hint adds; NULL: no line opens it */
	bool own; /* allowed, but in a folder of the sandbox's own: the file outside stays as it
		     is, and `hint` tells how to reach that */
};

/* Everything lives in `arena`, which outlives it. */
struct explain explain_begin(const struct spec *spec, const struct facts *facts,
			     const struct plan *plan, struct arena *arena);

/* `path`: absolute, normalised; links are followed as on this machine. Strings live in the arena
 * and are not made printable. */
void explain_path(const struct explain *e, enum explain_access access, bool allowed,
		  const char *path, struct explained *ret_explained);

/* True when [commands] allow lists the program file, absolute and resolved. */
bool explain_lists(const struct explain *e, const char *real);

/* `app.toml:5: add "x" to [files] read`, or `add --read x` where flags are the spec: how `value`
 * (a string; of ports a number) gets into a key. In the arena. */
const char *explain_add(const struct explain *e, enum spec_key key, const char *value);

/* A path as people write it in a spec: "~/x" below the home. In the arena, or `path` itself. */
const char *explain_tilde(const struct explain *e, const char *path);

/* As a string of TOML, with its quotes. In the arena. */
const char *explain_quote(const char *text, struct arena *arena);

#endif
