/* The process of one call: reads what is wanted, judges it, and has it done. Until the request is
 * whole and judged it does nothing but read, for two seconds at the most. */
#include "broker/inner.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/pass.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Exit statuses of the shim. */
#define EXIT_REFUSED    126
#define EXIT_SYNTAX     1 /* these three as xdg-open(1) */
#define EXIT_NO_PROGRAM 3
#define EXIT_NOT_OPENED 4

/* Bytes of broker.turn from here on: one for each large call, locked as those of ask.c are. */
#define TURN_LARGE 16

/* --- answers ------------------------------------------------------------------------------ */

void handler_send(int client, enum frame_kind kind, uint32_t number, uint32_t more,
		  const char *text)
{
	unsigned char frame[FRAME_HEAD + FRAME_SMALL_MAX];
	const struct frame_small small = {.number = number,
					  .more = more,
					  .text = text,
					  .text_len = strlen(text != NULL ? text : "")};
	size_t len = frame_small_write(frame, kind, &small);

	(void)!send(client, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void handler_why(struct handler *h, const char *why, const char *hint)
{
	str_printable(why, h->decision.why, sizeof(h->decision.why));
	str_printable(hint != NULL ? hint : "", h->decision.hint, sizeof(h->decision.hint));
}

void handler_tell(struct handler *h)
{
	(void)!send(h->broker->told[1], &h->decision, sizeof(h->decision), MSG_NOSIGNAL);
}

void handler_refuse(struct handler *h, int status)
{
	char text[FRAME_TEXT_MAX];
	const struct broker_decision *d = &h->decision;

	h->decision.allowed = 0;
	snprintf(text, sizeof(text), "%s%s%s", d->why, d->hint[0] != '\0' ? "\nhint: " : "",
		 d->hint);
	handler_tell(h);
	handler_send(h->client, FRAME_ERROR, (uint32_t)status, 0, text);
	_exit(EXIT_SUCCESS);
}

static void __attribute__((noreturn))
refuse(struct handler *h, int status, const char *why, const char *hint)
{
	handler_why(h, why, hint);
	handler_refuse(h, status);
}

static void __attribute__((noreturn)) refuse_broken(struct handler *h, const char *why)
{
	snprintf(h->decision.what, sizeof(h->decision.what), "a call");
	refuse(h, EXIT_REFUSED, why, NULL);
}

/* --- the request -------------------------------------------------------------------------- */

/* Only files, pipes and terminals, opened: a folder leads out of the tool's confinement or into the
 * sandbox by "..", a socket can be listened at and carries descriptors. */
static bool fit(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_PATH) == 0 && fstat(fd, &st) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

/* All of `len` bytes. The descriptors that come with the first of them go to `fds` when `want`;
 * any others end the call. */
static void read_bytes(struct handler *h, unsigned char *to, size_t len, long until, bool want)
{
	size_t got = 0;
	size_t nfds = 0;

	while (got < len) {
		if (!clock_wait_for(h->client, until - clock_now_ms())) {
			refuse_broken(h, "it did not say in time what it wants");
		}
		ssize_t n = pass_receive(h->client, to + got, len - got, h->fds,
					 want ? FRAME_FDS : 0, &nfds);
		if (n < 0 && errno == EBADMSG) {
			refuse_broken(h, "it came with descriptors that belong to nothing");
		}
		if (n <= 0) {
			refuse_broken(h, "it broke off");
		}
		got += (size_t)n;
		want = false;
	}
}

static void check_descriptors(struct handler *h)
{
	size_t n = 0;

	while (n < FRAME_FDS && h->fds[n] >= 0) {
		n++;
	}
	if (n != (h->kind == FRAME_TOOL ? FRAME_FDS : 0)) {
		refuse_broken(h, "it came with too few or too many descriptors");
	}
	for (size_t i = 0; i < n; i++) {
		if (!fit(h->fds[i])) {
			refuse_broken(h, "a standard descriptor of it is neither a file nor a "
					 "pipe nor a terminal");
		}
	}
}

/* A slot for a call with many arguments; it goes with this process. */
static bool take_large(const struct broker *b)
{
	for (off_t i = 0; i < BROKER_LARGE_MAX; i++) {
		const struct flock lock = {.l_type = F_WRLCK,
					   .l_whence = SEEK_SET,
					   .l_start = TURN_LARGE + i,
					   .l_len = 1};

		if (fcntl(b->turn, F_SETLK, &lock) == 0) {
			return true;
		}
	}
	return false;
}

static void read_request(struct handler *h)
{
	unsigned char bytes[FRAME_HEAD];
	long until = clock_now_ms() + BROKER_REQUEST_MS;
	struct frame_head head;
	const char *why = NULL;

	read_bytes(h, bytes, sizeof(bytes), until, true);
	if (!frame_head_read(bytes, FRAME_FROM_SHIM, &head, &why)) {
		refuse_broken(h, why);
	}
	if (head.kind != FRAME_TOOL && head.kind != FRAME_BROWSE) {
		refuse_broken(h, "it did not begin with what it wants");
	}
	h->kind = head.kind;
	check_descriptors(h);
	h->large = head.length > BROKER_LARGE;
	if (h->large && !take_large(h->broker)) {
		refuse_broken(h, "too many calls with long arguments are going on");
	}
	h->payload = malloc(head.length);
	if (h->payload == NULL) {
		refuse_broken(h, "there is no memory for it");
	}
	read_bytes(h, h->payload, head.length, until, false);
	if (!frame_request_read(h->payload, head.length, &h->request, &why)) {
		refuse_broken(h, why);
	}
}

static void read_arguments(struct handler *h)
{
	const char **argv = calloc(h->request.nargs + 2, sizeof(*argv));
	if (argv == NULL) {
		refuse_broken(h, "there is no memory for it");
	}
	argv[0] = h->request.name;
	frame_request_args(&h->request, argv + 1);
	/* execve(2) takes no const; it only reads. */
	memcpy(&h->argv, &argv, sizeof(h->argv));
	snprintf(h->decision.name, sizeof(h->decision.name), "%s", h->request.name);
	decision_words(h->argv + 1, h->decision.what, sizeof(h->decision.what));
}

/* --- a tool ------------------------------------------------------------------------------- */

static const struct broker_tool *find_tool(const struct broker_config *config, const char *name)
{
	for (size_t i = 0; i < config->ntools; i++) {
		if (str_eq(config->tools[i].tool->name, name)) {
			return &config->tools[i];
		}
	}
	return NULL;
}

static void serve_tool(struct handler *h, struct waiting *waiting)
{
	const struct broker_config *config = h->broker->config;
	const struct broker_tool *granted = find_tool(config, h->request.name);
	struct tool_refusal refusal;

	h->decision.section = DECISION_TOOLS;
	if (granted == NULL) {
		refuse(h, EXIT_REFUSED, "no line of [tools] names it",
		       "add it to [tools] names, and by `lnk sandbox tool add`");
	}
	h->decision.grant = (uint32_t)(granted - config->tools) + 1;
	const struct broker_call call = {.tool = granted->tool,
					 .cwd = h->request.cwd,
					 .argv = h->argv,
					 .argc = (int)h->request.nargs + 1};
	if (!config->judge(&call, config->context, &refusal)) {
		refuse(h, EXIT_REFUSED, refusal.why, refusal.hint);
	}
	tool_serve(h, &call, waiting);
}

/* --- a page ------------------------------------------------------------------------------- */

/* True when the terminal's foreground job is the run's: the supervisor's own group, or one that the
 * program made. */
static bool is_foreground(const struct handler *h)
{
	char path[64];
	struct stat theirs, its;
	pid_t group = tcgetpgrp(h->broker->terminal);

	if (group <= 0 || group == h->broker->group) {
		return group > 0;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)group);
	bool known = stat(path, &theirs) == 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)h->peer);
	return known && stat(path, &its) == 0 && theirs.st_dev == its.st_dev &&
	       theirs.st_ino == its.st_ino;
}

/* The supervisor's SIGTERM, to be waited for like everything else. */
static int watch_end(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The address for the user to copy. */
static void __attribute__((noreturn))
refuse_unopened(struct handler *h, const struct url *url, const char *why)
{
	char hint[sizeof(h->decision.hint)];

	snprintf(hint, sizeof(hint), "open it yourself, if you trust it: %s", url->text);
	refuse(h, EXIT_NO_PROGRAM, why, hint);
}

static void ask(struct handler *h, const struct url *url)
{
	const struct broker_config *config = h->broker->config;
	const struct ask ask = {.envp = config->envp,
				.terminal = h->broker->terminal,
				.foreground = is_foreground(h),
				.turn = h->broker->turn,
				.client = h->client,
				.end = watch_end(),
				.ms = config->ask_ms > 0 ? config->ask_ms : ASK_MS,
				.hold = config->hold,
				.context = config->context};

	switch (ask_user(&ask, url)) {
	case ASK_YES:
		return;
	case ASK_NO:
		refuse(h, EXIT_NOT_OPENED, "the user said no", NULL);
	case ASK_NO_TIME:
		refuse(h, EXIT_NOT_OPENED, "nobody answered in time", NULL);
	case ASK_BUSY:
		refuse(h, EXIT_NOT_OPENED, "the user is being asked about two other pages",
		       "try again when they are answered");
	case ASK_GONE:
		refuse(h, EXIT_NOT_OPENED, "it was withdrawn", NULL);
	case ASK_NOBODY:
	default:
		refuse_unopened(
			h, url,
			"there is no way to ask the user: no desktop, and the terminal is none or "
			"in use");
	}
}

static void __attribute__((noreturn)) serve_page(struct handler *h)
{
	const struct broker_config *config = h->broker->config;
	struct broker_decision *d = &h->decision;
	struct url url;
	struct err err;

	d->section = DECISION_BROWSER;
	d->name[0] = '\0';
	if (h->request.nargs != 1) {
		refuse(h, EXIT_SYNTAX, "it takes one argument, the address of a page", NULL);
	}
	if (!url_read(h->argv[1], strlen(h->argv[1]), &url, &err)) {
		refuse(h, EXIT_NOT_OPENED, err.msg, err.hint);
	}
	memcpy(d->name, url.host, sizeof(url.host));
	memcpy(d->what, url.text, sizeof(url.text));
	const struct net_host *granted = url_granted(&url, config->browse, config->nbrowse, &err);
	if (granted == NULL) {
		refuse(h, EXIT_NOT_OPENED, err.msg, err.hint);
	}
	d->grant = (uint32_t)(granted - config->browse) + 1;
	ask(h, &url);
	if (!ask_open(&url, config->envp, &err)) {
		refuse_unopened(h, &url, err.msg);
	}
	d->allowed = 1;
	handler_tell(h);
	handler_send(h->client, FRAME_EXIT, 0, 0, NULL);
	_exit(EXIT_SUCCESS);
}

void handler_leave(struct broker *broker, int keep)
{
	sigset_t none;

	for (size_t i = 0; i <= broker->config->ntools; i++) {
		if (broker->listeners[i] != keep) {
			fd_close(&broker->listeners[i]);
		}
	}

	fd_close(&broker->control);
	fd_close(&broker->door);
	fd_close(&broker->signals);
	fd_close(&broker->told[0]);
	/* Nothing is held yet that an end at any moment could harm. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void handler_serve(struct broker *broker, int client, struct waiting *waiting)
{
	struct handler h = {.broker = broker, .client = client, .fds = {-1, -1, -1}};
	struct ucred peer = {.pid = 0};
	socklen_t len = sizeof(peer);

	if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0) {
		h.peer = peer.pid;
	}
	read_request(&h);
	read_arguments(&h);
	if (h.kind == FRAME_BROWSE) {
		serve_page(&h);
	}
	serve_tool(&h, waiting);
	if (h.large) {
		_exit(EXIT_SUCCESS);
	}
	free(h.payload);
	free(h.argv);
}
