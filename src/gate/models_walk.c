/* What a parsed body asks of a runtime. Keys are compared as Go does it, because Ollama is written
 * in Go: in any case, and with the two letters beyond ASCII that fold into it. */
#include "base/str.h"
#include "gate/models_inner.h"

#include <string.h>

#define HINT_DATA "send it as a data: address or as base64"
#define HINT_TOOL "take it out of the request; tools of the program's own (\"function\") pass"

/* What a key means where no data of the program's own is. */
enum meaning {
	KEY_PLAIN,
	KEY_ADAPTER, /* an adapter: a number may choose it, a name or path may not */
	KEY_CONNECT, /* makes the server connect to, or run, something: must be empty */
	KEY_DATA,    /* media on the top level (vLLM's pooling plugins), else plain */
	KEY_MEDIA,   /* media: no addresses and no paths in or below it */
	KEY_MODEL,   /* the name of a model */
	KEY_NAME,    /* likewise, on the top level (Ollama) */
	KEY_SOURCE,  /* media when it is an object (Anthropic), but not of text */
	KEY_TOOLS,   /* a list of tools */
	KEY_OPAQUE,  /* data of the program's own: schemas, arguments, variables of a template */
	KEY_INPUT,   /* likewise in a "tool_use" (Anthropic) */
};

/* The folded key; sorted by meaning, not by name: it is a short list, told apart by length first.
 * Sources: as in models.def; SGLang's and mlx-vlm's names for media. */
static const struct {
	const char *key;
	enum meaning meaning;
} keys[] = {
	{"model", KEY_MODEL},
	{"models", KEY_MODEL},
	{"draft_model", KEY_MODEL},
	{"name", KEY_NAME},
	{"tools", KEY_TOOLS},
	{"source", KEY_SOURCE},
	{"input", KEY_INPUT},
	{"data", KEY_DATA},
	{"audio", KEY_MEDIA},
	{"audio_data", KEY_MEDIA},
	{"audio_url", KEY_MEDIA},
	{"audios", KEY_MEDIA},
	{"data_url", KEY_MEDIA},
	{"file", KEY_MEDIA},
	{"file_data", KEY_MEDIA},
	{"file_url", KEY_MEDIA},
	{"image", KEY_MEDIA},
	{"image_data", KEY_MEDIA},
	{"image_url", KEY_MEDIA},
	{"images", KEY_MEDIA},
	{"input_audio", KEY_MEDIA},
	{"input_file", KEY_MEDIA},
	{"input_image", KEY_MEDIA},
	{"input_video", KEY_MEDIA},
	{"multimodal_data", KEY_MEDIA},
	{"video", KEY_MEDIA},
	{"video_data", KEY_MEDIA},
	{"video_url", KEY_MEDIA},
	{"videos", KEY_MEDIA},
	{"bootstrap_host", KEY_CONNECT},
	{"bootstrap_port", KEY_CONNECT},
	{"connector_id", KEY_CONNECT},
	{"data_format", KEY_CONNECT},
	{"ec_transfer_params", KEY_CONNECT},
	{"integrations", KEY_CONNECT},
	{"kv_transfer_params", KEY_CONNECT},
	{"mcp_servers", KEY_CONNECT},
	{"out_data_format", KEY_CONNECT},
	{"server_url", KEY_CONNECT},
	{"web_search_options", KEY_CONNECT},
};

/* Compared as they are: a runtime that reads them in another case would only find more refused. */
static const char *const opaque[] = {
	"arguments",          "chat_template_kwargs", "format",          "guided_json",
	"input_schema",       "json_schema",          "metadata",        "output_schema",
	"parameters",         "properties",           "response_format", "schema",
	"structured_outputs",
};

/* Tools that the program runs itself. Ends in '*': any that begins so. */
static const char *const own_tools[] = {
	"function",  "custom", "local_shell",   "shell",    "apply_patch",
	"computer*", "bash_*", "text_editor_*", "memory_*", "namespace",
};

/* Parts of a message that are media, by their type. */
static const char *const media_types[] = {
	"audio",      "audio_url",   "file",        "image", "image_url", "input_audio",
	"input_file", "input_image", "input_video", "media", "video",     "video_url",
};

#define FOLDED_MAX 40

struct walk {
	struct http_refusal *refusal;
	unsigned depth; /* 1: members of the root */
};

/* ASCII lower case; U+212A (Kelvin) is k and U+017F (long s) is s, as in Go's EqualFold. Empty when
 * it is too long to be one of ours. */
static void fold(const char *key, char out[FOLDED_MAX])
{
	size_t n = 0;

	for (const char *s = key; *s != '\0'; n++) {
		if (n == FOLDED_MAX - 1) {
			n = 0;
			break;
		}
		if (strncmp(s, "\xe2\x84\xaa", 3) == 0) {
			out[n] = 'k';
			s += 3;
		} else if (strncmp(s, "\xc5\xbf", 2) == 0) {
			out[n] = 's';
			s += 2;
		} else {
			out[n] = *s >= 'A' && *s <= 'Z' ? (char)(*s + 'a' - 'A') : *s;
			s++;
		}
	}
	out[n] = '\0';
}

static enum meaning meaning_of(const char *key)
{
	char folded[FOLDED_MAX];

	for (size_t i = 0; i < ARRAY_LEN(opaque); i++) {
		if (strcmp(key, opaque[i]) == 0) {
			return KEY_OPAQUE;
		}
	}
	fold(key, folded);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(folded, keys[i].key) == 0) {
			return keys[i].meaning;
		}
	}
	return str_starts(folded, "lora") || str_starts(folded, "adapter") ? KEY_ADAPTER
									   : KEY_PLAIN;
}

/* True when a member "type" of the object (in any case) is one of the types. */
static bool has_type(json_t *object, const char *const *types, size_t n)
{
	const char *key = NULL;
	json_t *value = NULL;
	char folded[FOLDED_MAX];

	json_object_foreach(object, key, value)
	{
		fold(key, folded);
		if (strcmp(folded, "type") != 0 || !json_is_string(value)) {
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			if (strcmp(json_string_value(value), types[i]) == 0) {
				return true;
			}
		}
	}
	return false;
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of an address; longer ones are none, and nothing fetches them. */
#define SCHEME_MAX 32

/* What a runtime would fetch, or open: an address of any scheme but data:, or a path. Readers of
 * addresses skip some space before one, so all that is no beginning of anything is skipped. Base64
 * may begin with a slash, too: of pictures only JPEG does; sound may, but comes as "data", which no
 * runtime takes for a path. What would only be seen behind the cut (after escapes, which are long)
 * counts as an address. */
static bool is_reference(const char *s, const char *key)
{
	bool data = strcmp(key, "data") == 0 || strcmp(key, "file_data") == 0;
	const char *start = s;

	while (*s != '\0' && !is_alpha(*s) && !(*s >= '0' && *s <= '9') &&
	       strchr("/~.\\+", *s) == NULL) {
		if (*s == MODELS_CUT || ++s - start > 32) {
			return true;
		}
	}
	if (*s == '/') {
		return !data && strncmp(s, "/9j/", 4) != 0;
	}
	if (*s == '~' || *s == '.' || *s == '\\') {
		return true;
	}
	const char *end = s;
	/* What goes on for longer is no scheme, but base64. */
	while (end - s <= SCHEME_MAX && (is_alpha(*end) || (*end >= '0' && *end <= '9') ||
					 (*end != '\0' && strchr("+-.", *end) != NULL))) {
		end++;
	}
	if (*end == MODELS_CUT) {
		return true;
	}
	return *end == ':' && !((end - s) == 4 && (s[0] | 32) == 'd' && (s[1] | 32) == 'a' &&
				(s[2] | 32) == 't' && (s[3] | 32) == 'a');
}

static bool is_empty(json_t *value)
{
	return json_is_null(value) || json_is_false(value) ||
	       (json_is_array(value) && json_array_size(value) == 0) ||
	       (json_is_object(value) && json_object_size(value) == 0);
}

static bool holds_string(json_t *value)
{
	const char *key = NULL;
	json_t *inner = NULL;
	size_t i = 0;

	json_array_foreach(value, i, inner)
	{
		if (holds_string(inner)) {
			return true;
		}
	}
	json_object_foreach(value, key, inner)
	{
		if (holds_string(inner)) {
			return true;
		}
	}
	return json_is_string(value);
}

static bool walk_value(struct walk *w, json_t *value, enum meaning in, const char *key);

static bool walk_model(struct walk *w, json_t *value)
{
	json_t *inner = NULL;
	size_t i = 0;

	json_array_foreach(value, i, inner)
	{
		if (!walk_model(w, inner)) {
			return false;
		}
	}
	return !json_is_string(value) || models_name(json_string_value(value), w->refusal);
}

static bool is_own_tool(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(own_tools); i++) {
		size_t n = strlen(own_tools[i]);

		if (own_tools[i][n - 1] == '*' ? strncmp(type, own_tools[i], n - 1) == 0
					       : strcmp(type, own_tools[i]) == 0) {
			return true;
		}
	}
	return false;
}

static bool walk_tool(struct walk *w, json_t *tool)
{
	const char *key = NULL;
	json_t *value = NULL;
	char folded[FOLDED_MAX], shown[MODELS_SHOWN_MAX];

	json_object_foreach(tool, key, value)
	{
		fold(key, folded);
		if (strcmp(folded, "type") == 0 && json_is_string(value) &&
		    !is_own_tool(json_string_value(value))) {
			return models_refuse(w->refusal, 403, HINT_TOOL,
					     "the server would run the tool \"%s\" itself",
					     models_shown(json_string_value(value), shown));
		}
	}
	return true;
}

static bool walk_tools(struct walk *w, json_t *value)
{
	json_t *tool = NULL;
	size_t i = 0;

	json_array_foreach(value, i, tool)
	{
		if (!walk_tool(w, tool)) {
			return false;
		}
	}
	return true;
}

/* What a member is to be walked as, where its key says nothing more: media stay media all the way
 * down. In a "tool_use" of a message "input" is the program's own; that of a whole request is not,
 * whatever type it gives itself. */
static enum meaning below(const struct walk *w, json_t *object, enum meaning meaning, json_t *value,
			  enum meaning in)
{
	static const char *const uses[] = {"tool_use", "server_tool_use", "mcp_tool_use"};
	static const char *const texts[] = {"text", "content"};

	if (in == KEY_MEDIA || meaning == KEY_MEDIA || (meaning == KEY_DATA && w->depth == 1)) {
		return KEY_MEDIA;
	}
	if (meaning == KEY_SOURCE && json_is_object(value) &&
	    !has_type(value, texts, ARRAY_LEN(texts))) {
		return KEY_MEDIA;
	}
	if (meaning == KEY_INPUT && w->depth > 2 && has_type(object, uses, ARRAY_LEN(uses))) {
		return KEY_OPAQUE;
	}
	return meaning == KEY_OPAQUE ? KEY_OPAQUE : KEY_PLAIN;
}

/* A member of an object that is plain or media. */
static bool walk_member(struct walk *w, json_t *object, const char *key, json_t *value,
			enum meaning in)
{
	char shown[MODELS_SHOWN_MAX];
	enum meaning meaning = meaning_of(key);

	if (meaning == KEY_MODEL || (meaning == KEY_NAME && w->depth == 1)) {
		return walk_model(w, value);
	}
	if (meaning == KEY_TOOLS && !walk_tools(w, value)) {
		return false;
	}
	if (meaning == KEY_ADAPTER && holds_string(value)) {
		return models_refuse(w->refusal, 403, "choose it when the server is started",
				     "\"%s\" names an adapter", models_shown(key, shown));
	}
	if (meaning == KEY_CONNECT && !is_empty(value)) {
		return models_refuse(w->refusal, 403, HINT_TOOL,
				     "\"%s\" would make the server connect to something",
				     models_shown(key, shown));
	}
	return walk_value(w, value, below(w, object, meaning, value, in), key);
}

static bool walk_object(struct walk *w, json_t *object, enum meaning in)
{
	const char *key = NULL;
	json_t *value = NULL;
	bool ok = true;

	if (in == KEY_PLAIN && has_type(object, media_types, ARRAY_LEN(media_types))) {
		in = KEY_MEDIA;
	}
	w->depth++;
	json_object_foreach(object, key, value)
	{
		if (strcmp(key, "$ref") == 0 && json_is_string(value) &&
		    (strstr(json_string_value(value), "://") != NULL ||
		     strchr(json_string_value(value), MODELS_CUT) != NULL)) {
			ok = models_refuse(w->refusal, 403, "write the schema out",
					   "a schema refers to an address");
		} else if (in == KEY_OPAQUE) {
			ok = walk_value(w, value, KEY_OPAQUE, key);
		} else {
			ok = walk_member(w, object, key, value, in);
		}
		if (!ok) {
			break;
		}
	}
	w->depth--;
	return ok;
}

/* A value below something that is plain, media or opaque. */
static bool walk_value(struct walk *w, json_t *value, enum meaning in, const char *key)
{
	char shown[MODELS_SHOWN_MAX], shown_key[MODELS_SHOWN_MAX];
	json_t *inner = NULL;
	size_t i = 0;

	if (json_is_object(value)) {
		return walk_object(w, value, in);
	}
	json_array_foreach(value, i, inner)
	{
		if (!walk_value(w, inner, in, key)) {
			return false;
		}
	}
	if (in == KEY_MEDIA && json_is_string(value) &&
	    is_reference(json_string_value(value), key)) {
		return models_refuse(w->refusal, 403, HINT_DATA,
				     "the server would fetch \"%s\" of \"%s\"",
				     models_shown(json_string_value(value), shown),
				     models_shown(key, shown_key));
	}
	return true;
}

bool models_walk(json_t *root, struct http_refusal *refusal)
{
	struct walk w = {.refusal = refusal};

	return walk_value(&w, root, KEY_PLAIN, "");
}
