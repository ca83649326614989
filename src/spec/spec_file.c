/* Opens a spec file: a regular file of at most 64 KiB, whatever its name leads to. Nothing here
 * waits: a FIFO or a device is refused, not read. */
#include "base/fd.h"
#include "base/str.h"
#include "spec/spec_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_dotdot(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")) != NULL; p += 2) {
		if ((p == path || p[-1] == '/') && (p[2] == '\0' || p[2] == '/')) {
			return true;
		}
	}
	return false;
}

/* The folder part of an absolute normalised path. */
static const char *folder_of(const char *path, struct arena *arena)
{
	size_t n = (size_t)(path_base(path) - path);

	return arena_strndup(arena, path, n > 1 ? n - 1 : 1);
}

/* Sets file, file_path and folder. With ".." in its name the kernel's idea of the folder counts,
 * which differs from the name's where a link stands before it. */
static void locate(struct spec_reader *r)
{
	const char *file = r->input->file;
	const char *cwd = r->flag_place.folder;
	size_t cap = strlen(file) * 8 + 1;
	char *shown = arena_alloc(r->arena, cap);
	char real[PATH_MAX];

	r->spec.file = str_printable(file, shown, cap);
	r->spec.file_path = value_join(cwd, file, r->arena);
	if (has_dotdot(file)) {
		const char *raw =
			file[0] == '/' ? file : arena_printf(r->arena, "%s/%s", cwd, file);
		const char *folder = arena_strndup(r->arena, raw, (size_t)(path_base(raw) - raw));

		if (realpath(folder, real) != NULL) {
			r->spec.file_path = value_join(real, path_base(raw), r->arena);
		}
	}
	r->spec.folder = folder_of(r->spec.file_path, r->arena);
}

static bool refuse(struct spec_reader *r, struct err *e)
{
	struct origin from = {.file = r->spec.file};

	spec_report(r, e, &from);
	return false;
}

static bool cannot_open(struct spec_reader *r, int sys)
{
	struct err e;

	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		err_set(&e, ERR_SPEC, 0, "there is no such file");
		if (str_starts(r->input->file, "~/")) {
			err_hint(&e, "the shell did not replace ~: write --spec ~/app.toml as two "
				     "words");
		} else {
			err_hint(&e, "name a spec file: `man 5 lnk-sandbox-spec` shows how to "
				     "write one");
		}
		break;
	case EACCES:
		err_set(&e, ERR_SPEC, sys, "the file cannot be read");
		err_hint(&e, "let yourself read the file and enter the folders that it lies in");
		break;
	case ENXIO:
		err_set(&e, ERR_SPEC, 0, "this is a socket, not a spec file");
		err_hint(&e, "name a file");
		break;
	default:
		err_set(&e, ERR_SPEC, sys, "the file cannot be read");
		break;
	}
	return refuse(r, &e);
}

static bool not_regular(struct spec_reader *r, mode_t mode)
{
	struct err e;

	if (S_ISDIR(mode)) {
		err_set(&e, ERR_SPEC, 0, "this is a folder, not a spec file");
		err_hint(&e, "name the file in it, as in %s/app.toml", r->spec.file);
	} else {
		err_set(&e, ERR_SPEC, 0, "this is a %s, not a spec file",
			S_ISFIFO(mode)   ? "pipe"
			: S_ISSOCK(mode) ? "socket"
					 : "device");
		err_hint(&e, "write the spec into a file and name that");
	}
	return refuse(r, &e);
}

static bool too_large(struct spec_reader *r)
{
	struct err e;

	err_set(&e, ERR_SPEC, 0, "the file is larger than 64 KiB, and a spec is not");
	err_hint(&e, "is it the right file? A folder stands for all below it, and \"*.\" before a "
		     "name for all hosts below it");
	return refuse(r, &e);
}

bool spec_load(struct spec_reader *r)
{
	struct stat st;

	locate(r);
	auto_close int fd = open(r->spec.file_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return cannot_open(r, errno);
	}
	if (fstat(fd, &st) < 0) {
		return cannot_open(r, errno);
	}
	if (!S_ISREG(st.st_mode)) {
		return not_regular(r, st.st_mode);
	}
	if (st.st_size > (off_t)SPEC_FILE_MAX) {
		return too_large(r);
	}
	/* One byte more than it should have, to see that it ends there. */
	size_t cap = (size_t)st.st_size + 1;
	char *text = arena_alloc(r->arena, cap);
	ssize_t n = fd_read_all(fd, text, cap);
	if (n == (ssize_t)cap) {
		/* It has grown, or its size is not told (a file of /proc). */
		char *more = arena_alloc(r->arena, SPEC_FILE_MAX + 1);

		memcpy(more, text, cap);
		n = fd_read_all(fd, more + cap, SPEC_FILE_MAX + 1 - cap);
		n += n < 0 ? 0 : (ssize_t)cap;
		text = more;
	}
	if (n < 0) {
		return cannot_open(r, errno);
	}
	if (n > (ssize_t)SPEC_FILE_MAX) {
		return too_large(r);
	}
	r->spec.text = text;
	r->spec.text_len = (size_t)n;
	return true;
}
