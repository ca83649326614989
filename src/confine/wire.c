#include "confine/wire.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

/* The part of the union that a kind uses is all that is sent. */
static size_t length(const struct wire *m)
{
	switch (m->kind) {
	case WIRE_FAILED:
		return offsetof(struct wire, u) + sizeof(m->u.err);
	case WIRE_ENDED:
		return offsetof(struct wire, u) + sizeof(m->u.left);
	case WIRE_STOPPED:
	case WIRE_SIGNAL:
	case WIRE_CONTINUE:
	case WIRE_START:
	case WIRE_AGAIN:
		break;
	}
	return offsetof(struct wire, u);
}

void wire_send(int fd, const struct wire *message)
{
	while (send(fd, message, length(message), MSG_NOSIGNAL) < 0 && errno == EINTR) {
	}
}

bool wire_receive(int fd, struct wire *ret_message)
{
	ssize_t n;

	do {
		n = recv(fd, ret_message, sizeof(*ret_message), 0);
	} while (n < 0 && errno == EINTR);
	return n >= (ssize_t)offsetof(struct wire, u) && (size_t)n == length(ret_message);
}
