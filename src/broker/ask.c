/* The ways to ask. Whatever cannot be asked, is not answered in time or is answered by anything
 * else than yes, is no. */
#include "broker/ask.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "broker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- turns -------------------------------------------------------------------------------- */

/* Linux 6.3; refused before, and wanted where vm.memfd_noexec is 2. */
#define NOEXEC_SEAL 8U

/* Bytes of a file that nobody writes, locked by fcntl(2): such locks go with their process, however
 * it ends. */
enum { TURN_ASKING, TURN_WAITING };

/* How often the one who waits looks. */
#define TURN_MS 50L

int ask_turn_make(void)
{
	int fd = (int)syscall(SYS_memfd_create, "lnk-turn", MFD_CLOEXEC | NOEXEC_SEAL);

	return fd >= 0 || errno != EINVAL ? fd : memfd_create("lnk-turn", MFD_CLOEXEC);
}

static bool turn_lock(int turn, off_t at, short type)
{
	const struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	return fcntl(turn, F_SETLK, &lock) == 0;
}

/* The turn to ask; what was waited for may be over by then. */
static bool take_turn(const struct ask *ask, long until, enum ask_answer *ret_why)
{
	if (turn_lock(ask->turn, TURN_ASKING, F_WRLCK)) {
		return true;
	}
	if (!turn_lock(ask->turn, TURN_WAITING, F_WRLCK)) {
		*ret_why = ASK_BUSY;
		return false;
	}
	while (!turn_lock(ask->turn, TURN_ASKING, F_WRLCK)) {
		long soon = clock_now_ms() + TURN_MS;

		if (soon > until) {
			*ret_why = ASK_NO_TIME;
			return false;
		}
		if (!ask_wait(ask, -1, 0, soon, ret_why) && *ret_why == ASK_GONE) {
			return false;
		}
	}
	turn_lock(ask->turn, TURN_WAITING, F_UNLCK);
	return true;
}

/* --- waiting ------------------------------------------------------------------------------ */

bool ask_wait(const struct ask *ask, int fd, short events, long until_ms, enum ask_answer *ret_why)
{
	struct pollfd fds[] = {
		/* Not POLLIN: what a shim sends meanwhile is no answer. */
		{.fd = ask->client, .events = POLLRDHUP},
		{.fd = ask->end, .events = POLLIN},
		{.fd = fd, .events = events},
	};

	for (;;) {
		long left = until_ms - clock_now_ms();
		int n = poll(fds, ARRAY_LEN(fds), left > 0 ? (int)left : 0);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n > 0 && (fds[0].revents != 0 || fds[1].revents != 0)) {
			*ret_why = ASK_GONE;
			return false;
		}
		if (n > 0 && left > 0) {
			return true;
		}
		*ret_why = ASK_NO_TIME;
		return false;
	}
}

/* --- programs that ask -------------------------------------------------------------------- */

const char *ask_text(const struct url *url, char out[ASK_TEXT_MAX])
{
	snprintf(out, ASK_TEXT_MAX,
		 "%s\n\nA program in the sandbox asks to open this page in your browser:\n\n%s\n\n"
		 "Open it?",
		 url->host, url->text);
	return out;
}

/* Starts the program and waits for its exit status. -1: it cannot be started, or ended by a
 * signal; -2: *ret_why. */
static int status_of(const struct ask *ask, const char *path, const char *const *argv,
		     enum ask_answer *ret_why, long until)
{
	char *copy[16];
	siginfo_t si = {.si_pid = 0};
	auto_close int pidfd = -1;
	size_t n = 0;

	/* execve(2) takes no const; it only reads. */
	for (; n < ARRAY_LEN(copy) - 1 && argv[n] != NULL; n++) {
		memcpy(&copy[n], &argv[n], sizeof(copy[n]));
	}
	copy[n] = NULL;
	pid_t pid = spawn_watched(path, copy, ask->envp, &pidfd);
	if (pid < 0) {
		return -1;
	}
	bool ended = ask_wait(ask, pidfd, POLLIN, until, ret_why);
	if (!ended) {
		/* It leads a session of its own. */
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	while (waitid(P_PID, (id_t)pid, &si, WEXITED) < 0 && errno == EINTR) {
	}
	return !ended ? -2 : si.si_code == CLD_EXITED ? si.si_status : -1;
}

static enum ask_answer by_program(const struct ask *ask, const struct url *url, long until)
{
	const char *name = spawn_variable(ask->envp, ASK_VARIABLE);
	enum ask_answer why = ASK_NOBODY;
	char text[ASK_TEXT_MAX];
	char path[PATH_MAX];

	if (!spawn_find(name, ask->envp, path)) {
		return ASK_NOBODY;
	}
	const char *const argv[] = {name, ask_text(url, text), NULL};
	int status = status_of(ask, path, argv, &why, until);
	return status == -2 ? why : status == 0 ? ASK_YES : ASK_NO;
}

/* Each says no by 1 (kdialog 2, too); every other status is one that could not ask. */
static enum ask_answer by_dialog(const struct ask *ask, const struct url *url, long until)
{
	enum ask_answer why = ASK_NOBODY;
	char text[ASK_TEXT_MAX];
	char path[PATH_MAX];

	ask_text(url, text);
	const char *const zenity[] = {"zenity",
				      "--question",
				      "--no-markup",
				      "--default-cancel",
				      "--title=lnk",
				      "--width=640",
				      "--ok-label=Open",
				      "--cancel-label=Do not open",
				      "--text",
				      text,
				      NULL};
	const char *const kdialog[] = {"kdialog", "--title", "lnk", "--yesno", text, NULL};
	const char *const *const dialogs[] = {zenity, kdialog};

	for (size_t i = 0; i < ARRAY_LEN(dialogs); i++) {
		if (!spawn_find(dialogs[i][0], ask->envp, path)) {
			continue;
		}
		int status = status_of(ask, path, dialogs[i], &why, until);
		if (status >= 0 && status <= 2) {
			return status == 0 ? ASK_YES : ASK_NO;
		}
		if (status == -2) {
			return why;
		}
	}
	return ASK_NOBODY;
}

static bool has_desktop(char *const *envp)
{
	return spawn_variable(envp, "DISPLAY") != NULL ||
	       spawn_variable(envp, "WAYLAND_DISPLAY") != NULL;
}

static bool terminal_fits(const struct ask *ask)
{
	return ask->terminal >= 0 && ask->foreground && ask_terminal_cooked(ask->terminal);
}

enum ask_answer ask_user(const struct ask *ask, const struct url *url)
{
	long until = clock_now_ms() + ask->ms;
	enum ask_answer answer = ASK_NOBODY;
	bool program = spawn_variable(ask->envp, ASK_VARIABLE) != NULL;

	/* No reading from the terminal stops whoever is not of its session. */
	setsid();
	if (!take_turn(ask, until, &answer)) {
		return answer;
	}
	if (program) {
		answer = by_program(ask, url, until);
	} else {
		if (has_desktop(ask->envp)) {
			answer = by_dialog(ask, url, until);
		}
		if (answer == ASK_NOBODY && terminal_fits(ask)) {
			answer = ask_on_terminal(ask, url, until);
		}
	}
	turn_lock(ask->turn, TURN_ASKING, F_UNLCK);
	return answer;
}

/* --- opening ------------------------------------------------------------------------------ */

/* $BROWSER may hold a list, or a command with "%s" for the address: those are for a shell. */
static bool own_browser(char *const *envp, char out[PATH_MAX])
{
	const char *name = spawn_variable(envp, "BROWSER");

	return name != NULL && strpbrk(name, "%: \t\n\"'") == NULL && spawn_find(name, envp, out);
}

bool ask_open(const struct url *url, char *const *envp, struct err *err)
{
	static const char *const openers[] = {"xdg-open", "wslview"};
	char path[PATH_MAX];
	char text[URL_MAX + 1];
	bool found = own_browser(envp, path);

	for (size_t i = 0; i < ARRAY_LEN(openers) && !found; i++) {
		found = spawn_find(openers[i], envp, path);
	}
	if (!found) {
		err_set(err, ERR_NOT_FOUND, 0, "there is no browser to open it with");
		return err_hint(err,
				"set BROWSER to your browser's program, or open it yourself: %s",
				url->text);
	}
	memcpy(text, url->text, sizeof(text));
	char *const argv[] = {path, text, NULL};
	return spawn_detached(path, argv, envp) ||
	       err_set(err, ERR_NOT_PERMITTED, errno, "cannot start %s", path);
}
