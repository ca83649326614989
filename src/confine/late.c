#include "confine/late.h"

#include "base/fd.h"
#include "base/pass.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct head {
	uint32_t argc;
	uint32_t len; /* of the text: the folder, then the arguments, each with its NUL */
};

static bool write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return false;
		}
		text += n;
		len -= (size_t)n;
	}
	return true;
}

bool late_send(int socket, char *const *argv, const char *cwd, const int fds[3])
{
	struct head head = {.len = (uint32_t)strlen(cwd) + 1};
	size_t len = head.len;

	for (; argv[head.argc] != NULL; head.argc++) {
		len += strlen(argv[head.argc]) + 1;
		if (len > LATE_MAX) {
			errno = E2BIG;
			return false;
		}
	}
	auto_close int text = memfd_create("arguments", MFD_CLOEXEC);
	if (text < 0 || !write_all(text, cwd, head.len)) {
		return false;
	}
	for (uint32_t i = 0; i < head.argc; i++) {
		if (!write_all(text, argv[i], strlen(argv[i]) + 1)) {
			return false;
		}
	}
	head.len = (uint32_t)len;
	const int all[] = {fds[0], fds[1], fds[2], text};
	return pass_send(socket, &head, sizeof(head), all, 4);
}

/* Cuts the text into its strings. */
static bool cut(char *text, const struct head *head, struct arena *arena, struct late *late)
{
	size_t at = 0;

	late->argv = arena_alloc(arena, (head->argc + 1UL) * sizeof(*late->argv));
	for (uint32_t i = 0; i <= head->argc; i++) {
		size_t n = strnlen(text + at, head->len - at);

		if (n == head->len - at) {
			return false;
		}
		if (i == 0) {
			late->cwd = text;
		} else {
			late->argv[i - 1] = text + at;
		}
		at += n + 1;
	}
	return at == head->len && head->argc > 0;
}

bool late_receive(int socket, struct arena *arena, struct late *ret_late)
{
	struct head head;
	int fds[4] = {-1, -1, -1, -1};
	size_t nfds = 0;
	ssize_t n = pass_receive(socket, &head, sizeof(head), fds, 4, &nfds);
	auto_close int text = fds[3];

	memcpy(ret_late->fds, fds, sizeof(ret_late->fds));
	if (n != (ssize_t)sizeof(head) || nfds != 4 || head.len == 0 || head.len > LATE_MAX ||
	    head.argc > head.len) {
		return false;
	}
	char *all = arena_alloc(arena, head.len);
	return pread(text, all, head.len, 0) == (ssize_t)head.len &&
	       cut(all, &head, arena, ret_late);
}
