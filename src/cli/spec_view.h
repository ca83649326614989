/* A spec as this machine sees it: each entry looked up, for printing. */
#ifndef LNK_CLI_SPEC_VIEW_H
#define LNK_CLI_SPEC_VIEW_H

#include "plan/machine.h"
#include "spec/spec.h"

#include <stdio.h>

struct spec_view {
	const struct spec *spec;
	const struct machine *machine;
	struct arena *arena;
	bool looked_up; /* false for another system than this: names only */
};

/* One entry, looked up. Strings live in the view's arena or are static. */
struct view_entry {
	const char *value; /* normal form: "/home/u/code/app", "github.com:22", "8080", "sh" */
	const char *real;  /* what it resolves to; NULL: nothing to look up, or it is not there */
	const char *note;  /* what to know about it; NULL */
	bool is_file;      /* paths: looked up, and no folder */
	bool missing;      /* paths and programs: looked up, and not there */
};

/* Looks one entry up. False: the run would refuse it (a missing write folder), err says so. */
bool view_look_up(const struct spec_view *view, enum spec_key key, const struct spec_item *item,
		  struct view_entry *ret_entry, struct err *err);

/* Why a section that stands in the spec, or not, is closed or without effect; NULL when it is
 * simply open. Static. */
const char *view_section_note(const struct spec_view *view, enum spec_section section);

/* All of it for a reader. */
void view_print(const struct spec_view *view, FILE *out);

/* All of it as one JSON object. False when memory or the disk is full. */
bool view_print_json(const struct spec_view *view, FILE *out);

#endif
