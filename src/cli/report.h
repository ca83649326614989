/* --report: the files and programs that the kernel refused to the program. Gathered during the run,
 * looked at when everything inside is dead, so that nothing inside learns by waiting what is there
 * outside. */
#ifndef LNK_CLI_REPORT_H
#define LNK_CLI_REPORT_H

#include "base/set.h"
#include "confine/tracer.h"
#include "plan/explain.h"

/* Different names that are kept; more are counted. A hostile program names as many as it likes. */
#define REPORT_NAMES_MAX 16384
#define REPORT_BYTES_MAX (4UL * 1024UL * 1024UL)
/* Lines that are told; --log has the others. */
#define REPORT_LINES_MAX 32

struct report_name {
	enum tracer_access access;
	uint32_t count;
	bool read;        /* opened, not only looked at */
	const char *path; /* absolute, normalised by name; hostile */
};

struct report {
	const struct plan *plan; /* set by the caller before anything is added */
	struct arena *arena;
	struct str_set seen; /* by access and path: a struct report_name */
	FACT_LIST(struct report_name *) names;
	FACT_LIST(const char *)
	ran; /* programs that were started, or tried; absolute, normalised
		by name; hostile */
	size_t bytes;
	uint32_t more; /* calls with a name beyond the bounds */
};

/* Of confine_config: `context` is a struct report. */
void report_add(const struct tracer_refusal *refusal, void *context);

/* What one line is about. */
struct finding {
	enum explain_access access;
	const char *path; /* what was refused, or the folder that it was folded into */
	uint32_t count;   /* calls */
	uint32_t names;   /* different names */
	bool read;
	bool folder;
	bool gone; /* folded into another */
	struct explained why;
};

struct findings {
	struct report *report;
	const struct explain *explain;
	FACT_LIST(struct finding) v;
};

/* The run is over: looks at each name outside, and adds those that the sandbox refused. */
void report_find(struct findings *findings);

/* Names that one line of the spec would open become one, many of one folder the folder. */
void report_fold(struct findings *findings);

/* The run is over: looks at each name outside, writes a line of the log for each that the sandbox
 * refused, and tells them on stderr, folder by folder, with the line to add. `lost`: the tracer was
 * killed. Returns the number of lines that the log lost. */
uint32_t report_tell(struct report *report, const struct explain *explain, int log_fd, bool lost);

#endif
