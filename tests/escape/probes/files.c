/* Files and sockets: by odd names, in races, by handle. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long)t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

/* "@name" is an abstract socket. */
static socklen_t address(const char *name, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	strncpy(ret->sun_path, name, sizeof(ret->sun_path) - 1);
	if (name[0] == '@') {
		ret->sun_path[0] = '\0';
		return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	}
	return (socklen_t)sizeof(*ret);
}

/* connect NAME [dgram]: reaches a Unix socket. */
static int reach(int argc, char **argv)
{
	struct sockaddr_un to;

	if (argc < 2) {
		return refused(EINVAL);
	}
	socklen_t len = address(argv[1], &to);
	int fd = socket(AF_UNIX, argc > 2 ? SOCK_DGRAM : SOCK_STREAM, 0);
	return fd < 0 || connect(fd, (struct sockaddr *)&to, len) < 0 ? -1 : 0;
}

/* One address, written by one thread while the other hands it to the kernel. */
struct flip {
	struct sockaddr_un shared;
	struct sockaddr_un own;
	struct sockaddr_un other;
	atomic_bool over;
};

static void *flipper(void *data)
{
	struct flip *f = data;

	while (!f->over) {
		memcpy(&f->shared, &f->own, sizeof(f->own));
		memcpy(&f->shared, &f->other, sizeof(f->other));
	}
	return NULL;
}

/* flip OWN FORBIDDEN TIMES: connects to OWN, which may be reached, while the address changes under
 * the kernel's feet. It succeeds when FORBIDDEN, which answers with "F", was reached. */
static int flip(int argc, char **argv)
{
	static struct flip f;
	pthread_t thread;
	bool there = false;

	if (argc != 4) {
		return refused(EINVAL);
	}
	address(argv[1], &f.own);
	address(argv[2], &f.other);
	if (pthread_create(&thread, NULL, flipper, &f) != 0) {
		return -1;
	}
	for (unsigned long i = number(argv[3]); i > 0 && !there; i--) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		char who = '?';

		if (connect(fd, (struct sockaddr *)&f.shared, sizeof(f.shared)) == 0) {
			there = read(fd, &who, 1) == 1 && who == 'F';
		}
		close(fd);
	}
	f.over = true;
	pthread_join(thread, NULL);
	return there ? 0 : refused(ENOENT);
}

/* exchange A B: for ever. */
static int exchange(int argc, char **argv)
{
	while (argc == 3 &&
	       (syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], 2U) == 0 ||
		errno == ENOENT)) {
	}
	return -1;
}

/* make SECONDS NAME...: makes each file as soon as nothing has its name; prints those it made. */
static int make(int argc, char **argv)
{
	long end = argc > 2 ? now_us() + (long)number(argv[1]) * 1000000L : 0;
	int made = 0;

	while (now_us() < end) {
		for (int i = 2; i < argc; i++) {
			int fd = open(argv[i], O_WRONLY | O_CREAT | O_EXCL, 0644);

			if (fd >= 0) {
				made++;
				printf("made %s\n", argv[i]);
				(void)!write(fd, "EVIL\n", 5);
				close(fd);
			}
		}
	}
	return made > 0 ? 0 : refused(EEXIST);
}

static bool shows(const char *path, const char *text)
{
	char buf[256];
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0) {
		close(fd);
	}
	if (n <= 0) {
		return false;
	}
	buf[n] = '\0';
	return strstr(buf, text) != NULL;
}

/* watch MILLISECONDS FILE TEXT: reads the file in a loop. Prints how often it showed the text, in
 * how many stretches, and the longest stretch in microseconds; succeeds when it ever did. */
static int watch(int argc, char **argv)
{
	if (argc != 4) {
		return refused(EINVAL);
	}
	long end = now_us() + (long)number(argv[1]) * 1000L;
	long first = 0;
	long last = 0;
	long longest = 0;
	long times = 0;
	long stretches = 0;
	while (last = now_us(), last < end) {
		if (shows(argv[2], argv[3])) {
			times++;
			stretches += first == 0;
			first = first == 0 ? last : first;
			long us = now_us() - first;
			longest = us > longest ? us : longest;
		} else {
			first = 0;
		}
	}
	printf("%ld %ld %ld\n", times, stretches, longest);
	return times > 0 ? 0 : refused(EACCES);
}

/* handle FOLDER FILE: opens the file by its number, below a descriptor of the folder. */
static int handle(int argc, char **argv)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	int id;

	if (argc != 3) {
		return refused(EINVAL);
	}
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (dir < 0 || name_to_handle_at(dir, argv[2], &u.h, &id, 0) < 0) {
		return -1;
	}
	return open_by_handle_at(dir, &u.h, O_RDONLY) < 0 ? -1 : 0;
}

/* mode FD MODE: of a file that was handed over open. */
static int mode(int argc, char **argv)
{
	return argc == 3 ? fchmod((int)number(argv[1]), (mode_t)number(argv[2])) : refused(EINVAL);
}

/* beneath FD NAME: looks a name up from a descriptor. */
static int beneath(int argc, char **argv)
{
	char buf[4096];

	if (argc != 3) {
		return refused(EINVAL);
	}
	int fd = openat((int)number(argv[1]), argv[2], O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));
	if (n > 0) {
		fwrite(buf, 1, (size_t)n, stdout);
	}
	return n < 0 ? -1 : 0;
}

const struct attack file_attacks[] = {
	{"connect", "NAME|@NAME [dgram]", reach},
	{"flip", "OWN FORBIDDEN TIMES", flip},
	{"exchange", "A B", exchange},
	{"make", "SECONDS NAME...", make},
	{"watch", "MILLISECONDS FILE TEXT", watch},
	{"handle", "FOLDER FILE", handle},
	{"mode", "FD MODE", mode},
	{"beneath", "FD NAME", beneath},
	{NULL, NULL, NULL},
};
