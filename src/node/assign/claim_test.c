/*
 * Claims in the assignment log: users, devices, the past, the index.
 */
#include "node/assign/assign_fixture.h"

static struct pod *plain(struct fixture *f, const char *uid)
{
	return fixture_pod(f, uid, "", "{\"name\":\"m\"}");
}

/* `uid` belongs to a claim that is named after its first letter. `device`: exclusive, or NULL. */
static int use_device(struct fixture *f, const struct pod *p, const char *pod_claim,
		      const char *uid, const char *device)
{
	struct str driver = STR("d.com"), exclusive = str_from(device);
	struct assign_claim c = { .uid = str_from(uid),
				  .ns = STR("ns"),
				  .name = str_of(uid, 1),
				  .drivers = &driver,
				  .ndrivers = 1,
				  .exclusive = &exclusive,
				  .nexclusive = device ? 1 : 0 };

	return assign_claim_use(f->s, p, str_from(pod_claim), &c, &f->err);
}

static int use(struct fixture *f, const struct pod *p, const char *pod_claim, const char *uid)
{
	return use_device(f, p, pod_claim, uid, NULL);
}

static void prepare(struct fixture *f, const char *uid, const char *device)
{
	struct str request = STR("r"), cdi = STR("v.com/c=x");
	struct assign_claim_device d = { .pool = STR("pool"),
					 .device = str_from(device),
					 .requests = &request,
					 .nrequests = 1,
					 .cdi = &cdi,
					 .ncdi = 1 };

	assign_claim_set_devices(f->s, str_from(uid), STR("d.com"), &d, 1);
	assign_claim_set_state(f->s, str_from(uid), ASSIGN_CLAIM_PREPARED);
}

static char *pods_of(struct fixture *f, const char *device)
{
	const struct str *v;
	size_t n = assign_pods_of_device(f->s, STR("d.com"), STR("pool"), str_from(device), &f->a,
					 &v);
	char *text = arena_strdup(&f->a, STR(""));

	for (size_t i = 0; i < n; i++)
		text = arena_printf(&f->a, "%s%.*s ", text, STR_ARG(v[i]));
	return text;
}

static void a_claim_is_used_by_several_pods(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p, *q;
	struct assign_claim c;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	p = plain(&f, "p");
	q = plain(&f, "q");
	assert_int_equal(use(&f, p, "gpu", "c1"), 0);
	assert_int_equal(use(&f, p, "again", "c1"), 0);
	assert_int_equal(use(&f, q, "gpu", "c1"), 0);
	assert_int_equal(fixture_admit(&f, p), 0);
	prepare(&f, "c1", "x");
	assert_string_equal(fixture_uses(&f, "p"), "again=d.com/pool/x gpu=d.com/pool/x ");
	assert_string_equal(pods_of(&f, "x"), "p q ");
	assert_true(assign_claim_get(f.s, STR("c1"), &f.a, &c));
	assert_int_equal(c.npods, 2);
	assert_int_equal(c.state, ASSIGN_CLAIM_PREPARED);
	assert_true(c.ndevices == 1 && str_eqz(c.devices[0].driver, "d.com") &&
		    str_eqz(c.devices[0].cdi[0], "v.com/c=x"));
	assert_false(assign_claim_unuse(f.s, STR("c1"), STR("p")));
	assert_true(assign_claim_unuse(f.s, STR("c1"), STR("q")));
	assert_true(assign_claim_unuse(f.s, STR("c1"), STR("q")));
	assert_false(assign_claim_unuse(f.s, STR("nope"), STR("q")));
}

static void the_past_is_known_until_the_pod_is_forgotten(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	const struct assign_use *v;
	struct assign_claim c;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	p = plain(&f, "p");
	assert_int_equal(use(&f, p, "gpu", "c1"), 0);
	prepare(&f, "c1", "x");
	assert_int_equal(assign_uses(f.s, STR("p"), &f.a, &v), 1);
	assert_false(v[0].past);
	assign_end_pod(f.s, STR("p"));
	assert_true(assign_claim_get(f.s, STR("c1"), &f.a, &c));
	assert_int_equal(c.npods, 1);
	assert_int_equal(use(&f, p, "gpu", "c1"), -ERR_CONFLICT);
	assert_true(assign_claim_unuse(f.s, STR("c1"), STR("p")));
	assign_claim_forget(f.s, STR("c1"));
	assert_false(assign_claim_get(f.s, STR("c1"), &f.a, &c));
	assert_string_equal(fixture_uses(&f, "p"), "gpu=d.com/pool/x ");
	assert_int_equal(assign_uses(f.s, STR("p"), &f.a, &v), 1);
	assert_true(v[0].past && str_eqz(v[0].claim_uid, "c1"));
	assert_string_equal(pods_of(&f, "x"), "p ");
	/* The same claim, prepared again for another pod, is a new record. */
	assert_int_equal(use(&f, plain(&f, "q"), "gpu", "c1"), 0);
	prepare(&f, "c1", "y");
	assert_string_equal(pods_of(&f, "x"), "p ");
	assert_string_equal(pods_of(&f, "y"), "q ");
	assign_forget_pod(f.s, STR("p"));
	assert_string_equal(pods_of(&f, "x"), "");
}

static void a_name_is_one_claims_at_a_time(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	p = plain(&f, "p");
	assert_int_equal(use(&f, p, "gpu", "c1"), 0);
	assert_int_equal(use(&f, plain(&f, "q"), "gpu", "c2"), -ERR_CONFLICT);
	assert_string_equal(f.err.msg, "old ResourceClaim with same name c and different UID c1 "
				       "still exists (previous pod force-deleted?!)");
	assert_false(assign_has_pod(f.s, STR("q")));
	assert_true(assign_claim_unuse(f.s, STR("c1"), STR("p")));
	assign_claim_set_state(f.s, STR("c1"), ASSIGN_CLAIM_UNPREPARING);
	assert_int_equal(use(&f, plain(&f, "q"), "gpu", "c1"), -ERR_CONFLICT);
	assert_string_equal(f.err.msg, "ResourceClaim c is being unprepared");
	assign_claim_forget(f.s, STR("c1"));
	assert_int_equal(use(&f, plain(&f, "q"), "gpu", "c2"), 0);
}

static void an_exclusive_device_is_one_claims_until_it_is_forgotten(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p, *q;
	struct assign_claim c;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	p = plain(&f, "p");
	q = plain(&f, "q");
	assert_int_equal(use_device(&f, p, "gpu", "c1", "d.com/pool/x"), 0);
	assert_int_equal(use_device(&f, p, "gpu", "c1", "d.com/pool/x"), 0);
	assert_true(assign_claim_get(f.s, STR("c1"), &f.a, &c));
	assert_true(c.nexclusive == 1 && str_eqz(c.exclusive[0], "d.com/pool/x"));
	assert_int_equal(use_device(&f, q, "gpu", "e1", "d.com/pool/x"), -ERR_CONFLICT);
	assert_string_equal(f.err.msg,
			    "device d.com/pool/x is held by ResourceClaim ns/c, which is not "
			    "unprepared yet (previous pod force-deleted?!)");
	assert_false(assign_claim_get(f.s, STR("e1"), &f.a, &c));
	assert_false(assign_has_pod(f.s, STR("q")));
	assert_int_equal(use_device(&f, q, "gpu", "e1", "d.com/pool/y"), 0);
	/* The claim has got another device, and releases none before it is unprepared. */
	assert_int_equal(use_device(&f, q, "gpu", "c1", "d.com/pool/z"), 0);
	assert_int_equal(use_device(&f, q, "two", "g1", "d.com/pool/x"), -ERR_CONFLICT);
	/* Its pods may end before. */
	assign_forget_pod(f.s, STR("p"));
	assert_int_equal(use_device(&f, q, "two", "g1", "d.com/pool/x"), -ERR_CONFLICT);
	assign_claim_forget(f.s, STR("c1"));
	assert_int_equal(use_device(&f, q, "two", "g1", "d.com/pool/x"), 0);
	assert_int_equal(use_device(&f, q, "three", "h1", "d.com/pool/z"), 0);
}

static void a_pod_that_is_forgotten_does_not_lose_its_claim(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_claim c;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	assert_int_equal(use(&f, plain(&f, "p"), "gpu", "c1"), 0);
	prepare(&f, "c1", "x");
	assign_forget_pod(f.s, STR("p"));
	assert_string_equal(pods_of(&f, "x"), "");
	assert_true(assign_claim_get(f.s, STR("c1"), &f.a, &c));
	assert_true(c.npods == 1 && str_eqz(c.pods[0], "p"));
	assert_true(assign_claim_unuse(f.s, STR("c1"), STR("p")));
	assert_true(assign_claim_get(f.s, STR("c1"), &f.a, &c));
	assert_int_equal(c.npods, 0);
	assign_claim_forget(f.s, STR("c1"));
}

static void a_drivers_reply_replaces_only_its_own_devices(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_claim_device other[] = { { .pool = STR("b"), .device = STR("2") },
					       { .pool = STR("a"), .device = STR("1") },
					       { .pool = STR("a"), .device = STR("1") },
					       { .pool = STR("a"), .device = STR("\xff") } };
	struct str at = STR_NULL;
	struct assign_claim c;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	assert_int_equal(use(&f, plain(&f, "p"), "gpu", "c1"), 0);
	prepare(&f, "c1", "x");
	assign_claim_set_devices(f.s, STR("c1"), STR("a.com"), other, 4);
	assert_string_equal(fixture_uses(&f, "p"), "gpu=a.com/a/1 gpu=a.com/b/2 gpu=d.com/pool/x ");
	assign_claim_set_devices(f.s, STR("c1"), STR("a.com"), NULL, 0);
	prepare(&f, "c1", "y");
	assert_string_equal(fixture_uses(&f, "p"), "gpu=d.com/pool/y ");
	assert_true(assign_claim_next(f.s, &at, &f.a, &c));
	assert_int_equal(c.ndrivers, 2);
	assert_true(str_eqz(c.drivers[0], "a.com") && str_eqz(c.drivers[1], "d.com"));
	assign_claim_forget(f.s, c.uid);
	assert_false(assign_claim_next(f.s, &at, &f.a, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_is_used_by_several_pods),
		cmocka_unit_test(the_past_is_known_until_the_pod_is_forgotten),
		cmocka_unit_test(a_name_is_one_claims_at_a_time),
		cmocka_unit_test(an_exclusive_device_is_one_claims_until_it_is_forgotten),
		cmocka_unit_test(a_pod_that_is_forgotten_does_not_lose_its_claim),
		cmocka_unit_test(a_drivers_reply_replaces_only_its_own_devices),
	};

	return cmocka_run_group_tests_name("node/assign_claim", tests, NULL, NULL);
}
