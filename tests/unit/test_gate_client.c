/* lnk-gate as the supervisor has it: started, asked, reported, ended; by the real program, between
 * two network namespaces. */
#include "gate_kit.h"

#include "gate/control.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define FIRST_PORT 5432

/* --- names ---------------------------------------------------------------------------------- */

/* A query with one question, RFC 1035 section 4.1. */
static size_t query(const char *name, uint16_t type, unsigned char *out)
{
	static const unsigned char head[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
	size_t n = sizeof(head);

	memcpy(out, head, n);
	while (*name != '\0') {
		size_t len = strcspn(name, ".");

		out[n++] = (unsigned char)len;
		memcpy(out + n, name, len);
		n += len;
		name += len + (name[len] == '.' ? 1 : 0);
	}
	out[n++] = 0;
	out[n++] = (unsigned char)(type >> 8);
	out[n++] = (unsigned char)type;
	out[n++] = 0;
	out[n++] = 1;
	return n;
}

/* Asks at `server` over UDP. The RCODE; *ret_addr is the last four bytes of an answer with one
 * record, which are its address, else 0. */
static int ask(const char *server, const char *name, uint32_t *ret_addr)
{
	unsigned char packet[512];
	struct sockaddr_storage to;
	socklen_t len = address(server, 53, &to);
	size_t n = query(name, 1, packet);
	auto_close int fd = socket_in(inside, server, SOCK_DGRAM);

	assert_int_equal(connect(fd, (const struct sockaddr *)&to, len), 0);
	assert_int_equal(send(fd, packet, n, 0), (ssize_t)n);
	ssize_t got = recv(fd, packet, sizeof(packet), 0);
	if (got < 12) {
		fail_msg("%s does not answer for %s: %s", server, name, strerror(errno));
	}
	assert_int_equal(packet[0] << 8 | packet[1], 0x1234);
	assert_true((packet[2] & 0x80) != 0);
	*ret_addr = 0;
	if ((packet[6] << 8 | packet[7]) == 1) {
		memcpy(ret_addr, packet + n + 12, sizeof(*ret_addr));
		*ret_addr = ntohl(*ret_addr);
	}
	return packet[3] & 0xf;
}

static struct run granting(void)
{
	struct run r = new_run();

	r.internet[0] = (struct net_host){.pattern = "granted.test"};
	r.ports[0] = (struct net_port){.port = FIRST_PORT};
	return r;
}

/* Its lists point into itself. */
static void aim(struct run *r)
{
	r->plan.internet.v = r->internet;
	r->plan.internet.n = r->internet[0].pattern != NULL ? 1 : 0;
	r->plan.ports.v = r->ports;
	r->plan.ports.n = r->ports[0].port != 0 ? 1 : 0;
}

static void test_names(void **state)
{
	struct run r = granting();
	struct gate_report report;
	uint32_t addr;

	(void)state;
	aim(&r);
	run_begin(&r);
	/* Every server answers, whoever it is. (Those of loopback are the sandbox's own.) */
	static const char *const servers[] = {NET_OWN_V4, "8.8.8.8", NET_OWN_V6,
					      "2001:4860:4860::8888"};
	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		assert_int_equal(ask(servers[i], "granted.test", &addr), 0);
		assert_true(addr >= NET_NAMES_FIRST && addr <= NET_NAMES_LAST);
	}
	assert_int_equal(ask(NET_OWN_V4, "refused.test", &addr), 3);
	assert_int_equal(addr, 0);
	run_end(&r, &report);
	assert_int_equal(report.n, 1);
	assert_int_equal(report.more, 0);
	assert_non_null(strstr(report.v[0].what, "refused.test"));
	assert_non_null(strstr(report.v[0].hint, "refused.test"));
}

/* --- calls ---------------------------------------------------------------------------------- */

static void test_calls(void **state)
{
	struct run r = granting();
	struct gate_report report;
	char byte;

	(void)state;
	aim(&r);
	auto_close int server = serve_at(outside, "127.0.0.1", FIRST_PORT);
	auto_close int other = serve_at(outside, "127.0.0.1", FIRST_PORT + 1);
	run_begin(&r);
	auto_close int out = call(inside, "127.0.0.1", FIRST_PORT);
	assert_true(out >= 0);
	auto_close int in = take_call(server);
	assert_passes(out, in, "to the server");
	assert_passes(in, out, "and back");
	/* Another port of loopback is the sandbox's own: nobody listens there. */
	assert_int_equal(call(inside, "127.0.0.1", FIRST_PORT + 1), -1);
	assert_int_equal(errno, ECONNREFUSED);
	/* Whatever is not granted is taken and reset. */
	auto_close int refused = call(inside, "192.0.2.77", 80);
	assert_true(refused >= 0);
	ssize_t n = recv(refused, &byte, 1, 0);
	assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
	run_end(&r, &report);
	assert_int_equal(report.n, 1);
	assert_non_null(strstr(report.v[0].what, "192.0.2.77"));
	/* Its calls end with it. */
	n = recv(out, &byte, 1, 0);
	assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
	assert_int_equal(poll(&(struct pollfd){.fd = other, .events = POLLIN}, 1, 0), 0);
}

/* --- its end -------------------------------------------------------------------------------- */

static bool ends(int pidfd)
{
	return clock_wait_for(pidfd, PATIENCE_MS);
}

static void test_killed(void **state)
{
	struct run r = granting();
	struct gate_report report;
	struct err err;
	bool died = false;

	(void)state;
	aim(&r);
	run_begin(&r);
	kill(r.gate.pid, SIGKILL);
	assert_true(ends(r.gate.pidfd));
	/* The program's calls fail at once. */
	assert_int_equal(call(inside, "192.0.2.77", 80), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_false(gate_failed(&r.gate, &err));
	assert_non_null(strstr(err.msg, "signal 9"));
	gate_started_init(&r.gate);
	gate_finish(&r.gate, &report, &died);
	assert_true(died);
	assert_int_equal(report.n, 0);
	/* Twice does no harm. */
	gate_finish(&r.gate, &report, &died);
	assert_false(died);
}

static void test_supervisor_gone(void **state)
{
	struct run r = granting();
	struct gate_report report;
	bool died;

	(void)state;
	aim(&r);
	run_begin(&r);
	fd_close(&r.gate.control);
	assert_true(ends(r.gate.pidfd));
	gate_finish(&r.gate, &report, &died);

	/* And when it goes before init has come. */
	r = granting();
	aim(&r);
	assert_true(run_start(&r));
	fd_close(&r.gate.control);
	assert_true(ends(r.gate.pidfd));
	gate_finish(&r.gate, &report, &died);
}

/* The supervisor is killed, and somebody else holds the control socket. */
static void test_supervisor_killed(void **state)
{
	int keep[2];
	pid_t gate = 0;
	int fd;
	size_t n;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keep), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct run r = granting();

		aim(&r);
		must(run_start(&r) && run_open(&r), r.err.msg);
		pass_send(keep[1], &r.gate.pid, sizeof(r.gate.pid), &r.gate.control, 1);
		pause();
		_exit(0);
	}
	assert_int_equal(pass_receive(keep[0], &gate, sizeof(gate), &fd, 1, &n), sizeof(gate));
	int pidfd = (int)syscall(SYS_pidfd_open, gate, 0U);
	assert_true(pidfd >= 0);
	assert_false(clock_wait_for(pidfd, 50));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(ends(pidfd));
	close(pidfd);
	close(fd);
	close(keep[0]);
	close(keep[1]);
}

/* A gate that no longer moves does not hold up the end of a run for long. */
static void test_stopped(void **state)
{
	struct run r = granting();
	struct gate_report report;
	bool died;

	(void)state;
	aim(&r);
	run_begin(&r);
	kill(r.gate.pid, SIGSTOP);
	long before = clock_now_ms();
	gate_finish(&r.gate, &report, &died);
	assert_in_range(clock_now_ms() - before, 2000, PATIENCE_MS);
	assert_int_equal(report.n, 0);
}

static void test_init_gone(void **state)
{
	struct run r = granting();
	struct gate_report report;

	(void)state;
	aim(&r);
	run_begin(&r);
	fd_close(&r.gate.door);
	assert_false(clock_wait_for(r.gate.pidfd, 50));
	run_end(&r, &report);

	r = granting();
	aim(&r);
	assert_true(run_start(&r));
	fd_close(&r.gate.door);
	assert_false(clock_wait_for(r.gate.pidfd, 50));
	run_end(&r, &report);
}

/* --- its start ------------------------------------------------------------------------------ */

static void test_not_there(void **state)
{
	struct run r = granting();
	struct gate_config config = {
		.plan = &r.plan, .log_fd = -1, .envp = (char *[]){NULL}, .program = "/none/gate"};
	struct gate_report report;
	bool died = true;

	(void)state;
	assert_false(gate_start(&config, &r.gate, &r.err));
	assert_int_equal(r.err.code, ERR_SETUP);
	assert_non_null(strstr(r.err.hint, "/none/gate"));
	assert_int_equal(r.gate.pid, 0);
	gate_finish(&r.gate, &report, &died);
	assert_false(died);
	/* Beside this test there is none either. */
	config.program = NULL;
	assert_false(gate_start(&config, &r.gate, &r.err));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_stands_alone(void **state)
{
	struct run r = granting();
	struct gate_report report;
	int ends_of_pipe[2];
	char byte;

	(void)state;
	aim(&r);
	/* Inherited on purpose. */
	assert_int_equal(pipe(ends_of_pipe), 0);
	r.env[0] = "https_proxy=http://user:secret@127.0.0.1:3128";
	run_begin(&r);
	close(ends_of_pipe[1]);
	assert_int_equal(read(ends_of_pipe[0], &byte, 1), 0);
	close(ends_of_pipe[0]);
	assert_int_equal(getsid(r.gate.pid), r.gate.pid);
	/* Ctrl-C and a closed terminal are the program's business. */
	kill(r.gate.pid, SIGINT);
	kill(r.gate.pid, SIGHUP);
	kill(r.gate.pid, SIGTSTP);
	assert_false(clock_wait_for(r.gate.pidfd, 50));

	char path[64];
	char environ_text[4096] = "";
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)r.gate.pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Not dumpable: an ordinary user may not even open it. */
	ssize_t n = fd < 0 ? 0 : fd_read_all(fd, environ_text, sizeof(environ_text) - 1);
	for (ssize_t i = 0; i < n; i++) {
		environ_text[i] = environ_text[i] == '\0' ? '\n' : environ_text[i];
	}
	assert_null(strstr(environ_text, "secret"));
	run_end(&r, &report);
}

static void test_bad_proxy(void **state)
{
	struct run r = granting();
	struct gate_report report;
	bool died;

	(void)state;
	aim(&r);
	r.env[0] = "HTTPS_PROXY=socks5://user:secret@127.0.0.1:1080";
	assert_true(run_start(&r));
	assert_false(run_open(&r));
	gate_failed(&r.gate, &r.err);
	assert_non_null(strstr(r.err.msg, "HTTPS_PROXY"));
	assert_null(strstr(r.err.msg, "secret"));
	gate_finish(&r.gate, &report, &died);
	assert_true(died);
}

/* What a gate of another build would get. */
static void test_bad_plans(void **state)
{
	struct control good = {.kind = CONTROL_PLAN};
	struct control bad[5];
	auto_close int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)state;
	snprintf(good.u.plan.version, sizeof(good.u.plan.version), "%s", LNK_VERSION);
	good.u.plan.plan_len = 100; /* of zeros: no plan */
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		bad[i] = good;
	}
	bad[0].kind = CONTROL_END;
	bad[1].u.plan.version[0] = '9';
	bad[2].u.plan.plan_len = UINT64_MAX;
	bad[3].u.plan.env_len = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct control answer;
		size_t n;
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		pid_t pid = fork();
		if (pid == 0) {
			dup2(pair[1], CONTROL_FD);
			dup2(pair[1], DOOR_FD);
			syscall(SYS_close_range, DOOR_FD + 1U, ~0U, 0U);
			execl(getenv("LNK_GATE"), "lnk-gate", NULL);
			_exit(99);
		}
		close(pair[1]);
		assert_true(pass_send(pair[0], &bad[i], control_len(CONTROL_PLAN), &file, 1));
		ssize_t got = pass_receive(pair[0], &answer, sizeof(answer), NULL, 0, &n);
		assert_int_equal(got, (ssize_t)control_len(CONTROL_FAILED));
		assert_int_equal(answer.kind, CONTROL_FAILED);
		assert_non_null(strstr(answer.u.err.msg, "plan"));
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		close(pair[0]);
	}
}

static void test_log(void **state)
{
	struct run r = granting();
	struct gate_report report;
	char text[4096] = "";
	uint32_t addr;

	(void)state;
	aim(&r);
	r.log = memfd_create("log", MFD_CLOEXEC);
	assert_true(r.log >= 0);
	run_begin(&r);
	ask(NET_OWN_V4, "refused.test", &addr);
	run_end(&r, &report);
	assert_true(pread(r.log, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "refused.test"));
	close(r.log);
}

/* Many, so that the plan and the message with it are large. */
static void test_large_plan(void **state)
{
	static struct net_host hosts[10000];
	static char names[ARRAY_LEN(hosts)][32];
	struct run r = granting();
	struct gate_report report;
	uint32_t addr;

	(void)state;
	aim(&r);
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		snprintf(names[i], sizeof(names[i]), "host-%zu.example.org", i);
		hosts[i].pattern = names[i];
	}
	hosts[ARRAY_LEN(hosts) - 1].pattern = "granted.test";
	r.plan.internet.v = hosts;
	r.plan.internet.n = ARRAY_LEN(hosts);
	run_begin(&r);
	assert_int_equal(ask(NET_OWN_V4, "granted.test", &addr), 0);
	assert_true(addr != 0);
	run_end(&r, &report);
	assert_int_equal(report.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_supervisor_gone),
		cmocka_unit_test(test_supervisor_killed),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_init_gone),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_stands_alone),
		cmocka_unit_test(test_bad_proxy),
		cmocka_unit_test(test_bad_plans),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_large_plan),
	};

	kit_start("127.0.0.1 localhost\n203.0.113.7 granted.test\n");
	return cmocka_run_group_tests_name("gate client", tests, NULL, NULL);
}
