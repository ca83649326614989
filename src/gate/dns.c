/* One query in, one answer out. A query has a header, one question and perhaps an OPT record;
 * whatever else it has is walked over, since all of it must add up. */
#include "gate/dns.h"

#include "base/str.h"

#include <assert.h>
#include <string.h>

enum {
	HEADER = 12,
	NAME_MAX_BYTES = 255,
	LABEL_MAX = 63,
	TYPE_SOA = 6,
	TYPE_OPT = 41,
	/* Type, class, TTL and length of a record, behind its name. */
	RECORD_FIXED = 10,
};

/* The flags of a header, RFC 1035 section 4.1.1, RFC 4035 section 3. */
enum {
	FLAG_RESPONSE = 0x8000,
	FLAG_RECURSION = 0x0100,
	FLAG_CAN_RECURSE = 0x0080,
	FLAG_UNCHECKED = 0x0010,
	OPCODE_SHIFT = 11,
	OPCODE_MASK = 0xf,
	RCODE_MASK = 0xf,
	OPT_SIGNATURES = 0x8000,
	/* RFC 6891 section 9: BADVERS is 16, its upper bits stand in the OPT record. */
	BADVERS_UPPER = 1,
};

static uint16_t u16(const unsigned char *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* --- reading ------------------------------------------------------------------------------ */

/* The length of an uncompressed name at `at`, its end included; 0 when it is none. No pointer is
 * followed: before the question there is nothing to point to, and behind it no name is of use. */
static size_t name_length(const unsigned char *packet, size_t len, size_t at)
{
	size_t n = 0;

	while (at + n < len) {
		unsigned label = packet[at + n];

		n += 1U + label;
		if (label > LABEL_MAX || n > NAME_MAX_BYTES || at + n > len) {
			return 0;
		}
		if (label == 0) {
			return n;
		}
	}
	return 0;
}

/* The length of a record's owner name, which may end in a pointer; 0 when it is none. */
static size_t owner_length(const unsigned char *packet, size_t len, size_t at)
{
	size_t n = 0;

	while (at + n < len) {
		unsigned label = packet[at + n];

		if (label >= 0xc0) {
			return at + n + 2 <= len && n + 2 <= NAME_MAX_BYTES ? n + 2 : 0;
		}
		n += 1U + label;
		if (label > LABEL_MAX || n > NAME_MAX_BYTES || at + n > len) {
			return 0;
		}
		if (label == 0) {
			return n;
		}
	}
	return 0;
}

/* The lower-case form of a byte that a host name may hold, 0 for every other byte. */
static char plain_byte(unsigned char c)
{
	if (c >= 'A' && c <= 'Z') {
		return (char)(c - 'A' + 'a');
	}
	bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
	return fine ? (char)c : '\0';
}

/* The text of a checked name, of at most 253 bytes as the name has at most 255. */
static void read_name(const unsigned char *p, struct dns_query *query)
{
	size_t n = 0;

	query->plain = true;
	for (; *p != 0; p += 1 + *p) {
		if (n > 0) {
			query->name[n++] = '.';
		}
		for (unsigned i = 1; i <= *p; i++) {
			char c = plain_byte(p[i]);

			if (c == '\0') {
				query->plain = false;
				c = p[i] == '\0' || p[i] == '.' ? '?' : (char)p[i];
			}
			query->name[n++] = c;
		}
	}
	query->name[n] = '\0';
}

/* "4.3.2.1" + ".in-addr.arpa", RFC 1035 section 3.5. */
static bool reverse_v4(const char *s, struct addr *ret_addr)
{
	*ret_addr = (struct addr){.v6 = false};
	for (size_t i = 4; i-- > 0;) {
		unsigned value = 0;
		size_t n = strspn(s, "0123456789");

		if (n == 0 || n > 3 || (n > 1 && s[0] == '0') || s[n] != '.') {
			return false;
		}
		for (size_t k = 0; k < n; k++) {
			value = value * 10 + (unsigned)(s[k] - '0');
		}
		if (value > 255) {
			return false;
		}
		ret_addr->b[i] = (unsigned char)value;
		s += n + 1;
	}
	return str_eq(s, "in-addr.arpa");
}

/* 32 hexadecimal digits + "ip6.arpa", RFC 3596 section 2.5. */
static bool reverse_v6(const char *s, struct addr *ret_addr)
{
	static const char digits[] = "0123456789abcdef";

	*ret_addr = (struct addr){.v6 = true};
	for (size_t i = 32; i-- > 0; s += 2) {
		const char *digit = s[0] != '\0' ? strchr(digits, s[0]) : NULL;

		if (digit == NULL || s[1] != '.') {
			return false;
		}
		ret_addr->b[i / 2] |= (unsigned char)((digit - digits) << (i % 2 == 0 ? 4 : 0));
	}
	return str_eq(s, "ip6.arpa");
}

/* What an OPT record says; the first record of its type has been seen already when `edns`. */
static enum dns_read read_opt(const unsigned char *fixed, size_t owner_len, struct dns_query *query)
{
	/* Its name is the root, and there is one of it: RFC 6891 section 6.1.1. */
	if (owner_len != 1 || query->edns) {
		return DNS_FORMERR;
	}
	query->edns = true;
	query->signatures = (u16(fixed + 6) & OPT_SIGNATURES) != 0;
	return fixed[5] == 0 ? DNS_OK : DNS_BADVERS;
}

/* The records of the additional section, from `at` to the end of the packet. */
static enum dns_read read_additional(const unsigned char *packet, size_t len, size_t at,
				     unsigned count, struct dns_query *query)
{
	enum dns_read result = DNS_OK;

	for (; count > 0; count--) {
		size_t owner = owner_length(packet, len, at);
		size_t fixed = at + owner;

		if (owner == 0 || len - fixed < RECORD_FIXED) {
			return DNS_FORMERR;
		}
		size_t data = u16(packet + fixed + 8);
		at = fixed + RECORD_FIXED;
		if (len - at < data) {
			return DNS_FORMERR;
		}
		at += data;
		if (u16(packet + fixed) == TYPE_OPT) {
			enum dns_read opt = read_opt(packet + fixed, owner, query);

			if (opt == DNS_FORMERR) {
				return opt;
			}
			result = opt;
		}
	}
	return at == len ? result : DNS_FORMERR;
}

static enum dns_read read_body(const unsigned char *packet, size_t len, struct dns_query *query)
{
	size_t name = name_length(packet, len, HEADER);
	size_t question = name + 4;

	/* One question, no answers, nothing about authority. */
	if (u16(packet + 4) != 1 || u16(packet + 6) != 0 || u16(packet + 8) != 0 || name == 0 ||
	    len - HEADER < question) {
		return DNS_FORMERR;
	}
	enum dns_read result =
		read_additional(packet, len, HEADER + question, u16(packet + 10), query);
	if (result == DNS_FORMERR) {
		return result;
	}
	query->question = packet + HEADER;
	query->question_len = (uint16_t)question;
	query->type = u16(packet + HEADER + name);
	query->klass = u16(packet + HEADER + name + 2);
	read_name(packet + HEADER, query);
	query->reverse = query->plain && (reverse_v4(query->name, &query->reverse_addr) ||
					  reverse_v6(query->name, &query->reverse_addr));
	return result;
}

enum dns_read dns_read(const unsigned char *packet, size_t len, struct dns_query *ret_query)
{
	*ret_query = (struct dns_query){.id = 0};
	if (len < HEADER || len > DNS_QUERY_MAX) {
		return DNS_DROP;
	}
	unsigned flags = u16(packet + 2);
	if ((flags & FLAG_RESPONSE) != 0) {
		return DNS_DROP;
	}
	ret_query->id = u16(packet);
	ret_query->opcode = flags >> OPCODE_SHIFT & OPCODE_MASK;
	ret_query->recursion = (flags & FLAG_RECURSION) != 0;
	ret_query->unchecked = (flags & FLAG_UNCHECKED) != 0;
	if (ret_query->opcode != 0) {
		return DNS_NOTIMP;
	}
	return read_body(packet, len, ret_query);
}

/* --- writing ------------------------------------------------------------------------------ */

struct writer {
	unsigned char *out;
	size_t n;
};

static void put(struct writer *w, const void *data, size_t len)
{
	assert(len <= DNS_ANSWER_MAX - w->n);
	memcpy(w->out + w->n, data, len);
	w->n += len;
}

static void put8(struct writer *w, unsigned value)
{
	const unsigned char b = (unsigned char)value;

	put(w, &b, 1);
}

static void put16(struct writer *w, unsigned value)
{
	put8(w, value >> 8 & 0xff);
	put8(w, value & 0xff);
}

static void put32(struct writer *w, uint32_t value)
{
	put16(w, value >> 16);
	put16(w, value & 0xffff);
}

/* Header and question. What is in the three sections behind it is said now. */
static struct writer begin(const struct dns_query *query, unsigned rcode, unsigned answers,
			   unsigned authority, unsigned char *out)
{
	struct writer w = {.out = out};
	unsigned flags = FLAG_RESPONSE | FLAG_CAN_RECURSE | (rcode & RCODE_MASK) |
			 (unsigned)query->opcode << OPCODE_SHIFT;

	flags |= query->recursion ? FLAG_RECURSION : 0;
	flags |= query->unchecked ? FLAG_UNCHECKED : 0;
	put16(&w, query->id);
	put16(&w, flags);
	put16(&w, query->question_len > 0 ? 1 : 0);
	put16(&w, answers);
	put16(&w, authority);
	put16(&w, query->edns ? 1 : 0);
	put(&w, query->question != NULL ? query->question : (const unsigned char *)"",
	    query->question_len);
	return w;
}

static void put_record(struct writer *w, unsigned type, uint32_t ttl, size_t data_len)
{
	put16(w, type);
	put16(w, DNS_IN);
	put32(w, ttl);
	put16(w, (unsigned)data_len);
}

/* A record of the name that was asked for: a pointer to the question's, behind the header. */
static void put_answer(struct writer *w, unsigned type, uint32_t ttl, size_t data_len)
{
	put16(w, 0xc000 | HEADER);
	put_record(w, type, ttl, data_len);
}

/* The OPT record, if the query had one; `upper`: of an RCODE over 15. */
static size_t finish(struct writer *w, const struct dns_query *query, unsigned upper)
{
	if (query->edns) {
		put8(w, 0);
		put16(w, TYPE_OPT);
		put16(w, DNS_QUERY_MAX);
		put8(w, upper);
		put8(w, 0);
		put16(w, query->signatures ? OPT_SIGNATURES : 0);
		put16(w, 0);
	}
	return w->n;
}

/* An SOA of the root, by nobody: what counts is how long the answer may be kept, which is the
 * smaller one of its TTL and its last field (RFC 2308 section 5). */
static void put_soa(struct writer *w)
{
	put8(w, 0);
	put_record(w, TYPE_SOA, DNS_NEGATIVE_TTL, 22);
	put8(w, 0);
	put8(w, 0);
	for (unsigned i = 0; i < 5; i++) {
		put32(w, i == 0 ? 1 : DNS_NEGATIVE_TTL);
	}
}

size_t dns_answer_a(const struct dns_query *query, uint32_t addr, uint32_t ttl, unsigned char *out)
{
	struct writer w = begin(query, DNS_NOERROR, 1, 0, out);

	put_answer(&w, DNS_A, ttl, 4);
	put32(&w, addr);
	return finish(&w, query, 0);
}

size_t dns_answer_aaaa(const struct dns_query *query, const unsigned char *addr, uint32_t ttl,
		       unsigned char *out)
{
	struct writer w = begin(query, DNS_NOERROR, 1, 0, out);

	put_answer(&w, DNS_AAAA, ttl, 16);
	put(&w, addr, 16);
	return finish(&w, query, 0);
}

/* A name must fit beside the longest question, which no reverse name is. */
size_t dns_answer_ptr(const struct dns_query *query, const char *name, uint32_t ttl,
		      unsigned char *out)
{
	size_t len = strnlen(name, HOST_MAX);

	if (len == 0 || len >= HOST_MAX || query->question_len > DNS_QUESTION_MAX / 2) {
		return dns_answer_empty(query, DNS_NXDOMAIN, out);
	}
	struct writer w = begin(query, DNS_NOERROR, 1, 0, out);
	put_answer(&w, DNS_PTR, ttl, len + 2);
	while (*name != '\0') {
		size_t label = strcspn(name, ".");

		put8(&w, (unsigned)label);
		put(&w, name, label);
		name += label + (name[label] == '.' ? 1 : 0);
	}
	put8(&w, 0);
	return finish(&w, query, 0);
}

size_t dns_answer_empty(const struct dns_query *query, enum dns_rcode rcode, unsigned char *out)
{
	bool negative = rcode == DNS_NXDOMAIN || rcode == DNS_NOERROR;
	struct writer w = begin(query, rcode, 0, negative ? 1 : 0, out);

	if (negative) {
		put_soa(&w);
	}
	return finish(&w, query, 0);
}

size_t dns_answer_broken(const struct dns_query *query, enum dns_read how, unsigned char *out)
{
	struct writer w;

	switch (how) {
	case DNS_FORMERR:
		return dns_answer_empty(query, DNS_RC_FORMERR, out);
	case DNS_NOTIMP:
		return dns_answer_empty(query, DNS_RC_NOTIMP, out);
	case DNS_BADVERS:
		w = begin(query, 0, 0, 0, out);
		return finish(&w, query, BADVERS_UPPER);
	case DNS_OK:
	case DNS_DROP:
		break;
	}
	return 0;
}
