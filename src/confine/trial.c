/* Job: what a trial does inside. Nothing of it may leave a trace: no file is created by name where
 * the file system can do without, nothing is truncated, no byte is sent but a look-up. */
#include "confine/trial.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "confine/sys.h"
#include "plan/door.h"
#include "spec/values.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* As long as the gate takes for a name that does not answer, and some more. */
#define WAIT_MS 40000

static _Noreturn void end(int status)
{
	_exit(status <= TRIAL_OTHER ? status : TRIAL_OTHER);
}

static int status_of(int fd)
{
	return fd >= 0 ? 0 : errno;
}

/* --- files ---------------------------------------------------------------------------------- */

/* A name of ours for a moment, where the file system has no nameless files. */
static int make_and_remove(const char *folder)
{
	char name[64];
	uint64_t number = 0;
	auto_close int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
		return errno;
	}
	snprintf(name, sizeof(name), ".lnk-why-%016llx", (unsigned long long)number);
	if (mkdirat(dir, name, 0700) < 0) {
		return errno;
	}
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? errno : 0;
}

static int write_folder(const char *folder)
{
	auto_close int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
		return make_and_remove(folder);
	}
	return status_of(fd);
}

/* The nearest folder above that is there: what lies between can be made in it. */
static int write_missing(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = strrchr(folder, '/'); slash != NULL; slash = strrchr(folder, '/')) {
		slash[slash == folder ? 1 : 0] = '\0';
		if (stat(folder, &st) == 0) {
			return S_ISDIR(st.st_mode) ? write_folder(folder) : ENOTDIR;
		}
		if (slash == folder || errno != ENOENT) {
			break;
		}
	}
	return errno;
}

static int try_file(const struct trial *t)
{
	struct stat st;
	bool write = t->kind == TRIAL_WRITE;

	if (stat(t->what, &st) < 0) {
		return write && errno == ENOENT ? write_missing(t->what) : errno;
	}
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		return TRIAL_PIPE;
	}
	if (S_ISDIR(st.st_mode) && write) {
		return write_folder(t->what);
	}
	auto_close int fd =
		open(t->what, (write ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return status_of(fd);
}

/* --- programs ------------------------------------------------------------------------------- */

bool trial_close(struct err *err)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = ARRAY_LEN(f), .filter = f};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &prog) == 0 ||
	       err_set(err, ERR_SETUP, errno, "cannot load the filter of the trial (seccomp)");
}

/* --- calls ---------------------------------------------------------------------------------- */

/* A question for the address of a name (RFC 1035 section 4); its length, 0: too long. */
static size_t make_question(const char *name, unsigned char *out, size_t cap)
{
	static const unsigned char head[12] = {0x6c, 0x6b, 1, 0, 0, 1};
	static const unsigned char tail[5] = {0, 0, 1, 0, 1};
	size_t at = sizeof(head);

	if (sizeof(head) + strlen(name) + 1 + sizeof(tail) > cap) {
		return 0;
	}
	memcpy(out, head, sizeof(head));
	for (const char *p = name; *p != '\0';) {
		size_t n = strcspn(p, ".");

		if (n == 0 || n > 63) {
			return 0;
		}
		out[at++] = (unsigned char)n;
		memcpy(out + at, p, n);
		at += n;
		p += n + (p[n] == '.' ? 1 : 0);
	}
	memcpy(out + at, tail, sizeof(tail));
	return at + sizeof(tail);
}

/* Asks the sandbox's resolver, which is lnk-gate: it answers with one address, or none. */
static int look_up(const char *name, struct in_addr *ret_addr)
{
	unsigned char buf[512];
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
	size_t len = make_question(name, buf, sizeof(buf));
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, NET_OWN_V4, &to.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || len == 0 ||
	    send(fd, buf, len, 0) != (ssize_t)len) {
		return TRIAL_NO_NAME;
	}
	if (!clock_wait_for(fd, WAIT_MS)) {
		return TRIAL_SILENT;
	}
	ssize_t n = recv(fd, buf, sizeof(buf), 0);
	/* No error, and an answer, which stands last. */
	if (n < (ssize_t)(len + 16) || (buf[3] & 15) != 0 || (buf[6] == 0 && buf[7] == 0)) {
		return TRIAL_NO_NAME;
	}
	memcpy(ret_addr, buf + n - 4, 4);
	return 0;
}

/* Connects, and waits until the gate has closed: it judges, and dials nowhere. */
static int try_call(const struct trial *t)
{
	struct addr addr;
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(t->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(t->port)};
	struct sockaddr *to = (struct sockaddr *)&v4;
	socklen_t len = sizeof(v4);
	char byte;

	if (addr_parse(t->what, &addr)) {
		memcpy(&v4.sin_addr, addr.b, sizeof(v4.sin_addr));
		memcpy(&v6.sin6_addr, addr.b, sizeof(v6.sin6_addr));
		to = addr.v6 ? (struct sockaddr *)&v6 : to;
		len = addr.v6 ? sizeof(v6) : len;
	} else {
		int failed = look_up(t->what, &v4.sin_addr);

		if (failed != 0) {
			return failed;
		}
	}
	auto_close int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, to, len) < 0) {
		return errno;
	}
	if (!clock_wait_for(fd, WAIT_MS)) {
		return TRIAL_SILENT;
	}
	return recv(fd, &byte, 1, 0) < 0 ? errno : 0;
}

void trial_try(const struct trial *trial)
{
	end(trial->kind == TRIAL_CALL ? try_call(trial) : try_file(trial));
}
