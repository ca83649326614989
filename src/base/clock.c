#include "base/clock.h"

#include <poll.h>
#include <time.h>

long clock_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool clock_wait_for(int fd, long ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return ms > 0 && poll(&p, 1, (int)ms) > 0;
}
