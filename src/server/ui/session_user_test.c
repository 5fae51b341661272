#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "server/ui/session_user.h"
#include "web/web_limits.h"

#define HOUR  (INT64_C(3600) * CLOCK_SEC)
#define START INT64_C(1893456000) /* 2030-01-01 */

struct world {
	struct ui_sessions *all;
	struct ui_now now;
};

static const struct user alice = { .name = STR("alice"), .authenticated = true };
static const struct user bob = { .name = STR("bob"), .authenticated = true };

static int set_up(void **state)
{
	static struct world w;

	w = (struct world){ ui_sessions_new(&session_user_ops), { HOUR, START * CLOCK_SEC } };
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	ui_sessions_free(((struct world *)*state)->all);
	return 0;
}

static struct ui_session *user_open(struct world *w, const struct user *u, char *ret_id)
{
	struct ui_login who = session_user_login(u);

	return ui_sessions_open(w->all, &who, w->now, ret_id);
}

static int64_t user_add_code(struct world *w, const struct user *u, int64_t life_ns, char *ret_code)
{
	struct ui_login who = session_user_login(u);

	return ui_sessions_add_code(w->all, &who, life_ns, w->now, ret_code);
}

static void pass(struct world *w, int64_t ns)
{
	w->now.mono_ns += ns;
	w->now.wall_ns += ns;
}

static bool is_open(struct world *w, const char *id)
{
	return ui_sessions_find(w->all, str_from(id), w->now) != NULL;
}

/* --- secrets ---------------------------------------------------------------------- */

static void a_session_is_found_by_its_id_alone(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], other[UI_SECRET_SIZE];
	struct ui_session *s = user_open(w, &alice, id);

	assert_int_equal(strlen(id), 43);
	assert_ptr_equal(ui_sessions_find(w->all, str_from(id), w->now), s);
	(void)user_open(w, &bob, other);
	assert_string_not_equal(id, other);
	assert_string_equal(ui_sessions_find(w->all, str_from(other), w->now)->login.name.p, "bob");
	/* Every character counts. */
	for (size_t i = 0; i < 43; i++) {
		char wrong[UI_SECRET_SIZE];

		memcpy(wrong, id, sizeof(wrong));
		wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
		assert_false(is_open(w, wrong));
	}
	assert_true(is_open(w, id));
}

static void nothing_that_is_no_id_is_found(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE], long_id[64];

	(void)user_open(w, &alice, id);
	(void)snprintf(long_id, sizeof(long_id), "%sA", id);
	assert_false(is_open(w, ""));
	assert_false(is_open(w, long_id));
	assert_null(ui_sessions_find(w->all, str_of(id, 42), w->now));
	assert_null(ui_sessions_find(w->all, str_of(id, 0), w->now));
	assert_null(ui_sessions_find(w->all, STR_NULL, w->now));
	assert_null(ui_sessions_take_code(w->all, str_from(id), w->now));
}

static void the_secret_is_not_kept(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE];
	struct ui_session *s = user_open(w, &alice, id);
	uint8_t hash[PKI_SHA256_SIZE];

	pki_sha256(str_from(id), hash);
	assert_memory_equal(s->hash, hash, sizeof(hash));
	assert_null(memmem(s, sizeof(*s), id, 8));
}

/* --- the user --------------------------------------------------------------------- */

static void the_user_is_a_copy_to_the_last_text(void **state)
{
	struct world *w = *state;
	char text[] = "name uid group key value ns account auid pod puid node nuid secret suid";
	struct str v[14], rest = str_from(text);
	struct user_extra extra;
	struct user_binding b;
	struct user u;
	const struct user *copy;
	char id[UI_SECRET_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		assert_true(str_split(&rest, ' ', &v[i]));
	extra = (struct user_extra){ v[3], &v[4], 1 };
	b = (struct user_binding){ v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13] };
	u = (struct user){ .name = v[0],
			   .uid = v[1],
			   .groups = &v[2],
			   .ngroups = 1,
			   .extras = &extra,
			   .nextras = 1,
			   .binding = &b,
			   .ends_s = START + 5,
			   .authenticated = true };
	copy = session_user(user_open(w, &u, id));
	memset(text, 'x', sizeof(text) - 1);
	b = (struct user_binding){ 0 };
	extra = (struct user_extra){ 0 };
	memset(v, 0, sizeof(v));
	assert_string_equal(copy->name.p, "name");
	assert_string_equal(copy->uid.p, "uid");
	assert_int_equal(copy->ngroups, 1);
	assert_string_equal(copy->groups[0].p, "group");
	assert_string_equal(user_extra(copy, STR("key")).p, "value");
	assert_string_equal(copy->binding->ns.p, "ns");
	assert_string_equal(copy->binding->account.p, "account");
	assert_string_equal(copy->binding->account_uid.p, "auid");
	assert_string_equal(copy->binding->pod.p, "pod");
	assert_string_equal(copy->binding->pod_uid.p, "puid");
	assert_string_equal(copy->binding->node.p, "node");
	assert_string_equal(copy->binding->node_uid.p, "nuid");
	assert_string_equal(copy->binding->secret.p, "secret");
	assert_string_equal(copy->binding->secret_uid.p, "suid");
	assert_int_equal(copy->ends_s, START + 5);
	assert_true(copy->authenticated);
}

static void a_held_session_outlives_its_end(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE];
	struct ui_session *s = ui_session_ref(user_open(w, &alice, id));

	assert_false(atomic_load(&s->over));
	assert_true(ui_sessions_close(w->all, str_from(id)));
	assert_true(atomic_load(&s->over));
	assert_string_equal(s->login.name.p, "alice");
	assert_false(is_open(w, id));
	assert_false(ui_sessions_close(w->all, str_from(id)));
	ui_session_unref(s);
}

/* --- time ------------------------------------------------------------------------- */

static void an_idle_session_ends_after_an_hour(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE];

	(void)user_open(w, &alice, id);
	for (int i = 0; i < 3; i++) {
		pass(w, HOUR - 1);
		assert_true(is_open(w, id));
	}
	pass(w, HOUR);
	assert_false(is_open(w, id));
	/* It does not come back if the clock does. */
	pass(w, -HOUR);
	assert_false(is_open(w, id));
}

static void a_busy_session_ends_after_twelve_hours(void **state)
{
	struct world *w = *state;
	char id[UI_SECRET_SIZE];
	int64_t end_ns = w->now.wall_ns + 12 * HOUR;
	struct ui_session *s = user_open(w, &alice, id);

	assert_int_equal(ui_session_ends(s, w->now), end_ns);
	for (int i = 0; i < 23; i++) {
		pass(w, HOUR / 2);
		assert_true(is_open(w, id));
		assert_int_equal(ui_session_ends(s, w->now), end_ns);
	}
	pass(w, HOUR / 2);
	assert_false(is_open(w, id));
}

static void a_session_ends_with_the_token(void **state)
{
	struct world *w = *state;
	struct user u = alice;
	char id[UI_SECRET_SIZE];
	struct ui_session *s;

	u.ends_s = START + 600;
	s = user_open(w, &u, id);
	assert_int_equal(ui_session_ends(s, w->now), (START + 600) * CLOCK_SEC);
	pass(w, 599 * CLOCK_SEC);
	assert_true(is_open(w, id));
	pass(w, CLOCK_SEC);
	assert_false(is_open(w, id));
}

static void a_token_ends_by_the_wall_clock(void **state)
{
	struct world *w = *state;
	struct user u = alice;
	char id[UI_SECRET_SIZE], plain[UI_SECRET_SIZE];

	u.ends_s = START + 600;
	(void)user_open(w, &u, id);
	(void)user_open(w, &alice, plain);
	w->now.wall_ns += 600 * CLOCK_SEC;
	assert_false(is_open(w, id));
	w->now.wall_ns += 100 * HOUR;
	assert_true(is_open(w, plain));
}

/* --- codes ------------------------------------------------------------------------ */

static void a_code_is_good_once(void **state)
{
	struct world *w = *state;
	char code[UI_SECRET_SIZE];
	struct ui_session *s;

	assert_int_equal(user_add_code(w, &alice, 600 * CLOCK_SEC, code),
			 (START + 600) * CLOCK_SEC);
	/* A code is not a session. */
	assert_false(is_open(w, code));
	s = ui_sessions_take_code(w->all, str_from(code), w->now);
	assert_non_null(s);
	assert_string_equal(s->login.name.p, "alice");
	assert_null(ui_sessions_take_code(w->all, str_from(code), w->now));
	ui_session_unref(s);
}

static void a_code_ends(void **state)
{
	struct world *w = *state;
	struct user u = alice;
	char code[UI_SECRET_SIZE], brief[UI_SECRET_SIZE];

	u.ends_s = START + 60;
	(void)user_add_code(w, &alice, 600 * CLOCK_SEC, code);
	assert_int_equal(user_add_code(w, &u, 600 * CLOCK_SEC, brief), (START + 60) * CLOCK_SEC);
	pass(w, 60 * CLOCK_SEC);
	assert_null(ui_sessions_take_code(w->all, str_from(brief), w->now));
	pass(w, 540 * CLOCK_SEC);
	assert_null(ui_sessions_take_code(w->all, str_from(code), w->now));
	pass(w, -600 * CLOCK_SEC);
	assert_null(ui_sessions_take_code(w->all, str_from(code), w->now));
}

/* --- bounds ----------------------------------------------------------------------- */

static void one_user_cannot_drive_out_another(void **state)
{
	struct world *w = *state;
	char first[UI_SECRET_SIZE], second[UI_SECRET_SIZE], id[UI_SECRET_SIZE];
	char theirs[UI_SECRET_SIZE];

	(void)user_open(w, &bob, theirs);
	pass(w, 1);
	(void)user_open(w, &alice, first);
	pass(w, 1);
	(void)user_open(w, &alice, second);
	pass(w, 1);
	assert_true(is_open(w, first)); /* so the second was idle for longest */
	for (size_t i = 2; i < UI_USER_SESSIONS_MAX + 1; i++) {
		pass(w, 1);
		(void)user_open(w, &alice, id);
	}
	assert_false(is_open(w, second));
	assert_true(is_open(w, first));
	for (size_t i = 0; i < 2 * UI_SESSIONS_MAX; i++) {
		pass(w, 1);
		(void)user_open(w, &alice, id);
	}
	assert_true(is_open(w, theirs));
	assert_true(is_open(w, id));
	assert_false(is_open(w, first));
}

static void the_most_idle_of_all_makes_room(void **state)
{
	struct world *w = *state;
	char ids[UI_SESSIONS_MAX + 1][UI_SECRET_SIZE], name[32];
	uint64_t ended = ui_sessions_ended(w->all);

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct user u = alice;

		u.name = str_of(name, (size_t)snprintf(name, sizeof(name), "user-%zu", i));
		(void)user_open(w, &u, ids[i]);
		pass(w, 1);
		assert_true(is_open(w, ids[0]));
	}
	assert_int_equal(ui_sessions_ended(w->all), ended + 1);
	assert_true(is_open(w, ids[0]));
	assert_false(is_open(w, ids[1]));
	for (size_t i = 2; i < ARRAY_SIZE(ids); i++)
		assert_true(is_open(w, ids[i]));
}

static void ended_sessions_make_room_first(void **state)
{
	struct world *w = *state;
	char first[UI_SECRET_SIZE], id[UI_SECRET_SIZE];
	struct user brief = alice;

	(void)user_open(w, &alice, first);
	brief.ends_s = START + 1;
	for (size_t i = 1; i < UI_USER_SESSIONS_MAX; i++)
		(void)user_open(w, &brief, id);
	pass(w, CLOCK_SEC);
	(void)user_open(w, &alice, id);
	assert_true(is_open(w, first));
}

static void codes_are_bounded(void **state)
{
	struct world *w = *state;
	char theirs[UI_SECRET_SIZE], first[UI_SECRET_SIZE], code[UI_SECRET_SIZE];
	struct ui_session *s;

	(void)user_add_code(w, &bob, HOUR, theirs);
	(void)user_add_code(w, &alice, HOUR, first);
	for (size_t i = 0; i < UI_CODES_MAX + 5; i++) {
		pass(w, 1);
		(void)user_add_code(w, &alice, HOUR, code);
	}
	assert_null(ui_sessions_take_code(w->all, str_from(first), w->now));
	s = ui_sessions_take_code(w->all, str_from(theirs), w->now);
	assert_non_null(s);
	ui_session_unref(s);
	s = ui_sessions_take_code(w->all, str_from(code), w->now);
	assert_non_null(s);
	ui_session_unref(s);
}

static void failures_are_counted_by_the_second(void **state)
{
	struct world *w = *state;

	assert_false(ui_sessions_busy(w->all, w->now));
	for (int i = 0; i < UI_FAILURES_MAX; i++) {
		assert_false(ui_sessions_busy(w->all, w->now));
		ui_sessions_failed(w->all, w->now);
	}
	assert_true(ui_sessions_busy(w->all, w->now));
	pass(w, CLOCK_SEC);
	assert_false(ui_sessions_busy(w->all, w->now));
	ui_sessions_failed(w->all, w->now);
	assert_false(ui_sessions_busy(w->all, w->now));
}

/* --- bindings --------------------------------------------------------------------- */

static void a_session_ends_with_what_its_token_is_bound_to(void **state)
{
	static const struct user_binding b = { .account = STR("a"),
					       .account_uid = STR("1"),
					       .pod = STR("p"),
					       .pod_uid = STR("2"),
					       .node = STR("n"),
					       .node_uid = STR("3") };
	const struct user bound = { .name = STR("carol"), .binding = &b };
	struct world *w = *state;
	char id[UI_SECRET_SIZE], other[UI_SECRET_SIZE], code[UI_SECRET_SIZE];

	(void)user_open(w, &alice, other);
	for (const char *uid = "12"; *uid; uid++) {
		(void)user_open(w, &bound, id);
		(void)user_add_code(w, &bound, HOUR, code);
		session_user_unbind(w->all, STR("3")); /* the pod's node does not matter */
		session_user_unbind(w->all, STR(""));
		assert_true(is_open(w, id));
		session_user_unbind(w->all, str_of(uid, 1));
		assert_false(is_open(w, id));
		assert_null(ui_sessions_take_code(w->all, str_from(code), w->now));
	}
	assert_true(is_open(w, other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_session_is_found_by_its_id_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(nothing_that_is_no_id_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_secret_is_not_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_user_is_a_copy_to_the_last_text, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_held_session_outlives_its_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_idle_session_ends_after_an_hour, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_busy_session_ends_after_twelve_hours, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_session_ends_with_the_token, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_token_ends_by_the_wall_clock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_code_is_good_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_code_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_user_cannot_drive_out_another, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_most_idle_of_all_makes_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_sessions_make_room_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(codes_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_session_ends_with_what_its_token_is_bound_to,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(failures_are_counted_by_the_second, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
