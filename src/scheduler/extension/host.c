/*
 * The table of functions, and those of it that need little: metrics, log, time.
 */
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "scheduler/extension/extension_impl.h"

void extension_say(struct dp_reason *why, const char *text)
{
	size_t room;

	if (!why || why->size <= offsetof(struct dp_reason, text))
		return;
	room = MIN((size_t)why->size, sizeof(*why)) - offsetof(struct dp_reason, text);
	snprintf(why->text, room, "%s", text);
}

struct str extension_reason(const struct dp_reason *why)
{
	return str_of(why->text, strnlen(why->text, sizeof(why->text)));
}

static void host_wake(void *host, const char *type)
{
	struct extension *e = ((struct extension_host *)host)->extension;
	const struct extended_type *t = extended_types_find(e->opts.types, str_from(type));

	if (t)
		extension_wake(e, t->id, EVENT_ALL);
}

static int64_t host_now_ms(void *host)
{
	return loop_now(((struct extension_host *)host)->extension->opts.loop);
}

static void write_log(void *host, uint32_t level, const char *message)
{
	struct extension_host *h = host;
	const struct log *log = h->extension->opts.log;
	const char *plugin = h->instance ? h->instance->module->ops.name : "a handle";
	static const enum log_level levels[] = { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO,
						 LOG_LEVEL_DEBUG };
	enum log_level at = level < ARRAY_SIZE(levels) ? levels[level] : LOG_LEVEL_DEBUG;
	const struct log_field fields[] = { LOG_Z("plugin", plugin), LOG_Z("message", message) };

	if (log && log_enabled(log, at))
		log_write(log, at, "message of a plugin", fields, ARRAY_SIZE(fields));
}

/* --- metrics --------------------------------------------------------------------- */

static bool host_resolve(struct extension *e, uint32_t type, const struct metrics_spec *spec,
			 struct str value, struct dp_metric *m)
{
	struct metrics_family *f;

	if (!e->opts.metrics) {
		m->gauge = &m->own;
		return true;
	}
	if (metrics_register(e->opts.metrics, spec, &f, NULL) < 0)
		return false;
	if (type == DP_METRIC_COUNTER)
		m->counter = metrics_counter_of(f, &value, spec->labels_n);
	else
		m->gauge = metrics_gauge_of(f, &value, spec->labels_n);
	return true;
}

static struct dp_metric *metric(void *host, uint32_t type, const char *name, const char *help,
				const char *label, const char *value)
{
	struct extension *e = ((struct extension_host *)host)->extension;
	struct metrics_spec spec = {
		.name = name,
		.help = help ? help : "",
		.type = type == DP_METRIC_COUNTER ? METRICS_COUNTER : METRICS_GAUGE,
		.labels = &label,
		.labels_n = label ? 1 : 0,
	};
	struct dp_metric *m;

	if (type > DP_METRIC_GAUGE || !name)
		return NULL;
	m = XNEW(struct dp_metric);
	if (!host_resolve(e, type, &spec, str_from(value), m)) {
		free(m);
		return NULL;
	}
	(void)vec_push(&e->metrics, m);
	return m;
}

static void metric_add(struct dp_metric *m, double delta)
{
	if (m && m->gauge)
		metrics_gauge_add(m->gauge, delta);
	else if (m && delta > 0)
		metrics_counter_add_f64(m->counter, delta);
}

static void metric_set(struct dp_metric *m, double value)
{
	if (m && m->gauge)
		metrics_gauge_set(m->gauge, value);
}

void extension_host_init(struct extension_host *h, struct extension *e,
			 struct extension_instance *i)
{
	struct dp_scheduler_host *t = &h->table;

	h->extension = e;
	h->instance = i;
	h->life = e->life;
	h->id = i ? ++e->ids : 0;
	*t = (struct dp_scheduler_host){
		.size = sizeof(*t),
		.abi_major = DP_SCHEDULER_ABI_MAJOR,
		.abi_minor = DP_SCHEDULER_ABI_MINOR,
		.host = h,
		.wake = host_wake,
		.watch = extension_watch,
		.now_ms = host_now_ms,
		.log = write_log,
		.metric = metric,
		.metric_add = metric_add,
		.metric_set = metric_set,
	};
	extension_object_functions(t);
	extension_cache_functions(t);
	extension_node_functions(t);
	extension_post_functions(t);
}
