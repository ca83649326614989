/* A ClientHello read only as far as its server name. All of it must be there and add up first: a
 * name that another reader would find elsewhere in the same bytes is no name. */
#include "gate/hello.h"

#include <stdint.h>
#include <string.h>

enum {
	RECORD_HANDSHAKE = 22,
	RECORD_HEADER = 5,
	/* RFC 8446 section 5.1: "MUST NOT exceed 2^14 bytes". */
	RECORD_MAX = 16384,
	MESSAGE_HEADER = 4,
	CLIENT_HELLO = 1,
	RANDOM = 32,
	SESSION_MAX = 32,
	EXTENSION_SERVER_NAME = 0,
	NAME_HOST = 0,
};

const unsigned char hello_alert[HELLO_ALERT_LEN] = {
	21, 3,  3, 0, 2, /* alert, TLS 1.2 on paper, two bytes */
	2,  49,          /* fatal, access_denied */
};

/* --- the message -------------------------------------------------------------------------- */

/* What is left of a message, or of a part of it. */
struct cursor {
	const unsigned char *p;
	size_t len;
};

/* Takes `n` bytes from the front. False, and nothing taken, when there are fewer. */
static bool take(struct cursor *c, size_t n, struct cursor *ret_part)
{
	if (n > c->len) {
		return false;
	}
	*ret_part = (struct cursor){.p = c->p, .len = n};
	c->p += n;
	c->len -= n;
	return true;
}

/* A number of `width` bytes, at most 3. */
static bool number(struct cursor *c, size_t width, size_t *ret_value)
{
	struct cursor part;

	if (!take(c, width, &part)) {
		return false;
	}
	*ret_value = 0;
	for (size_t i = 0; i < width; i++) {
		*ret_value = *ret_value << 8 | part.p[i];
	}
	return true;
}

/* A part that says its own length in `width` bytes before it. */
static bool part_of(struct cursor *c, size_t width, struct cursor *ret_part)
{
	size_t n;

	return number(c, width, &n) && take(c, n, ret_part);
}

/* The ServerNameList of RFC 6066 section 3: one name of the only type that there is. Of two names
 * the server may take either, so none is taken. */
static bool server_name(struct cursor data, char ret_name[HOST_MAX])
{
	struct cursor list;
	struct cursor name;
	size_t kind;

	return part_of(&data, 2, &list) && data.len == 0 && number(&list, 1, &kind) &&
	       kind == NAME_HOST && part_of(&list, 2, &name) && list.len == 0 &&
	       host_normal((const char *)name.p, name.len, ret_name);
}

/* Extensions that are not known pass: GREASE (RFC 8701), ECH, whatever comes next year. */
static bool extensions(struct cursor all, char ret_name[HOST_MAX])
{
	bool named = false;

	while (all.len > 0) {
		struct cursor data;
		size_t kind;

		if (!number(&all, 2, &kind) || !part_of(&all, 2, &data)) {
			return false;
		}
		if (kind != EXTENSION_SERVER_NAME) {
			continue;
		}
		/* RFC 8446 section 4.2: no type twice. */
		if (named || !server_name(data, ret_name)) {
			return false;
		}
		named = true;
	}
	return true;
}

/* RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2; without extensions in TLS 1.0. */
static bool client_hello(struct cursor body, char ret_name[HOST_MAX])
{
	struct cursor part;
	size_t version;

	if (!number(&body, 2, &version) || version < 0x0301 || version > 0x03ff ||
	    !take(&body, RANDOM, &part) || !part_of(&body, 1, &part) || part.len > SESSION_MAX ||
	    !part_of(&body, 2, &part) || part.len == 0 || part.len % 2 != 0 ||
	    !part_of(&body, 1, &part) || part.len == 0) {
		return false;
	}
	if (body.len == 0) {
		return true;
	}
	return part_of(&body, 2, &part) && body.len == 0 && extensions(part, ret_name);
}

/* --- records ------------------------------------------------------------------------------ */

/* Where the message lies in the records so far. */
struct records {
	size_t have; /* bytes of the message, its header included */
	size_t need; /* in all; 0: its header is not complete */
	unsigned char header[MESSAGE_HEADER];
};

/* A part of the message has come. False: it is no ClientHello, or one that is too long. */
static bool add_part(struct records *r, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n && r->have + i < MESSAGE_HEADER; i++) {
		r->header[r->have + i] = p[i];
	}
	r->have += n;
	if (r->have > 0 && r->header[0] != CLIENT_HELLO) {
		return false;
	}
	if (r->have < MESSAGE_HEADER) {
		return true;
	}
	r->need = MESSAGE_HEADER +
		  ((size_t)r->header[1] << 16 | (size_t)r->header[2] << 8 | r->header[3]);
	/* More behind it in the same record: no client sends a second message yet. */
	return r->need <= HELLO_MAX && r->have <= r->need;
}

/* A record's header, as far as it is there. Its version says nothing (RFC 8446 section 5.1), but
 * is 3.x in every TLS. A record of no bytes would let a hello go on for ever. */
static bool header_allowed(const unsigned char *p, size_t n)
{
	size_t body = n >= RECORD_HEADER ? (size_t)p[3] << 8 | p[4] : 1;

	return p[0] == RECORD_HANDSHAKE && (n < 2 || p[1] == 3) && body > 0 && body <= RECORD_MAX;
}

/* Walks the records. HELLO_OK: the message is complete. With `out`, which has room for it, copies
 * it there. */
static enum hello_read walk(const unsigned char *bytes, size_t len, struct records *r,
			    unsigned char *out)
{
	size_t at = 0;

	*r = (struct records){.have = 0};
	while (at < len) {
		if (!header_allowed(bytes + at, len - at)) {
			return HELLO_BAD;
		}
		if (len - at < RECORD_HEADER) {
			break;
		}
		size_t body = (size_t)bytes[at + 3] << 8 | bytes[at + 4];
		size_t here = len - at - RECORD_HEADER < body ? len - at - RECORD_HEADER : body;
		at += RECORD_HEADER;
		if (out != NULL) {
			memcpy(out + r->have, bytes + at, here);
		}
		if (!add_part(r, bytes + at, here)) {
			return HELLO_BAD;
		}
		/* The record promises more than the message has. */
		if (r->need > 0 && r->have - here + body > r->need) {
			return HELLO_BAD;
		}
		at += here;
		if (r->need > 0 && r->have == r->need) {
			return at <= HELLO_MAX ? HELLO_OK : HELLO_BAD;
		}
	}
	/* Told as soon as it is sure that there will be too much. */
	size_t missing = r->need > r->have ? r->need - r->have : 1;
	return len + missing <= HELLO_MAX ? HELLO_MORE : HELLO_BAD;
}

enum hello_read hello_read(const unsigned char *bytes, size_t len, char ret_name[HOST_MAX])
{
	unsigned char message[HELLO_MAX];
	struct cursor body = {.p = message + MESSAGE_HEADER};
	struct records r;

	ret_name[0] = '\0';
	enum hello_read so_far = walk(bytes, len, &r, NULL);
	if (so_far != HELLO_OK) {
		return so_far;
	}
	walk(bytes, len, &r, message);
	body.len = r.need - MESSAGE_HEADER;
	if (client_hello(body, ret_name)) {
		return HELLO_OK;
	}
	ret_name[0] = '\0';
	return HELLO_BAD;
}
