/* Writes tools.toml, whole or not at all. */
#include "base/fd.h"
#include "base/str.h"
#include "broker/profiles.h"
#include "broker/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the text ----------------------------------------------------------------------------- */

/* A basic string of TOML. */
static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c == 0x7f) {
			fprintf(out, "\\u%04x", c);
			continue;
		}
		if (c == '"' || c == '\\') {
			fputc('\\', out);
		}
		fputc(*s, out);
	}
	fputc('"', out);
}

static void put_list(FILE *out, const char *key, const struct tool_list *list)
{
	if (list->n == 0) {
		return;
	}
	fprintf(out, "%s = [", key);
	for (size_t i = 0; i < list->n; i++) {
		fputs(i > 0 ? ", " : "", out);
		put_string(out, list->v[i]);
	}
	fputs("]\n", out);
}

static void put_tool(FILE *out, const struct tool *tool)
{
	fputs("\n[tool.", out);
	if (strpbrk(tool->name, ".+") != NULL) {
		put_string(out, tool->name);
	} else {
		fputs(tool->name, out);
	}
	fputs("]\nprogram = ", out);
	put_string(out, tool->program);
	fprintf(out, "\nprofile = \"%s\"\n", tool->profile != NULL ? tool->profile->name : "none");
	put_list(out, "allow", &tool->allow);
	put_list(out, "deny", &tool->deny);
	put_list(out, "read", &tool->read);
	put_list(out, "write", &tool->write);
	put_list(out, "env", &tool->env);
	if (tool->any) {
		fputs("any = true\n", out);
	}
}

/* All of it; to be freed. NULL when memory is full. */
static char *make_text(const struct tools *tools, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	if (out == NULL) {
		return NULL;
	}
	fputs("# Your tools, which may run outside of a sandbox whose spec names them: see\n"
	      "# lnk-sandbox-tool(1). `lnk sandbox tool` writes this file anew, and keeps no\n"
	      "# comments.\n",
	      out);
	for (size_t i = 0; i < tools->n; i++) {
		put_tool(out, &tools->v[i]);
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* What cannot be read again is not written. */
static bool reads_back(const char *path, const char *text, size_t len, const struct tools *tools,
		       const struct tools_place *place, struct err *err)
{
	auto_arena struct arena arena = {NULL};
	struct err_list *errs = arena_alloc(&arena, sizeof(*errs));
	struct tools again;

	if (len > TOOLS_FILE_MAX) {
		err_set(err, ERR_SPEC, 0, "all tools together are larger than 64 KiB");
		return err_hint(err, "remove tools that you do not use: lnk sandbox tool list");
	}
	if (!tools_parse(path, text, len, place, &arena, &again, errs)) {
		*err = errs->v[0];
		err->file[0] = '\0';
		err->source[0] = '\0';
		return false;
	}
	if (again.n != tools->n) {
		return err_set(err, ERR_SETUP, 0, "cannot write the tools down");
	}
	return true;
}

/* --- the file ----------------------------------------------------------------------------- */

/* Makes every missing folder of an absolute path, 0700. */
static bool make_folders(const char *path)
{
	char p[PATH_MAX];

	if (snprintf(p, sizeof(p), "%s", path) >= (int)sizeof(p)) {
		errno = ENAMETOOLONG;
		return false;
	}
	for (char *s = strchr(p + 1, '/'); s != NULL; s = strchr(s + 1, '/')) {
		*s = '\0';
		if (mkdir(p, 0700) < 0 && errno != EEXIST) {
			return false;
		}
		*s = '/';
	}
	return mkdir(p, 0700) == 0 || errno == EEXIST;
}

/* Opens the folder of `path`. */
static int open_folder(const char *path)
{
	auto_arena struct arena arena = {NULL};
	const char *folder = path_parent(path, &arena);

	if (!make_folders(folder)) {
		return -1;
	}
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool tools_lock(const char *path, int *ret_fd, struct err *err)
{
	auto_close int fd = open_folder(path);
	int locked = -1;

	while (fd >= 0 && (locked = flock(fd, LOCK_EX)) < 0 && errno == EINTR) {
	}
	if (fd < 0 || locked < 0) {
		err_set(err, ERR_SETUP, errno, "cannot use the folder of %s", path);
		return err_hint(err, "make that folder writable for you, or set XDG_CONFIG_HOME to "
				     "one that is");
	}
	*ret_fd = fd_take(&fd);
	return true;
}

/* Fills and syncs a new file `name` in `folder`. */
static bool fill(int folder, const char *name, const char *text, size_t len)
{
	auto_close int fd =
		openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd >= 0 && fchmod(fd, 0600) == 0 && fd_write_all(fd, text, len) && fsync(fd) == 0;
}

static bool replace(const char *path, const char *text, size_t len)
{
	auto_close int folder = open_folder(path);
	const char *name = path_base(path);
	char work[64];

	if (folder < 0) {
		return false;
	}
	/* Nobody else uses it: the folder is locked, and a name left by a killed lnk has no use. */
	snprintf(work, sizeof(work), ".lnk-tools-new");
	unlinkat(folder, work, 0);
	if (!fill(folder, work, text, len) || renameat(folder, work, folder, name) < 0) {
		int sys = errno;

		unlinkat(folder, work, 0);
		errno = sys;
		return false;
	}
	return fsync(folder) == 0;
}

bool tools_write(const char *path, const struct tools *tools, const struct tools_place *place,
		 struct err *err)
{
	char real[PATH_MAX];
	struct stat st;
	size_t len;
	char *text;

	/* Some keep their settings elsewhere, and links here. */
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		if (realpath(path, real) == NULL) {
			err_set(err, ERR_SETUP, errno, "%s is a link that leads nowhere", path);
			return err_hint(err, "remove the link");
		}
		path = real;
	}
	text = make_text(tools, &len);
	if (text == NULL) {
		return err_set(err, ERR_SETUP, ENOMEM, "cannot write %s", path);
	}
	bool ok = reads_back(path, text, len, tools, place, err);
	if (ok && !replace(path, text, len)) {
		ok = err_set(err, ERR_SETUP, errno, "cannot write %s", path);
		err_hint(err, "make its folder writable for you");
	}
	free(text);
	return ok;
}
