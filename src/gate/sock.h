/* Inside gate/: what every TCP socket of a call is told. */
#ifndef LNK_GATE_SOCK_H
#define LNK_GATE_SOCK_H

/* Bytes go out as they come, and a peer that is gone is found out: after SOCK_IDLE_S without a word
 * it is asked every SOCK_ASK_S, SOCK_ASKS times. That instead of limits on how long a call may be
 * idle: a model may think for minutes. Routers forget idle connections after 60 s or more (RFC 5382
 * asks for two hours). Source: tcp(7). */
#define SOCK_IDLE_S 45
#define SOCK_ASK_S  15
#define SOCK_ASKS   8
void sock_prepare(int fd);

/* Closes `*fd`, when it is not negative, so that the peer sees a reset; -1 afterwards. */
void sock_reset(int *fd);

/* The error that waits in the socket, and is gone then; 0: none. */
int sock_error(int fd);

#endif
