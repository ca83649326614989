/* The server name of a TLS ClientHello. Pure and incremental; every byte is hostile.
 * Source: RFC 8446 section 4.1.2 and 5.1, RFC 6066 section 3, RFC 8701 (GREASE). */
#ifndef LNK_GATE_HELLO_H
#define LNK_GATE_HELLO_H

#include "gate/policy.h"

#include <stdbool.h>
#include <stddef.h>

/* No ClientHello may be longer, record headers included. */
#define HELLO_MAX (64UL * 1024UL)

enum hello_read {
	HELLO_MORE, /* so far so good: more bytes are needed */
	HELLO_OK,   /* complete; *ret_name is the server name in normal form, or "" without one */
	HELLO_BAD, /* no TLS, or a broken hello (two names, a NUL in it, lengths that do not add up)
		    */
};

/* Reads the first `len` bytes of a connection; call again with all of them when more have come. A
 * hello may be cut over several records. TLS 1.0 to 1.3; SSLv2 hellos are HELLO_BAD. */
enum hello_read hello_read(const unsigned char *bytes, size_t len, char ret_name[HOST_MAX]);

/* A fatal alert `access_denied` (RFC 8446 section 6.2), as a record. */
#define HELLO_ALERT_LEN 7
extern const unsigned char hello_alert[HELLO_ALERT_LEN];

#endif
