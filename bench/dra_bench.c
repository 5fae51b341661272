/*
 * Microseconds per claim: one that is allocated, assumed and forgotten again, on nodes in turn.
 *
 *	dra_bench
 *
 * One line, NAME VALUE each: for 1,000, 10,000 and 100,000 devices in node-local pools, ten per
 * node, half of them in use; for a pool of the network of 1,000 and 10,000; bytes of the
 * inventory per 1,000 devices. "node": microseconds to find out whether a claim fits, of a claim
 * that is read once and tried on each node, without writing the result down; "full" the same where
 * nothing is free.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/random.h"
#include "dra/allocate/allocate.h"

enum { PER_NODE = 10, PER_SLICE = 100, CLAIMS = 20000 };

struct bench {
	struct inventory *inv;
	struct arena arena;
	struct buf text;
	struct prng prng;
	int devices, per_slice;
	bool local;
};

/* CPU time: other work of the machine is not counted. */
static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct json *parse(struct bench *b)
{
	struct json *v;

	if (json_parse(&b->arena, arena_str(&b->arena, buf_str(&b->text)), NULL, &v, NULL) < 0)
		abort();
	buf_clear(&b->text);
	return v;
}

static void check(int r)
{
	if (r < 0)
		abort();
}

static void print_device(struct bench *b, int i)
{
	(void)buf_printf(&b->text,
			 "%s{\"name\":\"gpu-%d\",\"attributes\":{\"model\":{\"string\":\"%s\"},"
			 "\"numa\":{\"int\":%d},\"uuid\":{\"string\":\"gpu-%032d\"},"
			 "\"driverVersion\":{\"version\":\"550.54.%d\"}},"
			 "\"capacity\":{\"memory\":{\"value\":\"80Gi\"}}}",
			 i % b->per_slice ? "," : "", i, i % 2 ? "large" : "small", i / 5 % 2, i,
			 i % 3);
}

static void add_slice(struct bench *b, int first)
{
	int slice = first / b->per_slice;
	char place[64] = "\"allNodes\":true", pool[32] = "network";
	int count = b->local ? 1 : b->devices / b->per_slice;

	if (b->local) {
		(void)snprintf(place, sizeof(place), "\"nodeName\":\"node-%d\"", slice);
		(void)snprintf(pool, sizeof(pool), "node-%d", slice);
	}
	(void)buf_printf(&b->text,
			 "{\"metadata\":{\"name\":\"slice-%06d\"},\"spec\":{\"driver\":"
			 "\"gpu.example.com\",%s,\"pool\":{\"name\":\"%s\",\"generation\":1,"
			 "\"resourceSliceCount\":%d},\"devices\":[",
			 slice, place, pool, count);
	for (int i = first; i < first + b->per_slice; i++)
		print_device(b, i);
	(void)buf_addz(&b->text, "]}}");
	check(inventory_put_slice(b->inv, parse(b), NULL));
	arena_clear(&b->arena);
}

static void hold(struct bench *b, int device)
{
	char pool[32] = "network";

	if (b->local)
		(void)snprintf(pool, sizeof(pool), "node-%d", device / b->per_slice);
	(void)buf_printf(
		&b->text,
		"{\"metadata\":{\"namespace\":\"default\",\"name\":\"held-%d\"},\"status\":{"
		"\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":"
		"\"gpu.example.com\",\"pool\":\"%s\",\"device\":\"gpu-%d\"}]}}}}",
		device, pool, device);
	check(inventory_put_claim(b->inv, parse(b), NULL));
	arena_clear(&b->arena);
}

static void add_class(struct bench *b)
{
	(void)buf_addz(&b->text,
		       "{\"metadata\":{\"name\":\"large\"},\"spec\":{\"selectors\":[{\"cel\":{"
		       "\"expression\":\"device.driver == 'gpu.example.com' && "
		       "device.attributes['gpu.example.com'].model == 'large'\"}}]}}");
	check(inventory_put_class(b->inv, parse(b), NULL));
	arena_clear(&b->arena);
}

static void bench_init(struct bench *b, int devices, bool local)
{
	*b = (struct bench){ .inv = inventory_new(inventory_defaults),
			     .devices = devices,
			     .per_slice = local ? PER_NODE : PER_SLICE,
			     .local = local };
	arena_init(&b->arena, REQUEST_WORK_MAX);
	buf_init(&b->text, 1UL << 20);
	prng_init(&b->prng, 1);
	add_class(b);
	for (int i = 0; i < devices; i += b->per_slice)
		add_slice(b, i);
}

static void bench_release(struct bench *b)
{
	inventory_free(b->inv);
	arena_release(&b->arena);
	buf_release(&b->text);
}

/* Microseconds of one claim. */
static double time_claims(struct bench *b)
{
	static const char text[] =
		"{\"metadata\":{\"namespace\":\"default\",\"name\":\"claim\"},\"spec\":{"
		"\"devices\":{"
		"\"requests\":[{\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"large\","
		"\"allocationMode\":\"ExactCount\",\"count\":1}}]}}}";
	struct arena objects, results;
	struct json *claim, *result;
	double begun, spent;

	arena_init(&objects, REQUEST_WORK_MAX);
	arena_init(&results, REQUEST_WORK_MAX);
	check(json_parse(&objects, str_from(text), NULL, &claim, NULL));
	begun = seconds();
	for (int i = 0; i < CLAIMS; i++) {
		char name[32];
		struct allocate_node node = { .labels = NULL };
		const struct json *claims[] = { claim };

		(void)snprintf(name, sizeof(name), "node-%" PRIu64,
			       prng_below(&b->prng, (uint64_t)(b->devices / PER_NODE)));
		node.name = str_from(name);
		if (allocate(b->inv, &node, claims, 1, NULL, &results, &result, NULL) != 1)
			abort();
		check(inventory_assume(b->inv, claim, result, NULL));
		inventory_forget(b->inv, STR("default"), STR("claim"));
		arena_clear(&results);
	}
	spent = seconds() - begun;
	arena_release(&objects);
	arena_release(&results);
	return spent * 1e6 / CLAIMS;
}

/* Microseconds of one node for a claim that is tried on all of them. */
static double time_nodes(struct bench *b, int expected)
{
	static const char text[] =
		"{\"metadata\":{\"namespace\":\"default\",\"name\":\"claim\"},\"spec\":{"
		"\"devices\":{"
		"\"requests\":[{\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"large\","
		"\"allocationMode\":\"ExactCount\",\"count\":1}}]}}}";
	int nodes = b->devices / PER_NODE;
	const struct json *claims[1];
	struct json *claim;
	double begun, spent;

	check(json_parse(&b->arena, str_from(text), NULL, &claim, NULL));
	claims[0] = claim;
	begun = seconds();
	for (int i = 0; i < CLAIMS * 10 / nodes; i++) {
		struct allocate_plan *plan = allocate_prepare(b->inv, claims, 1, NULL, &b->arena);

		for (int k = 0; k < nodes; k++) {
			char name[32];
			struct allocate_node node = { .name = { name, 0 } };

			node.name.n = (size_t)snprintf(name, sizeof(name), "node-%d", k);
			if (allocate_on(plan, &node, NULL, NULL, NULL) != expected)
				abort();
		}
	}
	spent = seconds() - begun;
	arena_clear(&b->arena);
	return spent * 1e6 / (CLAIMS * 10);
}

static void measure(const char *name, int devices, bool local)
{
	struct bench b;

	bench_init(&b, devices, local);
	if (local && devices == 100000)
		printf("bytes %.0f ", (double)inventory_bytes(b.inv) * 1000 / devices);
	/* Half of a node's devices, and of the network's: the first ones, which are passed over. */
	for (int i = 0; i < devices; i++)
		if (local ? i % PER_NODE < PER_NODE / 2 : i < devices / 2)
			hold(&b, i);
	printf("%s-%d %.2f ", name, devices, time_claims(&b));
	if (local) {
		printf("node-%d %.2f ", devices, time_nodes(&b, 1));
		for (int i = 0; i < devices; i++)
			if (i % PER_NODE >= PER_NODE / 2)
				hold(&b, i);
		printf("full-%d %.2f ", devices, time_nodes(&b, 0));
	}
	bench_release(&b);
}

int main(void)
{
	measure("local", 1000, true);
	measure("local", 10000, true);
	measure("local", 100000, true);
	measure("network", 1000, false);
	measure("network", 10000, false);
	printf("\n");
	return 0;
}
