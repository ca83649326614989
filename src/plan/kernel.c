/* Facts about the kernel, and the settings that take some of it away. Everything read here is the
 * administrator's, but is checked like any input: short reads, and numbers with a bound. */
#include "plan/kernel.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LANDLOCK_VERSION 1U /* LANDLOCK_CREATE_RULESET_VERSION */

void kernel_read(struct kernel_facts *ret_facts)
{
	struct utsname name;
	struct kernel_facts facts = {.landlock_abi = 0};

	if (uname(&name) == 0) {
		char *end = name.release;

		memcpy(facts.host, name.nodename, sizeof(facts.host));
		long major = strtol(name.release, &end, 10);
		long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

		if (major > 0 && major < 1000 && minor >= 0 && minor < 1000) {
			facts.major = (int)major;
			facts.minor = (int)minor;
		}
	}
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0UL, LANDLOCK_VERSION);

	if (abi > 0) {
		facts.landlock_abi = (int)abi;
	} else {
		facts.landlock_errno = errno;
	}
	*ret_facts = facts;
}

bool kernel_at_least(const struct kernel_facts *facts, int major, int minor)
{
	return facts->major > major || (facts->major == major && facts->minor >= minor);
}

/* The start of a small file of /proc or /sys as a string; false when it cannot be read. */
static bool read_text(const char *path, char *out, size_t cap)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? fd_read_all(fd, out, cap - 1) : -1;

	out[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

/* True when a setting exists and holds exactly this number. */
static bool setting_is(const char *path, long number)
{
	char text[32];
	char *end;

	if (!read_text(path, text, sizeof(text))) {
		return false;
	}
	long value = strtol(text, &end, 10);

	return end != text && value == number;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Sets the hint; always true, so that `return because(...)` reads well. */
static bool because(char *hint, size_t cap, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static bool because(char *hint, size_t cap, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(hint, cap, fmt, ap);
	va_end(ap);
	return true;
}

/* Docker, Podman and Kubernetes leave a mark; their default system-call filter and masked /proc
 * are the usual cause inside them. */
static bool in_container(void)
{
	return exists("/.dockerenv") || exists("/run/.containerenv") ||
	       getenv("KUBERNETES_SERVICE_HOST") != NULL || getenv("container") != NULL;
}

/* Whether somebody's system-call filter already holds us. */
static bool filtered(void)
{
	char text[4096];

	if (!read_text("/proc/self/status", text, sizeof(text))) {
		return false;
	}
	const char *line = strstr(text, "\nSeccomp:");

	return line != NULL && strtol(line + strlen("\nSeccomp:"), NULL, 10) == 2;
}

/* One of its rules after the other would show up: all are named at once, but where only the last
 * is left. */
static bool explain_container(const char *step, char *hint, size_t cap)
{
	if (!in_container()) {
		return false;
	}
	if (str_eq(step, "proc")) {
		return because(
			hint, cap,
			"this container covers parts of /proc, and the kernel gives no fresh "
			"one beside that: start it with `--security-opt "
			"systempaths=unconfined` (Docker) or `--security-opt unmask=ALL` "
			"(Podman)");
	}
	return because(hint, cap,
		       "this container's own rules forbid it: start it with `--security-opt "
		       "seccomp=unconfined --security-opt apparmor=unconfined --security-opt "
		       "systempaths=unconfined` (Docker) or `--security-opt seccomp=unconfined "
		       "--security-opt unmask=ALL` (Podman)");
}

/* Containers do not keep sockets' lists away, other sandboxes do. */
static bool explain_filter(const char *step, char *hint, size_t cap)
{
	return filtered() &&
	       ((!str_eq(step, "sockets") && explain_container(step, hint, cap)) ||
		because(hint, cap,
			"a system-call filter of whatever started lnk forbids it: one sandbox does "
			"not run in another without its leave"));
}

/* Ubuntu 23.10 and later: a user namespace is made, but its maker has no power in it unless an
 * AppArmor profile says `userns`. */
static bool explain_apparmor(char *hint, size_t cap)
{
	if (!setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1)) {
		return false;
	}
	if (exists("/etc/apparmor.d/lnk")) {
		return because(hint, cap,
			       "AppArmor lets only named programs use user namespaces, and the "
			       "profile /etc/apparmor.d/lnk names /usr/bin/lnk and "
			       "/usr/local/bin/lnk: start one of these, or load it with `sudo "
			       "apparmor_parser -r /etc/apparmor.d/lnk`");
	}
	return because(hint, cap,
		       "AppArmor lets only named programs use user namespaces "
		       "(kernel.apparmor_restrict_unprivileged_userns is 1): install lnk with "
		       "`sudo script/install`, which adds the profile share/apparmor/lnk, or run "
		       "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`");
}

/* A namespace of each kind this needs, in the words of /proc/self/ns, user.max_*_namespaces and
 * the kernel's configuration. */
static const struct {
	const char *ns, *limit, *option;
} kinds[] = {
	{"user", "user", "CONFIG_USER_NS"},     {"mnt", "mnt", "CONFIG_NAMESPACES"},
	{"pid", "pid", "CONFIG_PID_NS"},        {"net", "net", "CONFIG_NET_NS"},
	{"ipc", "ipc", "CONFIG_IPC_NS"},        {"uts", "uts", "CONFIG_UTS_NS"},
	{"cgroup", "cgroup", "CONFIG_CGROUPS"},
};

/* ENOSPC (EUSERS before 4.9): the number of namespaces, or their depth, is used up. */
static bool explain_limit(char *hint, size_t cap)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces", kinds[i].limit);
		if (setting_is(path, 0)) {
			return because(hint, cap,
				       "user.max_%s_namespaces is 0: inside another sandbox this "
				       "is meant so; else run `sudo sysctl "
				       "user.max_%s_namespaces=15000` (where that is not it, "
				       "look at kernel.apparmor_restrict_unprivileged_userns)",
				       kinds[i].limit, kinds[i].limit);
		}
	}
	return because(hint, cap,
		       "the limit on namespaces is reached (user.max_user_namespaces and its kin), "
		       "or 32 user namespaces lie within each other");
}

static bool explain_missing_kind(char *hint, size_t cap)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i].ns);
		if (!exists(path) && exists("/proc/self/ns")) {
			return because(hint, cap, "this kernel was built without %s",
				       kinds[i].option);
		}
	}
	return false;
}

/* clone(CLONE_NEWUSER) is refused in a chroot. There, when its root is no mount of its own, no line
 * of the list of mounts has "/" as its fifth field. */
static bool explain_chroot(char *hint, size_t cap)
{
	char list[16384];

	if (!read_text("/proc/self/mountinfo", list, sizeof(list)) || list[0] == '\0') {
		return false;
	}
	for (const char *line = list; *line != '\0';
	     line += strcspn(line, "\n"), line += *line != '\0') {
		const char *field = line;

		for (int i = 0; i < 4; i++) {
			field += strcspn(field, " \n");
			field += *field == ' ';
		}
		if (str_starts(field, "/ ")) {
			return false;
		}
	}
	return because(hint, cap,
		       "in a chroot the kernel refuses user namespaces: enter it with a mount "
		       "namespace of its own instead (`systemd-nspawn`, or `unshare --mount` and "
		       "pivot_root)");
}

static bool explain_namespaces(const char *step, int err, char *hint, size_t cap)
{
	if (err == ENOSPC || err == EUSERS) {
		return explain_limit(hint, cap);
	}
	if (err == EINVAL && explain_missing_kind(hint, cap)) {
		return true;
	}
	if ((err == EPERM || err == EACCES) &&
	    setting_is("/proc/sys/kernel/unprivileged_userns_clone", 0)) {
		return because(hint, cap,
			       "kernel.unprivileged_userns_clone is 0: run `sudo sysctl "
			       "kernel.unprivileged_userns_clone=1`, and write it into a file of "
			       "/etc/sysctl.d to keep it");
	}
	if ((err == EPERM || err == ENOSYS) && explain_filter(step, hint, cap)) {
		return true;
	}
	if ((err == EPERM || err == EACCES) && explain_apparmor(hint, cap)) {
		return true;
	}
	if (err == EPERM && explain_chroot(hint, cap)) {
		return true;
	}
	return err == EPERM &&
	       because(hint, cap,
		       "the kernel refuses it without saying why: in a chroot it always does, also "
		       "in one on a mount of its own (enter it with `systemd-nspawn`, or `unshare "
		       "--mount` and pivot_root); else a security module may, see `sudo dmesg`");
}

static bool explain_landlock(const char *step, int err, char *hint, size_t cap)
{
	char list[256];

	if (err == EOPNOTSUPP) {
		if (read_text("/sys/kernel/security/lsm", list, sizeof(list)) && list[0] != '\0') {
			list[strcspn(list, "\n")] = '\0';
			return because(hint, cap,
				       "Landlock is built in but not switched on: boot with the "
				       "kernel parameter lsm=landlock,%s",
				       list);
		}
		return because(hint, cap,
			       "Landlock is built in but not switched on: put landlock into the "
			       "kernel parameter lsm=");
	}
	if (err == ENOSYS && explain_container(step, hint, cap)) {
		return true;
	}
	if (err == ENOSYS) {
		return because(hint, cap,
			       "Landlock needs Linux 5.13 built with CONFIG_SECURITY_LANDLOCK");
	}
	return false;
}

static bool explain_inotify(int err, char *hint, size_t cap)
{
	if (err == EMFILE) {
		return because(hint, cap,
			       "every inotify instance of this user is in use: run `sudo sysctl "
			       "fs.inotify.max_user_instances=1024`");
	}
	if (err == ENOSPC) {
		return because(hint, cap,
			       "every inotify watch of this user is in use: run `sudo sysctl "
			       "fs.inotify.max_user_watches=524288`");
	}
	return false;
}

/* A module that an ordinary user's request does not load, or a kernel without it. */
static bool explain_nft(const char *step, int err, char *hint, size_t cap)
{
	char release[128];

	if (err == EPERM || err == EACCES) {
		return explain_container(step, hint, cap) || explain_apparmor(hint, cap);
	}
	if (read_text("/proc/sys/kernel/osrelease", release, sizeof(release)) &&
	    strcasestr(release, "microsoft") != NULL) {
		return because(
			hint, cap,
			"this kernel of WSL has no nf_tables: run `wsl --update` in Windows, "
			"and start WSL again; specs without [internet], [lan] and "
			"[localhost], and with mode = \"host\", run without it");
	}
	return because(hint, cap,
		       "nf_tables is not loaded, or this kernel has none: run `sudo modprobe -a "
		       "nf_tables nft_chain_nat "
		       "nft_redir nft_reject_inet nft_ct`, and name them in /etc/modules to keep "
		       "them");
}

static bool explain_mount(const char *step, int err, char *hint, size_t cap)
{
	/* A container that covers parts of /proc makes its settings read only, too. */
	bool sealed = err == EROFS && str_eq(step, "proc");

	if (err != EPERM && err != EACCES && !sealed) {
		return err == ENOSYS && explain_container(step, hint, cap);
	}
	if (explain_container(step, hint, cap) || explain_apparmor(hint, cap)) {
		return true;
	}
	if (str_eq(step, "proc")) {
		return because(
			hint, cap,
			"the kernel gives no fresh procfs where something is mounted over "
			"parts of the old one: look for such mounts with `findmnt -R /proc`");
	}
	return false;
}

static bool explain(const char *step, int err, char *hint, size_t cap)
{
	if (str_eq(step, "clone") || str_eq(step, "unshare") || str_eq(step, "uid_map")) {
		return explain_namespaces(step, err, hint, cap);
	}
	if (str_eq(step, "mount") || str_eq(step, "proc") || str_eq(step, "network")) {
		return explain_mount(step, err, hint, cap);
	}
	if (str_eq(step, "sockets")) {
		return explain_filter(step, hint, cap);
	}
	if (str_eq(step, "landlock")) {
		return explain_landlock(step, err, hint, cap);
	}
	if (str_eq(step, "seccomp") && (err == EINVAL || err == ENOSYS)) {
		return because(hint, cap, "this kernel was built without CONFIG_SECCOMP_FILTER");
	}
	if (str_eq(step, "binfmt")) {
		return explain_mount(step, err, hint, cap) ||
		       because(hint, cap,
			       "needs Linux 6.7 and the module binfmt_misc: `sudo modprobe "
			       "binfmt_misc`, and its name in /etc/modules to keep it");
	}
	if (str_eq(step, "inotify")) {
		return explain_inotify(err, hint, cap);
	}
	if (str_eq(step, "memfd") && err == EINVAL) {
		return because(hint, cap, "needs Linux 6.3");
	}
	return str_eq(step, "nft") && explain_nft(step, err, hint, cap);
}

bool kernel_explain(const char *step, int err, char *hint, size_t cap)
{
	if (explain(step, err, hint, cap)) {
		return true;
	}
	because(hint, cap, "`lnk sandbox doctor` tells what this machine's kernel offers");
	return false;
}

void kernel_suggest_bare(char *hint, size_t cap)
{
	size_t n = strlen(hint);

	snprintf(hint + n, cap - n,
		 "; where that cannot be had, --without-namespaces holds less, by Landlock and "
		 "seccomp alone");
}
