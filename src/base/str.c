#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool path_within(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (n == 1 && folder[0] == '/') {
		return path[0] == '/';
	}
	return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

const char *path_parent(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL || slash == path ? "/"
					      : arena_strndup(arena, path, (size_t)(slash - path));
}

#define DISTANCE_MAX 64

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t str_distance(const char *a, const char *b)
{
	size_t rows[3][DISTANCE_MAX + 1];
	size_t la = strlen(a);
	size_t lb = strlen(b);

	if (la > DISTANCE_MAX || lb > DISTANCE_MAX) {
		return la > lb ? la : lb;
	}
	for (size_t j = 0; j <= lb; j++) {
		rows[0][j] = j;
	}
	for (size_t i = 1; i <= la; i++) {
		size_t *row = rows[i % 3];
		const size_t *prev = rows[(i - 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;

			row[j] = min_of(min_of(prev[j], row[j - 1]) + 1, prev[j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
				row[j] = min_of(row[j], rows[(i - 2) % 3][j - 2] + 1);
			}
		}
	}
	return rows[la % 3][lb];
}

/* Length of the valid UTF-8 sequence at `s`, 0 when there is none; *cp is its code point. */
static size_t utf8_at(const unsigned char *s, uint32_t *cp)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n == 0 || s[0] > 0xf4) {
		return 0;
	}
	*cp = n == 1 ? s[0] : s[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			return 0;
		}
		*cp = *cp << 6 | (s[i] & 0x3fU);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp < 0xe000)) {
		return 0;
	}
	return n;
}

bool str_is_utf8(const char *s, size_t len)
{
	uint32_t cp;

	for (size_t i = 0; i < len;) {
		size_t n = s[i] != '\0' ? utf8_at((const unsigned char *)s + i, &cp) : 0;

		if (n == 0) {
			return false;
		}
		i += n;
	}
	return true;
}

/* Characters that a terminal acts on, that reorder what stands around them, or that are not seen:
 * of those without a mark of their own only the blank stays. */
static bool unprintable(uint32_t cp)
{
	static const uint32_t ranges[][2] = {
		{0, 0x1f},          {0x7f, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},
		{0x61c, 0x61c},     {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5},
		{0x180b, 0x180f},   {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f},
		{0x2800, 0x2800},   {0x3000, 0x3000}, {0x3164, 0x3164}, {0xfeff, 0xfeff},
		{0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
	};

	/* Mostly. */
	if (cp >= 0x20 && cp < 0x7f) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		if (cp >= ranges[i][0] && cp <= ranges[i][1]) {
			return true;
		}
	}
	return false;
}

const char *str_printable(const char *s, char *out, size_t cap)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t used = 0;

	while (*p != '\0') {
		char piece[16];
		uint32_t cp = 0;
		size_t n = utf8_at(p, &cp);
		size_t len;

		if (n == 0) {
			len = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", (unsigned)*p);
			n = 1;
		} else if (unprintable(cp)) {
			len = cp < 0x100 ? (size_t)snprintf(piece, sizeof(piece), "\\x%02x",
							    (unsigned)cp)
					 : (size_t)snprintf(piece, sizeof(piece), "\\u{%x}",
							    (unsigned)cp);
		} else {
			memcpy(piece, p, n);
			len = n;
		}
		if (used + len >= cap) {
			break;
		}
		memcpy(out + used, piece, len);
		used += len;
		p += n;
	}
	out[used] = '\0';
	return out;
}
