/*
 * Metrics with upstream's names and labels. Each one follows a call over the network, so looking
 * up the series every time does not matter.
 */
#include <stdio.h>

#include "base/report/metrics.h"
#include "server/core/parts.h"
#include "server/webhooks/webhooks_impl.h"

static const double bounds[] = { 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25 };

int webhook_metrics_new(struct webhooks *w, struct error *err)
{
	static const char *const labels[] = { "name", "type", "operation", "rejected" };
	static const char *const total[] = { "name", "type", "operation", "code", "rejected" };
	static const char *const reject[] = { "name", "type", "operation", "error_type",
					      "rejection_code" };
	const struct {
		struct metrics_spec spec;
		struct metrics_family **family;
	} all[] = {
		{ { "apiserver_admission_webhook_admission_duration_seconds",
		    "Duration of webhook calls.", METRICS_HISTOGRAM, labels, 4, bounds,
		    ARRAY_SIZE(bounds) },
		  &w->duration },
		{ { "apiserver_admission_webhook_request_total", "Webhook calls.", METRICS_COUNTER,
		    total, 5, NULL, 0 },
		  &w->total },
		{ { "apiserver_admission_webhook_rejection_count",
		    "Writes rejected by a webhook, or because a webhook failed.", METRICS_COUNTER,
		    reject, 5, NULL, 0 },
		  &w->rejections },
		{ { "apiserver_admission_webhook_fail_open_count",
		    "Writes allowed although a webhook failed.", METRICS_COUNTER, labels, 2, NULL,
		    0 },
		  &w->fail_open },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = metrics_register(w->server->metrics, &all[i].spec, all[i].family, err);
	return r;
}

void webhook_metrics_count(struct webhooks *w, enum webhook_type type, struct str name,
			   enum admission_op op, enum webhook_end end, int code, double seconds)
{
	struct str kind = type == WEBHOOK_MUTATING ? STR("admit") : STR("validating");
	bool rejected = end == WEBHOOK_REFUSED || end == WEBHOOK_FAILED;
	struct str verdict = rejected ? STR("true") : STR("false");
	struct str operation = admission_op_name(op);
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", code);
	metrics_histogram_observe(metrics_histogram(w->duration, name, kind, operation, verdict),
				  seconds);
	metrics_counter_add(
		metrics_counter(w->total, name, kind, operation, str_from(text), verdict), 1);
	if (rejected)
		metrics_counter_add(metrics_counter(w->rejections, name, kind, operation,
						    end == WEBHOOK_REFUSED
							    ? STR("no_error")
							    : STR("calling_webhook_error"),
						    str_from(text)),
				    1);
	if (end == WEBHOOK_FAILED_OPEN)
		metrics_counter_add(metrics_counter(w->fail_open, name, kind), 1);
}
