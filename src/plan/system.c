/* What every sandbox has before any grant. */
#include "plan/build.h"

#include "base/str.h"
#include "plan/door.h"

#include <string.h>
#include <sys/stat.h>

static const char hosts_text[] = "127.0.0.1 localhost\n"
				 "::1 localhost ip6-localhost ip6-loopback\n";
/* Of a host's name. */
#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

static const char no_resolv_text[] = "# This sandbox reaches no network.\n";
static const char resolv_text[] = "nameserver " NET_OWN_V4 "\n";
static const char nsswitch_text[] = "passwd: files\n"
				    "group: files\n"
				    "shadow: files\n"
				    "hosts: files dns\n"
				    "networks: files\n"
				    "protocols: files\n"
				    "services: files\n"
				    "ethers: files\n"
				    "rpc: files\n";

static void folder(struct build *b, const char *path, mode_t mode)
{
	build_op(b, (struct plan_op){.kind = PLAN_FOLDER, .path = path, .mode = mode});
}

static void bind_read_only(struct build *b, const struct path_info *at)
{
	build_op(b, (struct plan_op){.kind = PLAN_BIND,
				     .path = at->real,
				     .source = at->real,
				     .flags = PLAN_READ_ONLY,
				     .dev = at->dev,
				     .ino = at->ino});
}

/* The system's folders; a link (/bin on merged systems) stays a link. */
static void system_folders(struct build *b)
{
	const char *last = NULL;

	for (size_t i = 0; i < b->facts->system.n; i++) {
		const struct path_info *at = &b->facts->system.v[i];

		build_links(b, at, &nowhere);
		if (str_set_add(&b->programs, b->arena, at->real) &&
		    (last == NULL || !path_within(at->real, last))) {
			bind_read_only(b, at);
			last = at->real;
		}
	}
}

/* A file of our own where `at` leads, when the host has one there. */
static void own_file(struct build *b, const struct path_info *at, const char *text)
{
	if (at->real == NULL || !at->exists) {
		return;
	}
	build_links(b, at, &nowhere);
	build_op(b,
		 (struct plan_op){.kind = PLAN_FILE, .path = at->real, .text = text, .mode = 0644});
}

/* With the machine's own name, which servers look up when they start. */
static const char *hosts(const struct build *b)
{
	const char *name = b->facts->kernel.host;

	return name[0] != '\0' && name[strspn(name, HOST_BYTES)] == '\0'
		       ? arena_printf(b->arena, "%s127.0.1.1 %s\n", hosts_text, name)
		       : hosts_text;
}

/* The host's own file, also where it lies outside of /etc (systemd-resolved's in /run). */
static void host_file(struct build *b, const struct path_info *at)
{
	if (at->real != NULL && at->exists && !path_within(at->real, "/etc")) {
		build_links(b, at, &nowhere);
		bind_read_only(b, at);
	}
}

/* What names are looked up by. */
static void resolver_files(struct build *b)
{
	const struct facts *f = b->facts;

	if (b->plan->net.host_mode) {
		host_file(b, &f->resolv_conf);
		host_file(b, &f->hosts);
	} else {
		own_file(b, &f->resolv_conf, b->plan->net.gate ? resolv_text : no_resolv_text);
		own_file(b, &f->hosts, hosts(b));
	}
	own_file(b, &f->nsswitch, nsswitch_text);
}

static void etc_files(struct build *b)
{
	const struct facts *f = b->facts;

	resolver_files(b);
	for (size_t i = 0; i < f->ssh_copies.n; i++) {
		build_op(b, (struct plan_op){.kind = PLAN_COPY,
					     .path = f->ssh_copies.v[i],
					     .source = f->ssh_copies.v[i]});
	}
	for (size_t i = 0; i < f->secrets.n; i++) {
		const char *path = f->secrets.v[i];

		/* Saved by rename (passwd, certificate tools), so the warden keeps them closed. */
		build_op(b, (struct plan_op){.kind = PLAN_COVER,
					     .path = path,
					     .base = path_within(path, "/etc") ? "/etc" : "/opt",
					     .flags = PLAN_OPTIONAL | PLAN_GUARDED});
	}
}

static void private_folder(struct build *b, const char *path, mode_t mode)
{
	build_op(b, (struct plan_op){.kind = PLAN_PRIVATE, .path = path, .mode = mode});
}

static void home(struct build *b)
{
	const struct path_info *at = &b->facts->machine->home;

	build_links(b, at, &nowhere);
	if (!build_home_is_private(b)) {
		return;
	}
	if (b->options->kept_home != NULL) {
		build_op(b, (struct plan_op){.kind = PLAN_BIND,
					     .path = at->real,
					     .source = b->options->kept_home});
	} else {
		private_folder(b, at->real, 0700);
	}
}

/* What programs read to size themselves. */
static void sys_files(struct build *b)
{
	static const char *const paths[] = {
		"/sys/devices/system/cpu",
		"/sys/kernel/mm/transparent_hugepage",
		"/sys/kernel/mm/hugepages",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		build_op(b, (struct plan_op){.kind = PLAN_BIND,
					     .path = paths[i],
					     .source = paths[i],
					     .flags = PLAN_READ_ONLY | PLAN_OPTIONAL});
	}
}

/* The programs that ask the broker, and where they find it. */
static void shims(struct build *b)
{
	const struct plan_options *o = b->options;

	if (o->nshims == 0) {
		return;
	}
	folder(b, PLAN_SHIMS, 0755);
	for (size_t i = 0; i < o->nshims; i++) {
		build_op(b, (struct plan_op){.kind = PLAN_BIND,
					     .path = arena_printf(b->arena, PLAN_SHIMS "/%s",
								  o->shims[i].name),
					     .source = o->shim,
					     .flags = PLAN_READ_ONLY,
					     .from = o->shims[i].from});
	}
	folder(b, PLAN_CALLS, 0755);
	for (size_t i = 0; i < o->nshims; i++) {
		if (o->shims[i].tool) {
			build_op(b,
				 (struct plan_op){.kind = PLAN_SOCKET,
						  .path = arena_printf(b->arena, PLAN_CALLS "/%s",
								       o->shims[i].name),
						  .from = o->shims[i].from});
		}
	}
	build_op(b, (struct plan_op){.kind = PLAN_SOCKET, .path = PLAN_BROKER});
}

void build_system(struct build *b)
{
	system_folders(b);
	folder(b, "/run", 0755);
	folder(b, "/run/lnk", 0755);
	build_op(b, (struct plan_op){.kind = PLAN_PROC, .path = "/proc"});
	build_op(b, (struct plan_op){.kind = PLAN_DEVICES, .path = "/dev"});
	private_folder(b, "/dev/shm", 01777);
	private_folder(b, "/tmp", 01777);
	private_folder(b, "/var/tmp", 01777);
	build_op(b, (struct plan_op){.kind = PLAN_LINK, .path = "/var/run", .text = "/run"});
	shims(b);
	sys_files(b);
	etc_files(b);
	home(b);
}
