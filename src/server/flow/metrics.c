/*
 * Metrics of flow control, with upstream's names and labels.
 */
#include "base/core/clock.h"
#include "base/report/metrics.h"
#include "server/core/parts.h"
#include "server/flow/config.h"
#include "server/flow/flow_impl.h"

#define PREFIX "apiserver_flowcontrol_"

static const char *const both[] = { "priority_level", "flow_schema" };
static const char *const with_reason[] = { "priority_level", "flow_schema", "reason" };
static const double seconds[] = { 0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30 };

int flow_metrics_add(struct flow *f, struct error *err)
{
	const struct {
		struct metrics_family **at;
		struct metrics_spec spec;
	} rows[] = {
		{ &f->dispatched,
		  { PREFIX "dispatched_requests_total", "Requests that were dispatched.",
		    METRICS_COUNTER, both, ARRAY_SIZE(both), NULL, 0 } },
		{ &f->rejected,
		  { PREFIX "rejected_requests_total", "Requests rejected with 429.",
		    METRICS_COUNTER, with_reason, ARRAY_SIZE(with_reason), NULL, 0 } },
		{ &f->waited,
		  { PREFIX "request_wait_duration_seconds", "Time that requests waited in a queue.",
		    METRICS_HISTOGRAM, both, ARRAY_SIZE(both), seconds, ARRAY_SIZE(seconds) } },
		{ &f->waiting,
		  { PREFIX "current_inqueue_requests", "Requests waiting in queues.", METRICS_GAUGE,
		    both, 1, NULL, 0 } },
		{ &f->executing,
		  { PREFIX "current_executing_requests", "Requests being executed.", METRICS_GAUGE,
		    both, 1, NULL, 0 } },
		{ &f->limits,
		  { PREFIX "nominal_limit_seats",
		    "Nominal concurrency limit of a priority level, in seats.", METRICS_GAUGE, both,
		    1, NULL, 0 } },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && r == 0; i++)
		r = metrics_register(f->server->metrics, &rows[i].spec, rows[i].at, err);
	return r;
}

static double metrics_read_number(void *number)
{
	return (double)atomic_load((atomic_llong *)number);
}

void flow_metrics_level(struct flow *f, struct flow_seats *s)
{
	metrics_callback_of(f->waiting, metrics_read_number, &s->waiting, &s->name, 1);
	metrics_callback_of(f->executing, metrics_read_number, &s->taken, &s->name, 1);
	metrics_callback_of(f->limits, metrics_read_number, &s->nominal, &s->name, 1);
}

void flow_metrics_schema(struct flow *f, struct flow_schema *s)
{
	const struct str values[] = { s->level->name, s->name };

	s->dispatched = metrics_counter_of(f->dispatched, values, ARRAY_SIZE(values));
	s->waited = metrics_histogram_of(f->waited, values, ARRAY_SIZE(values));
}

void flow_metrics_rejected(struct flow *f, const struct flow_schema *s, enum flow_reason reason)
{
	static const struct str reasons[] = {
		[FLOW_QUEUE_FULL] = STR("queue-full"),
		[FLOW_TIME_OUT] = STR("time-out"),
		[FLOW_CONCURRENCY_LIMIT] = STR("concurrency-limit"),
	};
	struct str values[] = { STR(""), STR(""), reasons[reason] };

	if (s) {
		values[0] = s->level->name;
		values[1] = s->name;
	}
	metrics_counter_add(metrics_counter_of(f->rejected, values, ARRAY_SIZE(values)), 1);
}

void flow_metrics_waited(const struct flow_ticket *t)
{
	int64_t ns = clock_monotonic(t->flow->server->clock) - t->begun_ns;

	metrics_histogram_observe(t->schema->waited, (double)ns / (double)CLOCK_SEC);
}
