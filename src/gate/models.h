/* The model filter: what of a model runtime's HTTP is inference. One table of methods and exact
 * paths (models.def), and what a body may hold. Pure.
 *
 * Refused in a body, wherever a runtime would act on it: media by address or path instead of data:
 * or base64 (image_url and its kin), models of a cloud, by address or by path, adapters by path,
 * tools that the server runs (web_search, mcp ...), servers to connect to (integrations,
 * mcp_servers, kv_transfer_params). Text may say what it likes, and so may the arguments, results
 * and schemas of the program's own tools.
 *
 * Not seen: an alias that the user gave to a cloud model (`ollama cp`), what a chat template or a
 * plugin of the runtime does, markdown pictures in text that some servers fetch, and how much
 * memory a request takes (num_ctx, keep_alive). */
#ifndef LNK_GATE_MODELS_H
#define LNK_GATE_MODELS_H

#include "gate/http.h"

/* Once, before the gate gives up opening files: jansson seeds its hash tables from /dev/urandom. */
void models_prepare(void);

/* Judges a request to a port of [localhost] models: 405 for another method, 403 for another path,
 * a body with a remote URL (image_url and its kin) or a cloud model, 400 for a body that is no JSON
 * object, 413 for one of too many values. Fills `refusal` to refuse. Method and path only when
 * `request->partial`. Takes 2 microseconds for a small body, 1 ms for each MiB of a large one. */
void models_judge(const struct http_request *request, struct http_refusal *refusal);

#endif
