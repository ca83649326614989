#include "cli/wrap.h"

#include <stdbool.h>
#include <string.h>

void wrap_print(FILE *out, unsigned at, unsigned indent, unsigned width, const char *text)
{
	bool first = true; /* on this line */

	while (*text != '\0') {
		size_t len = strcspn(text, " \n");

		if (!first && at + 1 + len > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		if (len > 0) {
			fprintf(out, "%s%.*s", first ? "" : " ", (int)len, text);
			at += (unsigned)len + (first ? 0U : 1U);
			first = false;
		}
		text += len;
		if (*text == '\n') {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		text += *text != '\0' ? 1 : 0;
	}
	fputc('\n', out);
}
