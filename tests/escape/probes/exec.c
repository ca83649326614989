/* Ways to run a program that is not listed: from memory, from a file of one's own, through a
 * descriptor. Each that succeeds prints what the program prints. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

extern char **environ;

/* What is run: this very probe, saying who it is. */
static char *const ran[] = {"probe", "ran", NULL};

static int say_ran(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("RAN");
	return 0;
}

/* The errno of a child that could not exec comes back as its exit status. */
static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		return -1;
	}
	if (!WIFEXITED(status)) {
		return refused(EINTR);
	}
	return WEXITSTATUS(status) == 0 ? 0 : refused(WEXITSTATUS(status));
}

static int exec_path(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(path, ran, environ);
		_exit(errno);
	}
	return wait_for(pid);
}

static int exec_fd(int fd)
{
	pid_t pid = fork();

	if (pid == 0) {
		syscall(SYS_execveat, fd, "", ran, environ, AT_EMPTY_PATH);
		_exit(errno);
	}
	return wait_for(pid);
}

static int exec_proc_fd(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return exec_path(path);
}

/* This program's own file. */
static char *self_bytes(size_t *ret_len)
{
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		return NULL;
	}
	char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return p == MAP_FAILED ? NULL : p;
}

static int copy_self(int fd)
{
	size_t len;
	char *bytes = self_bytes(&len);

	if (bytes == NULL) {
		return -1;
	}
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, bytes + at, len - at);

		if (n <= 0) {
			return -1;
		}
		at += (size_t)n;
	}
	return 0;
}

/* memfd FLAGS HOW: HOW is "execveat" or "path". */
static int memfd(int argc, char **argv)
{
	if (argc != 3) {
		return refused(EINVAL);
	}
	int fd = (int)syscall(SYS_memfd_create, "x", number(argv[1]));
	if (fd < 0 || copy_self(fd) < 0) {
		return -1;
	}
	fchmod(fd, 0755);
	/* A file that is open for writing is not run. */
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, O_RDONLY);
	if (again < 0) {
		return -1;
	}
	close(fd);
	return strcmp(argv[2], "path") == 0 ? exec_proc_fd(again) : exec_fd(again);
}

/* Huge pages: a memfd that write(2) cannot fill; mapped instead. */
static int hugetlb(int argc, char **argv)
{
	size_t len;
	char *bytes = self_bytes(&len);
	size_t room = (size_t)2 << 20;
	int fd = (int)syscall(SYS_memfd_create, "x", 4U /* MFD_HUGETLB */);

	(void)argc;
	(void)argv;
	if (fd < 0 || bytes == NULL || ftruncate(fd, (off_t)room) < 0) {
		return -1;
	}
	void *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		return -1;
	}
	memcpy(p, bytes, len < room ? len : room);
	munmap(p, room);
	return exec_fd(fd);
}

static int secret(int argc, char **argv)
{
	size_t len;
	char *bytes = self_bytes(&len);
	int fd = (int)syscall(SYS_memfd_secret, 0U);

	(void)argc;
	(void)argv;
	if (fd < 0 || bytes == NULL || ftruncate(fd, (off_t)len) < 0) {
		return -1;
	}
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		memcpy(p, bytes, len);
	}
	return exec_fd(fd);
}

/* Shared memory has a file behind it, which /proc/self/map_files names. */
static int exec_mapping(void *p, size_t len)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)(uintptr_t)p,
		 (unsigned long)(uintptr_t)p + len);
	return exec_path(path);
}

static int shared(int argc, char **argv)
{
	size_t len;
	char *bytes = self_bytes(&len);
	size_t room = (len + 4095) & ~(size_t)4095;

	if (argc != 2 || bytes == NULL) {
		return refused(EINVAL);
	}
	void *p = MAP_FAILED;
	if (strcmp(argv[1], "sysv") == 0) {
		int id = shmget(IPC_PRIVATE, room, 0700);

		p = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);
		shmctl(id, IPC_RMID, NULL);
	} else {
		p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	if (p == MAP_FAILED) {
		return -1;
	}
	memcpy(p, bytes, len);
	return exec_mapping(p, room);
}

/* copy FOLDER HOW: a copy of this program in FOLDER; HOW is "path", "fd", "proc", "deleted". */
static int copy(int argc, char **argv)
{
	char path[4096];

	if (argc != 3) {
		return refused(EINVAL);
	}
	snprintf(path, sizeof(path), "%s/copied", argv[1]);
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd < 0 || copy_self(fd) < 0) {
		return -1;
	}
	close(fd);
	fd = open(path, O_RDONLY);
	if (fd < 0) {
		return -1;
	}
	if (strcmp(argv[2], "deleted") == 0) {
		unlink(path);
		return exec_proc_fd(fd);
	}
	if (strcmp(argv[2], "fd") == 0) {
		return exec_fd(fd);
	}
	return strcmp(argv[2], "proc") == 0 ? exec_proc_fd(fd) : exec_path(path);
}

/* tmpfile FOLDER HOW: a file without a name, run as it is ("fd") or after it got one ("link"). */
static int tmpfile_in(int argc, char **argv)
{
	char path[4096];
	char from[64];

	if (argc != 3) {
		return refused(EINVAL);
	}
	int fd = open(argv[1], O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	if (fd < 0 || copy_self(fd) < 0) {
		return -1;
	}
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (strcmp(argv[2], "link") == 0) {
		snprintf(path, sizeof(path), "%s/linked", argv[1]);
		unlink(path);
		if (linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0) {
			return -1;
		}
		close(fd);
		return exec_path(path);
	}
	int again = open(from, O_RDONLY);
	close(fd);
	return again < 0 ? -1 : exec_fd(again);
}

/* loader LOADER HOW: starts this program through the dynamic loader; HOW "path" or "fd". */
static int loader(int argc, char **argv)
{
	char target[4096];

	if (argc < 3) {
		return refused(EINVAL);
	}
	ssize_t n = readlink("/proc/self/exe", target, sizeof(target) - 1);
	if (n < 0) {
		return -1;
	}
	target[n] = '\0';
	char *const via[] = {argv[1], argc > 3 ? argv[3] : target, "ran", NULL};
	int fd = strcmp(argv[2], "fd") == 0 ? open(argv[1], O_RDONLY) : -1;
	pid_t pid = fork();
	if (pid == 0) {
		if (fd >= 0) {
			syscall(SYS_execveat, fd, "", via, environ, AT_EMPTY_PATH);
		} else {
			execve(argv[1], via, environ);
		}
		_exit(errno);
	}
	return wait_for(pid);
}

/* run PATH [ARGUMENT...]: plain execve of something else. */
static int run(int argc, char **argv)
{
	if (argc < 2) {
		return refused(EINVAL);
	}
	pid_t pid = fork();
	if (pid == 0) {
		execve(argv[1], argv + 1, environ);
		_exit(errno);
	}
	return wait_for(pid);
}

/* inherited FD: runs what somebody left open. */
static int inherited(int argc, char **argv)
{
	return argc == 2 ? exec_fd((int)number(argv[1])) : refused(EINVAL);
}

/* anonymous: code made in memory of this process runs (a documented limit). */
static int anonymous(int argc, char **argv)
{
#if defined(__x86_64__) || defined(__i386__)
	static const unsigned char code[] = {0xb8, 0x2a, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*fn)(void);

	if (p == MAP_FAILED) {
		return -1;
	}
	memcpy(p, code, sizeof(code));
	memcpy(&fn, &p, sizeof(fn));
	(void)argc;
	(void)argv;
	return fn() == 42 ? 0 : refused(EINVAL);
#else
	(void)argc;
	(void)argv;
	return 0;
#endif
}

const struct attack exec_attacks[] = {
	{"ran", "", say_ran},
	{"memfd", "FLAGS execveat|path", memfd},
	{"hugetlb", "", hugetlb},
	{"secret", "", secret},
	{"shared", "anonymous|sysv", shared},
	{"copy", "FOLDER path|fd|proc|deleted", copy},
	{"tmpfile", "FOLDER fd|link", tmpfile_in},
	{"loader", "LOADER path|fd [PROGRAM]", loader},
	{"run", "PATH [ARGUMENT...]", run},
	{"inherited", "FD", inherited},
	{"anonymous", "", anonymous},
	{NULL, NULL, NULL},
};
