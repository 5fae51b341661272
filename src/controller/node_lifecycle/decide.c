/*
 * A list of taints is replaced as a whole, so the patch repeats those of others in their order.
 */
#include "controller/node_lifecycle/decide.h"

#include "base/time/timestamp.h"

#define NO_EXECUTE  STR("NoExecute")
#define NO_SCHEDULE STR("NoSchedule")

#define NOT_READY     "node.kubernetes.io/not-ready"
#define UNREACHABLE   "node.kubernetes.io/unreachable"
#define UNSCHEDULABLE "node.kubernetes.io/unschedulable"

/* --- reading --------------------------------------------------------------------------------- */

static const struct json *conditions_of(const struct json *object)
{
	return json_getz(json_getz(object, "status"), "conditions");
}

static const struct json *find_condition(const struct json *object, const char *type)
{
	return json_find(conditions_of(object), "type", str_from(type));
}

enum node_ready node_decision_ready(const struct json *node)
{
	const struct json *c = find_condition(node, "Ready");
	struct str status = json_text_at(c, "status");

	if (!c)
		return NODE_READY_MISSING;
	if (str_eqz(status, "True"))
		return NODE_READY_TRUE;
	return str_eqz(status, "False") ? NODE_READY_FALSE : NODE_READY_UNKNOWN;
}

struct str node_decision_heartbeat(const struct json *node)
{
	return json_text_at(find_condition(node, "Ready"), "lastHeartbeatTime");
}

static const struct json *taints_of(const struct json *node)
{
	return json_getz(json_getz(node, "spec"), "taints");
}

static bool is_taint(const struct json *taint, struct str key, struct str effect)
{
	return str_eq(json_text_at(taint, "key"), key) &&
	       str_eq(json_text_at(taint, "effect"), effect);
}

static bool has_taint(const struct json *node, struct str key, struct str effect)
{
	JSON_FOREACH (it, taints_of(node))
		if (is_taint(it, key, effect))
			return true;
	return false;
}

static struct str taint_of(enum node_ready ready)
{
	if (ready == NODE_READY_FALSE)
		return STR(NOT_READY);
	return ready == NODE_READY_UNKNOWN ? STR(UNREACHABLE) : STR_NULL;
}

static struct str opposite_of(enum node_ready ready)
{
	if (ready == NODE_READY_FALSE)
		return STR(UNREACHABLE);
	return ready == NODE_READY_UNKNOWN ? STR(NOT_READY) : STR_NULL;
}

bool node_decision_has_taint(const struct json *node, enum node_ready ready)
{
	struct str key = taint_of(ready);

	return key.n > 0 && has_taint(node, key, NO_EXECUTE);
}

bool node_decision_has_opposite(const struct json *node, enum node_ready ready)
{
	struct str key = opposite_of(ready);

	return key.n > 0 && has_taint(node, key, NO_EXECUTE);
}

/* --- zones ----------------------------------------------------------------------------------- */

static struct str label_of(const struct json *node, const char *key, const char *other)
{
	const struct json *labels = json_getz(json_getz(node, "metadata"), "labels");
	struct str value = json_text_at(labels, key);

	return value.n > 0 ? value : json_text_at(labels, other);
}

struct str node_decision_zone(const struct json *node, struct arena *a)
{
	struct str region = label_of(node, "failure-domain.beta.kubernetes.io/region",
				     "topology.kubernetes.io/region");
	struct str zone = label_of(node, "failure-domain.beta.kubernetes.io/zone",
				   "topology.kubernetes.io/zone");

	if (region.n == 0 && zone.n == 0)
		return STR_NULL;
	return str_from(arena_printf(a, "%.*s:/:%.*s", STR_ARG(region), STR_ARG(zone)));
}

bool node_decision_excluded(const struct json *node)
{
	return json_getz(json_getz(json_getz(node, "metadata"), "labels"),
			 "node.kubernetes.io/exclude-disruption") != NULL;
}

/* --- patches --------------------------------------------------------------------------------- */

static struct str time_text(struct arena *a, int64_t now_ns)
{
	char text[TIMESTAMP_SIZE];

	return arena_str(a, timestamp_print(now_ns, TIMESTAMP_SECONDS, text));
}

static struct json *patch_of(struct arena *a, const struct json *object, bool version)
{
	const struct json *meta = json_getz(object, "metadata");
	struct json *patch = json_make_object(a), *to = json_need_object(a, patch, "metadata");

	json_put_str(a, to, "uid", json_text_at(meta, "uid"));
	if (version)
		json_put_str(a, to, "resourceVersion", json_text_at(meta, "resourceVersion"));
	return patch;
}

/* --- conditions ------------------------------------------------------------------------------ */

static void lose_condition(struct arena *a, const struct json *node, const char *type,
			   struct str now, struct json *list)
{
	const struct json *had = find_condition(node, type);
	struct json *c = json_make_object(a);
	struct str created = json_text_at(json_getz(node, "metadata"), "creationTimestamp");

	if (str_eqz(json_text_at(had, "status"), "Unknown"))
		return;
	json_put_str(a, c, "type", str_from(type));
	json_put_str(a, c, "status", STR("Unknown"));
	json_put_str(a, c, "reason",
		     had ? STR("NodeStatusUnknown") : STR("NodeStatusNeverUpdated"));
	json_put_str(a, c, "message",
		     had ? STR("Kubelet stopped posting node status.")
			 : STR("Kubelet never posted node status."));
	if (!had && created.n > 0)
		json_put_str(a, c, "lastHeartbeatTime", created);
	json_put_str(a, c, "lastTransitionTime", now);
	json_append(list, c);
}

struct json *node_decision_lost(struct arena *a, const struct json *node, int64_t now_ns)
{
	static const char *const types[] = { "Ready", "MemoryPressure", "DiskPressure",
					     "PIDPressure" };
	struct str now = time_text(a, now_ns);
	struct json *patch, *list;

	if (node_decision_ready(node) == NODE_READY_UNKNOWN)
		return NULL;
	patch = patch_of(a, node, true);
	list = json_need_array(a, json_need_object(a, patch, "status"), "conditions");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		lose_condition(a, node, types[i], now, list);
	return patch;
}

struct json *node_decision_pod(struct arena *a, const struct json *pod, int64_t now_ns)
{
	const struct json *had = find_condition(pod, "Ready");
	struct json *patch, *c = json_make_object(a);

	if (!had || str_eqz(json_text_at(had, "status"), "False"))
		return NULL;
	patch = patch_of(a, pod, false);
	json_put_str(a, c, "type", STR("Ready"));
	json_put_str(a, c, "status", STR("False"));
	json_put_str(a, c, "lastTransitionTime", time_text(a, now_ns));
	json_append(json_need_array(a, json_need_object(a, patch, "status"), "conditions"), c);
	return patch;
}

/* --- taints ---------------------------------------------------------------------------------- */

/* Taints of effect NoSchedule that follow from conditions. */
static const struct {
	const char *type, *status, *key;
} by_condition[] = {
	{ "Ready", "False", NOT_READY },
	{ "Ready", "Unknown", UNREACHABLE },
	{ "MemoryPressure", "True", "node.kubernetes.io/memory-pressure" },
	{ "DiskPressure", "True", "node.kubernetes.io/disk-pressure" },
	{ "PIDPressure", "True", "node.kubernetes.io/pid-pressure" },
	{ "NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable" },
};

enum { MANAGED = ARRAY_SIZE(by_condition) + 1 };

struct wanted_taints {
	struct {
		struct str key;
		bool wanted, there;
	} v[MANAGED];
};

static struct wanted_taints wanted_no_schedule(const struct json *node)
{
	struct wanted_taints w = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by_condition); i++) {
		w.v[i].key = str_from(by_condition[i].key);
		w.v[i].wanted = str_eqz(
			json_text_at(find_condition(node, by_condition[i].type), "status"),
			by_condition[i].status);
	}
	w.v[i].key = STR(UNSCHEDULABLE);
	w.v[i].wanted = json_true_at(json_getz(node, "spec"), "unschedulable");
	return w;
}

/* Whether the taint stays; marks wanted ones that are there. */
static bool keeps_no_schedule(struct wanted_taints *w, const struct json *taint)
{
	for (size_t i = 0; i < MANAGED; i++) {
		if (!is_taint(taint, w->v[i].key, NO_SCHEDULE))
			continue;
		w->v[i].there = true;
		return w->v[i].wanted;
	}
	return true;
}

/* The key of the taint of effect NoExecute that the node should have; empty: none. */
static struct str wanted_no_execute(const struct json *node, const struct node_decision_facts *f)
{
	enum node_ready ready = node_decision_ready(node);
	struct str key = taint_of(ready);

	if (f->stopped || key.n == 0)
		return STR_NULL;
	if (f->granted || node_decision_has_taint(node, ready) ||
	    node_decision_has_opposite(node, ready))
		return key;
	return STR_NULL;
}

/* Without condition Ready nothing is known, so such taints stay as they are. */
static bool keeps_no_execute(const struct json *taint, struct str wanted, bool known)
{
	if (!known || str_eq(json_text_at(taint, "key"), wanted))
		return true;
	return !is_taint(taint, STR(NOT_READY), NO_EXECUTE) &&
	       !is_taint(taint, STR(UNREACHABLE), NO_EXECUTE);
}

static void taint_add(struct arena *a, struct json *list, struct str key, struct str effect,
		      struct str now)
{
	struct json *t = json_make_object(a);

	json_put_str(a, t, "key", key);
	json_put_str(a, t, "effect", effect);
	json_put_str(a, t, "timeAdded", now);
	json_append(list, t);
}

struct json *node_decision_taints(struct arena *a, const struct json *node,
				  const struct node_decision_facts *facts, bool *ret_granted)
{
	bool known = node_decision_ready(node) != NODE_READY_MISSING || facts->stopped;
	struct wanted_taints w = wanted_no_schedule(node);
	struct str execute = wanted_no_execute(node, facts), now = time_text(a, facts->now_ns);
	struct json *patch = patch_of(a, node, true), *list = json_make_array(a);
	bool there = false, changed = false;

	*ret_granted = false;
	JSON_FOREACH (it, taints_of(node)) {
		if (!keeps_no_schedule(&w, it) || !keeps_no_execute(it, execute, known)) {
			changed = true;
			continue;
		}
		there |= execute.n > 0 && is_taint(it, execute, NO_EXECUTE);
		json_append(list, json_alias(a, it));
	}
	for (size_t i = 0; i < MANAGED; i++) {
		if (!w.v[i].wanted || w.v[i].there)
			continue;
		taint_add(a, list, w.v[i].key, NO_SCHEDULE, now);
		changed = true;
	}
	if (execute.n > 0 && !there) {
		taint_add(a, list, execute, NO_EXECUTE, now);
		*ret_granted = facts->granted;
		changed = true;
	}
	if (!changed)
		return NULL;
	json_setz(json_need_object(a, patch, "spec"), "taints", list);
	return patch;
}
