/* Waiting with a deadline, on the monotonic clock. */
#ifndef LNK_BASE_CLOCK_H
#define LNK_BASE_CLOCK_H

#include <stdbool.h>

/* Milliseconds since some fixed moment; never goes back. */
long clock_now_ms(void);

/* Waits up to `ms` for a descriptor to become readable, hung up or broken. False when no time is
 * left, even if it is readable, so that a busy descriptor ends no loop later than its deadline. */
bool clock_wait_for(int fd, long ms);

#endif
