/* Names that are protected rather than closed: pins, placeholders, folders on the way; and what is
 * done with something that may be the program's. */
#include "warden_kit.h"

static void anchor_mover(struct run *r)
{
	char up[PATH_MAX];
	char away[PATH_MAX];

	snprintf(up, sizeof(up), "%s/a", r->work);
	snprintf(away, sizeof(away), "%s/away", r->work);
	while (r->shared->stop == 0) {
		long t = now_us();

		r->shared->ticks++;
		r->shared->tries++;
		if (rename(up, away) == 0) {
			hit(r, t);
		}
	}
}

static void pins(struct run *r)
{
	guard(r, ".git", WARDEN_PIN);
	guard(r, ".idea", WARDEN_PIN);
	r->program = maker;
	r->path = at(r, ".git");
	start(r);
	SOON(r->shared->tries > 100);
	CHECK(r->shared->hits == 0);
	CHECK(count(r->work) == 2);

	/* As git clean does. Should the program be quicker than we are, what it made is set aside
	 * and the user hears of it, unless it is empty. */
	CHECK(rmdir(at(r, ".git")) == 0);
	rmdir(at(r, ".idea"));
	bool won = must_be_closed(r, "placeholder removed") > 0;
	int told = notes(r);
	CHECK(told <= (won ? 1 : 0));
	CHECK((access(at(r, ".git.lnk-unknown"), F_OK) == 0) == (told == 1));
	CHECK(count(at(r, ".git")) == 0 && count(at(r, ".idea")) == 0);

	/* A repository put over the empty folder is the user's: nothing inside can do that. */
	CHECK(mkdir(at(r, "real"), 0755) == 0);
	put(r, "real/config", "x");
	CHECK(rename(at(r, "real"), at(r, ".git")) == 0);
	must_be_closed(r, "repository made");
	CHECK(notes(r) == 0);
	finish(r);
	CHECK(access(at(r, ".git/config"), F_OK) == 0);
	CHECK(access(at(r, ".idea"), F_OK) < 0);
}

static const struct err *last_note(struct run *r)
{
	CHECK(r->warden.nnotes > 0);
	return &r->warden.notes[r->warden.nnotes - 1];
}

/* Takes `rel` away and puts a file with `text` there, quicker than the warden can be, as the
 * program might. */
static void replace_quickly(struct run *r, const char *rel, const char *text)
{
	put(r, "new", text);
	CHECK(kill(r->warden.pid, SIGSTOP) == 0);
	CHECK(unlink(at(r, rel)) == 0 || rmdir(at(r, rel)) == 0);
	CHECK(rename(at(r, "new"), at(r, rel)) == 0);
	CHECK(kill(r->warden.pid, SIGCONT) == 0);
	settle(r);
}

/* What the user had: only a name that was gone for a moment is worth a note. */
static void replaced_pins(struct run *r)
{
	put(r, ".envrc", "old");
	guard(r, ".envrc", WARDEN_PIN);
	guard(r, "secret", WARDEN_COVER);
	r->program = idle;
	start(r);
	put(r, "new", "new");
	CHECK(rename(at(r, "new"), at(r, ".envrc")) == 0);
	settle(r);
	replace_quickly(r, "secret", "x");
	CHECK(notes(r) == 0);
	replace_quickly(r, ".envrc", "new");
	CHECK(notes(r) == 1);
	CHECK(strstr(last_note(r)->msg, "/.envrc was removed and made anew while") != NULL);
	CHECK(strstr(last_note(r)->hint, "it was left: look at") != NULL);
	CHECK(access(at(r, ".envrc"), F_OK) == 0);
	finish(r);
}

/* What a placeholder held: whatever came quickly is set aside, until the user has put something
 * there. */
static void replaced_placeholders(struct run *r)
{
	CHECK(mkdir(at(r, "sub"), 0755) == 0);
	guard(r, ".envrc", WARDEN_PIN);
	guard(r, "sub/.git", WARDEN_PIN);
	r->names[0].from = (struct origin){.file = "app.toml", .line = 6, .col = 9};
	r->program = idle;
	start(r);
	replace_quickly(r, ".envrc", "evil");
	CHECK(notes(r) == 1);
	CHECK(strstr(last_note(r)->msg, "/.envrc was made while the program ran") != NULL);
	CHECK(strstr(last_note(r)->hint, "set aside as .envrc.lnk-unknown:") != NULL);
	CHECK(last_note(r)->line == 6);
	CHECK(count(at(r, ".envrc")) == 0);
	replace_quickly(r, ".envrc", "evil");
	CHECK(notes(r) == 1);
	CHECK(access(at(r, ".envrc.lnk-unknown-1"), F_OK) == 0);

	/* What the user puts over it in one step is his, and so is what he puts there later. */
	CHECK(mkdir(at(r, "mine"), 0755) == 0);
	CHECK(rename(at(r, "mine"), at(r, ".envrc")) == 0);
	settle(r);
	CHECK(notes(r) == 0);
	replace_quickly(r, ".envrc", "whose");
	CHECK(notes(r) == 1);
	CHECK(access(at(r, ".envrc"), F_OK) == 0 && count(at(r, ".envrc")) < 0);

	/* The folder on the way is taken away, and another comes with something in it. */
	CHECK(mkdir(at(r, "bus"), 0755) == 0 && mkdir(at(r, "bus/.git"), 0755) == 0);
	put(r, "bus/.git/config", "evil");
	CHECK(kill(r->warden.pid, SIGSTOP) == 0);
	CHECK(rename(at(r, "sub"), at(r, "old")) == 0 && rename(at(r, "bus"), at(r, "sub")) == 0);
	CHECK(kill(r->warden.pid, SIGCONT) == 0);
	settle(r);
	CHECK(notes(r) == 1);
	CHECK(access(at(r, "sub/.git.lnk-unknown/config"), F_OK) == 0);
	CHECK(count(at(r, "sub/.git")) == 0);
	finish(r);
	CHECK(count(at(r, "sub")) == 1);
}

static void pinned_link(struct run *r)
{
	CHECK(mkdir(at(r, "real"), 0555) == 0);
	CHECK(symlink("real", at(r, ".vscode")) == 0);
	guard(r, ".vscode", WARDEN_PIN);
	r->program = maker;
	r->path = at(r, ".vscode");
	start(r);
	SOON(r->shared->tries > 100);
	CHECK(r->shared->hits == 0);
	CHECK(symlink("other", at(r, "new")) == 0);
	CHECK(rename(at(r, "new"), at(r, ".vscode")) == 0);
	must_be_closed(r, "link replaced");
	finish(r);
}

static void anchors_hold(struct run *r)
{
	CHECK(mkdir(at(r, "a"), 0755) == 0);
	guard(r, "a", WARDEN_ANCHOR);
	guard(r, "a/.git", WARDEN_PIN);
	r->program = anchor_mover;
	start(r);
	SOON(r->shared->tries > 100);
	CHECK(r->shared->hits == 0);
	CHECK(rename(at(r, "a"), at(r, "b")) == 0);
	CHECK(mkdir(at(r, "a"), 0755) == 0);
	must_be_closed(r, "anchor replaced");
	CHECK(access(at(r, "a/.git"), F_OK) == 0);
	finish(r);
}

/* clang-format off */
#define EACH(X)                                                                                    \
	X(pins) X(replaced_pins) X(replaced_placeholders) X(pinned_link) X(anchors_hold)
/* clang-format on */

EACH(WARDEN_TEST)

int main(void)
{
	const struct CMUnitTest tests[] = {EACH(WARDEN_ENTRY)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
