#include "gate/pages.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const struct {
	unsigned status;
	const char *reason;
} reasons[] = {
	{400, "Bad Request"},        {403, "Forbidden"},
	{405, "Method Not Allowed"}, {408, "Request Timeout"},
	{413, "Content Too Large"},  {421, "Misdirected Request"},
	{429, "Too Many Requests"},  {431, "Request Header Fields Too Large"},
	{502, "Bad Gateway"},        {504, "Gateway Timeout"},
};

static const char *reason_of(unsigned status)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].status == status) {
			return reasons[i].reason;
		}
	}
	return "Refused";
}

/* The texts may quote what the program sent: nothing of it may end a line or move a cursor. */
static void make_plain(char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f) {
			*text = '?';
		}
	}
}

/* The page's text. A status of 500 and up is not the sandbox's refusal but a failure out there. */
static size_t body_write(const struct http_refusal *refusal, char *out, size_t cap)
{
	char why[sizeof(refusal->why)], hint[sizeof(refusal->hint)];

	snprintf(why, sizeof(why), "%s", refusal->why);
	snprintf(hint, sizeof(hint), "%s", refusal->hint);
	make_plain(why);
	make_plain(hint);
	int n = snprintf(out, cap, "lnk: the request %s: %s\n%s%s%s",
			 refusal->status >= 500 ? "failed" : "was refused", why,
			 hint[0] != '\0' ? "lnk: " : "", hint, hint[0] != '\0' ? "\n" : "");
	return n > 0 ? (size_t)n : 0;
}

size_t page_write(const struct http_refusal *refusal, bool head_only, char *out)
{
	char body[sizeof(refusal->why) + sizeof(refusal->hint) + 64];
	char retry[48] = "", allow[sizeof(refusal->allow) + 16] = "";
	size_t body_len = body_write(refusal, body, sizeof(body));

	if (refusal->retry_after > 0) {
		snprintf(retry, sizeof(retry), "Retry-After: %u\r\n", refusal->retry_after);
	}
	if (refusal->allow[0] != '\0') {
		snprintf(allow, sizeof(allow), "Allow: %s\r\n", refusal->allow);
	}
	int n = snprintf(out, PAGE_MAX,
			 "HTTP/1.1 %u %s\r\n"
			 "Content-Type: text/plain; charset=utf-8\r\n"
			 "Content-Length: %zu\r\n"
			 "Cache-Control: no-store\r\n"
			 "%s%sConnection: close\r\n\r\n%s",
			 refusal->status, reason_of(refusal->status), body_len, retry, allow,
			 head_only ? "" : body);
	return n > 0 ? (size_t)n : 0;
}
