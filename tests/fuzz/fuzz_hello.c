/* Fuzzes the reading of ClientHellos. Whatever the bytes:
 *
 * - read as they come, few or many at a time, they are taken or refused once and for all, with the
 *   same name, and what is behind a hello changes nothing;
 * - what is taken, a second reader takes apart to the last byte, and finds the same name in it;
 * - a message is taken or refused for itself, however it is cut over records.
 *
 * Input: the bytes of a connection; those that do not begin like a record are a message's body, or
 * (after a byte 0) the extensions of one. */
#include "fuzz.h"
#include "gate/address.h"
#include "gate/hello.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_HEADER  5
#define RECORD_MAX     16384
#define MESSAGE_HEADER 4

struct bytes {
	unsigned char *v;
	size_t n;
};

static struct bytes bytes_of(size_t n)
{
	struct bytes b = {.v = malloc(n > 0 ? n : 1), .n = n};

	REQUIRE(b.v != NULL);
	return b;
}

/* The first `n` bytes, from memory of their exact size. */
static enum hello_read read_n(const unsigned char *v, size_t n, char name[HOST_MAX])
{
	struct bytes copy = bytes_of(n);

	if (n > 0) {
		memcpy(copy.v, v, n);
	}
	memset(name, 'x', HOST_MAX);
	enum hello_read how = hello_read(copy.v, n, name);
	free(copy.v);
	REQUIRE(memchr(name, '\0', HOST_MAX) != NULL);
	REQUIRE(how == HELLO_OK || name[0] == '\0');
	return how;
}

/* --- the second reader ---------------------------------------------------------------------- */

/* A number that must be there, and the bytes that it counts. */
struct reader {
	const unsigned char *v, *end;
};

static struct reader part(struct reader *r, unsigned width)
{
	size_t n = 0;

	REQUIRE((size_t)(r->end - r->v) >= width);
	for (; width > 0; width--) {
		n = n * 256 + *r->v++;
	}
	REQUIRE((size_t)(r->end - r->v) >= n);
	struct reader inner = {r->v, r->v + n};
	r->v += n;
	return inner;
}

static unsigned two(struct reader *r)
{
	REQUIRE(r->end - r->v >= 2);
	unsigned value = r->v[0] * 256u + r->v[1];
	r->v += 2;
	return value;
}

/* The message that the records hold; none of them goes on behind it. The bytes that were read. */
static size_t gather(const unsigned char *v, size_t n, struct bytes *message)
{
	struct reader r = {v, v + n};
	size_t have = 0, need = MESSAGE_HEADER;

	*message = bytes_of(n);
	while (have < need) {
		REQUIRE(r.end - r.v >= RECORD_HEADER && r.v[0] == 22 && r.v[1] == 3);
		r.v += 3;
		struct reader record = part(&r, 2);
		size_t len = (size_t)(record.end - record.v);

		REQUIRE(len > 0 && len <= RECORD_MAX);
		memcpy(message->v + have, record.v, len);
		have += len;
		if (have >= MESSAGE_HEADER) {
			const unsigned char *h = message->v;

			REQUIRE(h[0] == 1);
			need = MESSAGE_HEADER + h[1] * 65536u + h[2] * 256u + h[3];
		}
	}
	REQUIRE(have == need);
	message->n = have;
	return (size_t)(r.v - v);
}

/* The only name of a server_name extension. */
static struct reader only_name(struct reader data)
{
	struct reader list = part(&data, 2);

	REQUIRE(data.v == data.end && list.v < list.end && *list.v == 0);
	list.v++;
	struct reader name = part(&list, 2);
	REQUIRE(list.v == list.end && name.v < name.end);
	return name;
}

/* A message that was taken: it adds up, and this is the name in it. */
static void check_message(const struct bytes *message, const char *name)
{
	struct reader r = {message->v + MESSAGE_HEADER, message->v + message->n};
	char found[HOST_MAX] = "";
	unsigned version = two(&r), names = 0;

	REQUIRE(version >= 0x301 && version < 0x400);
	REQUIRE(r.end - r.v >= 32);
	r.v += 32;
	struct reader session = part(&r, 1), ciphers = part(&r, 2), compressions = part(&r, 1);
	REQUIRE(session.end - session.v <= 32);
	REQUIRE(ciphers.end > ciphers.v && (ciphers.end - ciphers.v) % 2 == 0);
	REQUIRE(compressions.end > compressions.v);
	if (r.v < r.end) {
		struct reader extensions = part(&r, 2);

		REQUIRE(r.v == r.end);
		while (extensions.v < extensions.end) {
			unsigned type = two(&extensions);
			struct reader data = part(&extensions, 2);

			if (type == 0) {
				struct reader host = only_name(data);

				REQUIRE(host_normal((const char *)host.v,
						    (size_t)(host.end - host.v), found));
				names++;
			}
		}
	}
	REQUIRE(names <= 1 && (names == 1) == (name[0] != '\0'));
	REQUIRE(strcmp(found, name) == 0);
}

/* --- cutting -------------------------------------------------------------------------------- */

/* The message in records of `piece` bytes. */
static struct bytes cut(const struct bytes *message, size_t piece)
{
	struct bytes b = bytes_of(message->n + (message->n / piece + 1) * RECORD_HEADER);
	size_t n = 0;

	for (size_t at = 0; at < message->n; at += piece) {
		size_t len = message->n - at < piece ? message->n - at : piece;
		const unsigned char header[RECORD_HEADER] = {22, 3, 1, (unsigned char)(len >> 8),
							     (unsigned char)len};

		memcpy(b.v + n, header, sizeof(header));
		memcpy(b.v + n + RECORD_HEADER, message->v + at, len);
		n += RECORD_HEADER + len;
	}
	b.n = n;
	return b;
}

/* How it is cut changes nothing. `how` and `name`: as in the largest records. */
static void check_cuts(const struct bytes *message, enum hello_read how, const char *name)
{
	const size_t pieces[] = {1, 2, 5, 61, 1000, RECORD_MAX - 1, RECORD_MAX};
	char again[HOST_MAX];

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct bytes b = cut(message, pieces[i]);

		if (b.n <= HELLO_MAX) {
			REQUIRE(read_n(b.v, b.n, again) == how && strcmp(again, name) == 0);
		} else {
			REQUIRE(read_n(b.v, b.n, again) == HELLO_BAD);
		}
		free(b.v);
	}
}

/* --- properties ----------------------------------------------------------------------------- */

/* As it comes: waiting, then one answer for good. `how` and `name`: of all. */
static void check_pieces(const uint8_t *data, size_t size, enum hello_read how, const char *name)
{
	enum hello_read before = HELLO_MORE;
	char now[HOST_MAX];

	/* Not every length of long ones: the fuzzer's time is better spent. Which of them, their
	 * bytes say. */
	for (size_t n = 0, step = 1;; step += n < 64 ? 0 : 1 + data[n - 1] % 8) {
		enum hello_read here = read_n(data, n, now);

		REQUIRE(before == HELLO_MORE || here == before);
		REQUIRE(here != HELLO_OK || strcmp(now, name) == 0);
		before = here;
		if (n == size) {
			break;
		}
		n = n + step < size ? n + step : size;
	}
	REQUIRE(before == how);
}

static void check_stream(const uint8_t *data, size_t size)
{
	struct bytes message;
	char name[HOST_MAX], again[HOST_MAX];
	enum hello_read how = read_n(data, size, name);

	check_pieces(data, size, how, name);
	if (how == HELLO_MORE) {
		REQUIRE(size < HELLO_MAX);
	}
	if (how == HELLO_OK) {
		size_t n = gather(data, size, &message);

		REQUIRE(n <= HELLO_MAX);
		/* Nothing behind it is needed, and its last byte is. */
		REQUIRE(read_n(data, n, again) == HELLO_OK && strcmp(again, name) == 0);
		REQUIRE(read_n(data, n - 1, again) == HELLO_MORE);
		check_message(&message, name);
		check_cuts(&message, how, name);
		free(message.v);
	}
}

/* A message with that body, behind `start`. */
static void check_body(const void *start, size_t start_len, const uint8_t *data, size_t size)
{
	struct bytes message = bytes_of(MESSAGE_HEADER + start_len + size);
	size_t body = start_len + size;
	char name[HOST_MAX];

	message.v[0] = 1;
	message.v[1] = (unsigned char)(body >> 16);
	message.v[2] = (unsigned char)(body >> 8);
	message.v[3] = (unsigned char)body;
	memcpy(message.v + MESSAGE_HEADER, start, start_len);
	if (size > 0) {
		memcpy(message.v + MESSAGE_HEADER + start_len, data, size);
	}
	struct bytes b = cut(&message, RECORD_MAX);
	enum hello_read how = read_n(b.v, b.n, name);
	REQUIRE(how != HELLO_MORE);
	if (how == HELLO_OK) {
		check_message(&message, name);
	}
	check_cuts(&message, how, name);
	check_pieces(b.v, b.n, how, name);
	free(b.v);
	free(message.v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Version, random, no session, one cipher, one compression, length of the extensions. */
	unsigned char start[2 + 32 + 1 + 4 + 2 + 2] = {3, 3, [36] = 2, 0x13, 1, 1};
	size_t rest = size > 0 ? size - 1 : 0;
	char name[HOST_MAX];

	if (size == 0 || data[0] == 22) {
		check_stream(data, size);
		return 0;
	}
	REQUIRE(read_n(data, size, name) == HELLO_BAD);
	if (data[0] == 0 && rest <= 0xffff) {
		start[sizeof(start) - 2] = (unsigned char)(rest >> 8);
		start[sizeof(start) - 1] = (unsigned char)rest;
		check_body(start, sizeof(start), data + 1, rest);
	} else {
		check_body("", 0, data, size);
	}
	return 0;
}
