/* Job: which names need a placeholder; covering in the run's namespaces through a helper; judging
 * what came into being at a name while the run was not yet frozen.
 *
 * An attacker inside makes, as soon as it can, whatever a guarded name lacks; one outside does not
 * exist, but the user's own programs rename, remove and make names at any moment. */
#include "confine/warden_keep.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "confine/aside.h"
#include "confine/sys.h"

#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* How long a name that went away may take to come back (an editor that moves the old file aside and
 * writes a new one) before a placeholder takes its place. The run is frozen meanwhile. */
#define GRACE_MS 50

/* A helper needs a millisecond; one that hangs (a dead network file system) ends the run. */
#define HELPER_MS 2000

/* Rounds of looking again while the names keep changing. */
#define ROUNDS_MAX 32

/* A placeholder stands in for a name that is absent, but not for one below a pin (nothing inside
 * can make it there), nor twice for the same name. */
static void choose_wanted(struct keep *k, const struct warden_name *names, size_t count)
{
	const char *pin = NULL;

	k->wanted = arena_alloc(&k->arena, count * sizeof(*k->wanted));
	for (size_t i = 0; i < count; i++) {
		/* Unless a folder that is written was opened in what is pinned. */
		bool below = pin != NULL && path_within(names[i].path, pin) &&
			     names[i].base_len < strlen(pin);
		bool same = i > 0 && str_eq(names[i].path, names[i - 1].path);

		k->wanted[i] =
			names[i].kind != WARDEN_ANCHOR && !names[i].never_made && !below && !same;
		if (names[i].kind == WARDEN_PIN && !below) {
			pin = names[i].path;
		}
	}
}

struct wants {
	struct placeholder_want *v;
	size_t n;
	size_t cap;
};

/* The names that placeholders stand in for, all of them or the marked ones; *ret_guards has the
 * index of each. */
static void list_wants(const struct keep *k, bool all, struct arena *arena, struct wants *ret,
		       size_t **ret_guards)
{
	size_t n = k->watch.nnames;

	*ret_guards = arena_alloc(arena, n * sizeof(**ret_guards));
	for (size_t i = all ? 0 : watch_next(&k->watch, 0); i < n;
	     i = all ? i + 1 : watch_next(&k->watch, i + 1)) {
		const struct warden_name *name = &k->watch.names[i];
		struct placeholder_want want = {.base_fd = watch_base_fd(&k->watch, i),
						.base_len = name->base_len,
						.path = name->path,
						.from = name->from};

		if (k->wanted[i]) {
			(*ret_guards)[ret->n] = i;
			ARENA_PUSH(arena, ret, want);
		}
	}
}

/* Makes the placeholders that are missing: of all names, or of the marked ones. */
static bool make_missing(struct keep *k, bool all, struct err *err)
{
	struct arena arena = {0};
	struct wants wants = {0};
	size_t *guards;

	list_wants(k, all, &arena, &wants, &guards);
	/* At the start names that exist are looked at, too: they may be another run's. */
	size_t n = 0;
	for (size_t i = 0; i < wants.n; i++) {
		if (all || !watch_exists(&k->watch, guards[i])) {
			wants.v[n++] = wants.v[i];
		}
	}
	bool ok = n == 0 || placeholders_make(&k->placeholders, wants.v, n, err);
	arena_release(&arena);
	return ok;
}

/* Remembers at which names placeholders stand now. */
static void note_held(struct keep *k, bool all)
{
	struct arena arena = {0};
	struct wants wants = {0};
	size_t *guards;

	list_wants(k, all, &arena, &wants, &guards);
	bool *held = arena_alloc(&arena, wants.n * sizeof(*held));
	placeholders_held(&k->placeholders, wants.v, wants.n, held);
	for (size_t i = 0; i < wants.n; i++) {
		size_t guard = guards[i];

		k->held[guard] = held[i];
		fd_close(&k->hold[guard]);
		if (held[i] && k->watch.names[guard].kind == WARDEN_PIN) {
			k->hold[guard] = watch_open(&k->watch, guard);
		}
	}
	arena_release(&arena);
}

bool keep_start(struct keep *k, const struct warden_config *config, struct err *err)
{
	size_t count = config->count;

	*k = (struct keep){.watch = {.fd = -1}, .userns = -1, .mntns = -1};
	placeholders_init(&k->placeholders, config->state_folder);
	struct warden_name *names = arena_alloc(&k->arena, count * sizeof(*names));
	memcpy(names, config->names, count * sizeof(*names));
	guard_sort(names, count);
	choose_wanted(k, names, count);
	k->held = arena_alloc(&k->arena, count * sizeof(*k->held));
	k->hold = arena_alloc(&k->arena, count * sizeof(*k->hold));
	for (size_t i = 0; i < count; i++) {
		k->hold[i] = -1;
	}
	if (!watch_init(&k->watch, names, count, err) || !make_missing(k, true, err) ||
	    !watch_start(&k->watch, err)) {
		return false;
	}
	note_held(k, true);
	return true;
}

void keep_end(struct keep *k)
{
	placeholders_end(&k->placeholders, true);
}

bool keep_changed(struct keep *k)
{
	watch_read(&k->watch);
	if (k->watch.any_dirty && watch_next(&k->watch, 0) != WATCH_NO_GUARD) {
		return true;
	}
	watch_clear(&k->watch);
	return false;
}

/* How the helper ended. */
enum outcome { OUTCOME_COVERED = 1, OUTCOME_ABSENT, OUTCOME_FAILED };

struct result {
	enum outcome outcome;
	struct err err;
};

/* In the helper: covers the marked names that are not covered. */
static void cover_marked(const struct keep *k, struct result *ret)
{
	if (setns(k->userns, CLONE_NEWUSER) < 0 || setns(k->mntns, CLONE_NEWNS) < 0) {
		err_set(&ret->err, ERR_SETUP, errno, "cannot join the sandbox's namespaces");
		return;
	}
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret->outcome = OUTCOME_COVERED;
	for (size_t i = watch_next(&k->watch, 0); i != WATCH_NO_GUARD;
	     i = watch_next(&k->watch, i + 1)) {
		const struct warden_name *name = &k->watch.names[i];

		if (guard_is_covered(root, name) || guard_cover(root, name, &ret->err)) {
			continue;
		}
		/* Nothing to cover; when it comes there is an event again. */
		if (ret->err.sys == ENOENT && !k->wanted[i]) {
			continue;
		}
		ret->outcome = ret->err.sys == ENOENT ? OUTCOME_ABSENT : OUTCOME_FAILED;
		if (ret->outcome == OUTCOME_FAILED) {
			break;
		}
	}
}

static _Noreturn void helper(const struct keep *k, int out)
{
	struct result result;

	memset(&result, 0, sizeof(result));
	result.outcome = OUTCOME_FAILED;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cover_marked(k, &result);
	_exit(fd_write_all(out, &result, sizeof(result)) ? 0 : 1);
}

static enum outcome run_helper(struct keep *k, struct err *err)
{
	int out[2];
	struct result result;
	ssize_t got = -1;

	if (pipe2(out, O_CLOEXEC) < 0) {
		err_set(err, ERR_SETUP, errno, "cannot start the helper that covers a name");
		return OUTCOME_FAILED;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(out[0]);
		helper(k, out[1]);
	}
	close(out[1]);
	if (pid > 0) {
		if (clock_wait_for(out[0], HELPER_MS)) {
			got = fd_read_all(out[0], &result, sizeof(result));
		} else {
			kill(pid, SIGKILL);
		}
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
		}
	}
	close(out[0]);
	if (got != (ssize_t)sizeof(result)) {
		err_set(err, ERR_SETUP, 0, "the helper that covers a name was killed or hung");
		return OUTCOME_FAILED;
	}
	*err = result.err;
	return result.outcome;
}

static bool any_missing(const struct keep *k)
{
	for (size_t i = watch_next(&k->watch, 0); i != WATCH_NO_GUARD;
	     i = watch_next(&k->watch, i + 1)) {
		if (k->wanted[i] && !watch_exists(&k->watch, i)) {
			return true;
		}
	}
	return false;
}

/* Gives names that went away the time to come back. */
static bool settle(struct keep *k, struct err *err)
{
	long end = clock_now_ms() + GRACE_MS;
	bool ok = watch_refresh(&k->watch, err);

	while (ok && any_missing(k) && clock_wait_for(k->watch.fd, end - clock_now_ms())) {
		watch_read(&k->watch);
		ok = watch_refresh(&k->watch, err);
	}
	return ok;
}

/* With the run frozen: until every marked name is covered and no event is left. */
static bool cover_again(struct keep *k, struct err *err)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		if (!settle(k, err) || !make_missing(k, false, err)) {
			return false;
		}
		/* What we just made, too: folders on the way are watched from now on. */
		watch_read(&k->watch);
		if (!watch_refresh(&k->watch, err)) {
			return false;
		}
		enum outcome outcome = run_helper(k, err);
		if (outcome == OUTCOME_FAILED) {
			return false;
		}
		if (outcome == OUTCOME_COVERED) {
			note_held(k, false);
			watch_clear(&k->watch);
		}
		watch_read(&k->watch);
		if (!k->watch.any_dirty) {
			return true;
		}
	}
	return err_set(err, ERR_SETUP, 0, "a guarded name keeps changing on disk");
}

/* How long an editor outside may take to close the file that it has put in place. */
#define WRITER_MS 200

/* What the user shall hear of a name: what happened, and where it is now. */
static void tell(const struct warden_name *name, const char *what, const char *new_name,
		 keep_note_fn *note, void *context)
{
	char shown[512];
	char moved[300];
	struct err err;

	err_set(&err, ERR_SETUP, 0, "%s %s while the program ran, maybe by it",
		str_printable(name->path, shown, sizeof(shown)), what);
	err_hint(&err, "%s%s: look at what is in it before you use it",
		 new_name != NULL ? "it was set aside as " : "it was left",
		 new_name != NULL ? str_printable(new_name, moved, sizeof(moved)) : "");
	err_at(&err, &name->from);
	note(context, &err);
}

/* Names whose content runs outside, that went away and came back before the run was frozen: the
 * program may have made what stands there. (It cannot put anything over what is there: that is a
 * mount point inside until it is gone.) Where our placeholder had been, nobody else should have: it
 * is set aside. What took the place of the user's own is the user's to judge. */
static bool judge_replaced(struct keep *k, keep_note_fn *note, void *context, struct err *err)
{
	for (size_t i = watch_next(&k->watch, 0); i != WATCH_NO_GUARD;
	     i = watch_next(&k->watch, i + 1)) {
		const struct warden_name *name = &k->watch.names[i];
		const char *rel = name->path + name->base_len + 1;
		int base = watch_base_fd(&k->watch, i);
		bool replaced = watch_was_replaced(&k->watch, i);
		char new_name[NAME_MAX + 1];

		if (name->kind != WARDEN_PIN) {
			continue;
		}
		if (!k->held[i] && aside_is_written(base, rel, WRITER_MS)) {
			err_set(err, ERR_SETUP, 0,
				"%s was replaced and is open for writing, maybe by the program",
				name->path);
			return err_at(err, &name->from);
		}
		if (!replaced && !k->watch.lost) {
			continue;
		}
		if (!k->held[i]) {
			if (replaced) {
				tell(name, "was removed and made anew", NULL, note, context);
			}
			continue;
		}
		ino_t spare = placeholders_inode(&k->placeholders, name->path);
		switch (aside_move(base, rel, spare, new_name, sizeof(new_name), err)) {
		case ASIDE_MOVED:
			tell(name, "was made", new_name, note, context);
			break;
		case ASIDE_FAILED:
			return err_at(err, &name->from);
		case ASIDE_NOTHING:
			break;
		}
	}
	return true;
}

bool keep_again(struct keep *k, keep_note_fn *note, void *context, struct err *err)
{
	watch_read(&k->watch);
	return judge_replaced(k, note, context, err) && cover_again(k, err);
}
