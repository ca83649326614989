/* Inside confine/ only: what the warden says to the supervisor and to init, and they to it, over
 * two SOCK_SEQPACKET pairs. One message is one struct, written and read whole; none of the ends is
 * in the program's reach. */
#ifndef LNK_CONFINE_WARDEN_WIRE_H
#define LNK_CONFINE_WARDEN_WIRE_H

#include "base/err.h"
#include "confine/warden.h"

#include <stdint.h>

enum warden_kind_of_msg {
	/* warden to supervisor and to init */
	WARDEN_MSG_READY = 1, /* to the supervisor with the record's descriptor, if there is one */
	WARDEN_MSG_FAILED,    /* to the supervisor as struct warden_failure */
	WARDEN_MSG_NOTE,      /* to the supervisor as struct warden_failure */
	WARDEN_MSG_DONE,      /* to the supervisor: nothing lives, everything is removed */
	/* warden to init */
	WARDEN_MSG_FREEZE,
	WARDEN_MSG_THAW,
	/* init to warden */
	WARDEN_MSG_FROZEN, /* seq of the freeze */
	WARDEN_MSG_MOUNTED,
	WARDEN_MSG_EMPTY, /* nothing lives but init */
	/* supervisor to warden */
	WARDEN_MSG_ATTACH, /* with pidfd, user namespace, mount namespace */
	WARDEN_MSG_OVER,
};

struct warden_msg {
	uint32_t kind;
	uint32_t seq;
};

struct warden_failure {
	struct warden_msg head;
	struct err err;
};

/* What is received: one of the two, told apart by kind and length. */
union warden_any {
	struct warden_msg head;
	struct warden_failure failure;
};

#define WARDEN_MSG_FDS 3

/* Sends a message with `nfds` descriptors. Never blocks. False with errno set. */
bool warden_wire_send(int fd, const void *msg, size_t len, const int *fds, unsigned nfds);

/* Receives one message. 1: *ret_msg is filled, and ret_fds[0..WARDEN_MSG_FDS) hold the descriptors
 * that came with it, or -1. 0: nothing there (only with `wait` false). -1: the peer is gone, or
 * what it sent is no message of ours. */
int warden_wire_receive(int fd, bool wait, union warden_any *ret_msg,
			int ret_fds[static WARDEN_MSG_FDS]);

/* The warden process itself; never returns. `supervisor` is the process that forked it. */
_Noreturn void warden_main(const struct warden_config *config, int supervisor_fd, int init_fd,
			   pid_t supervisor);

#endif
