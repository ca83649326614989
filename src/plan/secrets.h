/* The system's files that are not for everybody (keys, password hashes, tokens in /etc and /opt).
 * An ordinary user cannot read them, but root can, and so can a member of a supplementary group,
 * which a user namespace cannot drop. */
#ifndef LNK_PLAN_SECRETS_H
#define LNK_PLAN_SECRETS_H

#include "plan/facts.h"

/* Adds to `facts->secrets` every file and folder below /etc and /opt that others may not read but
 * this user may. Looks at nothing for a user who is only in the own group. */
bool secrets_find(struct facts *facts, struct arena *arena, struct err *err);

#endif
