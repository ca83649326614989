/* Inside plan/ only: the plan while it is made. */
#ifndef LNK_PLAN_BUILD_H
#define LNK_PLAN_BUILD_H

#include "base/set.h"
#include "plan/plan.h"

struct build {
	const struct spec *spec;
	const struct facts *facts;
	const struct plan_options *options;
	struct arena *arena;
	struct plan *plan;
	struct err_list *errs;
	struct str_set links;    /* links that have been planned */
	struct str_set programs; /* program files that have been planned */
	struct str_set pinned;   /* paths that are pinned, and folders that are anchored */
};

static const struct origin nowhere = {NULL, NULL, 0, 0};

/* The first Landlock that confines signals and abstract sockets (Linux 6.12). */
#define PLAN_ABI_WITH_SCOPES 6

/* Appends an operation. */
void build_op(struct build *b, struct plan_op op);

/* Keeps the folders between `base`, a folder that is written, and `path` in their places: a mount
 * protects a name only as long as no folder above it is renamed. What lies in a pinned folder
 * needs none. Before the operation on `path` itself. */
void build_anchors(struct build *b, const char *base, const char *path, const struct origin *from);

/* Plans the links on the way to a path, each once. */
void build_links(struct build *b, const struct path_info *at, const struct origin *from);

/* Appends a note for the user. */
void build_note(struct build *b, const struct origin *from, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* True when resolved `path` lies in a write entry / in any entry or system folder. Hidden paths
 * count as closed in the latter. */
bool build_in_write(const struct build *b, const char *path);
bool build_is_open(const struct build *b, const char *path);

/* True when the private home is a tmpfs or kept folder of ours rather than the user's own. */
bool build_home_is_private(const struct build *b);

/* A path for the user: "~/x" below the home. */
const char *build_tilde(const struct build *b, const char *path);

/* What exists before any grant: system folders, proc, dev, private folders, /etc's own files. */
void build_system(struct build *b);

/* The network sections, and --publish. First of all: files in /etc depend on it. */
void build_network(struct build *b);

/* The entries of [files]: binds, dot names, hidden paths, sockets. */
void build_files(struct build *b);

/* [commands]: the folders of programs, loaders; and whether PROGRAM may run. */
void build_commands(struct build *b);

/* The note on a PROGRAM that lies, or whose interpreter or link lies, in a closed folder: with all
 * that has to be opened for it. */
void build_closed_program(struct build *b);

/* Landlock: the same policy again, by inode. */
void build_rights(struct build *b);

/* Rights for the entries of [files] and the programs that the operations so far open, of which
 * there are `n`. */
void build_rights_of_grants(struct build *b, size_t n);

/* One right. */
void build_allow(struct build *b, const char *path, unsigned rights, const struct origin *from);

/* The whole plan of --without-namespaces: the same operations, judged and turned into rights. */
void build_bare(struct build *b);

#endif
