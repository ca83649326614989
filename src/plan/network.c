/* The network sections as part of the plan: pure decisions, and what the user should know. */
#include "plan/build.h"

#include "base/str.h"

/* With mode = "host" nothing is filtered, whatever the sections say. */
static void note_sections_without_effect(struct build *b)
{
	static const enum spec_section sections[] = {SPEC_SECTION_INTERNET, SPEC_SECTION_LAN,
						     SPEC_SECTION_LOCALHOST};

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		if (b->spec->section_set[sections[i]]) {
			build_note(b, &b->spec->section[sections[i]],
				   "[%s] has no effect: [network] mode = \"host\" opens this "
				   "machine's whole network, unfiltered",
				   spec_sections[sections[i]].name);
		}
	}
}

/* A call to such a port would come back to the gate, and out again. */
static void check_published(struct build *b, const struct net_publish *p)
{
	static const struct origin flag = {.flag = "--publish"};
	const struct net_plan *net = &b->plan->net;

	for (size_t i = 0; i < net->ports.n; i++) {
		if (net->ports.v[i].port == p->inside) {
			struct err *err = err_list_next(b->errs);

			err_set(err, ERR_SPEC, 0,
				"port %u is both a server inside (--publish) and one of this "
				"machine ([localhost])",
				p->inside);
			err_hint(err, "take it out of [localhost], or let the server inside listen "
				      "on another port");
			err_at(err, &flag);
			return;
		}
	}
}

void build_network(struct build *b)
{
	const struct net_plan *net = b->options->net;

	b->plan->net = *net;
	for (size_t i = 0; i < net->publish.n; i++) {
		check_published(b, &net->publish.v[i]);
	}
	if (!net->host_mode) {
		return;
	}
	note_sections_without_effect(b);
	if (net->publish.n > 0) {
		build_note(b, &nowhere,
			   "--publish does nothing: with mode = \"host\" a server inside is this "
			   "machine's already");
	}
	/* Sockets without a name in the file system belong to the network namespace. */
	if (b->facts->kernel.landlock_abi < PLAN_ABI_WITH_SCOPES) {
		build_note(b, &nowhere,
			   "with mode = \"host\" this kernel leaves abstract Unix sockets of this "
			   "machine open (confined since Linux 6.12)");
	}
}
