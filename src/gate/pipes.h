/* Inside gate/: the pipes that splice(2) moves bytes through, lent to a call only while bytes of it
 * lie in one. */
#ifndef LNK_GATE_PIPES_H
#define LNK_GATE_PIPES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Empty ones that are kept open. */
#define PIPES_KEPT 4
/* Lent at one time; a call that gets none copies. It keeps one only while its peer does not read,
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

/* What one splice may bring into a pipe. The kernel keeps the pages of a socket's bytes as they
 * are, so that a pipe's 16 slots hold much more than 64 KiB. */
#define PIPED_MAX (128UL * 1024UL)

/* Bytes of one direction of a call, in a pipe that is lent for them. */
struct piped {
	int pipe[2]; /* lent when [0] >= 0 */
	size_t n;
};
#define PIPED_NONE ((struct piped){.pipe = {-1, -1}})

/* Has it a pipe now? Takes one where it must. */
bool piped_ready(struct piped *piped, struct pipes *pipes);
/* From a socket into the empty pipe, `most` bytes and PIPED_MAX at most; from the pipe to a socket.
 * As splice(2): how many bytes went, 0 at the end, -1 with errno. */
ssize_t piped_fill(struct piped *piped, int from, size_t most);
ssize_t piped_drain(struct piped *piped, int to);
/* Gives the pipe back; what is left in it is dropped. Nothing lent is fine. */
void piped_end(struct piped *piped, struct pipes *pipes);

#endif
