/* Shared by learn*.c. */
#ifndef LNK_CLI_LEARN_INNER_H
#define LNK_CLI_LEARN_INNER_H

#include "cli/run.h"

/* Hosts, programs and files of one spec that are written; a hostile program names more. */
#define LEARN_MAX 400

struct learn_host {
	const char *host; /* normal form */
	uint16_t port;    /* 0: only its name was looked up */
	enum spec_section section;
	uint32_t count;
	bool refused;
};

struct learn {
	struct arena arena;
	struct err_list *errs;
	const char *out;      /* -o */
	const char *out_path; /* absolute */
	int argc;             /* the words of run */
	char **argv;
	struct run_watch watch;
	FACT_LIST(const char *) hidden; /* secrets in what was opened */
	FACT_LIST(struct learn_host) hosts;
};

/* What an absolute path may hold ("keys of ssh"); NULL: nothing of the table. A folder that holds
 * such a place counts, too. */
const char *learn_secret(const struct machine *machine, const char *path);

/* Secrets that exist in, or are, the folder: each as an absolute path of the arena, at most `max`.
 */
size_t learn_secrets_in(const struct machine *machine, const char *folder, struct arena *arena,
			const char **ret_paths, size_t max);

/* Reads the gate's lines into l->hosts. */
void learn_calls(struct learn *l);

/* Writes the spec of what was seen. False: errs has the reason. */
bool learn_write(struct learn *l, const struct run_seen *seen);

#endif
