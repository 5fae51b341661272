/*
 * Attach is behind if the book may differ from the kubelet's List for more than a moment: a reason
 * to call has been waiting, the kubelet has been silent, or its pods are not in the API.
 */
#include "base/core/clock.h"
#include "base/report/log.h"
#include "node/attach/attach_impl.h"

enum { BEHIND_MS = 2000, SILENT_TIMES = 3 };

static struct metrics_family *behind_family(struct metrics *m, const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;

	return metrics_register(m, spec, &f, NULL) < 0 ? NULL : f;
}

void attach_behind_init(struct attach *a)
{
	static const char *const labels[] = { "method", "code" };
	struct metrics_family *f;

	if (!a->opts.metrics)
		return;
	a->calls = behind_family(a->opts.metrics,
				 &(struct metrics_spec){ .name = "devplane_attach_calls_total",
							 .help = "Calls to the kubelet, by result.",
							 .type = METRICS_COUNTER,
							 .labels = labels,
							 .labels_n = ARRAY_SIZE(labels) });
	f = behind_family(
		a->opts.metrics,
		&(struct metrics_spec){ .name = "devplane_attach_torn_answers_total",
					.help = "Inconsistent replies to List, which were "
						"discarded.",
					.type = METRICS_COUNTER });
	a->torn = f ? metrics_counter_of(f, NULL, 0) : NULL;
	f = behind_family(a->opts.metrics,
			  &(struct metrics_spec){ .name = "devplane_attach_behind",
						  .help = "1 while the kubelet cannot be followed.",
						  .type = METRICS_GAUGE });
	a->behind_gauge = f ? metrics_gauge_of(f, NULL, 0) : NULL;
	f = behind_family(
		a->opts.metrics,
		&(struct metrics_spec){ .name = "devplane_attach_last_answer_timestamp_seconds",
					.help = "Time of the kubelet's last reply, in seconds "
						"since 1970.",
					.type = METRICS_GAUGE });
	a->last_answer = f ? metrics_gauge_of(f, NULL, 0) : NULL;
}

void attach_behind_called(struct attach *a, struct str method, enum grpc_code code)
{
	if (a->calls)
		metrics_counter_add(
			metrics_counter(a->calls, method, str_from(grpc_code_name(code))), 1);
	if (code != GRPC_OK)
		return;
	a->last_answer_ms = loop_now(a->opts.loop);
	if (a->last_answer)
		metrics_gauge_set(a->last_answer,
				  (double)clock_wall(loop_clock(a->opts.loop)) / CLOCK_SEC);
}

/* The problem, and since when it exists, in ms of the loop. */
struct lag {
	int64_t since; /* INT64_MAX: no problem */
	const char *what;
};

/* Keeps the oldest problem; one that began after `latest` is normal and does not count. */
static void consider(struct lag *lag, int64_t since, int64_t latest, const char *what)
{
	if (since <= latest && since < lag->since)
		*lag = (struct lag){ since, what };
}

static struct lag lag_of(const struct attach *a)
{
	int64_t now = loop_now(a->opts.loop), soon = now - BEHIND_MS;
	struct lag lag = { .since = INT64_MAX };

	if (!informer_synced(a->pods))
		return (struct lag){ a->began_ms, "the pods of this node are not known yet" };
	if (!a->listed)
		return (struct lag){ a->began_ms, "the kubelet has not listed its pods yet" };
	consider(&lag, a->unknown_ms, soon, "the kubelet has pods that the API does not show");
	consider(&lag, attach_poll_waiting_since(&a->poll, now), soon,
		 "changes wait for the kubelet's answer");
	consider(&lag, a->last_answer_ms, now - SILENT_TIMES * a->poll.idle_ms,
		 "the kubelet does not answer");
	return lag;
}

int attach_check(const struct attach *a, struct error *err)
{
	struct lag lag;

	if (a->stopping)
		return error_set(err, ERR_UNAVAILABLE, "stopping");
	lag = lag_of(a);
	if (lag.since == INT64_MAX)
		return 0;
	return error_set(err, ERR_UNAVAILABLE, "behind for %.1f s: %s%s%s",
			 (double)(loop_now(a->opts.loop) - lag.since) / 1000, lag.what,
			 a->problem[0] ? ": " : "", a->problem);
}

int attach_check_socket(const struct attach *a, struct error *err)
{
	if (a->ready)
		return 0;
	return error_set(err, ERR_UNAVAILABLE,
			 "not connected to %s%s%s; check that the kubelet runs, and that this is "
			 "its socket",
			 a->socket, a->problem[0] ? ": " : "", a->problem);
}

void attach_behind_look(struct attach *a)
{
	struct lag lag = lag_of(a);
	bool is = lag.since != INT64_MAX;
	bool was = a->behind;

	if (a->behind_gauge)
		metrics_gauge_set(a->behind_gauge, is);
	/* Short problems are not logged. */
	a->behind = is && loop_now(a->opts.loop) - lag.since >= BEHIND_MS;
	if (was && !a->behind)
		log_info(a->opts.log, "the kubelet is followed again");
	if (a->behind && !was)
		log_warn(a->opts.log, "behind the kubelet", LOG_Z("what", lag.what),
			 LOG_Z("error", a->problem));
}
