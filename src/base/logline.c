#include "base/logline.h"

#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static_assert(LOGLINE_MAX <= PIPE_BUF, "a line goes into a pipe whole");

/* A longer name of a spec's file loses its beginning. It is printable (struct spec); JSON doubles
 * its bytes at most, so that the line's number always fits into LOGLINE_ORIGIN_SHARE. */
#define FILE_SHOWN 130

static void raw(struct logline *line, const char *s, size_t len)
{
	if (len <= sizeof(line->v) - line->n) {
		memcpy(line->v + line->n, s, len);
		line->n += len;
	}
}

static void raw_text(struct logline *line, const char *s)
{
	raw(line, s, strlen(s));
}

void logline_number(struct logline *line, const char *key, uint64_t value)
{
	char text[64];
	int n = snprintf(text, sizeof(text), ",\"%s\":%" PRIu64, key, value);

	raw(line, text, (size_t)n);
}

/* Where a copy of at most `max` bytes of UTF-8 ends: not within a character. */
static size_t cut_at(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n <= max) {
		return n;
	}
	for (n = max; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; n--) {
	}
	return n;
}

/* A JSON string of at most `share` bytes between its quotes, "..." after it where it was cut. What
 * is no printable text of UTF-8 is written as \xNN (str_printable), whose backslash JSON doubles:
 * quotes and backslashes are then all that JSON wants escaped (RFC 8259 section 7). */
static void string(struct logline *line, const char *s, size_t share)
{
	/* Printable text is at most four times as long. */
	char part[LOGLINE_SHARE_MAX + 1];
	char shown[4 * LOGLINE_SHARE_MAX + 1];
	size_t n = cut_at(s, share);
	bool cut = s[n] != '\0';
	size_t start;

	memcpy(part, s, n);
	part[n] = '\0';
	str_printable(part, shown, sizeof(shown));
	raw(line, "\"", 1);
	start = line->n;
	for (const char *p = shown; *p != '\0'; p += n) {
		bool escaped = *p == '"' || *p == '\\';

		for (n = 1; ((unsigned char)p[n] & 0xc0) == 0x80; n++) {
		}
		if (line->n - start + n + (escaped ? 1 : 0) > share) {
			cut = true;
			break;
		}
		if (escaped) {
			raw(line, "\\", 1);
		}
		raw(line, p, n);
	}
	raw_text(line, cut ? "...\"" : "\"");
}

void logline_text(struct logline *line, const char *key, const char *value, size_t share)
{
	raw_text(line, ",\"");
	raw_text(line, key);
	raw_text(line, "\":");
	if (value != NULL) {
		string(line, value, share);
	} else {
		raw_text(line, "null");
	}
}

void logline_begin(struct logline *line)
{
	struct timespec now = {.tv_sec = 0};
	struct tm tm = {.tm_year = 0};
	char text[96];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	int n = snprintf(text, sizeof(text), "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\"",
			 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			 tm.tm_sec, now.tv_nsec / 1000000L);
	raw(line, text, (size_t)n);
}

void logline_origin(struct logline *line, const char *key, const struct origin *from)
{
	char text[LOGLINE_ORIGIN_SHARE + 16];

	if (from == NULL || (from->file == NULL && from->flag == NULL)) {
		logline_text(line, key, NULL, 0);
	} else if (from->file == NULL) {
		logline_text(line, key, from->flag, LOGLINE_ORIGIN_SHARE);
	} else {
		size_t len = strlen(from->file);
		size_t skip = len > FILE_SHOWN ? len - FILE_SHOWN : 0;

		snprintf(text, sizeof(text), "%s%s:%u", skip > 0 ? "..." : "", from->file + skip,
			 from->line);
		logline_text(line, key, text, LOGLINE_ORIGIN_SHARE);
	}
}

void logline_end(struct logline *line)
{
	raw(line, "}\n", 2);
}

/* --- the file ----------------------------------------------------------------------------- */

void logfile_init(struct logfile *log, int fd)
{
	struct stat st;
	struct tm tm;

	/* The first call reads the time zone's file. */
	gmtime_r(&(time_t){0}, &tm);
	log->fd = fd;
	log->regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	log->broken = false;
	log->gap = log->lost = 0;
}

/* True when a write does not wait for a reader: the log may be a pipe or a terminal. */
static bool ready(const struct logfile *log)
{
	struct pollfd p = {.fd = log->fd, .events = POLLOUT};

	return log->regular || (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0);
}

/* True when it is there as a whole. */
static bool write_line(struct logfile *log, const struct logline *line)
{
	/* A newline that ends what was cut, and the line, in one piece. */
	char all[LOGLINE_MAX + 1] = "\n";
	const char *from = log->broken ? all : all + 1;
	ssize_t n;

	if (!ready(log)) {
		return false;
	}
	memcpy(all + 1, line->v, line->n);
	size_t len = line->n + (log->broken ? 1 : 0);
	do {
		n = write(log->fd, from, len);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		log->broken = (size_t)n < len;
	}
	return n == (ssize_t)len;
}

static bool write_gap(struct logfile *log)
{
	struct logline line = {.n = 0};

	logline_begin(&line);
	logline_number(&line, "lost", log->gap);
	logline_end(&line);
	return write_line(log, &line);
}

void logfile_write(struct logfile *log, const struct logline *line)
{
	if (log->fd < 0) {
		return;
	}
	if (log->gap > 0 && write_gap(log)) {
		log->gap = 0;
	}
	if (log->gap > 0 || !write_line(log, line)) {
		log->gap++;
		log->lost++;
	}
}
