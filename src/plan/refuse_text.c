/* What is said about a refused entry, and what to do instead. */
#include "plan/refuse_inner.h"

#include "base/str.h"
#include "spec/values.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A path for a message: below the home with "~", printable. */
static const char *tilde(const struct refuse_rules *r, const char *path)
{
	const char *const homes[] = {r->home.name, r->home.real};
	char out[400];

	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		if (path_within(path, homes[i]) && !str_eq(homes[i], "/")) {
			path = arena_printf(r->arena, "~%s", path + strlen(homes[i]));
			break;
		}
	}
	return arena_strdup(r->arena, str_printable(path, out, sizeof(out)));
}

/* `"proj" (~/code/proj)`: as written, and what that is where it does not say so itself. */
static const char *subject(const struct refuse_rules *r, const struct spec_item *item,
			   const struct path_info *at)
{
	char shown[VALUE_SHOWN_MAX];
	const char *real = tilde(r, at->real);
	size_t n = strlen(item->text);

	value_shown(item->text, n, shown);
	while (n > 1 && item->text[n - 1] == '/') {
		n--;
	}
	if ((strlen(real) == n && strncmp(real, item->text, n) == 0) ||
	    str_eq(at->real, item->path)) {
		if (item->text[0] == '/' || item->text[0] == '~') {
			return arena_strdup(r->arena, shown);
		}
	}
	return arena_printf(r->arena, "%s (%s)", shown, real);
}

/* Where programs of a dot folder can be told to keep things elsewhere. */
static const struct {
	const char *folder, *variable;
} movable[] = {
	{".cargo", "CARGO_HOME"},
	{".rustup", "RUSTUP_HOME"},
	{".npm", "npm_config_cache"},
	{".cache", "XDG_CACHE_HOME"},
	{".gradle", "GRADLE_USER_HOME"},
	{".nuget", "NUGET_PACKAGES"},
	{".gem", "GEM_HOME"},
	{".pyenv", "PYENV_ROOT"},
	{".nvm", "NVM_DIR"},
	{".deno", "DENO_DIR"},
	{".bun", "BUN_INSTALL"},
	{".config", "XDG_CONFIG_HOME"},
	{".local", "XDG_DATA_HOME"},
	{".ollama", "OLLAMA_MODELS"},
	{".conda", "CONDA_PKGS_DIRS"},
};

static void dot_hint(const char *folder, struct err *err)
{
	const char *name = path_base(folder);

	for (size_t i = 0; i < ARRAY_LEN(movable); i++) {
		if (str_eq(movable[i].folder, name)) {
			err_hint(err,
				 "the sandbox has a home of its own, which --keep-home keeps from "
				 "run to run; or keep it in the project: --env %s=<a folder of "
				 "write>",
				 movable[i].variable);
			return;
		}
	}
	err_hint(err, "the sandbox has a home of its own, which --keep-home keeps from run to run; "
		      "what it only looks at goes into read");
}

static void explain_home(const struct refuse_rules *r, const char *who, const struct path_info *at,
			 const struct refuse_found *found, struct err *err)
{
	const char *folder = tilde(r, found->folder);

	if (found->rule == REFUSE_HOME) {
		err_set(err, ERR_SPEC, 0, "%s %s your home folder, which a spec file may not write",
			who, found->holds ? "holds" : "is");
		err_hint(err,
			 "name the folders it works in: write = [\"~/code/app\"]; to look at all "
			 "of your home: read = [\"~\"]");
	} else if (found->rule == REFUSE_DOT) {
		bool itself = str_eq(at->name, found->folder) || str_eq(at->real, found->folder);

		err_set(err, ERR_SPEC, 0,
			"%s%s%s: programs outside act on the dot files and folders of your home",
			who, itself ? "" : " lies in ", itself ? "" : folder);
		dot_hint(found->folder, err);
	} else if (found->rule == REFUSE_BIN) {
		err_set(err, ERR_SPEC, 0, "%s: programs in %s run outside the sandbox", who,
			folder);
		err_hint(err,
			 "let it write into a folder of the project, and copy what you trust from "
			 "there");
	} else {
		bool itself = str_eq(at->real, found->folder);

		err_set(err, ERR_SPEC, 0, "%s %s%s%s%s leads%s, and programs outside act on that",
			who,
			itself         ? "is "
			: found->holds ? "holds "
				       : "lies in ",
			itself ? "" : folder, itself ? "where " : ", where ", tilde(r, found->via),
			itself ? "" : " to");
		err_hint(err,
			 "name folders of write that hold nothing that your home's dot files lead "
			 "to; to look only, name it in read");
	}
}

/* True when `folder` is the bin folder of a Python virtual environment. */
static bool is_virtual_environment(const struct refuse_rules *r, const char *folder)
{
	struct path_info info;
	struct err ignored;
	size_t n = (size_t)(path_base(folder) - folder);

	return resolve_path(arena_printf(r->arena, "%.*spyvenv.cfg", (int)n, folder), r->arena,
			    &info, &ignored) &&
	       info.exists;
}

static void explain_path(const struct refuse_rules *r, const char *who, const struct path_info *at,
			 const struct refuse_found *found, struct err *err)
{
	const char *folder = tilde(r, found->folder);

	if (found->holds) {
		err_set(err, ERR_SPEC, 0,
			"%s holds %s, a folder on your PATH: what is changed there runs outside",
			who, folder);
	} else if (S_ISDIR(at->mode) || !at->exists) {
		err_set(err, ERR_SPEC, 0,
			"%s is a folder on your PATH: what is changed there runs outside", who);
	} else {
		err_set(err, ERR_SPEC, 0, "%s is a program on your PATH, in %s", who, folder);
	}
	if (is_virtual_environment(r, found->folder)) {
		err_hint(err,
			 "run `deactivate` first, so that it is off your PATH; inside, start "
			 "%s/python, or activate it there",
			 folder);
	} else {
		err_hint(
			err,
			"take %s off PATH in this shell; or name only the folders in there that it "
			"has to write",
			folder);
	}
}

static void explain_sockets(const struct refuse_rules *r, const char *who, bool write,
			    const struct path_info *at, const struct refuse_found *found,
			    struct err *err)
{
	static const char *const fixed[] = {"/tmp", "/run", "/var/run", "/var/folders"};
	const char *folder = tilde(r, found->folder);
	bool own = true; /* from the environment: $TMPDIR, $XDG_RUNTIME_DIR */

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		own = own && !path_within(found->folder, fixed[i]);
	}
	if (str_eq(at->name, found->folder) || str_eq(at->real, found->folder)) {
		err_set(err, ERR_SPEC, 0,
			"%s: programs keep sockets there, and what answers on one runs outside the "
			"sandbox",
			who);
	} else {
		err_set(err, ERR_SPEC, 0,
			"%s %s %s, where programs keep sockets, and what answers on one runs "
			"outside the sandbox",
			who, found->holds ? "holds" : "lies in", folder);
	}
	if (own) {
		err_hint(err,
			 "%s comes from TMPDIR or XDG_RUNTIME_DIR; the sandbox has folders of its "
			 "own, so start it without: env -u TMPDIR lnk …",
			 folder);
	} else if (found->holds) {
		err_hint(err,
			 "name the folders in it that are meant, one by one: %s = [\"~/code\", "
			 "\"/srv/data\"]",
			 write ? "write" : "read");
	} else {
		err_hint(err,
			 "the sandbox has its own /tmp and /run, gone at the end; to share files, "
			 "use a folder of yours: %s = [\"~/exchange\"]",
			 write ? "write" : "read");
	}
}

static void explain_spec(const struct refuse_rules *r, const char *who, const struct path_info *at,
			 const struct refuse_found *found, struct err *err)
{
	const char *file = path_base(tilde(r, found->folder));
	const char *away = value_join(r->home.name, "specs", r->arena);

	if (!found->holds) {
		err_set(err, ERR_SPEC, 0, "%s is this spec: a program could change its next run",
			who);
		err_hint(err, "leave it out of write; to show it to the program, name it in read");
		return;
	}
	err_set(err, ERR_SPEC, 0, "%s holds this spec: a program could change its next run", who);
	/* A folder that the entry does not open. */
	if (path_within(away, at->name) || path_within(away, at->real)) {
		away = value_join(r->home.name, "sandbox-specs", r->arena);
	}
	err_hint(err,
		 "keep the spec outside of what it opens: mkdir -p %s && mv %s %s/, and write the "
		 "folder there as \"%s\"",
		 tilde(r, away), file, tilde(r, away), tilde(r, at->name));
}

static void explain_project_dot(const struct refuse_rules *r, const char *who,
				const struct refuse_found *found, struct err *err)
{
	size_t n = (size_t)(path_base(found->folder) - found->folder);
	const char *project = tilde(r, arena_strndup(r->arena, found->folder, n > 1 ? n - 1 : 1));

	err_set(err, ERR_SPEC, 0, "%s: what is in a project's %s runs outside the sandbox", who,
		path_base(found->folder));
	err_hint(err,
		 "write the project's folder and name it again: write = [\"%s\"], write_dot_files "
		 "= [\"%s\"]",
		 project, project);
}

static void explain_fixed(const struct refuse_rules *r, const char *who, const struct path_info *at,
			  const struct refuse_found *found, struct err *err)
{
	bool itself = str_eq(at->name, found->folder) || str_eq(at->real, found->folder);
	const char *folder = itself ? "" : tilde(r, found->folder);
	const char *how = itself ? " is" : found->holds ? " holds " : " lies in ";
	const char *comma = itself ? "" : ",";

	if (found->rule == REFUSE_LINK_FOLDER) {
		err_set(err, ERR_SPEC, 0,
			"%s%s%s%s Link's own folder, which stays closed to what it runs", who, how,
			folder, comma);
		if (found->holds) {
			err_hint(err, "name the folders in it that are meant, one by one");
		} else {
			err_hint(err, "take the entry out; give the program a folder of your own");
		}
	} else if (found->rule == REFUSE_SYSTEM) {
		err_set(err, ERR_SPEC, 0, "%s%s%s%s a folder of the system, which is read only",
			who, how, folder, comma);
		err_hint(err, "install into a folder of your own (--prefix=~/code/app/out); the "
			      "system's folders can be read without an entry");
	} else {
		err_set(err, ERR_SPEC, 0, "%s%s%s%s the kernel's, and the sandbox has its own", who,
			how, folder, comma);
		err_hint(err, "take the entry out: what programs need of it is there");
	}
}

void refuse_explain(const struct refuse_rules *r, const struct spec_item *item,
		    const struct path_info *at, bool write, const struct refuse_found *found,
		    struct err *err)
{
	const char *who = subject(r, item, at);

	switch (found->rule) {
	case REFUSE_HOME:
	case REFUSE_DOT:
	case REFUSE_BIN:
	case REFUSE_HOME_LINK:
		explain_home(r, who, at, found, err);
		break;
	case REFUSE_PATH:
		explain_path(r, who, at, found, err);
		break;
	case REFUSE_SOCKETS:
		explain_sockets(r, who, write, at, found, err);
		break;
	case REFUSE_SPEC:
		explain_spec(r, who, at, found, err);
		break;
	case REFUSE_PROJECT_DOT:
		explain_project_dot(r, who, found, err);
		break;
	case REFUSE_LINK_FOLDER:
	case REFUSE_SYSTEM:
	case REFUSE_KERNEL:
	case REFUSE_NONE:
	default:
		explain_fixed(r, who, at, found, err);
		break;
	}
}
