/* Address literals and what they are for, by the IANA IPv4 and IPv6 special-purpose address
 * registries (RFC 6890, RFC 8190; entries up to RFC 9780) and the multicast registries. */
#include "base/str.h"
#include "spec/values.h"

#include <arpa/inet.h>
#include <string.h>

struct block {
	unsigned char b[16];
	unsigned char bits;
	enum addr_class class;
	const char *why;
};

/* The first match counts: narrow blocks stand before the wide ones they lie in. */
static const struct block blocks4[] = {
	{{0}, 8, ADDR_RESERVED, "\"this network\""},
	{{10}, 8, ADDR_PRIVATE, "private"},
	{{100, 64}, 10, ADDR_SHARED, "shared by a provider's customers"},
	{{127}, 8, ADDR_LOOPBACK, "this machine"},
	{{169, 254}, 16, ADDR_LINK_LOCAL, "link-local"},
	{{172, 16}, 12, ADDR_PRIVATE, "private"},
	{{192, 0, 0, 9}, 32, ADDR_PUBLIC, NULL},  /* RFC 7723 */
	{{192, 0, 0, 10}, 32, ADDR_PUBLIC, NULL}, /* RFC 8155 */
	{{192, 0, 0}, 24, ADDR_RESERVED, "reserved for protocols"},
	{{192, 0, 2}, 24, ADDR_RESERVED, "for documentation"},
	{{192, 88, 99}, 24, ADDR_RESERVED, "a retired 6to4 relay"},
	{{192, 168}, 16, ADDR_PRIVATE, "private"},
	{{198, 18}, 15, ADDR_RESERVED, "for benchmarks"},
	{{198, 51, 100}, 24, ADDR_RESERVED, "for documentation"},
	{{203, 0, 113}, 24, ADDR_RESERVED, "for documentation"},
	{{224}, 4, ADDR_RESERVED, "multicast"},
	{{240}, 4, ADDR_RESERVED, "reserved"},
};

static const struct block blocks6[] = {
	{{[15] = 1}, 128, ADDR_LOOPBACK, "this machine"},
	{{0}, 128, ADDR_RESERVED, "no address at all"},
	{{0}, 96, ADDR_CARRIER, "IPv4-compatible"},
	{{0, 0x64, 0xff, 0x9b}, 96, ADDR_CARRIER, "NAT64"},
	{{0, 0x64, 0xff, 0x9b, 0, 1}, 48, ADDR_CARRIER, "NAT64"},
	{{0x20, 0x01, 0, 0}, 32, ADDR_CARRIER, "Teredo"},
	{{0x20, 0x01, 0, 1, [15] = 1}, 128, ADDR_PUBLIC, NULL}, /* RFC 7723 */
	{{0x20, 0x01, 0, 1, [15] = 2}, 128, ADDR_PUBLIC, NULL}, /* RFC 8155 */
	{{0x20, 0x01, 0, 3}, 32, ADDR_PUBLIC, NULL},            /* AMT, RFC 7450 */
	{{0x20, 0x01, 0, 4, 1, 0x12}, 48, ADDR_PUBLIC, NULL},   /* AS112, RFC 7535 */
	{{0x20, 0x01, 0, 0x20}, 28, ADDR_PUBLIC, NULL},         /* ORCHIDv2, RFC 7343 */
	{{0x20, 0x01, 0, 0x30}, 28, ADDR_PUBLIC, NULL},         /* DETs, RFC 9374 */
	{{0x20, 0x01}, 23, ADDR_RESERVED, "reserved for protocols"},
	{{0x20, 0x01, 0x0d, 0xb8}, 32, ADDR_RESERVED, "for documentation"},
	{{0x20, 0x02}, 16, ADDR_CARRIER, "6to4"},
	{{0x3f, 0xff}, 20, ADDR_RESERVED, "for documentation"},
	{{0x20}, 3, ADDR_PUBLIC, NULL}, /* global unicast, RFC 4291 */
	{{0xfc}, 7, ADDR_PRIVATE, "private"},
	{{0xfe, 0x80}, 10, ADDR_LINK_LOCAL, "link-local"},
	{{0xff}, 8, ADDR_RESERVED, "multicast"},
};

bool addr_same_prefix(const struct addr *a, const struct addr *b, unsigned bits)
{
	unsigned whole = bits / 8;
	unsigned rest = bits % 8;

	if (memcmp(a->b, b->b, whole) != 0) {
		return false;
	}
	return rest == 0 || (a->b[whole] ^ b->b[whole]) >> (8 - rest) == 0;
}

bool addr_parse(const char *s, struct addr *ret_addr)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct addr a = {.v6 = strchr(s, ':') != NULL};

	if (inet_pton(a.v6 ? AF_INET6 : AF_INET, s, a.b) != 1) {
		return false;
	}
	if (a.v6 && memcmp(a.b, mapped, sizeof(mapped)) == 0) {
		a.v6 = false;
		memmove(a.b, a.b + sizeof(mapped), 4);
		memset(a.b + 4, 0, sizeof(a.b) - 4);
	}
	*ret_addr = a;
	return true;
}

enum addr_class addr_classify(const struct addr *addr, const char **ret_why)
{
	const struct block *blocks = addr->v6 ? blocks6 : blocks4;
	size_t n = addr->v6 ? ARRAY_LEN(blocks6) : ARRAY_LEN(blocks4);

	for (size_t i = 0; i < n; i++) {
		struct addr first = {.v6 = addr->v6};

		memcpy(first.b, blocks[i].b, sizeof(first.b));
		if (addr_same_prefix(addr, &first, blocks[i].bits)) {
			*ret_why = blocks[i].why;
			return blocks[i].class;
		}
	}
	*ret_why = addr->v6 ? "not assigned" : NULL;
	return addr->v6 ? ADDR_RESERVED : ADDR_PUBLIC;
}
