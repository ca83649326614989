/* Inside plan/ only: the system folders cut into pieces, for --without-namespaces. */
#ifndef LNK_PLAN_PIECES_H
#define LNK_PLAN_PIECES_H

#include "plan/facts.h"

/* Fills facts->pieces: paths that together hold all of the system folders but what stays closed in
 * them, the files that are not for everybody and, where commands are listed, the folders of
 * programs. Landlock's rights reach down from where they are given and cannot be taken back further
 * below, so a folder that holds something closed is opened entry by entry. After the secrets were
 * found. False: a folder that has to be cut cannot be listed. */
bool pieces_find(struct facts *facts, struct arena *arena, struct err *err);

#endif
