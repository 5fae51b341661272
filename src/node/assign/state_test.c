/*
 * The checkpoint of assignments: it is read back unchanged, and anything else is rejected.
 */
#include "node/assign/assign_fixture.h"

static void fill(struct fixture *f)
{
	struct str request = STR("r"), driver = STR("d.com"), exclusive = STR("d.com/pool/y");
	struct assign_claim_device d = { .pool = STR("pool"),
					 .device = STR("x"),
					 .share_id = STR("s"),
					 .requests = &request,
					 .nrequests = 1 };
	struct assign_claim c = { .uid = STR("c1"),
				  .ns = STR("ns"),
				  .name = STR("c"),
				  .drivers = &driver,
				  .ndrivers = 1,
				  .exclusive = &exclusive,
				  .nexclusive = 1 };
	struct pod *p, *q;

	fixture_list(f, GPU, "Dabc", ASSIGN_HEALTHY);
	p = fixture_run(f, "p", 2);
	assign_set_answer(f->s, STR("p"), STR("main"), STR(GPU), STR("\x0a\0\xff"));
	q = fixture_run(f, "q", 1);
	assert_int_equal(assign_claim_use(f->s, p, STR("one"), &c, &f->err), 0);
	assert_int_equal(assign_claim_use(f->s, q, STR("two"), &c, &f->err), 0);
	assign_claim_set_devices(f->s, STR("c1"), driver, &d, 1);
	assign_end_pod(f->s, STR("q"));
	assign_claim_unuse(f->s, STR("c1"), STR("q"));
	c.uid = STR("c2");
	c.name = STR("other");
	c.nexclusive = 0;
	assert_int_equal(assign_claim_use(f->s, p, STR("past"), &c, &f->err), 0);
	assign_claim_set_devices(f->s, STR("c2"), driver, &d, 1);
	assign_claim_unuse(f->s, STR("c2"), STR("p"));
	assign_claim_forget(f->s, STR("c2"));
}

static void the_written_state_is_read_back(void **state)
{
	CLEANUP(fixture_release) struct fixture f, g;
	struct assign_request r;
	struct str at = STR_NULL, packed;
	const struct str *pods;
	char *text;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_init(&g, (struct assign_opts){ 0 }, 2, 1);
	fill(&f);
	text = fixture_encode(&f);
	assert_int_equal(assign_decode(g.s, str_from(text), &g.err), 0);
	assert_string_equal(fixture_encode(&g), text);
	assert_string_equal(fixture_uses(&g, "p"), fixture_uses(&f, "p"));
	assert_string_equal(fixture_uses(&g, "q"), "main:btwo=d.com/pool/x ");
	assert_true(assign_next_answer(g.s, STR("p"), STR("main"), &at, &packed, &g.a, &r));
	assert_true(str_eq(packed, STR("\x0a\0\xff")));
	assert_int_equal(
		assign_pods_of_device(g.s, STR("d.com"), STR("pool"), STR("x"), &g.a, &pods), 2);
	/* Held devices stay held when the plugin is back; those of the ended pod are free. */
	fixture_list(&g, GPU, "Dabc", ASSIGN_HEALTHY);
	fixture_run(&g, "r", 1);
	assert_string_equal(fixture_uses(&g, "r"), "main:b");
}

static void resources_come_back_without_devices(void **state)
{
	CLEANUP(fixture_release) struct fixture f, g;
	struct str at = STR_NULL;
	int64_t capacity, allocatable;
	enum assign_health h = ASSIGN_HEALTHY;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_init(&g, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "a", ASSIGN_HEALTHY);
	fixture_list(&f, "x.com/gone", "a", ASSIGN_HEALTHY);
	fixture_run(&f, "p", 1);
	assert_int_equal(
		fixture_admit(&f, fixture_pod(&f, "q", "",
					      fixture_container(&f, "m", "\"x.com/gone\":1"))),
		0);
	assign_drop_resource(f.s, STR("x.com/gone"));
	assert_int_equal(assign_decode(g.s, str_from(fixture_encode(&f)), &g.err), 0);
	assert_true(assign_next_resource(g.s, &at, &capacity, &allocatable));
	assert_true(str_eqz(at, GPU) && capacity == 0 && allocatable == 0);
	assert_false(assign_next_resource(g.s, &at, &capacity, &allocatable));
	assert_false(assign_device_health(g.s, STR(GPU), STR("a"), &h, NULL));
	assert_int_equal(h, ASSIGN_UNKNOWN);
	assert_string_equal(fixture_uses(&g, "q"), "m:a");
}

static void cpus_and_memory_come_back(void **state)
{
	static const int64_t reserved[] = { 1 << 20, 0 };
	struct assign_opts opts = { .static_cpus = true,
				    .static_memory = true,
				    .reserved_cpus = STR("0"),
				    .reserved_memory = reserved,
				    .nreserved_memory = 2 };
	CLEANUP(fixture_release) struct fixture f, g;
	char *text;

	fixture_init(&f, opts, 8, 2);
	fixture_init(&g, opts, 8, 2);
	assert_int_equal(
		fixture_admit(&f,
			      fixture_pod(&f, "p", "",
					  fixture_container(&f, "m",
							    "\"cpu\":\"2\",\"memory\":\"1Gi\""))),
		0);
	text = fixture_encode(&f);
	assert_int_equal(assign_decode(g.s, str_from(text), &g.err), 0);
	assert_string_equal(fixture_encode(&g), text);
	assert_string_equal(assign_cpus(g.s, STR("p"), STR("m"), &g.a).p, "1-2");
	assert_string_equal(assign_cpus(g.s, STR("p"), STR("x"), &g.a).p, "0,3-7");
	assert_string_equal(assign_mems(g.s, STR("p"), STR("m"), &g.a).p, "0");
}

static void an_invalid_state_leaves_it_empty(void **state)
{
#define POD(uid, ended, id)                                                                  \
	"{\"uid\":\"" uid "\",\"namespace\":\"n\",\"name\":\"n\",\"ended\":" ended           \
	",\"containers\":[{\"name\":\"m\",\"kind\":\"main\",\"devices\":[{\"resource\":\"r/" \
	"x\",\"ids\""                                                                        \
	":[{\"id\":\"" id "\"}]}],\"memory\":[]}],\"claims\":[]}"
#define CLAIM(uid)                                                                             \
	"{\"uid\":\"" uid "\",\"namespace\":\"n\",\"name\":\"" uid "\",\"unpreparing\":false," \
	"\"drivers\":[],\"pods\":[],\"exclusive\":[\"d/p/x\"],\"devices\":[]}"
#define LOG(pods) "{\"resources\":[],\"claims\":[],\"pods\":[" pods "]}"
	static const char *const good = LOG(POD("p", "false", "a") "," POD("q", "true", "a"));
	static const char *const bad[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"resources\":[],\"claims\":[]}",
		"{\"resources\":[\"\"],\"claims\":[],\"pods\":[]}",
		"{\"resources\":[1],\"claims\":[],\"pods\":[]}",
		"{\"resources\":[],\"claims\":[{}],\"pods\":[]}",
		"{\"resources\":[],\"claims\":[" CLAIM("a") "," CLAIM("b") "],\"pods\":[]}",
		LOG("{}"),
		LOG(POD("p", "false", "a") "," POD("p", "false", "b")),
		LOG(POD("p", "false", "a") "," POD("q", "false", "a")),
		LOG(POD("p", "false", "")),
		LOG(POD("", "false", "a")),
		LOG(POD("p\\u0000", "false", "a")),
		LOG("{\"uid\":\"u\",\"namespace\":\"n\",\"name\":\"n\",\"ended\":false,"
		    "\"containers\":[],\"claims\":[{\"name\":\"c\",\"uid\":\"no\"}]}"),
		LOG("{\"uid\":\"u\",\"namespace\":\"n\",\"name\":\"n\",\"ended\":false,"
		    "\"containers\":[{\"name\":\"m\",\"kind\":\"odd\",\"devices\":[]}],"
		    "\"claims\":[]}"),
	};
	CLEANUP(fixture_release) struct fixture f;
	char *empty;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	empty = fixture_encode(&f);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (assign_decode(f.s, str_from(bad[i]), &f.err) != -ERR_INVALID)
			fail_msg("taken: %s", bad[i]);
		assert_string_equal(fixture_encode(&f), empty);
	}
	assert_int_equal(assign_decode(f.s, str_from(good), &f.err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_written_state_is_read_back),
		cmocka_unit_test(resources_come_back_without_devices),
		cmocka_unit_test(cpus_and_memory_come_back),
		cmocka_unit_test(an_invalid_state_leaves_it_empty),
	};

	return cmocka_run_group_tests_name("node/assign_state", tests, NULL, NULL);
}
