/* Inside gate/: the pipes that splice(2) moves bytes through, lent to a relay only while bytes of
 * it lie in one. */
#ifndef LNK_GATE_PIPES_H
#define LNK_GATE_PIPES_H

#include <stdbool.h>

/* Empty ones that are kept open. */
#define PIPES_KEPT 4
/* Lent at one time; a relay that gets none copies. It keeps one only while its peer does not read,
 * so this bounds the descriptors that such peers cost. */
#define PIPES_LENT_MAX 128

struct pipes { /* all zero: none yet */
	int kept[PIPES_KEPT][2];
	unsigned nkept, lent;
};

/* Lends an empty pipe, non-blocking: [0] to read, [1] to write. False: there is none to be had. */
bool pipes_take(struct pipes *pipes, int ret_pipe[2]);
/* Gives it back; `empty` false: bytes are left in it, so it is closed. */
void pipes_give(struct pipes *pipes, const int pipe[2], bool empty);
/* Closes those that are kept. */
void pipes_close(struct pipes *pipes);

#endif
