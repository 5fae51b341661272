/*
 * Evaluations of device selectors per second on one core, and what they take from the heap.
 *
 *	cel_bench
 *
 * One line for each selector: its name, evaluations per second, allocations per million of them,
 * and how many of the devices it selects. Devices are read from JSON as ResourceSlices have them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json/json.h"
#include "cel/cel_limits.h"
#include "cel/kubernetes/device.h"

enum { DEVICES = 64, ROUNDS = 40000, SCRATCH = 4096 };

struct bench {
	struct arena arena;
	struct cel_device devices[DEVICES];
};

static const struct {
	const char *name, *text;
} selectors[] = {
	{ "two-clauses",
	  "device.driver == \"gpu.example.com\" && "
	  "device.capacity[\"gpu.example.com\"].memory.isGreaterThan(quantity(\"10Gi\"))" },
	{ "model", "device.driver == \"gpu.example.com\" && "
		   "device.attributes[\"gpu.example.com\"].model == \"a100\"" },
	{ "version", "device.attributes[\"gpu.example.com\"].driverVersion"
		     ".isGreaterThan(semver(\"12.1.0\"))" },
	{ "missing", "device.attributes[\"gpu.example.com\"].?nothing.orValue(7) == 7 && "
		     "!(\"absent\" in device.attributes[\"gpu.example.com\"])" },
	{ "bound", "cel.bind(a, device.attributes[\"gpu.example.com\"], a.index >= 3 && "
		   "a.model in [\"a100\", \"h100\"])" },
};

/* --- the heap ------------------------------------------------------------------------ */

/* The linker sends calls of our code here: see meson.build. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static size_t allocations;

void *__wrap_malloc(size_t n)
{
	allocations++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	allocations++;
	return __real_realloc(p, n);
}

/* --- devices ------------------------------------------------------------------------- */

static void read_device(struct bench *b, size_t i)
{
	const char *text = arena_printf(
		&b->arena,
		"{\"name\":\"gpu-%zu\",\"attributes\":{\"model\":{\"string\":\"%s\"},"
		"\"index\":{\"int\":%zu},\"uuid\":{\"string\":\"gpu-18db0e85-99e9-c746-8531-%zu\"},"
		"\"driverVersion\":{\"version\":\"12.%zu.0\"},\"ecc\":{\"bool\":true},"
		"\"resource.kubernetes.io/pcieRoot\":{\"string\":\"pci0000:00\"}},"
		"\"capacity\":{\"memory\":{\"value\":\"%zuGi\"},\"cores\":{\"value\":\"128\"}}}",
		i, i % 2 ? "a100" : "h100-sxm5-80gb", i % 8, i, i % 4, i % 3 ? 40UL : 8UL);
	struct json *tree;
	struct error err;

	if (json_parse(&b->arena, str_from(text), NULL, &tree, &err) < 0 ||
	    cel_device_read(tree, STR("gpu.example.com"), &b->arena, &b->devices[i], &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
}

/* --- measuring ----------------------------------------------------------------------- */

/* Of this process: others may use the machine meanwhile. */
static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct cel_program *compile(struct bench *b, const char *text)
{
	const struct cel_device_features all = { true, true };
	struct buf out = BUF_INIT(SCRATCH);
	const struct cel_program *p;
	struct cel_issues issues;

	cel_issues_init(&issues, &b->arena, str_from(text));
	p = cel_device_compile(all, str_from(text), NULL, &b->arena, &issues);
	if (!p) {
		cel_issues_print(&issues, &out);
		fprintf(stderr, "%.*s\n", STR_ARG(buf_str(&out)));
		exit(1);
	}
	return p;
}

/* Devices that are selected in all rounds. */
static size_t evaluate(struct bench *b, const struct cel_program *p, size_t rounds)
{
	_Alignas(16) char block[SCRATCH];
	struct cel_eval ev = { .cost_limit = CEL_DEVICE_COST_MAX };
	struct arena scratch;
	size_t selected = 0;

	arena_init_in(&scratch, CEL_SCRATCH_MAX, block, sizeof(block));
	ev.scratch = &scratch;
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < DEVICES; i++) {
			int r = cel_device_matches(p, &ev, &b->devices[i], NULL);

			if (r < 0)
				exit(1);
			selected += (size_t)r;
			ev.cost = 0;
			arena_clear(&scratch);
		}
	arena_release(&scratch);
	return selected;
}

int main(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return 1;
	arena_init(&b->arena, SIZE_MAX);
	for (size_t i = 0; i < DEVICES; i++)
		read_device(b, i);
	for (size_t i = 0; i < ARRAY_SIZE(selectors); i++) {
		const struct cel_program *p = compile(b, selectors[i].text);
		size_t before, selected;
		double begun;

		(void)evaluate(b, p, ROUNDS / 10);
		before = allocations;
		begun = seconds();
		selected = evaluate(b, p, ROUNDS);
		printf("%s %.0f %.0f %zu\n", selectors[i].name,
		       (double)ROUNDS * DEVICES / (seconds() - begun),
		       (double)(allocations - before) * 1e6 / ROUNDS / DEVICES, selected / ROUNDS);
	}
	arena_release(&b->arena);
	free(b);
	return 0;
}
