/* Values by type: numbers and the rest that need no file of their own, and the table of readers. */
#include "base/str.h"
#include "spec/values_inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Cut so that a message keeps room for the rest. */
#define SHOWN_BYTES 60

const char *value_shown(const char *s, size_t len, char out[VALUE_SHOWN_MAX])
{
	char raw[SHOWN_BYTES + 1];
	char clean[VALUE_SHOWN_MAX - 6];
	size_t n = len < SHOWN_BYTES ? len : SHOWN_BYTES;
	bool cut = n < len;

	/* Not in the middle of a character. */
	while (cut && n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80) {
		n--;
	}
	memcpy(raw, s, n);
	raw[n] = '\0';
	clean[0] = '\0';
	/* str_printable stops at a NUL, which is shown like other control characters. */
	for (size_t at = 0, used = 0; at <= n && used + 5 < sizeof(clean);) {
		str_printable(raw + at, clean + used, sizeof(clean) - used);
		used += strlen(clean + used);
		at += strlen(raw + at) + 1;
		if (at <= n) {
			used += (size_t)snprintf(clean + used, sizeof(clean) - used, "\\x00");
		}
	}
	snprintf(out, VALUE_SHOWN_MAX, "\"%s%s\"", clean, cut ? "…" : "");
	return out;
}

static bool out_of_range(enum spec_key key, const char *number, struct err *err)
{
	const struct spec_key_info *k = &spec_keys[key];

	if (k->type == SPEC_TYPE_PORTS) {
		err_set(err, ERR_SPEC, 0, "%s is not a port", number);
		return err_hint(err, "ports are numbers from 1 to 65535: %s = %s", k->name,
				k->example);
	}
	err_set(err, ERR_SPEC, 0, "%s of %s is out of range", k->name, number);
	if (k->max == INT64_MAX) {
		return err_hint(err, "it is at least %" PRId64 ": %s = %s", k->min, k->name,
				k->example);
	}
	return err_hint(err, "it is from %" PRId64 " to %" PRId64 ": %s = %s", k->min, k->max,
			k->name, k->example);
}

bool value_number(enum spec_key key, int64_t number, struct spec_item *item, struct err *err)
{
	if (number < spec_keys[key].min || number > spec_keys[key].max) {
		char text[32];

		snprintf(text, sizeof(text), "%" PRId64, number);
		return out_of_range(key, text, err);
	}
	item->number = number;
	return true;
}

/* A flag's number: decimal digits, a sign is taken to say that it is out of range. */
static bool number_text(enum spec_key key, const char *s, size_t len, struct spec_item *item,
			struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	const char *digits = s + (s[0] == '-' ? 1 : 0);
	size_t n = strspn(digits, "0123456789");
	int64_t number = 0;

	if (n == 0 || digits[n] != '\0') {
		err_set(err, ERR_SPEC, 0, "%s is not a number", value_shown(s, len, shown));
		return err_hint(err, "write digits only: %s %s", spec_keys[key].flag,
				spec_keys[key].type == SPEC_TYPE_PORTS ? "8080"
								       : spec_keys[key].example);
	}
	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digits[i] - '0', &number)) {
			return out_of_range(key, value_shown(s, len, shown), err);
		}
	}
	return value_number(key, s[0] == '-' ? -number : number, item, err);
}

static bool bool_text(enum spec_key key, const char *s, size_t len, struct spec_item *item,
		      struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	if (!str_eq(s, "true") && !str_eq(s, "false")) {
		err_set(err, ERR_SPEC, 0, "%s is neither true nor false",
			value_shown(s, len, shown));
		return err_hint(err, "write %s, or %s=false", spec_keys[key].flag,
				spec_keys[key].flag);
	}
	item->number = s[0] == 't' ? 1 : 0;
	return true;
}

static bool mode_text(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];

	if (str_eq(s, "proxy") || str_eq(s, "host")) {
		return true;
	}
	err_set(err, ERR_SPEC, 0, "%s is not a mode of the network", value_shown(s, len, shown));
	return err_hint(err,
			"mode is \"proxy\" (only what the sections open) or \"host\" (this "
			"machine's network, nothing filtered); for no network, leave the sections "
			"out");
}

/* What `lnk sandbox tool add` takes, too: the name becomes a file's name on PATH. */
static bool tool_name(const char *s, size_t len, struct err *err)
{
	char shown[VALUE_SHOWN_MAX];
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-");

	if (len > 0 && len <= 64 && n == len && s[0] != '.' && s[0] != '-') {
		return true;
	}
	err_set(err, ERR_SPEC, 0, "%s is not a tool's name", value_shown(s, len, shown));
	if (str_eq(s, "*")) {
		return err_hint(err, "name each tool: names = [\"gh\"]");
	}
	return err_hint(err,
			"name it as in `lnk sandbox tool add NAME`: letters, digits, \".\", \"_\", "
			"\"+\" and \"-\", at most 64");
}

bool value_read(enum spec_key key, const char *s, size_t len, const struct value_place *place,
		struct arena *arena, struct spec_item *item, struct err *err)
{
	item->text = s;
	if (memchr(s, '\0', len) != NULL) {
		return value_text(s, len, err);
	}
	switch (spec_keys[key].type) {
	case SPEC_TYPE_NUMBER:
	case SPEC_TYPE_PORTS:
		item->text = NULL;
		return number_text(key, s, len, item, err);
	case SPEC_TYPE_BOOL:
		item->text = NULL;
		return bool_text(key, s, len, item, err);
	case SPEC_TYPE_TEXT:
		return value_text(s, len, err);
	case SPEC_TYPE_MODE:
		return mode_text(s, len, err);
	case SPEC_TYPE_PATHS:
		return value_path(s, len, place, arena, &item->path, err);
	case SPEC_TYPE_HOSTS:
	case SPEC_TYPE_LAN_HOSTS:
		return value_host(key, s, len, arena, &item->path, err);
	case SPEC_TYPE_HOST_PORTS:
		return value_host_port(s, len, arena, &item->path, &item->number, err);
	case SPEC_TYPE_TOOLS:
		return tool_name(s, len, err);
	case SPEC_TYPE_COMMANDS:
		return value_command(s, len, place, arena, item, err);
	}
	return err_set(err, ERR_SPEC, 0, "unknown type of %s", spec_keys[key].name);
}
