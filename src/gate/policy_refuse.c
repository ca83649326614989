/* What a refusal says: why, and the line that would open it, in the words of the user's own spec:
 * `app.toml:5: add "x" to [internet] hosts`, or `add --host x` where flags are the spec. */
#include "base/str.h"
#include "gate/policy_inner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A longer name of a spec's file is shown by its last part. */
#define FILE_SHOWN_MAX 80
/* "[v6]:port" or "name:port", in quotes. */
#define VALUE_MAX (HOST_MAX + 16)

/* --- writing ------------------------------------------------------------------------------ */

/* A text in one of a verdict's arrays, cut where it is full. */
struct text {
	char *v;
	size_t cap;
	size_t n;
};

static void append(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(t->v + t->n, t->cap - t->n, fmt, ap);
	va_end(ap);
	if (n > 0) {
		t->n = (size_t)n < t->cap - t->n ? t->n + (size_t)n : t->cap - 1;
	}
}

static struct text why_of(const struct refused *r, struct verdict *v)
{
	*v = (struct verdict){.how = GATE_REFUSED, .section = r->section};
	return (struct text){.v = v->why, .cap = sizeof(v->why)};
}

static struct text hint_of(struct verdict *v)
{
	return (struct text){.v = v->hint, .cap = sizeof(v->hint)};
}

/* --- the line to add ---------------------------------------------------------------------- */

/* A key that a value is to be added to. */
struct key {
	const char *section;
	const char *name;
	const char *flag;
	bool quoted;               /* strings in TOML */
	const struct origin *list; /* the last entry of the key; NULL: there is none yet */
	const struct origin *near; /* the last entry of another key of the section; NULL */
};

/* Where the last entry of a list stands; NULL of an empty one. */
#define LAST(list) ((list).n > 0 ? &(list).v[(list).n - 1].from : NULL)

static struct key hosts_key(const struct policy *policy)
{
	return (struct key){"internet", "hosts", "--host", true, LAST(policy->plan->internet),
			    NULL};
}

static struct key tcp_key(const struct policy *policy)
{
	return (struct key){"internet",
			    "tcp",
			    "--tcp",
			    true,
			    LAST(policy->plan->tcp),
			    LAST(policy->plan->internet)};
}

/* Names and ranges of [lan] are one list of the spec. */
static struct key lan_key(const struct policy *policy)
{
	const struct origin *names = LAST(policy->plan->lan);
	const struct origin *ranges = LAST(policy->plan->ranges);
	bool ranges_last = names == NULL || (ranges != NULL && ranges->line > names->line);

	return (struct key){"lan", "hosts", "--lan", true, ranges_last ? ranges : names, NULL};
}

static struct key ports_key(const struct policy *policy)
{
	struct key key = {"localhost", "ports", "--port", false, NULL, NULL};

	for (size_t i = 0; i < policy->plan->ports.n; i++) {
		const struct net_port *port = &policy->plan->ports.v[i];

		*(port->model ? &key.near : &key.list) = &port->from;
	}
	return key;
}

/* True when the value goes on the command line: the key was given there, where flags replace the
 * file's, or there is no file. */
static bool by_flag(const struct policy *policy, const struct key *key)
{
	const struct origin *from = key->list != NULL ? key->list : key->near;

	return policy->plan->spec_file == NULL || (from != NULL && from->flag != NULL);
}

static void append_flag(struct text *t, const struct key *key, const char *value)
{
	/* Brackets mean something to shells. */
	const char *quote = strchr(value, '[') != NULL ? "'" : "";

	append(t, " %s %s%s%s", key->flag, quote, value, quote);
}

static void append_place(struct text *t, const struct origin *from)
{
	const char *file = from->file != NULL ? from->file : "";

	if (strlen(file) > FILE_SHOWN_MAX) {
		file = path_base(file);
	}
	append(t, "%.*s:%u: ", FILE_SHOWN_MAX, file, from->line);
}

static void add_line(const struct policy *policy, const struct key *key, const char *value,
		     struct text *t)
{
	const char *quote = key->quoted ? "\"" : "";

	if (by_flag(policy, key)) {
		append(t, "add");
		append_flag(t, key, value);
	} else if (key->list != NULL) {
		append_place(t, key->list);
		append(t, "add %s%s%s to [%s] %s", quote, value, quote, key->section, key->name);
	} else if (key->near != NULL) {
		append_place(t, key->near);
		append(t, "add to [%s]: %s = [%s%s%s]", key->section, key->name, quote, value,
		       quote);
	} else {
		append(t, "add: [%s] %s = [%s%s%s]", key->section, key->name, quote, value, quote);
	}
}

/* "host:port" as tcp has it. */
static void host_port(const struct refused *r, char out[VALUE_MAX])
{
	bool v6 = strchr(r->host, ':') != NULL;

	snprintf(out, VALUE_MAX, "%s%.*s%s:%u", v6 ? "[" : "", HOST_MAX, r->host, v6 ? "]" : "",
		 (unsigned)r->port);
}

static void add_tcp(const struct refused *r, struct text *t)
{
	const struct key key = tcp_key(r->policy);
	char value[VALUE_MAX];

	host_port(r, value);
	add_line(r->policy, &key, value, t);
}

/* The host, and its port where that is none of the two that a host opens. */
static void add_host(const struct refused *r, struct text *t)
{
	const struct key hosts = hosts_key(r->policy);
	const struct key tcp = tcp_key(r->policy);
	char value[VALUE_MAX];

	add_line(r->policy, &hosts, r->host, t);
	if (r->port == 0 || r->port == 80 || r->port == 443) {
		return;
	}
	host_port(r, value);
	if (by_flag(r->policy, &hosts)) {
		append_flag(t, &tcp, value);
	} else if (tcp.list != NULL) {
		append(t, ", and \"%s\" to tcp", value);
	} else {
		append(t, ", and tcp = [\"%s\"]", value);
	}
}

static void add_port(const struct refused *r, struct text *t)
{
	const struct key key = ports_key(r->policy);
	char value[8];

	snprintf(value, sizeof(value), "%u", (unsigned)r->port);
	add_line(r->policy, &key, value, t);
}

static void add_lan(const struct refused *r, struct text *t)
{
	const struct key key = lan_key(r->policy);

	add_line(r->policy, &key, r->host, t);
}

/* --- names -------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s);
	size_t k = strlen(end);

	return n >= k && str_eq(s + n - k, end);
}

/* Names that only a network of the user's own gives: without a dot, mDNS (RFC 6762), home.arpa
 * (RFC 8375), and what networks call themselves (RFC 6762 appendix G). */
static bool is_lan_name(const char *name)
{
	static const char *const ends[] = {".local",   ".home.arpa", ".lan",
					   ".home",    ".internal",  ".intranet",
					   ".private", ".corp",      ".localdomain"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends_with(name, ends[i])) {
			return true;
		}
	}
	return strchr(name, '.') == NULL && strchr(name, ':') == NULL;
}

/* Names of clouds' metadata services (address.c has their addresses): no line would help. */
static bool is_metadata_name(const char *name)
{
	static const char *const names[] = {"metadata.google.internal", "metadata.goog",
					    "metadata.tencentyun.com", "instance-data",
					    "instance-data.ec2.internal"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_eq(name, names[i])) {
			return true;
		}
	}
	return false;
}

void refuse_name(const struct refused *r, const char *apex, struct verdict *v)
{
	bool lan = is_lan_name(r->host);

	if (is_metadata_name(r->host)) {
		refuse_metadata(r, NULL, v);
		return;
	}
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);
	if (apex != NULL) {
		append(&why, "\"%.100s\" covers the names below it, not the name itself", apex);
	} else if (lan) {
		append(&why, "%s",
		       lan_key(r->policy).list != NULL ? "it is not among the hosts of [lan]"
						       : "[lan] is closed");
	} else {
		append(&why, "%s",
		       r->policy->plan->internet.n > 0 ? "it is not among the hosts of [internet]"
						       : "[internet] is closed");
	}
	if (lan) {
		add_lan(r, &hint);
	} else {
		add_host(r, &hint);
	}
}

void refuse_port(const struct refused *r, struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	append(&why, "port %u of it is not open", (unsigned)r->port);
	if (r->port == 80 || r->port == 443) {
		add_host(r, &hint);
	} else {
		add_tcp(r, &hint);
	}
}

/* --- addresses ---------------------------------------------------------------------------- */

void refuse_private(const struct refused *r, const char *address, enum addr_class class,
		    struct verdict *v)
{
	const char *kind = class == ADDR_PRIVATE  ? "private"
			   : class == ADDR_SHARED ? "shared by a provider's customers"
						  : "link-local";
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	if (address != NULL) {
		append(&why, "its address %s is %s, and [internet] opens only public ones", address,
		       kind);
	} else if (r->policy->lan.any != NULL) {
		append(&why, "it is %s, which \"*\" of [lan] does not cover", kind);
	} else {
		append(&why, "it is %s, and %s", kind,
		       lan_key(r->policy).list != NULL ? "not among the hosts of [lan]"
						       : "[lan] is closed");
	}
	add_lan(r, &hint);
}

void refuse_public(const struct refused *r, const char *address, struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	append(&why, "its address %s is public, and [lan] opens only private ones", address);
	add_host(r, &hint);
}

void refuse_loopback(const struct refused *r, struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	if (r->port == 0) {
		append(&why, "it is this machine");
		append(&hint, "call 127.0.0.1; ports of this machine are opened by [localhost]");
		return;
	}
	append(&why, "port %u of this machine is not open", (unsigned)r->port);
	add_port(r, &hint);
}

void refuse_own(const struct refused *r, const char *address, struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	if (address != NULL) {
		append(&why, "its address %s is this machine's own", address);
	} else {
		append(&why, "it is this machine's own address");
	}
	append(&hint, "call localhost:%u instead", (unsigned)r->port);
	if (r->port != 0 && policy_port_find(r->policy, r->port) == NULL) {
		append(&hint, "; ");
		add_port(r, &hint);
	}
}

void refuse_metadata(const struct refused *r, const char *address, struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	if (address != NULL) {
		append(&why, "its address %s is a cloud's metadata service", address);
	} else {
		append(&why, "it is a cloud's metadata service");
	}
	append(&hint, "no line opens it, since it hands out this machine's logins; pass what the "
		      "program needs by --env");
}

void refuse_carrier(const struct refused *r, const char *address, const char *what,
		    struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	if (address != NULL) {
		append(&why, "its address %s only stands for another (%s)", address, what);
	} else {
		append(&why, "it only stands for another address (%s)", what);
	}
	append(&hint, "no line opens it; call the IPv4 address that it stands for");
}

void refuse_reserved(const struct refused *r, const char *address, const char *what,
		     struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	if (what == NULL) {
		what = "reserved";
	}
	if (address != NULL) {
		append(&why, "no host has its address %s (%s)", address, what);
	} else {
		append(&why, "no host has this address (%s)", what);
	}
	append(&hint, "%s",
	       str_eq(what, "multicast")
		       ? "no line opens it; call one machine, opened by [lan] hosts"
		       : "no line opens it; call the address or the name of the host that is "
			 "meant");
}

void refuse_number(const struct refused *r, struct verdict *v)
{
	struct text why = why_of(r, v);
	struct text hint = hint_of(v);

	append(&why, "it looks like an address, and is no name");
	append(&hint, "call it as an address: four decimal numbers");
}
