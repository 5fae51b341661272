/*
 * The counts have a registry of their own, because /metrics must not show them.
 */
#include "server/gate/slis.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/report/metrics.h"

struct slis {
	struct metrics *metrics;
	struct metrics_family *last, *total;
};

static int slis_register(struct slis *s, struct error *err)
{
	static const char *const labels[] = { "name", "type", "status" };
	const struct {
		struct metrics_spec spec;
		struct metrics_family **family;
	} all[] = {
		{ { "kubernetes_healthcheck", "Whether the last run of a health check succeeded.",
		    METRICS_GAUGE, labels, 2, NULL, 0 },
		  &s->last },
		{ { "kubernetes_healthchecks_total", "Runs of health checks.", METRICS_COUNTER,
		    labels, 3, NULL, 0 },
		  &s->total },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = metrics_register(s->metrics, &all[i].spec, all[i].family, err);
	return r;
}

int slis_new(struct slis **ret_slis, struct error *err)
{
	struct slis *s = XNEW(struct slis);
	int r;

	*s = (struct slis){ .metrics = metrics_new() };
	r = slis_register(s, err);
	if (r < 0)
		slis_free(s);
	else
		*ret_slis = s;
	return r;
}

void slis_free(struct slis *s)
{
	if (s)
		metrics_free(s->metrics);
	free(s);
}

void slis_count(struct slis *s, const char *check, const char *endpoint, bool succeeded)
{
	struct str name = str_from(check), type = str_from(endpoint);

	if (!s)
		return;
	metrics_gauge_set(metrics_gauge(s->last, name, type), succeeded ? 1 : 0);
	metrics_counter_add(
		metrics_counter(s->total, name, type, succeeded ? STR("success") : STR("error")),
		1);
}

int slis_print(struct slis *s, struct buf *out)
{
	return metrics_print(s->metrics, out);
}
