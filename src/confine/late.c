#include "confine/late.h"

#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct head {
	pid_t group;
	uint32_t argc;
	uint32_t nenv;
	uint32_t nnames;
	uint32_t len; /* of the text behind: folder, arguments, variables, names */
};

/* --- sending ------------------------------------------------------------------------------- */

/* Appends a string with its NUL; where there is no place, `len` says how much it would be. */
static void put(char *text, uint32_t *len, const char *string)
{
	size_t n = strlen(string) + 1;

	if (*len + n <= LATE_MAX) {
		memcpy(text + *len, string, n);
	}
	*len = *len + n > LATE_MAX ? (uint32_t)LATE_MAX + 1 : *len + (uint32_t)n;
}

static uint32_t put_all(char *text, uint32_t *len, char *const *strings)
{
	uint32_t n = 0;

	for (; strings[n] != NULL; n++) {
		put(text, len, strings[n]);
	}
	return n;
}

/* Three strings each: path, kind, text. */
static uint32_t put_names(char *text, uint32_t *len, const struct late *late)
{
	for (size_t i = 0; i < late->nnames; i++) {
		const struct late_name *name = &late->names[i];

		put(text, len, name->path);
		put(text, len, name->to != NULL ? "link" : name->text != NULL ? "file" : "folder");
		put(text, len, name->to != NULL ? name->to : name->text != NULL ? name->text : "");
	}
	return (uint32_t)late->nnames;
}

bool late_send(int socket, const struct late *late)
{
	struct arena arena = {NULL};
	struct head head = {.group = late->group};
	char *message = arena_alloc(&arena, sizeof(head) + LATE_MAX);
	char *text = message + sizeof(head);

	put(text, &head.len, late->cwd);
	head.argc = put_all(text, &head.len, late->argv);
	head.nenv = put_all(text, &head.len, late->env);
	head.nnames = put_names(text, &head.len, late);
	memcpy(message, &head, sizeof(head));
	bool fits = head.len <= LATE_MAX;
	bool ok = fits && pass_send(socket, &head, sizeof(head), late->fds, 3) &&
		  pass_send(socket, message, sizeof(head) + head.len, late->fds, 3);
	int sys = fits ? errno : E2BIG;
	arena_release(&arena);
	errno = sys;
	return ok;
}

/* --- receiving ----------------------------------------------------------------------------- */

static ssize_t take(int socket, void *message, size_t cap, int fds[3])
{
	size_t nfds = 0;
	ssize_t n = pass_receive(socket, message, cap, fds, 3, &nfds);

	if (n > 0 && nfds == 3) {
		return n;
	}
	for (size_t i = 0; i < nfds; i++) {
		fd_close(&fds[i]);
	}
	return -1;
}

bool late_begin(int socket, struct late *ret_late)
{
	struct head head;

	*ret_late = (struct late){.fds = {-1, -1, -1}};
	if (take(socket, &head, sizeof(head), ret_late->fds) != (ssize_t)sizeof(head)) {
		return false;
	}
	ret_late->group = head.group;
	return true;
}

/* The next string of the text; NULL: it is not there whole. */
static char *next(char *text, size_t len, size_t *at)
{
	char *string = text + *at;
	size_t n = strnlen(string, len - *at);

	if (n == len - *at) {
		return NULL;
	}
	*at += n + 1;
	return string;
}

static char **next_all(char *text, size_t len, size_t *at, uint32_t n, struct arena *arena)
{
	if (n > len) {
		return NULL;
	}
	char **strings = arena_alloc(arena, (n + 1UL) * sizeof(*strings));
	for (uint32_t i = 0; i < n; i++) {
		strings[i] = next(text, len, at);
		if (strings[i] == NULL) {
			return NULL;
		}
	}
	return strings;
}

static const struct late_name *next_names(char *text, size_t len, size_t *at, uint32_t n,
					  struct arena *arena)
{
	if (n > len) {
		return NULL;
	}
	struct late_name *names = arena_alloc(arena, n * sizeof(*names));
	for (uint32_t i = 0; i < n; i++) {
		const char *path = next(text, len, at);
		const char *kind = path != NULL ? next(text, len, at) : NULL;
		const char *what = kind != NULL ? next(text, len, at) : NULL;

		if (what == NULL) {
			return NULL;
		}
		names[i].path = path;
		names[i].to = str_eq(kind, "link") ? what : NULL;
		names[i].text = str_eq(kind, "file") ? what : NULL;
	}
	return names;
}

bool late_read(int socket, struct arena *arena, struct late *ret_late)
{
	char *message = arena_alloc(arena, sizeof(struct head) + LATE_MAX);
	char *text = message + sizeof(struct head);
	struct head head;
	size_t at = 0;

	*ret_late = (struct late){.fds = {-1, -1, -1}};
	ssize_t n = take(socket, message, sizeof(head) + LATE_MAX, ret_late->fds);
	if (n < (ssize_t)sizeof(head)) {
		return false;
	}
	memcpy(&head, message, sizeof(head));
	if ((size_t)n != sizeof(head) + head.len || head.argc == 0) {
		return false;
	}
	ret_late->cwd = next(text, head.len, &at);
	ret_late->argv = next_all(text, head.len, &at, head.argc, arena);
	ret_late->env = next_all(text, head.len, &at, head.nenv, arena);
	if (ret_late->cwd == NULL || ret_late->argv == NULL || ret_late->env == NULL) {
		return false;
	}
	ret_late->names = next_names(text, head.len, &at, head.nnames, arena);
	ret_late->nnames = head.nnames;
	return ret_late->names != NULL && at == head.len;
}

/* --- the program ---------------------------------------------------------------------------- */

char **late_env(char *const *planned, const struct late *late, const char *cwd, struct arena *arena)
{
	struct {
		char **v;
		size_t n;
		size_t cap;
	} env = {NULL, 0, 0};

	for (; *planned != NULL; planned++) {
		size_t name = strcspn(*planned, "=") + 1;
		bool stands = !str_starts(*planned, "PWD=");

		for (char **own = late->env; *own != NULL && stands; own++) {
			stands = strncmp(*own, *planned, name) != 0;
		}
		if (stands) {
			ARENA_PUSH(arena, &env, *planned);
		}
	}
	for (char **own = late->env; *own != NULL; own++) {
		ARENA_PUSH(arena, &env, *own);
	}
	ARENA_PUSH(arena, &env, arena_printf(arena, "PWD=%s", cwd));
	ARENA_PUSH(arena, &env, NULL);
	return env.v;
}

static bool make_file(const struct late_name *name)
{
	auto_close int fd =
		open(name->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	return fd >= 0 && fd_write_all(fd, name->text, strlen(name->text));
}

bool late_unmake(const struct late *late)
{
	bool ok = true;

	/* Folders after what is in them. */
	for (size_t i = late->nnames; i > 0; i--) {
		const struct late_name *name = &late->names[i - 1];
		bool folder = name->to == NULL && name->text == NULL;
		int done = folder ? rmdir(name->path) : unlink(name->path);

		/* The one that holds them all is a mount in a folder that is sealed. */
		ok = ok && (done == 0 || errno == EBUSY || errno == EROFS);
	}
	return ok;
}

bool late_make(const struct late *late, struct err *err)
{
	for (size_t i = 0; i < late->nnames; i++) {
		const struct late_name *name = &late->names[i];
		bool ok = name->to != NULL     ? symlink(name->to, name->path) == 0
			  : name->text != NULL ? make_file(name)
					       : mkdir(name->path, 0755) == 0 || errno == EEXIST;

		if (!ok) {
			return err_set(err, ERR_SETUP, errno, "cannot make %s", name->path);
		}
	}
	return true;
}
