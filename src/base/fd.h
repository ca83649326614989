/* Descriptors: closed by scope, read and written whole. */
#ifndef LNK_BASE_FD_H
#define LNK_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Closes `*fd` when it is not negative, keeping errno. For auto_close. */
void fd_close(int *fd);

/* A descriptor that is closed when its scope ends: `auto_close int fd = open(...)`. */
#define auto_close __attribute__((cleanup(fd_close)))

/* Moves ownership out of `*fd`, which becomes -1. */
int fd_take(int *fd);

/* Writes all of `len` bytes, resuming after EINTR and short writes. False with errno set. */
bool fd_write_all(int fd, const void *data, size_t len);

/* Reads up to `cap` bytes until end of file. The number read, or -1 with errno set. */
ssize_t fd_read_all(int fd, void *data, size_t cap);

/* True when `path` (relative to `dir`, its last part not followed) is a folder that can be listed
 * and holds nothing. */
bool fd_is_empty_folder(int dir, const char *path);

/* Opens `path` (relative to `dir`), writes the string and closes. O_WRONLY|O_CLOEXEC, nothing is
 * created. For files of /proc. False with errno set. */
bool fd_write_file(int dir, const char *path, const char *text);

#endif
