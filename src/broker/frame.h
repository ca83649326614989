/* What shims and the broker say to each other over /run/lnk/broker (SOCK_STREAM): frames of eight
 * bytes of head and a payload. All numbers are little-endian. Pure: bytes in, structs out; nothing
 * is allocated, and every byte is hostile.
 *
 *   head     u32 length of the payload, u16 kind, u16 FRAME_VERSION
 *   TOOL     u32 number of arguments, then NUL-terminated texts: name, working folder, arguments.
 *            With its first byte come exactly three descriptors (SCM_RIGHTS): 0 to 2 of the tool
 *   BROWSE   likewise, without descriptors; the one argument is the address
 *   SIGNAL   u32 number, u32 1 when a terminal sent it to its whole job
 *   EXIT     u32 exit status, u32 signal that killed it (0: none)
 *   STOPPED  u32 signal that stopped it, u32 how many SIGNALs of SIGCONT had come by then
 *   ERROR    u32 exit status for the shim, then text
 *
 * A shim sends one TOOL or BROWSE, then any number of SIGNALs; the broker any number of STOPPEDs,
 * then one EXIT or ERROR. The window's size is not sent: the terminal itself is. */
#ifndef LNK_BROKER_FRAME_H
#define LNK_BROKER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_VERSION 1
#define FRAME_HEAD    8 /* bytes */
#define FRAME_FDS     3 /* with a TOOL */

/* Caps. The arguments' bytes count their NULs, as execve(2) does. */
#define FRAME_ARGS_MAX      32768U
#define FRAME_ARG_BYTES_MAX (2U << 20)
#define FRAME_NAME_MAX      255U  /* NAME_MAX */
#define FRAME_CWD_MAX       4095U /* PATH_MAX without its NUL */
#define FRAME_TEXT_MAX      4096U /* of ERROR */
#define FRAME_SMALL_MAX     (4U + FRAME_TEXT_MAX)
#define FRAME_REQUEST_MAX   (4U + FRAME_NAME_MAX + 1U + FRAME_CWD_MAX + 1U + FRAME_ARG_BYTES_MAX)

enum frame_kind {
	FRAME_TOOL = 1,
	FRAME_BROWSE,
	FRAME_SIGNAL,
	FRAME_EXIT = 16,
	FRAME_STOPPED,
	FRAME_ERROR
};

/* Who wrote what is read. */
enum frame_from { FRAME_FROM_SHIM, FRAME_FROM_BROKER };

struct frame_head {
	uint32_t length; /* of the payload; within the bounds of its kind */
	enum frame_kind kind;
};

/* Reads a head. False: an unknown version, a kind that `from` does not send, a length that its kind
 * cannot have; `*ret_why` says so, static. */
bool frame_head_read(const unsigned char bytes[FRAME_HEAD], enum frame_from from,
		     struct frame_head *ret_head, const char **ret_why);
void frame_head_write(unsigned char out[FRAME_HEAD], enum frame_kind kind, uint32_t length);

/* Texts point into the payload. */
struct frame_request {
	const char *name; /* 1 to FRAME_NAME_MAX bytes, no slash; hostile otherwise */
	const char *cwd;  /* absolute */
	size_t nargs;
};

/* Reads the payload of a TOOL or BROWSE, all `len` bytes of it. False with `*ret_why` (static) when
 * counts and lengths do not hold together: no argument can hold a NUL. */
bool frame_request_read(const unsigned char *payload, size_t len, struct frame_request *ret_request,
			const char **ret_why);

/* Points args[0] to args[nargs - 1] at the arguments of a request that was read. */
void frame_request_args(const struct frame_request *request, const char **args);

/* Every other kind. */
struct frame_small {
	uint32_t number;  /* SIGNAL, STOPPED: the signal; EXIT, ERROR: the exit status */
	uint32_t more;    /* SIGNAL: 1 from a terminal; EXIT: the signal; STOPPED: the count */
	const char *text; /* ERROR: `text_len` bytes, no NUL behind them */
	size_t text_len;
};

/* Reads the payload of a SIGNAL, EXIT, STOPPED or ERROR. False with `*ret_why` when a number is out
 * of its range: signals are 1 to 64, statuses 0 to 255. */
bool frame_small_read(const struct frame_head *head, const unsigned char *payload,
		      struct frame_small *ret_small, const char **ret_why);

/* Writes a whole frame, head and all, that frame_small_read reads; a longer text is cut. `out` has
 * room for FRAME_HEAD + FRAME_SMALL_MAX bytes. The number of bytes. */
size_t frame_small_write(unsigned char *out, enum frame_kind kind, const struct frame_small *small);

uint32_t frame_u32_read(const unsigned char *p);
void frame_u32_write(unsigned char *p, uint32_t value);

#endif
