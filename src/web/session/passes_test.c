#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "web/session/passes.h"
#include "web/web_limits.h"

#define LIFE (INT64_C(60) * CLOCK_SEC)

struct world {
	struct ui_sessions *sessions;
	struct ui_passes *all;
	struct ui_now now;
};

static void *copy_name(struct arena *a UNUSED, const void *user)
{
	return (void *)(uintptr_t)user;
}

static int set_up(void **state)
{
	static const struct ui_sessions_ops ops = { .copy = copy_name };
	struct world *w = calloc(1, sizeof(*w));

	w->sessions = ui_sessions_new(&ops);
	w->all = ui_passes_new();
	w->now = (struct ui_now){ 1000 * CLOCK_SEC, INT64_C(1800000000) * CLOCK_SEC };
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	ui_passes_free(w->all);
	ui_sessions_free(w->sessions);
	free(w);
	return 0;
}

static void pass_on(struct world *w, int64_t ns)
{
	w->now.mono_ns += ns;
	w->now.wall_ns += ns;
}

static struct ui_session *log_in(struct world *w, int64_t ends_s, char ret_id[UI_SECRET_SIZE])
{
	struct ui_login who = { .name = STR("alice"), .ends_s = ends_s, .user = "alice" };

	return ui_sessions_open(w->sessions, &who, w->now, ret_id);
}

static struct ui_pass *issue(struct world *w, struct ui_session *e, char ret_secret[UI_SECRET_SIZE])
{
	struct ui_pass *p = NULL;

	assert_int_equal(ui_passes_issue(w->all, e, LIFE, w->now, ret_secret, &p, NULL), 0);
	return p;
}

static struct ui_session *find(struct world *w, const char *secret)
{
	return ui_passes_find(w->all, str_from(secret), w->now.mono_ns);
}

static void a_pass_leads_to_its_session_until_its_holder_ends_it(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], other_id[UI_SECRET_SIZE];
	char secret[UI_SECRET_SIZE], other_secret[UI_SECRET_SIZE];
	struct ui_session *e = log_in(w, 0, id), *other = log_in(w, 0, other_id);
	struct ui_pass *p = issue(w, e, secret), *q = issue(w, other, other_secret);

	assert_ptr_equal(find(w, secret), e);
	assert_ptr_equal(find(w, other_secret), other);
	assert_true(ui_pass_is_valid(p, w->now.mono_ns));
	ui_pass_end(p);
	assert_null(find(w, secret));
	assert_ptr_equal(find(w, other_secret), other);
	ui_pass_end(q);
	assert_null(find(w, other_secret));
}

static void a_wrong_secret_leads_to_nothing(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], secret[UI_SECRET_SIZE];
	struct ui_session *e = log_in(w, 0, id);
	struct ui_pass *p = issue(w, e, secret);

	/* Secrets of sessions and of passes look alike, and neither stands for the other. */
	assert_null(find(w, id));
	assert_null(ui_sessions_find(w->sessions, str_from(secret), w->now));
	assert_null(find(w, ""));
	assert_null(ui_passes_find(w->all, STR_NULL, w->now.mono_ns));
	assert_null(ui_passes_find(w->all, str_of(secret, UI_SECRET_SIZE - 2), w->now.mono_ns));
	secret[0] = secret[0] == 'A' ? 'B' : 'A';
	assert_null(find(w, secret));
	ui_pass_end(p);
}

static void a_pass_ends_after_its_time(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], secret[UI_SECRET_SIZE];
	struct ui_pass *p = issue(w, log_in(w, 0, id), secret);

	pass_on(w, LIFE - 1);
	assert_non_null(find(w, secret));
	pass_on(w, 1);
	assert_null(find(w, secret));
	assert_false(ui_pass_is_valid(p, w->now.mono_ns));
	ui_pass_end(p);
}

static void a_pass_ends_with_its_session(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], secret[UI_SECRET_SIZE];
	struct ui_pass *p = issue(w, log_in(w, 0, id), secret);

	assert_true(ui_sessions_close(w->sessions, str_from(id)));
	assert_null(find(w, secret));
	assert_false(ui_pass_is_valid(p, w->now.mono_ns));
	ui_pass_end(p);
}

static void a_pass_does_not_outlive_the_credentials_of_its_user(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], secret[UI_SECRET_SIZE];
	struct ui_pass *p = issue(w, log_in(w, w->now.wall_ns / CLOCK_SEC + 10, id), secret);

	pass_on(w, 10 * CLOCK_SEC - 1);
	assert_non_null(find(w, secret));
	pass_on(w, 1);
	assert_null(find(w, secret));
	ui_pass_end(p);
}

static void a_pass_does_not_keep_its_session_in_use(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], secret[UI_SECRET_SIZE];
	struct ui_pass *p;

	(void)log_in(w, 0, id);
	pass_on(w, UI_IDLE_NS - 2);
	p = issue(w, ui_sessions_find(w->sessions, str_from(id), w->now), secret);
	pass_on(w, LIFE / 2);
	assert_non_null(find(w, secret));
	pass_on(w, UI_IDLE_NS - LIFE / 2);
	assert_null(ui_sessions_find(w->sessions, str_from(id), w->now));
	ui_pass_end(p);
}

static void a_session_has_one_pass_and_there_are_few_in_all(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], secret[UI_SECRET_SIZE];
	struct ui_session *first = log_in(w, 0, id);
	struct ui_pass *v[UI_PASSES_MAX], *p;
	struct error err;

	v[0] = issue(w, first, secret);
	assert_int_equal(ui_passes_issue(w->all, first, LIFE, w->now, secret, &p, &err),
			 -ERR_TOO_MANY_REQUESTS);
	for (size_t i = 1; i < UI_PASSES_MAX; i++)
		v[i] = issue(w, log_in(w, 0, id), secret);
	assert_int_equal(ui_passes_issue(w->all, log_in(w, 0, id), LIFE, w->now, secret, &p, &err),
			 -ERR_TOO_MANY_REQUESTS);
	/* One that ended, and then all that are over, make room. */
	ui_pass_end(v[0]);
	v[0] = issue(w, first, secret);
	pass_on(w, LIFE);
	p = issue(w, log_in(w, 0, id), secret);
	assert_non_null(find(w, secret));
	ui_pass_end(p);
	for (size_t i = 0; i < UI_PASSES_MAX; i++)
		ui_pass_end(v[i]);
}

static void a_holder_may_keep_a_pass_for_longer_than_the_rest(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], secret[UI_SECRET_SIZE];
	struct ui_pass *p = issue(w, log_in(w, 0, id), secret);

	ui_passes_free(w->all);
	w->all = ui_passes_new();
	ui_sessions_free(w->sessions);
	w->sessions = NULL;
	assert_false(ui_pass_is_valid(p, w->now.mono_ns));
	ui_pass_end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_pass_leads_to_its_session_until_its_holder_ends_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_wrong_secret_leads_to_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pass_ends_after_its_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pass_ends_with_its_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pass_does_not_outlive_the_credentials_of_its_user,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pass_does_not_keep_its_session_in_use, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_session_has_one_pass_and_there_are_few_in_all,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_holder_may_keep_a_pass_for_longer_than_the_rest,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
