/*
 * Compares the allocator with a brute-force search in upstream's order, on small random inputs with
 * all features. If brute force finds nothing, the allocator must not either. Otherwise both must
 * find the same first result. The rules are also checked on the result alone.
 *
 * Then come inputs on which brute force never ends: the number of steps must be bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>

#include "api/api_limits.h"
#include "base/core/random.h"
#include "dra/allocate/allocate.h"
#include "dra/allocate/brute_fixture.h"
#include "dra/allocate/memo_fixture.h"
#include "dra/allocate/outcome_fixture.h"
#include "dra/dra_limits.h"

enum { INPUTS = 8000 };

/* --- rules, plainly ----------------------------------------------------------------- */

static const struct request *request_of(const struct input *in, const struct place *p)
{
	return &in->claims[p->claim].groups[p->group].alternatives[p->alternative];
}

static bool selected(const struct request *r, const struct device *d)
{
	return r->wanted >> (d->attribute[0] < 0 ? 3 : d->attribute[0]) & 1;
}

static int share_of(const struct request *r, const struct device *d)
{
	return r->ask ? r->ask : d->amount;
}

/* Large enough if nobody else had a share. */
static bool large_enough(const struct request *r, const struct device *d)
{
	return share_of(r, d) <= d->amount;
}

/* Whether the devices of that claim satisfy the constraint. */
static bool constraint_kept(const struct input *in, const struct outcome *o, int claim,
			    const struct constraint *c)
{
	for (int i = 0; i < o->n; i++) {
		int a = in->devices[o->places[i].device].attribute[c->attribute];

		if (o->places[i].claim != claim || !concerns(c, o->places[i].group))
			continue;
		if (a < 0)
			return false;
		for (int k = 0; k < i; k++) {
			int b = in->devices[o->places[k].device].attribute[c->attribute];

			if (o->places[k].claim == claim && concerns(c, o->places[k].group) &&
			    (a == b) == c->distinct)
				return false;
		}
	}
	return true;
}

static bool constraints_kept(const struct input *in, const struct outcome *o)
{
	for (int i = 0; i < in->nclaims; i++)
		for (int k = 0; k < in->claims[i].nconstraints; k++)
			if (!constraint_kept(in, o, i, &in->claims[i].constraints[k]))
				return false;
	return true;
}

static int times_taken(const struct outcome *o, int device)
{
	int n = 0;

	for (int i = 0; i < o->n; i++)
		n += o->places[i].device == device;
	return n;
}

static bool counters_kept(const struct input *in, const struct outcome *o)
{
	bool takers = false;
	bool overdrawn = false;

	for (int s = 0; s < SETS; s++) {
		int held = 0, taken = 0;

		for (int i = 0; i < in->ndevices; i++) {
			const struct device *d = &in->devices[i];
			int n = times_taken(o, i);

			held += d->held || d->held_share ? d->use[s] : 0;
			/*
			 * Counters are charged once for all shares of a device, and for admin
			 * access, too.
			 */
			if (d->shared)
				n = n && !d->held_share;
			taken += n * d->use[s];
			takers |= n && (d->use[0] || d->use[1]);
		}
		overdrawn |= held + taken > in->sets[s];
	}
	return !takers || !overdrawn;
}

static bool shares_kept(const struct input *in, const struct outcome *o)
{
	for (int i = 0; i < in->ndevices; i++) {
		const struct device *d = &in->devices[i];
		int left = d->left, n = 0;

		for (int k = 0; k < o->n; k++)
			if (o->places[k].device == i) {
				left -= share_of(request_of(in, &o->places[k]), d);
				n++;
			}
		if (d->shared && n && left < 0)
			return false;
	}
	return true;
}

static bool in_use(const struct input *in, const struct outcome *o, const struct place *p)
{
	const struct request *r = request_of(in, p);
	const struct device *d = &in->devices[p->device];

	if (!r->admin && d->held)
		return true;
	for (int i = 0; !d->shared && i < o->n; i++)
		if (o->places[i].device == p->device &&
		    (!r->admin || o->places[i].claim == p->claim))
			return true;
	return false;
}

/* --- the plain search ---------------------------------------------------------------- */

static int search_group(const struct input *in, struct outcome *o, int claim, int group);

/* Returns 1 if taken, 0 if not possible, -1 if only a constraint rules it out. */
static int take(const struct input *in, struct outcome *o, struct place p)
{
	const struct request *r = request_of(in, &p);
	const struct device *d = &in->devices[p.device];
	bool fits = !in_use(in, o, &p);

	o->places[o->n++] = p;
	if (fits && counters_kept(in, o) && (!d->taint || r->tolerates)) {
		if (!constraints_kept(in, o))
			fits = false;
		else if (shares_kept(in, o))
			return 1;
		o->n--;
		return fits ? 0 : -1;
	}
	o->n--;
	return 0;
}

static int search_devices(const struct input *in, struct outcome *o, struct place p, int missing,
			  int from)
{
	const struct request *r = request_of(in, &p);

	if (missing == 0)
		return search_group(in, o, p.claim, p.group + 1);
	for (p.device = from; p.device < in->ndevices; p.device++) {
		const struct device *d = &in->devices[p.device];
		int taken, found;

		if (!selected(r, d) || !large_enough(r, d))
			continue;
		taken = take(in, o, p);
		if (taken <= 0 && r->count < 0)
			return taken;
		if (taken <= 0)
			continue;
		found = search_devices(in, o, p, missing - 1, p.device + 1);
		if (found > 0)
			return 1;
		o->n--;
		if (found < 0 || r->count < 0)
			return found;
	}
	return 0;
}

static int count_of(const struct input *in, const struct request *r)
{
	int n = 0;

	if (r->count >= 0)
		return r->count;
	for (int i = 0; i < in->ndevices; i++)
		n += selected(r, &in->devices[i]) && large_enough(r, &in->devices[i]);
	/* Mode All with no device never succeeds. */
	return n ? n : INT32_MAX;
}

static int search_group(const struct input *in, struct outcome *o, int claim, int group)
{
	if (claim == in->nclaims)
		return 1;
	if (group == in->claims[claim].ngroups)
		return search_group(in, o, claim + 1, 0);
	for (int i = 0; i < MAX(in->claims[claim].groups[group].n, 1); i++) {
		struct place p = { .claim = claim, .group = group, .alternative = i };
		int missing = count_of(in, request_of(in, &p)), found;

		if (missing == INT32_MAX)
			continue;
		found = search_devices(in, o, p, missing, 0);
		if (found != 0)
			return found;
	}
	return 0;
}

/* --- asking the allocator ------------------------------------------------------------ */

static struct json *parse(struct arena *a, struct buf *text)
{
	struct json *v = NULL;
	struct error err = { 0 };

	if (json_parse(a, arena_str(a, buf_str(text)), NULL, &v, &err) < 0)
		fail_msg("%s in %s", err.msg, text->p);
	buf_clear(text);
	return v;
}

static void fill_inventory(struct inventory *inv, const struct input *in, struct arena *a)
{
	struct buf text = BUF_INIT(1UL << 20);
	struct error err = { 0 };

	print_slice(in, true, &text);
	assert_int_equal(inventory_put_slice(inv, parse(a, &text), &err), 0);
	print_slice(in, false, &text);
	assert_int_equal(inventory_put_slice(inv, parse(a, &text), &err), 0);
	print_counters(in, &text);
	assert_int_equal(inventory_put_slice(inv, parse(a, &text), &err), 0);
	for (int i = 0; i < DEVICES; i++) {
		print_holder(in, i, &text);
		assert_int_equal(inventory_put_claim(inv, parse(a, &text), &err), 0);
	}
	buf_release(&text);
}

/* "r1/s0" */
static struct place read_place(const struct json *result, int claim)
{
	struct str name = json_text_at(result, "request"), device = json_text_at(result, "device");
	struct place p = { .claim = claim, .group = name.p[1] - '0' };

	p.alternative = name.n > 3 ? name.p[4] - '0' : 0;
	p.device = device.p[1] - '0';
	return p;
}

static struct outcome ask_allocator(struct inventory *inv, const struct input *in, struct arena *a,
				    struct buf *told)
{
	const struct json *claims[CLAIMS];
	struct json *results[CLAIMS] = { 0 };
	struct allocate_node node = { .name = STR("n1") };
	struct outcome o = { 0 };
	struct error err = { 0 };

	for (int i = 0; i < in->nclaims; i++) {
		struct buf text = BUF_INIT(1UL << 20);

		print_claim(in, i, &text);
		(void)buf_printf(told, "%s\n", text.p);
		claims[i] = parse(a, &text);
		buf_release(&text);
	}
	o.verdict = allocate(inv, &node, claims, (size_t)in->nclaims, NULL, a, results, &err);
	outcome_prepared(inv, claims, (size_t)in->nclaims, a, o.verdict, results);
	if (o.verdict > 0)
		outcome_accepted(inv, claims, (size_t)in->nclaims, a, results);
	if (o.verdict < 0) {
		assert_int_equal(err.code, ERR_INVALID);
		o.verdict = -1;
	}
	for (int i = 0; o.verdict > 0 && i < in->nclaims; i++)
		JSON_FOREACH (it, json_getz(json_getz(results[i], "devices"), "results"))
			o.places[o.n++] = read_place(it, i);
	return o;
}

/* --- comparing ---------------------------------------------------------------------- */

static void tell(const struct outcome *o, struct buf *out)
{
	(void)buf_printf(out, "%d:", o->verdict);
	for (int i = 0; i < o->n; i++)
		(void)buf_printf(out, " c%d/r%d/s%d=d%d", o->places[i].claim, o->places[i].group,
				 o->places[i].alternative, o->places[i].device);
}

/* Whether every request has as many devices as it wants, and each suits it. */
static bool requests_served(const struct input *in, const struct outcome *o, int claim, int group)
{
	int n = 0, alternative = -1;
	struct place p;

	for (int i = 0; i < o->n; i++) {
		const struct request *r = request_of(in, &o->places[i]);
		const struct device *d = &in->devices[o->places[i].device];

		if (o->places[i].claim != claim || o->places[i].group != group)
			continue;
		if ((n && o->places[i].alternative != alternative) || !selected(r, d) ||
		    !large_enough(r, d) || (d->taint && !r->tolerates) || (d->held && !r->admin))
			return false;
		alternative = o->places[i].alternative;
		n++;
	}
	p = (struct place){ .claim = claim, .group = group, .alternative = alternative };
	return n && n == count_of(in, request_of(in, &p));
}

static bool nobody_twice(const struct input *in, const struct outcome *o)
{
	for (int i = 0; i < o->n; i++)
		for (int k = 0; k < i; k++) {
			const struct place *p = &o->places[i], *q = &o->places[k];
			bool same_request = p->claim == q->claim && p->group == q->group;
			bool admin = request_of(in, p)->admin && p->claim != q->claim;

			if (p->device == q->device &&
			    (same_request || (!in->devices[p->device].shared && !admin)))
				return false;
		}
	return true;
}

static bool valid(const struct input *in, const struct outcome *o)
{
	for (int i = 0; i < in->nclaims; i++)
		for (int k = 0; k < in->claims[i].ngroups; k++)
			if (!requests_served(in, o, i, k))
				return false;
	return nobody_twice(in, o) && counters_kept(in, o) && shares_kept(in, o) &&
	       constraints_kept(in, o);
}

static bool same(const struct outcome *a, const struct outcome *b)
{
	return a->verdict == b->verdict &&
	       (a->verdict <= 0 ||
		(a->n == b->n && !memcmp(a->places, b->places, sizeof(*a->places) * (size_t)a->n)));
}

static int compare_one(struct inventory *inv, uint64_t seed)
{
	struct buf told = BUF_INIT(1UL << 20);
	struct outcome plain = { 0 }, ours;
	struct arena arena;
	struct input in;
	struct prng g;

	prng_init(&g, seed);
	random_input(&g, &in);
	arena_init(&arena, REQUEST_WORK_MAX);
	fill_inventory(inv, &in, &arena);
	plain.verdict = search_group(&in, &plain, 0, 0);
	ours = ask_allocator(inv, &in, &arena, &told);
	if (!same(&plain, &ours)) {
		(void)buf_addz(&told, "plainly ");
		tell(&plain, &told);
		(void)buf_addz(&told, "\nours    ");
		tell(&ours, &told);
		fail_msg("input %" PRIu64 "\n%s", seed, told.p);
	}
	if (ours.verdict > 0 && !valid(&in, &ours))
		fail_msg("input %" PRIu64 ": not valid\n%s", seed, told.p);
	buf_release(&told);
	arena_release(&arena);
	return ours.verdict;
}

static struct inventory *new_inventory(void)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct arena a;
	struct json *class;

	arena_init(&a, REQUEST_WORK_MAX);
	assert_int_equal(json_parse(&a, STR("{\"metadata\":{\"name\":\"any\"},\"spec\":{}}"), NULL,
				    &class, NULL),
			 0);
	assert_int_equal(inventory_put_class(inv, class, NULL), 0);
	arena_release(&a);
	return inv;
}

static void finds_what_a_search_of_everything_finds(void **state)
{
	struct inventory *inv = new_inventory();
	size_t verdicts[3] = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < INPUTS; seed++)
		verdicts[compare_one(inv, seed) + 1]++;
	print_message("# %zu fit, %zu do not, %zu are at fault\n", verdicts[2], verdicts[1],
		      verdicts[0]);
	assert_true(verdicts[2] > INPUTS / 10 && verdicts[1] > INPUTS / 10 && verdicts[0] > 10);
	inventory_free(inv);
}

/* --- bounds ------------------------------------------------------------------------- */

/* A slice of n devices, printed by `print`, and the text of a claim. */
struct hard {
	const char *name;
	int n;
	void (*print)(int i, struct buf *out);
	const char *counters; /* of the pool; or NULL */
	void (*claim)(struct buf *out);
	int verdict;
	uint64_t steps; /* at most */
};

static void add_request(struct buf *out, int i, int count, const char *more)
{
	(void)buf_printf(out,
			 "%s{\"name\":\"r%d\",\"exactly\":{\"deviceClassName\":\"any\","
			 "\"allocationMode\":\"ExactCount\",\"count\":%d%s}}",
			 i ? "," : "", i, count, more);
}

static void same_device(int i, struct buf *out)
{
	(void)i;
	(void)buf_addz(out, "\"attributes\":{\"x\":{\"int\":1}}");
}

static void by_fours(int i, struct buf *out)
{
	(void)buf_printf(out, "\"attributes\":{\"x\":{\"int\":%d}}", i / 4);
}

static void by_eights(int i, struct buf *out)
{
	(void)buf_printf(out, "\"attributes\":{\"x\":{\"int\":%d}}", i % 8);
}

static void own_value(int i, struct buf *out)
{
	(void)buf_printf(out, "\"attributes\":{\"x\":{\"int\":%d},\"y\":{\"int\":%d}}", i, i % 7);
}

/* Two large parts take three of the seven units of their set each, seven small ones one each. */
static void partition(int i, struct buf *out)
{
	(void)buf_printf(
		out,
		"\"attributes\":{\"x\":{\"int\":%d}},\"consumesCounters\":[{\"counterSet\":"
		"\"s%d\",\"counters\":{\"n\":{\"value\":\"%d\"}}}]",
		i % 9 < 2 ? 3 : 1, i / 9, i % 9 < 2 ? 3 : 1);
}

static void two_requests_of_all(struct buf *out)
{
	add_request(out, 0, 16, "");
	add_request(out, 1, 16, "");
	(void)buf_addz(out, "]");
}

static void requests_of_one(struct buf *out, int n, const char *constraint)
{
	for (int i = 0; i < n; i++)
		add_request(out, i, 1, "");
	(void)buf_printf(out, "],\"constraints\":[{\"%s\":\"d.example.com/x\"}]", constraint);
}

static void five_that_agree(struct buf *out)
{
	requests_of_one(out, 5, "matchAttribute");
}

static void nine_that_differ(struct buf *out)
{
	requests_of_one(out, 9, "distinctAttribute");
}

static void five_at_once_that_agree(struct buf *out)
{
	add_request(out, 0, 5, "");
	(void)buf_addz(out, "],\"constraints\":[{\"matchAttribute\":\"d.example.com/x\"}]");
}

static void crossing_constraints(struct buf *out)
{
	for (int i = 0; i < 8; i++)
		add_request(out, i, 1, "");
	(void)buf_addz(out, "],\"constraints\":[{\"matchAttribute\":\"d.example.com/y\"},"
			    "{\"distinctAttribute\":\"d.example.com/x\"}]");
}

#define LARGE                                                                                 \
	",\"selectors\":[{\"cel\":{\"expression\":\"device.attributes['d.example.com'].x == " \
	"3\"}}]"
#define SMALL                                                                                 \
	",\"selectors\":[{\"cel\":{\"expression\":\"device.attributes['d.example.com'].x == " \
	"1\"}}]"

/* 5 * 3 + 14 units of the 28 that four sets have: one too many, however they are spread. */
static void large_and_small(struct buf *out)
{
	add_request(out, 0, 5, LARGE);
	add_request(out, 1, 14, SMALL);
	(void)buf_addz(out, "]");
}

/* 13 + 5 * 3: exactly as many, but what is taken first must leave room in the right sets. */
static void small_and_large(struct buf *out)
{
	add_request(out, 0, 13, SMALL);
	add_request(out, 1, 5, LARGE);
	(void)buf_addz(out, "]");
}

/* Lists of eight alternatives, none of which leaves enough for the last request. */
static void long_lists(struct buf *out)
{
	for (int i = 0; i < 6; i++) {
		(void)buf_printf(out, "%s{\"name\":\"r%d\",\"firstAvailable\":[", i ? "," : "", i);
		for (int k = 0; k < 8; k++)
			(void)buf_printf(out,
					 "%s{\"name\":\"s%d\",\"deviceClassName\":\"any\","
					 "\"allocationMode\":\"ExactCount\",\"count\":%d}",
					 k ? "," : "", k, 3 - k % 3);
		(void)buf_addz(out, "]}");
	}
	add_request(out, 6, 7, "");
	(void)buf_addz(out, "]");
}

/* The last request wants a device that every earlier request could take. */
static void last_wants_the_first(struct buf *out)
{
	for (int i = 0; i < 20; i++)
		add_request(out, i, 1, "");
	add_request(
		out, 20, 1,
		",\"selectors\":[{\"cel\":{\"expression\":\"device.attributes['d.example.com'].x "
		"== 0\"}}]");
	(void)buf_addz(out, "]");
}

static const struct hard hards[] = {
	{ "128 alike, 32 wanted", 128, same_device, NULL, two_requests_of_all, 1, 32 },
	{ "31 alike, 32 wanted", 31, same_device, NULL, two_requests_of_all, 0, 32 },
	{ "32 groups of four, five that agree", 128, by_fours, NULL, five_that_agree, 0, 130 },
	{ "the same in one request", 128, by_fours, NULL, five_at_once_that_agree, 0, 130 },
	{ "eight values, nine that differ", 128, by_eights, NULL, nine_that_differ, 0, 150 },
	{ "one constraint against the other", 49, own_value, NULL, crossing_constraints, 0, 600 },
	{ "nearly full counters", 36, partition, "4", large_and_small, 0, 40 },
	{ "exactly full counters", 36, partition, "4", small_and_large, 1, 1000 },
	{ "lists of eight, seven of them", 12, same_device, NULL, long_lists, 0, 20 },
	{ "a choice twenty levels up", 40, own_value, NULL, last_wants_the_first, 1, 1000 },
};

static void put_hard(struct inventory *inv, const struct hard *h, struct arena *a)
{
	struct buf text = BUF_INIT(1UL << 22);
	struct error err = { 0 };
	int sets = h->counters ? h->counters[0] - '0' : 0;

	(void)buf_printf(
		&text,
		"{\"metadata\":{\"name\":\"devices\"},\"spec\":{\"driver\":\"d.example.com\","
		"\"pool\":{\"name\":\"a\",\"generation\":1,\"resourceSliceCount\":%d},"
		"\"nodeName\":\"n1\",\"devices\":[",
		sets ? 2 : 1);
	for (int i = 0; i < h->n; i++) {
		(void)buf_printf(&text, "%s{\"name\":\"d%d\",", i ? "," : "", i);
		h->print(i, &text);
		(void)buf_addc(&text, '}');
	}
	(void)buf_addz(&text, "]}}");
	if (inventory_put_slice(inv, parse(a, &text), &err) < 0)
		fail_msg("%s: %s", h->name, err.msg);
	(void)buf_addz(&text, "{\"metadata\":{\"name\":\"counters\"},\"spec\":{\"driver\":"
			      "\"d.example.com\",\"pool\":{\"name\":\"a\",\"generation\":1,"
			      "\"resourceSliceCount\":2},\"nodeName\":\"n1\",\"sharedCounters\":[");
	for (int i = 0; i < sets; i++)
		(void)buf_printf(&text,
				 "%s{\"name\":\"s%d\",\"counters\":{\"n\":{\"value\":\"7\"}}}",
				 i ? "," : "", i);
	(void)buf_addz(&text, "]}}");
	if (sets && inventory_put_slice(inv, parse(a, &text), &err) < 0)
		fail_msg("%s: %s", h->name, err.msg);
	buf_release(&text);
}

static void run_hard(const struct hard *h)
{
	struct inventory *inv = new_inventory();
	struct buf text = BUF_INIT(1UL << 20);
	struct allocate_node node = { .name = STR("n1") };
	struct allocate_report report = { 0 };
	struct allocate_options options = { .report = &report };
	struct error err = { 0 };
	struct arena a;
	struct json *result;
	const struct json *claim;
	int r;

	arena_init(&a, REQUEST_WORK_MAX);
	put_hard(inv, h, &a);
	(void)buf_addz(&text,
		       "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":[");
	h->claim(&text);
	(void)buf_addz(&text, "}}}");
	claim = parse(&a, &text);
	r = allocate(inv, &node, &claim, 1, &options, &a, &result, &err);
	print_message("# %s: %d, %" PRIu64 " steps\n", h->name, r, report.steps);
	if (r != h->verdict)
		fail_msg("%s: %d instead of %d %s", h->name, r, h->verdict, err.msg);
	if (report.steps > h->steps)
		fail_msg("%s: %" PRIu64 " steps, not %" PRIu64, h->name, report.steps, h->steps);
	buf_release(&text);
	arena_release(&a);
	inventory_free(inv);
}

static void hard_inputs_stay_within_their_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hards); i++)
		run_hard(&hards[i]);
}

/* Searches of one attempt share a budget. The search for the result does not use it. */
static void spend_budget(struct inventory *inv, const struct allocate_node *node,
			 const struct json *claim, struct arena *a)
{
	struct allocate_report report;
	uint64_t budget = ALLOCATE_STEPS_MAX, once;
	struct allocate_options options = { .budget = &budget, .report = &report };
	struct allocate_plan *plan = allocate_prepare(inv, &claim, 1, &options, a);
	struct json *result;

	assert_int_equal(allocate_on(plan, node, NULL, NULL, NULL), 1);
	once = ALLOCATE_STEPS_MAX - budget;
	assert_true(once >= report.steps && report.steps > 1);
	budget = 2 * once;
	assert_int_equal(allocate_on(plan, node, NULL, NULL, NULL), 1);
	assert_int_equal(allocate_on(plan, node, NULL, NULL, NULL), 1);
	assert_int_equal(budget, 0);
	assert_int_equal(allocate_on(plan, node, NULL, NULL, NULL), -ERR_TIMEOUT);
	assert_int_equal(allocate_on(plan, node, a, &result, NULL), 1);
	assert_int_equal(budget, 0);
}

static void a_search_that_is_given_up_says_so(void **state)
{
	struct inventory *inv = new_inventory();
	struct hard h = { "", 40, own_value, NULL, last_wants_the_first, 1, 0 };
	struct allocate_options options = { .steps_max = 10 };
	struct allocate_node node = { .name = STR("n1") };
	struct buf text = BUF_INIT(1UL << 20);
	struct error err = { 0 };
	struct json *result;
	const struct json *claim;
	struct arena a;

	(void)state;
	arena_init(&a, REQUEST_WORK_MAX);
	put_hard(inv, &h, &a);
	(void)buf_addz(&text,
		       "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":[");
	h.claim(&text);
	(void)buf_addz(&text, "}}}");
	claim = parse(&a, &text);
	assert_int_equal(allocate(inv, &node, &claim, 1, &options, &a, &result, &err),
			 -ERR_TIMEOUT);
	assert_string_equal(err.msg, "gave up after 11 steps");
	spend_budget(inv, &node, claim, &a);
	buf_release(&text);
	arena_release(&a);
	inventory_free(inv);
}

/* --- what is remembered ------------------------------------------------------------------ */

enum { MEMO_STEPS = 400, MEMO_SEEDS = 40 };

/* A claim of some devices of a class, with or without a selector of its own. */
static const struct json *memo_claim(struct arena *a, const char *class, int count,
				     const char *selector)
{
	struct buf b = BUF_INIT(4096);
	const struct json *v;

	(void)buf_printf(&b,
			 "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":[{"
			 "\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"%s\","
			 "\"allocationMode\":\"ExactCount\",\"count\":%d%s%s}}]}}}",
			 class, count, *selector ? "," : "", selector);
	v = parse_printed(a, &b);
	buf_release(&b);
	return v;
}

/* Neither cached selector results nor an earlier search may change the answer. */
static void ask_both(struct inventory *inv, struct arena *a, int count, const char *class,
		     const char *selector)
{
	struct allocate_node node = { .name = STR("n1") };
	const struct json *claim = memo_claim(a, class, count, "");
	const struct json *slow = memo_claim(a, "none", count, selector);
	struct allocate_plan *plan = allocate_prepare(inv, &claim, 1, NULL, a);
	struct json *result;
	int verdict = allocate(inv, &node, &slow, 1, NULL, a, &result, NULL);

	assert_int_equal(allocate_on(plan, &node, NULL, NULL, NULL), verdict);
	assert_int_equal(allocate(inv, &node, &claim, 1, NULL, a, &result, NULL), verdict);
	assert_int_equal(allocate_on(plan, &node, NULL, NULL, NULL), verdict);
}

/* One random history: classes and devices change, and claims are allocated. */
static void remember(struct inventory *inv, struct prng *g, struct arena *a)
{
	static const char *const names[] = { "k0", "k1", "k2" };
	const char *selectors[3];

	for (int i = 0; i < MEMO_STEPS; i++) {
		size_t which = i < 3 ? (size_t)i : prng_below(g, 3);

		if (i % 40 == 0)
			put_devices(inv, g, a, i + 1);
		if (i < 3 || prng_below(g, 20) == 0) {
			selectors[which] = memo_selectors[prng_below(g, 3)];
			put_kind(inv, a, names[which], selectors[which]);
		}
		if (i < 3)
			continue;
		if (prng_below(g, 2))
			hold_or_free(inv, g, a);
		which = prng_below(g, 3);
		ask_both(inv, a, 1 + (int)prng_below(g, 3), names[which], selectors[which]);
	}
}

static void cached_results_equal_those_of_a_search(void **state)
{
	for (uint64_t seed = 1; seed <= MEMO_SEEDS; seed++) {
		struct inventory *inv = inventory_new(inventory_defaults);
		struct arena a;
		struct prng g;

		prng_init(&g, seed);
		arena_init(&a, SIZE_MAX);
		put_kind(inv, &a, "none", "");
		remember(inv, &g, &a);
		arena_release(&a);
		inventory_free(inv);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_a_search_of_everything_finds),
		cmocka_unit_test(hard_inputs_stay_within_their_bounds),
		cmocka_unit_test(a_search_that_is_given_up_says_so),
		cmocka_unit_test(cached_results_equal_those_of_a_search),
	};

	return cmocka_run_group_tests_name("dra/brute", tests, NULL, NULL);
}
