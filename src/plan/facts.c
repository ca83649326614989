#include "plan/facts.h"

#include "base/fd.h"
#include "base/str.h"
#include "plan/dotfiles.h"
#include "plan/secrets.h"
#include "plan/sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

bool facts_stand_in(const struct path_info *at)
{
	return at->exists && S_ISDIR(at->mode) && (at->mode & 0222) == 0 &&
	       fd_is_empty_folder(AT_FDCWD, at->real);
}

bool path_facts_hold(const struct path_facts *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++) {
		if (path_within(path, list->v[i].at.real)) {
			return true;
		}
	}
	return false;
}

static bool add_paths(const struct machine *machine, const struct spec_value *value,
		      struct arena *arena, struct path_facts *list, struct err *err)
{
	for (size_t i = 0; i < value->n; i++) {
		struct path_fact fact = {.item = &value->v[i]};

		if (!machine_resolve(machine, value->v[i].path, arena, &fact.at, err)) {
			return err_at(err, &value->v[i].from);
		}
		ARENA_PUSH(arena, list, fact);
	}
	return true;
}

static bool files_facts(const struct spec *spec, struct arena *arena, struct facts *f,
			struct err *err)
{
	const struct machine *m = f->machine;

	if (!add_paths(m, &spec->value[SPEC_FILES_WRITE], arena, &f->write, err) ||
	    !add_paths(m, &spec->value[SPEC_FILES_READ], arena, &f->read, err) ||
	    !add_paths(m, &spec->value[SPEC_FILES_HIDE], arena, &f->hide, err)) {
		return false;
	}
	for (size_t i = 0; i < f->hide.n; i++) {
		f->hide.v[i].stand_in = facts_stand_in(&f->hide.v[i].at);
	}
	for (size_t i = 0; i < f->write.n; i++) {
		struct path_fact *w = &f->write.v[i];

		w->writable = w->at.exists && access(w->at.real, W_OK) == 0;
		if (S_ISDIR(w->at.mode) && !dot_facts(w->at.real, arena, w->dots, err)) {
			return err_at(err, &w->item->from);
		}
	}
	return true;
}

static void command_facts(const struct spec *spec, const struct machine *machine,
			  struct arena *arena, struct facts *f)
{
	const struct spec_value *allow = &spec->value[SPEC_COMMANDS_ALLOW];

	if (allow->n == 1 && str_eq(allow->v[0].text, "*")) {
		return;
	}
	for (size_t i = 0; i < allow->n; i++) {
		const struct program_fact *last = i > 0 ? &f->commands.v[i - 1] : &f->program;
		struct program_fact p = {.item = &allow->v[i],
					 .folder = allow->v[i].folder,
					 .loader_name = last->loader_name,
					 .loader_file = last->loader_file};
		struct err ignored;

		if (p.folder) {
			p.found = resolve_path(allow->v[i].path, arena, &p.at, &ignored) &&
				  p.at.exists && S_ISDIR(p.at.mode);
		} else {
			const char *name = allow->v[i].path;
			program_look_up(name != NULL ? name : allow->v[i].text, machine, arena, &p);
		}
		ARENA_PUSH(arena, &f->commands, p);
	}
}

static void system_facts(struct arena *arena, struct facts *f)
{
	static const char *const programs[] = {
		"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",        "/usr/bin",
		"/sbin",           "/bin",           "/usr/local/games", "/usr/games",
	};
	static const char *const loaders[] = {
		"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux.so.2",
		"/lib/ld-linux-aarch64.so.1",  "/libx32/ld-linux-x32.so.2",
		"/lib/ld-linux-armhf.so.3",    "/lib/ld-musl-x86_64.so.1",
		"/lib/ld-musl-i386.so.1",      "/lib/ld-musl-aarch64.so.1",
	};
	struct err ignored;

	for (size_t i = 0; i < f->machine->system_folders.n; i++) {
		ARENA_PUSH(arena, &f->system, f->machine->system_folders.v[i]);
	}
	/* The rest is about lists of commands. */
	for (size_t i = 0; f->commands.n > 0 && i < ARRAY_LEN(programs); i++) {
		struct path_info info;

		/* A link (/bin on merged systems) leads to a folder that is listed itself. */
		if (resolve_path(programs[i], arena, &info, &ignored) && info.exists &&
		    info.links.n == 0 && S_ISDIR(info.mode)) {
			ARENA_PUSH(arena, &f->program_folders, info);
		}
	}
	for (size_t i = 0; f->commands.n > 0 && i < ARRAY_LEN(loaders); i++) {
		struct path_info info;

		if (resolve_path(loaders[i], arena, &info, &ignored) && info.exists &&
		    S_ISREG(info.mode)) {
			ARENA_PUSH(arena, &f->loaders, info);
		}
	}
}

/* /etc's own files, which the sandbox replaces. */
static void etc_facts(struct arena *arena, struct facts *f)
{
	struct err ignored;

	(void)(resolve_path("/etc/resolv.conf", arena, &f->resolv_conf, &ignored) &&
	       resolve_path("/etc/hosts", arena, &f->hosts, &ignored) &&
	       resolve_path("/etc/nsswitch.conf", arena, &f->nsswitch, &ignored));
}

/* The files that ssh reads with its check of ownership: those of ssh_config.d and what they
 * include by absolute name (Fedora's crypto policies). */
static void ssh_includes(const char *path, struct arena *arena, struct facts *f)
{
	char buf[16384];
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, buf, sizeof(buf) - 1);

	if (n <= 0) {
		return;
	}
	buf[n] = '\0';
	for (char *line = buf; line != NULL && *line != '\0';) {
		char *next = strchr(line, '\n');

		line += strspn(line, " \t");
		if (strncasecmp(line, "include", 7) == 0 && (line[7] == ' ' || line[7] == '\t')) {
			line += 8;
			line += strspn(line, " \t");
			char *file = arena_strndup(arena, line, strcspn(line, " \t\r\n"));
			if (file[0] == '/' && strpbrk(file, "*?[") == NULL &&
			    access(file, R_OK) == 0) {
				ARENA_PUSH(arena, &f->ssh_copies, file);
			}
		}
		line = next != NULL ? next + 1 : NULL;
	}
}

static void ssh_facts(struct arena *arena, struct facts *f)
{
	static const char folder[] = "/etc/ssh/ssh_config.d";
	DIR *d = f->machine->uid == 0 ? NULL : opendir(folder);

	if (d == NULL) {
		return;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		size_t n = strlen(e->d_name);

		if (n > 5 && str_eq(e->d_name + n - 5, ".conf")) {
			const char *path = arena_printf(arena, "%s/%s", folder, e->d_name);

			ARENA_PUSH(arena, &f->ssh_copies, path);
			ssh_includes(path, arena, f);
		}
	}
	closedir(d);
}

static void terminal_facts(struct arena *arena, struct facts *f)
{
	char name[PATH_MAX];

	for (int fd = 0; fd < 3; fd++) {
		if (isatty(fd) && ttyname_r(fd, name, sizeof(name)) == 0) {
			f->console = arena_strdup(arena, name);
			return;
		}
	}
}

/* Whether the kernel knows the file system; binfmt_misc may be a module nobody loaded. */
static bool has_binfmt(void)
{
	char buf[4096];
	auto_close int fd = open("/proc/filesystems", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, buf, sizeof(buf) - 1);

	if (n <= 0) {
		return true; /* not known: the mount will tell, and refuse to start */
	}
	buf[n] = '\0';
	return strstr(buf, "binfmt_misc") != NULL;
}

static void memory_facts(struct facts *f)
{
	struct sysinfo si;

	if (sysinfo(&si) == 0) {
		f->memory_bytes = (uint64_t)si.totalram * si.mem_unit;
	}
}

bool facts_gather(const struct spec *spec, const struct machine *machine,
		  const struct facts_wanted *wanted, struct arena *arena, struct facts *ret_facts,
		  struct err *err)
{
	struct facts f = {.machine = machine};

	if (!files_facts(spec, arena, &f, err)) {
		return false;
	}
	command_facts(spec, machine, arena, &f);
	if (wanted->program != NULL) {
		if (f.commands.n > 0) {
			f.program.loader_name = f.commands.v[f.commands.n - 1].loader_name;
			f.program.loader_file = f.commands.v[f.commands.n - 1].loader_file;
		}
		program_look_up(wanted->program, machine, arena, &f.program);
		if (!sockets_find(&f, arena, err)) {
			return false;
		}
	}
	system_facts(arena, &f);
	etc_facts(arena, &f);
	if (!secrets_find(&f, arena, err)) {
		return false;
	}
	ssh_facts(arena, &f);
	terminal_facts(arena, &f);
	memory_facts(&f);
	kernel_read(&f.kernel);
	f.binfmt = f.commands.n > 0 && has_binfmt();
	*ret_facts = f;
	return true;
}
