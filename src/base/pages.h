/* Page faults, taken many at once. A fault costs 0.5 µs on bare metal and 10 to 20 in a virtual
 * machine, and a start used to take 180 of them: a third of its time. */
#ifndef LNK_BASE_PAGES_H
#define LNK_BASE_PAGES_H

/* Has the kernel map what a short-lived process is about to touch: the program's own image, the
 * stack below the caller's frame, and what malloc(3) will give next. For the start of main(), and
 * for a child right after fork(2), whose image is not mapped and whose pages are shared until
 * written. Only speed depends on it: a kernel before 5.14 does nothing (MADV_POPULATE_READ and
 * MADV_POPULATE_WRITE, madvise(2)). */
void pages_ready(void);

#endif
