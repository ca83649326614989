/* The rules for a spec that may be anyone's. Each compares an entry's name and what it resolves to
 * with a folder's name and what that resolves to. */
#include "plan/refuse_inner.h"

#include "base/str.h"
#include "spec/values.h"

#include <dirent.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool in(const struct path_info *at, const struct path_info *folder)
{
	return path_within(at->name, folder->name) || path_within(at->real, folder->real) ||
	       path_within(at->name, folder->real) || path_within(at->real, folder->name);
}

/* The entry holds the folder, or a link on the way to it: who changes that link puts another folder
 * in its place. */
static bool holds(const struct path_info *at, const struct path_info *folder)
{
	if (in(folder, at)) {
		return true;
	}
	for (size_t i = 0; i < folder->links.n; i++) {
		if (path_within(folder->links.v[i].path, at->real) ||
		    path_within(folder->links.v[i].path, at->name)) {
			return true;
		}
	}
	return false;
}

/* Sets `found` when the entry lies in the folder, or holds it. */
static bool match_one(const struct path_info *at, const struct path_info *folder,
		      enum refuse_rule rule, bool holding_too, struct refuse_found *found)
{
	bool inside = in(at, folder);

	if (!inside && !(holding_too && holds(at, folder))) {
		return false;
	}
	*found = (struct refuse_found){rule, folder->name, !inside, NULL};
	return true;
}

static bool match(const struct path_info *at, const struct machine_paths *folders,
		  enum refuse_rule rule, bool holding_too, struct refuse_found *found)
{
	for (size_t i = 0; i < folders->n; i++) {
		if (match_one(at, &folders->v[i], rule, holding_too, found)) {
			return true;
		}
	}
	return false;
}

/* The part of `path` below the home, without a slash before it; NULL when it lies elsewhere. */
static const char *below_home(const struct refuse_rules *r, const char *path)
{
	const char *const homes[] = {r->home.name, r->home.real};

	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		size_t n = strlen(homes[i]);

		if (path_within(path, homes[i]) && path[n] != '\0') {
			return path + n + (path[n] == '/' ? 1 : 0);
		}
	}
	return NULL;
}

static bool first_part_is(const char *path, const char *name)
{
	size_t n = strlen(name);

	return strncmp(path, name, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Dot folders, dot files, ~/bin and ~/Library, by one of the entry's two names. */
static bool match_home_name(const struct refuse_rules *r, const char *path,
			    struct refuse_found *found)
{
	const char *rest = below_home(r, path);

	if (rest == NULL) {
		return false;
	}
	bool dot = rest[0] == '.';
	if (!dot && !first_part_is(rest, "bin") && !first_part_is(rest, "Library")) {
		return false;
	}
	size_t n = (size_t)(rest - path) + strcspn(rest, "/");
	*found = (struct refuse_found){
		.rule = dot ? REFUSE_DOT : REFUSE_BIN,
		.folder = arena_strndup(r->arena, path, n),
	};
	return true;
}

static bool match_home(const struct refuse_rules *r, const struct path_info *at,
		       struct refuse_found *found)
{
	if (in(&r->home, at)) {
		*found = (struct refuse_found){
			.rule = REFUSE_HOME,
			.folder = r->home.name,
			.holds = !in(at, &r->home),
		};
		return true;
	}
	if (match_home_name(r, at->name, found) || match_home_name(r, at->real, found)) {
		return true;
	}
	for (size_t i = 0; i < r->home_links.n; i++) {
		const struct path_info *link = &r->home_links.v[i];
		bool inside = path_within(at->real, link->real);

		if (inside || holds(at, link)) {
			*found = (struct refuse_found){
				.rule = REFUSE_HOME_LINK,
				.folder = link->real,
				.holds = !inside,
				.via = link->name,
			};
			return true;
		}
	}
	return false;
}

static bool in_folder_itself(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return path_within(path, folder) && path[n] == '/' && strchr(path + n + 1, '/') == NULL;
}

/* A folder on PATH, one holding it, or a file that stands in one: PATH does not reach further
 * down, so folders below are another thing. */
static bool match_path(const struct refuse_rules *r, const struct path_info *at,
		       struct refuse_found *found)
{
	for (size_t i = 0; i < r->path_folders.n; i++) {
		const struct path_info *f = &r->path_folders.v[i];
		bool file = !S_ISDIR(at->mode) && (in_folder_itself(at->real, f->real) ||
						   in_folder_itself(at->name, f->name));

		if (file || holds(at, f)) {
			*found = (struct refuse_found){
				.rule = REFUSE_PATH,
				.folder = f->name,
				.holds = !file && !in(at, f),
			};
			return true;
		}
	}
	return false;
}

static bool match_spec(const struct refuse_rules *r, const struct path_info *at,
		       struct refuse_found *found)
{
	const struct path_info *file = &r->spec_file;

	if (!holds(at, file)) {
		return false;
	}
	*found = (struct refuse_found){
		.rule = REFUSE_SPEC,
		.folder = file->name,
		.holds = !in(at, file),
	};
	return true;
}

/* A part of the path that is one of the names whose content runs outside. Case is ignored, as
 * some file systems do. */
static bool match_project_dot(const struct refuse_rules *r, const char *path,
			      struct refuse_found *found)
{
	static const char *const names[] = {".git", ".envrc", ".vscode", ".idea"};

	for (const char *p = path; *p != '\0';) {
		size_t n;

		p += strspn(p, "/");
		n = strcspn(p, "/");
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			if (strlen(names[i]) == n && strncasecmp(p, names[i], n) == 0) {
				*found = (struct refuse_found){
					.rule = REFUSE_PROJECT_DOT,
					.folder = arena_strndup(r->arena, path,
								(size_t)(p + n - path)),
				};
				return true;
			}
		}
		p += n;
	}
	return false;
}

/* Not the user's files at all: processes and devices, which are closed to reading as well (a disk
 * is a file there), what else the kernel shows, and what it starts from. */
static bool match_kernel(const struct path_info *at, bool write, struct refuse_found *found)
{
	static const char *const folders[] = {"/proc", "/dev", "/sys", "/boot"};
	size_t n = write ? ARRAY_LEN(folders) : 2;

	for (size_t i = 0; i < n; i++) {
		struct path_info folder = {.name = folders[i], .real = folders[i]};

		if (match_one(at, &folder, REFUSE_KERNEL, write, found)) {
			return true;
		}
	}
	return false;
}

static bool match_read(const struct refuse_rules *r, const struct path_info *at,
		       struct refuse_found *found)
{
	return match(at, &r->link_folders, REFUSE_LINK_FOLDER, false, found) ||
	       match_kernel(at, false, found) ||
	       match(at, &r->socket_folders, REFUSE_SOCKETS, true, found);
}

static bool match_write(const struct refuse_rules *r, const struct path_info *at,
			struct refuse_found *found)
{
	return match(at, &r->link_folders, REFUSE_LINK_FOLDER, false, found) ||
	       match_home(r, at, found) ||
	       match(at, &r->link_folders, REFUSE_LINK_FOLDER, true, found) ||
	       match(at, &r->system_folders, REFUSE_SYSTEM, true, found) ||
	       match_kernel(at, true, found) ||
	       match(at, &r->socket_folders, REFUSE_SOCKETS, true, found) ||
	       match_path(r, at, found) || match_spec(r, at, found) ||
	       match_project_dot(r, at->name, found) || match_project_dot(r, at->real, found);
}

/* --- what the rules are checked against --------------------------------------------------- */

/* $TMPDIR, $PATH and $HOME come with slashes at their ends. */
static struct path_info tidy(struct path_info info, struct arena *arena)
{
	info.name = value_join("/", info.name, arena);
	return info;
}

static struct machine_paths tidy_all(const struct machine_paths *paths, struct arena *arena)
{
	struct machine_paths out = {.n = 0};

	for (size_t i = 0; i < paths->n; i++) {
		ARENA_PUSH(arena, &out, tidy(paths->v[i], arena));
	}
	return out;
}

static void add_resolved(struct machine_paths *list, const char *path, struct arena *arena)
{
	struct path_info info;
	struct err ignored;

	if (resolve_path(path, arena, &info, &ignored)) {
		ARENA_PUSH(arena, list, info);
	}
}

/* PATH's absolute folders, those that could still be made included. Relative ones depend on where
 * the user stands later and cannot be told. */
static void read_path(struct refuse_rules *r)
{
	const char *p = r->machine->path;

	r->path_folders = tidy_all(&r->machine->path_folders, r->arena);
	for (size_t known = r->path_folders.n; *p != '\0';) {
		size_t n = strcspn(p, ":");

		if (p[0] == '/') {
			const char *name = value_join("/", arena_strndup(r->arena, p, n), r->arena);
			bool seen = false;

			for (size_t i = 0; i < known && !seen; i++) {
				seen = str_eq(r->path_folders.v[i].name, name);
			}
			if (!seen) {
				add_resolved(&r->path_folders, name, r->arena);
			}
		}
		p += n + (p[n] == ':' ? 1 : 0);
	}
}

/* ~/.bashrc may be a link to ~/dotfiles/bashrc: then that file is a dot file of the home. A link
 * to the home itself or above it would make everything one, and says nothing. */
static void read_home_links(struct refuse_rules *r)
{
	DIR *d = opendir(r->home.real);

	if (d == NULL) {
		return;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		const char *name = e->d_name;
		struct path_info info;
		struct err ignored;

		if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN) {
			continue;
		}
		if ((name[0] != '.' && !str_eq(name, "bin") && !str_eq(name, "Library")) ||
		    str_eq(name, ".") || str_eq(name, "..")) {
			continue;
		}
		const char *path = value_join(r->home.name, name, r->arena);
		if (resolve_path(path, r->arena, &info, &ignored) && info.links.n > 0 &&
		    !path_within(r->home.real, info.real)) {
			ARENA_PUSH(r->arena, &r->home_links, info);
		}
	}
	closedir(d);
}

static bool read_rules(struct refuse_rules *r, bool write, struct err *err)
{
	r->home = tidy(r->machine->home, r->arena);
	r->link_folders = tidy_all(&r->machine->link_folders, r->arena);
	r->socket_folders = tidy_all(&r->machine->socket_folders, r->arena);
	r->system_folders = tidy_all(&r->machine->system_folders, r->arena);
	if (write) {
		read_path(r);
		read_home_links(r);
	}
	return resolve_path(r->spec->file_path, r->arena, &r->spec_file, err);
}

/* --- entries ------------------------------------------------------------------------------ */

/* An entry of write_dot_files is one of write, too: one error is enough. */
static bool is_in_write(const struct spec *spec, const struct spec_item *item)
{
	const struct spec_value *write = &spec->value[SPEC_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++) {
		if (str_eq(write->v[i].path, item->path)) {
			return true;
		}
	}
	return false;
}

static void check_entry(const struct refuse_rules *r, enum spec_key key,
			const struct spec_item *item, struct err_list *errs)
{
	struct refuse_found found = {.rule = REFUSE_NONE};
	bool write = key != SPEC_FILES_READ;
	struct path_info at;
	struct err e;

	if (!machine_resolve(r->machine, item->path, r->arena, &at, &e)) {
		e.code = ERR_SPEC;
		err_hint(&e, "name a path that you can look at yourself");
	} else if (write ? match_write(r, &at, &found) : match_read(r, &at, &found)) {
		if (key == SPEC_FILES_WRITE_DOT_FILES && is_in_write(r->spec, item)) {
			return;
		}
		if (errs->n < ERR_LIST_MAX) {
			refuse_explain(r, item, &at, write, &found, &e);
		}
	} else {
		return;
	}
	if (errs->n >= ERR_LIST_MAX) {
		errs->total++;
		return;
	}
	spec_err_at(r->spec, &e, &item->from);
	*err_list_next(errs) = e;
}

bool refuse_check(const struct spec *spec, const struct machine *machine, struct arena *arena,
		  struct err_list *errs)
{
	static const enum spec_key keys[] = {
		SPEC_FILES_WRITE,
		SPEC_FILES_READ,
		SPEC_FILES_WRITE_DOT_FILES,
	};
	struct refuse_rules rules = {.spec = spec, .machine = machine, .arena = arena};
	unsigned before = errs->total;
	struct err e;

	if (spec->file == NULL || !spec->section_set[SPEC_SECTION_FILES]) {
		return true;
	}
	if (!read_rules(&rules, spec->value[SPEC_FILES_WRITE].n > 0, &e)) {
		e.code = ERR_SPEC;
		*err_list_next(errs) = e;
		return false;
	}
	for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
		const struct spec_value *value = &spec->value[keys[k]];

		for (size_t i = 0; i < value->n; i++) {
			check_entry(&rules, keys[k], &value->v[i], errs);
		}
	}
	spec_sort_errors(errs);
	return errs->total == before;
}

const struct refuse_rules *refuse_rules_read(const struct spec *spec, const struct machine *machine,
					     struct arena *arena)
{
	struct refuse_rules *r = arena_alloc(arena, sizeof(*r));
	struct err ignored;

	*r = (struct refuse_rules){.spec = spec, .machine = machine, .arena = arena};
	return spec->file != NULL && read_rules(r, true, &ignored) ? r : NULL;
}

bool refuse_may(const struct refuse_rules *rules, enum spec_key key, const char *path,
		struct err *err)
{
	const struct spec_item item = {.text = path, .path = path};
	struct refuse_found found = {.rule = REFUSE_NONE};
	bool write = key != SPEC_FILES_READ;
	struct path_info at;

	if (!machine_resolve(rules->machine, path, rules->arena, &at, err)) {
		return err_hint(err, "name a path that you can look at yourself");
	}
	if (write ? match_write(rules, &at, &found) : match_read(rules, &at, &found)) {
		refuse_explain(rules, &item, &at, write, &found, err);
		return false;
	}
	return true;
}
