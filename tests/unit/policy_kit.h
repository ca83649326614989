/* A policy from the text of a spec. */
#ifndef LNK_TESTS_POLICY_KIT_H
#define LNK_TESTS_POLICY_KIT_H

#include "plan_kit.h"

#include "base/str.h"
#include "gate/address.h"
#include "gate/policy.h"

#include <arpa/inet.h>

struct kit {
	struct arena arena;
	struct net_plan plan;
	struct policy *policy;
};

static inline void kit_make(struct kit *kit, const char *toml, const struct spec_flag *flags,
			    size_t n)
{
	memset(kit, 0, sizeof(*kit));
	kit->plan = plan_of(&kit->arena, toml, flags, n);
	kit->policy = policy_make(&kit->plan, &kit->arena);
}

static inline void kit_release(struct kit *kit)
{
	arena_release(&kit->arena);
}

#define auto_kit __attribute__((cleanup(kit_release))) struct kit

/* As it comes off a socket: a mapped address stays one. */
static inline struct addr raw(const char *text)
{
	struct addr a = {.v6 = strchr(text, ':') != NULL};

	assert_int_equal(inet_pton(a.v6 ? AF_INET6 : AF_INET, text, a.b), 1);
	return a;
}

/* One of everything, over several lines. */
static const char sections[] = "[internet]\n"
			       "hosts = [\"ok.test\", \"*.api.ok.test\", \"both.test\",\n"
			       "  \"1.1.1.1\", \"2606:4700::1111\", \"loud.ok.test\"]\n"
			       "tcp = [\"ok.test:22\", \"1.1.1.1:853\", \"loud.ok.test:443\"]\n"
			       "[lan]\n"
			       "hosts = [\"nas.local\", \"both.test\", \"*.office.lan\", "
			       "\"192.168.1.0/24\",\n"
			       "  \"10.0.0.7\", \"fd12::/16\", \"100.64.0.9\", \"fe80::/10\"]\n"
			       "[localhost]\n"
			       "ports = [8080]\n"
			       "models = [11434]\n";

#endif
