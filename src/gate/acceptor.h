/* Inside gate/: connections taken from a listening socket for as long as there is room. */
#ifndef LNK_GATE_ACCEPTOR_H
#define LNK_GATE_ACCEPTOR_H

#include <stdbool.h>
#include <uv.h>

struct acceptor {
	uv_poll_t poll;
	uv_timer_t again;
	int fd;
	/* May one more be taken? Otherwise it waits in the listen queue, and this is asked again
	 * a few milliseconds later. */
	bool (*room)(void *context);
	/* A connection: non-blocking, close-on-exec, owned by the callee. */
	void (*take)(void *context, int fd);
	void *context;
};

/* Starts accepting from `fd`, which it owns from here on. The struct must outlive the loop. False:
 * memory or descriptors are out. */
bool acceptor_start(struct acceptor *acceptor, uv_loop_t *loop, int fd);

/* Closes the socket: the system refuses what comes from now on. */
void acceptor_stop(struct acceptor *acceptor);

#endif
