#include "confine/warden_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(WARDEN_MSG_FDS * sizeof(int))];
};

bool warden_wire_send(int fd, const void *msg, size_t len, const int *fds, unsigned nfds)
{
	union control control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)msg, .iov_len = len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds > 0) {
		memset(&control, 0, sizeof(control));
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	ssize_t n;
	do {
		n = sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

/* Puts the descriptors of a message where they belong; closes those beyond. */
static void take_fds(struct msghdr *h, int *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (i < WARDEN_MSG_FDS && fds[i] < 0) {
				fds[i] = fd;
			} else {
				close(fd);
			}
		}
	}
}

int warden_wire_receive(int fd, bool wait, union warden_any *ret_msg,
			int ret_fds[static WARDEN_MSG_FDS])
{
	union control control;
	struct iovec iov = {.iov_base = ret_msg, .iov_len = sizeof(*ret_msg)};
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = 0;

	for (unsigned i = 0; i < WARDEN_MSG_FDS; i++) {
		ret_fds[i] = -1;
	}
	bool reset = false;
	do {
		reset = reset || (n < 0 && errno == ECONNRESET);
		n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
		/* A peer that closed with our message unread resets once, before what it had sent
		 * (its reason for ending, say) can be read. */
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !reset)));
	if (n < 0) {
		return errno == EAGAIN ? 0 : -1;
	}
	take_fds(&h, ret_fds);
	bool with_err =
		(size_t)n >= sizeof(ret_msg->head) &&
		(ret_msg->head.kind == WARDEN_MSG_FAILED || ret_msg->head.kind == WARDEN_MSG_NOTE);
	size_t want = with_err ? sizeof(ret_msg->failure) : sizeof(ret_msg->head);
	if ((size_t)n != want || (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		for (unsigned i = 0; i < WARDEN_MSG_FDS; i++) {
			if (ret_fds[i] >= 0) {
				close(ret_fds[i]);
				ret_fds[i] = -1;
			}
		}
		return -1;
	}
	return 1;
}
