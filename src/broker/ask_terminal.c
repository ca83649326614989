/* The question on the run's own terminal, which the program writes to and reads from as well. So:
 * only while it is in cooked mode, where no program reads keys one by one; on the terminal's other
 * screen, behind what the program has drawn and without its colours and modes; what was typed
 * before is thrown away; "y" or "yes" alone on a line is yes. That nothing typed is made up by the
 * program is the seccomp filter's part (TIOCSTI). */
#include "broker/ask.h"

#include "base/clock.h"
#include "base/str.h"
#include "broker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Between the question and the first key that counts, so that a line typed for the program is no
 * answer. */
#define SETTLE_MS 500L

/* Longer lines are no yes. */
#define LINE_BYTES 64

/* ECMA-48 and xterm's: the other screen, plain colours, ASCII, no scroll region, wrapping lines, a
 * cursor that is seen; then an empty screen. And back. */
#define SCREEN_ENTER "\033[?1049h\033[0m\033(B\017\033[r\033[?6l\033[?7h\033[?25h\033[H\033[2J"
#define SCREEN_LEAVE "\033[H\033[2J\033[?1049l"

int ask_terminal_open(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

bool ask_terminal_cooked(int terminal)
{
	const tcflag_t cooked = ICANON | ECHO;
	struct termios modes;

	return tcgetattr(terminal, &modes) == 0 && (modes.c_lflag & cooked) == cooked;
}

/* As far as it goes: a terminal that takes nothing is not asked on. */
static bool show(const struct ask *ask, const char *text, long until, enum ask_answer *ret_why)
{
	size_t len = strlen(text);

	while (len > 0) {
		ssize_t n = write(ask->terminal, text, len);

		if (n < 0 && errno == EAGAIN) {
			if (!ask_wait(ask, ask->terminal, POLLOUT, until, ret_why)) {
				return false;
			}
			continue;
		}
		if (n < 0 && errno != EINTR) {
			*ret_why = ASK_NOBODY;
			return false;
		}
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* One line, without its newline; a longer one is cut, and is no yes. */
static bool read_line(const struct ask *ask, char out[LINE_BYTES], long until,
		      enum ask_answer *ret_why)
{
	for (;;) {
		ssize_t n;

		if (!ask_wait(ask, ask->terminal, POLLIN, until, ret_why)) {
			return false;
		}
		n = read(ask->terminal, out, LINE_BYTES - 1);
		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			continue;
		}
		/* At the end of its life a terminal reads as nothing; so does Ctrl-D. */
		if (n <= 0 || out[n - 1] != '\n') {
			*ret_why = ASK_NO;
			return false;
		}
		out[n - 1] = '\0';
		return true;
	}
}

static enum ask_answer ask_there(const struct ask *ask, const struct url *url, const char *enter,
				 long until)
{
	enum ask_answer why = ASK_NO;
	char text[ASK_TEXT_MAX + 256];
	char line[LINE_BYTES];

	snprintf(text, sizeof(text),
		 "%s%s\n\nA program in the sandbox asks to open this page in your "
		 "browser:\n\n%s\n\n",
		 enter, url->host, url->text);
	if (!show(ask, text, until, &why) ||
	    (!ask_wait(ask, -1, 0, clock_now_ms() + SETTLE_MS, &why) && why == ASK_GONE)) {
		return why;
	}
	tcflush(ask->terminal, TCIFLUSH);
	if (!show(ask, "Open it? Type y for yes: ", until, &why) ||
	    !read_line(ask, line, until, &why)) {
		/* The rest of an answer is nothing for the program. */
		tcflush(ask->terminal, TCIFLUSH);
		return why;
	}
	/* In raw mode since, a program has read or typed along. */
	bool yes = (str_eq(line, "y") || str_eq(line, "yes")) && ask_terminal_cooked(ask->terminal);
	return yes ? ASK_YES : ASK_NO;
}

/* Terminals that have nothing but lines get the question among the others. */
static bool has_screen(char *const *envp)
{
	const char *term = spawn_variable(envp, "TERM");

	return term != NULL && !str_eq(term, "dumb") && !str_eq(term, "unknown");
}

enum ask_answer ask_on_terminal(const struct ask *ask, const struct url *url, long until_ms)
{
	bool screen = has_screen(ask->envp);
	enum ask_answer ignored;
	char text[URL_MAX + 64];

	if (ask->hold != NULL) {
		(void)ask->hold(true, ask->context);
	}
	enum ask_answer answer = ask_there(ask, url, screen ? SCREEN_ENTER : "\n", until_ms);
	/* Whatever else has happened, the program's screen comes back. */
	snprintf(text, sizeof(text), "%slnk: %s: %s\n", screen ? SCREEN_LEAVE : "\n",
		 answer == ASK_YES ? "opening" : "not opened", url->text);
	(void)show(ask, text, clock_now_ms() + SETTLE_MS, &ignored);
	if (ask->hold != NULL) {
		(void)ask->hold(false, ask->context);
	}
	return answer;
}
