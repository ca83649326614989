#include "base/pages.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Where pages are larger, nothing is done. */
#define PAGE 4096UL
/* What a start takes, by count of its faults. */
#define STACK_BYTES (64UL * 1024UL)
#define HEAP_BYTES  (192UL * 1024UL)

/* The linker's; see end(3). */
extern char __executable_start, __data_start, edata;

static void populate(uintptr_t from, uintptr_t to, int how)
{
	from &= ~(PAGE - 1);
	to = (to + PAGE - 1) & ~(PAGE - 1);
	/* malloc(3) may be a sanitizer's, and its memory elsewhere. */
	if (from >= to) {
		return;
	}
	/* Linux does not write to what lies there. */
	(void)madvise((void *)from, to - from, how); /* NOLINT(performance-no-int-to-ptr) */
}

void pages_ready(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	mallopt(M_TOP_PAD, HEAP_BYTES);
	mallopt(M_TRIM_THRESHOLD, 4 * HEAP_BYTES);
	void *next = malloc(16384);

	if (next != NULL) {
		populate((uintptr_t)next, (uintptr_t)sbrk(0), MADV_POPULATE_WRITE);
		free(next);
	}
	populate((uintptr_t)&__executable_start, (uintptr_t)&__data_start, MADV_POPULATE_READ);
	populate((uintptr_t)&__data_start, (uintptr_t)&edata, MADV_POPULATE_WRITE);
	populate(frame - STACK_BYTES, frame, MADV_POPULATE_WRITE);
}
