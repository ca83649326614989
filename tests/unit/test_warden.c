/* The warden for real: names covered in a sandbox of their own, taken away from outside in every
 * way, closed again. Each as an ordinary user, and as root when this is. */
#include "warden_kit.h"

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
		r->shared->ticks++;
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

static void without_warden(struct run *r)
{
	put(r, "secret", "old");
	put(r, "new", "new");
	guard(r, "secret", WARDEN_COVER);
	r->no_warden = true;
	r->program = spy;
	r->path = at(r, "secret");
	start(r);
	SOON(r->shared->tries > 100);
	CHECK(r->shared->hits == 0);
	CHECK(rename(at(r, "new"), at(r, "secret")) == 0);
	/* The attack works where nobody watches: the tests below can fail. */
	long tries = r->shared->tries;
	SOON(r->shared->tries > tries + 1000);
	CHECK(r->shared->hits > 900);
	finish(r);
}

static void cover_file(struct run *r)
{
	put(r, "secret", "old");
	guard(r, "secret", WARDEN_COVER);
	r->program = spy;
	r->path = at(r, "secret");
	start(r);
	SOON(r->shared->tries > 100);
	CHECK(r->shared->hits == 0);
	/* Quickly, too: the best of a few, the machine may be busy. */
	long best = LONG_MAX;
	for (int i = 0; i < 5; i++) {
		put(r, "new", "new");
		CHECK(rename(at(r, "new"), at(r, "secret")) == 0);
		must_be_closed(r, "renamed over");
		best = r->open_us < best ? r->open_us : best;
	}
	CHECK(best < CLOSED_WITHIN_US);
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
	int saved = 0;
	for (int i = 0; i < 50 && saved < 3; i++) {
		long began = now_us();
		CHECK(rename(at(r, "secret"), at(r, "secret~")) == 0);
		usleep(10 * 1000);
		int fd = open(at(r, "secret"), O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0) {
			/* Only when this process slept too long. */
			CHECK(errno == EEXIST && now_us() - began > 40 * 1000);
			CHECK(rmdir(at(r, "secret")) == 0);
			put(r, "secret", "new");
		} else {
			CHECK(write(fd, "new", 3) == 3);
			close(fd);
			saved++;
		}
		CHECK(unlink(at(r, "secret~")) == 0);
		must_be_closed(r, "saved slowly");
	}
	CHECK(saved == 3);
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

static void many_changes(struct run *r)
{
	put(r, "secret", "old");
	guard(r, "secret", WARDEN_COVER);
	guard(r, ".git", WARDEN_PIN);
	r->program = mount_counter;
	start(r);
	SOON(r->shared->mounts > 0);
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
	settle(r);
	SOON(r->shared->mounts == before);
	finish(r);
	CHECK(count(r->work) == 1);
}

static void jobs_stay_stopped(struct run *r)
{
	put(r, "secret", "old");
	guard(r, "secret", WARDEN_COVER);
	r->program = job_control;
	start(r);
	SOON(r->shared->pid != 0);
	for (int i = 0; i < 3; i++) {
		long ticks = r->shared->ticks;

		put(r, "new", "new");
		CHECK(rename(at(r, "new"), at(r, "secret")) == 0);
		settle(r);
		SOON(r->shared->ticks > ticks + 20);
		CHECK(r->shared->hits == 0);
	}
	finish(r);
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

/* clang-format off */
#define EACH(X)                                                                                    \
	X(without_warden) X(cover_file) X(cover_folder) X(slow_editor) X(folder_on_the_way)        \
	X(many_changes) X(jobs_stay_stopped) X(costs)
/* clang-format on */

EACH(WARDEN_TEST)

int main(void)
{
	const struct CMUnitTest tests[] = {EACH(WARDEN_ENTRY)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
