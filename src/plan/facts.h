/* Everything a plan needs to know of the machine for one spec and one program: looked up once,
 * read only. plan_make() is pure over this struct, so tests can fill it by hand. */
#ifndef LNK_PLAN_FACTS_H
#define LNK_PLAN_FACTS_H

#include "plan/kernel.h"
#include "plan/machine.h"
#include "spec/spec.h"

#include <stdint.h>

/* The names whose content runs outside the sandbox, at the top of each write folder. */
extern const char *const dot_names[];
#define DOT_NAMES 4

/* One dot name of one write folder. */
struct dot_fact {
	struct path_info at; /* resolved; .exists says whether the target does */
	bool there;          /* something (a link too) has the name */
	bool is_link;
	bool stand_in; /* maybe another run's placeholder: facts_stand_in */
	/* Where a pointer file `.git` (worktree, submodule) leads; NULL when it is none. */
	const char *git_folder; /* resolved: the worktree's or submodule's own folder */
	const char *git_common; /* resolved: the repository's; equals git_folder in a submodule */
	bool git_mutual;        /* that folder points back to this file */
};

/* One entry of read, write or hide. */
struct path_fact {
	const struct spec_item *item;
	struct path_info at;
	bool stand_in;                   /* hide entries: as in struct dot_fact */
	bool writable;                   /* write entries: the user may write it */
	struct dot_fact dots[DOT_NAMES]; /* write folders only */
};

/* One program file: an entry of [commands] allow, or PROGRAM. */
struct program_fact {
	const struct spec_item *item; /* NULL for PROGRAM */
	bool found;
	bool folder;                 /* a folder of programs */
	struct path_info at;         /* when found */
	const char *loader;          /* PT_INTERP of an ELF file, resolved; NULL when static */
	const char *loader_name;     /* as a program has it, this one or the one before */
	const char *loader_file;     /* and what it resolves to */
	const char *script;          /* interpreter of a #! line, as written; NULL when none */
	const char *script_real;     /* resolved; NULL when it does not exist */
	const char *script_arg;      /* its one argument; NULL when none */
	const char *script_arg_real; /* for `env NAME`: NAME's file on PATH; NULL when none */
};

/* A bound Unix socket that lies in a granted path. */
struct socket_fact {
	const char *path;
	dev_t dev;
	ino_t ino;
};

#define FACT_LIST(type)                                                                            \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n;                                                                          \
		size_t cap;                                                                        \
	}

struct path_facts {
	struct path_fact *v;
	size_t n;
	size_t cap;
};

/* True for an empty folder that nobody may write, as a rule the placeholder of another run: it goes
 * with the last run that uses it and is made anew by the next. */
bool facts_stand_in(const struct path_info *at);

/* True when one of the entries is resolved `path` or a folder that holds it. */
bool path_facts_hold(const struct path_facts *list, const char *path);

struct facts {
	const struct machine *machine;
	struct path_facts write, read, hide;
	FACT_LIST(struct program_fact) commands;
	struct program_fact program;
	FACT_LIST(struct socket_fact) sockets;
	FACT_LIST(struct path_info) system;          /* system folders, links as links */
	FACT_LIST(struct path_info) program_folders; /* /usr/bin and its kin, existing, real */
	FACT_LIST(struct path_info) loaders;         /* loaders of this machine */
	FACT_LIST(const char *)
	secrets;                            /* files of the system that are not for everybody,
					       but that this user can read */
	FACT_LIST(const char *) ssh_copies; /* client configuration to own */
	struct path_info resolv_conf, hosts, nsswitch;
	const char *console;   /* the caller's terminal, NULL when there is none */
	uint64_t memory_bytes; /* of the machine */
	bool binfmt;           /* the kernel has binfmt_misc; looked up when commands are listed */
	struct kernel_facts kernel;
};

struct facts_wanted {
	const char *program; /* argv[0] of the program; NULL to only look at the spec */
	bool any_program;    /* no list of commands */
};

/* Looks everything up. Strings live in `arena`. */
bool facts_gather(const struct spec *spec, const struct machine *machine,
		  const struct facts_wanted *wanted, struct arena *arena, struct facts *ret_facts,
		  struct err *err);

/* Parts of it, also used by `lnk sandbox spec`. Never fails: `found` says what it found. What
 * `ret_program` has of the loader before may be of another program, and is not looked up again. */
void program_look_up(const char *name_or_path, const struct machine *machine, struct arena *arena,
		     struct program_fact *ret_program);

#endif
