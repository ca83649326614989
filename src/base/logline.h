/* Lines of --log: one JSON object each (RFC 8259), written whole by whoever decides something. What
 * stands in them is hostile: everything is made printable and cut to its share of a line. */
#ifndef LNK_BASE_LOGLINE_H
#define LNK_BASE_LOGLINE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line with its newline. A pipe takes so much in one piece, and without waiting when it takes
 * anything at all (pipe(7)). */
#define LOGLINE_MAX 4096

/* The largest share of one text, in bytes of JSON without the quotes. Whoever makes a line gives
 * shares that fit together; what does not fit is left out. */
#define LOGLINE_SHARE_MAX 2048
/* The share of logline_origin. */
#define LOGLINE_ORIGIN_SHARE 300

struct logline {
	char v[LOGLINE_MAX];
	size_t n;
};

/* An empty line gets its brace and "time", RFC 3339 in UTC. */
void logline_begin(struct logline *line);

/* A text of at most `share` bytes, "..." behind it where it was cut; null for NULL. */
void logline_text(struct logline *line, const char *key, const char *value, size_t share);
void logline_number(struct logline *line, const char *key, uint64_t value);
/* "app.toml:12", "--host", or null. `from` may be NULL. */
void logline_origin(struct logline *line, const char *key, const struct origin *from);

void logline_end(struct logline *line);

struct logfile {
	int fd;        /* borrowed; O_APPEND; -1: no log */
	bool regular;  /* a file that never makes a writer wait */
	bool broken;   /* the last line was cut: the next begins with a newline */
	uint64_t gap;  /* lines lost since the last one that was written */
	uint64_t lost; /* in all */
};

/* Before the process confines itself: the time zone's file is read here. */
void logfile_init(struct logfile *log, int fd);

/* Writes an ended line with one write(2). A full disk, and a pipe that nobody reads, lose lines.
 * They are counted, and {"time", "lost": N} stands in their place as soon as one can be written
 * again: a program that fills the disk for a moment does not hide that it called. */
void logfile_write(struct logfile *log, const struct logline *line);

#endif
