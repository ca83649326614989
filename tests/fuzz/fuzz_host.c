/* Fuzzes the reading of hosts as requests and server names bring them. Whatever the bytes: what is
 * taken is a name or an address in its one form, reads as itself again, and no resolver takes a
 * name for an address. */
#include "fuzz.h"
#include "gate/address.h"
#include "gate/policy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_name(const char *host)
{
	struct in_addr in;
	size_t label = 0;

	/* inet_aton(3) is what getaddrinfo(3) asks first. */
	REQUIRE(inet_aton(host, &in) == 0);
	for (const char *p = host;; p++) {
		if (*p == '.' || *p == '\0') {
			REQUIRE(label >= 1 && label <= 63);
			label = 0;
		} else {
			REQUIRE((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' ||
				*p == '_');
			label++;
		}
		if (*p == '\0') {
			return;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char host[HOST_MAX], again[HOST_MAX], text[ADDRESS_TEXT_MAX], bracketed[HOST_MAX + 2];
	struct addr a;
	/* A copy of exact size, so that a read beyond the end is seen. */
	char *copy = malloc(size > 0 ? size : 1);

	REQUIRE(copy != NULL);
	memcpy(copy, data, size);
	bool ok = host_normal(copy, size, host);
	free(copy);
	if (!ok) {
		REQUIRE(host[0] == '\0');
		return 0;
	}
	size_t n = strlen(host);
	REQUIRE(n >= 1 && n < HOST_MAX && n <= size + sizeof("255.255.255.255"));
	if (addr_parse(host, &a)) {
		REQUIRE(strcmp(address_text(&a, text), host) == 0);
		if (a.v6) {
			n = (size_t)snprintf(bracketed, sizeof(bracketed), "[%s]", host);
			REQUIRE(host_normal(bracketed, n, again));
		} else {
			REQUIRE(host_normal(host, n, again));
		}
	} else {
		check_name(host);
		REQUIRE(host_normal(host, n, again));
		REQUIRE(host_matches(host, host) && host_matches("*", host));
	}
	REQUIRE(strcmp(host, again) == 0);
	return 0;
}
