/* Inside gate/models*.c only. */
#ifndef LNK_GATE_MODELS_INNER_H
#define LNK_GATE_MODELS_INNER_H

#include "gate/models.h"

#include <jansson.h>

/* Fills `refusal`; always false. */
bool models_refuse(struct http_refusal *refusal, unsigned status, const char *hint, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5)));

/* `s` for a message: printable, cut to some 60 bytes. */
#define MODELS_SHOWN_MAX 80
const char *models_shown(const char *s, char out[MODELS_SHOWN_MAX]);

/* True when a model of this name may be asked; else `refusal` says why not. */
bool models_name(const char *name, struct http_refusal *refusal);

/* --- models_body.c -------------------------------------------------------------------------- */

/* The most that is parsed of a body once it is reduced: 0.2 s of work at worst, and some 20 MiB. */
#define MODELS_REDUCED_MAX (4UL << 20)
#define MODELS_VALUES_MAX  131072
#define MODELS_DEPTH_MAX   64

/* A copy of a JSON text with the middle of long strings and long lists of numbers left out: nothing
 * of it is judged, and parsing it costs 45 ms a MiB. The byte 1 stands in a string for what was
 * left out, so that a name can be told from a part of one. What begins and ends where stays the
 * same for every reader of JSON. NULL when it is no JSON or over the limits (`refusal`), or memory
 * is out. The caller frees it. */
#define MODELS_CUT '\x01'
char *models_reduce(const char *body, size_t len, size_t *ret_len, struct http_refusal *refusal);

/* Judges a request's whole body. False when refused. */
bool models_body(const char *body, size_t len, struct http_refusal *refusal);

/* --- models_walk.c -------------------------------------------------------------------------- */

/* Judges a parsed body: nothing in it may make a runtime fetch, read a file, run a tool or ask a
 * model elsewhere. */
bool models_walk(json_t *root, struct http_refusal *refusal);

#endif
