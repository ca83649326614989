/* Fuzzes the model filter: a line "METHOD target", then a body. Whatever the bytes:
 *
 * - what passes has a path of the table, to the letter, and its method;
 * - a body that passes is judged the same when nothing of it is left out (models_reduce), as far as
 *   it is JSON at all;
 * - what passes holds no cloud model and no picture by address where a plain look finds one;
 * - a refusal is complete, and fit to be printed. */
#include "fuzz.h"
#include "gate/models.h"
#include "gate/models_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void check_path(const char *method, const char *target)
{
	static const char *const gets[] = {
#define MODEL_GET(path)  path,
#define MODEL_LIST(path) path,
#define MODEL_BELOW(path)
#define MODEL_POST(path)
#include "gate/models.def"
#undef MODEL_GET
#undef MODEL_LIST
#undef MODEL_POST
	};
	static const char *const posts[] = {
#define MODEL_GET(path)
#define MODEL_LIST(path)
#define MODEL_POST(path) path,
#include "gate/models.def"
	};
	bool post = strcmp(method, "POST") == 0;
	size_t n = strcspn(target, "?"),
	       count = post ? sizeof(posts) / sizeof(posts[0]) : sizeof(gets) / sizeof(gets[0]);

	REQUIRE(post || strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
	for (size_t i = 0; i < count; i++) {
		const char *path = post ? posts[i] : gets[i];
		if (strlen(path) == n && memcmp(path, target, n) == 0) {
			return;
		}
	}
	REQUIRE(!post && target[n] == '\0');
	REQUIRE(strncmp(target, "/v1/models/", 11) == 0 ||
		strncmp(target, "/api/v0/models/", 15) == 0);
	REQUIRE(strstr(target, "//") == NULL && strstr(target, "/.") == NULL &&
		strpbrk(target, "%\\;#? \"<>") == NULL && target[n - 1] != '/');
}

static void check_cloud(const char *name)
{
	size_t n = strlen(name);

	REQUIRE(n < 6 || (strcasecmp(name + n - 6, ":cloud") != 0 &&
			  strcasecmp(name + n - 6, "-cloud") != 0));
	REQUIRE(strstr(name, "://") == NULL && name[0] != '/');
}

/* A plain look: the content of messages, in any depth that is not the program's own data. */
static void check_media(json_t *value, bool media)
{
	const char *key = NULL;
	json_t *inner = NULL;
	size_t i = 0;

	if (json_is_string(value) && media) {
		REQUIRE(strncasecmp(json_string_value(value), "http:", 5) != 0 &&
			strncasecmp(json_string_value(value), "https:", 6) != 0 &&
			strncasecmp(json_string_value(value), "file:", 5) != 0);
	}
	json_array_foreach(value, i, inner)
	{
		check_media(inner, media);
	}
	json_object_foreach(value, key, inner)
	{
		if (strcmp(key, "content") == 0 || strcmp(key, "messages") == 0) {
			check_media(inner, media);
		} else if (strcmp(key, "image_url") == 0 || strcmp(key, "images") == 0 ||
			   strcmp(key, "input_audio") == 0 || (media && strcmp(key, "url") == 0)) {
			check_media(inner, true);
		}
	}
}

static void check_body(const char *body, size_t len)
{
	struct http_refusal refusal = {0};
	json_error_t error;
	json_t *root = json_loadb(body, len, JSON_REJECT_DUPLICATES, &error);
	size_t n = 0;
	char *reduced = models_reduce(body, len, &n, &refusal);

	REQUIRE(reduced != NULL && refusal.status == 0);
	if (root == NULL) {
		REQUIRE(n < len); /* what is wrong was left out */
	} else {
		REQUIRE(json_is_object(root) && models_walk(root, &refusal));
		json_t *model = json_object_get(root, "model");
		if (json_is_string(model)) {
			check_cloud(json_string_value(model));
		}
		check_media(root, false);
	}
	free(reduced);
	json_decref(root);
}

/* Refused: the same holds for the whole of it, if its JSON is good and small. */
static void check_refused(const char *body, size_t len, const struct http_refusal *refusal)
{
	struct http_refusal again = {0};
	json_error_t error;

	if (refusal->status != 403) {
		return;
	}
	json_t *root = json_loadb(body, len, JSON_REJECT_DUPLICATES, &error);
	size_t n = 0;
	char *reduced = models_reduce(body, len, &n, &again);
	/* A name that is too long to be kept whole is refused for that. */
	REQUIRE(root == NULL || n < len || !models_walk(root, &again));
	free(reduced);
	json_decref(root);
}

static void check_text(const struct http_refusal *refusal)
{
	const char *texts[] = {refusal->why, refusal->hint};

	for (int i = 0; i < 2; i++) {
		for (const char *s = texts[i]; *s != '\0'; s++) {
			REQUIRE((unsigned char)*s >= 0x20 && *s != 0x7f);
		}
	}
	REQUIRE(refusal->why[0] != '\0');
	REQUIRE(refusal->status == 400 || refusal->status == 403 || refusal->status == 405 ||
		refusal->status == 413);
	REQUIRE((refusal->status == 405) == (refusal->allow[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);

	if (end == NULL) {
		return 0;
	}
	size_t line = (size_t)(end - data), len = size - line - 1;
	char *method = strndup((const char *)data, line), *body = malloc(len > 0 ? len : 1);
	REQUIRE(method != NULL && body != NULL);
	memcpy(body, end + 1, len);
	char *target = strchr(method, ' ');
	if (target != NULL) {
		struct http_refusal refusal = {0};
		struct http_request request = {.body = body, .body_len = len};

		*target++ = '\0';
		request.method = method;
		request.target = target;
		models_judge(&request, &refusal);
		if (refusal.status == 0) {
			check_path(method, target);
			if (strcmp(method, "POST") == 0) {
				check_body(body, len);
			}
		} else {
			check_text(&refusal);
			if (strcmp(method, "POST") == 0 && strcmp(target, "/api/chat") == 0) {
				check_refused(body, len, &refusal);
			}
		}
	}
	free(body);
	free(method);
	return 0;
}
