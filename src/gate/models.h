/* The model filter: what of a model runtime's HTTP is inference. One table of methods and exact
 * paths (models.def), and what a body may hold. Pure. */
#ifndef LNK_GATE_MODELS_H
#define LNK_GATE_MODELS_H

#include "gate/http.h"

/* Judges a request to a port of [localhost] models: 405 for another method, 403 for another path,
 * a body with a remote URL (image_url and its kin) or a cloud model, 400 for a body that is no JSON
 * object. Fills `refusal` to refuse. */
void models_judge(const struct http_request *request, struct http_refusal *refusal);

#endif
