#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void fd_close(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		close(*fd);
		errno = saved;
		*fd = -1;
	}
}

int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

bool fd_write_all(int fd, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			if (errno == EINTR) {
				continue;
			}
			return false;
		}
		p += n;
		len -= (size_t)n;
	}
	return true;
}

ssize_t fd_read_all(int fd, void *data, size_t cap)
{
	unsigned char *p = data;
	size_t got = 0;

	while (got < cap) {
		ssize_t n = read(fd, p + got, cap - got);

		if (n < 0) {
			if (errno == EINTR) {
				continue;
			}
			return -1;
		}
		if (n == 0) {
			break;
		}
		got += (size_t)n;
	}
	return (ssize_t)got;
}

bool fd_write_file(int dir, const char *path, const char *text)
{
	auto_close int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, text, strlen(text));
}

bool fd_is_empty_folder(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool empty = true;

	if (d == NULL) {
		fd_close(&fd);
		return false;
	}
	for (struct dirent *e; empty && (e = readdir(d)) != NULL;) {
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	}
	closedir(d);
	return empty;
}
