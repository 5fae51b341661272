/*
 * Upstream's metrics of claims. The number in use is counted from the log after each operation: a
 * node has few claims, and a running count could drift.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "node/claims/claims_impl.h"

#define ANY_DRIVER "<any>"

struct claims_count {
	struct metrics_gauge *gauge;
	size_t n;
	char driver[];
};

void claims_metrics_init(struct claims *c)
{
	/* From 0.1 to 40 s in 15 steps: a call may take 45 s. */
	static const double bounds[] = { 0.1,
					 0.15341274046343911,
					 0.23535468936502524,
					 0.36106407876409946,
					 0.55391829806107518,
					 0.84978124098393626,
					 1.303672689737678,
					 1.9999999999999993,
					 3.0682548092687809,
					 4.7070937873005034,
					 7.221281575281985,
					 11.0783659612215,
					 16.995624819678717,
					 26.073453794753551,
					 39.999999999999972 };
	static const char *const operation[] = { "operation_name", "is_error" };
	static const char *const driver[] = { "driver_name" };
	const struct metrics_spec durations = {
		.name = "dra_operations_duration_seconds",
		.help = "Time to prepare or unprepare all ResourceClaims of a pod.",
		.type = METRICS_HISTOGRAM,
		.labels = operation,
		.labels_n = ARRAY_SIZE(operation),
		.bounds = bounds,
		.bounds_n = ARRAY_SIZE(bounds),
	};
	const struct metrics_spec in_use = {
		.name = "dra_resource_claims_in_use",
		.help = "ResourceClaims in use on the node, by driver; <any>: all of them.",
		.type = METRICS_GAUGE,
		.labels = driver,
		.labels_n = ARRAY_SIZE(driver),
	};

	map_init(&c->counts);
	if (!c->opts.metrics)
		return;
	(void)metrics_register(c->opts.metrics, &durations, &c->durations, NULL);
	(void)metrics_register(c->opts.metrics, &in_use, &c->in_use, NULL);
}

void claims_metrics_release(struct claims *c)
{
	size_t at = 0;
	struct str key;
	void *value;

	while (map_next(&c->counts, &at, &key, &value))
		free(value);
	map_release(&c->counts);
}

void claims_metrics_over(struct claims *c, const struct claims_op *op)
{
	struct str failed = op->err.code != ERR_OK ? STR("true") : STR("false");
	int64_t ms = loop_now(c->opts.loop) - op->began_ms;

	if (c->durations)
		metrics_histogram_observe(
			metrics_histogram(c->durations, str_from(op->type->metric), failed),
			(double)ms / 1000);
}

static void count_one(struct claims *c, struct str driver)
{
	struct claims_count *count = map_get(&c->counts, driver);

	if (!count) {
		count = xcalloc(1, sizeof(*count) + driver.n);
		str_put(count->driver, driver);
		count->gauge = metrics_gauge(c->in_use, driver);
		(void)map_put(&c->counts, str_of(count->driver, driver.n), count);
	}
	count->n++;
}

void claims_metrics_count(struct claims *c)
{
	CLEANUP(arena_release) struct arena a;
	struct assign_claim claim;
	struct str at = STR_NULL, key;
	size_t next = 0;
	void *value;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!c->in_use)
		return;
	while (assign_claim_next(c->opts.assign, &at, &a, &claim)) {
		count_one(c, STR(ANY_DRIVER));
		for (size_t i = 0; i < claim.ndrivers; i++)
			count_one(c, claim.drivers[i]);
	}
	while (map_next(&c->counts, &next, &key, &value)) {
		struct claims_count *count = value;

		metrics_gauge_set(count->gauge, (double)count->n);
		count->n = 0;
	}
}
