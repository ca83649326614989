/* The plan for people: one operation a line, then the line of the spec it comes from. */
#include "base/str.h"
#include "plan/plan.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <sys/types.h>

static const char *const kind_names[PLAN_KIND_COUNT] = {
	[PLAN_FOLDER] = "folder",   [PLAN_FILE] = "file",     [PLAN_LINK] = "link",
	[PLAN_PRIVATE] = "private", [PLAN_PROC] = "proc",     [PLAN_DEVICES] = "devices",
	[PLAN_BIND] = "bind",       [PLAN_COPY] = "copy",     [PLAN_SEAL] = "seal",
	[PLAN_SOCKET] = "socket",   [PLAN_PIN] = "pin",       [PLAN_ANCHOR] = "anchor",
	[PLAN_COVER] = "cover",     [PLAN_LOADER] = "loader", [PLAN_ALLOW] = "allow",
};

static void print_path(const char *path, FILE *out)
{
	char buf[4096];

	fprintf(out, " %s", str_printable(path, buf, sizeof(buf)));
}

static void print_rights(unsigned rights, FILE *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{PLAN_MAY_LIST, "list"},     {PLAN_MAY_READ, "read"},
		{PLAN_MAY_WRITE, "write"},   {PLAN_MAY_EXECUTE, "execute"},
		{PLAN_MAY_DEVICE, "device"},
	};
	const char *sep = " ";

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if ((rights & names[i].bit) != 0) {
			fprintf(out, "%s%s", sep, names[i].name);
			sep = ",";
		}
	}
}

static void print_detail(const struct plan_op *op, FILE *out)
{
	if (op->source != NULL && !str_eq(op->source, op->path)) {
		fputs(" from", out);
		print_path(op->source, out);
	}
	if (op->kind == PLAN_LINK) {
		fputs(" ->", out);
		print_path(op->text, out);
	}
	if (op->kind == PLAN_PRIVATE) {
		fprintf(out, " mode=%04o", (unsigned)op->mode);
	}
	if (op->kind == PLAN_ALLOW) {
		print_rights(op->rights, out);
	}
	if (op->kind == PLAN_BIND) {
		fputs((op->flags & PLAN_READ_ONLY) != 0 ? " read only" : " read and write", out);
		fputs((op->flags & PLAN_NO_LINKS) != 0 ? ", links not followed" : "", out);
	}
	if ((op->flags & PLAN_GUARDED) != 0) {
		fputs((op->flags & PLAN_MISSING) != 0 ? " guarded, placeholder if missing"
						      : " guarded",
		      out);
	}
}

static void print_origin(const struct origin *from, FILE *out)
{
	if (from->file != NULL) {
		fprintf(out, "  # %s:%u:%u", from->file, from->line, from->col);
	} else if (from->flag != NULL) {
		fprintf(out, "  # %s", from->flag);
	}
}

static void print_hosts(const struct net_host *v, size_t n, const char *how, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		fputs("call   ", out);
		print_path(v[i].pattern, out);
		fprintf(out, " %s", how);
		print_origin(&v[i].from, out);
		fputc('\n', out);
	}
}

static void print_ranges(const struct net_plan *net, FILE *out)
{
	char text[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < net->ranges.n; i++) {
		const struct net_range *r = &net->ranges.v[i];

		inet_ntop(r->addr.v6 ? AF_INET6 : AF_INET, r->addr.b, text, sizeof(text));
		fprintf(out, "call    %s/%u any TCP port", text, r->bits);
		print_origin(&r->from, out);
		fputc('\n', out);
	}
}

static void print_ports(const struct net_plan *net, FILE *out)
{
	for (size_t i = 0; i < net->ports.n; i++) {
		const struct net_port *p = &net->ports.v[i];

		fprintf(out, "call    this machine's port %u%s", p->port,
			p->model ? ", inference only" : "");
		print_origin(&p->from, out);
		fputc('\n', out);
	}
	for (size_t i = 0; i < net->publish.n; i++) {
		fprintf(out, "publish port %u at 127.0.0.1:%u  # --publish\n",
			net->publish.v[i].inside, net->publish.v[i].outside);
	}
}

static void print_network(const struct net_plan *net, FILE *out)
{
	if (net->host_mode) {
		fputs("network this machine's, unfiltered\n", out);
		return;
	}
	fputs(net->gate ? "network its own loopback, and the gate\n"
			: "network none but its own loopback\n",
	      out);
	print_hosts(net->internet.v, net->internet.n, "TLS at 443, HTTP at 80", out);
	for (size_t i = 0; i < net->tcp.n; i++) {
		fputs("call   ", out);
		print_path(net->tcp.v[i].host, out);
		fprintf(out, ":%u TCP", net->tcp.v[i].port);
		print_origin(&net->tcp.v[i].from, out);
		fputc('\n', out);
	}
	if (net->per_minute > 0) {
		fprintf(out, "limit   %" PRIu64 " calls to [internet] a minute", net->per_minute);
		print_origin(&net->per_minute_from, out);
		fputc('\n', out);
	}
	print_hosts(net->lan.v, net->lan.n, "any TCP port", out);
	print_ranges(net, out);
	print_ports(net, out);
}

void plan_print(const struct plan *plan, FILE *out)
{
	for (size_t i = 0; i < plan->ops.n; i++) {
		const struct plan_op *op = &plan->ops.v[i];

		fprintf(out, "%-7s", kind_names[op->kind]);
		print_path(op->path, out);
		print_detail(op, out);
		print_origin(&op->from, out);
		fputc('\n', out);
	}
	fprintf(out, "seccomp %s%s%s\n", plan->commands_listed ? "commands listed" : "any command",
		plan->user_namespaces ? ", user namespaces allowed" : "",
		plan->bare ? ", without namespaces" : "");
	if (plan->bare && !plan->net.host_mode) {
		fputs("network none\n", out);
	} else {
		print_network(&plan->net, out);
	}
	fprintf(out, "start   in");
	print_path(plan->cwd, out);
	fputc('\n', out);
}
