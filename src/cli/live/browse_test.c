/*
 * Keys of the live table, with what is then on the screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cli/live/browse.h"
#include "cli/output/terminal.h"

struct fixture {
	struct arena arena;
	struct top_model model;
	struct buf out;
	struct top_view view;
};

/* A pool with two devices, of which one failed and is held, and another pool. */
static const char *const slices[][3] = {
	{ "a",
	  "{\"driver\":\"d\",\"pool\":{\"name\":\"one\"},\"nodeName\":\"n1\",\"devices\":["
	  "{\"name\":\"gpu-0\"},{\"name\":\"gpu-1\"}]}",
	  "{\"devices\":[{\"name\":\"gpu-0\",\"state\":\"Available\"},{\"name\":\"gpu-1\","
	  "\"state\":"
	  "\"Allocated\",\"health\":\"Unhealthy\",\"healthMessage\":\"Xid 79\",\"healthSince\":"
	  "\"2024-01-01T00:00:00Z\",\"allocations\":[{\"claimNamespace\":\"team\",\"claimName\":"
	  "\"train\"},{\"claimNamespace\":\"secret\",\"claimName\":\"hidden\"}]}]}" },
	{ "b",
	  "{\"driver\":\"d\",\"pool\":{\"name\":\"two\"},\"nodeName\":\"n2\",\"devices\":["
	  "{\"name\":\"nic\"}]}",
	  "{\"devices\":[{\"name\":\"nic\",\"state\":\"Available\"}]}" },
};

static struct json *parse(struct fixture *x, const char *text)
{
	struct json *v = NULL;

	assert_int_equal(json_parse(&x->arena, str_from(text), NULL, &v, NULL), 0);
	return v;
}

static bool may(void *arg UNUSED, struct str ns)
{
	return str_eqz(ns, "team");
}

static int setup(void **state)
{
	struct top_facts facts = { .health_known = true };
	struct fixture *x = calloc(1, sizeof(*x));

	arena_init(&x->arena, SIZE_MAX);
	top_model_init(&x->model);
	buf_init(&x->out, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(slices); i++)
		(void)top_model_put(&x->model, str_from(slices[i][0]),
				    top_slice_new(str_from(slices[i][0]), parse(x, slices[i][1]),
						  parse(x, slices[i][2]), &facts));
	x->view = (struct top_view){ .width = 120, .height = 16, .cursor = true, .may = may };
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	top_model_release(&x->model);
	buf_release(&x->out);
	arena_release(&x->arena);
	free(x);
	return 0;
}

static const char *draw(struct fixture *x)
{
	buf_clear(&x->out);
	top_draw(&x->model, &x->view, &x->out);
	(void)buf_addc(&x->out, '\0');
	return x->out.p;
}

static void assert_shows(struct fixture *x, const char *text)
{
	if (!strstr(draw(x), text))
		fail_msg("\"%s\" is not in:\n%s", text, x->out.p);
}

static void assert_hides(struct fixture *x, const char *text)
{
	if (strstr(draw(x), text))
		fail_msg("\"%s\" is in:\n%s", text, x->out.p);
}

/* Types them one by one, and draws after each. */
static void press(struct fixture *x, const int *keys)
{
	(void)draw(x);
	for (; *keys; keys++) {
		assert_true(top_key(&x->view, *keys));
		(void)draw(x);
	}
}
#define PRESS(x, ...) press(x, (const int[]){ __VA_ARGS__, 0 })

static void arrows_move_the_selected_row(void **state)
{
	struct fixture *x = *state;

	assert_shows(x, "\033[7;31md       one ");
	PRESS(x, TERMINAL_DOWN);
	assert_shows(x, "\033[7md       two ");
	PRESS(x, 'j', 'j');
	assert_int_equal(x->view.selected, 1);
	PRESS(x, TERMINAL_UP);
	assert_int_equal(x->view.selected, 0);
}

static void enter_opens_a_pool_then_a_device(void **state)
{
	struct fixture *x = *state;

	PRESS(x, '\r');
	assert_hides(x, " two ");
	assert_shows(x, "\033[7m    gpu-0 ");
	assert_shows(x, "Esc back");
	PRESS(x, 'j', '\r');
	assert_shows(x, "Device:   gpu-1\n");
	assert_shows(x, "State:    Allocated\n");
	assert_shows(x, "Health:   Unhealthy\n");
	assert_shows(x, "Message:  Xid 79\n");
	assert_shows(x, "Since:    2024-01-01T00:00:00Z\n");
	assert_shows(x, "Holder:   team/train\n");
	assert_shows(x, "Holder:   1 claim that you cannot read\n");
	assert_hides(x, "secret");
	assert_false(top_key(&x->view, '\r'));
	assert_false(top_key(&x->view, 'd'));
}

static void enter_is_for_the_row_before_it_is_drawn(void **state)
{
	struct fixture *x = *state;

	(void)draw(x);
	assert_true(top_key(&x->view, 'j'));
	top_settle(&x->model, &x->view);
	assert_true(top_key(&x->view, '\r'));
	assert_string_equal(x->view.open.pool, "two");
	assert_shows(x, "\033[7m    nic ");
}

static void escape_goes_back_to_the_row(void **state)
{
	struct fixture *x = *state;

	PRESS(x, '\r', 'j', '\r', TERMINAL_ESCAPE);
	assert_shows(x, "\033[7;31m    gpu-1 ");
	PRESS(x, TERMINAL_ESCAPE);
	assert_shows(x, "\033[7;31md       one ");
	assert_shows(x, " two ");
	assert_false(top_key(&x->view, TERMINAL_ESCAPE));
}

static void the_selection_follows_its_pool(void **state)
{
	struct fixture *x = *state;

	PRESS(x, 'j');
	x->view.sort = TOP_BY_UNHEALTHY;
	assert_shows(x, "\033[7md       two ");
	top_slice_free(top_model_put(&x->model, STR("a"), NULL));
	assert_shows(x, "\033[7md       two ");
	assert_int_equal(x->view.selected, 0);
}

static void a_device_that_is_gone_is_said_so(void **state)
{
	struct fixture *x = *state;

	PRESS(x, '\r', '\r');
	assert_shows(x, "Device:   gpu-0\n");
	top_slice_free(top_model_put(&x->model, STR("a"), NULL));
	assert_shows(x, "no slice has this device any more");
	PRESS(x, TERMINAL_ESCAPE, TERMINAL_ESCAPE);
	assert_shows(x, " two ");
}

static void keys_of_a_filter_are_text(void **state)
{
	struct fixture *x = *state;

	PRESS(x, '/', 'n', 'i', 'c', TERMINAL_ESCAPE);
	assert_false(x->view.editing);
	assert_shows(x, "/ filter: nic");
	assert_hides(x, " one ");
	PRESS(x, '\r');
	assert_shows(x, "\033[7m    nic ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(arrows_move_the_selected_row),
		TEST(enter_opens_a_pool_then_a_device),
		TEST(enter_is_for_the_row_before_it_is_drawn),
		TEST(escape_goes_back_to_the_row),
		TEST(the_selection_follows_its_pool),
		TEST(a_device_that_is_gone_is_said_so),
		TEST(keys_of_a_filter_are_text),
	};

	return cmocka_run_group_tests_name("cli/browse", tests, NULL, NULL);
}
