/* Which name an address of 198.18.0.0/15 stands for. */
#ifndef LNK_GATE_NAMES_H
#define LNK_GATE_NAMES_H

#include "gate/policy.h"

#include <stdint.h>

/* At most this many names hold an address at one time; then the one asked for longest ago, of those
 * without an open call, gives its address up (a hosts = ["*"] spec can be made to ask for
 * anything). About 10 MiB at worst. */
#define NAMES_MAX 32768

struct names;
struct names *names_new(void);
void names_free(struct names *names);

/* The address (host order) of a name in normal form, given now if it had none. 0 when every address
 * is in use by an open call, or memory is out. */
uint32_t names_give(struct names *names, const char *name);

/* The name behind an address, or NULL. Borrowed until the next names_give. */
const char *names_of(const struct names *names, uint32_t addr);

/* An open call keeps its name's address. */
void names_hold(struct names *names, uint32_t addr);
void names_release(struct names *names, uint32_t addr);

#endif
