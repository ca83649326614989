#include "shim/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool pipe_for(struct relay *r, int fd, int *ret_passed)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		return false;
	}
	r->own_from = fd != 0;
	r->from = fd != 0 ? ends[0] : fd;
	r->to = fd != 0 ? fd : ends[1];
	*ret_passed = fd != 0 ? ends[1] : ends[0];
	/* Ours only: each end is an open file of its own. */
	return fcntl(fd != 0 ? ends[0] : ends[1], F_SETFL, O_NONBLOCK) == 0;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool relays_prepare(struct relays *relays, int ret_fds[RELAY_FDS])
{
	struct stat st[RELAY_FDS];

	for (int fd = 0; fd < RELAY_FDS; fd++) {
		struct relay *r = &relays->v[fd];

		r->from = r->to = -1;
		r->at = r->n = 0;
		/* The lowest free number is this one: those before it are open by now. */
		if (fstat(fd, &st[fd]) < 0 &&
		    (open("/dev/null", O_RDWR | O_NOCTTY) != fd || fstat(fd, &st[fd]) < 0)) {
			return false;
		}
		ret_fds[fd] = fd;
	}
	/* Only now: no pipe may come to lie below 3. */
	for (int fd = 0; fd < RELAY_FDS; fd++) {
		if (fd == 2 && S_ISSOCK(st[2].st_mode) && same(&st[1], &st[2])) {
			ret_fds[2] = ret_fds[1];
		} else if (S_ISSOCK(st[fd].st_mode) &&
			   !pipe_for(&relays->v[fd], fd, &ret_fds[fd])) {
			return false;
		}
	}
	return true;
}

void relays_passed(const int fds[RELAY_FDS])
{
	for (int i = 0; i < RELAY_FDS; i++) {
		bool same = i == 2 && fds[2] == fds[1];

		if (fds[i] >= RELAY_FDS && !same) {
			close(fds[i]);
		}
	}
}

static void end(struct relay *r)
{
	if (r->from >= 0) {
		close(r->own_from ? r->from : r->to);
	}
	r->from = r->to = -1;
}

void relays_wait(const struct relays *relays, struct pollfd *fds)
{
	for (size_t i = 0; i < RELAY_FDS; i++) {
		const struct relay *r = &relays->v[i];
		short in = r->n == 0 ? POLLIN : 0;
		short out = r->n == 0 ? 0 : POLLOUT;

		/* Without any event poll(2) still tells that nobody is at the other end. */
		fds[2 * i] = (struct pollfd){.fd = in != 0 ? r->from : -1, .events = in};
		fds[2 * i + 1] = (struct pollfd){.fd = r->to, .events = out};
	}
}

/* False: nothing more comes. */
static bool fill(struct relay *r)
{
	ssize_t n = r->own_from ? read(r->from, r->buf, sizeof(r->buf))
				: recv(r->from, r->buf, sizeof(r->buf), MSG_DONTWAIT);

	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	r->at = 0;
	r->n = (size_t)n;
	return n > 0;
}

/* False: nobody takes it. */
static bool drain(struct relay *r)
{
	ssize_t n = r->own_from ? send(r->to, r->buf + r->at, r->n, MSG_DONTWAIT | MSG_NOSIGNAL)
				: write(r->to, r->buf + r->at, r->n);

	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	r->at += (size_t)n;
	r->n -= (size_t)n;
	return true;
}

void relays_copy(struct relays *relays, const struct pollfd *fds)
{
	for (size_t i = 0; i < RELAY_FDS; i++) {
		struct relay *r = &relays->v[i];
		bool ok = r->from >= 0;

		if (ok && fds[2 * i].revents != 0) {
			ok = fill(r);
		}
		if (ok && (fds[2 * i + 1].revents & (POLLERR | POLLHUP)) != 0) {
			ok = false;
		} else if (ok && r->n > 0) {
			ok = drain(r);
		}
		if (!ok) {
			end(r);
		}
	}
}

bool relays_ending(struct relays *relays)
{
	end(&relays->v[0]);
	return relays->v[1].from >= 0 || relays->v[2].from >= 0;
}
