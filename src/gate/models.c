#include "gate/models.h"

#include "base/str.h"
#include "gate/models_inner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HINT_MOVE                                                                                  \
	"[localhost] models opens inference only; a port whose every request may pass goes to "    \
	"[localhost] ports instead"
#define HINT_LOCAL "ask a model that runs on this machine, by its name"

enum kind { KIND_GET, KIND_LIST, KIND_BELOW, KIND_POST };

static const struct row {
	const char *path;
	unsigned char len;
	unsigned char kind; /* enum kind */
} rows[] = {
#define MODEL_ROW(path, kind) {path, sizeof(path) - 1, kind},
#define MODEL_GET(path)       MODEL_ROW(path, KIND_GET)
#define MODEL_LIST(path)      MODEL_ROW(path, KIND_LIST)
#define MODEL_BELOW(path)     MODEL_ROW(path, KIND_BELOW)
#define MODEL_POST(path)      MODEL_ROW(path, KIND_POST)
#include "gate/models.def"
};

void models_prepare(void)
{
	json_object_seed(0);
}

bool models_refuse(struct http_refusal *refusal, unsigned status, const char *hint, const char *fmt,
		   ...)
{
	va_list args;

	refusal->status = status;
	va_start(args, fmt);
	vsnprintf(refusal->why, sizeof(refusal->why), fmt, args);
	va_end(args);
	snprintf(refusal->hint, sizeof(refusal->hint), "%s", hint);
	return false;
}

const char *models_shown(const char *s, char out[MODELS_SHOWN_MAX])
{
	str_printable(s, out, MODELS_SHOWN_MAX - 16);
	/* As hosts in the report are shown (kept_new of decisions.c). */
	for (char *blank = out; (blank = strchr(blank, ' ')) != NULL;) {
		*blank = '_';
	}
	return out;
}

/* --- names of models ------------------------------------------------------------------------ */

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Ollama's cloud models: the tag is "cloud" or ends in "-cloud", in any case and with any space
 * around it (its modelref.ParseRef). Whatever is no letter or digit is taken for space here. */
static bool is_cloud(const char *name)
{
	size_t n = strlen(name);

	while (n > 0 && !is_alnum(name[n - 1])) {
		n--;
	}
	if (n < 5 || strncasecmp(name + n - 5, "cloud", 5) != 0) {
		return false;
	}
	for (n -= 5; n > 0; n--) {
		unsigned char c = (unsigned char)name[n - 1];

		if (c == '-' || c == ':') {
			return true;
		}
		if (c > 0x20 && c < 0x7f) {
			return false;
		}
	}
	return false;
}

/* "/x", "~/x", "./x", "../x", "a/../b", "C:/x", "C:\x". */
static bool is_path(const char *name)
{
	while (*name != '\0' && (unsigned char)*name <= ' ') {
		name++;
	}
	return name[0] == '/' || name[0] == '~' || str_starts(name, "./") ||
	       str_starts(name, "../") || strstr(name, "/..") != NULL ||
	       strchr(name, '\\') != NULL || (name[0] != '\0' && name[1] == ':' && name[2] == '/');
}

bool models_name(const char *name, struct http_refusal *refusal)
{
	char shown[MODELS_SHOWN_MAX];

	for (const char *s = name; *s != '\0'; s++) {
		if ((unsigned char)*s < 0x20) {
			return models_refuse(refusal, 403, HINT_LOCAL,
					     "the name of the model is too long, or none");
		}
	}
	if (is_cloud(name)) {
		return models_refuse(refusal, 403, HINT_LOCAL,
				     "the model \"%s\" does not run on this machine",
				     models_shown(name, shown));
	}
	if (strstr(name, "://") != NULL) {
		return models_refuse(refusal, 403, HINT_LOCAL,
				     "the model \"%s\" is an address, not a name",
				     models_shown(name, shown));
	}
	if (is_path(name)) {
		return models_refuse(refusal, 403, HINT_LOCAL,
				     "the model \"%s\" is a path, not a name",
				     models_shown(name, shown));
	}
	return true;
}

/* --- method and path ------------------------------------------------------------------------ */

/* One model's name behind a path, as it may stand there unescaped. */
static bool is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_alnum(s[i]) && strchr("._:/@+-", s[i]) == NULL) {
			return false;
		}
		if (s[i] == '/' && (i == 0 || i + 1 == n || s[i + 1] == '/' || s[i + 1] == '.')) {
			return false;
		}
	}
	return n > 0 && n <= 255 && s[0] != '.';
}

static bool matches(const struct row *row, const char *path, size_t n)
{
	if (row->kind == KIND_BELOW) {
		return n > row->len && strncmp(path, row->path, row->len) == 0 &&
		       is_name(path + row->len, n - row->len);
	}
	return n == row->len && strncmp(path, row->path, n) == 0;
}

/* Parameters that clients send with a list: Anthropic's paging, Codex' version. Others could do
 * something (llama.cpp's autoload, say). */
static bool query_passes(const char *query)
{
	static const char *const known[] = {
		"limit=", "before_id=", "after_id=", "beta=", "client_version="};

	for (;;) {
		bool found = false;

		for (size_t i = 0; i < ARRAY_LEN(known); i++) {
			found = found || str_starts(query, known[i]);
		}
		query = strchr(query, '&');
		if (!found || query == NULL) {
			return found;
		}
		query++;
	}
}

static bool judge_get(const struct row *row, const char *path, size_t n,
		      struct http_refusal *refusal)
{
	char shown[MODELS_SHOWN_MAX], name[256] = "";

	if (path[n] == '?' && !(row->kind == KIND_LIST && query_passes(path + n + 1))) {
		return models_refuse(refusal, 403, HINT_MOVE,
				     "a GET to a model runtime passes without parameters: %s",
				     models_shown(path, shown));
	}
	if (row->kind == KIND_BELOW) {
		memcpy(name, path + row->len, n - row->len);
	}
	return models_name(name, refusal);
}

static bool judge_row(const struct row *row, const struct http_request *request, size_t n,
		      struct http_refusal *refusal)
{
	bool post = strcmp(request->method, "POST") == 0;
	bool get = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
	char shown[MODELS_SHOWN_MAX];

	if (row->kind == KIND_POST ? !post : !get) {
		snprintf(refusal->allow, sizeof(refusal->allow), "%s",
			 row->kind == KIND_POST ? "POST" : "GET, HEAD");
		return models_refuse(refusal, 405, HINT_MOVE, "%s of %s is no inference",
				     models_shown(request->method, shown), row->path);
	}
	if (row->kind != KIND_POST) {
		return judge_get(row, request->target, n, refusal);
	}
	return request->partial || models_body(request->body, request->body_len, refusal);
}

void models_judge(const struct http_request *request, struct http_refusal *refusal)
{
	char shown[MODELS_SHOWN_MAX], method[MODELS_SHOWN_MAX];
	size_t n = strcspn(request->target, "?");

	if (request->upgrade) {
		models_refuse(refusal, 405, HINT_MOVE, "no websocket to a model runtime");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (matches(&rows[i], request->target, n)) {
			judge_row(&rows[i], request, n, refusal);
			return;
		}
	}
	models_refuse(refusal, 403, HINT_MOVE, "%s %s is no inference",
		      models_shown(request->method, method), models_shown(request->target, shown));
}
