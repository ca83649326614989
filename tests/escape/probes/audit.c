/* One look at every guard, for a run whose set-up was disturbed. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd >= 0) {
		close(fd);
	}
	return fd >= 0;
}

/* Whether execve of a file starts it. */
static bool runs(const char *path, char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		execv(path, argv);
		_exit(99);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* Whether a line of /proc/self/status holds anything but zeros. */
static bool holds_any(const char *field)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	close(fd);
	if (n <= 0) {
		return true;
	}
	text[n] = '\0';
	const char *at = strstr(text, field);
	return at == NULL || strtoull(at + strlen(field), NULL, 16) != 0;
}

static void leak(bool is_open, const char *what)
{
	if (is_open) {
		printf("LEAK %s\n", what);
	}
}

/* Whether a server of this machine at 127.0.0.1 answers. */
static bool reaches(const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((unsigned short)number(port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval most = {.tv_sec = 2};
	char letter;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	/* With a gate every call begins; it is refused then. */
	bool reached = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
		       send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL) == 18 &&
		       recv(fd, &letter, 1, 0) == 1;
	close(fd);
	return reached;
}

/* audit HIDDEN PINNED READONLY OUTSIDE UNLISTED LOADER PORT: prints a line for each guard that is
 * missing. LOADER "-": there is none, or the kernel cannot close it. PORT is one of a server of
 * this machine that is not granted. */
static int audit(int argc, char **argv)
{
	char *const ran[] = {"probe", "ran", NULL};

	if (argc != 8) {
		return refused(EINVAL);
	}
	char *const loaded[] = {argv[6], argv[5], "ran", NULL};
	puts("started");
	for (int fd = 3; fd < 256; fd++) {
		leak(fcntl(fd, F_GETFD) >= 0, "a descriptor was inherited");
	}
	leak(opens(argv[1], O_RDONLY), "hidden file is read");
	leak(opens(argv[2], O_WRONLY), "pinned file is written");
	leak(opens(argv[3], O_WRONLY), "read-only file is written");
	/* Of Landlock's rules none stops this, of the mounts' all. */
	leak(chmod(argv[3], 0600) == 0, "read-only file changes its mode");
	leak(opens(argv[4], O_RDONLY), "file outside is read");
	leak(opens("/proc/keys", O_RDONLY) || opens("/proc/key-users", O_RDONLY),
	     "keys of the machine are read");
	leak(reaches(argv[7]), "a server of this machine is reached");
	leak(opens("/etc/lnk-audit", O_WRONLY | O_CREAT), "system folder is written");
	leak(opens("/proc/sys/kernel/hostname", O_WRONLY), "kernel setting is written");
	leak(runs(argv[5], ran), "unlisted program runs");
	leak(strcmp(argv[6], "-") != 0 && runs(argv[6], loaded), "loader runs");
	leak(syscall(SYS_memfd_create, "x", MFD_CLOEXEC) >= 0, "memfd can be executed");
	/* Without the filter the kernel says what is wrong with these arguments. */
	leak(syscall(SYS_clone3, NULL, 0UL) >= 0 || errno != ENOSYS, "filter is missing");
	leak(ptrace(PTRACE_SEIZE, 1, NULL, NULL) == 0, "init is traced");
	leak(kill(1, 0) == 0 && opens("/proc/1/mem", O_RDWR), "memory of init is written");
	leak(holds_any("\nCapEff:\t") || holds_any("\nCapPrm:\t"), "capabilities are held");
	leak(holds_any("\nCapBnd:\t"), "capabilities are bounded by nothing");
	leak(!holds_any("\nNoNewPrivs:\t"), "privileges can be gained");
	leak(!holds_any("\nSeccomp:\t"), "filter is missing by its own account");
	leak(getpid() == 1 || getppid() != 1, "there is no init");
	return 0;
}

const struct attack audit_attacks[] = {
	{"audit", "HIDDEN PINNED READONLY OUTSIDE UNLISTED LOADER PORT", audit},
	{NULL, NULL, NULL},
};
