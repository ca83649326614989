/* Fuzzes the reading of addresses to open. Whatever the bytes: what is taken is written in one
 * form, which reads as itself again, shows what it is, has one host that no resolver takes for an
 * address, and is not this machine's by a wildcard. */
#include "base/str.h"
#include "broker/url.h"
#include "fuzz.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The host as a reader of the text finds it, by RFC 3986 alone. */
static void check_host(const struct url *url)
{
	const char *start = strstr(url->text, "://") + 3;
	size_t len = strcspn(start, "/?#");
	struct in_addr in;
	struct addr a;

	REQUIRE(start[len] == '/');
	REQUIRE(memchr(start, '@', len) == NULL);
	if (start[0] == '[') {
		start++;
		len = strcspn(start, "]");
	} else {
		const char *colon = memchr(start, ':', len);

		len = colon != NULL ? (size_t)(colon - start) : len;
	}
	REQUIRE(len == strlen(url->host) && memcmp(start, url->host, len) == 0);
	REQUIRE(url->address == addr_parse(url->host, &a));
	/* inet_aton(3) is what getaddrinfo(3) asks first, and about what browsers do. */
	REQUIRE(url->address || inet_aton(url->host, &in) == 0);
	REQUIRE(url->host[0] != '-');
}

static void check_granted(const struct url *url)
{
	const struct net_host any[] = {{.pattern = "*"}};
	const struct net_host own[] = {{.pattern = "other.test"}, {.pattern = url->host}};
	struct err err = {.code = 0};
	const char *why;
	struct addr a;

	/* The first may be the URL's by chance. */
	const struct net_host *by = url_granted(url, own, 2, &err);
	REQUIRE(by != NULL && strcmp(by->pattern, url->host) == 0);
	REQUIRE(url_granted(url, any, 0, &err) == NULL && err.msg[0] != '\0');
	if (url_granted(url, any, 1, &err) == NULL) {
		return;
	}
	REQUIRE(!host_is_local_name(url->host));
	REQUIRE(!url->address ||
		(addr_parse(url->host, &a) && addr_classify(&a, &why) == ADDR_PUBLIC));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct url url, again;
	struct err err = {.code = 0};
	char shown[URL_MAX + 16];
	/* A copy of exact size, so that a read beyond the end is seen. */
	char *copy = malloc(size > 0 ? size : 1);

	REQUIRE(copy != NULL);
	memcpy(copy, data, size);
	bool ok = url_read(copy, size, &url, &err);
	free(copy);
	if (!ok) {
		REQUIRE(err.code != 0 && err.msg[0] != '\0' && err.hint[0] != '\0');
		return 0;
	}
	size_t n = strlen(url.text);
	REQUIRE(n <= URL_MAX);
	REQUIRE(strncmp(url.text, "https://", 8) == 0 || strncmp(url.text, "http://", 7) == 0);
	for (size_t i = 0; i < n; i++) {
		REQUIRE(url.text[i] > ' ' && url.text[i] < 0x7f);
		REQUIRE(strchr("\"'<>\\^`{|}", url.text[i]) == NULL);
	}
	REQUIRE(strcmp(str_printable(url.text, shown, sizeof(shown)), url.text) == 0);
	check_host(&url);
	check_granted(&url);
	REQUIRE(url_read(url.text, n, &again, &err));
	REQUIRE(strcmp(again.text, url.text) == 0 && strcmp(again.host, url.host) == 0);
	return 0;
}
