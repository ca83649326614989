/* Asking the user whether a page may be opened, and opening it in the user's own browser. */
#ifndef LNK_BROKER_ASK_H
#define LNK_BROKER_ASK_H

#include "base/err.h"
#include "broker/url.h"

#include <stdbool.h>

/* How long a question stands; then it is answered by no. */
#define ASK_MS 120000L

/* The variable that names a program to ask with: its one argument is the question, exit status 0
 * is yes. */
#define ASK_VARIABLE "LNK_ASKPASS"

enum ask_answer {
	ASK_YES,
	ASK_NO,
	ASK_NO_TIME, /* nobody answered in time */
	ASK_NOBODY,  /* there is no way to ask */
	ASK_BUSY,    /* one question stands and another waits already */
	ASK_GONE     /* whoever wanted it is gone, or the run is over */
};

/* Stops the run while a question stands on its terminal, so that nothing there can write over it;
 * false when that cannot be done, and the question is put all the same. */
typedef bool ask_hold(bool held, void *context);

struct ask {
	char *const *envp; /* the user's own environment */
	int terminal;      /* the supervisor's (ask_terminal_open); -1: none */
	bool foreground;   /* the terminal is the run's at this moment, not another job's */
	int turn;          /* ask_turn_make */
	int client;        /* a socket: its other end is closed when the asker is gone */
	int end;           /* readable when the run is over; -1: none */
	long ms;           /* ASK_MS, but for tests */
	ask_hold *hold;    /* may be NULL */
	void *context;     /* of hold */
};

/* Asks, by $LNK_ASKPASS; else by a dialog (zenity, kdialog) where there is a desktop; else on the
 * terminal, where that is in cooked mode. Host first, on a line of its own, then the whole address.
 * One question at a time, and one that waits. In a process that leads no group: it leaves the
 * session, so that the terminal's job control does not touch it. */
enum ask_answer ask_user(const struct ask *ask, const struct url *url);

/* What all processes that may ask share; close-on-exec. -1 with errno. */
int ask_turn_make(void);

/* The terminal of this process, close-on-exec and non-blocking, an open file of its own. -1: there
 * is none. */
int ask_terminal_open(void);

/* Opens the page by $BROWSER, where that is the name or path of a program and nothing else, else by
 * xdg-open or wslview, with the address as its one argument. It lives on after the run. False: err
 * says why. */
bool ask_open(const struct url *url, char *const *envp, struct err *err);

/* --- inside ask*.c --------------------------------------------------------------------------- */

/* The question for dialogs and programs. */
#define ASK_TEXT_MAX (HOST_MAX + URL_MAX + 256)
const char *ask_text(const struct url *url, char out[ASK_TEXT_MAX]);

/* Waits until `fd` has one of `events`: true. False: *ret_why is ASK_GONE or ASK_NO_TIME. `fd` -1
 * waits for those alone. */
bool ask_wait(const struct ask *ask, int fd, short events, long until_ms, enum ask_answer *ret_why);

/* True for a terminal that reads whole lines and shows them. */
bool ask_terminal_cooked(int terminal);
enum ask_answer ask_on_terminal(const struct ask *ask, const struct url *url, long until_ms);

#endif
