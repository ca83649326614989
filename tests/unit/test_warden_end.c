/* How a run ends when something is killed, fails, or ends as it should: nothing is left. */
#include "warden_kit.h"

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
	SOON(r->shared->started == 1);
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
	CHECK(rmdir(at(r, ".idea")) == 0);
	SOON(access(at(r, ".idea"), F_OK) == 0);
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

/* clang-format off */
#define EACH(X)                                                                                    \
	X(removed_while_init_ends) X(link_ends_the_run) X(set_up_fails) X(warden_killed)           \
	X(supervisor_killed) X(all_killed) X(deaf_to_the_terminal)
/* clang-format on */

EACH(WARDEN_TEST)

int main(void)
{
	const struct CMUnitTest tests[] = {EACH(WARDEN_ENTRY)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
