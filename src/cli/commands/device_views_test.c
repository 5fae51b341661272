/*
 * All views of random clusters show the same counts of devices, and every row of every view adds
 * up: devices = free + partial + allocated + unavailable.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "cli/describe/devices.h"
#include "cli/live/draw.h"

enum { WORLDS = 300, POOLS = 3, SLICES = 2, DEVICES = 5, CLAIMS = 6 };

struct world {
	struct arena arena;
	struct prng random;
	struct json *slices, *claims, *rules, *pods;
	struct device_view view;
	struct device_pool *pools;
	size_t npools;
};

static unsigned below(struct world *w, unsigned n)
{
	return (unsigned)prng_below(&w->random, n);
}

static struct json *parse(struct world *w, struct str text)
{
	struct json *v = NULL;
	struct error err = { 0 };

	if (json_parse(&w->arena, arena_str(&w->arena, text), NULL, &v, &err) < 0)
		fail_msg("%s: %.*s", err.msg, STR_ARG(text));
	return v;
}

/* --- random clusters -------------------------------------------------------------------------- */

static void add_device(struct world *w, struct buf *out, unsigned slice, unsigned n)
{
	(void)buf_printf(out, "%s{\"name\":\"g%u-%u\"", n ? "," : "", slice, n);
	switch (below(w, 4)) {
	case 0:
		(void)buf_addz(out, ",\"allowMultipleAllocations\":true,"
				    "\"capacity\":{\"memory\":{\"value\":\"4\"}}");
		break;
	case 1:
		(void)buf_printf(out,
				 ",\"consumesCounters\":[{\"counterSet\":\"c\",\"counters\":{"
				 "\"m\":{\"value\":\"%u\"}}}]",
				 1 + below(w, 3));
		break;
	default:
		break;
	}
	if (below(w, 6) == 0)
		(void)buf_addz(out, ",\"taints\":[{\"key\":\"maintenance\","
				    "\"effect\":\"NoSchedule\"}]");
	(void)buf_addc(out, '}');
}

/* The first slice of a pool has its counters and no devices. */
static void add_slice(struct world *w, unsigned pool, unsigned i, unsigned count)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);

	(void)buf_printf(&out,
			 "{\"metadata\":{\"name\":\"s%u-%u\",\"generation\":1},\"spec\":{"
			 "\"driver\":\"d\",\"pool\":{\"name\":\"p%u\",\"generation\":1,"
			 "\"resourceSliceCount\":%u},\"nodeName\":\"n%u\",",
			 pool, i, pool, count, pool);
	if (i == 0)
		(void)buf_addz(&out, "\"sharedCounters\":[{\"name\":\"c\",\"counters\":{\"m\":{"
				     "\"value\":\"4\"}}}]");
	else
		(void)buf_addz(&out, "\"devices\":[");
	for (unsigned n = 0, all = 1 + below(w, DEVICES); i > 0 && n < all; n++)
		add_device(w, &out, i, n);
	(void)buf_addz(&out, i == 0 ? "}}" : "]}}");
	json_append(w->slices, parse(w, buf_str(&out)));
}

/* A pod that uses the claim reports the health of its device. */
static void add_pod(struct world *w, unsigned claim, const char *device)
{
	static const char *const health[] = { "Healthy", "Unhealthy", "Unknown" };
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);

	(void)buf_printf(&out,
			 "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"pod%u\",\"uid\":\"pu%u\"},"
			 "\"spec\":{\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":"
			 "\"c%u\"}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{"
			 "\"name\":\"c\",\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\","
			 "\"resources\":[{\"resourceID\":\"d/%s\",\"health\":\"%s\"}]}]}]}}",
			 claim, claim, claim, device, health[below(w, 3)]);
	json_append(w->pods, parse(w, buf_str(&out)));
}

static void add_claim(struct world *w, unsigned i)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);
	unsigned pool = below(w, POOLS), slice = 1 + below(w, SLICES), n = below(w, DEVICES);
	bool share = below(w, 2);

	(void)buf_printf(&out,
			 "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"c%u\",\"uid\":\"u%u\"},"
			 "\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
			 "\"driver\":\"d\",\"pool\":\"p%u\",\"device\":\"g%u-%u\"",
			 i, i, pool, slice, n);
	if (share)
		(void)buf_printf(&out,
				 ",\"shareID\":\"s%u\",\"consumedCapacity\":{\"memory\":\"%u\"}", i,
				 1 + below(w, 4));
	(void)buf_printf(&out,
			 "}]}},\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"pod%u\","
			 "\"uid\":\"pu%u\"}]}}",
			 i, i);
	json_append(w->claims, parse(w, buf_str(&out)));
	if (below(w, 2))
		add_pod(w, i, arena_printf(&w->arena, "p%u/g%u-%u", pool, slice, n));
}

static void add_rule(struct world *w)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);

	(void)buf_printf(&out,
			 "{\"metadata\":{\"name\":\"r\"},\"spec\":{\"deviceSelector\":{"
			 "\"driver\":\"d\",\"pool\":\"p%u\"},\"taint\":{\"key\":\"k\","
			 "\"effect\":\"NoExecute\"}}}",
			 below(w, POOLS));
	json_append(w->rules, parse(w, buf_str(&out)));
}

static void make_world(struct world *w, uint64_t seed)
{
	*w = (struct world){ .npools = 0 };
	arena_init(&w->arena, SIZE_MAX);
	prng_init(&w->random, seed);
	w->slices = json_make_array(&w->arena);
	w->claims = json_make_array(&w->arena);
	w->rules = json_make_array(&w->arena);
	w->pods = json_make_array(&w->arena);
	for (unsigned p = 0; p < POOLS; p++) {
		unsigned missing = below(w, 5) == 0;

		for (unsigned i = 0; i < 1 + SLICES; i++)
			add_slice(w, p, i, 1 + SLICES + missing);
	}
	for (unsigned i = 0; i < CLAIMS; i++)
		add_claim(w, i);
	if (below(w, 3) == 0)
		add_rule(w);
	device_view_make(&w->arena, w->slices, &w->view);
	device_view_mark_older(&w->arena, &w->view, w->slices);
	device_view_compute(&w->arena, &w->view,
			    &(struct device_view_inputs){ .slices = w->slices,
							  .claims = w->claims,
							  .rules = w->rules,
							  .pods = w->pods },
			    0);
	w->npools = device_pools_make(&w->arena, &w->view, &w->pools);
}

/* --- views ------------------------------------------------------------------------------------ */

struct row {
	size_t devices, free, partial, allocated, unavailable, unhealthy;
};

static void assert_row(const char *view, uint64_t seed, const struct row *r, const struct row *want)
{
	if (r->devices != r->free + r->partial + r->allocated + r->unavailable)
		fail_msg("%s of seed %llu does not add up: %zu devices, %zu free, %zu partial, "
			 "%zu allocated, %zu unavailable",
			 view, (unsigned long long)seed, r->devices, r->free, r->partial,
			 r->allocated, r->unavailable);
	if (memcmp(r, want, sizeof(*r)) != 0)
		fail_msg("%s of seed %llu differs from the slices' status", view,
			 (unsigned long long)seed);
}

/* By definition: the states in the slices' statuses. */
static struct row row_of_status(const struct device_pool *p)
{
	struct row r = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		JSON_FOREACH (it, json_getz(p->slices[i].status, "devices")) {
			struct str state = json_text_at(it, "state");

			r.devices++;
			r.free += str_eqz(state, "Available");
			r.partial += str_eqz(state, "PartiallyAllocated");
			r.allocated += str_eqz(state, "Allocated");
			r.unavailable += str_eqz(state, "Unavailable");
			r.unhealthy += str_eqz(json_text_at(it, "health"), "Unhealthy");
		}
	}
	return r;
}

/* The number in the line that begins with `title`; 0 if there is no such line. */
static size_t number_after(struct str text, const char *title)
{
	ptrdiff_t at = str_find(text, str_from(title));
	struct str line;
	int64_t n = 0;

	if (at < 0)
		return 0;
	text = str_skip(text, (size_t)at + strlen(title));
	(void)str_split(&text, '\n', &line);
	assert_true(str_to_i64(str_trim(line), &n));
	return (size_t)n;
}

static struct row row_of_text(struct str text)
{
	return (struct row){ .devices = number_after(text, "\n  Total Devices:"),
			     .free = number_after(text, "\n  Available Devices:"),
			     .partial = number_after(text, "\n  Partially Allocated Devices:"),
			     .allocated = number_after(text, "\n  Allocated Devices:"),
			     .unavailable = number_after(text, "\n  Unavailable Devices:"),
			     .unhealthy = number_after(text, "\n  Unhealthy Devices:") };
}

static struct row row_of_description(struct world *w, const struct device_pool *p)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct describe d = { .arena = &w->arena, .text = BUF_INIT(MIB) };

	describe_pool_text(&d, p, STR_NULL, NULL);
	describe_finish(&d, false, &out);
	buf_release(&d.text);
	return row_of_text(buf_str(&out));
}

static struct row row_of_tree(const struct json *o)
{
	return (struct row){ .devices = (size_t)json_i64_at(o, "devices", -1),
			     .free = (size_t)json_i64_at(o, "free", -1),
			     .partial = (size_t)json_i64_at(o, "partial", -1),
			     .allocated = (size_t)json_i64_at(o, "allocated", -1),
			     .unavailable = (size_t)json_i64_at(o, "unavailable", -1),
			     .unhealthy = (size_t)json_i64_at(o, "unhealthy", -1) };
}

static struct json *tree_of_top(struct world *w)
{
	struct top_facts facts = { .health_known = true };
	struct top_view view = { .width = 0 };
	struct top_model m;
	struct json *tree;

	top_model_init(&m);
	for (size_t i = 0; i < w->view.n; i++)
		(void)top_model_put(&m, w->view.slices[i].name,
				    top_slice_new(w->view.slices[i].name, w->view.slices[i].spec,
						  w->view.slices[i].status, &facts));
	tree = top_tree(&m, &view, &w->arena);
	/* The tree borrows the model's text. */
	assert_int_equal(json_count(json_getz(tree, "pools")), w->npools);
	top_model_release(&m);
	return tree;
}

static void every_row_of_every_view_adds_up(void **state UNUSED)
{
	size_t unhealthy = 0;
	struct world w;

	for (uint64_t seed = 0; seed < WORLDS; seed++) {
		const struct json *top;

		make_world(&w, seed);
		top = json_first(json_getz(tree_of_top(&w), "pools"));
		for (size_t i = 0; i < w.npools; i++, top = top->next) {
			struct row want = row_of_status(&w.pools[i]);
			struct row described = row_of_description(&w, &w.pools[i]);
			struct row live = row_of_tree(top);

			unhealthy += want.unhealthy;
			assert_row("the status", seed, &want, &want);
			assert_row("top", seed, &live, &want);
			assert_row("describe pool", seed, &described, &want);
		}
		arena_release(&w.arena);
	}
	assert_true(unhealthy > WORLDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_of_every_view_adds_up),
	};

	return cmocka_run_group_tests_name("cli/device_views", tests, NULL, NULL);
}
