/* Shared by the files of values: one reader per type of value, called by value_read. All take
 * `len` bytes at `s`, which a NUL follows, and fail as value_read does. */
#ifndef LNK_SPEC_VALUES_INNER_H
#define LNK_SPEC_VALUES_INNER_H

#include "spec/values.h"

/* A path of [files]; `*ret_path` is absolute and normalised by name. */
bool value_path(const char *s, size_t len, const struct value_place *place, struct arena *arena,
		const char **ret_path, struct err *err);

/* An entry of [commands]; sets path and folder of those that hold a slash. */
bool value_command(const char *s, size_t len, const struct value_place *place, struct arena *arena,
		   struct spec_item *item, struct err *err);

/* A text of one line. */
bool value_text(const char *s, size_t len, struct err *err);

#endif
