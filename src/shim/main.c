/* lnk-shim: stands in the sandbox for a tool or the browser, whose name it is called by. It asks
 * the broker outside, hands over its descriptors, passes signals on, and ends as the tool ends.
 *
 * It runs in the sandbox and has no power of its own: whatever else connects to the broker may send
 * the same. Small, static and without stdio, because every call pays for its start. */
#include "base/pass.h"
#include "base/str.h"
#include "broker/frame.h"
#include "plan/plan.h"
#include "shim/guard.h"
#include "shim/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* As shells tell of what may not run. */
#define EXIT_REFUSED 126

static const char *const browser_names[] = {"xdg-open", "open", "sensible-browser", "www-browser"};

/* Passed on, where the caller does not have them ignored. */
static const int passed[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
			     SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

struct shim {
	const char *name;
	int broker;
	int signals;
	uint32_t continued; /* SIGCONTs told to the broker */
	uint64_t had;       /* a bit for each signal that came */
	struct relays relays;
	size_t got; /* bytes of `in` */
	unsigned char in[FRAME_HEAD + FRAME_SMALL_MAX];
};

static void say(const char *name, const char *text, size_t len)
{
	struct iovec parts[5];
	const char *const texts[] = {"lnk: ", name, ": ", NULL, "\n"};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *part = i == 3 ? text : texts[i];

		/* writev(2) takes no const; it only reads. */
		memcpy(&parts[i].iov_base, &part, sizeof(part));
		parts[i].iov_len = i == 3 ? len : strlen(part);
	}
	(void)!writev(STDERR_FILENO, parts, ARRAY_LEN(parts));
}

static void __attribute__((noreturn)) refuse(const char *name, const char *text)
{
	say(name, text, strlen(text));
	_exit(EXIT_REFUSED);
}

/* --- asking ------------------------------------------------------------------------------- */

static bool call_at(int fd, const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int done;

	if (strlen(path) >= sizeof(at.sun_path)) {
		return false;
	}
	memcpy(at.sun_path, path, strlen(path) + 1);
	do {
		done = connect(fd, (const struct sockaddr *)&at, sizeof(at));
	} while (done < 0 && errno == EINTR);
	return done == 0;
}

/* A tool's own socket, or everybody's. */
static int call_broker(const char *name, enum frame_kind kind)
{
	char path[sizeof(PLAN_CALLS) + 1 + FRAME_NAME_MAX] = PLAN_CALLS "/";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(path + sizeof(PLAN_CALLS), name, strlen(name) + 1);
	if (fd < 0 || !((kind == FRAME_TOOL && call_at(fd, path)) || call_at(fd, PLAN_BROKER))) {
		refuse(name, "it runs outside the sandbox, and nothing answers for it there");
	}
	return fd;
}

/* Head and payload of the request, in memory of its own. */
static unsigned char *make_request(const struct shim *s, enum frame_kind kind, char **args,
				   size_t *ret_len)
{
	char cwd[PATH_MAX];
	size_t nargs = 0;
	size_t bytes = 0;

	/* "(unreachable)/…" is what the kernel calls a folder outside of this root. */
	if (getcwd(cwd, sizeof(cwd)) == NULL || cwd[0] != '/') {
		if (kind == FRAME_TOOL) {
			refuse(s->name, "the working folder is gone");
		}
		memcpy(cwd, "/", 2);
	}
	for (; args[nargs] != NULL; nargs++) {
		bytes += strlen(args[nargs]) + 1;
	}
	if (nargs > FRAME_ARGS_MAX || bytes > FRAME_ARG_BYTES_MAX) {
		refuse(s->name, "too many or too long arguments: 32,768 of them and 2 MiB together "
				"at most");
	}
	size_t len = FRAME_HEAD + 4 + strlen(s->name) + 1 + strlen(cwd) + 1 + bytes;
	unsigned char *frame = malloc(len);
	if (frame == NULL) {
		refuse(s->name, "out of memory");
	}
	frame_head_write(frame, kind, (uint32_t)(len - FRAME_HEAD));
	frame_u32_write(frame + FRAME_HEAD, (uint32_t)nargs);
	char *p = (char *)frame + FRAME_HEAD + 4;
	p = stpcpy(p, s->name) + 1;
	p = stpcpy(p, cwd) + 1;
	for (size_t i = 0; i < nargs; i++) {
		p = stpcpy(p, args[i]) + 1;
	}
	*ret_len = len;
	return frame;
}

/* False when the broker takes no more; it may have said why. */
static bool send_all(int fd, const unsigned char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return false;
		}
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static void ask(struct shim *s, enum frame_kind kind, char **args, const int *fds, size_t nfds)
{
	size_t len;
	unsigned char *frame = make_request(s, kind, args, &len);

	(void)(pass_send(s->broker, frame, FRAME_HEAD, fds, nfds) &&
	       send_all(s->broker, frame + FRAME_HEAD, len - FRAME_HEAD));
	free(frame);
}

/* --- ending and stopping as the tool does -------------------------------------------------- */

static void unblock(int number)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void __attribute__((noreturn)) die_by(int number)
{
	const struct rlimit none = {0, 0};

	/* The tool has left its core, if any. */
	setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL);
	unblock(number);
	raise(number);
	_exit(128 + number);
}

static void tell_signal(struct shim *s, int number, bool from_terminal)
{
	const struct frame_small small = {.number = (uint32_t)number, .more = from_terminal};
	unsigned char frame[FRAME_HEAD + FRAME_SMALL_MAX];

	s->continued += number == SIGCONT ? 1 : 0;
	(void)send_all(s->broker, frame, frame_small_write(frame, FRAME_SIGNAL, &small));
}

static void pass_signals(struct shim *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		s->had |= 1ULL << si.ssi_signo;
		tell_signal(s, (int)si.ssi_signo, si.ssi_code == SI_KERNEL);
	}
}

/* The tool stands still: so does our job, for the shell to see, as if the tool were part of it.
 * Not where it was so and is woken again, which the broker did not know when it told us: it had
 * heard of `continued` wake-ups then. */
static void stop(struct shim *s, int number, uint32_t continued)
{
	const struct timespec now = {0, 0};
	bool by_terminal = number == SIGTTIN || number == SIGTTOU;
	sigset_t waking;

	number = by_terminal ? number : SIGTSTP;
	sigemptyset(&waking);
	sigaddset(&waking, SIGCONT);
	sigset_t stopping = {{0}};
	sigemptyset(&stopping);
	sigaddset(&stopping, number);
	signal(number, SIG_DFL);
	/* From here on the terminal cannot stop us, and so nobody wakes us, before we stop. */
	sigprocmask(SIG_BLOCK, &stopping, NULL);
	pass_signals(s);
	if (continued < s->continued) {
		if (by_terminal) {
			sigprocmask(SIG_UNBLOCK, &stopping, NULL);
		}
		return;
	}
	kill(0, number);
	sigprocmask(SIG_UNBLOCK, &stopping, NULL);
	if (sigtimedwait(&waking, NULL, &now) < 0 && by_terminal) {
		/* A job that no shell watches does not stop by these. The tool would ask for the
		 * terminal again at once. */
		raise(SIGSTOP);
		sigtimedwait(&waking, NULL, &now);
	}
	if (!by_terminal) {
		sigprocmask(SIG_BLOCK, &stopping, NULL);
	}
	tell_signal(s, SIGCONT, false);
}

/* --- what comes in ------------------------------------------------------------------------- */

static void finish_relays(struct shim *s)
{
	struct pollfd fds[1 + 2 * RELAY_FDS] = {{.fd = s->signals, .events = POLLIN}};

	while (relays_ending(&s->relays)) {
		relays_wait(&s->relays, fds + 1);
		if (poll(fds, ARRAY_LEN(fds), -1) < 0) {
			continue;
		}
		if (fds[0].revents != 0) {
			struct signalfd_siginfo si;

			/* Whoever reads our output has stopped reading, and somebody has had
			 * enough. */
			if (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si) &&
			    si.ssi_signo != SIGCONT && si.ssi_signo != SIGWINCH &&
			    si.ssi_signo != SIGTSTP) {
				die_by((int)si.ssi_signo);
			}
		}
		relays_copy(&s->relays, fds + 1);
	}
}

static void __attribute__((noreturn)) end(struct shim *s, const struct frame_small *f)
{
	finish_relays(s);
	if (f->more != 0) {
		die_by((int)f->more);
	}
	/* A tool that was killed inside its own confinement: its status tells by what. */
	if (f->number > 128 && f->number < 128 + 64 && (s->had >> (f->number - 128) & 1) != 0) {
		die_by((int)f->number - 128);
	}
	_exit((int)f->number);
}

static void obey(struct shim *s, enum frame_kind kind, const struct frame_small *f)
{
	if (kind == FRAME_EXIT) {
		end(s, f);
	}
	if (kind == FRAME_ERROR) {
		finish_relays(s);
		say(s->name, f->text, f->text_len);
		_exit((int)f->number);
	}
	stop(s, (int)f->number, f->more);
}

/* All whole frames that have come. */
static void obey_all(struct shim *s)
{
	struct frame_head head;
	struct frame_small small;
	const char *why;

	while (s->got >= FRAME_HEAD) {
		if (!frame_head_read(s->in, FRAME_FROM_BROKER, &head, &why)) {
			refuse(s->name, "the broker answers with what is no answer");
		}
		size_t len = FRAME_HEAD + head.length;
		if (s->got < len) {
			return;
		}
		if (!frame_small_read(&head, s->in + FRAME_HEAD, &small, &why)) {
			refuse(s->name, "the broker answers with what is no answer");
		}
		obey(s, head.kind, &small);
		s->got -= len;
		memmove(s->in, s->in + len, s->got);
	}
}

static void hear(struct shim *s)
{
	ssize_t n = recv(s->broker, s->in + s->got, sizeof(s->in) - s->got, 0);

	if (n < 0 && errno == EINTR) {
		return;
	}
	if (n <= 0) {
		refuse(s->name, "it was ended: nothing answers for it outside any longer");
	}
	s->got += (size_t)n;
	obey_all(s);
}

/* Those of `numbers` that the caller does not have ignored; SIGCONT always. */
static void watch_signals(struct shim *s, const int *numbers, size_t n)
{
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] == SIGCONT ||
		    (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)) {
			sigaddset(&set, numbers[i]);
		}
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	if (s->signals < 0) {
		refuse(s->name, "cannot watch for signals");
	}
}

/* --- the two calls ------------------------------------------------------------------------- */

static void __attribute__((noreturn)) run_tool(struct shim *s, char **args)
{
	struct pollfd fds[2 + 2 * RELAY_FDS];
	int given[RELAY_FDS];

	/* First of all: nothing of ours may come to lie at 0 to 2. */
	if (!relays_prepare(&s->relays, given)) {
		refuse(s->name, "cannot hand its descriptors over");
	}
	watch_signals(s, passed, ARRAY_LEN(passed));
	s->broker = call_broker(s->name, FRAME_TOOL);
	ask(s, FRAME_TOOL, args, given, FRAME_FDS);
	relays_passed(given);
	for (;;) {
		fds[0] = (struct pollfd){.fd = s->broker, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = s->signals, .events = POLLIN};
		relays_wait(&s->relays, fds + 2);
		if (poll(fds, ARRAY_LEN(fds), -1) < 0) {
			continue;
		}
		relays_copy(&s->relays, fds + 2);
		if (fds[1].revents != 0) {
			pass_signals(s);
		}
		if (fds[0].revents != 0) {
			hear(s);
		}
	}
}

/* A signal withdraws the question, which the broker takes off the screen before we end by it. */
static _Noreturn void withdraw(struct shim *s)
{
	struct pollfd fds[] = {{.fd = s->broker, .events = POLLIN},
			       {.fd = s->signals, .events = POLLIN}};
	struct signalfd_siginfo si;

	if (read(s->signals, &si, sizeof(si)) != (ssize_t)sizeof(si)) {
		_exit(EXIT_REFUSED);
	}
	shutdown(s->broker, SHUT_WR);
	while (poll(fds, ARRAY_LEN(fds), -1) < 0) {
	}
	die_by((int)si.ssi_signo);
}

static _Noreturn void browse(struct shim *s, char **args)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

	s->broker = call_broker(s->name, FRAME_BROWSE);
	/* No job is stopped in the middle of a question. */
	signal(SIGTSTP, SIG_IGN);
	watch_signals(s, ending, ARRAY_LEN(ending));
	ask(s, FRAME_BROWSE, args, NULL, 0);
	for (;;) {
		struct pollfd fds[] = {{.fd = s->broker, .events = POLLIN},
				       {.fd = s->signals, .events = POLLIN}};

		if (poll(fds, ARRAY_LEN(fds), -1) < 0) {
			continue;
		}
		if (fds[0].revents != 0) {
			hear(s);
		}
		if (fds[1].revents != 0) {
			withdraw(s);
		}
	}
}

int main(int argc, char **argv)
{
	struct shim shim = {.broker = -1, .signals = -1};
	static char *none[] = {NULL};

	guard(argv);
	if (argc < 1 || path_base(argv[0])[0] == '\0' ||
	    strlen(path_base(argv[0])) > FRAME_NAME_MAX) {
		refuse("lnk-shim", "it was called by no name");
	}
	shim.name = path_base(argv[0]);
	for (size_t i = 0; i < RELAY_FDS; i++) {
		shim.relays.v[i].from = shim.relays.v[i].to = -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(browser_names); i++) {
		if (str_eq(shim.name, browser_names[i])) {
			browse(&shim, argc > 1 ? argv + 1 : none);
		}
	}
	run_tool(&shim, argc > 1 ? argv + 1 : none);
}
