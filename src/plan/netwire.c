/* A net_plan as bytes: a head, the few strings that origins are made of (the spec's file, flags),
 * the lists, and last the bytes of all strings, each with a NUL, in the order in which their
 * lengths stand before. A decoded plan points into a copy of that last part alone: with 10,000
 * hosts what takes time is the memory. Numbers are in the machine's own order, since both ends are
 * of one build. */
#include "base/str.h"
#include "plan/netplan.h"

#include <string.h>

/* "lnk", and a number to bump when the layout changes. */
#define MAGIC 0x6c6e6b02U

/* Bytes that an entry of a list has at least: what bounds a count that is read. */
#define ORIGIN_BYTES  16U
#define STRING_BYTES  4U
#define HOST_BYTES    (STRING_BYTES + ORIGIN_BYTES)
#define TCP_BYTES     (STRING_BYTES + 2U + ORIGIN_BYTES)
#define RANGE_BYTES   (1U + 16U + 4U + ORIGIN_BYTES)
#define PORT_BYTES    (2U + 1U + ORIGIN_BYTES)
#define PUBLISH_BYTES 4U

/* --- writing ------------------------------------------------------------------------------ */

/* Strings that origins share, numbered from 1; 0 is NULL. */
struct strings {
	const char **v;
	size_t n;
	size_t cap;
};

/* Writes, or only counts where `v` is NULL. */
struct writer {
	unsigned char *v;
	size_t n;
	char *text; /* the same for the last part */
	size_t text_n;
	struct strings strings;
	struct arena *arena;
};

static void put(struct writer *w, const void *data, size_t len)
{
	if (w->v != NULL) {
		memcpy(w->v + w->n, data, len);
	}
	w->n += len;
}

static void put_u8(struct writer *w, unsigned value)
{
	const uint8_t v = (uint8_t)value;

	put(w, &v, sizeof(v));
}

static void put_u16(struct writer *w, uint16_t value)
{
	put(w, &value, sizeof(value));
}

static void put_u32(struct writer *w, size_t value)
{
	const uint32_t v = (uint32_t)value;

	put(w, &v, sizeof(v));
}

static void put_string(struct writer *w, const char *s)
{
	size_t len = strlen(s);

	put_u32(w, len);
	if (w->text != NULL) {
		memcpy(w->text + w->text_n, s, len + 1);
	}
	w->text_n += len + 1;
}

/* The number of a string; few are different, and mostly the same pointer comes again. */
static size_t number_of(struct writer *w, const char *s)
{
	if (s == NULL) {
		return 0;
	}
	for (size_t i = 0; i < w->strings.n; i++) {
		if (w->strings.v[i] == s || str_eq(w->strings.v[i], s)) {
			return i + 1;
		}
	}
	ARENA_PUSH(w->arena, &w->strings, s);
	return w->strings.n;
}

static void put_origin(struct writer *w, const struct origin *from)
{
	put_u32(w, number_of(w, from->file));
	put_u32(w, number_of(w, from->flag));
	put_u32(w, from->line);
	put_u32(w, from->col);
}

static void put_hosts(struct writer *w, const struct net_host *v, size_t n)
{
	put_u32(w, n);
	for (size_t i = 0; i < n; i++) {
		put_string(w, v[i].pattern);
		put_origin(w, &v[i].from);
	}
}

static void put_lists(struct writer *w, const struct net_plan *plan)
{
	put_hosts(w, plan->internet.v, plan->internet.n);
	put_u32(w, plan->tcp.n);
	for (size_t i = 0; i < plan->tcp.n; i++) {
		put_string(w, plan->tcp.v[i].host);
		put_u16(w, plan->tcp.v[i].port);
		put_origin(w, &plan->tcp.v[i].from);
	}
	put_hosts(w, plan->lan.v, plan->lan.n);
	put_u32(w, plan->ranges.n);
	for (size_t i = 0; i < plan->ranges.n; i++) {
		const struct net_range *r = &plan->ranges.v[i];

		put_u8(w, r->addr.v6 ? 1 : 0);
		put(w, r->addr.b, sizeof(r->addr.b));
		put_u32(w, r->bits);
		put_origin(w, &r->from);
	}
	put_u32(w, plan->ports.n);
	for (size_t i = 0; i < plan->ports.n; i++) {
		put_u16(w, plan->ports.v[i].port);
		put_u8(w, plan->ports.v[i].model ? 1 : 0);
		put_origin(w, &plan->ports.v[i].from);
	}
	put_u32(w, plan->publish.n);
	for (size_t i = 0; i < plan->publish.n; i++) {
		put_u16(w, plan->publish.v[i].inside);
		put_u16(w, plan->publish.v[i].outside);
	}
}

/* `text` is the size of the last part. */
static void put_head(struct writer *w, const struct net_plan *plan, size_t text)
{
	put_u32(w, MAGIC);
	put_u32(w, text);
	put_u32(w, w->strings.n);
	for (size_t i = 0; i < w->strings.n; i++) {
		put_string(w, w->strings.v[i]);
	}
	put_u8(w, plan->host_mode ? 1 : 0);
	put_u8(w, plan->gate ? 1 : 0);
	put(w, &plan->per_minute, sizeof(plan->per_minute));
	put_origin(w, &plan->per_minute_from);
	put_u32(w, number_of(w, plan->spec_file));
}

void net_plan_encode(const struct net_plan *plan, struct arena *arena, unsigned char **ret_bytes,
		     size_t *ret_len)
{
	struct writer w = {.arena = arena};

	/* Once to number the strings, once to know the size, once in earnest. */
	put_head(&w, plan, 0);
	put_lists(&w, plan);
	w.n = w.text_n = 0;
	put_head(&w, plan, 0);
	put_lists(&w, plan);
	size_t numbers = w.n;
	size_t text = w.text_n;
	size_t len = numbers + text;
	w.v = arena_alloc(arena, len);
	w.text = (char *)w.v + numbers;
	w.n = w.text_n = 0;
	put_head(&w, plan, text);
	put_lists(&w, plan);
	*ret_bytes = w.v;
	*ret_len = len;
}

/* --- reading ------------------------------------------------------------------------------ */

struct reader {
	const unsigned char *p;
	size_t left;
	const char *text; /* the rest of the last part, in the arena */
	size_t text_left;
	bool bad; /* everything read from then on is 0 */
	const char **strings;
	size_t nstrings;
	struct arena *arena;
};

static void get(struct reader *r, void *out, size_t len)
{
	if (r->bad || len > r->left) {
		r->bad = true;
		memset(out, 0, len);
		return;
	}
	memcpy(out, r->p, len);
	r->p += len;
	r->left -= len;
}

static bool get_bool(struct reader *r)
{
	uint8_t v;

	get(r, &v, sizeof(v));
	r->bad = r->bad || v > 1;
	return v == 1;
}

static uint16_t get_u16(struct reader *r)
{
	uint16_t v;

	get(r, &v, sizeof(v));
	return v;
}

static uint32_t get_u32(struct reader *r)
{
	uint32_t v;

	get(r, &v, sizeof(v));
	return v;
}

/* A port, which is never 0. */
static uint16_t get_port(struct reader *r)
{
	uint16_t port = get_u16(r);

	r->bad = r->bad || port == 0;
	return port;
}

static const char *get_string(struct reader *r)
{
	size_t len = get_u32(r);
	const char *s = r->text;

	if (r->bad || len >= r->text_left || memchr(s, '\0', len + 1) != s + len) {
		r->bad = true;
		return "";
	}
	r->text += len + 1;
	r->text_left -= len + 1;
	return s;
}

/* The number of entries of a list, each of at least `least` bytes. */
static size_t get_count(struct reader *r, size_t least)
{
	size_t n = get_u32(r);

	if (n > r->left / least) {
		r->bad = true;
	}
	return r->bad ? 0 : n;
}

static const char *get_shared(struct reader *r)
{
	size_t number = get_u32(r);

	if (number > r->nstrings) {
		r->bad = true;
		return NULL;
	}
	return number > 0 ? r->strings[number - 1] : NULL;
}

static void get_origin(struct reader *r, struct origin *ret_from)
{
	ret_from->file = get_shared(r);
	ret_from->flag = get_shared(r);
	ret_from->line = get_u32(r);
	ret_from->col = get_u32(r);
}

/* A list of exactly as many entries as are announced. */
#define GET_ROOM(r, list, least)                                                                   \
	do {                                                                                       \
		(list)->n = (list)->cap = get_count((r), (least));                                 \
		(list)->v = arena_alloc((r)->arena, (list)->n * sizeof(*(list)->v));               \
	} while (0)

static void get_lists(struct reader *r, struct net_plan *plan)
{
	GET_ROOM(r, &plan->internet, HOST_BYTES);
	for (size_t i = 0; i < plan->internet.n && !r->bad; i++) {
		struct net_host *host = &plan->internet.v[i];

		host->pattern = get_string(r);
		get_origin(r, &host->from);
	}
	GET_ROOM(r, &plan->tcp, TCP_BYTES);
	for (size_t i = 0; i < plan->tcp.n && !r->bad; i++) {
		struct net_tcp *tcp = &plan->tcp.v[i];

		tcp->host = get_string(r);
		tcp->port = get_port(r);
		get_origin(r, &tcp->from);
	}
	GET_ROOM(r, &plan->lan, HOST_BYTES);
	for (size_t i = 0; i < plan->lan.n && !r->bad; i++) {
		struct net_host *name = &plan->lan.v[i];

		name->pattern = get_string(r);
		get_origin(r, &name->from);
	}
	GET_ROOM(r, &plan->ranges, RANGE_BYTES);
	for (size_t i = 0; i < plan->ranges.n && !r->bad; i++) {
		struct net_range *range = &plan->ranges.v[i];

		range->addr.v6 = get_bool(r);
		get(r, range->addr.b, sizeof(range->addr.b));
		range->bits = get_u32(r);
		r->bad = r->bad || range->bits > (range->addr.v6 ? 128 : 32);
		get_origin(r, &range->from);
	}
	GET_ROOM(r, &plan->ports, PORT_BYTES);
	for (size_t i = 0; i < plan->ports.n && !r->bad; i++) {
		struct net_port *port = &plan->ports.v[i];

		port->port = get_port(r);
		port->model = get_bool(r);
		get_origin(r, &port->from);
	}
	GET_ROOM(r, &plan->publish, PUBLISH_BYTES);
	for (size_t i = 0; i < plan->publish.n && !r->bad; i++) {
		struct net_publish *publish = &plan->publish.v[i];

		publish->inside = get_port(r);
		publish->outside = get_port(r);
	}
}

static void get_strings(struct reader *r)
{
	size_t n = get_count(r, STRING_BYTES);

	r->strings = arena_alloc(r->arena, n * sizeof(*r->strings));
	for (size_t i = 0; i < n; i++) {
		r->strings[i] = get_string(r);
	}
	r->nstrings = r->bad ? 0 : n;
}

bool net_plan_decode(const unsigned char *bytes, size_t len, struct arena *arena,
		     struct net_plan *ret_plan)
{
	struct net_plan plan = {.host_mode = false};
	struct reader r = {.p = bytes, .left = len, .arena = arena};

	r.bad = get_u32(&r) != MAGIC;
	size_t text = get_u32(&r);
	if (r.bad || text > r.left) {
		return false;
	}
	r.left -= text;
	r.text = arena_strndup(arena, (const char *)r.p + r.left, text);
	r.text_left = text;
	get_strings(&r);
	plan.host_mode = get_bool(&r);
	plan.gate = get_bool(&r);
	get(&r, &plan.per_minute, sizeof(plan.per_minute));
	get_origin(&r, &plan.per_minute_from);
	plan.spec_file = get_shared(&r);
	get_lists(&r, &plan);
	if (r.bad || r.left != 0 || r.text_left != 0) {
		return false;
	}
	*ret_plan = plan;
	return true;
}
