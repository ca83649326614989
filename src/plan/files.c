/* The entries of [files]: what is opened, what stays as it is in there, what is closed. */
#include "plan/build.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One path to open, or to keep read only inside an open one. */
struct grant {
	const char *path; /* resolved */
	bool write;
	bool pin;       /* a PIN instead of a BIND: it lies in a write folder */
	bool link_only; /* PIN of a link that leads to a hidden path */
	bool missing;   /* PIN of a dot name that is not there: a placeholder */
	bool stand_in;  /* PIN of what may be another run's placeholder */
	dev_t dev;
	ino_t ino;
	struct origin from;
};

struct grants {
	struct grant *v;
	size_t n;
	size_t cap;
};

/* Parents before what lies in them; of one path the write entry last, so that it wins. */
static int by_path(const void *pa, const void *pb)
{
	const struct grant *a = pa;
	const struct grant *b = pb;
	const unsigned char *x = (const unsigned char *)a->path;
	const unsigned char *y = (const unsigned char *)b->path;

	while (*x == *y && *x != '\0') {
		x++;
		y++;
	}
	/* The slash sorts before every other character. */
	int cx = *x == '\0' ? 0 : *x == '/' ? 1 : *x + 2;
	int cy = *y == '\0' ? 0 : *y == '/' ? 1 : *y + 2;
	if (cx != cy) {
		return cx - cy;
	}
	return (a->write ? 1 : 0) - (b->write ? 1 : 0);
}

static void add(struct build *b, struct grants *g, struct grant grant)
{
	ARENA_PUSH(b->arena, g, grant);
}

static void pin(struct build *b, struct grants *g, const char *path, bool missing,
		const struct origin *from)
{
	add(b, g, (struct grant){.path = path, .pin = true, .missing = missing, .from = *from});
}

/* Links on the way of a path that has to stay what it is, where they lie in a write folder: each
 * is pinned as the link it was when it was followed. */
static void pin_links(struct build *b, struct grants *g, const struct path_info *at, bool link_only,
		      const struct origin *from)
{
	for (size_t i = 0; i < at->links.n; i++) {
		const struct path_link *l = &at->links.v[i];

		if (build_in_write(b, l->path)) {
			add(b, g,
			    (struct grant){.path = l->path,
					   .pin = true,
					   .dev = l->dev,
					   .ino = l->ino,
					   .link_only = link_only,
					   .from = *from});
		}
	}
}

/* The entry of write_dot_files that names this write entry, or NULL. */
static const struct spec_item *dot_files_written(const struct build *b, const struct path_fact *w)
{
	const struct spec_value *value = &b->spec->value[SPEC_FILES_WRITE_DOT_FILES];

	for (size_t i = 0; i < value->n; i++) {
		if (str_eq(value->v[i].path, w->item->path) ||
		    str_eq(value->v[i].path, w->at.real)) {
			return &value->v[i];
		}
	}
	return NULL;
}

static const char *below(struct build *b, const char *folder, const char *name)
{
	return arena_printf(b->arena, "%s/%s", str_eq(folder, "/") ? "" : folder, name);
}

static void open_folder(struct build *b, struct grants *g, const char *path, bool write,
			const struct origin *from)
{
	add(b, g, (struct grant){.path = path, .write = write, .from = *from});
}

/* The repository behind a worktree's pointer file: what a commit writes is opened, hooks and
 * settings are not. `commondir` and `gitdir` could lead git elsewhere, so they stay too. */
static void open_repository(struct build *b, struct grants *g, const struct dot_fact *git,
			    const struct origin *from)
{
	static const char *const written[] = {"objects", "refs", "logs"};
	static const char *const kept[] = {"commondir", "gitdir"};

	open_folder(b, g, git->git_common, false, from);
	for (size_t i = 0; i < ARRAY_LEN(written); i++) {
		open_folder(b, g, below(b, git->git_common, written[i]), true, from);
	}
	open_folder(b, g, git->git_folder, true, from);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		pin(b, g, below(b, git->git_folder, kept[i]), false, from);
	}
	/* Read by git only where the repository turns worktree settings on. */
	pin(b, g, below(b, git->git_folder, "config.worktree"), true, from);
}

/* A submodule's folder holds its settings beside its index: it can be looked at, and a file that
 * leads git elsewhere (`commondir`) could be made in it, so it is not opened for writing. */
static void show_submodule(struct build *b, struct grants *g, const struct path_fact *w,
			   const struct dot_fact *git, const struct origin *from)
{
	open_folder(b, g, git->git_folder, false, from);
	build_note(b, from,
		   "%s is a submodule; to commit in it, name the folder of the repository that "
		   "holds it in write and write_dot_files",
		   build_tilde(b, w->at.real));
}

static void git_pointer(struct build *b, struct grants *g, const struct path_fact *w,
			const struct spec_item *opened)
{
	const struct dot_fact *git = &w->dots[0];

	if (git->git_folder == NULL) {
		return;
	}
	if (opened != NULL && git->git_mutual) {
		if (str_eq(git->git_folder, git->git_common)) {
			show_submodule(b, g, w, git, &opened->from);
		} else {
			open_repository(b, g, git, &opened->from);
		}
		return;
	}
	if (opened == NULL && build_in_write(b, git->git_folder)) {
		pin(b, g, git->git_folder, false, &w->item->from);
	}
	if (opened == NULL && git->git_common != NULL && build_in_write(b, git->git_common)) {
		pin(b, g, git->git_common, false, &w->item->from);
	}
	if (build_is_open(b, git->git_folder)) {
		return;
	}
	const char *common = git->git_common != NULL ? git->git_common : git->git_folder;
	if (git->git_mutual && str_eq(git->git_folder, git->git_common)) {
		build_note(b, &w->item->from,
			   "%s is a submodule and its repository is closed, so git fails; to look "
			   "only: read = [\"%s\"], to commit, name the folder of the repository "
			   "that holds it in write and write_dot_files",
			   build_tilde(b, w->at.real), build_tilde(b, common));
	} else if (!git->git_mutual) {
		build_note(b, &w->item->from,
			   "%s/.git leads to %s, which does not lead back and stays closed",
			   build_tilde(b, w->at.real), build_tilde(b, common));
	} else {
		build_note(b, &w->item->from,
			   "%s/.git leads to %s, which is closed, so git fails; to commit: "
			   "write_dot_files = [\"%s\"], to look only: read = [\"%s\"]",
			   build_tilde(b, w->at.real), build_tilde(b, common), w->item->text,
			   build_tilde(b, common));
	}
}

static void dot_names_of(struct build *b, struct grants *g, const struct path_fact *w)
{
	const struct spec_item *opened = dot_files_written(b, w);

	git_pointer(b, g, w, opened);
	for (size_t i = 0; i < DOT_NAMES && opened == NULL; i++) {
		const struct dot_fact *dot = &w->dots[i];

		/* A link is pinned as the link, each on the way to where it leads too; what it
		 * leads to must not be written either. */
		if (dot->is_link) {
			pin_links(b, g, &dot->at, false, &w->item->from);
		} else {
			add(b, g,
			    (struct grant){.path = below(b, w->at.real, dot_names[i]),
					   .pin = true,
					   .missing = !dot->there,
					   .stand_in = dot->stand_in,
					   .dev = dot->at.dev,
					   .ino = dot->at.ino,
					   .from = w->item->from});
		}
		if (dot->is_link && build_in_write(b, dot->at.real)) {
			pin(b, g, dot->at.real, !dot->at.exists, &w->item->from);
		}
	}
}

static void write_error(struct build *b, const struct path_fact *w, const char *what,
			const char *remedy)
{
	struct err *err = err_list_next(b->errs);
	const char *shown = build_tilde(b, w->at.real);

	err_set(err, ERR_SPEC, 0, "the folder to write, %s, %s", shown, what);
	err_at(err, &w->item->from);
	err_hint(err, "%s %s", remedy, shown);
}

/* False when the entry cannot be granted. */
static bool check_write(struct build *b, const struct path_fact *w)
{
	if (!w->at.exists) {
		write_error(b, w, "does not exist", "make it: mkdir -p");
	} else if (!w->writable) {
		write_error(b, w, "is not writable for you", "open it: chmod u+w");
	} else if (!S_ISDIR(w->at.mode) && !S_ISREG(w->at.mode) && !S_ISCHR(w->at.mode)) {
		write_error(b, w, "is neither a folder nor a file", "leave out");
	} else {
		return true;
	}
	return false;
}

/* The whole file system would lie over everything of the sandbox's own. */
static bool is_everything(struct build *b, const struct path_fact *f)
{
	if (!str_eq(f->at.real, "/")) {
		return false;
	}
	struct err *err = err_list_next(b->errs);
	err_set(err, ERR_SPEC, 0, "\"/\" cannot be opened as a whole");
	err_hint(err, "name the folders in it that the program needs, one by one");
	err_at(err, &f->item->from);
	return true;
}

static void write_entry(struct build *b, struct grants *g, const struct path_fact *w)
{
	if (is_everything(b, w) || !check_write(b, w)) {
		return;
	}
	build_links(b, &w->at, &w->item->from);
	add(b, g,
	    (struct grant){.path = w->at.real,
			   .write = true,
			   .dev = w->at.dev,
			   .ino = w->at.ino,
			   .from = w->item->from});
	if (S_ISDIR(w->at.mode)) {
		dot_names_of(b, g, w);
	} else if (S_ISREG(w->at.mode)) {
		const char *parent = path_parent(w->at.real, b->arena);

		build_note(b, &w->item->from,
			   "%s is a single file: programs that save by renaming a new file over "
			   "it cannot; to let them: write = [\"%s\"]",
			   build_tilde(b, w->at.real), build_tilde(b, parent));
	}
}

static void read_entry(struct build *b, struct grants *g, const struct path_fact *r)
{
	if (is_everything(b, r)) {
		return;
	}
	build_links(b, &r->at, &r->item->from);
	if (!r->at.exists) {
		return;
	}
	add(b, g,
	    (struct grant){.path = r->at.real,
			   .pin = build_in_write(b, r->at.real),
			   .dev = r->at.dev,
			   .ino = r->at.ino,
			   .from = r->item->from});
}

/* Where a pin of a read entry coincides with a write entry, the write entry wins. */
static bool superseded(const struct grants *g, size_t i)
{
	return i + 1 < g->n && str_eq(g->v[i].path, g->v[i + 1].path) &&
	       (g->v[i + 1].write || g->v[i].write == g->v[i + 1].write);
}

/* The deepest opened folder that holds `path`, other than `path` itself; NULL when there is none.
 * A later entry of the same path wins, as it does when they are mounted. */
static const struct grant *base_of(const struct grants *g, const char *path)
{
	const struct grant *base = NULL;

	for (size_t i = 0; i < g->n; i++) {
		const struct grant *folder = &g->v[i];

		if (!folder->pin && path_within(path, folder->path) &&
		    !str_eq(path, folder->path) &&
		    (base == NULL || path_within(folder->path, base->path))) {
			base = folder;
		}
	}
	return base;
}

/* Whatever is mounted in a folder that is written: the folders above it stay in their places. */
static void anchor(struct build *b, const struct grant *base, const char *path,
		   const struct origin *from)
{
	if (base != NULL && base->write) {
		build_anchors(b, base->path, path, from);
	}
}

/* Private folders in what was just opened come on top of it again. */
static void keep_private(struct build *b, const char *opened)
{
	static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm"};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		if (path_within(folders[i], opened) && !str_eq(folders[i], opened)) {
			build_op(b, (struct plan_op){.kind = PLAN_PRIVATE,
						     .path = folders[i],
						     .mode = 01777});
		}
	}
}

static void plan_grants(struct build *b, struct grants *g)
{
	qsort(g->v, g->n, sizeof(*g->v), by_path);
	for (size_t i = 0; i < g->n; i++) {
		const struct grant *grant = &g->v[i];
		struct plan_op op = {.kind = grant->pin ? PLAN_PIN : PLAN_BIND,
				     .path = grant->path,
				     .from = grant->from};

		if (superseded(g, i) ||
		    (grant->pin && path_facts_hold(&b->facts->hide, grant->path))) {
			continue;
		}
		const struct grant *base = base_of(g, grant->path);
		anchor(b, base, grant->path, &grant->from);
		if (grant->pin) {
			op.base = base == NULL ? NULL : base->path;
			op.flags = base == NULL
					   ? PLAN_OPTIONAL
					   : PLAN_GUARDED | (grant->missing ? PLAN_MISSING : 0);
			op.flags |= grant->link_only ? PLAN_LINK_ONLY : 0;
			op.flags |= grant->stand_in ? PLAN_STAND_IN : 0;
			op.dev = grant->dev;
			op.ino = grant->ino;
			str_set_put(&b->pinned, b->arena, grant->path, "pin");
		} else {
			op.source = grant->path;
			op.flags = grant->write ? 0 : PLAN_READ_ONLY;
			op.flags |= b->options->no_links ? PLAN_NO_LINKS : 0;
			op.dev = grant->dev;
			op.ino = grant->ino;
			if (grant->ino == 0) {
				op.flags |= PLAN_OPTIONAL;
			}
		}
		build_op(b, op);
		if (!grant->pin) {
			keep_private(b, grant->path);
		}
	}
}

/* Whether a placeholder can hold a missing name: in a folder of the user's own always (or the
 * start is refused), in somebody else's only where the user may write. */
static bool can_hold(struct build *b, const struct path_info *at)
{
	struct stat st;

	if (at->missing == NULL) {
		return false;
	}
	const char *parent = path_parent(at->missing, b->arena);
	return access(parent, W_OK) == 0 ||
	       (stat(parent, &st) == 0 && st.st_uid == b->facts->machine->uid);
}

/* In the private home a hidden name exists and is closed, as it would be outside. */
static void make_hidden(struct build *b, const struct path_info *at, const struct origin *from)
{
	bool is_folder = S_ISDIR(at->mode);

	build_op(b, (struct plan_op){.kind = is_folder ? PLAN_FOLDER : PLAN_FILE,
				     .path = at->real,
				     .text = "",
				     .mode = is_folder ? 0700 : 0600,
				     .from = *from});
}

/* Closes a path. In a grant its name is on the host's disk and others can replace it there, so
 * the warden keeps it; where nothing is yet, a placeholder holds the name. */
static void cover(struct build *b, const struct grants *g, const struct path_info *at,
		  bool stand_in, const struct origin *from)
{
	const struct grant *base = base_of(g, at->real);
	struct plan_op op = {.kind = PLAN_COVER,
			     .path = at->real,
			     .flags = PLAN_OPTIONAL,
			     .dev = at->dev,
			     .ino = at->ino,
			     .from = *from};

	if (base != NULL) {
		anchor(b, base, at->real, from);
		op.base = base->path;
		op.flags = PLAN_GUARDED | (stand_in ? PLAN_STAND_IN : 0);
		if (!at->exists) {
			/* Where nobody inside can make it the warden waits for it to come. */
			op.flags |= can_hold(b, at) ? PLAN_MISSING : PLAN_OPTIONAL;
		}
	} else if (path_within(at->real, b->facts->machine->home.real) && at->exists) {
		make_hidden(b, at, from);
		op.ino = 0; /* what is covered is ours */
	}
	build_op(b, op);
}

static int by_real(const void *pa, const void *pb)
{
	const struct grant a = {.path = (*(const struct path_fact *const *)pa)->at.real};
	const struct grant b = {.path = (*(const struct path_fact *const *)pb)->at.real};

	return by_path(&a, &b);
}

/* The hidden paths, without those that lie in another one. */
static void hidden(struct build *b, const struct grants *g)
{
	const struct facts *f = b->facts;
	const struct path_fact **sorted = arena_alloc(b->arena, f->hide.n * sizeof(*sorted));
	const char *last = NULL;

	for (size_t i = 0; i < f->hide.n; i++) {
		sorted[i] = &f->hide.v[i];
	}
	if (f->hide.n > 1) {
		qsort(sorted, f->hide.n, sizeof(const struct path_fact *), by_real);
	}
	for (size_t i = 0; i < f->hide.n; i++) {
		if (last == NULL || !path_within(sorted[i]->at.real, last)) {
			last = sorted[i]->at.real;
			cover(b, g, &sorted[i]->at, sorted[i]->stand_in, &sorted[i]->item->from);
		}
	}
}

/* Link's own folders stay closed in a home that is open; in one that is written they cannot be
 * made either. */
static void link_folders(struct build *b, const struct grants *g)
{
	const struct machine *m = b->facts->machine;

	for (size_t i = 0; i < m->link_folders.n; i++) {
		const struct path_info *at = &m->link_folders.v[i];

		if (base_of(g, at->real) != NULL && (at->exists || build_in_write(b, at->real))) {
			cover(b, g, at, false, &nowhere);
		}
	}
}

static void sockets(struct build *b, const struct grants *g)
{
	for (size_t i = 0; i < b->facts->sockets.n; i++) {
		const char *path = b->facts->sockets.v[i].path;

		anchor(b, base_of(g, path), path, &nowhere);
		build_op(b, (struct plan_op){
				    .kind = PLAN_COVER, .path = path, .flags = PLAN_OPTIONAL});
	}
}

void build_files(struct build *b)
{
	struct grants g = {NULL, 0, 0};

	for (size_t i = 0; i < b->facts->write.n; i++) {
		write_entry(b, &g, &b->facts->write.v[i]);
	}
	for (size_t i = 0; i < b->facts->read.n; i++) {
		read_entry(b, &g, &b->facts->read.v[i]);
	}
	for (size_t i = 0; i < b->facts->hide.n; i++) {
		const struct path_fact *h = &b->facts->hide.v[i];

		pin_links(b, &g, &h->at, true, &h->item->from);
	}
	if (g.n > 0) {
		plan_grants(b, &g);
	}
	sockets(b, &g);
	hidden(b, &g);
	link_folders(b, &g);
}
