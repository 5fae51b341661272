/*
 * Which additions exceed an offer, from lines of text. The last test compares the answers with an
 * inventory that has the addition.
 */
#include "dra/inventory/excess.h"

#include "base/core/limits.h"
#include "dra/inventory/inventory_fixture.h"

static void tell(struct inventory *inv, const char *const *lines)
{
	for (size_t i = 0; lines[i]; i++)
		assert_int_equal(world_tell(inv, str_from(lines[i])), 0);
}

static void say_quantity(struct buf *out, const char *before, struct quantity q)
{
	buf_addz(out, before);
	assert_int_equal(quantity_print(q, out), 0);
}

/*
 * The excess of a claim ("NAMESPACE/NAME RESULT ..") as "PLACE [SET.]NAME WANTED of LEFT of
 * OFFERED", or "". The first `had` results are not new.
 */
static const char *excess_of(struct inventory *inv, const char *claim, size_t had)
{
	static char said[256];
	struct buf text = BUF_INIT(MIB), out = BUF_INIT(sizeof(said) - 1);
	bool added[8];
	struct inventory_excess x;
	struct json *v, *meta;
	struct arena a;

	arena_init(&a, MIB);
	world_claim(&text, str_from(claim));
	v = world_parse(&a, &text);
	meta = json_getz(v, "metadata");
	for (size_t i = 0; i < ARRAY_SIZE(added); i++)
		added[i] = i >= had;
	if (inventory_exceeds(
		    inv,
		    &(struct inventory_wish){
			    .namespace = json_text_at(meta, "namespace"),
			    .name = json_text_at(meta, "name"),
			    .results = json_pointer(v, STR("/status/allocation/devices/results")),
			    .added = added,
		    },
		    &a, &x)) {
		buf_printf(&out, "%zu %.*s%s%.*s", x.place, STR_ARG(x.set), x.set.p ? "." : "",
			   STR_ARG(x.name));
		say_quantity(&out, " ", x.wanted);
		say_quantity(&out, " of ", x.left);
		say_quantity(&out, " of ", x.offered);
	}
	(void)snprintf(said, sizeof(said), "%.*s", STR_ARG(buf_str(&out)));
	buf_release(&out);
	buf_release(&text);
	arena_release(&a);
	return said;
}

static void shares_take_up_to_the_capacity_of_a_device(void **state UNUSED)
{
	static const char *const lines[] = {
		"slice s p 1/1 all a(multi,memory=40Gi,cores=10) b(memory=40Gi)",
		"claim ns/x p/a(share=1,memory=30Gi,cores=1)",
		"claim ns/y p/a(admin)",
		NULL,
	};
	struct inventory *inv = inventory_new(inventory_everything);

	tell(inv, lines);
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,memory=10Gi,cores=9)", 0), "");
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,memory=11Gi,cores=9)", 0),
			    "0 memory 11Gi of 10Gi of 40Gi");
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,memory=10Gi,cores=10)", 0),
			    "0 cores 10 of 9 of 10");
	/* A capacity that is not listed costs nothing; one that the device lacks is not checked. */
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,cores=9,other=5)", 0), "");
	/* Several shares of one claim count together. */
	assert_string_equal(
		excess_of(inv, "ns/z p/b p/a(share=2,memory=6Gi) p/a(share=3,memory=6Gi)", 0),
		"1 memory 12Gi of 10Gi of 40Gi");
	assert_string_equal(excess_of(inv, "ns/z p/a(admin,share=2,memory=50Gi)", 0), "");
	/* Unknown devices and pools. */
	assert_string_equal(excess_of(inv, "ns/z p/c(share=2,memory=50Gi)", 0), "");
	assert_string_equal(excess_of(inv, "ns/z q/a(share=2,memory=50Gi)", 0), "");
	/* A claim does not compete with itself. */
	assert_string_equal(excess_of(inv, "ns/x p/a(share=5,memory=40Gi,cores=10)", 0), "");
	assert_string_equal(excess_of(inv, "ns/x p/a(share=5,memory=41Gi,cores=10)", 0),
			    "0 memory 41Gi of 40Gi of 40Gi");
	tell(inv, (const char *const[]){ "remove claim ns/x", NULL });
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,memory=40Gi)", 0), "");
	inventory_free(inv);
}

static void a_lowered_offer_refuses_only_what_takes_more(void **state UNUSED)
{
	static const char *const lines[] = {
		"slice s p 1/1 all a(multi,memory=40Gi,cores=10)",
		"claim ns/x p/a(share=1,memory=30Gi,cores=1)",
		"slice t p 2/1 all a(multi,memory=20Gi,cores=10)",
		NULL,
	};
	struct inventory *inv = inventory_new(inventory_everything);

	tell(inv, lines);
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,memory=1Gi,cores=1)", 0),
			    "0 memory 1Gi of 0 of 20Gi");
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,cores=9)", 0), "");
	assert_string_equal(
		excess_of(inv, "ns/x p/a(share=1,memory=30Gi,cores=1) p/a(share=2,cores=9)", 1),
		"");
	assert_string_equal(excess_of(inv,
				      "ns/x p/a(share=1,memory=30Gi,cores=1) "
				      "p/a(share=2,memory=1Gi)",
				      1),
			    "1 memory 31Gi of 20Gi of 20Gi");
	/* The newest generation that is there counts. */
	tell(inv, (const char *const[]){ "remove slice t", NULL });
	assert_string_equal(excess_of(inv, "ns/z p/a(share=2,memory=1Gi,cores=1)", 0), "");
	inventory_free(inv);
}

static void devices_share_the_counters_of_their_pool(void **state UNUSED)
{
	static const char *const lines[] = {
		"counters c p 1/2 all s.memory=40Gi t.memory=1",
		"slice d p 1/2 all a(s.memory:20Gi) b(s.memory:20Gi) w(s.memory:40Gi) "
		"m(multi,cores=4,s.memory:20Gi) t(t.memory:1) u(u.memory:1)",
		"claim ns/x p/a",
		NULL,
	};
	struct inventory *inv = inventory_new(inventory_everything);

	tell(inv, lines);
	assert_string_equal(excess_of(inv, "ns/z p/b", 0), "");
	assert_string_equal(excess_of(inv, "ns/z p/w", 0), "0 s.memory 40Gi of 20Gi of 40Gi");
	assert_string_equal(excess_of(inv, "ns/z p/w(admin)", 0), "");
	assert_string_equal(excess_of(inv, "ns/z p/t p/b", 0), "");
	/* The devices of a claim count together. */
	assert_string_equal(excess_of(inv, "ns/z p/t p/b p/m(share=1,cores=1)", 0),
			    "1 s.memory 40Gi of 20Gi of 40Gi");
	/* A claim does not compete with itself. */
	assert_string_equal(excess_of(inv, "ns/x p/w", 0), "");
	assert_string_equal(excess_of(inv, "ns/x p/a p/b", 1), "");
	/* A device in shares is paid for once. */
	tell(inv, (const char *const[]){ "claim ns/y p/m(share=1,cores=1)", NULL });
	assert_string_equal(excess_of(inv, "ns/z p/m(share=2,cores=3)", 0), "");
	assert_string_equal(excess_of(inv, "ns/z p/b", 0), "0 s.memory 20Gi of 0 of 40Gi");
	tell(inv, (const char *const[]){ "remove claim ns/x", NULL });
	assert_string_equal(excess_of(inv, "ns/z p/b", 0), "");
	/* A counter that the pool lacks is not checked. */
	assert_string_equal(excess_of(inv, "ns/z p/u", 0), "");
	inventory_free(inv);
}

static void a_pool_with_duplicate_names_is_not_checked(void **state UNUSED)
{
	static const char *const lines[] = {
		"counters c p 1/3 all s.memory=1",
		"slice d p 1/3 n1 a(multi,memory=1,s.memory:2)",
		"slice e p 1/3 n2 a(multi,memory=1,s.memory:2)",
		NULL,
	};
	struct inventory *inv = inventory_new(inventory_everything);

	tell(inv, lines);
	assert_string_equal(excess_of(inv, "ns/z p/a(share=1,memory=9)", 0), "");
	tell(inv, (const char *const[]){ "remove slice e", NULL });
	assert_string_equal(excess_of(inv, "ns/z p/a(share=1,memory=9)", 0),
			    "0 memory 9 of 1 of 1");
	assert_string_equal(excess_of(inv, "ns/z p/a(share=1)", 0), "0 s.memory 2 of 1 of 1");
	inventory_free(inv);
}

/* The slices of each node may be a pool of their own to upstream. */
static void a_counter_of_two_slices_is_not_checked(void **state UNUSED)
{
	static const char *const lines[] = {
		"counters c1 p 1/2 n1 s.memory=2 t.memory=2",
		"slice d1 p 1/2 n1 a1(s.memory:2) t1(t.memory:2) u1(t.memory:1)",
		"counters c2 p 1/2 n2 s.memory=2",
		"slice d2 p 1/2 n2 a2(s.memory:2)",
		"claim ns/x p/a1 p/t1",
		NULL,
	};
	struct inventory *inv = inventory_new(inventory_everything);

	tell(inv, lines);
	assert_string_equal(excess_of(inv, "ns/z p/a2", 0), "");
	assert_string_equal(excess_of(inv, "ns/z p/u1", 0), "0 t.memory 1 of 0 of 2");
	tell(inv, (const char *const[]){ "remove slice c2", NULL });
	assert_string_equal(excess_of(inv, "ns/z p/a2", 0), "0 s.memory 2 of 0 of 2");
	inventory_free(inv);
}

static void all_claims_or_slices_may_be_removed(void **state UNUSED)
{
	static const char *const slices[] = {
		"counters c p 1/2 all s.memory=2",
		"slice d p 1/2 all a(s.memory:1) b(s.memory:2)",
		"slice e q 1/1 n1 a(multi,x=1)",
		NULL,
	};
	static const char *const claims[] = { "claim ns/x p/a q/a(share=1,x=1)", "assume ns/y r/a",
					      NULL };
	struct inventory *inv = inventory_new(inventory_everything);

	tell(inv, slices);
	tell(inv, claims);
	assert_string_equal(excess_of(inv, "ns/z p/b", 0), "0 s.memory 2 of 1 of 2");
	inventory_remove_slices(inv);
	assert_int_equal(inventory_devices(inv), 0);
	assert_string_equal(excess_of(inv, "ns/z p/b", 0), "");
	tell(inv, slices);
	assert_int_equal(inventory_devices(inv), 3);
	assert_string_equal(excess_of(inv, "ns/z q/a(share=2,x=1)", 0), "0 x 1 of 0 of 1");
	inventory_remove_claims(inv);
	assert_int_equal(inventory_claims(inv), 0);
	assert_string_equal(excess_of(inv, "ns/z p/b q/a(share=2,x=1)", 0), "");
	tell(inv, claims);
	assert_string_equal(excess_of(inv, "ns/z p/b", 0), "0 s.memory 2 of 1 of 2");
	inventory_remove_claims(inv);
	inventory_remove_slices(inv);
	assert_null(inventory_pool_after(inv, STR("")));
	inventory_free(inv);
}

/* --- random clusters ------------------------------------------------------------------ */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* A random claim of one to three results on devices a, b (shareable) and c, d. */
static void draw_claim(struct buf *out, uint32_t *seed, uint32_t claim)
{
	buf_printf(out, "ns/c%u", claim);
	for (uint32_t i = draw(seed, 3) + 1; i > 0; i--) {
		uint32_t device = draw(seed, 4);

		if (device < 2)
			buf_printf(out, " p/%c(share=%u%u,x=%u)", 'a' + (int)device, claim, i,
				   draw(seed, 4));
		else
			buf_printf(out, " p/%c", 'a' + (int)device);
	}
	buf_addc(out, 0);
}

/* Whether some capacity or counter of the pool is overdrawn. */
static bool overdrawn(struct inventory *inv)
{
	struct inventory_pool *pool = inventory_pool(inv, STR(WORLD_DRIVER), STR("p"));
	bool over = pool->overdrawn > 0;

	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++) {
			const struct inventory_device *d = &pool->slices[i]->devices[k];

			for (size_t c = 0; c < d->view.ncapacity; c++)
				over |= quantity_sign(inventory_remaining(d, &d->capacities[c])) <
					0;
		}
	return over;
}

/*
 * Puts a random claim, and removes it if it exceeds an offer. While nothing is overdrawn, it does
 * so exactly if it overdraws something.
 */
static bool random_claim_exceeds(struct inventory *inv, uint32_t *seed)
{
	struct buf text = BUF_INIT(KIB), line = BUF_INIT(KIB);
	uint32_t claim = draw(seed, 5);
	char name[16];
	bool exceeds;

	draw_claim(&text, seed, claim);
	exceeds = excess_of(inv, text.p, 0)[0] != 0;
	buf_printf(&line, "claim %s", text.p);
	assert_int_equal(world_tell(inv, buf_str(&line)), 0);
	if (overdrawn(inv) != exceeds)
		fail_msg("%s: exceeds %d", text.p, exceeds);
	(void)snprintf(name, sizeof(name), "c%u", claim);
	if (exceeds)
		inventory_remove_claim(inv, STR("ns"), str_from(name));
	buf_release(&text);
	buf_release(&line);
	return exceeds;
}

static void an_excess_is_what_would_be_overdrawn(void **state UNUSED)
{
	static const char *const lines[] = {
		"counters s p 1/2 all s.n=5",
		"slice d p 1/2 all a(multi,x=6,s.n:2) b(multi,x=4) c(s.n:2) d(s.n:3)",
		NULL,
	};
	uint32_t seed = 1, refused = 0;

	for (int round = 0; round < 300; round++) {
		struct inventory *inv = inventory_new(inventory_everything);

		tell(inv, lines);
		for (int step = 0; step < 30; step++)
			refused += random_claim_exceeds(inv, &seed);
		inventory_free(inv);
	}
	assert_true(refused > 1000 && refused < 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_take_up_to_the_capacity_of_a_device),
		cmocka_unit_test(a_lowered_offer_refuses_only_what_takes_more),
		cmocka_unit_test(devices_share_the_counters_of_their_pool),
		cmocka_unit_test(a_pool_with_duplicate_names_is_not_checked),
		cmocka_unit_test(a_counter_of_two_slices_is_not_checked),
		cmocka_unit_test(all_claims_or_slices_may_be_removed),
		cmocka_unit_test(an_excess_is_what_would_be_overdrawn),
	};

	return cmocka_run_group_tests_name("dra/excess", tests, NULL, NULL);
}
