#include "confine/nft.h"

#include "base/str.h"
#include "confine/netlink.h"
#include "plan/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdint.h>

#define TABLE    "lnk"
#define NAT      "nat"
#define OUT      "out"
#define PORTS    "ports"
#define NFT(msg) (NFNL_SUBSYS_NFTABLES << 8 | (msg))
#define DNS_PORT 53
/* Elements of the set of ports in one batch: each takes 24 bytes. */
#define PORTS_STEP 256
/* nft's own number for "an internet service", shown by `nft list`. */
#define TYPE_INET_SERVICE 13
#define SET_ID            1

/* ct state established or related (enum ip_conntrack_info, as bits of NFT_CT_STATE). */
#define CT_KNOWN 6U

static void message(struct netlink *nl, unsigned type, unsigned flags)
{
	const struct nfgenmsg fixed = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};

	netlink_begin(nl, NFT(type), flags, &fixed, sizeof(fixed));
}

/* What is between a begin and an end is done whole or not at all. */
static void batch(struct netlink *nl, unsigned type)
{
	const struct nfgenmsg fixed = {.version = NFNETLINK_V0,
				       .res_id = htons(NFNL_SUBSYS_NFTABLES)};

	netlink_begin(nl, type, 0, &fixed, sizeof(fixed));
}

/* --- expressions: each is { name, data { ... } } in the rule's list ----------------------- */

struct expression {
	size_t element, data;
};

static struct expression open_expression(struct netlink *nl, const char *name)
{
	struct expression e = {.element = netlink_nest(nl, NFTA_LIST_ELEM)};

	netlink_put_text(nl, NFTA_EXPR_NAME, name);
	e.data = netlink_nest(nl, NFTA_EXPR_DATA);
	return e;
}

static void close_expression(struct netlink *nl, struct expression e)
{
	netlink_unnest(nl, e.data);
	netlink_unnest(nl, e.element);
}

static void put_value(struct netlink *nl, unsigned type, const void *value, size_t len)
{
	size_t at = netlink_nest(nl, type);

	netlink_put(nl, NFTA_DATA_VALUE, value, len);
	netlink_unnest(nl, at);
}

static void load_meta(struct netlink *nl, unsigned key)
{
	struct expression e = open_expression(nl, "meta");

	netlink_put_be32(nl, NFTA_META_KEY, key);
	netlink_put_be32(nl, NFTA_META_DREG, NFT_REG_1);
	close_expression(nl, e);
}

static void load_payload(struct netlink *nl, unsigned base, unsigned offset, unsigned len)
{
	struct expression e = open_expression(nl, "payload");

	netlink_put_be32(nl, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_put_be32(nl, NFTA_PAYLOAD_BASE, base);
	netlink_put_be32(nl, NFTA_PAYLOAD_OFFSET, offset);
	netlink_put_be32(nl, NFTA_PAYLOAD_LEN, len);
	close_expression(nl, e);
}

static void mask(struct netlink *nl, const void *bits, size_t len)
{
	static const unsigned char zero[16] = {0};
	struct expression e = open_expression(nl, "bitwise");

	netlink_put_be32(nl, NFTA_BITWISE_SREG, NFT_REG_1);
	netlink_put_be32(nl, NFTA_BITWISE_DREG, NFT_REG_1);
	netlink_put_be32(nl, NFTA_BITWISE_LEN, (uint32_t)len);
	put_value(nl, NFTA_BITWISE_MASK, bits, len);
	put_value(nl, NFTA_BITWISE_XOR, zero, len);
	close_expression(nl, e);
}

static void compare(struct netlink *nl, unsigned how, const void *value, size_t len)
{
	struct expression e = open_expression(nl, "cmp");

	netlink_put_be32(nl, NFTA_CMP_SREG, NFT_REG_1);
	netlink_put_be32(nl, NFTA_CMP_OP, how);
	put_value(nl, NFTA_CMP_DATA, value, len);
	close_expression(nl, e);
}

static void verdict(struct netlink *nl, int code)
{
	struct expression e = open_expression(nl, "immediate");

	netlink_put_be32(nl, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	size_t data = netlink_nest(nl, NFTA_IMMEDIATE_DATA);
	size_t inner = netlink_nest(nl, NFTA_DATA_VERDICT);
	netlink_put_be32(nl, NFTA_VERDICT_CODE, (uint32_t)code);
	netlink_unnest(nl, inner);
	netlink_unnest(nl, data);
	close_expression(nl, e);
}

/* To this port of the loopback. */
static void redirect(struct netlink *nl, uint16_t port)
{
	uint16_t be = htons(port);
	struct expression e = open_expression(nl, "immediate");

	netlink_put_be32(nl, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	put_value(nl, NFTA_IMMEDIATE_DATA, &be, sizeof(be));
	close_expression(nl, e);
	e = open_expression(nl, "redir");
	netlink_put_be32(nl, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
	close_expression(nl, e);
}

/* --- what rules are made of --------------------------------------------------------------- */

static void protocol_is(struct netlink *nl, uint8_t protocol)
{
	load_meta(nl, NFT_META_L4PROTO);
	compare(nl, NFT_CMP_EQ, &protocol, sizeof(protocol));
}

static void family_is(struct netlink *nl, uint8_t family)
{
	load_meta(nl, NFT_META_NFPROTO);
	compare(nl, NFT_CMP_EQ, &family, sizeof(family));
}

/* The destination port, of TCP and UDP alike. */
static void load_port(struct netlink *nl)
{
	load_payload(nl, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof(uint16_t));
}

static void port_is(struct netlink *nl, uint16_t port)
{
	uint16_t be = htons(port);

	load_port(nl);
	compare(nl, NFT_CMP_EQ, &be, sizeof(be));
}

static void port_is_granted(struct netlink *nl)
{
	load_port(nl);
	struct expression e = open_expression(nl, "lookup");
	netlink_put_text(nl, NFTA_LOOKUP_SET, PORTS);
	netlink_put_be32(nl, NFTA_LOOKUP_SREG, NFT_REG_1);
	netlink_put_be32(nl, NFTA_LOOKUP_SET_ID, SET_ID);
	close_expression(nl, e);
}

/* The destination lies in addr/bits. */
static void v4_is(struct netlink *nl, uint32_t addr, uint32_t bits)
{
	uint32_t be = htonl(addr);
	uint32_t be_bits = htonl(bits);

	family_is(nl, NFPROTO_IPV4);
	load_payload(nl, NFT_PAYLOAD_NETWORK_HEADER, 16, sizeof(be));
	if (bits != UINT32_MAX) {
		mask(nl, &be_bits, sizeof(be_bits));
	}
	compare(nl, NFT_CMP_EQ, &be, sizeof(be));
}

static void v4_is_not(struct netlink *nl, uint32_t addr)
{
	uint32_t be = htonl(addr);

	load_payload(nl, NFT_PAYLOAD_NETWORK_HEADER, 16, sizeof(be));
	compare(nl, NFT_CMP_NEQ, &be, sizeof(be));
}

static void v6_is_loopback(struct netlink *nl)
{
	family_is(nl, NFPROTO_IPV6);
	load_payload(nl, NFT_PAYLOAD_NETWORK_HEADER, 24, sizeof(in6addr_loopback));
	compare(nl, NFT_CMP_EQ, &in6addr_loopback, sizeof(in6addr_loopback));
}

/* --- tables, chains, rules ---------------------------------------------------------------- */

static void chain(struct netlink *nl, const char *name, const char *type, int priority)
{
	message(nl, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	netlink_put_text(nl, NFTA_CHAIN_TABLE, TABLE);
	netlink_put_text(nl, NFTA_CHAIN_NAME, name);
	size_t at = netlink_nest(nl, NFTA_CHAIN_HOOK);
	netlink_put_be32(nl, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
	netlink_put_be32(nl, NFTA_HOOK_PRIORITY, (uint32_t)priority);
	netlink_unnest(nl, at);
	netlink_put_text(nl, NFTA_CHAIN_TYPE, type);
}

static size_t open_rule(struct netlink *nl, const char *in)
{
	message(nl, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	netlink_put_text(nl, NFTA_RULE_TABLE, TABLE);
	netlink_put_text(nl, NFTA_RULE_CHAIN, in);
	return netlink_nest(nl, NFTA_RULE_EXPRESSIONS);
}

static void ports_set(struct netlink *nl)
{
	message(nl, NFT_MSG_NEWSET, NLM_F_CREATE);
	netlink_put_text(nl, NFTA_SET_TABLE, TABLE);
	netlink_put_text(nl, NFTA_SET_NAME, PORTS);
	netlink_put_be32(nl, NFTA_SET_KEY_TYPE, TYPE_INET_SERVICE);
	netlink_put_be32(nl, NFTA_SET_KEY_LEN, sizeof(uint16_t));
	netlink_put_be32(nl, NFTA_SET_ID, SET_ID);
}

static void nat_rules(struct netlink *nl, bool ports)
{
	size_t r;

	for (unsigned v6 = 0; ports && v6 < 2; v6++) {
		r = open_rule(nl, NAT);
		if (v6 != 0) {
			v6_is_loopback(nl);
		} else {
			v4_is(nl, INADDR_LOOPBACK, UINT32_MAX);
		}
		protocol_is(nl, IPPROTO_TCP);
		port_is_granted(nl);
		redirect(nl, NFT_GATE_PORT);
		netlink_unnest(nl, r);
	}
	/* A granted "host:53" is a call like any other. */
	r = open_rule(nl, NAT);
	v4_is(nl, NET_NAMES_FIRST & NET_NAMES_MASK, NET_NAMES_MASK);
	v4_is_not(nl, NET_NAMES_FIRST - 1);
	protocol_is(nl, IPPROTO_TCP);
	redirect(nl, NFT_GATE_PORT);
	netlink_unnest(nl, r);
	r = open_rule(nl, NAT);
	protocol_is(nl, IPPROTO_TCP);
	port_is(nl, DNS_PORT);
	redirect(nl, NFT_DNS_PORT);
	netlink_unnest(nl, r);
	r = open_rule(nl, NAT);
	protocol_is(nl, IPPROTO_UDP);
	port_is(nl, DNS_PORT);
	redirect(nl, NFT_DNS_PORT);
	netlink_unnest(nl, r);
	r = open_rule(nl, NAT);
	v4_is(nl, INADDR_LOOPBACK & IN_CLASSA_NET, IN_CLASSA_NET);
	verdict(nl, NFT_RETURN);
	netlink_unnest(nl, r);
	r = open_rule(nl, NAT);
	v6_is_loopback(nl);
	verdict(nl, NFT_RETURN);
	netlink_unnest(nl, r);
	r = open_rule(nl, NAT);
	protocol_is(nl, IPPROTO_TCP);
	redirect(nl, NFT_GATE_PORT);
	netlink_unnest(nl, r);
}

static void filter_rules(struct netlink *nl)
{
	const uint32_t known = CT_KNOWN;
	const uint32_t none = 0;
	const uint8_t unreachable = NFT_REJECT_ICMPX_PORT_UNREACH;
	size_t r = open_rule(nl, OUT);

	v4_is(nl, INADDR_LOOPBACK & IN_CLASSA_NET, IN_CLASSA_NET);
	verdict(nl, NF_ACCEPT);
	netlink_unnest(nl, r);
	r = open_rule(nl, OUT);
	v6_is_loopback(nl);
	verdict(nl, NF_ACCEPT);
	netlink_unnest(nl, r);
	/* Answers of the gate to a redirected call, or it would wait for ever. */
	r = open_rule(nl, OUT);
	struct expression e = open_expression(nl, "ct");
	netlink_put_be32(nl, NFTA_CT_KEY, NFT_CT_STATE);
	netlink_put_be32(nl, NFTA_CT_DREG, NFT_REG_1);
	close_expression(nl, e);
	mask(nl, &known, sizeof(known));
	compare(nl, NFT_CMP_NEQ, &none, sizeof(none));
	verdict(nl, NF_ACCEPT);
	netlink_unnest(nl, r);
	r = open_rule(nl, OUT);
	e = open_expression(nl, "reject");
	netlink_put_be32(nl, NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	netlink_put(nl, NFTA_REJECT_ICMP_CODE, &unreachable, sizeof(unreachable));
	close_expression(nl, e);
	netlink_unnest(nl, r);
}

static void table(struct netlink *nl)
{
	message(nl, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_ACK);
	netlink_put_text(nl, NFTA_TABLE_NAME, TABLE);
	chain(nl, NAT, "nat", -100);
}

/* Some of the granted ports, from `i` on. Returns the first that is left. */
static size_t port_elements(struct netlink *nl, const struct net_plan *plan, size_t i)
{
	size_t end = plan->ports.n - i > PORTS_STEP ? i + PORTS_STEP : plan->ports.n;

	message(nl, NFT_MSG_NEWSETELEM, NLM_F_CREATE | NLM_F_ACK);
	netlink_put_text(nl, NFTA_SET_ELEM_LIST_TABLE, TABLE);
	netlink_put_text(nl, NFTA_SET_ELEM_LIST_SET, PORTS);
	netlink_put_be32(nl, NFTA_SET_ELEM_LIST_SET_ID, SET_ID);
	size_t list = netlink_nest(nl, NFTA_SET_ELEM_LIST_ELEMENTS);
	for (; i < end; i++) {
		uint16_t be = htons(plan->ports.v[i].port);
		size_t element = netlink_nest(nl, NFTA_LIST_ELEM);

		put_value(nl, NFTA_SET_ELEM_KEY, &be, sizeof(be));
		netlink_unnest(nl, element);
	}
	netlink_unnest(nl, list);
	return i;
}

bool nft_redirect_all(const struct net_plan *plan)
{
	struct netlink nl;
	bool ports = plan->ports.n > 0;

	netlink_start(&nl);
	batch(&nl, NFNL_MSG_BATCH_BEGIN);
	table(&nl);
	chain(&nl, OUT, "filter", 0);
	if (ports) {
		ports_set(&nl);
	}
	nat_rules(&nl, ports);
	filter_rules(&nl);
	batch(&nl, NFNL_MSG_BATCH_END);
	if (!netlink_send(&nl, NETLINK_NETFILTER)) {
		return false;
	}
	for (size_t i = 0; i < plan->ports.n;) {
		netlink_start(&nl);
		batch(&nl, NFNL_MSG_BATCH_BEGIN);
		i = port_elements(&nl, plan, i);
		batch(&nl, NFNL_MSG_BATCH_END);
		if (!netlink_send(&nl, NETLINK_NETFILTER)) {
			return false;
		}
	}
	return true;
}

int nft_probe(void)
{
	struct netlink nl;

	netlink_start(&nl);
	batch(&nl, NFNL_MSG_BATCH_BEGIN);
	table(&nl);
	batch(&nl, NFNL_MSG_BATCH_END);
	return netlink_send(&nl, NETLINK_NETFILTER) ? 0 : errno;
}
