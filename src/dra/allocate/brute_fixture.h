/*
 * brute_fixture - small random inputs for the allocator, covering all of its features: as plain
 * numbers, and as the equivalent API objects. For the test that includes it.
 */
#ifndef DRA_ALLOCATE_BRUTE_FIXTURE_H
#define DRA_ALLOCATE_BRUTE_FIXTURE_H

#include "base/core/buf.h"
#include "base/core/random.h"

enum {
	DEVICES = 7, /* d0.. of pool a, then of pool b */
	CLAIMS = 3,
	GROUPS = 3, /* of one claim */
	ALTERNATIVES = 3,
	REQUESTS = CLAIMS * GROUPS * ALTERNATIVES,
	CONSTRAINTS = 2,
	SETS = 2,
	PLACES = 64,
};

/* --- the model ---------------------------------------------------------------------- */

struct device {
	int attribute[2]; /* x and y; -1: no such attribute */
	int amount; /* of its capacity */
	int left; /* .. minus the shares of other claims */
	int use[SETS]; /* amount by counter set of pool a; 0: not consumed */
	bool taint, shared, held, held_share;
};

struct request {
	int count; /* -1: all */
	unsigned wanted; /* bit v: the selector accepts x == v; bit 3: accepts devices without x */
	int ask; /* requested capacity; 0: not given */
	bool tolerates, admin;
};

struct constraint {
	bool distinct;
	int attribute;
	unsigned groups; /* bits of groups */
};

struct claim {
	struct {
		struct request alternatives[ALTERNATIVES];
		int n; /* 0: one request, not a list */
	} groups[GROUPS];
	struct constraint constraints[CONSTRAINTS];
	int ngroups, nconstraints;
};

struct input {
	struct device devices[DEVICES];
	struct claim claims[CLAIMS];
	int ndevices, in_a, nclaims;
	int sets[SETS];
};

/* A device that a request has. */
struct place {
	int device, claim, group, alternative;
};

struct outcome {
	/* 1: places are the result; 0: no result; -1: error of a constraint on mode All */
	int verdict;
	struct place places[PLACES];
	int n;
};

/* --- random inputs ------------------------------------------------------------------ */

static int below(struct prng *g, int n)
{
	return (int)prng_below(g, (uint64_t)n);
}

static bool one_in(struct prng *g, int n)
{
	return below(g, n) == 0;
}

/* The features of one input. With few features at a time, many devices are alike. */
struct mix {
	bool taints, shares, holders, counters, attributes;
};

static struct device random_device(struct prng *g, const struct mix *m, bool in_a)
{
	struct device d = { .attribute = { m->attributes ? below(g, 3) : 1, below(g, 2) },
			    .amount = m->shares ? 2 + below(g, 4) : 4,
			    .taint = m->taints && one_in(g, 4),
			    .shared = m->shares && one_in(g, 2) };

	if (m->attributes && one_in(g, 6))
		d.attribute[below(g, 2)] = -1;
	d.left = d.amount;
	if (m->holders && one_in(g, 4)) {
		d.held = !d.shared;
		d.held_share = d.shared;
		d.left -= d.shared ? 1 + below(g, d.amount) : 0;
	}
	for (int i = 0; m->counters && in_a && i < SETS; i++)
		d.use[i] = one_in(g, 2) ? 1 + below(g, 3) : 0;
	return d;
}

static struct request random_request(struct prng *g, bool in_list)
{
	struct request r = { .count = 1 + below(g, 2) / (one_in(g, 2) ? 1 : 2),
			     .wanted = one_in(g, 2) ? 15 : 2 + (unsigned)below(g, 14),
			     .ask = one_in(g, 3) ? 1 + below(g, 3) : 0,
			     .tolerates = one_in(g, 3) };

	if (one_in(g, 12))
		r.count = -1;
	r.admin = !in_list && one_in(g, 14);
	return r;
}

static void random_claim(struct prng *g, struct claim *c)
{
	c->ngroups = 1 + below(g, GROUPS);
	for (int i = 0; i < c->ngroups; i++) {
		c->groups[i].n = one_in(g, 4) ? 1 + below(g, ALTERNATIVES) : 0;
		for (int k = 0; k < MAX(c->groups[i].n, 1); k++)
			c->groups[i].alternatives[k] = random_request(g, c->groups[i].n > 0);
	}
	c->nconstraints = below(g, CONSTRAINTS + 1);
	for (int i = 0; i < c->nconstraints; i++)
		c->constraints[i] = (struct constraint){
			.distinct = one_in(g, 3),
			.attribute = below(g, 2),
			.groups = one_in(g, 2) ? 7 : 1 + (unsigned)below(g, 7)
		};
}

static void random_input(struct prng *g, struct input *in)
{
	struct mix m = { one_in(g, 3), one_in(g, 3), one_in(g, 2), one_in(g, 2), one_in(g, 2) };

	*in = (struct input){ .ndevices = 2 + below(g, DEVICES - 1),
			      .nclaims = one_in(g, 3) ? 1 + below(g, CLAIMS) : 1 };
	in->in_a = below(g, in->ndevices + 1);
	for (int i = 0; i < SETS; i++)
		in->sets[i] = 2 + below(g, 5);
	for (int i = 0; i < in->ndevices; i++)
		in->devices[i] = random_device(g, &m, i < in->in_a);
	for (int i = 0; i < in->nclaims; i++)
		random_claim(g, &in->claims[i]);
}

static bool concerns(const struct constraint *c, int group)
{
	return c->groups >> group & 1;
}

/* --- as objects of the API ------------------------------------------------------------ */

static void print_device(const struct device *d, int index, struct buf *out)
{
	(void)buf_printf(out, "{\"name\":\"d%d\",\"attributes\":{", index);
	if (d->attribute[0] >= 0)
		(void)buf_printf(out, "\"x\":{\"int\":%d}%s", d->attribute[0],
				 d->attribute[1] >= 0 ? "," : "");
	if (d->attribute[1] >= 0)
		(void)buf_printf(out, "\"y\":{\"string\":\"y%d\"}", d->attribute[1]);
	(void)buf_printf(out, "},\"capacity\":{\"mem\":{\"value\":\"%dGi\"}}", d->amount);
	if (d->shared)
		(void)buf_addz(out, ",\"allowMultipleAllocations\":true");
	if (d->taint)
		(void)buf_addz(out, ",\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]");
	if (d->use[0] || d->use[1]) {
		const char *comma = "";

		(void)buf_addz(out, ",\"consumesCounters\":[");
		for (int s = 0; s < SETS; s++) {
			if (!d->use[s])
				continue;
			(void)buf_printf(out,
					 "%s{\"counterSet\":\"s%d\",\"counters\":{\"n\":{\"value\":"
					 "\"%d\"}}}",
					 comma, s, d->use[s]);
			comma = ",";
		}
		(void)buf_addc(out, ']');
	}
	(void)buf_addc(out, '}');
}

static void print_slice(const struct input *in, bool pool_a, struct buf *out)
{
	int from = pool_a ? 0 : in->in_a, to = pool_a ? in->in_a : in->ndevices;

	(void)buf_printf(out,
			 "{\"metadata\":{\"name\":\"devices-%s\"},\"spec\":{\"driver\":"
			 "\"d.example.com\",\"pool\":{\"name\":\"%s\",\"generation\":1,"
			 "\"resourceSliceCount\":%d},\"nodeName\":\"n1\",\"devices\":[",
			 pool_a ? "a" : "b", pool_a ? "a" : "b", pool_a ? 2 : 1);
	for (int i = from; i < to; i++) {
		if (i > from)
			(void)buf_addc(out, ',');
		print_device(&in->devices[i], i, out);
	}
	(void)buf_addz(out, "]}}");
}

static void print_counters(const struct input *in, struct buf *out)
{
	(void)buf_addz(out, "{\"metadata\":{\"name\":\"counters\"},\"spec\":{\"driver\":"
			    "\"d.example.com\",\"pool\":{\"name\":\"a\",\"generation\":1,"
			    "\"resourceSliceCount\":2},\"nodeName\":\"n1\",\"sharedCounters\":[");
	for (int s = 0; s < SETS; s++)
		(void)buf_printf(out,
				 "%s{\"name\":\"s%d\",\"counters\":{\"n\":{\"value\":\"%d\"}}}",
				 s ? "," : "", s, in->sets[s]);
	(void)buf_addz(out, "]}}");
}

static void print_holder(const struct input *in, int device, struct buf *out)
{
	const struct device *d = &in->devices[device];

	(void)buf_printf(
		out,
		"{\"metadata\":{\"namespace\":\"default\",\"name\":\"held-%d\"},\"status\":"
		"{\"allocation\":{\"devices\":{\"results\":[",
		device);
	if (d->held || d->held_share)
		(void)buf_printf(out,
				 "{\"request\":\"r\",\"driver\":\"d.example.com\",\"pool\":\"%s\","
				 "\"device\":\"d%d\"",
				 device < in->in_a ? "a" : "b", device);
	if (d->held_share)
		(void)buf_printf(out, ",\"shareID\":\"s\",\"consumedCapacity\":{\"mem\":\"%dGi\"}",
				 d->amount - d->left);
	(void)buf_printf(out, "%s]}}}}", d->held || d->held_share ? "}" : "");
}

static void print_request(const struct request *r, struct buf *out)
{
	(void)buf_addz(out, "\"deviceClassName\":\"any\"");
	if (r->wanted != 15) {
		const char *comma = "";

		(void)buf_addz(out,
			       ",\"selectors\":[{\"cel\":{\"expression\":\"device.attributes['d."
			       "example.com'].?x.orValue(3) in [");
		for (int i = 0; i < 4; i++)
			if (r->wanted >> i & 1) {
				(void)buf_printf(out, "%s%d", comma, i);
				comma = ",";
			}
		(void)buf_addz(out, "]\"}}]");
	}
	if (r->count < 0)
		(void)buf_addz(out, ",\"allocationMode\":\"All\"");
	else
		(void)buf_printf(out, ",\"allocationMode\":\"ExactCount\",\"count\":%d", r->count);
	if (r->tolerates)
		(void)buf_addz(out, ",\"tolerations\":[{\"operator\":\"Exists\"}]");
	if (r->ask)
		(void)buf_printf(out, ",\"capacity\":{\"requests\":{\"mem\":\"%dGi\"}}", r->ask);
	if (r->admin)
		(void)buf_addz(out, ",\"adminAccess\":true");
}

static void print_group(const struct claim *c, int group, struct buf *out)
{
	(void)buf_printf(out, "%s{\"name\":\"r%d\",", group ? "," : "", group);
	if (c->groups[group].n == 0) {
		(void)buf_addz(out, "\"exactly\":{");
		print_request(&c->groups[group].alternatives[0], out);
		(void)buf_addz(out, "}}");
		return;
	}
	(void)buf_addz(out, "\"firstAvailable\":[");
	for (int i = 0; i < c->groups[group].n; i++) {
		(void)buf_printf(out, "%s{\"name\":\"s%d\",", i ? "," : "", i);
		print_request(&c->groups[group].alternatives[i], out);
		(void)buf_addc(out, '}');
	}
	(void)buf_addz(out, "]}");
}

static void print_claim(const struct input *in, int claim, struct buf *out)
{
	const struct claim *c = &in->claims[claim];

	(void)buf_printf(out,
			 "{\"metadata\":{\"namespace\":\"default\",\"name\":\"c%d\"},\"spec\":{"
			 "\"devices\":{\"requests\":[",
			 claim);
	for (int i = 0; i < c->ngroups; i++)
		print_group(c, i, out);
	(void)buf_addz(out, "],\"constraints\":[");
	for (int i = 0; i < c->nconstraints; i++) {
		const struct constraint *k = &c->constraints[i];
		const char *comma = "";

		(void)buf_printf(out, "%s{\"%s\":\"d.example.com/%c\",\"requests\":[", i ? "," : "",
				 k->distinct ? "distinctAttribute" : "matchAttribute",
				 k->attribute ? 'y' : 'x');
		/*
		 * An unknown request keeps the list from being empty, which would mean all
		 * requests.
		 */
		(void)buf_addz(out, "\"nobody\"");
		comma = ",";
		for (int g = 0; g < c->ngroups; g++)
			if (concerns(k, g))
				(void)buf_printf(out, "%s\"r%d\"", comma, g);
		(void)buf_addz(out, "]}");
	}
	(void)buf_addz(out, "]}}}");
}

#endif
