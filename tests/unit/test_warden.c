/* The warden for real: names covered in a sandbox of their own, taken away from outside in every
 * way, closed again; and processes killed. Each as an ordinary user, and as root when this is. */
#include "warden_kit.h"

/* Programs. */

/* Reads r->path over and over. */
static void spy(struct run *r)
{
	while (r->shared->stop == 0) {
		char c;
		long t = now_us();
		int fd = open(r->path, O_RDONLY);

		r->shared->tries++;
		if (fd >= 0 && read(fd, &c, 1) == 1) {
			hit(r, t);
		}
		close(fd);
	}
}

/* Makes r->path, or something in it, over and over. */
static void maker(struct run *r)
{
	char inner[PATH_MAX];

	snprintf(inner, sizeof(inner), "%s/hooks", r->path);
	while (r->shared->stop == 0) {
		long t = now_us();

		r->shared->tries++;
		if (mkdir(r->path, 0755) == 0 || mkdir(inner, 0755) == 0) {
			hit(r, t);
		}
		if (rename(r->path, inner) == 0 || unlink(r->path) == 0 || rmdir(r->path) == 0) {
			hit(r, t);
		}
	}
}

static void idle(struct run *r)
{
	while (r->shared->stop == 0) {
		usleep(500);
		r->shared->ticks++;
	}
}

static int mount_count(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	int n = 0;

	for (int c; f != NULL && (c = fgetc(f)) != EOF;) {
		n += c == '\n' ? 1 : 0;
	}
	fclose(f);
	return n;
}

static void mount_counter(struct run *r)
{
	while (r->shared->stop == 0) {
		r->shared->mounts = mount_count();
		usleep(1000);
	}
}

/* A job that its shell has stopped, beside one that runs. */
static void job_control(struct run *r)
{
	pid_t stopped = fork();

	if (stopped == 0) {
		for (;;) {
			usleep(500);
			r->shared->hits++;
		}
	}
	kill(stopped, SIGSTOP);
	waitpid(stopped, NULL, WUNTRACED);
	r->shared->hits = 0;
	r->shared->pid = stopped;
	idle(r);
	kill(stopped, SIGCONT);
	for (int i = 0; i < 1000 && r->shared->hits == 0; i++) {
		usleep(1000);
	}
	_exit(r->shared->hits > 0 ? 0 : 7);
}

/* The name was changed outside at about this moment: it must be closed soon, and stay so. */
static long must_be_closed(struct run *r, const char *what)
{
	long changed = now_us();

	usleep(CLOSED_WITHIN_US);
	long hits = r->shared->hits;
	long tries = r->shared->tries;
	long last = r->shared->last_us;
	usleep(50 * 1000);
	CHECK(r->shared->tries > tries + 10);
	CHECK(r->shared->hits == hits);
	printf("# %s: open until %ld us after, %ld tries got through\n", what,
	       hits > 0 ? last - changed : 0, hits);
	fflush(stdout);
	r->shared->hits = 0;
	return hits;
}

/* Notes that have come since the last time. */
static int notes(struct run *r)
{
	struct err err;
	int n = 0;

	for (;;) {
		switch (warden_read(&r->warden, &err)) {
		case WARDEN_NONE:
			return n;
		case WARDEN_READY:
			break;
		case WARDEN_NOTE:
			CHECK(r->warden.nnotes > 0);
			n++;
			break;
		case WARDEN_FAILED:
		case WARDEN_DONE:
		case WARDEN_GONE:
			CHECK(!"the run goes on");
		}
	}
}

/* Tests. */

static void without_warden(struct run *r)
{
	put(r, "secret", "old");
	put(r, "new", "new");
	guard(r, "secret", WARDEN_COVER);
	r->no_warden = true;
	r->program = spy;
	r->path = at(r, "secret");
	start(r);
	usleep(20 * 1000);
	CHECK(r->shared->tries > 0 && r->shared->hits == 0);
	CHECK(rename(at(r, "new"), at(r, "secret")) == 0);
	usleep(CLOSED_WITHIN_US);
	/* The attack works where nobody watches: the tests below can fail. */
	CHECK(r->shared->hits > 0);
	finish(r);
}

static void cover_file(struct run *r)
{
	put(r, "secret", "old");
	guard(r, "secret", WARDEN_COVER);
	r->program = spy;
	r->path = at(r, "secret");
	start(r);
	usleep(10 * 1000);
	CHECK(r->shared->tries > 0 && r->shared->hits == 0);

	put(r, "new", "new");
	CHECK(rename(at(r, "new"), at(r, "secret")) == 0);
	must_be_closed(r, "renamed over");
	CHECK(unlink(at(r, "secret")) == 0);
	put(r, "secret", "again");
	must_be_closed(r, "made anew");
	CHECK(unlink(at(r, "secret")) == 0);
	must_be_closed(r, "deleted");
	CHECK(count(at(r, "secret")) == 0);
	CHECK(rmdir(at(r, "secret")) == 0);
	put(r, "secret", "file again");
	must_be_closed(r, "placeholder replaced");
	CHECK(symlink("/proc/self/status", at(r, "link")) == 0);
	CHECK(rename(at(r, "link"), at(r, "secret")) == 0);
	must_be_closed(r, "replaced by a link");
	finish(r);
	CHECK(count(r->work) == 1);
}

static void cover_folder(struct run *r)
{
	CHECK(mkdir(at(r, "secrets"), 0700) == 0);
	put(r, "secrets/key", "old");
	guard(r, "secrets", WARDEN_COVER);
	r->program = spy;
	r->path = at(r, "secrets/key");
	start(r);
	CHECK(rename(at(r, "secrets"), at(r, "aside")) == 0);
	CHECK(mkdir(at(r, "secrets"), 0700) == 0);
	put(r, "secrets/key", "new");
	must_be_closed(r, "folder replaced");
	/* What was moved aside takes its cover along. */
	CHECK(rename(at(r, "aside/key"), at(r, "aside/key2")) == 0);
	CHECK(mkdir(at(r, "empty"), 0700) == 0);
	CHECK(rename(at(r, "secrets"), at(r, "aside2")) == 0);
	must_be_closed(r, "folder moved away");
	CHECK(rename(at(r, "aside2"), at(r, "secrets")) == 0);
	must_be_closed(r, "folder moved back");
	finish(r);
	CHECK(access(at(r, "secrets/key"), F_OK) == 0);
}

/* Moves the old file aside and writes a new one after a while, as some editors save. */
static void slow_editor(struct run *r)
{
	put(r, "secret", "old");
	guard(r, "secret", WARDEN_COVER);
	r->program = spy;
	r->path = at(r, "secret");
	start(r);
	for (int i = 0; i < 5; i++) {
		CHECK(rename(at(r, "secret"), at(r, "secret~")) == 0);
		usleep(10 * 1000);
		int fd = open(at(r, "secret"), O_CREAT | O_EXCL | O_WRONLY, 0644);
		CHECK(fd >= 0);
		CHECK(write(fd, "new", 3) == 3);
		close(fd);
		CHECK(unlink(at(r, "secret~")) == 0);
		must_be_closed(r, "saved slowly");
	}
	finish(r);
}

static void pins(struct run *r)
{
	guard(r, ".git", WARDEN_PIN);
	guard(r, ".idea", WARDEN_PIN);
	r->program = maker;
	r->path = at(r, ".git");
	start(r);
	usleep(10 * 1000);
	CHECK(r->shared->tries > 0 && r->shared->hits == 0);
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
	usleep(CLOSED_WITHIN_US);
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
	usleep(CLOSED_WITHIN_US);
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

	/* The user takes his time: it is his. */
	CHECK(rmdir(at(r, ".envrc")) == 0);
	usleep(10 * 1000);
	put(r, ".envrc", "mine");
	usleep(CLOSED_WITHIN_US);
	put(r, "new", "mine");
	CHECK(rename(at(r, "new"), at(r, ".envrc")) == 0);
	usleep(CLOSED_WITHIN_US);
	CHECK(notes(r) == 0);
	replace_quickly(r, ".envrc", "whose");
	CHECK(notes(r) == 1);
	CHECK(access(at(r, ".envrc"), F_OK) == 0);

	/* The folder on the way is taken away, and another comes with something in it. */
	CHECK(mkdir(at(r, "bus"), 0755) == 0 && mkdir(at(r, "bus/.git"), 0755) == 0);
	put(r, "bus/.git/config", "evil");
	CHECK(kill(r->warden.pid, SIGSTOP) == 0);
	CHECK(rename(at(r, "sub"), at(r, "old")) == 0 && rename(at(r, "bus"), at(r, "sub")) == 0);
	CHECK(kill(r->warden.pid, SIGCONT) == 0);
	usleep(CLOSED_WITHIN_US);
	CHECK(notes(r) == 1);
	CHECK(access(at(r, "sub/.git.lnk-unknown/config"), F_OK) == 0);
	CHECK(count(at(r, "sub/.git")) == 0);
	finish(r);
	CHECK(count(at(r, "sub")) == 1);
}

static void removed_while_init_ends(struct run *r)
{
	int status;

	guard(r, ".git", WARDEN_PIN);
	r->program = idle;
	r->shared->linger_us = 300 * 1000;
	start(r);
	CHECK(count(r->work) == 1);
	r->shared->stop = 1;
	for (int i = 0; i < 100 && count(r->work) > 0; i++) {
		usleep(1000);
	}
	CHECK(count(r->work) == 0);
	CHECK(waitpid(r->init, &status, WNOHANG) == 0);
	warden_finish(&r->warden);
	CHECK(records(r) == 0);
	CHECK(waitpid(r->init, &status, WNOHANG) == 0);
	CHECK(waitpid(r->init, &status, 0) == r->init && WIFEXITED(status));
}

static void pinned_link(struct run *r)
{
	CHECK(mkdir(at(r, "real"), 0555) == 0);
	CHECK(symlink("real", at(r, ".vscode")) == 0);
	guard(r, ".vscode", WARDEN_PIN);
	r->program = maker;
	r->path = at(r, ".vscode");
	start(r);
	usleep(10 * 1000);
	CHECK(r->shared->tries > 0 && r->shared->hits == 0);
	CHECK(symlink("other", at(r, "new")) == 0);
	CHECK(rename(at(r, "new"), at(r, ".vscode")) == 0);
	must_be_closed(r, "link replaced");
	finish(r);
}

static void folder_on_the_way(struct run *r)
{
	CHECK(mkdir(at(r, "a"), 0755) == 0 && mkdir(at(r, "a/b"), 0755) == 0);
	put(r, "a/b/secret", "old");
	guard(r, "a", WARDEN_ANCHOR);
	guard(r, "a/b", WARDEN_ANCHOR);
	guard(r, "a/b/secret", WARDEN_COVER);
	r->program = spy;
	r->path = at(r, "a/b/secret");
	start(r);
	CHECK(rename(at(r, "a"), at(r, "old")) == 0);
	CHECK(mkdir(at(r, "a"), 0755) == 0 && mkdir(at(r, "a/b"), 0755) == 0);
	put(r, "a/b/secret", "new");
	must_be_closed(r, "folder above replaced");
	put(r, "new", "new");
	CHECK(rename(at(r, "new"), at(r, "a/b/secret")) == 0);
	must_be_closed(r, "renamed over in the new folder");
	CHECK(rename(at(r, "a/b"), at(r, "b")) == 0);
	must_be_closed(r, "folder above moved away");
	CHECK(access(at(r, "a/b/secret"), F_OK) == 0);
	finish(r);
	CHECK(count(at(r, "a")) == 0);
}

static void anchor_mover(struct run *r)
{
	char up[PATH_MAX];
	char away[PATH_MAX];

	snprintf(up, sizeof(up), "%s/a", r->work);
	snprintf(away, sizeof(away), "%s/away", r->work);
	while (r->shared->stop == 0) {
		long t = now_us();

		r->shared->tries++;
		if (rename(up, away) == 0) {
			hit(r, t);
		}
	}
}

static void anchors_hold(struct run *r)
{
	CHECK(mkdir(at(r, "a"), 0755) == 0);
	guard(r, "a", WARDEN_ANCHOR);
	guard(r, "a/.git", WARDEN_PIN);
	r->program = anchor_mover;
	start(r);
	usleep(10 * 1000);
	CHECK(r->shared->tries > 0 && r->shared->hits == 0);
	CHECK(rename(at(r, "a"), at(r, "b")) == 0);
	CHECK(mkdir(at(r, "a"), 0755) == 0);
	must_be_closed(r, "anchor replaced");
	CHECK(access(at(r, "a/.git"), F_OK) == 0);
	finish(r);
}

static void many_changes(struct run *r)
{
	put(r, "secret", "old");
	guard(r, "secret", WARDEN_COVER);
	guard(r, ".git", WARDEN_PIN);
	r->program = mount_counter;
	start(r);
	usleep(20 * 1000);
	int before = r->shared->mounts;
	CHECK(before > 0);
	long began = now_us();
	for (int i = 0; i < 300; i++) {
		put(r, "new", "new");
		CHECK(rename(at(r, "new"), at(r, "secret")) == 0);
		if (i % 10 == 0) {
			rmdir(at(r, ".git"));
			usleep(2000);
		}
	}
	printf("# 300 changes in %ld us\n", now_us() - began);
	usleep(CLOSED_WITHIN_US);
	CHECK(r->shared->mounts == before);
	finish(r);
	CHECK(count(r->work) == 1);
}

static void jobs_stay_stopped(struct run *r)
{
	put(r, "secret", "old");
	guard(r, "secret", WARDEN_COVER);
	r->program = job_control;
	start(r);
	for (int i = 0; i < 1000 && r->shared->pid == 0; i++) {
		usleep(1000);
	}
	for (int i = 0; i < 3; i++) {
		long ticks = r->shared->ticks;

		put(r, "new", "new");
		CHECK(rename(at(r, "new"), at(r, "secret")) == 0);
		usleep(CLOSED_WITHIN_US);
		CHECK(r->shared->ticks > ticks + 20);
		CHECK(r->shared->hits == 0);
	}
	finish(r);
}

static void link_ends_the_run(struct run *r)
{
	struct err err;
	int status;

	CHECK(mkdir(at(r, "a"), 0755) == 0);
	put(r, "a/secret", "old");
	guard(r, "a/secret", WARDEN_COVER);
	guard(r, ".idea", WARDEN_PIN);
	r->names[0].from = (struct origin){.file = "app.toml", .line = 9, .col = 2};
	r->program = idle;
	start(r);
	CHECK(next_news(r, &err) == WARDEN_READY);
	CHECK(rename(at(r, "a"), at(r, "b")) == 0);
	CHECK(symlink("b", at(r, "a")) == 0);
	CHECK(next_news(r, &err) == WARDEN_FAILED);
	CHECK(strstr(err.msg, "a/secret") != NULL && strstr(err.msg, "cannot close") != NULL);
	CHECK(err.line == 9 && strstr(err.hint, "the run was ended") != NULL);
	CHECK(waitpid(r->init, &status, 0) == r->init && WIFSIGNALED(status));
	CHECK(next_news(r, &err) == WARDEN_DONE);
	warden_finish(&r->warden);
	CHECK(access(at(r, ".idea"), F_OK) < 0 && records(r) == 0);
}

static void set_up_fails(struct run *r)
{
	struct warden_config config = {r->names, 2, r->state};
	struct err err;

	guard(r, ".idea", WARDEN_PIN);
	guard(r, "x", WARDEN_COVER);
	r->names[1].path = "/none/x";
	r->names[1].base_len = 5;
	r->names[1].from = (struct origin){.file = "app.toml", .line = 4, .col = 1};
	CHECK(warden_start(&config, &r->warden, &err));
	struct warden_init inside;
	struct warden copy = r->warden;
	copy.fd = dup(copy.fd);
	copy.init_fd = dup(copy.init_fd);
	warden_init_begin(&copy, &inside);
	CHECK(!warden_init_wait(&inside, &err));
	close(inside.fd);
	CHECK(!warden_wait_ready(&r->warden, &err));
	CHECK(err.line == 4 && strstr(err.msg, "/none") != NULL);
	warden_finish(&r->warden);
	CHECK(count(r->work) == 0);
}

static void warden_killed(struct run *r)
{
	struct err err;
	int status;

	guard(r, ".idea", WARDEN_PIN);
	r->program = idle;
	start(r);
	CHECK(next_news(r, &err) == WARDEN_READY);
	CHECK(r->warden.run_fd >= 0);
	kill(r->warden.pid, SIGKILL);
	CHECK(next_news(r, &err) == WARDEN_GONE);
	/* Init sees it, too. */
	CHECK(waitpid(r->init, &status, 0) == r->init);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	/* Until the supervisor has done its part the placeholder is nobody else's to remove. */
	placeholders_sweep(r->state);
	CHECK(access(at(r, ".idea"), F_OK) == 0);
	warden_finish(&r->warden);
	CHECK(access(at(r, ".idea"), F_OK) < 0 && records(r) == 0);
}

/* Nothing of the run may live two seconds after its supervisor. */
static void must_be_over(struct run *r, bool swept)
{
	for (int i = 0;
	     i < 200 && (kill(r->shared->init, 0) == 0 || kill(r->shared->warden, 0) == 0 ||
			 (!swept && count(r->work) > 0));
	     i++) {
		usleep(10 * 1000);
	}
	CHECK(kill(r->shared->init, 0) < 0 && errno == ESRCH);
	CHECK(kill(r->shared->warden, 0) < 0 && errno == ESRCH);
	if (swept) {
		placeholders_sweep(r->state);
	}
	CHECK(count(r->work) == 0 && records(r) == 0);
}

static void as_supervisor(struct run *r)
{
	pid_t pid = fork();

	if (pid == 0) {
		start(r);
		for (;;) {
			pause();
		}
	}
	r->shared->supervisor = pid;
	for (int i = 0; i < 5000 && r->shared->started == 0; i++) {
		usleep(1000);
	}
	CHECK(r->shared->started == 1);
	usleep(5000);
	CHECK(count(r->work) == 1);
}

static void supervisor_killed(struct run *r)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGCHLD, SIG_IGN);
	guard(r, ".idea", WARDEN_PIN);
	r->program = idle;
	as_supervisor(r);
	kill(r->shared->supervisor, SIGKILL);
	must_be_over(r, false);
}

static void all_killed(struct run *r)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGCHLD, SIG_IGN);
	guard(r, ".idea", WARDEN_PIN);
	r->program = idle;
	as_supervisor(r);
	kill(r->shared->warden, SIGKILL);
	kill(r->shared->supervisor, SIGKILL);
	kill(r->shared->init, SIGKILL);
	must_be_over(r, true);
}

/* Signals of the terminal, sent to the whole job, are nothing to the warden. */
static void deaf_to_the_terminal(struct run *r)
{
	static const int signals[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGTSTP, SIGTTIN,
				      SIGTTOU, SIGUSR1, SIGALRM, SIGPIPE, SIGCONT};
	struct err err;

	guard(r, ".idea", WARDEN_PIN);
	r->program = idle;
	start(r);
	CHECK(next_news(r, &err) == WARDEN_READY);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		CHECK(kill(r->warden.pid, signals[i]) == 0);
	}
	usleep(5000);
	CHECK(rmdir(at(r, ".idea")) == 0);
	usleep(CLOSED_WITHIN_US);
	CHECK(access(at(r, ".idea"), F_OK) == 0);
	/* And it holds nothing of ours open. */
	char path[64];
	char target[64];
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)r->warden.pid, fd);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		/* Not dumpable: only root may look. */
		CHECK(n < 0 ? errno == EACCES && geteuid() != 0
			    : strncmp(target, "/dev/null", (size_t)n) == 0);
	}
	finish(r);
	CHECK(count(r->work) == 0);
}

static void costs(struct run *r)
{
	long best = LONG_MAX;
	struct warden_config config = {r->names, 4, r->state};

	CHECK(mkdir(at(r, ".git"), 0755) == 0);
	guard(r, ".git", WARDEN_PIN);
	guard(r, ".envrc", WARDEN_PIN);
	guard(r, ".vscode", WARDEN_PIN);
	guard(r, ".idea", WARDEN_PIN);
	for (int i = 0; i < 20; i++) {
		struct err err;
		long began = now_us();

		CHECK(warden_start(&config, &r->warden, &err));
		long took = now_us() - began;
		CHECK(warden_wait_ready(&r->warden, &err));
		long ready = now_us() - began;
		long end = now_us();
		warden_finish(&r->warden);
		best = took < best ? took : best;
		if (i == 19) {
			printf("# start %ld us (best %ld), ready after %ld us, end %ld us\n", took,
			       best, ready, now_us() - end);
			fflush(stdout);
		}
		CHECK(count(r->work) == 1);
	}
}

static bool user_too[2] = {false, true};

#define TEST(body)                                                                                 \
	static void test_##body(void **state)                                                      \
	{                                                                                          \
		in_child(body, *(bool *)*state);                                                   \
	}
/* clang-format off */
#define EACH(X)                                                                                    \
	X(without_warden) X(cover_file) X(cover_folder) X(slow_editor) X(pins) X(replaced_pins)    \
	X(replaced_placeholders) X(removed_while_init_ends) X(pinned_link) X(folder_on_the_way) X(anchors_hold)             \
	X(many_changes) X(jobs_stay_stopped) X(link_ends_the_run) X(set_up_fails)                  \
	X(warden_killed) X(supervisor_killed) X(all_killed) X(deaf_to_the_terminal) X(costs)
/* clang-format on */

EACH(TEST)

#define ENTRY(body)                                                                                \
	{#body " as an ordinary user", test_##body, NULL, NULL, &user_too[1]},                     \
		{#body " as who we are", test_##body, NULL, NULL, &user_too[0]},

int main(void)
{
	const struct CMUnitTest tests[] = {EACH(ENTRY)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
