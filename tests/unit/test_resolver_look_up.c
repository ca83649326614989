/* Look-ups for those who call: found, failed, forgotten, in line, and kept for a while. */
#include "resolver_kit.h"

/* One who wants to know. */
struct asked {
	struct world *w;
	unsigned told; /* how often */
	unsigned order;
	struct resolved resolved;
	struct asked *forgets; /* when it is told */
	const char *next;      /* it looks up this, when it is told */
};

static unsigned order;

static void on_told(void *context, const struct resolved *resolved)
{
	struct asked *a = context;
	const char *next = a->next;

	a->told++;
	a->order = ++order;
	a->resolved = *resolved;
	if (a->forgets != NULL) {
		resolver_forget(a->w->resolver, a->forgets);
	}
	if (next != NULL) {
		a->next = NULL;
		resolver_look_up(a->w->resolver, next, on_told, a);
	}
}

static void look_up(struct asked *a, struct world *w, const char *name)
{
	a->w = w;
	resolver_look_up(w->resolver, name, on_told, a);
}

/* Which of its addresses is that one? -1: none. */
static int place(const struct resolved *resolved, const char *text)
{
	struct addr wanted = raw(text);

	for (unsigned i = 0; i < resolved->n; i++) {
		if (wanted.v6 == resolved->v[i].v6 &&
		    memcmp(wanted.b, resolved->v[i].b, wanted.v6 ? 16 : 4) == 0) {
			return (int)i;
		}
	}
	return -1;
}

static void test_found(void **state)
{
	struct world *w = begin();
	struct asked a = {0}, b = {0};

	(void)state;
	look_up(&a, w, "ok.test");
	assert_int_equal(a.told, 0);
	KIT_UNTIL(w->gate, a.told > 0);
	assert_int_equal(a.resolved.status, 0);
	assert_int_equal(a.resolved.n, 2);
	assert_true(place(&a.resolved, "192.0.2.1") >= 0);
	assert_true(place(&a.resolved, "2001:db8::1") >= 0);
	/* Known: told at once. */
	look_up(&b, w, "ok.test");
	assert_int_equal(b.told, 1);
	assert_memory_equal(&a.resolved, &b.resolved, sizeof(a.resolved));
	assert_int_equal(w->server.asked, 2);
	/* It decides nothing, and so tells nothing. */
	assert_int_equal(logged(w, "verdict"), 0);
	end(w);
}

static void test_statuses(void **state)
{
	static const struct {
		const char *name;
		int status;
		unsigned n;
	} rows[] = {
		{"gone.test", UV_EAI_NONAME, 0},
		{"empty.test", UV_EAI_NODATA, 0},
		{"broken.test", UV_EAI_AGAIN, 0},
		{"full.test", 0, RESOLVED_MAX},
		{"nas.local", 0, 1},
		{"192.0.2.77", 0, 1},
		{"2001:db8::77", 0, 1},
		{"", UV_EAI_NONAME, 0},
		{"evil.test", 0, 2}, /* the policy's matter */
	};
	struct world *w = begin();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct asked a = {0}, again = {0};

		look_up(&a, w, rows[i].name);
		KIT_UNTIL(w->gate, a.told > 0);
		if (a.resolved.status != rows[i].status || a.resolved.n != rows[i].n) {
			fail_msg("%s: %d, %u addresses", rows[i].name, a.resolved.status,
				 a.resolved.n);
		}
		look_up(&again, w, rows[i].name);
		assert_int_equal(again.told, 1);
		assert_memory_equal(&a.resolved, &again.resolved, sizeof(a.resolved));
	}
	end(w);
}

static void test_order(void **state)
{
	struct world *w = begin();
	struct asked a[5] = {{0}};

	(void)state;
	w->server.hold = true;
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		look_up(&a[i], w, "ok.test");
	}
	KIT_UNTIL(w->gate, w->server.asked == 2);
	server_release(&w->server);
	KIT_UNTIL(w->gate, a[4].told > 0);
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		assert_int_equal(a[i].told, 1);
		assert_int_equal(a[i].order, a[0].order + i);
	}
	assert_int_equal(w->server.asked, 2);
	end(w);
}

static void test_forget(void **state)
{
	struct world *w = begin();
	struct asked a[4] = {{0}};

	(void)state;
	w->server.hold = true;
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		look_up(&a[i], w, "ok.test");
	}
	look_up(&a[3], w, "a.ok.test"); /* twice, and both are forgotten */
	resolver_forget(w->resolver, &a[3]);
	resolver_forget(w->resolver, &a[3]);
	resolver_forget(w->resolver, &a[0]);
	/* Told, it forgets one that would be told next. */
	a[1].forgets = &a[2];
	KIT_UNTIL(w->gate, w->server.asked == 4);
	server_release(&w->server);
	KIT_UNTIL(w->gate, a[1].told > 0);
	KIT_UNTIL(w->gate, resolver_knows(w->resolver, "a.ok.test") && alone());
	kit_spin(w->gate, 20);
	assert_int_equal(a[0].told + a[2].told + a[3].told, 0);
	assert_int_equal(a[1].told, 1);
	resolver_forget(w->resolver, &a[1]);
	end(w);
}

/* The answer that nobody waited for is kept all the same. */
static void test_forgotten_is_known(void **state)
{
	struct world *w = begin();
	struct asked a = {0}, b = {0};

	(void)state;
	w->server.hold = true;
	look_up(&a, w, "ok.test");
	KIT_UNTIL(w->gate, w->server.asked == 2);
	resolver_forget(w->resolver, &a);
	server_release(&w->server);
	KIT_UNTIL(w->gate, w->resolver->nknown == 1);
	look_up(&b, w, "ok.test");
	assert_int_equal(b.told, 1);
	assert_int_equal(a.told, 0);
	end(w);
}

static void test_look_up_when_told(void **state)
{
	struct world *w = begin();
	struct asked a = {.next = "ok.test"}, b = {.next = "a.ok.test"};

	(void)state;
	/* The one that is told now, which is known; and another, which is not. */
	look_up(&a, w, "ok.test");
	look_up(&b, w, "ok.test");
	KIT_UNTIL(w->gate, a.told == 2 && b.told == 2);
	assert_int_equal(w->server.asked, 4);
	end(w);
}

/* --- bounds ------------------------------------------------------------------------------------
 */

static void nth(char name[64], unsigned i)
{
	snprintf(name, 64, "n%u.ok.test", i);
}

static void test_line(void **state)
{
	const unsigned all = LOOKUPS_MAX + LINE_LOOKUPS_MAX;
	struct world *w = begin();
	struct asked *a = calloc(all, sizeof(*a)), more = {0}, same = {0};
	char name[64];

	(void)state;
	assert_non_null(a);
	w->server.hold = true;
	for (unsigned i = 0; i < all; i++) {
		nth(name, i);
		look_up(&a[i], w, name);
		assert_int_equal(a[i].told, 0);
	}
	assert_int_equal(w->resolver->nunder_way, LOOKUPS_MAX);
	assert_int_equal(w->resolver->nline, LINE_LOOKUPS_MAX);
	/* One more fails at once; one that is in line already need not. */
	look_up(&more, w, "more.ok.test");
	assert_int_equal(more.told, 1);
	assert_int_equal(more.resolved.status, UV_EAI_AGAIN);
	look_up(&same, w, name);
	assert_int_equal(same.told, 0);
	/* It is in line for two: one of them forgets it, then the other. */
	resolver_forget(w->resolver, &same);
	assert_int_equal(w->resolver->nline, LINE_LOOKUPS_MAX);
	resolver_forget(w->resolver, &a[all - 1]);
	assert_int_equal(w->resolver->nline, LINE_LOOKUPS_MAX - 1);
	look_up(&more, w, "more.ok.test");
	assert_int_equal(more.told, 1);
	/* All of them, a thousand of which stay known. */
	KIT_UNTIL(w->gate, w->server.asked == 2 * LOOKUPS_MAX);
	server_release(&w->server);
	KIT_UNTIL(w->gate, w->resolver->nunder_way == 0);
	assert_int_equal(w->server.asked, 2 * all);
	assert_int_equal(w->resolver->nline, 0);
	assert_int_equal(w->resolver->nknown, KNOWN_LOOKUPS_MAX);
	for (unsigned i = 0; i < all; i++) {
		assert_int_equal(a[i].told, i < all - 1);
		assert_int_equal(a[i].resolved.status, 0);
	}
	assert_int_equal(more.told, 2);
	assert_true(resolver_knows(w->resolver, "more.ok.test"));
	assert_false(resolver_knows(w->resolver, "n0.ok.test"));
	free(a);
	end(w);
}

/* What is stopped tells nobody: those under way, those in line. */
static void test_stop(void **state)
{
	struct world *w = begin();
	struct asked *a = calloc(LOOKUPS_MAX * 2, sizeof(*a));
	char name[64];

	(void)state;
	assert_non_null(a);
	w->server.hold = true;
	for (unsigned i = 0; i < LOOKUPS_MAX * 2; i++) {
		nth(name, i);
		look_up(&a[i], w, name);
	}
	KIT_UNTIL(w->gate, w->server.asked == 2 * LOOKUPS_MAX);
	end(w);
	for (unsigned i = 0; i < LOOKUPS_MAX * 2; i++) {
		assert_int_equal(a[i].told, 0);
	}
	free(a);
}

/* Found, but stopped before the loop has told it. */
static void test_stop_when_found(void **state)
{
	struct world *w = begin();
	struct asked a = {0};

	(void)state;
	look_up(&a, w, "192.0.2.1");
	for (int i = 0; i < PATIENCE_MS && !alone(); i++) {
		usleep(1000);
	}
	assert_true(alone());
	assert_int_equal(a.told, 0);
	end(w);
	assert_int_equal(a.told, 0);
	resolver_stop(NULL);
}

/* --- time --------------------------------------------------------------------------------------
 */

static void test_kept_for_a_while(void **state)
{
	struct world *w = begin();
	struct asked a = {0};
	char name[64];

	(void)state;
	look_up(&a, w, "ok.test");
	KIT_UNTIL(w->gate, a.told == 1);
	long start = clock_now_ms();
	kit_spin(w->gate, RESOLVED_MS - 1000);
	/* A machine that slept for a second too long would fail the test for nothing. */
	if (clock_now_ms() - start < RESOLVED_MS - 100) {
		look_up(&a, w, "ok.test");
		assert_int_equal(a.told, 2);
	}
	kit_spin(w->gate, RESOLVED_MS + 50 - (clock_now_ms() - start));
	assert_false(resolver_knows(w->resolver, "ok.test"));
	unsigned told = a.told;
	look_up(&a, w, "ok.test");
	assert_int_equal(a.told, told);
	KIT_UNTIL(w->gate, a.told == told + 1);
	assert_int_equal(w->server.asked, 4);
	nth(name, 1);
	assert_false(resolver_knows(w->resolver, name));
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_forgotten_is_known),
		cmocka_unit_test(test_look_up_when_told),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_when_found),
		cmocka_unit_test(test_kept_for_a_while),
	};

	kit_world();
	return cmocka_run_group_tests_name("resolver look-up", tests, NULL, NULL);
}
