/* For tests of DNS: queries put together by hand, and read from memory of their exact size. */
#ifndef LNK_TESTS_DNS_KIT_H
#define LNK_TESTS_DNS_KIT_H

#include "base/str.h"
#include "gate/dns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEADER_LEN 12
#define ROOM       4096
#define ID         0xbeef
#define RD         0x0100

struct packet {
	unsigned char v[ROOM];
	size_t n;
};

static inline void put(struct packet *p, const void *data, size_t len)
{
	assert_true(len <= sizeof(p->v) - p->n);
	memcpy(p->v + p->n, data, len);
	p->n += len;
}

static inline void put16(struct packet *p, unsigned value)
{
	put(p, (unsigned char[]){(unsigned char)(value >> 8), (unsigned char)value}, 2);
}

static inline void put32(struct packet *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p, value & 0xffff);
}

/* "" is the root. Bytes of labels as they come. */
static inline void put_name(struct packet *p, const char *name)
{
	while (*name != '\0') {
		size_t n = strcspn(name, ".");

		put(p, &(unsigned char){(unsigned char)n}, 1);
		put(p, name, n);
		name += n + (name[n] == '.' ? 1 : 0);
	}
	put(p, "", 1);
}

/* The numbers of questions, answers, authorities and further records. */
static inline struct packet header(unsigned flags, unsigned qd, unsigned an, unsigned ns,
				   unsigned ar)
{
	struct packet p = {.n = 0};
	const unsigned v[] = {ID, flags, qd, an, ns, ar};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		put16(&p, v[i]);
	}
	return p;
}

static inline void put_question(struct packet *p, const char *name, unsigned type)
{
	put_name(p, name);
	put16(p, type);
	put16(p, DNS_IN);
}

/* A query for one name, with room for `further` records. */
static inline struct packet asking(const char *name, unsigned type, unsigned further)
{
	struct packet p = header(RD, 1, 0, 0, further);

	put_question(&p, name, type);
	return p;
}

static inline void put_record(struct packet *p, unsigned type, unsigned klass, uint32_t ttl,
			      size_t len)
{
	put16(p, type);
	put16(p, klass);
	put32(p, ttl);
	put16(p, (unsigned)len);
}

/* `ttl`: upper bits of the RCODE, version, DO and zeros. */
static inline void put_opt(struct packet *p, uint32_t ttl, size_t data_len)
{
	put_name(p, "");
	put_record(p, 41, 1232, ttl, data_len);
}

/* Read from memory of its exact size. What the question points to is the caller's packet again. */
static inline enum dns_read read_n(const struct packet *p, size_t n, struct dns_query *ret)
{
	unsigned char *exact = malloc(n > 0 ? n : 1);

	assert_non_null(exact);
	memcpy(exact, p->v, n);
	enum dns_read how = dns_read(exact, n, ret);
	if (how == DNS_OK || how == DNS_BADVERS) {
		assert_ptr_equal(ret->question, exact + HEADER_LEN);
		assert_in_range(ret->question_len, 5, DNS_QUESTION_MAX);
		ret->question = p->v + HEADER_LEN;
	} else {
		assert_null(ret->question);
		assert_int_equal(ret->question_len, 0);
	}
	free(exact);
	return how;
}

static inline enum dns_read read_as(const struct packet *p, struct dns_query *ret)
{
	return read_n(p, p->n, ret);
}

static inline enum dns_read how_read(const struct packet *p)
{
	struct dns_query query;

	return read_as(p, &query);
}

static inline struct dns_query must_read(const struct packet *p)
{
	struct dns_query query;

	assert_int_equal(read_as(p, &query), DNS_OK);
	return query;
}

/* Four labels: 255 bytes with the end, 253 as text. */
static inline const char *longest(void)
{
	static char name[HOST_MAX];

	memset(name, 'x', sizeof(name) - 1);
	name[63] = name[127] = name[191] = '.';
	return name;
}

/* The lower end of 2001:db8::1 as a reverse name. */
#define NIBBLES_1 "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."

#endif
