#include "plan/machine.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *env_get(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp != NULL; envp++) {
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=') {
			return *envp + n + 1;
		}
	}
	return NULL;
}

/* An absolute path from the environment, or the fallback. */
static const char *env_folder(char *const *envp, const char *name, const char *fallback)
{
	const char *v = env_get(envp, name);

	return v != NULL && v[0] == '/' ? v : fallback;
}

/* Adds a path. One that cannot be looked at (an unsearchable folder on PATH, say) is of no use
 * to the program either and is left out; `even_missing` keeps those that do not exist. */
static void add_path(struct machine_paths *list, const char *path, bool even_missing,
		     struct arena *arena)
{
	struct path_info info;
	struct err ignored;

	if (resolve_path(path, arena, &info, &ignored) && (info.exists || even_missing)) {
		ARENA_PUSH(arena, list, info);
	}
}

static void read_path_folders(struct machine *m, struct arena *arena)
{
	const char *p = m->path;

	while (*p != '\0') {
		size_t n = strcspn(p, ":");

		if (n > 0 && p[0] == '/') {
			add_path(&m->path_folders, arena_strndup(arena, p, n), false, arena);
		}
		p += n + (p[n] == ':' ? 1 : 0);
	}
}

static void read_link_folders(struct machine *m, char *const *envp, struct arena *arena)
{
	static const struct {
		const char *variable;
		const char *below_home;
	} xdg[] = {
		{"XDG_CONFIG_HOME", ".config"},
		{"XDG_DATA_HOME", ".local/share"},
		{"XDG_STATE_HOME", ".local/state"},
		{"XDG_CACHE_HOME", ".cache"},
	};

	for (size_t i = 0; i < ARRAY_LEN(xdg); i++) {
		const char *plain = arena_printf(arena, "%s/%s", m->home.name, xdg[i].below_home);
		const char *folder =
			arena_printf(arena, "%s/link", env_folder(envp, xdg[i].variable, plain));

		add_path(&m->link_folders, folder, true, arena);
		if (str_eq(xdg[i].variable, "XDG_STATE_HOME")) {
			m->state_folder = folder;
		}
	}
}

static void read_socket_folders(struct machine *m, char *const *envp, struct arena *arena)
{
	static const char *const fixed[] = {"/tmp", "/run", "/var/run", "/var/folders"};
	static const char *const variables[] = {"XDG_RUNTIME_DIR", "TMPDIR"};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		add_path(&m->socket_folders, fixed[i], true, arena);
	}
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *v = env_folder(envp, variables[i], NULL);

		if (v != NULL) {
			add_path(&m->socket_folders, v, true, arena);
		}
	}
}

static void read_system_folders(struct machine *m, struct arena *arena)
{
	static const char *const folders[] = {
		"/usr",
		"/bin",
		"/sbin",
		"/lib",
		"/lib32",
		"/lib64",
		"/libx32",
		"/etc",
		"/opt",
		"/nix/store",
		"/gnu/store",
		"/run/current-system",
		"/home/linuxbrew/.linuxbrew",
	};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		add_path(&m->system_folders, folders[i], false, arena);
	}
}

static bool read_cwd(struct machine *m, char *const *envp, struct arena *arena, struct err *err)
{
	char buf[PATH_MAX];
	const char *pwd = env_get(envp, "PWD");
	struct stat a;
	struct stat b;

	if (getcwd(buf, sizeof(buf)) == NULL || buf[0] != '/') {
		return err_set(err, ERR_SETUP, errno, "cannot tell the current folder");
	}
	/* $PWD keeps the name the user came by, links and all. */
	bool same = pwd != NULL && pwd[0] == '/' && stat(pwd, &a) == 0 && stat(".", &b) == 0 &&
		    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	return resolve_path(same ? pwd : buf, arena, &m->cwd, err);
}

bool machine_read(char *const *envp, struct arena *arena, struct machine *ret_machine,
		  struct err *err)
{
	struct machine m = {
		.uid = getuid(),
		.gid = getgid(),
		.resolved = arena_alloc(arena, sizeof(*m.resolved)),
	};
	const char *home = env_get(envp, "HOME");
	const char *user = env_get(envp, "USER");

	if (home == NULL || home[0] != '/') {
		err_set(err, ERR_SETUP, 0, "HOME is %s", home == NULL ? "not set" : "not absolute");
		return err_hint(err, "set HOME to your home folder: the sandbox gets a private one "
				     "of the same name");
	}
	if (!resolve_path(home, arena, &m.home, err) || !read_cwd(&m, envp, arena, err)) {
		return false;
	}
	m.user = arena_strdup(arena, user != NULL && user[0] != '\0' ? user : "user");
	m.path = env_get(envp, "PATH");
	if (m.path == NULL) {
		m.path = "/usr/local/bin:/usr/bin:/bin";
	}
	read_path_folders(&m, arena);
	read_link_folders(&m, envp, arena);
	read_socket_folders(&m, envp, arena);
	read_system_folders(&m, arena);
	*ret_machine = m;
	return true;
}

bool machine_resolve(const struct machine *machine, const char *name, struct arena *arena,
		     struct path_info *ret_info, struct err *err)
{
	const struct path_info *known = str_set_data(machine->resolved, name);

	if (known == NULL) {
		struct path_info *info = arena_alloc(arena, sizeof(*info));

		if (!resolve_path(name, arena, info, err)) {
			return false;
		}
		str_set_put(machine->resolved, arena, info->name, info);
		known = info;
	}
	*ret_info = *known;
	return true;
}
