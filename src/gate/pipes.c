#include "gate/pipes.h"

#include <fcntl.h>
#include <unistd.h>

bool pipes_take(struct pipes *pipes, int ret_pipe[2])
{
	if (pipes->lent >= PIPES_LENT_MAX) {
		return false;
	}
	if (pipes->nkept > 0) {
		pipes->nkept--;
		ret_pipe[0] = pipes->kept[pipes->nkept][0];
		ret_pipe[1] = pipes->kept[pipes->nkept][1];
	} else if (pipe2(ret_pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		return false;
	}
	pipes->lent++;
	return true;
}

void pipes_give(struct pipes *pipes, const int pipe[2], bool empty)
{
	pipes->lent--;
	if (empty && pipes->nkept < PIPES_KEPT) {
		pipes->kept[pipes->nkept][0] = pipe[0];
		pipes->kept[pipes->nkept][1] = pipe[1];
		pipes->nkept++;
		return;
	}
	close(pipe[0]);
	close(pipe[1]);
}

void pipes_close(struct pipes *pipes)
{
	while (pipes->nkept > 0) {
		pipes->nkept--;
		close(pipes->kept[pipes->nkept][0]);
		close(pipes->kept[pipes->nkept][1]);
	}
}
