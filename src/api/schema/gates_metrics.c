/* Gates do not change while a program runs, so the values are set once. */
#include "api/schema/gates_metrics.h"

#include "base/report/metrics.h"

static const char *const gate_labels[] = { "name", "stage" };

int gates_metrics_register(struct metrics *m, const struct gates *gates, struct error *err)
{
	struct metrics_spec spec = { .name = "kubernetes_feature_enabled",
				     .help = "Whether a feature gate is on.",
				     .type = METRICS_GAUGE,
				     .labels = gate_labels,
				     .labels_n = ARRAY_SIZE(gate_labels) };
	struct metrics_family *f;
	int r;

	r = metrics_register(m, &spec, &f, err);
	for (int i = GATE_NONE + 1; r == 0 && i < GATE_COUNT; i++)
		metrics_gauge_set(metrics_gauge(f, str_from(gate_name((enum gate)i)),
						str_from(gate_stage((enum gate)i))),
				  gates_on(gates, (enum gate)i) ? 1 : 0);
	return r;
}
