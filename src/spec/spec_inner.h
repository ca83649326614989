/* Shared by the files that read a spec: the state of one reading, and its steps in their order. */
#ifndef LNK_SPEC_SPEC_INNER_H
#define LNK_SPEC_SPEC_INNER_H

#include "spec/keys.h"
#include "spec/toml.h"
#include "spec/values.h"

/* OS tables may be nested in OS tables; deeper than this has no use and is refused, so that the
 * stack stays small. */
#define SPEC_OS_DEPTH_MAX 16

struct spec_reader {
	const struct spec_input *input;
	struct arena *arena;
	struct err_list *errs;
	struct spec spec;
	struct value_place file_place;
	struct value_place flag_place;
	const struct toml_value *table[SPEC_SECTION_COUNT]; /* as the file has it; NULL: left out */
	bool own_keys[SPEC_SECTION_COUNT];       /* holds keys for the system that is asked for */
	bool broken_section[SPEC_SECTION_COUNT]; /* has errors: no further ones that follow */
	bool broken_key[SPEC_KEY_COUNT];
};

/* Adds `err`, which has code, message and hint, with its place and the line of the file. */
void spec_report(struct spec_reader *r, struct err *err, const struct origin *from);

/* True when no further error is kept: then texts for one are not worth making. */
bool spec_errors_full(const struct spec_reader *r);

/* 1. Opens and reads the file: spec.file … text_len. False when that failed, errs says why. */
bool spec_load(struct spec_reader *r);

/* 2. Goes through the file's tables: every key and value is checked, and those of the asked
 * system are taken over, its tables after the section's own. */
void spec_read_tables(struct spec_reader *r, const struct toml_value *root);

/* 3. Takes the flags over. */
void spec_merge_flags(struct spec_reader *r);

/* 4. What holds between keys: main keys, tcp and hosts, ports and models, write_dot_files. */
void spec_check(struct spec_reader *r);

/* Takes `list` over as the value of `key`: it replaces what is there, or adds to it. */
void spec_take(struct spec_reader *r, enum spec_key key, const struct spec_value *list);

/* Refuses "*" beside other entries. */
void spec_check_star(struct spec_reader *r, enum spec_key key, const struct spec_value *list);

#endif
