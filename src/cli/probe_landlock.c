/* The probes of Landlock: what each ABI level adds is asked for by name, since asking for what the
 * kernel does not know fails. Numbers are landlock(7)'s, for headers that are older. */
#include "cli/probe.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FS_EXECUTE   (1ULL << 0)  /* ABI 1 */
#define FS_REFER     (1ULL << 13) /* ABI 2 */
#define FS_TRUNCATE  (1ULL << 14) /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define NET_BIND_TCP (1ULL << 0)  /* ABI 4 */
#define SCOPES       3ULL         /* ABI 6: abstract sockets, signals */

/* struct landlock_ruleset_attr as of ABI 6. */
struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

/* An older kernel takes a longer struct only while the rest of it is zero. */
static int make(uint64_t fs, uint64_t net, uint64_t scoped)
{
	const struct ruleset rules = {fs, net, scoped};

	return (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0U);
}

static int try(uint64_t fs, uint64_t net, uint64_t scoped)
{
	auto_close int fd = make(fs, net, scoped);

	/* E2BIG: a struct that the kernel does not know all of. */
	return fd >= 0 ? 0 : errno == E2BIG ? EINVAL : errno;
}

/* The whole way: a rule set without rules, after which not even this program may be executed. */
int probe_landlock_execute(void)
{
	char *const argv[] = {(char[]){"lnk"}, (char[]){"--version"}, NULL};
	char *const envp[] = {NULL};
	auto_close int fd = make(FS_EXECUTE, 0, 0);

	if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, fd, 0U) < 0) {
		return errno;
	}
	/* Closed on exec, as all of ours: where it worked all the same the parent sees no result.
	 */
	execve("/proc/self/exe", argv, envp);
	return errno == EACCES ? 0 : EBADE;
}

int probe_landlock_refer(void)
{
	return try(FS_REFER, 0, 0);
}

int probe_landlock_truncate(void)
{
	return try(FS_TRUNCATE, 0, 0);
}

int probe_landlock_tcp(void)
{
	return try(0, NET_BIND_TCP, 0);
}

int probe_landlock_ioctl(void)
{
	return try(FS_IOCTL_DEV, 0, 0);
}

int probe_landlock_scope(void)
{
	return try(0, 0, SCOPES);
}

/* By its level: the number of its right is not settled in the headers this is built with. */
int probe_landlock_unix(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0UL, 1U /* VERSION */);

	return abi < 0 ? errno : abi >= 9 ? 0 : EINVAL;
}
