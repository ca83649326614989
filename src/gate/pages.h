/* The gate's own answers: short pages of plain text that say what was refused and which line of the
 * spec would grant it. */
#ifndef LNK_GATE_PAGES_H
#define LNK_GATE_PAGES_H

#include "gate/http.h"

/* The longest page with its head. */
#define PAGE_MAX 2048

/* Writes an answer with status, Connection: close and a body of one or two lines into `out` (of
 * PAGE_MAX bytes); its length. Without the body, but with its length, for HEAD. Bytes of `why` and
 * `hint` that are not printable become '?'. Source: RFC 9110 section 15. */
size_t page_write(const struct http_refusal *refusal, bool head_only, char *out);

#endif
