/* From the network sections to a net_plan: every entry sorted by what it is. */
#include "plan/netplan.h"

#include "base/str.h"
#include "base/testguard.h"

#include <string.h>

/* A list with room for all entries of a value. */
#define ROOM(arena, list, entries)                                                                 \
	do {                                                                                       \
		(list)->cap = (entries);                                                           \
		(list)->v = arena_alloc((arena), (list)->cap * sizeof(*(list)->v));                \
	} while (0)

/* "10.0.0.0/8" or an address. False for names and "*". The reader of the spec has checked it. */
static bool read_range(const char *text, struct net_range *ret_range)
{
	/* The longest: an IPv6 address as inet_ntop(3) writes it, and "/128". */
	char address[64];
	size_t n = strcspn(text, "/");
	struct addr a;

	if (n >= sizeof(address)) {
		return false;
	}
	memcpy(address, text, n);
	address[n] = '\0';
	if (!addr_parse(address, &a)) {
		return false;
	}
	unsigned most = a.v6 ? 128 : 32;
	unsigned bits = text[n] == '/' ? 0 : most;
	for (const char *p = text + n; *p != '\0' && bits <= most; p++) {
		bits = *p == '/' ? 0 : bits * 10 + (unsigned)(*p - '0');
	}
	ret_range->addr = a;
	ret_range->bits = bits;
	return bits <= most;
}

static void internet(const struct spec *spec, struct arena *arena, struct net_plan *plan)
{
	const struct spec_value *hosts = &spec->value[SPEC_INTERNET_HOSTS];
	const struct spec_value *tcp = &spec->value[SPEC_INTERNET_TCP];
	const struct spec_value *per_minute = &spec->value[SPEC_INTERNET_PER_MINUTE];

	ROOM(arena, &plan->internet, hosts->n);
	for (size_t i = 0; i < hosts->n; i++) {
		const struct net_host host = {.pattern = hosts->v[i].path,
					      .from = hosts->v[i].from};

		ARENA_PUSH(arena, &plan->internet, host);
	}
	ROOM(arena, &plan->tcp, tcp->n);
	for (size_t i = 0; i < tcp->n; i++) {
		const struct net_tcp entry = {.host = tcp->v[i].path,
					      .port = (uint16_t)tcp->v[i].number,
					      .from = tcp->v[i].from};

		ARENA_PUSH(arena, &plan->tcp, entry);
	}
	if (per_minute->n > 0) {
		plan->per_minute = (uint64_t)per_minute->v[0].number;
		plan->per_minute_from = per_minute->v[0].from;
	}
}

static void lan(const struct spec *spec, struct arena *arena, struct net_plan *plan)
{
	const struct spec_value *hosts = &spec->value[SPEC_LAN_HOSTS];

	for (size_t i = 0; i < hosts->n; i++) {
		struct net_range range = {.from = hosts->v[i].from};
		const struct net_host host = {.pattern = hosts->v[i].path,
					      .from = hosts->v[i].from};

		if (read_range(hosts->v[i].path, &range)) {
			ARENA_PUSH(arena, &plan->ranges, range);
		} else {
			ARENA_PUSH(arena, &plan->lan, host);
		}
	}
}

static void ports(const struct spec *spec, enum spec_key key, struct arena *arena,
		  struct net_plan *plan)
{
	const struct spec_value *value = &spec->value[key];

	for (size_t i = 0; i < value->n; i++) {
		const struct net_port port = {.port = (uint16_t)value->v[i].number,
					      .model = key == SPEC_LOCALHOST_MODELS,
					      .from = value->v[i].from};

		ARENA_PUSH(arena, &plan->ports, port);
	}
}

void net_plan_make(const struct spec *spec, struct arena *arena, struct net_plan *ret_plan)
{
	const struct spec_value *mode = &spec->value[SPEC_NETWORK_MODE];
	struct net_plan plan = {.spec_file = spec->file};

	plan.host_mode = (mode->n > 0 && str_eq(mode->v[0].text, "host")) || !guard_on("network");
	internet(spec, arena, &plan);
	lan(spec, arena, &plan);
	ports(spec, SPEC_LOCALHOST_PORTS, arena, &plan);
	ports(spec, SPEC_LOCALHOST_MODELS, arena, &plan);
	plan.gate = !plan.host_mode && (plan.internet.n > 0 || plan.lan.n > 0 ||
					plan.ranges.n > 0 || plan.ports.n > 0);
	*ret_plan = plan;
}
