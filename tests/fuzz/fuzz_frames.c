/* Fuzzes what shims and the broker read of each other: a head from both sides, and the payload that
 * it announces. Whatever the bytes: what is taken keeps its bounds, points into the payload, and is
 * the same when it is written again. */
#include "broker/frame.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, const unsigned char *payload, size_t len)
{
	const char *end = (const char *)payload + len;

	REQUIRE(text >= (const char *)payload && text < end);
	REQUIRE(memchr(text, '\0', (size_t)(end - text)) != NULL);
}

/* Name, folder and arguments, one behind the other, are the payload. */
static void check_request(const unsigned char *payload, size_t len)
{
	struct frame_request r = {.name = NULL};
	const char *why = NULL;
	size_t bytes = 0;

	if (!frame_request_read(payload, len, &r, &why)) {
		REQUIRE(why != NULL && r.name == NULL);
		return;
	}
	REQUIRE(r.nargs <= FRAME_ARGS_MAX && r.nargs < len);
	check_text(r.name, payload, len);
	check_text(r.cwd, payload, len);
	REQUIRE(r.name[0] != '\0' && strlen(r.name) <= FRAME_NAME_MAX);
	REQUIRE(strchr(r.name, '/') == NULL && strcmp(r.name, "..") != 0);
	REQUIRE(r.cwd[0] == '/' && strlen(r.cwd) <= FRAME_CWD_MAX);
	const char **args = malloc((r.nargs + 1) * sizeof(*args));
	REQUIRE(args != NULL);
	frame_request_args(&r, args);
	for (size_t i = 0; i < r.nargs; i++) {
		check_text(args[i], payload, len);
		bytes += strlen(args[i]) + 1;
	}
	REQUIRE(bytes <= FRAME_ARG_BYTES_MAX);
	REQUIRE(4 + strlen(r.name) + 1 + strlen(r.cwd) + 1 + bytes == len);
	free(args);
}

static void check_small(const struct frame_head *head, const unsigned char *payload)
{
	unsigned char again[FRAME_HEAD + FRAME_SMALL_MAX];
	struct frame_small s;
	const char *why = NULL;

	if (!frame_small_read(head, payload, &s, &why)) {
		REQUIRE(why != NULL);
		return;
	}
	REQUIRE(head->kind == FRAME_EXIT || head->kind == FRAME_ERROR ||
		(s.number >= 1 && s.number <= 64));
	REQUIRE(s.number <= 255 && (head->kind == FRAME_STOPPED || s.more <= 64));
	size_t n = frame_small_write(again, head->kind, &s);
	REQUIRE(n == FRAME_HEAD + head->length);
	REQUIRE(memcmp(again + FRAME_HEAD, payload, head->length) == 0);
}

static void check(const uint8_t *data, size_t size, enum frame_from from)
{
	unsigned char again[FRAME_HEAD];
	struct frame_head head;
	const char *why = NULL;

	if (!frame_head_read(data, from, &head, &why)) {
		REQUIRE(why != NULL);
		return;
	}
	frame_head_write(again, head.kind, head.length);
	REQUIRE(memcmp(again, data, FRAME_HEAD) == 0);
	REQUIRE(head.length <= FRAME_REQUEST_MAX);
	if (head.length > size - FRAME_HEAD) {
		return;
	}
	/* Of exact size, so that a read beyond the end is seen. */
	unsigned char *payload = malloc(head.length);
	REQUIRE(payload != NULL);
	memcpy(payload, data + FRAME_HEAD, head.length);
	if (head.kind == FRAME_TOOL || head.kind == FRAME_BROWSE) {
		check_request(payload, head.length);
	} else {
		check_small(&head, payload);
	}
	free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < FRAME_HEAD) {
		return 0;
	}
	check(data, size, FRAME_FROM_SHIM);
	check(data, size, FRAME_FROM_BROKER);
	/* The rest as a request of whatever length, which heads seldom come to announce. */
	unsigned char *payload = malloc(size - FRAME_HEAD + 1);
	REQUIRE(payload != NULL);
	memcpy(payload, data + FRAME_HEAD, size - FRAME_HEAD);
	check_request(payload, size - FRAME_HEAD);
	free(payload);
	return 0;
}
