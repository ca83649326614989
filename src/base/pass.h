/* Passing descriptors over a Unix socket (SCM_RIGHTS, unix(7)). */
#ifndef LNK_BASE_PASS_H
#define LNK_BASE_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The most descriptors in one message. */
#define PASS_MAX 8

/* Sends `len` bytes (at least 1) and `nfds` descriptors as one message. MSG_NOSIGNAL. False with
 * errno set. */
bool pass_send(int socket, const void *data, size_t len, const int *fds, size_t nfds);

/* Receives one message of at most `cap` bytes and `max_fds` descriptors, close-on-exec. The number
 * of bytes, 0 when the peer is gone, -1 with errno set (EBADMSG: cut short, or more descriptors
 * than asked for; all of them are closed then). Owned by the caller; *ret_nfds says how many came.
 */
ssize_t pass_receive(int socket, void *data, size_t cap, int *fds, size_t max_fds,
		     size_t *ret_nfds);

#endif
