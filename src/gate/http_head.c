/* Heads read. A request's is all hostile and held to the letter of RFC 9112; an answer's is put in
 * order first (head_tidy), then read by the same code. */
#include "base/str.h"
#include "gate/http_inner.h"

#include <string.h>
#include <strings.h>

/* tchar of RFC 9110 section 5.6.2. */
static bool is_token_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool head_is_token(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_token_char((unsigned char)s[i])) {
			return false;
		}
	}
	return n > 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(s, word, n) == 0;
}

enum head_scan head_scan(const unsigned char *v, size_t n, size_t *at)
{
	for (size_t i = *at; i < n; i++) {
		unsigned char c = v[i];

		if (c == '\n') {
			if (i == 0 || v[i - 1] != '\r') {
				return HEAD_BAD;
			}
			if (i >= 3 && v[i - 2] == '\n') {
				*at = i + 1;
				return HEAD_END;
			}
		} else if ((i > 0 && v[i - 1] == '\r') || (c < 0x20 && c != '\t' && c != '\r') ||
			   c == 0x7f) {
			return HEAD_BAD;
		}
	}
	*at = n;
	return HEAD_MORE;
}

enum head_scan head_scan_loose(const unsigned char *v, size_t n, size_t *at)
{
	for (size_t i = *at; i < n; i++) {
		if (v[i] == '\n' && i > 0 &&
		    (v[i - 1] == '\n' || (i > 1 && v[i - 1] == '\r' && v[i - 2] == '\n'))) {
			*at = i + 1;
			return HEAD_END;
		}
	}
	*at = n;
	return HEAD_MORE;
}

bool head_next(const char *v, size_t *at, struct head_line *line)
{
	const char *s = v + *at;
	const char *end = strchr(s, '\r');

	if (end == NULL || end == s) {
		return false;
	}
	const char *colon = memchr(s, ':', (size_t)(end - s));
	*at += (size_t)(end - s) + 2;
	line->name = s;
	line->name_len = colon != NULL ? (size_t)(colon - s) : 0;
	line->value = colon != NULL ? colon + 1 : s;
	while (line->value < end && is_space(*line->value)) {
		line->value++;
	}
	while (end > line->value && is_space(end[-1])) {
		end--;
	}
	line->value_len = (size_t)(end - line->value);
	return true;
}

enum field head_field(const struct head_line *line)
{
	/* clang-format off */
	static const struct { const char *name; unsigned char len, field; } names[] = {
		{"te", 2, FIELD_TE},
		{"host", 4, FIELD_HOST},
		{"expect", 6, FIELD_EXPECT},
		{"origin", 6, FIELD_ORIGIN},
		{"referer", 7, FIELD_REFERER},
		{"trailer", 7, FIELD_TRAILER},
		{"upgrade", 7, FIELD_UPGRADE},
		{"connection", 10, FIELD_CONNECTION},
		{"keep-alive", 10, FIELD_KEEP_ALIVE},
		{"content-length", 14, FIELD_CONTENT_LENGTH},
		{"content_length", 14, FIELD_DISGUISED},
		{"http2-settings", 14, FIELD_HTTP2_SETTINGS},
		{"transfer-encoding", 17, FIELD_TRANSFER_ENCODING},
		{"transfer_encoding", 17, FIELD_DISGUISED},
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (line->name_len == names[i].len &&
		    strncasecmp(line->name, names[i].name, line->name_len) == 0) {
			return (enum field)names[i].field;
		}
	}
	return line->name_len > 6 && strncasecmp(line->name, "proxy-", 6) == 0 ? FIELD_PROXY
									       : FIELD_OTHER;
}

bool head_trailer_name(const char *name, size_t n)
{
	static const char *const more[] = {
		"authorization", "content-encoding", "content-range",
		"content-type",  "cookie",           "set-cookie",
	};
	struct head_line line = {.name = name, .name_len = n};

	if (!head_is_token(name, n) || head_field(&line) != FIELD_OTHER) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		if (is_word(name, n, more[i])) {
			return false;
		}
	}
	return true;
}

/* The next element of a comma-separated list (RFC 9110 section 5.6.1), empty ones left out. */
static bool list_next(const char **s, const char *end, const char **item, size_t *len)
{
	while (*s < end && (is_space(**s) || **s == ',')) {
		(*s)++;
	}
	if (*s == end) {
		return false;
	}
	const char *comma = memchr(*s, ',', (size_t)(end - *s));
	const char *stop = comma != NULL ? comma : end;
	*item = *s;
	*s = stop;
	while (is_space(stop[-1])) {
		stop--;
	}
	*len = (size_t)(stop - *item);
	return true;
}

static bool list_has(const struct head_line *line, const char *word)
{
	const char *s = line->value, *item = NULL;
	size_t len = 0;

	while (list_next(&s, line->value + line->value_len, &item, &len)) {
		if (is_word(item, len, word)) {
			return true;
		}
	}
	return false;
}

static const char *read_connection(const char *v, const struct head_line *line, struct head *head)
{
	const char *s = line->value, *item = NULL;
	size_t len = 0;

	while (list_next(&s, line->value + line->value_len, &item, &len)) {
		if (!head_is_token(item, len)) {
			return "its Connection header is no list of names";
		}
		if (is_word(item, len, "close")) {
			head->close = true;
		} else if (is_word(item, len, "keep-alive")) {
			head->keep_alive = true;
		} else if (is_word(item, len, "upgrade")) {
			head->upgrade = true;
		} else if (head->noptions == HEAD_OPTIONS_MAX) {
			return "its Connection header names too many others";
		} else {
			head->option[head->noptions++] =
				(struct piece){(uint32_t)(item - v), (uint32_t)len};
		}
	}
	return NULL;
}

static const char *read_length(const struct head_line *line, struct head *head)
{
	if (head->has_length) {
		return "it has two Content-Length headers";
	}
	/* 18 digits are below 2^63, and nothing is that long. */
	if (line->value_len == 0 || line->value_len > 18) {
		return "its Content-Length is no number";
	}
	for (size_t i = 0; i < line->value_len; i++) {
		if (line->value[i] < '0' || line->value[i] > '9') {
			return "its Content-Length is no number";
		}
		head->length = head->length * 10 + (uint64_t)(line->value[i] - '0');
	}
	head->has_length = true;
	return NULL;
}

static const char *read_coding(const struct head_line *line, struct head *head)
{
	if (head->chunked) {
		return "it has two Transfer-Encoding headers";
	}
	if (!is_word(line->value, line->value_len, "chunked")) {
		return "its Transfer-Encoding is not \"chunked\"";
	}
	head->chunked = true;
	return NULL;
}

static const char *read_host(const char *v, const struct head_line *line, struct head *head)
{
	if (head->has_host) {
		return "it has two Host headers";
	}
	head->has_host = true;
	head->host = (struct piece){(uint32_t)(line->value - v), (uint32_t)line->value_len};
	return NULL;
}

/* What is wrong with one line, or NULL. */
static const char *read_line(const char *v, const struct head_line *line, struct head *head)
{
	if (!head_is_token(line->name, line->name_len)) {
		return "a header has a name that is none, or space where none may be";
	}
	switch (head_field(line)) {
	case FIELD_CONNECTION:
		return read_connection(v, line, head);
	case FIELD_CONTENT_LENGTH:
		return read_length(line, head);
	case FIELD_TRANSFER_ENCODING:
		return read_coding(line, head);
	case FIELD_DISGUISED:
		return head->status == 0 ? "a header only looks like the one that tells the length"
					 : NULL;
	case FIELD_HOST:
		return head->status == 0 ? read_host(v, line, head) : NULL;
	case FIELD_UPGRADE:
		head->websocket |= list_has(line, "websocket");
		return NULL;
	case FIELD_TE:
		head->te_trailers |= list_has(line, "trailers");
		return NULL;
	case FIELD_EXPECT:
		head->expect_continue |= is_word(line->value, line->value_len, "100-continue");
		return NULL;
	case FIELD_HTTP2_SETTINGS:
	case FIELD_KEEP_ALIVE:
	case FIELD_ORIGIN:
	case FIELD_PROXY:
	case FIELD_REFERER:
	case FIELD_TRAILER:
	case FIELD_OTHER:
		break;
	}
	return NULL;
}

/* Absolute-form, "http://host/path" (RFC 9112 section 3.2.2): kept as origin-form and authority. */
static bool split_absolute(const char *v, struct head *head)
{
	const char *target = v + head->target.at;
	size_t n = head->target.n;

	if (n <= 7 || strncasecmp(target, "http://", 7) != 0) {
		return false;
	}
	size_t host = strcspn(target + 7, "/?");
	if (host > n - 7) {
		host = n - 7;
	}
	head->absolute = (struct piece){head->target.at + 7, (uint32_t)host};
	head->target.at += (uint32_t)(7 + host);
	head->target.n -= (uint32_t)(7 + host);
	head->bare = head->target.n == 0 || v[head->target.at] == '?';
	return host > 0;
}

static bool read_target(const char *v, struct head *head)
{
	const char *target = v + head->target.at;

	for (size_t i = 0; i < head->target.n; i++) {
		if (target[i] <= 0x20 || target[i] >= 0x7f || target[i] == '#') {
			return false;
		}
	}
	if (head->target.n == 0) {
		return false;
	}
	if (target[0] == '/') {
		return true;
	}
	if (head->target.n == 1 && target[0] == '*') {
		return is_word(v + head->method.at, head->method.n, "OPTIONS");
	}
	/* CONNECT is refused for what it is, whatever its target looks like. */
	return is_word(v + head->method.at, head->method.n, "CONNECT") || split_absolute(v, head);
}

bool head_first_line(const char *line, size_t n, struct head *head, const char **why)
{
	const char *method_end = memchr(line, ' ', n);

	*head = (struct head){.lines = n + 2};
	*why = "it does not begin like a request of HTTP/1.1";
	if (method_end == NULL || n < 9 || !head_is_token(line, (size_t)(method_end - line))) {
		return false;
	}
	const char *version = line + n - 9;
	if (version < method_end || strncmp(version, " HTTP/", 6) != 0) {
		return false;
	}
	if (version[6] != '1' || version[7] != '.' || (version[8] != '0' && version[8] != '1')) {
		*why = "only HTTP/1.1 and HTTP/1.0 pass here";
		return false;
	}
	head->minor = version[8] == '1' ? 1 : 0;
	head->method.n = (uint32_t)(method_end - line);
	head->target.at = head->method.n + 1;
	if (version <= method_end) {
		return false;
	}
	head->target.n = (uint32_t)(version - method_end - 1);
	*why = "its target is no path and no http:// address";
	return read_target(line, head);
}

static bool read_lines(const char *v, struct head *head, const char **why)
{
	struct head_line line;
	size_t at = head->lines;

	while (head_next(v, &at, &line)) {
		*why = read_line(v, &line, head);
		if (*why != NULL) {
			return false;
		}
	}
	return true;
}

bool head_read_request(const char *v, size_t n, struct head *head, const char **why)
{
	const char *end = memchr(v, '\r', n);

	if (end == NULL) {
		*why = "it does not begin like a request of HTTP/1.1";
		return false;
	}
	if (!head_first_line(v, (size_t)(end - v), head, why) || !read_lines(v, head, why)) {
		return false;
	}
	if (!head->has_host && head->minor > 0) {
		*why = "it has no Host header";
		return false;
	}
	if (head->chunked && head->has_length) {
		*why = "it has both Content-Length and Transfer-Encoding";
		return false;
	}
	if (head->chunked && head->minor == 0) {
		*why = "HTTP/1.0 knows no Transfer-Encoding";
		return false;
	}
	return true;
}

/* The end of the line at `i`, the LF not counted; a CR before it is not part of the line either. */
static size_t line_end(const unsigned char *v, size_t n, size_t i, size_t *next)
{
	const unsigned char *lf = memchr(v + i, '\n', n - i);
	size_t end = lf != NULL ? (size_t)(lf - v) : n;

	*next = lf != NULL ? end + 1 : n;
	while (end > i && v[end - 1] == '\r') {
		end--;
	}
	return end;
}

static bool has_control(const unsigned char *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((v[i] < 0x20 && v[i] != '\t') || v[i] == 0x7f) {
			return true;
		}
	}
	return false;
}

/* One line that is not the first, with what is folded below it; where the next one begins. */
static size_t tidy_line(const unsigned char *v, size_t n, size_t i, bool *ok, struct http_out *tidy)
{
	size_t next = 0, end = line_end(v, n, i, &next);
	const unsigned char *colon = memchr(v + i, ':', end - i);
	size_t name = colon != NULL ? (size_t)(colon - v) : end;

	while (name > i && is_space((char)v[name - 1])) {
		name--;
	}
	bool keep = colon != NULL && head_is_token((const char *)v + i, name - i);
	*ok = *ok && !has_control(v + i, end - i);
	if (keep) {
		out_add(tidy, v + i, name - i);
		out_add(tidy, colon, end - (size_t)(colon - v));
	}
	while (next < n && is_space((char)v[next])) {
		i = next;
		end = line_end(v, n, i, &next);
		*ok = *ok && !has_control(v + i, end - i);
		if (keep) {
			out_add(tidy, v + i, end - i);
		}
	}
	if (keep) {
		out_add(tidy, "\r\n", 2);
	}
	return next;
}

bool head_tidy(const unsigned char *v, size_t n, struct http_out *tidy)
{
	size_t i = 0, end = line_end(v, n, 0, &i);
	bool ok = !has_control(v, end);

	out_add(tidy, v, end);
	out_add(tidy, "\r\n", 2);
	while (i < n && v[i] != '\n' && v[i] != '\r') {
		i = tidy_line(v, n, i, &ok, tidy);
	}
	out_add(tidy, "\r\n", 2);
	return ok && !tidy->failed;
}

/* "HTTP/1.1 200 reason"; the reason may be missing, and the space before it (RFC 9112 section 4).
 */
static bool read_status(const char *line, size_t n, struct head *head)
{
	if (n < 12 || strncmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') ||
	    line[8] != ' ') {
		return false;
	}
	head->minor = line[7] == '1' ? 1 : 0;
	for (size_t i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9') {
			return false;
		}
		head->status = head->status * 10 + (unsigned)(line[i] - '0');
	}
	if (n > 12) {
		head->reason = (struct piece){13, (uint32_t)(n - 13)};
	}
	return head->status >= 100 && (n == 12 || line[12] == ' ');
}

bool head_read_answer(const char *v, size_t n, struct head *head, const char **why)
{
	const char *end = memchr(v, '\r', n);

	*head = (struct head){0};
	*why = "its answer does not begin like one of HTTP/1.1";
	if (end == NULL || !read_status(v, (size_t)(end - v), head)) {
		return false;
	}
	head->lines = (size_t)(end - v) + 2;
	return read_lines(v, head, why);
}

bool head_is_option(const char *v, const struct head *head, const struct head_line *line)
{
	for (unsigned i = 0; i < head->noptions; i++) {
		if (line->name_len == head->option[i].n &&
		    strncasecmp(line->name, v + head->option[i].at, line->name_len) == 0) {
			return true;
		}
	}
	return false;
}

/* "443": 1 to 65535, no sign. */
static bool read_port(const char *s, size_t n, uint16_t *ret_port)
{
	unsigned port = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || i == 5) {
			return false;
		}
		port = port * 10 + (unsigned)(s[i] - '0');
	}
	*ret_port = (uint16_t)port;
	return port > 0 && port <= 65535;
}

bool head_authority(const char *s, size_t n, char host[HOST_MAX], uint16_t *ret_port)
{
	size_t host_len = n;

	*ret_port = 0;
	if (n > 0 && s[0] == '[') {
		const char *close = memchr(s, ']', n);
		if (close == NULL) {
			return false;
		}
		host_len = (size_t)(close - s) + 1;
	} else {
		const char *colon = memchr(s, ':', n);
		host_len = colon != NULL ? (size_t)(colon - s) : n;
	}
	if (host_len < n &&
	    (s[host_len] != ':' || !read_port(s + host_len + 1, n - host_len - 1, ret_port))) {
		return false;
	}
	return host_normal(s, host_len, host);
}
