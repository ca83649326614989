/* main() for a fuzz target built without libFuzzer: runs it once for each file named, and for each
 * file in the folders named. Exit 1 when something cannot be read or nothing was run. */
#include "fuzz.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Inputs are small; one that is larger is a mistake in the corpus. */
#define INPUT_MAX (1UL << 20)

static unsigned long ran;

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rbe");
	uint8_t *data = malloc(INPUT_MAX);

	if (f == NULL || data == NULL) {
		perror(path);
		free(data);
		if (f != NULL) {
			fclose(f);
		}
		return 1;
	}
	size_t size = fread(data, 1, INPUT_MAX, f);
	int bad = ferror(f) || size == INPUT_MAX;
	if (bad) {
		fprintf(stderr, "%s: cannot be read, or is too large\n", path);
	} else {
		(void)LLVMFuzzerTestOneInput(data, size);
		ran++;
	}
	fclose(f);
	free(data);
	return bad ? 1 : 0;
}

static int replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(st.st_mode)) {
		return replay_file(path);
	}
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort);
	int bad = 0;
	if (n < 0) {
		perror(path);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		char *inner = NULL;

		if (names[i]->d_name[0] != '.') {
			if (asprintf(&inner, "%s/%s", path, names[i]->d_name) < 0) {
				abort();
			}
			bad |= replay(inner);
			free(inner);
		}
		free(names[i]);
	}
	free(names);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++) {
		bad |= replay(argv[i]);
	}
	printf("%lu inputs\n", ran);
	return bad != 0 || ran == 0 ? 1 : 0;
}
