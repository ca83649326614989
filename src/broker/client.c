/* The broker as the supervisor sees it. */
#include "broker/inner.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_MS 2500L /* calls have two seconds of them to end */
#define EXIT_MS   500L

static const struct broker_client no_broker = {.pidfd = -1, .control = -1, .door = -1};

static void leave(struct broker_client *client)
{
	fd_close(&client->control);
	fd_close(&client->door);
	fd_close(&client->pidfd);
	*client = no_broker;
}

bool broker_start(const struct broker_config *config, struct broker_client *ret_client,
		  struct err *err)
{
	struct broker_client client = no_broker;
	int control[2] = {-1, -1};
	int door[2] = {-1, -1};
	pid_t self = getpid();

	*ret_client = no_broker;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, door) == 0) {
		client.pid = fork();
	} else {
		client.pid = -1;
	}
	int sys = errno;
	if (client.pid == 0) {
		close(control[0]);
		close(door[0]);
		_exit(broker_main(config, control[1], door[1], self));
	}
	client.control = control[0];
	client.door = door[0];
	fd_close(&control[1]);
	fd_close(&door[1]);
	if (client.pid > 0) {
		client.pidfd = (int)syscall(SYS_pidfd_open, client.pid, 0U);
		sys = errno;
	}
	if (client.pid < 0 || client.pidfd < 0) {
		/* Its end closed, it ends. */
		leave(&client);
		return err_set(err, ERR_SETUP, sys,
			       "cannot start the broker, which calls tools and the browser");
	}
	*ret_client = client;
	return true;
}

void broker_started_init(struct broker_client *client)
{
	fd_close(&client->door);
}

static void keep(struct broker_report *report, const struct broker_refusal *refusal)
{
	if (report->n < BROKER_REFUSALS_MAX) {
		struct broker_refusal *r = &report->v[report->n++];

		*r = *refusal;
		r->what[sizeof(r->what) - 1] = '\0';
		r->hint[sizeof(r->hint) - 1] = '\0';
	}
}

/* False: it had ended before, or does not answer in time. */
static bool read_report(const struct broker_client *client, struct broker_report *report,
			bool *ret_gone)
{
	static struct broker_told told;
	const uint32_t end = BROKER_END;
	long until = clock_now_ms() + REPORT_MS;
	size_t nfds;

	*ret_gone = !pass_send(client->control, &end, sizeof(end), NULL, 0);
	while (!*ret_gone && clock_wait_for(client->control, until - clock_now_ms())) {
		ssize_t n = pass_receive(client->control, &told, sizeof(told), NULL, 0, &nfds);

		if (n == (ssize_t)sizeof(told) && told.kind == BROKER_REFUSAL) {
			keep(report, &told.refusal);
		} else if (n == (ssize_t)BROKER_TOLD_HEAD && told.kind == BROKER_REPORTED) {
			report->more = told.more;
			return true;
		} else {
			*ret_gone = n <= 0;
			return false;
		}
	}
	return false;
}

/* Not the refusals themselves: they are many pages. */
static void forget(struct broker_report *report)
{
	report->n = 0;
	report->more = 0;
}

void broker_finish(struct broker_client *client, struct broker_report *ret_report, bool *ret_died)
{
	bool gone = false;
	siginfo_t si;

	forget(ret_report);
	*ret_died = false;
	if (client->pid <= 0) {
		return;
	}
	if (!read_report(client, ret_report, &gone)) {
		forget(ret_report);
		*ret_died = gone;
	}
	fd_close(&client->control);
	if (!clock_wait_for(client->pidfd, EXIT_MS)) {
		syscall(SYS_pidfd_send_signal, client->pidfd, SIGKILL, NULL, 0U);
	}
	while (waitid(P_PIDFD, (id_t)client->pidfd, &si, WEXITED) < 0 && errno == EINTR) {
	}
	leave(client);
}
