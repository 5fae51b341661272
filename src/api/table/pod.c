/*
 * Pods, as `kubectl get pods` has always shown them: the status is the reason of the first problem,
 * starting with the init containers.
 */
#include "api/table/column.h"

#include "api/table/table.h"
#include "base/core/limits.h"
#include "base/time/timestamp.h"

/* The summary of the containers' states. */
struct summary {
	struct buf reason;
	int64_t ready, total;
	int64_t restarts;
	int64_t last_restart; /* ns; 0: never */
	int64_t sidecar_restarts, sidecar_last; /* of restartable init containers */
	bool initializing;
};

static void set_reason(struct summary *s, const char *prefix, struct str reason)
{
	buf_clear(&s->reason);
	(void)buf_addz(&s->reason, prefix);
	(void)buf_add_str(&s->reason, reason);
}

/* Sets the reason of a terminated container, or its signal or exit code. */
static void set_terminated(struct summary *s, const char *prefix, const struct json *terminated)
{
	struct str reason = json_text_at(terminated, "reason");
	int64_t signal = column_find_i64(terminated, "signal");

	set_reason(s, prefix, reason);
	if (reason.n)
		return;
	if (signal)
		(void)buf_printf(&s->reason, "Signal:%lld", (long long)signal);
	else
		(void)buf_printf(&s->reason, "ExitCode:%lld",
				 (long long)column_find_i64(terminated, "exitCode"));
}

static int64_t last_end(const struct json *container)
{
	struct str time = column_find_str(container, "lastState.terminated.finishedAt");
	int64_t ns = 0;

	if (time.n)
		(void)timestamp_parse(time, &ns, NULL);
	return ns;
}

static bool is_sidecar(const struct json *pod, struct str name)
{
	JSON_FOREACH (c, column_find(pod, "spec.initContainers"))
		if (str_eq(json_text_at(c, "name"), name))
			return str_eqz(json_text_at(c, "restartPolicy"), "Always");
	return false;
}

/* Handles one init container; returns true if the later ones need not be checked. */
static bool see_init(struct summary *s, const struct json *pod, const struct json *c, size_t i)
{
	const struct json *terminated = column_find(c, "state.terminated");
	struct str waiting = column_find_str(c, "state.waiting.reason");
	bool sidecar = is_sidecar(pod, json_text_at(c, "name"));
	int64_t restarts = column_find_i64(c, "restartCount");

	s->restarts += restarts;
	s->last_restart = MAX(s->last_restart, last_end(c));
	if (sidecar) {
		s->sidecar_restarts += restarts;
		s->sidecar_last = MAX(s->sidecar_last, last_end(c));
	}
	if (terminated && column_find_i64(terminated, "exitCode") == 0)
		return false;
	if (sidecar && column_find_bool(c, "started")) {
		s->ready += column_find_bool(c, "ready");
		return false;
	}
	s->initializing = true;
	if (terminated)
		set_terminated(s, "Init:", terminated);
	else if (waiting.n && !str_eq(waiting, STR("PodInitializing")))
		set_reason(s, "Init:", waiting);
	else {
		buf_clear(&s->reason);
		(void)buf_printf(&s->reason, "Init:%zu/%zu", i,
				 json_count(column_find(pod, "spec.initContainers")));
	}
	return true;
}

static void see_inits(struct summary *s, const struct json *pod)
{
	size_t i = 0;

	JSON_FOREACH (c, column_find(pod, "spec.initContainers"))
		s->total += str_eqz(json_text_at(c, "restartPolicy"), "Always");
	JSON_FOREACH (c, column_find(pod, "status.initContainerStatuses"))
		if (see_init(s, pod, c, i++))
			return;
}

/* The result of the containers' states; the first container takes precedence. */
struct containers {
	bool running;
	struct buf failed; /* reason of a failed container */
};

static void see_container(struct summary *s, const struct json *c, struct containers *seen)
{
	const struct json *terminated = column_find(c, "state.terminated");
	struct str waiting = column_find_str(c, "state.waiting.reason");

	s->restarts += column_find_i64(c, "restartCount");
	s->last_restart = MAX(s->last_restart, last_end(c));
	if (waiting.n) {
		set_reason(s, "", waiting);
	} else if (terminated) {
		set_terminated(s, "", terminated);
		if (column_find_i64(terminated, "exitCode") != 0) {
			buf_clear(&seen->failed);
			(void)buf_add_str(&seen->failed, buf_str(&s->reason));
		}
	} else if (column_find_bool(c, "ready") && column_find(c, "state.running")) {
		seen->running = true;
		s->ready++;
	}
}

static void see_containers(struct summary *s, const struct json *pod)
{
	const struct json *list = column_find(pod, "status.containerStatuses");
	struct containers seen = { .failed = BUF_INIT(KIB) };

	if (s->initializing && !column_condition(pod, STR("Initialized")))
		return;
	s->restarts = s->sidecar_restarts;
	s->last_restart = s->sidecar_last;
	for (size_t i = json_count(list); i > 0; i--)
		see_container(s, json_at(list, i - 1), &seen);
	if (str_eqz(buf_str(&s->reason), "Completed")) {
		if (seen.running && column_condition(pod, STR("Ready")))
			set_reason(s, "", STR("Running"));
		else if (seen.failed.n)
			set_reason(s, "", buf_str(&seen.failed));
		else if (seen.running)
			set_reason(s, "", STR("NotReady"));
	}
	buf_release(&seen.failed);
}

static bool is_gated(const struct json *pod)
{
	JSON_FOREACH (c, column_find(pod, "status.conditions"))
		if (str_eqz(json_text_at(c, "type"), "PodScheduled") &&
		    str_eqz(json_text_at(c, "reason"), "SchedulingGated"))
			return true;
	return false;
}

static void summarize(struct summary *s, const struct json *pod)
{
	struct str phase = column_find_str(pod, "status.phase");
	struct str reason = column_find_str(pod, "status.reason");
	bool over = str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");

	*s = (struct summary){ .reason = BUF_INIT(KIB) };
	s->total = (int64_t)json_count(column_find(pod, "spec.containers"));
	set_reason(s, "", reason.n ? reason : phase);
	if (is_gated(pod))
		set_reason(s, "", STR("SchedulingGated"));
	see_inits(s, pod);
	see_containers(s, pod);
	if (!column_find(pod, "metadata.deletionTimestamp"))
		return;
	if (str_eqz(reason, "NodeLost"))
		set_reason(s, "", STR("Unknown"));
	else if (!over)
		set_reason(s, "", STR("Terminating"));
}

void column_pod_ready(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct summary s;

	summarize(&s, object);
	column_printf(out, "%lld/%lld", (long long)s.ready, (long long)s.total);
	buf_release(&s.reason);
}

void column_pod_status(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct summary s;

	summarize(&s, object);
	column_text(out, buf_str(&s.reason), "");
	buf_release(&s.reason);
}

void column_pod_restarts(const struct json *object, int64_t now_ns, struct buf *out)
{
	struct buf ago = BUF_INIT(KIB);
	struct summary s;

	summarize(&s, object);
	if (s.restarts && s.last_restart) {
		(void)table_age(s.last_restart, now_ns, &ago);
		column_printf(out, "%lld (%.*s ago)", (long long)s.restarts, (int)ago.n, ago.p);
	} else {
		column_printf(out, "%lld", (long long)s.restarts);
	}
	buf_release(&ago);
	buf_release(&s.reason);
}

void column_pod_ip(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *first = json_at(column_find(object, "status.podIPs"), 0);

	column_text(out, json_text_at(first, "ip"), "<none>");
}

void column_pod_node(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "spec.nodeName"), "<none>");
}

void column_pod_nominated_node(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_text(out, column_find_str(object, "status.nominatedNodeName"), "<none>");
}

void column_pod_readiness_gates(const struct json *object, int64_t now_ns, struct buf *out)
{
	const struct json *gates = column_find(object, "spec.readinessGates");
	size_t met = 0;

	if (json_count(gates) == 0) {
		column_text(out, STR_NULL, "<none>");
		return;
	}
	JSON_FOREACH (gate, gates)
		met += column_condition(object, json_text_at(gate, "conditionType"));
	column_printf(out, "%zu/%zu", met, json_count(gates));
}
