/* The model filter: which calls are inference, and what their bodies may hold. */
#include "gate/models.h"

#include "base/str.h"
#include "gate/models_inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The body is copied to memory of its exact size, so that a sanitizer sees a byte too far. */
static struct http_refusal judge_bytes(const char *method, const char *target, const char *body,
				       size_t len)
{
	struct http_refusal refusal = {0};
	char *exact = malloc(len > 0 ? len : 1);

	assert_non_null(exact);
	memcpy(exact, body, len);
	const struct http_request request = {
		.method = method,
		.target = target,
		.host = "localhost",
		.port = 11434,
		.body = exact,
		.body_len = len,
	};
	models_judge(&request, &refusal);
	free(exact);
	if (refusal.status != 0) {
		assert_true(refusal.why[0] != '\0');
		assert_null(strpbrk(refusal.why, "\n\r\x1b"));
	}
	return refusal;
}

static struct http_refusal judge(const char *method, const char *target, const char *body)
{
	return judge_bytes(method, target, body, strlen(body));
}

static void expect(unsigned status, const char *method, const char *target, const char *body)
{
	struct http_refusal refusal = judge(method, target, body);

	if (refusal.status != status) {
		fail_msg("%s %s %s: %u, not %u: %s", method, target, body, refusal.status, status,
			 refusal.why);
	}
}

static void test_table(void **state)
{
	static const char *const gets[] = {
#define MODEL_GET(path)   path,
#define MODEL_LIST(path)  path,
#define MODEL_BELOW(path) path "org/Name-1.5:7b-q4_K_M@2",
#define MODEL_POST(path)
#include "gate/models.def"
#undef MODEL_GET
#undef MODEL_LIST
#undef MODEL_BELOW
#undef MODEL_POST
	};
	static const char *const posts[] = {
#define MODEL_GET(path)
#define MODEL_LIST(path)
#define MODEL_BELOW(path)
#define MODEL_POST(path) path,
#include "gate/models.def"
#undef MODEL_GET
#undef MODEL_LIST
#undef MODEL_BELOW
#undef MODEL_POST
	};
	static const char *const others[] = {"PUT", "DELETE", "OPTIONS", "PATCH", "COPY"};
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(gets); i++) {
		expect(0, "GET", gets[i], "");
		expect(0, "HEAD", gets[i], "");
		expect(405, "POST", gets[i], "{}");
		assert_string_equal(judge("POST", gets[i], "{}").allow, "GET, HEAD");
	}
	for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
		expect(0, "POST", posts[i], "{\"model\":\"m\"}");
		expect(405, "GET", posts[i], "");
		assert_string_equal(judge("GET", posts[i], "").allow, "POST");
		for (size_t k = 0; k < ARRAY_LEN(others); k++) {
			expect(405, others[k], posts[i], "{}");
		}
		/* The path, and nothing that a server could take for it. */
		for (size_t k = 0; k < 6; k++) {
			static const char *const forms[] = {"%s/",     "/%s",  "%s%%20",
							    "/x/..%s", "%s;x", "/.%s"};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(text, sizeof(text), forms[k], posts[i]);
#pragma GCC diagnostic pop
			expect(403, "POST", text, "{}");
		}
		snprintf(text, sizeof(text), "%s?stream=1&n=5&gap=0.5", posts[i]);
		expect(0, "POST", text, "{}");
	}
}

static void test_not_inference(void **state)
{
	/* clang-format off */
	static const char *const rows[][2] = {
		{"POST", "/api/pull"}, {"POST", "/api/push"}, {"POST", "/api/create"}, {"DELETE", "/api/delete"},
		{"POST", "/api/copy"}, {"POST", "/api/blobs/sha256:00"}, {"HEAD", "/api/blobs/sha256:00"}, {"POST", "/api/me"},
		{"POST", "/api/signout"}, {"DELETE", "/api/user/keys/x"}, {"POST", "/api/experimental/web_search"},
		{"POST", "/api/experimental/web_fetch"}, {"POST", "/api/web_search"}, {"GET", "/api/status"},
		{"POST", "/api/v1/models/load"}, {"POST", "/api/v1/models/unload"}, {"POST", "/api/v1/models/download"},
		{"GET", "/api/v1/models/download/status"}, {"POST", "/models/load"}, {"POST", "/models/unload"},
		{"GET", "/slots"}, {"POST", "/slots/0?action=save"}, {"POST", "/lora-adapters"}, {"GET", "/lora-adapters"}, {"GET", "/metrics"},
		{"POST", "/v1/load_lora_adapter"}, {"POST", "/v1/unload_lora_adapter"}, {"POST", "/sleep"}, {"POST", "/wake_up"},
		{"POST", "/reset_prefix_cache"}, {"POST", "/collective_rpc"}, {"POST", "/pause"}, {"GET", "/server_info"}, {"POST", "/invocations"},
		{"POST", "/v1/chat/completions/control"}, {"GET", "/v1/responses/resp_1"}, {"POST", "/v1/responses/resp_1/cancel"},
		{"POST", "/v1/audio/transcriptions"}, {"POST", "/v1/files"}, {"POST", "/cors-proxy"}, {"GET", "/tools"}, {"GET", "/ws"},
		{"GET", "/v1/realtime"}, {"GET", "/docs"}, {"GET", "/openapi.json"}, {"GET", "/metadata"},
		{"POST", "/API/chat"}, {"POST", "/api/chat%00"}, {"POST", "/api/%63hat"}, {"POST", "//api/chat"}, {"POST", "/api//chat"},
		{"POST", "/v1/../api/chat"}, {"POST", "/v1/models/../../api/pull"}, {"POST", "*"}, {"OPTIONS", "*"}, {"GET", ""},
		{"GET", "/v1/models/"}, {"GET", "/v1/models/.."}, {"GET", "/v1/models/../x"}, {"GET", "/v1/models/a/../../x"}, {"GET", "/v1/models/a//b"},
		{"GET", "/v1/models/a/"}, {"GET", "/v1/models//a"}, {"GET", "/v1/models/a%2fb"}, {"GET", "/v1/models/a\\b"}, {"GET", "/v1/models/a/.b"},
		{"GET", "/v1/models/gpt-oss:120b-cloud"}, {"GET", "/v1/models/x:CLOUD"}, {"GET", "/v1/models/x:cloud-"},
		{"GET", "/api/tags?x=1"}, {"GET", "/props?model=x&autoload=true"}, {"GET", "/v1/models?reload=1"}, {"GET", "/v1/models?"},
		{"GET", "/v1/models?limit=1&x=2"}, {"GET", "/v1/models/m?limit=1"}, {"GET", "/models?limit=1&&"},
	};
	static const char *const good[] = {"/v1/models?limit=1000", "/v1/models?client_version=0.99.0", "/v1/models?beta=true&limit=2&after_id=x"};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect(403, rows[i][0], rows[i][1], "{\"model\":\"m\"}");
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		expect(0, "GET", good[i], "");
	}
	expect(405, "POST", "/props", "{}");
	expect(405, "DELETE", "/v1/models/m", "");
}

#define CHAT(part) "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[" part "]}]}"
#define IMAGE(url) CHAT("{\"type\":\"image_url\",\"image_url\":{\"url\":\"" url "\"}}")

/* What agents send, addresses in their texts, arguments and schemas included. */
static void test_good_bodies(void **state)
{
	/* clang-format off */
	static const char *const rows[] = {
		"{}", " \t\r\n{ } \n", "{\"model\":\"llama3.2:3b\"}", "{\"model\":\"Qwen/Qwen2.5-7B-Instruct\"}",
		"{\"model\":\"hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M\"}", "{\"model\":\"cloud\"}", "{\"model\":\"mycloud\"}",
		"{\"model\":\"thunder_cloud\"}", "{\"model\":\"cloud:7b\"}", "{\"model\":\"cloud-7b\"}", "{\"model\":null}", "{\"model\":\"\"}",
		"{\"model\":\"m\",\"prompt\":\"see https://example.com and file:///etc/passwd\",\"stream\":true,\"keep_alive\":-1,\"options\":{\"num_ctx\":4096}}",
		CHAT("{\"type\":\"text\",\"text\":\"https://example.com\"}"),
		IMAGE("data:image/png;base64,iVBORw0KGgo="), IMAGE("DATA:image/png;base64,iVBORw0KGgo="), IMAGE("iVBORw0KGgo="), IMAGE("/9j/4AAQSkZJRg=="),
		IMAGE(""),
		"{\"model\":\"m\",\"prompt\":\"x\",\"images\":[\"iVBORw0KGgo=\",\"/9j/4AAQ\",\"R0lGODlh\",\"+abc/def==\"]}",
		CHAT("{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"//uQxAAAAAAA\",\"format\":\"mp3\"}}"),
		CHAT("{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"UklGRg==\",\"format\":\"wav\"}}"),
		CHAT("{\"type\":\"file\",\"file\":{\"filename\":\"report.pdf\",\"file_data\":\"data:application/pdf;base64,JVBERi0=\"}}"),
		CHAT("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo=\"}}"),
		CHAT("{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":\"https://example.com is a site\"}}"),
		CHAT("{\"type\":\"document\",\"source\":{\"type\":\"content\",\"content\":[{\"type\":\"text\",\"text\":\"http://x\"}]}}"),
		CHAT("{\"type\":\"search_result\",\"source\":\"https://example.com/doc\",\"title\":\"t\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}"),
		CHAT("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"fetch\",\"input\":{\"url\":\"https://example.com\",\"image_url\":\"https://x/y.png\",\"file\":\"/etc/hosts\"}}"),
		CHAT("{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":\"https://example.com\"}"),
		"{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"image\":\"https://x/\",\"images\":[\"/a\"],\"model\":\"x:cloud\"}}}]}]}",
		"{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"type\":\"function\",\"id\":\"1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"url\\\":\\\"http://x\\\"}\"}}]}]}",
		"{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"web_search\",\"parameters\":{\"type\":\"object\",\"properties\":{"
		"\"image_url\":{\"type\":\"string\",\"default\":\"https://x/y\"},\"file\":{\"$ref\":\"#/definitions/f\"}}}}}]}",
		"{\"tools\":[{\"name\":\"f\",\"input_schema\":{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\"}}],\"tool_choice\":{\"type\":\"auto\"}}",
		"{\"tools\":[{\"type\":\"custom\",\"name\":\"f\"},{\"type\":\"bash_20250124\",\"name\":\"bash\"},{\"type\":\"text_editor_20250728\",\"name\":\"e\"},{\"type\":\"local_shell\"}]}",
		"{\"tools\":[],\"integrations\":[],\"mcp_servers\":null,\"kv_transfer_params\":null,\"web_search_options\":{}}",
		"{\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":{\"properties\":{\"image\":{\"const\":\"http://x\"}}}}}}",
		"{\"format\":{\"type\":\"object\",\"properties\":{\"file_url\":{\"type\":\"string\",\"enum\":[\"http://x\"]}}}}",
		"{\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"http://x\"},{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,AA==\"}]},"
		"{\"type\":\"function_call\",\"arguments\":\"{}\",\"name\":\"f\"},{\"type\":\"function_call_output\",\"output\":\"https://x\"}],\"previous_response_id\":null}",
		"{\"input\":[\"http://a\",\"/b\"],\"metadata\":{\"image_url\":\"http://x\"},\"audio\":{\"voice\":\"alloy\",\"format\":\"wav\"}}",
		"{\"lora\":[{\"id\":0,\"scale\":0.5}],\"cache_prompt\":true,\"id_slot\":-1}",
		"{\"query\":\"http://x\",\"documents\":[\"http://y\",{\"text\":\"z\",\"url\":\"http://w\"}]}",
		"{\"context\":[1,2,3],\"seed\":123456789012345678,\"temperature\":0.7,\"stop\":[\"\\n\",\"\\u0041\\ud83d\\ude00\"]}",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect(0, "POST", "/v1/chat/completions", rows[i]);
	}
}

static void test_bad_bodies(void **state)
{
	/* clang-format off */
	static const char *const rows[] = {
		/* models that are not here */
		"{\"model\":\"gpt-oss:120b-cloud\"}", "{\"model\":\"qwen3-coder:cloud\"}", "{\"model\":\"x:CLOUD\"}", "{\"model\":\" x:cloud \"}",
		"{\"model\":\"x: cloud\"}", "{\"model\":\"x:cloud\\u00a0\"}", "{\"model\":\"x:\\u2003cloud\\u0085\"}", "{\"model\":\"a/b/c:1t-cloud\"}",
		"{\"model\":\"x-cloud\"}", "{\"MODEL\":\"x:cloud\"}", "{\"model\":\"m\",\"Model\":\"x:cloud\"}", "{\"name\":\"x:cloud\"}", "{\"Name\":\"x:cloud\"}",
		"{\"model\":\"https://evil.test/m.gguf\"}", "{\"model\":\"hf://a/b\"}", "{\"model\":\"/home/u/m.gguf\"}", "{\"model\":\"~/m\"}", "{\"model\":\"../m\"}",
		"{\"model\":\"./m\"}", "{\"model\":\"a/../../m\"}", "{\"model\":\"C:\\\\m\"}", "{\"model\":\"C:/m\"}", "{\"model\":\" /m\"}", "{\"models\":[\"m\",\"x:cloud\"]}",
		"{\"draft_model\":\"/m\"}",
		/* media elsewhere */
		IMAGE("http://evil.test/x"), IMAGE("https://evil.test/x"), IMAGE("HTTP://evil.test/x"), IMAGE(" https://evil.test/x"), IMAGE("\\u0001\\u00a0https://evil.test/x"),
		IMAGE("\\thttps://evil.test/x"), IMAGE("file:///etc/passwd"), IMAGE("/etc/passwd"), IMAGE("//evil.test/x"), IMAGE("./x.png"), IMAGE("../x.png"), IMAGE("~/x.png"),
		IMAGE("ftp://x"), IMAGE("s3://x/y"), IMAGE("gopher:x"), IMAGE("\\\\\\\\host\\\\share"), IMAGE("\\u0068ttp://evil.test/"), IMAGE("(http://x)"), IMAGE("datax:,"), IMAGE("dat:,"),
		"{\"messages\":[{\"content\":[{\"type\":\"image_url\",\"image_url\":\"https://evil.test/x\"}]}]}",
		"{\"messages\":[{\"content\":[{\"image_url\":[{\"URL\":\"https://evil.test/x\"}]}]}]}",
		"{\"messages\":[{\"content\":[{\"IMAGE_URL\":{\"url\":\"https://evil.test/x\"}}]}]}",
		CHAT("{\"type\":\"video_url\",\"video_url\":{\"url\":\"https://evil.test/x\"}}"), CHAT("{\"type\":\"audio_url\",\"audio_url\":{\"url\":\"https://evil.test/x\"}}"),
		CHAT("{\"type\":\"input_audio\",\"input_audio\":{\"url\":\"https://evil.test/x\"}}"), CHAT("{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"https://evil.test/x\"}}"),
		CHAT("{\"type\":\"input_video\",\"input_video\":{\"data\":\"file:///x\"}}"), CHAT("{\"type\":\"file\",\"file\":{\"file_url\":\"https://evil.test/x\"}}"),
		CHAT("{\"type\":\"input_file\",\"file_url\":\"https://evil.test/x\"}"), CHAT("{\"type\":\"input_image\",\"image_url\":\"https://evil.test/x\"}"),
		CHAT("{\"type\":\"image\",\"url\":\"https://evil.test/x\"}"), CHAT("{\"Type\":\"image\",\"path\":\"/etc/passwd\"}"), CHAT("{\"type\":\"image\",\"image\":\"https://evil.test/x\"}"),
		CHAT("{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://evil.test/x\"}}"), CHAT("{\"type\":\"document\",\"source\":{\"type\":\"url\",\"url\":\"https://evil.test/x.pdf\"}}"),
		CHAT("{\"type\":\"tool_result\",\"content\":[{\"type\":\"image\",\"source\":{\"url\":\"https://evil.test/x\"}}]}"),
		"{\"images\":[\"iVBORw0KGgo=\",\"https://evil.test/x\"]}", "{\"prompt\":{\"prompt_string\":\"x\",\"multimodal_data\":[\"https://evil.test/x\"]}}",
		"{\"input\":[{\"type\":\"image\",\"data_url\":\"https://evil.test/x\"}]}", "{\"image_data\":\"/etc/passwd\"}", "{\"data\":{\"data\":\"https://evil.test/x\"}}", "{\"data\":\"http://x\"}",
		"{\"data\":\"x\",\"data_format\":\"url\"}",
		/* dressed up as the program's own data */
		"{\"type\":\"tool_use\",\"input\":[{\"content\":[{\"type\":\"input_image\",\"image_url\":\"https://evil.test/x\"}]}]}",
		"{\"type\":\"image\",\"model\":\"a/b:cloud\"}", "{\"type\":\"image\",\"tools\":[{\"type\":\"mcp\"}]}", "{\"type\":\"text\",\"source\":{\"image_url\":\"http://x\",\"type\":\"text\"}}",
		CHAT("{\"type\":\"image\",\"arguments\":{\"url\":\"https://evil.test/x\"}}"),
		/* tools that are not the program's */
		"{\"tools\":[{\"type\":\"web_search\"}]}", "{\"tools\":[{\"type\":\"web_search_preview\"}]}", "{\"tools\":[{\"type\":\"web_search_20250305\",\"name\":\"web_search\"}]}",
		"{\"tools\":[{\"Type\":\"web_fetch_20250910\"}]}", "{\"tools\":[{\"type\":\"function\",\"Type\":\"web_search\"}]}", "{\"Tools\":[{\"type\":\"web_search\"}]}",
		"{\"tool\\u017f\":[{\"type\":\"web_search\"}]}", "{\"tools\":[{\"type\":\"mcp\",\"server_url\":\"https://evil.test\"}]}", "{\"tools\":[{\"type\":\"code_interpreter\"}]}",
		"{\"tools\":[{\"type\":\"file_search\"}]}", "{\"tools\":[{\"type\":\"image_generation\"}]}", "{\"tools\":[{\"type\":\"function\",\"server_url\":\"https://evil.test\"}]}",
		"{\"integrations\":[\"mcp/playwright\"]}", "{\"integrations\":[{\"type\":\"ephemeral_mcp\",\"server_url\":\"https://evil.test\"}]}", "{\"mcp_servers\":[{\"url\":\"https://evil.test\"}]}",
		"{\"web_search_options\":{\"user_location\":{}}}", "{\"kv_transfer_params\":{\"remote_host\":\"x\"}}", "{\"bootstrap_host\":\"x\"}",
		"{\"lora\":[{\"path\":\"/x\"}]}", "{\"lora_path\":\"/x\"}", "{\"adapters\":\"x\"}", "{\"Adapter_path\":\"x\"}",
		"{\"response_format\":{\"schema\":{\"$ref\":\"https://evil.test/s.json\"}}}", "{\"tools\":[{\"type\":\"function\",\"function\":{\"parameters\":{\"$ref\":\"http://evil.test/\"}}}]}",
	};
	static const char *const no_json[] = {
		"", " ", "[]", "\"x\"", "1", "null", "{", "}", "{}x", "{}{}", "{\"a\":1,}", "{'a':1}", "{\"a\":1 /**/}", "{a:1}", "{\"a\":01}", "{\"a\":NaN}", "{\"a\":tru}",
		"{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"", "{\"a\":\"\\", "\xef\xbb\xbf{}", "{\"model\":\"m\",\"model\":\"x:cloud\"}",
		"{\"a\":{\"b\":1,\"b\":2}}", "{\"a\":\"x\\q\"}", "model=m", "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--x--\r\n", "(\xb5/\xfd\x04\x00",
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		expect(403, "POST", "/v1/responses", rows[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(no_json); i++) {
		expect(400, "POST", "/api/chat", no_json[i]);
	}
	assert_int_equal(judge_bytes("POST", "/api/chat", "{}\0", 3).status, 400);
	assert_int_equal(judge_bytes("POST", "/api/chat", "{\"a\":\"\0\"}", 9).status, 400);
	expect(403, "GET", "/v1/models/x:cloud", "");
}

static void test_messages(void **state)
{
	struct http_refusal r = judge("POST", "/api/pull", "{}");

	(void)state;
	assert_string_equal(r.why, "POST /api/pull is no inference");
	assert_non_null(strstr(r.hint, "[localhost] ports"));
	r = judge("POST", "/api/chat", "{\"model\":\"a\\u202e:cloud\"}");
	assert_string_equal(r.why, "the model \"a\\u{202e}:cloud\" does not run on this machine");
	r = judge("POST", "/api/chat", "{\"model\":\"a\\nb\"}");
	assert_string_equal(r.why, "the name of the model is too long, or none");
	r = judge("POST", "/api/chat", IMAGE("https://evil.test/x"));
	assert_string_equal(r.why, "the server would fetch \"https://evil.test/x\" of \"url\"");
	r = judge("POST", "/v1/responses", "{\"tools\":[{\"type\":\"web_search\"}]}");
	assert_string_equal(r.why, "the server would run the tool \"web_search\" itself");
	assert_string_equal(judge("POST", "/api/chat", "[]").why, "its body is no JSON object");
}

/* Method and path are judged before the body comes. */
static void test_partial(void **state)
{
	struct http_refusal refusal = {0};
	struct http_request request = {.method = "POST", .target = "/api/chat", .partial = true};

	(void)state;
	models_judge(&request, &refusal);
	assert_int_equal(refusal.status, 0);
	request.target = "/api/pull";
	models_judge(&request, &refusal);
	assert_int_equal(refusal.status, 403);
}

/* --- bodies that are large ------------------------------------------------------------------ */

struct text {
	char *s;
	size_t n;
};

static void add(struct text *t, const char *s, size_t times)
{
	size_t len = strlen(s);

	t->s = realloc(t->s, t->n + len * times + 1);
	assert_non_null(t->s);
	for (size_t i = 0; i < times; i++) {
		memcpy(t->s + t->n, s, len);
		t->n += len;
	}
	t->s[t->n] = '\0';
}

static void expect_large(unsigned status, struct text *t)
{
	struct http_refusal refusal = judge_bytes("POST", "/api/chat", t->s, t->n);

	if (refusal.status != status) {
		fail_msg("%zu bytes: %u, not %u: %s", t->n, refusal.status, status, refusal.why);
	}
	free(t->s);
	*t = (struct text){0};
}

/* What is left out of a long string or list changes nothing of the rest, and hides nothing. */
static void test_reduced(void **state)
{
	struct text t = {0};

	(void)state;
	for (size_t n = 0; n < 700;
	     n++) { /* long names and addresses keep what is judged of them */
		add(&t, "{\"model\":\"", 1);
		add(&t, "x", n);
		add(&t, ":cloud\"}", 1);
		expect_large(403, &t);
		add(&t, "{\"images\":[\"https://evil.test/", 1);
		add(&t, "x", n);
		add(&t, "\"]}", 1);
		expect_large(403, &t);
		add(&t, "{\"prompt\":\"", 1); /* parts of characters and escapes are not parted */
		add(&t,
		    n % 3 == 0   ? "\\ud83d\\ude00"
		    : n % 3 == 1 ? "\xf0\x9f\x98\x80"
				 : "\\\\a",
		    n);
		add(&t, "\",\"model\":\"x:cloud\"}", 1);
		expect_large(403, &t);
		add(&t, "{\"context\":[1", 1);
		add(&t, ", 22", n);
		add(&t, "],\"model\":\"x:cloud\"}", 1);
		expect_large(403, &t);
	}
	add(&t, "{\"images\":[\"", 1); /* blanks before an address */
	add(&t, " ", 5000);
	add(&t, "https://evil.test/\"]}", 1);
	expect_large(403, &t);
	add(&t, "{\"model\":\"x", 1); /* nothing but escapes at the end of a long name */
	add(&t, "a", 1000);
	add(&t, "\\u003a\\u0063\\u006c\\u006f\\u0075\\u0064\"}", 1);
	expect_large(403, &t);
	add(&t, "{\"a\":\"", 1); /* a string that ends is not one that goes on */
	add(&t, "x", 1000);
	add(&t, "\\\\\",\"model\":\"x:cloud\",\"b\":\"", 1);
	add(&t, "x", 1000);
	add(&t, "\"}", 1);
	expect_large(403, &t);
	add(&t, "{\"a\":\"", 1);
	add(&t, "x", 1000);
	add(&t, "\n\"}", 1);
	expect_large(400, &t);
	add(&t, "{\"a\":[1", 1); /* no numbers, no list */
	add(&t, ",2", 100);
	add(&t, ",{\"image\":\"http://x\"}]}", 1);
	expect_large(403, &t);
	add(&t, "{\"a\":[1", 1);
	add(&t, ",2", 100);
	add(&t, "}", 1);
	expect_large(400, &t);
}

/* Escapes before an address are many bytes and few characters: what is kept of the string ends
 * before it, or in its middle. */
static void test_cut_before_address(void **state)
{
	static const char *const addresses[] = {"https://evil.test/",
						"a+b+c+d+e+f+g+h+i+j+k+l://x/", "/etc/", "~/",
						"\\u0068ttp://evil.test/"};
	struct text t = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		for (size_t n = 0; n < 33 * 33; n++) {
			add(&t, "{\"images\":[\"", 1);
			add(&t, "\\u0020", n / 33);
			add(&t, " ", n % 33);
			add(&t, addresses[i], 1);
			add(&t, "x", 300);
			add(&t, "\"]}", 1);
			expect_large(403, &t);
		}
	}
	add(&t, "{\"images\":[\"", 1); /* as some encoders write it */
	add(&t, "\\/9j\\/4AAQ", 100);
	add(&t, "\"]}", 1);
	expect_large(0, &t);
	add(&t, "{\"images\":[\"iVBORw0KGgo", 1);
	add(&t, "\\/a+b", 100);
	add(&t, "\"]}", 1);
	expect_large(0, &t);
}

static void test_bounds(void **state)
{
	struct text t = {0};

	(void)state;
	add(&t, "{\"model\":\"m\",\"images\":[\"", 1); /* 30 MiB of picture */
	add(&t, "iVBORw0KGgoAAAANSUhEUgAA", 30UL * 1024 * 1024 / 24);
	add(&t, "\"],\"context\":[1", 1);
	add(&t, ",123456", 128UL * 1024);
	add(&t, "]}", 1);
	expect_large(0, &t);
	add(&t, "{\"a\":", 1);
	add(&t, "[", MODELS_DEPTH_MAX - 1);
	add(&t, "]", MODELS_DEPTH_MAX - 1);
	add(&t, "}", 1);
	expect_large(0, &t);
	add(&t, "{\"a\":", 1);
	add(&t, "[", MODELS_DEPTH_MAX);
	add(&t, "]", MODELS_DEPTH_MAX);
	add(&t, "}", 1);
	expect_large(413, &t);
	add(&t, "[", 1UL << 20);
	expect_large(413, &t);
	add(&t, "{\"a\":[{}", 1);
	add(&t, ",{}", 1UL << 20);
	add(&t, "]}", 1);
	expect_large(413, &t);
	add(&t, "{\"a\":[\"x\"", 1); /* many strings, each too short to be reduced */
	add(&t, ",\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
	    1UL << 17);
	add(&t, "]}", 1);
	expect_large(413, &t);
}

static int prepare(void **state)
{
	(void)state;
	models_prepare();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),       cmocka_unit_test(test_not_inference),
		cmocka_unit_test(test_good_bodies), cmocka_unit_test(test_bad_bodies),
		cmocka_unit_test(test_messages),    cmocka_unit_test(test_partial),
		cmocka_unit_test(test_reduced),     cmocka_unit_test(test_cut_before_address),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
