#include "base/pass.h"

#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(PASS_MAX * sizeof(int))];
};

bool pass_send(int socket, const void *data, size_t len, const int *fds, size_t nfds)
{
	union control control = {.space = {0}};
	/* sendmsg(2) takes no const; it only reads. */
	struct iovec iov = {.iov_len = len};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (len == 0 || nfds > PASS_MAX) {
		errno = EINVAL;
		return false;
	}
	memcpy(&iov.iov_base, &data, sizeof(data));
	if (nfds > 0) {
		message.msg_control = control.space;
		message.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do {
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n >= 0 && (size_t)n < len) {
		/* A stream socket that is full; the descriptors went with the first part. */
		errno = EMSGSIZE;
		return false;
	}
	return n >= 0;
}

/* Puts the descriptors that came into `all` (PASS_MAX of them); how many there are. */
static size_t take(struct msghdr *message, int all[PASS_MAX])
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			continue;
		}
		/* The kernel joins several sets into one, and what does not fit into `control` is
		 * cut off, so that there is room. */
		for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0) && n < PASS_MAX;
		     at += sizeof(int)) {
			memcpy(&all[n++], CMSG_DATA(c) + at, sizeof(int));
		}
	}
	return n;
}

ssize_t pass_receive(int socket, void *data, size_t cap, int *fds, size_t max_fds, size_t *ret_nfds)
{
	union control control;
	struct iovec iov = {.iov_base = data, .iov_len = cap};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space)};
	int all[PASS_MAX];
	ssize_t n;

	*ret_nfds = 0;
	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		return -1;
	}
	size_t got = take(&message, all);
	bool cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
	if (cut || got > max_fds || n == 0) {
		for (size_t i = 0; i < got; i++) {
			fd_close(&all[i]);
		}
		errno = EBADMSG;
		return cut || got > 0 ? -1 : 0;
	}
	if (got > 0) {
		memcpy(fds, all, got * sizeof(int));
	}
	*ret_nfds = got;
	return n;
}
