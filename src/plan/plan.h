/* The plan: what will be done, in order, as plain data. Made from a spec and the facts by a pure
 * function, printed by --dry-run, executed by confine, which decides nothing. */
#ifndef LNK_PLAN_PLAN_H
#define LNK_PLAN_PLAN_H

#include "plan/facts.h"
#include "plan/netplan.h"
#include "spec/spec.h"

#include <stdint.h>
#include <stdio.h>

enum plan_kind {
	PLAN_FOLDER,  /* a folder `path` of our own, `mode` */
	PLAN_FILE,    /* a read-only file of our own with `text` */
	PLAN_LINK,    /* a symbolic link of our own to `text`; one that is there already is kept */
	PLAN_PRIVATE, /* an empty folder of the sandbox's own, `mode`; gone with the run */
	PLAN_PROC,    /* a fresh procfs */
	PLAN_DEVICES, /* null, zero, full, random, urandom, tty, pts, shm, mqueue at /dev */
	PLAN_BIND,    /* the host's `source` at `path`; PLAN_READ_ONLY; dev/ino are checked */
	PLAN_COPY,    /* a copy of the host's file `source`, owned by the user, over `path` */
	PLAN_SOCKET,  /* a listening socket of the broker's at `path` */
	PLAN_SEAL,    /* the file system at `path` becomes read only */
	PLAN_PIN,     /* `path` read only and in its place: a bind of itself */
	PLAN_ANCHOR,  /* `path`, a folder, in its place though written: a bind of itself */
	PLAN_COVER,   /* `path` closed: an empty unreadable folder or file on it */
	PLAN_LOADER,  /* `path`: a loader that may not be started by itself (binfmt_misc) */
	PLAN_ALLOW,   /* Landlock: `rights` below `path` */
	PLAN_KIND_COUNT
};

/* Flags of an operation. */
#define PLAN_READ_ONLY 1U  /* BIND: read only, with all mounts below */
#define PLAN_OPTIONAL  2U  /* nothing is done where `path` does not exist */
#define PLAN_GUARDED   4U  /* PIN, ANCHOR, COVER: the name is on disk, the warden keeps it */
#define PLAN_LINK_ONLY 16U /* PIN: of a link; closed when it is found to be anything else */
#define PLAN_STAND_IN  32U /* PIN, COVER: maybe another run's placeholder stood there */
#define PLAN_NO_LINKS  64U /* BIND: links in it lead nowhere (mount_setattr(2), nosymfollow) */
#define PLAN_MISSING   8U  /* guarded: nothing is there yet, a placeholder is made */

/* PLAN_ALLOW's rights, mapped to Landlock's by confine. */
#define PLAN_MAY_LIST    1U
#define PLAN_MAY_READ    2U
#define PLAN_MAY_WRITE   4U
#define PLAN_MAY_EXECUTE 8U
#define PLAN_MAY_DEVICE  16U /* write and ioctl on devices, nothing created */

struct plan_op {
	enum plan_kind kind;
	const char *path;   /* inside the sandbox, absolute, free of links */
	const char *source; /* BIND, COPY: on the host */
	const char *text;   /* FILE, LINK */
	const char *base;   /* guarded: the granted folder that `path` lies in */
	unsigned flags;
	unsigned rights; /* ALLOW */
	mode_t mode;
	dev_t dev; /* BIND, PIN, COVER: of what stood there when it was checked; ino 0: of
		      nothing */
	ino_t ino;
	struct origin from; /* the line of the spec it comes from; all zero: always done */
};

/* One line for the user at start. */
struct plan_note {
	const char *text;
	struct origin from;
};

struct plan {
	FACT_LIST(struct plan_op) ops;
	FACT_LIST(struct plan_note) notes;
	uint64_t private_bytes; /* bound of all private folders together */
	bool commands_listed;   /* loaders and memfd are closed too */
	bool user_namespaces;   /* the program may make user namespaces */
	bool as_root;           /* the caller is root: modes of procfs do not stop a write */
	bool private_home;      /* the home is a tmpfs, gone at exit */
	const char *home;       /* by name */
	const char *kept_home;  /* where a home kept on disk is mounted; NULL when none is */
	const char *cwd;        /* by name; where the program starts */
	const char *console;    /* as in facts */
	struct net_plan net;    /* as in plan_options */
};

/* Programs that stand for others in the sandbox: they ask the broker. */
struct plan_shim {
	const char *name;   /* in PLAN_SHIMS */
	struct origin from; /* the line that grants it */
	bool tool;          /* it has a socket of its own in PLAN_CALLS, of its name */
};

/* Where they lie inside, first on PATH, and where they ask: whoever waits for calls of one tool
 * takes those of its socket, and nobody else's. */
#define PLAN_SHIMS  "/run/lnk/bin"
#define PLAN_CALLS  "/run/lnk/calls"
#define PLAN_BROKER "/run/lnk/broker"

struct plan_options {
	const char *program; /* PROGRAM as given */
	bool user_namespaces;
	const char *kept_home;      /* host folder that keeps the private home; NULL: tmpfs */
	const struct net_plan *net; /* net_plan_make, and --publish */
	const char *shim;           /* the program that the shims are; NULL: none */
	const struct plan_shim *shims;
	size_t nshims;
	bool no_links; /* links in granted folders lead nowhere: for what runs with a login */
};

/* The private folders share one tmpfs of a quarter of the machine's memory, this much at most: a
 * fork bomb's writes end there. */
#define PLAN_PRIVATE_BYTES (16ULL << 30)

/* Makes the plan. Refuses with ERR_NOT_PERMITTED (126) or ERR_NOT_FOUND (127) when PROGRAM
 * cannot run, with ERR_SPEC for grants that cannot be (a missing write folder). */
bool plan_make(const struct spec *spec, const struct facts *facts,
	       const struct plan_options *options, struct arena *arena, struct plan *ret_plan,
	       struct err_list *errs);

/* One operation a line: what, path, and the spec line it comes from. For --dry-run. */
void plan_print(const struct plan *plan, FILE *out);

#endif
