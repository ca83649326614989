/* For tests of the whole gate: the real lnk-gate between two network namespaces. Outside is this
 * process's own, with hosts and nsswitch.conf files of its own; inside is what a sandbox has, made
 * by the code that makes it there. The test itself is supervisor, init and program. All of it as
 * an ordinary user too. */
#ifndef LNK_TESTS_GATE_KIT_H
#define LNK_TESTS_GATE_KIT_H

#include "base/clock.h"
#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"
#include "confine/doorway.h"
#include "confine/network.h"
#include "gate/client.h"
#include "plan/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* However slow the machine is. */
#define PATIENCE_MS 20000

static int outside = -1; /* network namespaces */
static int inside = -1;

static void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(99);
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	must(fd >= 0 && fd_write_all(fd, text, strlen(text)), path);
	close(fd);
}

static void enter(int namespace)
{
	must(setns(namespace, CLONE_NEWNET) == 0, "setns");
}

static int own_network(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* A file of /etc with this text instead. */
static void cover(const char *path, const char *text)
{
	char name[] = "/tmp/gate_kit.XXXXXX";
	int fd = mkstemp(name);

	must(fd >= 0 && fd_write_all(fd, text, strlen(text)) && fchmod(fd, 0644) == 0, name);
	must(mount(name, path, NULL, MS_BIND, NULL) == 0, path);
	close(fd);
	unlink(name);
}

/* Once, at the beginning. */
static void kit_start(const char *hosts)
{
	char map[64];
	unsigned uid = getuid();
	unsigned gid = getgid();
	struct err err;

	must(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) == 0, "unshare");
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	write_file("/proc/self/gid_map", map);
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	cover("/etc/hosts", hosts);
	cover("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
	must(network_loopback(&err), "loopback outside");
	outside = own_network();
}

/* --- one run -------------------------------------------------------------------------------- */

struct run {
	struct gate_client gate;
	struct net_plan plan;
	struct net_host internet[2];
	struct net_port ports[2];
	struct net_publish publish[2];
	const char *env[4];
	int log;
	struct err err;
};

/* Fields of the plan are filled by the test; lists by `count` of their arrays. */
static bool run_start(struct run *r)
{
	char *envp[ARRAY_LEN(r->env) + 1] = {NULL};
	const struct gate_config config = {
		.plan = &r->plan, .log_fd = r->log, .envp = envp, .program = getenv("LNK_GATE")};

	for (size_t i = 0; i < ARRAY_LEN(r->env) && r->env[i] != NULL; i++) {
		memcpy(&envp[i], &r->env[i], sizeof(envp[i]));
	}
	must(config.program != NULL, "LNK_GATE says where lnk-gate is");
	r->plan.gate = true;
	enter(outside);
	return gate_start(&config, &r->gate, &r->err);
}

/* What init does: a network namespace, its listeners through the door, and the answer. */
static bool run_open(struct run *r)
{
	enter(outside);
	must(unshare(CLONE_NEWNET) == 0, "a network namespace inside");
	fd_close(&inside);
	inside = own_network();
	bool ok = network_loopback(&r->err) && doorway_open(&r->plan, r->gate.door, &r->err) &&
		  doorway_wait(r->gate.door, &r->err);
	enter(outside);
	return ok;
}

static void run_begin(struct run *r)
{
	if (!run_start(r) || !run_open(r)) {
		fprintf(stderr, "%s\n", r->err.msg);
		gate_failed(&r->gate, &r->err);
		fail_msg("%s: %s", r->err.file, r->err.msg);
	}
}

/* The run's end; the report must be there. */
static void run_end(struct run *r, struct gate_report *ret_report)
{
	bool died = true;

	gate_started_init(&r->gate);
	gate_finish(&r->gate, ret_report, &died);
	assert_false(died);
	assert_int_equal(r->gate.pid, 0);
}

static struct run new_run(void)
{
	return (struct run){.gate = {.pidfd = -1, .control = -1, .door = -1}, .log = -1};
}

/* --- sockets -------------------------------------------------------------------------------- */

static socklen_t address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ret;

	*ret = (struct sockaddr_storage){.ss_family = AF_INET};
	if (inet_pton(AF_INET, text, &sin->sin_addr) == 1) {
		sin->sin_port = htons(port);
		return sizeof(*sin);
	}
	ret->ss_family = AF_INET6;
	assert_int_equal(inet_pton(AF_INET6, text, &sin6->sin6_addr), 1);
	sin6->sin6_port = htons(port);
	return sizeof(*sin6);
}

static void be_patient(int fd)
{
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* A socket in that namespace, which the caller's is again afterwards. */
static int socket_in(int namespace, const char *text, int type)
{
	enter(namespace);
	int fd = socket(strchr(text, ':') != NULL ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
	enter(outside);
	assert_true(fd >= 0);
	be_patient(fd);
	return fd;
}

/* Connected, or -1 with errno. */
static int call(int namespace, const char *text, uint16_t port)
{
	struct sockaddr_storage to;
	socklen_t len = address(text, port, &to);
	auto_close int fd = socket_in(namespace, text, SOCK_STREAM);

	if (connect(fd, (const struct sockaddr *)&to, len) < 0) {
		return -1;
	}
	return fd_take(&fd);
}

static int serve_at(int namespace, const char *text, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t len = address(text, port, &at);
	const int on = 1;
	int fd = socket_in(namespace, text, SOCK_STREAM);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at.ss_family == AF_INET6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	}
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(fd, 200), 0);
	return fd;
}

static int take_call(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	be_patient(fd);
	return fd;
}

static void assert_passes(int from, int to, const char *text)
{
	char got[64] = "";
	size_t len = strlen(text);

	assert_int_equal(send(from, text, len, MSG_NOSIGNAL), (ssize_t)len);
	assert_int_equal(recv(to, got, len, MSG_WAITALL), (ssize_t)len);
	assert_memory_equal(got, text, len);
}

#endif
