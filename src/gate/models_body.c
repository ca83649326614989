/* The body of a request to a model runtime: reduced, parsed, walked. Pictures come as megabytes of
 * base64 in one string, conversations as long texts, Ollama's context as a list of a hundred
 * thousand numbers; the gate has one thread, and none of it is what is judged. */
#include "gate/models_inner.h"

#include <stdlib.h>
#include <string.h>

/* Of a longer string, so much of its beginning and its end is kept, a little more to cut between
 * characters. */
#define STRING_LONG 256
#define STRING_HEAD 96
#define STRING_TAIL 64
#define STRING_SLIP 48
/* The longest escape, a pair of surrogates: \ud83d\ude00. A cut has no backslash so near before it.
 */
#define ESCAPE_MAX 12
/* Stands for what is left out: no name of anything holds it. Shorter than what it stands for. */
#define CUT_MARK "\\u0001"
/* A longer list of numbers is cut to one. */
#define LIST_LONG 64

#define HINT_SMALLER "send less in one request"

struct reducer {
	const unsigned char *in;
	size_t len, at;
	char *out; /* as large as `in` */
	size_t n;
	unsigned depth;
	unsigned long values;
};

static void copy(struct reducer *r, size_t from, size_t to)
{
	memcpy(r->out + r->n, r->in + from, to - from);
	r->n += to - from;
}

/* A place from `at` on where a string may be cut: no byte of a character or escape is parted. 0
 * when there is none before `end`. */
static size_t cut(const struct reducer *r, size_t at, size_t end)
{
	for (; at < end; at++) {
		if ((r->in[at] & 0xc0) != 0x80 &&
		    memchr(r->in + at - ESCAPE_MAX, '\\', ESCAPE_MAX) == NULL) {
			return at;
		}
	}
	return 0;
}

/* The string whose quote is at `r->at`. False when it does not end, or holds control bytes. */
static bool reduce_string(struct reducer *r)
{
	size_t start = r->at, i = start + 1;

	while (i < r->len && r->in[i] != '"') {
		if (r->in[i] < 0x20) {
			return false;
		}
		i += r->in[i] == '\\' ? 2 : 1;
	}
	if (i >= r->len) {
		return false;
	}
	r->at = i + 1;
	if (i - start > STRING_LONG) {
		size_t head = start + 1 + STRING_HEAD, tail = i - STRING_TAIL;

		head = cut(r, head, head + STRING_SLIP);
		tail = cut(r, tail, tail + STRING_SLIP);
		if (head != 0 && tail != 0) {
			copy(r, start, head);
			memcpy(r->out + r->n, CUT_MARK, sizeof(CUT_MARK) - 1);
			r->n += sizeof(CUT_MARK) - 1;
			start = tail;
		}
	}
	copy(r, start, r->at);
	return true;
}

/* The list whose bracket is at `r->at`: cut to its first number when it is long and holds nothing
 * else. Where its end is does not depend on what the numbers look like. */
static void reduce_list(struct reducer *r)
{
	size_t i = r->at + 1, comma = 0;

	while (i < r->len && strchr("0123456789+-.eE, \t\r\n", r->in[i]) != NULL && r->in[i] != 0) {
		comma = comma == 0 && r->in[i] == ',' ? i : comma;
		i++;
	}
	if (comma != 0 && i - r->at > LIST_LONG && i < r->len && r->in[i] == ']') {
		copy(r, r->at, comma);
		r->at = i;
	} else {
		copy(r, r->at, r->at + 1);
		r->at++;
		r->depth++;
		return;
	}
	copy(r, r->at, r->at + 1);
	r->at++;
}

static bool reduce_next(struct reducer *r)
{
	switch (r->in[r->at]) {
	case '"':
		r->values++;
		return reduce_string(r);
	case '[':
		r->values++;
		reduce_list(r);
		return true;
	case '{':
		r->depth++;
		r->values++;
		break;
	case '}':
	case ']':
		r->depth -= r->depth > 0 ? 1 : 0;
		break;
	case ',':
		r->values++;
		break;
	default:
		break;
	}
	copy(r, r->at, r->at + 1);
	r->at++;
	return true;
}

char *models_reduce(const char *body, size_t len, size_t *ret_len, struct http_refusal *refusal)
{
	struct reducer r = {.in = (const unsigned char *)body, .len = len};

	r.out = malloc(len + 1);
	if (r.out == NULL) {
		models_refuse(refusal, 413, HINT_SMALLER, "there is no memory to judge its body");
		return NULL;
	}
	while (r.at < r.len) {
		if (!reduce_next(&r)) {
			models_refuse(refusal, 400, "",
				      "its body is no JSON: a string does not end");
			break;
		}
		if (r.depth > MODELS_DEPTH_MAX || r.values > MODELS_VALUES_MAX ||
		    r.n > MODELS_REDUCED_MAX) {
			models_refuse(refusal, 413, HINT_SMALLER,
				      "its body holds more than can be judged (%u values, %u deep)",
				      MODELS_VALUES_MAX, MODELS_DEPTH_MAX);
			break;
		}
	}
	if (refusal->status != 0) {
		free(r.out);
		return NULL;
	}
	*ret_len = r.n;
	return r.out;
}

bool models_body(const char *body, size_t len, struct http_refusal *refusal)
{
	size_t n = 0;
	json_error_t error;
	char *reduced = models_reduce(body, len, &n, refusal);

	if (reduced == NULL) {
		return false;
	}
	json_t *root = json_loadb(reduced, n, JSON_REJECT_DUPLICATES, &error);
	free(reduced);
	bool ok = json_is_object(root);
	if (ok) {
		ok = models_walk(root, refusal);
	} else {
		models_refuse(refusal, 400, "send the request uncompressed, each key once",
			      "its body is no JSON object");
	}
	json_decref(root);
	return ok;
}
