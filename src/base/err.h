/* The one error type. Functions that can fail take a `struct err *` last and return false after
 * filling it; a true return never touches it. The struct holds no pointers, so that a child can
 * write it whole into a pipe. Nothing but main.c prints one. */
#ifndef LNK_BASE_ERR_H
#define LNK_BASE_ERR_H

#include <stdbool.h>

/* What kind of failure; main.c's table turns it into an exit status. */
enum err_code {
	ERR_USAGE = 1,     /* a flag or operand of the command line */
	ERR_SPEC,          /* the spec file, or a value a flag gives for one of its keys */
	ERR_SETUP,         /* lnk itself failed before the program ran */
	ERR_NOT_PERMITTED, /* PROGRAM may not run */
	ERR_NOT_FOUND,     /* PROGRAM does not exist */
	ERR_GATE,          /* the gate ended before the program ran; it knows why */
};

/* Where something was asked for: file:line:col of a spec, or a flag, or nowhere (all zero).
 * Strings are borrowed; they live as long as the arena the spec was read into. */
struct origin {
	const char *file; /* as the user named it; NULL when not from a file */
	const char *flag; /* "--write"; NULL when not from a flag */
	unsigned line;    /* 1-based; 0 when unknown */
	unsigned col;     /* 1-based, in characters (Unicode code points) */
};

/* Longer texts are cut, never overrun; a path of 4,096 bytes does not fit and need not. */
struct err {
	enum err_code code;
	int sys;          /* errno value, 0 when none */
	unsigned line;    /* as in struct origin */
	unsigned col;     /* as in struct origin */
	char file[256];   /* file, or flag ("--tcp"); empty when there is none */
	char msg[768];    /* one sentence without a full stop, no newline */
	char hint[512];   /* what to do instead; may be empty */
	char source[256]; /* the line of the spec, for the caret; may be empty */
};

/* How many errors of one file are reported at once. */
#define ERR_LIST_MAX 20

/* Several errors of one input. `total` counts those that no longer fitted, too. */
struct err_list {
	struct err v[ERR_LIST_MAX];
	unsigned n;
	unsigned total;
};

/* Fills `err` (position and hint emptied). `sys` is an errno value or 0; its text is appended
 * to the message. Always returns false, so that `return err_set(...)` reads well. */
bool err_set(struct err *err, enum err_code code, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds where it was asked for. Returns false. */
bool err_at(struct err *err, const struct origin *from);

/* Adds what to do instead, replacing an earlier hint. Returns false. */
bool err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the message of a filled `err`. Returns false. */
bool err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The next free slot of a list, counted as used; the last slot again when the list is full.
 * Never NULL. */
struct err *err_list_next(struct err_list *list);

#endif
