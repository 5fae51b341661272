/*
 * Pods that do what they like to the interfaces that they have: it must not outlast them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "drivers/nic/driver_impl.h"
#include "drivers/nic/node_world.h"
#include "drivers/nic_attach/attach_impl.h"

static bool is_back(struct nic_node *w)
{
	return nic_node_index(w->host, "host0") != 0;
}

static struct nic_use *only_use(struct nic_node *w)
{
	return nic_book_next(w->driver->book, NULL);
}

static bool is_renamed(struct nic_node *w)
{
	const struct nic_use *u = only_use(w);

	return strcmp(nic_view_of(u)->seen.link.name, w->want) == 0;
}

static void rename_in_pod(struct nic_node *w, int n, const char *name, const char *new_name)
{
	struct rtnl_change c = { .name = new_name };

	nic_node_set_link(w->pods[n], name, false);
	assert_int_equal(rtnl_link_change(w->pods[n], nic_node_index(w->pods[n], name), &c, NULL),
			 0);
	nic_node_set_link(w->pods[n], new_name, true);
	w->want = new_name;
	nic_node_wait(w, is_renamed);
}

static void a_name_that_is_no_text_is_not_kept_and_shown_in_another_form(void **state)
{
	struct nic_node *w = *state;
	const struct json *e;

	nic_node_attach(w, 1, "host0", NULL);
	(void)nic_node_reason(w, 1, "Attached");
	rename_in_pod(w, 1, "net1", "\xffx");
	assert_string_equal(only_use(w)->interface, "net1");
	nic_node_stop(w);
	nic_node_start(w);
	nic_sandbox_sweep(w->driver);
	assert_non_null(only_use(w));
	nic_node_set_link(w->pods[1], "\xffx", false);
	e = nic_node_reason(w, 1, "LinkDown");
	nic_node_text(e, "/conditions/0/message", "\\xffx is switched off");
	assert_null(json_pointer(e, STR("/networkData/interfaceName")));
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
	assert_true(is_back(w));
}

static int refuse_undoing(void *arg, struct error *err)
{
	struct nic_node *w = arg;

	if (only_use(w)->state != NIC_DETACHING)
		return 0;
	return error_set(err, ERR_ALREADY_EXISTS, "it does not want to");
}

/* Moves an interface back, like hardware when its namespace ends. */
static void come_home(struct nic_node *w, const char *name)
{
	struct rtnl_change c = { .set_ns = true, .ns_fd = w->driver->attach->home };

	assert_int_equal(rtnl_link_change(w->pods[1], nic_node_index(w->pods[1], name), &c, NULL),
			 0);
}

static void an_interface_that_cannot_be_taken_back_does_not_keep_its_sandbox(void **state)
{
	struct nic_node *w = *state;

	nic_node_attach(w, 1, "host0", NULL);
	(void)nic_node_reason(w, 1, "Attached");
	w->driver->attach->on_step = refuse_undoing;
	w->driver->attach->arg = w;
	for (int i = 0; i < 2; i++) {
		nic_node_ask(w, "/del", 1, "");
		assert_int_not_equal(w->status, 200);
		assert_non_null(strstr(w->answer, "it does not want to"));
		assert_true(nic_view_of(only_use(w))->ns_fd >= 0);
	}
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
	assert_int_equal(nic_view_of(only_use(w))->ns_fd, -1);
	assert_int_equal(only_use(w)->state, NIC_DETACHING);

	w->driver->attach->on_step = NULL;
	come_home(w, "net1");
	nic_sandbox_sweep(w->driver);
	(void)nic_node_reason(w, 1, "Detached");
	assert_true(is_back(w));
	assert_int_equal(only_use(w)->state, NIC_PREPARED);
}

static void hardware_that_is_not_back_is_looked_for_before_it_is_forgotten(void **state)
{
	struct rtnl_change name = { .name = "host0" };
	struct nic_node *w = *state;
	int64_t now = clock_monotonic(loop_clock(w->loop));

	nic_node_attach(w, 1, "host0", NULL);
	(void)nic_node_reason(w, 1, "Attached");
	/* Hardware has no kind: what is in the pod is not it. It has been missing for a moment. */
	only_use(w)->before.kind[0] = 0;
	nic_view_of(only_use(w))->missing = now;
	nic_node_ask(w, "/del", 1, "");
	assert_int_equal(w->status, 200);
	assert_int_equal(only_use(w)->state, NIC_DETACHING);
	nic_node_unprepare(w, 1);
	assert_non_null(strstr(w->error, "host0 is neither on the node nor in the pod's"));

	(void)snprintf(only_use(w)->before.kind, RTNL_KIND, "veth");
	come_home(w, "net1");
	nic_sandbox_sweep(w->driver);
	(void)nic_node_reason(w, 1, "Detached");
	assert_true(is_back(w));

	/* And once more, for minutes. */
	nic_node_ask(w, "/add", 1, "");
	assert_int_equal(w->status, 200);
	only_use(w)->before.kind[0] = 0;
	nic_view_of(only_use(w))->missing = now - 3600 * CLOCK_SEC;
	nic_node_unprepare(w, 1);
	assert_string_equal(w->error, "");
	assert_null(only_use(w));
	come_home(w, "net1");
	assert_int_equal(rtnl_link_change(w->host, nic_node_index(w->host, "net1"), &name, NULL),
			 0);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, nic_node_set_up, nic_node_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_name_that_is_no_text_is_not_kept_and_shown_in_another_form),
		WORLD_TEST(an_interface_that_cannot_be_taken_back_does_not_keep_its_sandbox),
		WORLD_TEST(hardware_that_is_not_back_is_looked_for_before_it_is_forgotten),
	};

	if (!nic_node_enter()) {
		printf("1..0 # SKIP no network namespaces\n");
		return 0;
	}
	return cmocka_run_group_tests_name("drivers/nic_hostile", tests, NULL, NULL);
}
