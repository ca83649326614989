/* Addresses: what hides in them, what stays closed whatever the spec says, and what the kernel
 * calls its own. */
#include "base/fd.h"
#include "base/str.h"
#include "gate/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* As inet_pton(3) has it: a mapped address stays one. */
static struct addr raw(const char *text)
{
	struct addr a = {.v6 = strchr(text, ':') != NULL};

	assert_int_equal(inet_pton(a.v6 ? AF_INET6 : AF_INET, text, a.b), 1);
	return a;
}

static void unwraps(void **state)
{
	static const struct {
		const char *outer, *inner;
	} rows[] = {
		{"64:ff9b::192.0.2.33", "192.0.2.33"}, /* RFC 6052 section 2.4 */
		{"64:ff9b::a9fe:a9fe", "169.254.169.254"},
		{"64:ff9b:1::10.0.0.1", "10.0.0.1"}, /* RFC 8215 */
		{"64:ff9b:1:fffe::127.0.0.1", "127.0.0.1"},
		{"2002:c000:22d::1", "192.0.2.45"}, /* 6to4 */
		{"2002:7f00:1::", "127.0.0.1"},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "192.0.2.45"}, /* RFC 4380 */
		{"::ffff:10.1.2.3", "10.1.2.3"},
		{"::10.1.2.3", "10.1.2.3"},
		{"::2", "0.0.0.2"},
		{"2606:4700::1111", NULL},
		{"64:ff9c::1.2.3.4", NULL},
		{"64:ff9b:0:0:0:1:102:304", NULL}, /* a /96 it is not */
		{"2001:1::1", NULL},
		{"::", NULL},
		{"::1", NULL},
		{"::ffff:0:1.2.3.4", NULL},
		{"10.0.0.1", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct addr outer = raw(rows[i].outer);
		struct addr inner = {.v6 = true};
		char text[ADDRESS_TEXT_MAX];
		bool is = address_unwrap(&outer, &inner);

		if (is != (rows[i].inner != NULL) ||
		    (is && (inner.v6 || !str_eq(address_text(&inner, text), rows[i].inner)))) {
			fail_msg("%s", rows[i].outer);
		}
	}
}

static void metadata_services(void **state)
{
	static const char *const closed[] = {
		"169.254.169.254",
		"fd00:ec2::254",
		"169.254.170.2",
		"169.254.170.23",
		"fd00:ec2::23",
		"fd20:ce::254",
		"168.63.129.16",
		"100.100.100.200",
		"169.254.0.23",
		"169.254.42.42",
		"fd00:42::42",
		"192.0.0.192",
		"fe80::a9fe:a9fe",
		"fd00:c1::a9fe:a9fe",
		"fd00:a9fe:a9fe::1",
		"fd00:100::100:200",
		"::ffff:169.254.169.254",
		"::169.254.169.254",
		"64:ff9b::169.254.169.254",
		"64:ff9b:1::169.254.169.254",
		"2002:a9fe:a9fe::1",
		"64:ff9b::168.63.129.16",
		"2001:0:102:304::5601:5601", /* Teredo of 169.254.169.254 */
	};
	static const char *const others[] = {"169.254.169.253", "168.63.129.17", "fd00:ec2::253",
					     "100.100.100.201", "1.1.1.1",       "fe80::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(closed); i++) {
		struct addr a = raw(closed[i]);

		if (!address_is_metadata(&a)) {
			fail_msg("%s is open", closed[i]);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct addr a = raw(others[i]);

		assert_false(address_is_metadata(&a));
	}
}

static void to_and_from_sockets(void **state)
{
	static const char *const texts[] = {"1.2.3.4", "2606:4700::1111", "::1", "255.255.255.255"};
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	struct sockaddr_storage sa;
	struct addr a, back;
	uint16_t port = 0;
	char text[ADDRESS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		a = raw(texts[i]);
		socklen_t len = address_to_sockaddr(&a, 65535, &sa);
		assert_int_equal(len,
				 a.v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
		assert_true(address_from_sockaddr((const struct sockaddr *)&sa, &back, &port));
		assert_int_equal(port, 65535);
		assert_int_equal(back.v6, a.v6);
		assert_memory_equal(back.b, a.b, 16);
		assert_string_equal(address_text(&back, text), texts[i]);
	}
	assert_int_equal(inet_pton(AF_INET6, "::ffff:10.0.0.1", &mapped.sin6_addr), 1);
	assert_true(address_from_sockaddr((const struct sockaddr *)&mapped, &back, &port));
	assert_false(back.v6);
	assert_int_equal(port, 443);
	assert_string_equal(address_text(&back, text), "10.0.0.1");
	sa.ss_family = AF_UNIX;
	assert_false(address_from_sockaddr((const struct sockaddr *)&sa, &back, &port));
}

/* --- this machine's own ------------------------------------------------------------------- */

static bool own(int routes, const char *text)
{
	struct addr a = raw(text);

	return address_is_own(routes, &a);
}

static void every_interface_is_own(void **state)
{
	auto_close int routes = address_routes_open();
	struct ifaddrs *list = NULL;
	unsigned n = 0;

	(void)state;
	assert_true(routes >= 0);
	assert_int_equal(getifaddrs(&list), 0);
	for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		struct addr a;
		uint16_t port;

		if (i->ifa_addr != NULL && (i->ifa_flags & IFF_UP) != 0 &&
		    address_from_sockaddr(i->ifa_addr, &a, &port)) {
			assert_true(address_is_own(routes, &a));
			n++;
		}
	}
	freeifaddrs(list);
	assert_true(n > 0);
	assert_true(own(routes, "127.0.0.1"));
	assert_true(own(routes, "127.250.1.2"));
	assert_true(own(routes, "::1"));
	assert_true(own(routes, "255.255.255.255"));
	assert_true(own(routes, "64:ff9b::127.0.0.1"));
	assert_true(own(routes, "::ffff:127.0.0.1"));
}

static void nobody_to_ask_is_own(void **state)
{
	auto_close int routes = address_routes_open();

	(void)state;
	assert_true(own(-1, "1.1.1.1"));
	assert_true(routes >= 0);
	/* Not a netlink socket at all. */
	auto_close int other = open("/dev/null", 0);
	assert_true(own(other, "1.1.1.1"));
}

static void set_address(int fd, const char *name, const char *text)
{
	struct ifreq r = {.ifr_flags = 0};
	struct sockaddr_in sin = {.sin_family = AF_INET};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	assert_int_equal(inet_pton(AF_INET, text, &sin.sin_addr), 1);
	memcpy(&r.ifr_addr, &sin, sizeof(sin));
	if (ioctl(fd, SIOCSIFADDR, &r) != 0) {
		_exit(3);
	}
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &r) != 0) {
		_exit(4);
	}
}

/* In a network namespace of its own: what has no route is not own, and an address that appears is,
 * at once, by the same socket. */
static int fresh_machine(void)
{
	auto_close int fd = -1;
	auto_close int routes = -1;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
		return 2;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	routes = address_routes_open();
	if (routes < 0 || own(routes, "10.9.8.7") || own(routes, "8.8.8.8") ||
	    own(routes, "2606:4700::1111")) {
		return 5;
	}
	set_address(fd, "lo", "127.0.0.1");
	if (own(routes, "10.9.8.7")) {
		return 6;
	}
	/* lo:1 gets it as a second address of the one interface there is. */
	set_address(fd, "lo:1", "10.9.8.7");
	if (!own(routes, "10.9.8.7") || !own(routes, "64:ff9b::10.9.8.7") ||
	    own(routes, "8.8.8.8")) {
		return 7;
	}
	return 0;
}

static void a_new_address_counts_at_once(void **state)
{
	int status = 0;

	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		_exit(fresh_machine());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unwraps),
		cmocka_unit_test(metadata_services),
		cmocka_unit_test(to_and_from_sockets),
		cmocka_unit_test(every_interface_is_own),
		cmocka_unit_test(nobody_to_ask_is_own),
		cmocka_unit_test(a_new_address_counts_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
