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

bool piped_ready(struct piped *piped, struct pipes *pipes)
{
	return piped->pipe[0] >= 0 || pipes_take(pipes, piped->pipe);
}

ssize_t piped_fill(struct piped *piped, int from, size_t most)
{
	ssize_t n = splice(from, NULL, piped->pipe[1], NULL, most < PIPED_MAX ? most : PIPED_MAX,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	piped->n = n > 0 ? (size_t)n : 0;
	return n;
}

ssize_t piped_drain(struct piped *piped, int to)
{
	ssize_t n =
		splice(piped->pipe[0], NULL, to, NULL, piped->n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	piped->n -= n > 0 ? (size_t)n : 0;
	return n;
}

void piped_end(struct piped *piped, struct pipes *pipes)
{
	if (piped->pipe[0] >= 0) {
		pipes_give(pipes, piped->pipe, piped->n == 0);
	}
	*piped = PIPED_NONE;
}
