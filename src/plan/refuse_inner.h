/* Shared by the files of refuse: what the rules are checked against, and what they found. */
#ifndef LNK_PLAN_REFUSE_INNER_H
#define LNK_PLAN_REFUSE_INNER_H

#include "plan/refuse.h"

/* Which rule an entry breaks. */
enum refuse_rule {
	REFUSE_NONE,
	REFUSE_LINK_FOLDER, /* in Link's own folders, or (write) holding one */
	REFUSE_HOME,        /* write: the home itself, or holding it */
	REFUSE_DOT,         /* write: in a dot folder of the home, or a dot file */
	REFUSE_BIN,         /* write: in ~/bin or ~/Library */
	REFUSE_HOME_LINK,   /* write: in or holding what a link of that kind leads to */
	REFUSE_SYSTEM,      /* write: in or holding a system folder */
	REFUSE_KERNEL,      /* in or holding a file system of the kernel */
	REFUSE_SOCKETS,     /* in or holding a folder of sockets */
	REFUSE_PATH,        /* write: a folder on PATH, a file of one, or holding one */
	REFUSE_SPEC,        /* write: the spec's file, or holding it or a link to it */
	REFUSE_PROJECT_DOT, /* write: in a .git, .envrc, .vscode or .idea */
};

struct refuse_found {
	enum refuse_rule rule;
	const char *folder; /* what the rule is about: "/home/u/.ssh"; for messages */
	bool holds;         /* the entry holds the folder rather than lying in it */
	const char *via;    /* HOME_LINK: the link in the home */
};

/* The machine's folders with names in normal form, and what is only needed here. */
struct refuse_rules {
	const struct spec *spec;
	const struct machine *machine;
	struct arena *arena;
	struct path_info home;
	struct machine_paths link_folders;
	struct machine_paths socket_folders;
	struct machine_paths system_folders;
	struct machine_paths path_folders; /* those that do not exist yet, too */
	struct machine_paths home_links;   /* names in the home that are links; .name is the link */
	struct path_info spec_file;
};

/* The message and hint for what was found of `item` (resolved: `at`). `write`: it is an entry of
 * write or write_dot_files. */
void refuse_explain(const struct refuse_rules *rules, const struct spec_item *item,
		    const struct path_info *at, bool write, const struct refuse_found *found,
		    struct err *err);

#endif
