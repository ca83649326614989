/* A thread for each look-up. The threads share nothing with the loop but `struct shared`: what they
 * found, and whether anybody still wants it. The last one of them to end frees it. */
#include "gate/address.h"
#include "gate/resolver_inner.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Modules of nsswitch.conf run on it: address space, not memory. */
#define STACK_BYTES (1024UL * 1024UL)

struct job {
	struct job *next; /* among those done */
	struct shared *shared;
	struct lookup *lookup; /* handed back, not looked at */
	struct resolved resolved;
	char name[]; /* HOST_MAX at most; a proxy's host is no longer */
};

struct shared {
	pthread_mutex_t lock;
	unsigned users;    /* the loop, and each thread */
	uv_async_t *async; /* NULL: nobody wants to know */
	struct job *done;
};

struct look_threads {
	struct shared *shared;
	look_found *found;
	void *context;
};

static void free_shared(struct shared *shared)
{
	while (shared->done != NULL) {
		struct job *job = shared->done;

		shared->done = job->next;
		free(job);
	}
	pthread_mutex_destroy(&shared->lock);
	free(shared);
}

/* Gives up a use of it; the lock is held, and is not after. */
static void unlock_and_leave(struct shared *shared)
{
	bool last = --shared->users == 0;

	pthread_mutex_unlock(&shared->lock);
	if (last) {
		free_shared(shared);
	}
}

/* --- in a thread of its own ----------------------------------------------------------------- */

/* libuv's names for the errors of getaddrinfo(3), of which two say that there is no such host. */
static int status_of(int error)
{
	switch (error) {
	case 0:
		return 0;
	case EAI_NONAME:
		return UV_EAI_NONAME;
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return UV_EAI_NODATA;
	case EAI_AGAIN:
		return UV_EAI_AGAIN;
	case EAI_MEMORY:
		return UV_EAI_MEMORY;
	default:
		return UV_EAI_FAIL;
	}
}

static void keep_addresses(const struct addrinfo *found, struct resolved *resolved)
{
	for (; found != NULL && resolved->n < RESOLVED_MAX; found = found->ai_next) {
		uint16_t port;

		if (address_from_sockaddr(found->ai_addr, &resolved->v[resolved->n], &port)) {
			resolved->n++;
		}
	}
	if (resolved->n == 0) {
		resolved->status = UV_EAI_NODATA;
	}
}

/* Both families, whether or not this machine has an address of each now (no AI_ADDRCONFIG): a
 * machine with loopback alone has neither, and what cannot be reached fails at once. */
static void look_up(const char *name, struct resolved *resolved)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	resolved->status = status_of(getaddrinfo(name, NULL, &hints, &found));
	if (resolved->status == 0) {
		keep_addresses(found, resolved);
		freeaddrinfo(found);
	}
}

static void *run(void *data)
{
	struct job *job = data;
	struct shared *shared = job->shared;

	look_up(job->name, &job->resolved);
	pthread_mutex_lock(&shared->lock);
	job->next = shared->done;
	shared->done = job;
	if (shared->async != NULL) {
		uv_async_send(shared->async);
	}
	unlock_and_leave(shared);
	return NULL;
}

/* --- in the loop's -------------------------------------------------------------------------- */

static void on_async(uv_async_t *async)
{
	struct look_threads *threads = async->data;
	struct job *done;

	pthread_mutex_lock(&threads->shared->lock);
	done = threads->shared->done;
	threads->shared->done = NULL;
	pthread_mutex_unlock(&threads->shared->lock);
	while (done != NULL) {
		struct job *job = done;

		done = job->next;
		threads->found(threads->context, job->lookup, &job->resolved);
		free(job);
	}
}

static struct shared *shared_new(void)
{
	struct shared *shared = calloc(1, sizeof(*shared));

	if (shared != NULL) {
		pthread_mutex_init(&shared->lock, NULL);
		shared->users = 1;
	}
	return shared;
}

struct look_threads *look_threads_new(uv_loop_t *loop, look_found *found, void *context)
{
	struct look_threads *threads = calloc(1, sizeof(*threads));
	uv_async_t *async = calloc(1, sizeof(*async));
	struct shared *shared = shared_new();

	if (threads == NULL || async == NULL || shared == NULL ||
	    uv_async_init(loop, async, on_async) < 0) {
		free(threads);
		free(async);
		if (shared != NULL) {
			free_shared(shared);
		}
		return NULL;
	}
	*threads = (struct look_threads){.shared = shared, .found = found, .context = context};
	shared->async = async;
	async->data = threads;
	return threads;
}

static void free_async(uv_handle_t *handle)
{
	free(handle);
}

void look_threads_free(struct look_threads *threads)
{
	if (threads == NULL) {
		return;
	}
	struct shared *shared = threads->shared;
	pthread_mutex_lock(&shared->lock);
	/* Under the lock: a thread that sends has seen it open, and is done with it. */
	uv_close((uv_handle_t *)shared->async, free_async);
	shared->async = NULL;
	unlock_and_leave(shared);
	free(threads);
}

static bool start_thread(struct job *job)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok = pthread_attr_init(&attr) == 0;

	if (!ok) {
		return false;
	}
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	ok = pthread_create(&thread, &attr, run, job) == 0;
	pthread_attr_destroy(&attr);
	return ok;
}

bool look_threads_start(struct look_threads *threads, struct lookup *lookup, const char *name)
{
	struct shared *shared = threads->shared;
	size_t len = strlen(name);
	struct job *job = calloc(1, sizeof(*job) + len + 1);

	if (job == NULL) {
		return false;
	}
	job->shared = shared;
	job->lookup = lookup;
	memcpy(job->name, name, len);
	pthread_mutex_lock(&shared->lock);
	shared->users++;
	pthread_mutex_unlock(&shared->lock);
	if (start_thread(job)) {
		return true;
	}
	free(job);
	pthread_mutex_lock(&shared->lock);
	unlock_and_leave(shared);
	return false;
}
