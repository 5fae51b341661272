/*
 * A call's metric follows from its method: Allocate has its own, and calls with claims are DRA's. A
 * metric that cannot be registered (which would be our own fault) is not counted.
 */
#include "node/plugins/metrics.h"

#include <assert.h>

#include "node/plugins/wire.h"

/* Prometheus' default buckets; and 15 exponential ones from 0.1 to 40 seconds. */
static const double allocation_bounds[] = {
	0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
};
static const double dra_bounds[] = {
	0.1,
	0.1534127404634391,
	0.23535468936502524,
	0.36106407876409946,
	0.5539182980610752,
	0.8497812409839363,
	1.303672689737678,
	1.9999999999999993,
	3.068254809268781,
	4.707093787300503,
	7.221281575281985,
	11.0783659612215,
	16.995624819678717,
	26.07345379475355,
	39.99999999999997,
};

static struct metrics_family *metrics_make(struct metrics *registry,
					   const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;
	int r = metrics_register(registry, spec, &f, NULL);

	assert(r == 0);
	(void)r;
	return f;
}

void plugin_metrics_init(struct plugin_metrics *m, struct metrics *registry)
{
	static const char *const resource[] = { "resource_name" };
	static const char *const call[] = { "driver_name", "method_name", "grpc_status_code" };

	if (!registry)
		return;
	m->registrations = metrics_make(
		registry,
		&(struct metrics_spec){ .name = "kubelet_device_plugin_registration_total",
					.help = "Registrations of device plugins, by resource.",
					.type = METRICS_COUNTER,
					.labels = resource,
					.labels_n = ARRAY_SIZE(resource) });
	m->allocations = metrics_make(
		registry,
		&(struct metrics_spec){
			.name = "kubelet_device_plugin_alloc_duration_seconds",
			.help = "Duration of device plugins' Allocate calls, by resource.",
			.type = METRICS_HISTOGRAM,
			.labels = resource,
			.labels_n = ARRAY_SIZE(resource),
			.bounds = allocation_bounds,
			.bounds_n = ARRAY_SIZE(allocation_bounds) });
	m->dra_calls = metrics_make(
		registry, &(struct metrics_spec){ .name = "dra_grpc_operations_duration_seconds",
						  .help = "Duration of calls to DRA drivers.",
						  .type = METRICS_HISTOGRAM,
						  .labels = call,
						  .labels_n = ARRAY_SIZE(call),
						  .bounds = dra_bounds,
						  .bounds_n = ARRAY_SIZE(dra_bounds) });
}

void plugin_metrics_registered(struct plugins *p, struct str resource)
{
	if (p->metrics.registrations)
		metrics_counter_add(metrics_counter(p->metrics.registrations, resource), 1);
}

void plugin_metrics_called(const struct plugin_request *q, enum grpc_code code)
{
	const struct plugin_metrics *m = &q->p->metrics;
	double seconds = (double)(loop_now(q->p->loop) - q->began_ms) / 1000;
	struct metrics_histogram *h;

	if (q->method == &plugin_wire_allocate && m->allocations)
		h = metrics_histogram(m->allocations, q->subject);
	else if (q->claims && m->dra_calls)
		h = metrics_histogram(m->dra_calls, q->subject, str_from(q->method->path),
				      str_from(plugin_wire_code(code)));
	else
		return;
	metrics_histogram_observe(h, seconds);
}
