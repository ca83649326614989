/* What the user's reference refuses in a spec that comes from a file, flags beside it included:
 * such a spec may be anyone's. Each rule is checked on the name as written and on what it
 * resolves to. Flags alone may do all of it, and nothing here is called for them. */
#ifndef LNK_PLAN_REFUSE_H
#define LNK_PLAN_REFUSE_H

#include "plan/machine.h"
#include "spec/spec.h"

/* False when `errs` got at least one error. Every error names the entry's line or flag and has a
 * hint that says what to write instead. Looks at the file system only through resolve_path, and
 * at the names in the home folder. */
bool refuse_check(const struct spec *spec, const struct machine *machine, struct arena *arena,
		  struct err_list *errs);

/* The same rules, read once and asked of one entry after another that is not in the spec: whether
 * it might be. */
struct refuse_rules;

/* Lives in `arena`. NULL: the spec is flags alone, which may do all of it (or its file is gone). */
const struct refuse_rules *refuse_rules_read(const struct spec *spec, const struct machine *machine,
					     struct arena *arena);

/* False: a spec's file may not have absolute, normalised `path` in `key` (write or read); `err`
 * says why, and what to write instead. */
bool refuse_may(const struct refuse_rules *rules, enum spec_key key, const char *path,
		struct err *err);

#endif
