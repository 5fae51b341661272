/*
 * Events of the real kernel on a real loop, in network namespaces of the test. Each test waits for
 * its event; if that never comes, it hangs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "drivers/rtnl/netns.h"
#include "drivers/rtnl/watch.h"
#include "net/loop/loop.h"

struct world {
	struct loop *loop;
	struct rtnl *host;
	struct rtnl_watch *watch;
	int pod_ns;

	/* The awaited event: this type, of this link, with this state. */
	enum rtnl_event_type want;
	const char *name;
	int index;
	bool running;

	struct rtnl_event last;
	unsigned links, gone, lost; /* events so far */
	unsigned stop_at; /* or so many events of links */
	bool free_at_once;

	struct loop_task every_turn;
	unsigned turns;
};

static bool is_wanted(const struct world *w, const struct rtnl_event *e)
{
	if (w->stop_at)
		return w->links == w->stop_at;
	if (e->type != w->want)
		return false;
	switch (e->type) {
	case RTNL_LINK_SET:
		return strcmp(e->link.name, w->name) == 0 && e->link.running == w->running;
	case RTNL_LINK_GONE:
		return strcmp(e->link.name, w->name) == 0;
	case RTNL_ADDRESS_SET:
	case RTNL_ADDRESS_GONE:
		return e->address.index == w->index && e->address.scope == 0;
	case RTNL_LOST:
		return true;
	}
	return false;
}

static void on_event(void *arg, const struct rtnl_event *e)
{
	struct world *w = arg;

	w->last = *e;
	w->links += e->type == RTNL_LINK_SET;
	w->gone += e->type == RTNL_LINK_GONE;
	w->lost += e->type == RTNL_LOST;
	if (w->free_at_once) {
		rtnl_watch_free(w->watch);
		w->watch = NULL;
		loop_stop(w->loop);
	} else if (is_wanted(w, e)) {
		loop_stop(w->loop);
	}
}

static int enter_world(void **state)
{
	struct world *w = XNEW(struct world);

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(netns_make(&w->pod_ns, NULL), 0);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	assert_int_equal(rtnl_open(-1, &w->host, NULL), 0);
	assert_int_equal(rtnl_watch_new(w->loop, -1, on_event, w, &w->watch, NULL), 0);
	*state = w;
	return 0;
}

static int leave_world(void **state)
{
	struct world *w = *state;

	rtnl_watch_free(w->watch);
	rtnl_close(w->host);
	if (w->pod_ns >= 0)
		(void)close(w->pod_ns);
	loop_free(w->loop);
	free(w);
	return 0;
}

static void await_link(struct world *w, enum rtnl_event_type type, const char *name, bool running)
{
	w->want = type;
	w->name = name;
	w->running = running;
	loop_run(w->loop);
}

static void await_address(struct world *w, enum rtnl_event_type type, int index)
{
	w->want = type;
	w->index = index;
	loop_run(w->loop);
}

static void add_link(struct rtnl *r, const char *kind, const char *name, const char *peer)
{
	struct rtnl_new_link l = { .kind = kind, .name = name, .peer = peer, .ns_fd = -1 };

	assert_int_equal(rtnl_link_add(r, &l, NULL), 0);
}

static int index_of(struct rtnl *r, const char *name)
{
	struct rtnl_link l;

	assert_int_equal(rtnl_link_by_name(r, name, &l, NULL), 0);
	return l.index;
}

static void change(struct rtnl *r, const char *name, struct rtnl_change c)
{
	assert_int_equal(rtnl_link_change(r, index_of(r, name), &c, NULL), 0);
}

static void set_up(struct rtnl *r, const char *name, bool up)
{
	change(r, name, (struct rtnl_change){ .set_up = true, .up = up });
}

static void links_come_get_a_carrier_lose_it_and_go(void **state)
{
	struct world *w = *state;

	add_link(w->host, "veth", "a", "b");
	await_link(w, RTNL_LINK_SET, "a", false);
	assert_string_equal(w->last.link.kind, "veth");
	set_up(w->host, "a", true);
	set_up(w->host, "b", true);
	await_link(w, RTNL_LINK_SET, "a", true);
	assert_true(w->last.link.up);
	set_up(w->host, "b", false);
	await_link(w, RTNL_LINK_SET, "a", false);
	assert_true(w->last.link.up);
	assert_int_equal(rtnl_link_delete(w->host, index_of(w->host, "a"), NULL), 0);
	await_link(w, RTNL_LINK_GONE, "a", false);
	assert_int_equal(w->lost, 0);
}

static void addresses_come_and_go(void **state)
{
	static const char *const texts[] = { "192.0.2.5/24", "2001:db8::5/64" };
	struct world *w = *state;
	struct rtnl_address a = { 0 };
	char text[RTNL_IP_TEXT];

	add_link(w->host, "veth", "a", "b");
	set_up(w->host, "a", true);
	a.index = index_of(w->host, "a");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_true(rtnl_ip_parse(str_from(texts[i]), false, &a.ip));
		assert_int_equal(rtnl_address_add(w->host, &a, NULL), 0);
		await_address(w, RTNL_ADDRESS_SET, a.index);
		rtnl_ip_print(&w->last.address.ip, text);
		assert_string_equal(text, texts[i]);
		assert_int_equal(rtnl_address_delete(w->host, &a, NULL), 0);
		await_address(w, RTNL_ADDRESS_GONE, a.index);
		rtnl_ip_print(&w->last.address.ip, text);
		assert_string_equal(text, texts[i]);
	}
}

static void a_link_that_moves_away_is_gone(void **state)
{
	struct world *w = *state;

	add_link(w->host, "veth", "a", "b");
	change(w->host, "a",
	       (struct rtnl_change){ .set_ns = true, .ns_fd = w->pod_ns, .name = "net1" });
	await_link(w, RTNL_LINK_GONE, "a", false);
	assert_int_equal(w->gone, 1);
}

static void leaving_a_bridge_is_no_end_of_a_link(void **state)
{
	struct world *w = *state;
	struct rtnl_change c = { .set_master = true };

	add_link(w->host, "veth", "a", "b");
	add_link(w->host, "bridge", "br0", NULL);
	c.master = index_of(w->host, "br0");
	change(w->host, "a", c);
	c.master = 0;
	change(w->host, "a", c);
	/* All earlier events have come by then. */
	assert_int_equal(rtnl_link_delete(w->host, index_of(w->host, "br0"), NULL), 0);
	await_link(w, RTNL_LINK_GONE, "br0", false);
	assert_int_equal(w->gone, 1);
}

static void a_link_with_hundreds_of_names_is_told_of(void **state)
{
	struct world *w = *state;
	char name[RTNL_ALTNAME];
	int index;

	add_link(w->host, "veth", "a", "b");
	index = index_of(w->host, "a");
	for (unsigned i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "%0115u", i);
		assert_int_equal(rtnl_altname_add(w->host, index, name, NULL), 0);
	}
	change(w->host, "a", (struct rtnl_change){ .name = "c" });
	await_link(w, RTNL_LINK_SET, "c", false);
	assert_int_equal(w->lost, 0);
}

static void another_namespace_is_watched_and_stays_while_it_is(void **state)
{
	struct world *w = *state;
	struct rtnl_new_link l = {
		.kind = "veth", .name = "there", .peer = "here", .ns_fd = w->pod_ns
	};
	struct rtnl *pod;

	rtnl_watch_free(w->watch);
	w->watch = NULL;
	assert_int_equal(rtnl_watch_new(w->loop, w->pod_ns, on_event, w, &w->watch, NULL), 0);
	assert_int_equal(rtnl_link_add(w->host, &l, NULL), 0);
	await_link(w, RTNL_LINK_SET, "there", false);
	assert_int_equal(w->links, 1); /* and not of the one here */
	assert_int_equal(rtnl_open(w->pod_ns, &pod, NULL), 0);
	set_up(pod, "there", true);
	rtnl_close(pod);
	(void)close(w->pod_ns);
	w->pod_ns = -1;
	/* Nobody but the watch is there any more. */
	set_up(w->host, "here", true);
	await_link(w, RTNL_LINK_SET, "there", true);
}

static void notices_that_were_dropped_are_told_and_it_goes_on(void **state)
{
	struct world *w = *state;

	add_link(w->host, "veth", "a", "b");
	await_link(w, RTNL_LINK_SET, "a", false);
	rtnl_watch_set_buffer(w->watch, 1);
	for (uint32_t i = 0; i < 50; i++)
		change(w->host, "a", (struct rtnl_change){ .mtu = 1400 + i });
	await_link(w, RTNL_LOST, NULL, false);
	rtnl_watch_set_buffer(w->watch, 1 << 20);
	add_link(w->host, "veth", "c", "d");
	await_link(w, RTNL_LINK_SET, "c", false);
	assert_int_equal(w->lost, 1);
}

static void count_turn(struct loop_task *t)
{
	struct world *w = CONTAINER_OF(t, struct world, every_turn);

	w->turns++;
	loop_defer(w->loop, t);
}

static void a_storm_is_told_whole_and_leaves_turns_to_others(void **state)
{
	struct world *w = *state;

	add_link(w->host, "veth", "a", "b");
	await_link(w, RTNL_LINK_SET, "a", false);
	w->links = 0;
	w->stop_at = 640;
	for (uint32_t i = 0; i < 640; i++)
		change(w->host, "a", (struct rtnl_change){ .mtu = 1000 + i });
	loop_task_init(&w->every_turn, count_turn);
	loop_defer(w->loop, &w->every_turn);
	loop_run(w->loop);
	loop_task_cancel(&w->every_turn);
	assert_int_equal(w->lost, 0);
	assert_true(w->turns >= 10);
}

static void the_watch_may_be_freed_by_its_event(void **state)
{
	struct world *w = *state;

	add_link(w->host, "veth", "a", "b");
	add_link(w->host, "veth", "c", "d");
	w->free_at_once = true;
	loop_run(w->loop);
	assert_null(w->watch);
	assert_int_equal(w->links, 1);
}

static void a_watch_of_what_is_no_namespace_is_refused(void **state)
{
	struct world *w = *state;
	struct rtnl_watch *none = NULL;
	struct error err;

	assert_int_equal(rtnl_watch_new(w->loop, 0, on_event, w, &none, &err), -ERR_INVALID);
	assert_string_equal(err.msg,
			    "watch network interfaces: enter network namespace: Invalid argument");
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, enter_world, leave_world)
		IN_WORLD(links_come_get_a_carrier_lose_it_and_go),
		IN_WORLD(addresses_come_and_go),
		IN_WORLD(a_link_that_moves_away_is_gone),
		IN_WORLD(leaving_a_bridge_is_no_end_of_a_link),
		IN_WORLD(a_link_with_hundreds_of_names_is_told_of),
		IN_WORLD(another_namespace_is_watched_and_stays_while_it_is),
		IN_WORLD(notices_that_were_dropped_are_told_and_it_goes_on),
		IN_WORLD(a_storm_is_told_whole_and_leaves_turns_to_others),
		IN_WORLD(the_watch_may_be_freed_by_its_event),
		IN_WORLD(a_watch_of_what_is_no_namespace_is_refused),
	};
	struct error err;
	int fd;

	if (netns_make(&fd, &err) < 0) {
		printf("1..0 # SKIP %s\n", err.msg);
		return 0;
	}
	(void)close(fd);
	return cmocka_run_group_tests_name("drivers/rtnl_watch", tests, NULL, NULL);
}
