/* Job: what a call that failed tells: which name, for what. All of it is read from a process that
 * may change it at the same time; a lie ends in the report and nowhere else. */
#include "confine/tracer_inner.h"

#include "base/str.h"
#include "confine/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

static bool is_refusal(int error, unsigned access)
{
	return (error == 0 && access == TRACER_RUN) || error == EACCES || error == EPERM ||
	       error == EROFS || error == ENOENT || (error == EBUSY && access == TRACER_WRITE);
}

static unsigned access_of(const struct traced *t, const uint64_t *args)
{
	uint64_t with = t->with >= 0 ? args[t->with] : 0;

	if (t->access == TRACED_OPENS) {
		bool writes = (with & O_ACCMODE) != O_RDONLY || (with & (O_CREAT | O_TRUNC)) != 0;

		return (with & O_PATH) != 0 ? TRACER_LOOK : writes ? TRACER_WRITE : TRACER_READ;
	}
	if (t->access == TRACED_ASKS) {
		return (with & W_OK) != 0 ? TRACER_WRITE : TRACER_LOOK;
	}
	return t->access;
}

/* The string at `address` of a stopped thread; the length, -1 when it cannot be read or does not
 * end. Word by word, so that no page is touched that the kernel did not read. */
static ssize_t read_string(pid_t tid, uint64_t address, char *out, size_t cap)
{
	size_t n = 0;
	size_t skip = address % sizeof(long);

	while (n < cap) {
		errno = 0;
		long word = ptrace(PTRACE_PEEKDATA, tid,
				   (void *)(uintptr_t)(address - address % sizeof(long)), NULL);
		if (errno != 0) {
			return -1;
		}
		for (size_t i = skip; i < sizeof(long) && n < cap; i++) {
			out[n] = ((const char *)&word)[i];
			if (out[n] == '\0') {
				return (ssize_t)n;
			}
			n++;
		}
		address += sizeof(long) - skip;
		skip = 0;
	}
	return -1;
}

/* The folder that a relative name is looked up from, with a slash behind it; its length or -1. */
static ssize_t read_folder(const struct traced_call *call, int dir, char *out, size_t cap)
{
	char link[48];
	int fd = dir >= 0 ? (int)call->args[dir] : AT_FDCWD;

	if (fd == AT_FDCWD) {
		snprintf(link, sizeof(link), "/proc/%d/cwd", (int)call->tid);
	} else {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)call->tid, fd);
	}
	ssize_t n = readlinkat(AT_FDCWD, link, out, cap - 1);
	if (n <= 0 || (size_t)n >= cap - 1 || out[0] != '/') {
		return -1;
	}
	if (out[n - 1] != '/') {
		out[n++] = '/';
	}
	return n;
}

static bool read_path(const struct traced_call *call, const struct traced *t, char *out)
{
	char name[PATH_MAX];
	ssize_t n = read_string(call->tid, call->args[t->path], name, sizeof(name));

	if (n <= 0) {
		return false;
	}
	ssize_t at = name[0] == '/' ? 0 : read_folder(call, t->dir, out, PATH_MAX);
	if (at < 0 || at + n >= PATH_MAX) {
		return false;
	}
	memcpy(out + at, name, (size_t)n + 1);
	return true;
}

void tracer_look(const struct traced_call *call, int error, int fd)
{
	struct tracer_refusal r = {.error = error};
	size_t n;
	const struct traced *calls = traced_calls(&n);

	for (size_t i = 0; i < n; i++) {
		if (calls[i].number != call->number) {
			continue;
		}
		r.access = access_of(&calls[i], call->args);
		if (is_refusal(error, r.access) && read_path(call, &calls[i], r.path)) {
			(void)send(fd, &r,
				   offsetof(struct tracer_refusal, path) + strlen(r.path) + 1,
				   MSG_NOSIGNAL);
		}
	}
}
