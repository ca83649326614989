/* probe ATTACK [ARGUMENT...]: prints "done" and exits 0 when the attack succeeded; prints the name
 * of the errno and exits 1 when it was refused; exits 2 when it was called wrongly. */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attack *const tables[] = {call_attacks, exec_attacks, process_attacks,
					      file_attacks, view_attacks, audit_attacks};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end != '\0') {
		fprintf(stderr, "probe: %s is no number\n", text);
		exit(2);
	}
	return n;
}

int refused(int error)
{
	errno = error;
	return -1;
}

static const struct attack *find(const char *name)
{
	for (size_t t = 0; t < TABLES; t++) {
		for (const struct attack *a = tables[t]; a->name != NULL; a++) {
			if (strcmp(a->name, name) == 0) {
				return a;
			}
		}
	}
	return NULL;
}

static int usage(void)
{
	for (size_t t = 0; t < TABLES; t++) {
		for (const struct attack *a = tables[t]; a->name != NULL; a++) {
			fprintf(stderr, "probe %s %s\n", a->name, a->usage);
		}
	}
	return 2;
}

int main(int argc, char **argv)
{
	const struct attack *attack = argc > 1 ? find(argv[1]) : NULL;

	if (attack == NULL) {
		return usage();
	}
	if (attack->run(argc - 1, argv + 1) == 0) {
		puts("done");
		return 0;
	}
	const char *name = strerrorname_np(errno);
	puts(name != NULL ? name : "?");
	return 1;
}
