/* A net_plan from the text of a spec, by way of a file app.toml in a folder of its own, so that its
 * origins are real. */
#ifndef LNK_TESTS_PLAN_KIT_H
#define LNK_TESTS_PLAN_KIT_H

#include "plan/netplan.h"
#include "spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static inline struct net_plan plan_of(struct arena *arena, const char *toml,
				      const struct spec_flag *flags, size_t nflags)
{
	char folder[] = "/tmp/lnk-plan-XXXXXX";
	static struct err_list errs;
	struct spec spec;
	struct net_plan plan;

	memset(&errs, 0, sizeof(errs));
	if (toml != NULL) {
		assert_non_null(mkdtemp(folder));
		FILE *f = fopen(arena_printf(arena, "%s/app.toml", folder), "we");
		assert_non_null(f);
		assert_true(fputs(toml, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	const struct spec_input input = {
		.file = toml != NULL ? "app.toml" : NULL,
		.cwd = toml != NULL ? arena_strdup(arena, folder) : "/tmp",
		.home = "/home/u",
		.flags = flags,
		.nflags = nflags,
	};
	if (!spec_read(&input, arena, &spec, &errs)) {
		fail_msg("%s (%s)", errs.v[0].msg, errs.v[0].hint);
	}
	if (toml != NULL) {
		unlink(arena_printf(arena, "%s/app.toml", folder));
		rmdir(folder);
	}
	net_plan_make(&spec, arena, &plan);
	return plan;
}

#endif
