#include "broker/frame.h"

#include <string.h>

uint32_t frame_u32_read(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void frame_u32_write(unsigned char *p, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++) {
		p[i] = (unsigned char)(value >> 8 * i);
	}
}

static uint32_t u16_read(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static bool no(const char **ret_why, const char *why)
{
	*ret_why = why;
	return false;
}

/* The count, a name of one byte, "/", and their NULs. */
#define REQUEST_MIN (4U + 2U + 2U)

struct bounds {
	enum frame_from from;
	uint32_t min, max;
};

/* False: there is no such kind. */
static bool bounds_of(uint32_t kind, struct bounds *ret)
{
	switch (kind) {
	case FRAME_TOOL:
	case FRAME_BROWSE:
		*ret = (struct bounds){FRAME_FROM_SHIM, REQUEST_MIN, FRAME_REQUEST_MAX};
		return true;
	case FRAME_SIGNAL:
		*ret = (struct bounds){FRAME_FROM_SHIM, 8, 8};
		return true;
	case FRAME_EXIT:
	case FRAME_STOPPED:
		*ret = (struct bounds){FRAME_FROM_BROKER, 8, 8};
		return true;
	case FRAME_ERROR:
		*ret = (struct bounds){FRAME_FROM_BROKER, 4, FRAME_SMALL_MAX};
		return true;
	default:
		return false;
	}
}

bool frame_head_read(const unsigned char bytes[FRAME_HEAD], enum frame_from from,
		     struct frame_head *ret_head, const char **ret_why)
{
	uint32_t length = frame_u32_read(bytes);
	uint32_t kind = u16_read(bytes + 4);
	struct bounds b;

	if (u16_read(bytes + 6) != FRAME_VERSION) {
		return no(ret_why, "it speaks another version");
	}
	if (!bounds_of(kind, &b) || b.from != from) {
		return no(ret_why, "there is no such message");
	}
	if (length > b.max && (kind == FRAME_TOOL || kind == FRAME_BROWSE)) {
		return no(ret_why, "the arguments are too long: 2 MiB together at most");
	}
	if (length < b.min || length > b.max) {
		return no(ret_why, "its length is not that of its kind");
	}
	*ret_head = (struct frame_head){length, (enum frame_kind)kind};
	return true;
}

void frame_head_write(unsigned char out[FRAME_HEAD], enum frame_kind kind, uint32_t length)
{
	frame_u32_write(out, length);
	out[4] = (unsigned char)kind;
	out[5] = 0;
	out[6] = FRAME_VERSION;
	out[7] = 0;
}

/* The NUL-terminated text at `*at`, which moves behind it; NULL when there is none. */
static const char *take_text(const unsigned char *payload, size_t len, size_t *at, size_t *ret_len)
{
	const unsigned char *start = payload + *at;
	const unsigned char *end = *at < len ? memchr(start, '\0', len - *at) : NULL;

	if (end == NULL) {
		return NULL;
	}
	*ret_len = (size_t)(end - start);
	*at += *ret_len + 1;
	return (const char *)start;
}

static bool name_allowed(const char *name, size_t len)
{
	return len >= 1 && len <= FRAME_NAME_MAX && memchr(name, '/', len) == NULL &&
	       strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool frame_request_read(const unsigned char *payload, size_t len, struct frame_request *ret_request,
			const char **ret_why)
{
	struct frame_request r = {.name = NULL};
	size_t at = 4;
	size_t n = 0;
	size_t nuls = 0;

	if (len < REQUEST_MIN) {
		return no(ret_why, "it is too short");
	}
	r.nargs = frame_u32_read(payload);
	if (r.nargs > FRAME_ARGS_MAX) {
		return no(ret_why, "there are too many arguments: 32,768 at most");
	}
	r.name = take_text(payload, len, &at, &n);
	if (r.name == NULL || !name_allowed(r.name, n)) {
		return no(ret_why, "its name is none");
	}
	r.cwd = take_text(payload, len, &at, &n);
	if (r.cwd == NULL || n > FRAME_CWD_MAX || r.cwd[0] != '/') {
		return no(ret_why, "its working folder is none");
	}
	if (len - at > FRAME_ARG_BYTES_MAX) {
		return no(ret_why, "the arguments are too long: 2 MiB together at most");
	}
	for (size_t i = at; i < len; i++) {
		nuls += payload[i] == '\0' ? 1 : 0;
	}
	if (nuls != r.nargs || payload[len - 1] != '\0') {
		return no(ret_why, "its arguments are not as many as it says");
	}
	*ret_request = r;
	return true;
}

void frame_request_args(const struct frame_request *request, const char **args)
{
	const char *p = request->cwd + strlen(request->cwd) + 1;

	for (size_t i = 0; i < request->nargs; i++) {
		args[i] = p;
		p += strlen(p) + 1;
	}
}

#define SIGNAL_MAX 64U
#define STATUS_MAX 255U

static bool numbers_allowed(enum frame_kind kind, const struct frame_small *s)
{
	switch (kind) {
	case FRAME_SIGNAL:
		return s->number >= 1 && s->number <= SIGNAL_MAX && s->more <= 1;
	case FRAME_STOPPED:
		return s->number >= 1 && s->number <= SIGNAL_MAX;
	case FRAME_EXIT:
		return s->number <= STATUS_MAX && s->more <= SIGNAL_MAX;
	case FRAME_ERROR:
		return s->number <= STATUS_MAX && memchr(s->text, '\0', s->text_len) == NULL;
	case FRAME_TOOL:
	case FRAME_BROWSE:
		break;
	}
	return false;
}

bool frame_small_read(const struct frame_head *head, const unsigned char *payload,
		      struct frame_small *ret_small, const char **ret_why)
{
	struct frame_small s = {.number = frame_u32_read(payload)};

	if (head->kind == FRAME_ERROR) {
		s.text = (const char *)payload + 4;
		s.text_len = head->length - 4;
	} else {
		s.more = frame_u32_read(payload + 4);
	}
	if (!numbers_allowed(head->kind, &s)) {
		return no(ret_why, "its numbers are out of range");
	}
	*ret_small = s;
	return true;
}

size_t frame_small_write(unsigned char *out, enum frame_kind kind, const struct frame_small *small)
{
	size_t len = 8;

	frame_u32_write(out + FRAME_HEAD, small->number);
	if (kind == FRAME_ERROR) {
		size_t text = small->text_len < FRAME_TEXT_MAX ? small->text_len : FRAME_TEXT_MAX;

		memcpy(out + FRAME_HEAD + 4, small->text, text);
		len = 4 + text;
	} else {
		frame_u32_write(out + FRAME_HEAD + 4, small->more);
	}
	frame_head_write(out, kind, (uint32_t)len);
	return FRAME_HEAD + len;
}
