/* Fuzzes the vetting of a repository's settings. Whatever the bytes: what is kept is kept again,
 * byte by byte, and it is keys of the list alone; a refusal says where. */
#include "broker/gitconfig.h"
#include "fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *section;
	bool named;
	const char *key;
} kept[] = {
#define KEEP(section, named, key) {section, named, key},
#include "broker/gitconfig.def"
};

/* A section's line and its key's line, as the vetted text has them. */
static bool is_kept(const char *section, const char *key)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		size_t s = strlen(kept[i].section);
		size_t k = strlen(kept[i].key);

		if (strncmp(section, kept[i].section, s) == 0 &&
		    section[s] == (kept[i].named ? ' ' : ']') &&
		    strncmp(key, kept[i].key, k) == 0 && (key[k] == ' ' || key[k] == '\n')) {
			return true;
		}
	}
	return false;
}

static void check_lines(char *text)
{
	while (*text != '\0') {
		char *key = strchr(text, '\n');

		REQUIRE(text[0] == '[' && key != NULL && key[1] == '\t');
		REQUIRE(is_kept(text + 1, key + 2));
		for (const char *p = key + 2; *p != '\n'; p++) {
			REQUIRE((unsigned char)*p >= ' ');
		}
		text = strchr(key + 1, '\n') + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = {NULL};
	struct gitconfig first = {.worktree = false}, second = {.worktree = false};
	struct err err = {.code = 0};
	/* A copy of exact size, so that a read beyond the end is seen. */
	char *copy = malloc(size > 0 ? size : 1);

	REQUIRE(copy != NULL);
	memcpy(copy, data, size);
	bool ok = gitconfig_vet(copy, size, "config", &arena, &first, &err);
	free(copy);
	if (!ok) {
		REQUIRE(err.code != 0 && err.line > 0 && err.col > 0);
		arena_release(&arena);
		return 0;
	}
	const char *text = first.text.n > 0 ? first.text.v : "";
	REQUIRE(gitconfig_vet(text, first.text.n, "config", &arena, &second, &err));
	REQUIRE(second.text.n == first.text.n);
	REQUIRE(first.text.n == 0 || memcmp(first.text.v, second.text.v, first.text.n) == 0);
	check_lines(arena_strndup(&arena, text, first.text.n));
	arena_release(&arena);
	return 0;
}
