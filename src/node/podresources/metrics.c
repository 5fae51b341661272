/*
 * Metrics are built from tables. Series are created at once, so that 0 is printed. A metric that
 * cannot be registered would be our own fault.
 */
#include "node/podresources/metrics.h"

#include <assert.h>

static const char *const prefixes[PODRES_NAMES] = { "kubelet_", "" };

/* The end of the metric's name, and the gRPC method. */
static const struct {
	const char *name, *method;
} calls[PODRES_CALL_LIST_ALPHA] = {
	[PODRES_CALL_LIST] = { "list", "List" },
	[PODRES_CALL_GET] = { "get", "Get" },
	[PODRES_CALL_ALLOCATABLE] = { "get_allocatable", "GetAllocatableResources" },
	[PODRES_CALL_WATCH] = { "list_and_watch", "ListAndWatch" },
	[PODRES_CALL_WATCH_ALLOCATABLE] = { "list_and_watch_allocatable_resources",
					    "ListAndWatchAllocatableResources" },
};

static const char *const reasons[PODRES_REFUSALS] = {
	[PODRES_REFUSED_RATE] = "rate",
	[PODRES_REFUSED_CALLS] = "open_calls",
	[PODRES_REFUSED_CLIENT_STREAMS] = "client_streams",
	[PODRES_REFUSED_STREAMS] = "streams",
};

static struct metrics_family *metrics_make(struct metrics *registry, enum metrics_type type,
					   const char *name, const char *help, const char *label)
{
	struct metrics_spec spec = {
		.name = name,
		.help = help,
		.type = type,
		.labels = &label,
		.labels_n = label ? 1 : 0,
	};
	struct metrics_family *f = NULL;
	int r = metrics_register(registry, &spec, &f, NULL);

	assert(r == 0);
	(void)r;
	return f;
}

static struct metrics_family *make_endpoint(struct metrics *registry, const char *prefix,
					    const char *what, const char *of, const char *help)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%spod_resources_endpoint_%s_%s", prefix, what, of);
	return metrics_make(registry, METRICS_COUNTER, name, help, "server_api_version");
}

static void init_endpoint(struct podres_metrics *m, struct metrics *registry, size_t n)
{
	const char *prefix = prefixes[n];
	struct metrics_family *f;
	char help[160];

	f = make_endpoint(registry, prefix, "requests", "total",
			  "Cumulative number of requests to the PodResource endpoint. Broken down "
			  "by server api version.");
	m->total[n] = metrics_counter(f, STR("v1"));
	m->total_alpha[n] = metrics_counter(f, STR("v1alpha1"));
	for (size_t i = 0; i < PODRES_CALL_LIST_ALPHA; i++) {
		(void)snprintf(help, sizeof(help),
			       "Number of requests to the PodResource %s endpoint. Broken down by "
			       "server api version.",
			       calls[i].method);
		f = make_endpoint(registry, prefix, "requests", calls[i].name, help);
		m->requests[i][n] = metrics_counter(f, STR("v1"));
		(void)snprintf(help, sizeof(help),
			       "Number of requests to the PodResource %s endpoint which returned "
			       "error. Broken down by server api version.",
			       calls[i].method);
		f = make_endpoint(registry, prefix, "errors", calls[i].name, help);
		m->errors[i][n] = metrics_counter(f, STR("v1"));
	}
}

void podres_metrics_init(struct podres_metrics *m, struct metrics *registry)
{
	struct metrics_family *f;

	*m = (struct podres_metrics){ 0 };
	if (!registry)
		return;
	for (size_t n = 0; n < PODRES_NAMES; n++)
		init_endpoint(m, registry, n);
	f = metrics_make(registry, METRICS_GAUGE, "devplane_pod_resources_streams",
			 "Open PodResources watches.", "method");
	for (size_t i = PODRES_CALL_WATCH; i <= PODRES_CALL_WATCH_ALLOCATABLE; i++)
		m->streams[i] = metrics_gauge(f, str_from(calls[i].method));
	f = metrics_make(registry, METRICS_COUNTER, "devplane_pod_resources_events_total",
			 "Messages sent to PodResources watches.", NULL);
	m->events = metrics_counter_of(f, NULL, 0);
	f = metrics_make(registry, METRICS_GAUGE, "devplane_pod_resources_backlog",
			 "Changes not yet sent to PodResources watches, summed over all watches.",
			 NULL);
	m->backlog = metrics_gauge_of(f, NULL, 0);
	f = metrics_make(registry, METRICS_COUNTER, "devplane_pod_resources_refused_total",
			 "PodResources calls rejected because of a limit.", "reason");
	for (size_t i = PODRES_TAKEN + 1; i < PODRES_REFUSALS; i++)
		m->refused[i] = metrics_counter(f, str_from(reasons[i]));
}

static void add_one(struct metrics_counter *const *names)
{
	for (size_t n = 0; n < PODRES_NAMES; n++)
		if (names[n])
			metrics_counter_add(names[n], 1);
}

void podres_metrics_called(const struct podres_metrics *m, enum podres_call call)
{
	add_one(call == PODRES_CALL_LIST_ALPHA ? m->total_alpha : m->total);
	if (call != PODRES_CALL_LIST_ALPHA)
		add_one(m->requests[call]);
}

void podres_metrics_failed(const struct podres_metrics *m, enum podres_call call)
{
	if (call != PODRES_CALL_LIST_ALPHA)
		add_one(m->errors[call]);
}

void podres_metrics_refused(const struct podres_metrics *m, enum podres_refusal why)
{
	if (m->refused[why])
		metrics_counter_add(m->refused[why], 1);
}

void podres_metrics_stream(const struct podres_metrics *m, enum podres_call call, int change)
{
	if (m->streams[call])
		metrics_gauge_add(m->streams[call], change);
}

void podres_metrics_sent(const struct podres_metrics *m, uint64_t n)
{
	if (m->events)
		metrics_counter_add(m->events, n);
}

void podres_metrics_backlog(const struct podres_metrics *m, double change)
{
	if (m->backlog)
		metrics_gauge_add(m->backlog, change);
}
