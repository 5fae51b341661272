/*
 * Pods. A new pod is pending, and its QoS class is computed once from the resources of its
 * containers. Status writes come from node agents of any age, so newer fields that they leave out
 * are kept.
 */
#include "api/write/strategies.h"

#include "api/write/write_impl.h"
#include "base/core/map.h"
#include "base/json/quantity.h"

/* --- QoS class ------------------------------------------------------------------------- */

enum qos { QOS_NONE, QOS_BEST_EFFORT, QOS_BURSTABLE, QOS_GUARANTEED };

static struct quantity strategy_pod_amount(const struct json *list, const char *resource)
{
	struct quantity q = { 0 };

	(void)quantity_parse(json_text_at(list, resource), &q, NULL);
	return q;
}

static enum qos resource_qos(const struct json *requirements, const char *resource)
{
	struct quantity request = strategy_pod_amount(json_getz(requirements, "requests"),
						      resource);
	struct quantity limit = strategy_pod_amount(json_getz(requirements, "limits"), resource);

	if (quantity_cmp(request, limit) != 0)
		return QOS_BURSTABLE;
	return request.nano == 0 ? QOS_BEST_EFFORT : QOS_GUARANTEED;
}

/* Combines two parts: equal classes stay, different ones are burstable. */
static enum qos both(enum qos a, enum qos b)
{
	if (a == QOS_NONE || a == b)
		return b;
	return QOS_BURSTABLE;
}

static enum qos requirements_qos(const struct json *requirements)
{
	return both(resource_qos(requirements, "cpu"), resource_qos(requirements, "memory"));
}

static enum qos pod_qos(const struct json *spec)
{
	enum qos qos = QOS_NONE;

	if (json_count(json_getz(spec, "resources")))
		return requirements_qos(json_getz(spec, "resources"));
	JSON_FOREACH (container, json_getz(spec, "initContainers"))
		qos = both(qos, requirements_qos(json_getz(container, "resources")));
	JSON_FOREACH (container, json_getz(spec, "containers"))
		qos = both(qos, requirements_qos(json_getz(container, "resources")));
	return qos;
}

/* --- creation ---------------------------------------------------------------------------- */

static void add_gated_condition(struct write *w, struct json *status)
{
	struct json *list = json_make_array(w->arena), *c = json_make_object(w->arena);

	json_setz(status, "conditions", list);
	json_append(list, c);
	json_put_str(w->arena, c, "type", STR("PodScheduled"));
	json_put_str(w->arena, c, "status", STR("False"));
	json_setz(c, "lastProbeTime", json_make_null(w->arena));
	tree_set_time(w->arena, c, "lastTransitionTime", w->now_ns);
	json_put_str(w->arena, c, "reason", STR("SchedulingGated"));
	json_put_str(w->arena, c, "message",
		     STR("Scheduling is blocked due to non-empty scheduling gates"));
}

void strategy_pod_create(struct write *w, struct json *object)
{
	static const struct str classes[] = {
		[QOS_NONE] = STR("BestEffort"),
		[QOS_BEST_EFFORT] = STR("BestEffort"),
		[QOS_BURSTABLE] = STR("Burstable"),
		[QOS_GUARANTEED] = STR("Guaranteed"),
	};
	const struct json *spec = json_getz(object, "spec");
	struct json *status = json_make_object(w->arena);

	json_setz(object, "status", status);
	json_put_str(w->arena, status, "phase", STR("Pending"));
	if (json_count(json_getz(spec, "schedulingGates")))
		add_gated_condition(w, status);
	json_put_str(w->arena, status, "qosClass", classes[pod_qos(spec)]);
}

/* --- updates ------------------------------------------------------------------------------ */

static void keep_when_absent(struct write *w, struct json *object, const struct json *old,
			     const char *key)
{
	if (!json_getz(object, key))
		tree_carry(w->arena, object, old, key);
}

/* The stored conditions of one type, in their order; types may repeat. */
struct same_type {
	const struct json *condition;
	struct same_type *next, *last; /* last: of the whole list, only in the first */
};

static void add_by_type(struct arena *a, struct map *types, const struct json *conditions)
{
	JSON_FOREACH (c, conditions) {
		struct str type = json_text_at(c, "type");
		struct same_type *one = ARENA_NEW(a, struct same_type);
		struct same_type *first = map_get(types, type);

		*one = (struct same_type){ .condition = c, .last = one };
		if (!first) {
			(void)map_put(types, type, one);
			continue;
		}
		first->last->next = one;
		first->last = one;
	}
}

/* The n-th condition of a type keeps the value of the stored n-th one. */
static void keep_observed_generations(struct write *w, struct json *status,
				      const struct json *old_status)
{
	CLEANUP(map_release) struct map types;

	map_init(&types);
	add_by_type(w->arena, &types, json_getz(old_status, "conditions"));
	keep_when_absent(w, status, old_status, "observedGeneration");
	JSON_FOREACH (c, json_getz(status, "conditions")) {
		struct same_type *old = map_get(&types, json_text_at(c, "type"));

		keep_when_absent(w, c, old ? old->condition : NULL, "observedGeneration");
		if (!old)
			continue;
		if (old->next) {
			old->next->last = old->last;
			(void)map_put(&types, json_text_at(c, "type"), old->next);
		} else {
			(void)map_remove(&types, json_text_at(c, "type"));
		}
	}
}

void strategy_pod_update(struct write *w, struct json *object, const struct json *old)
{
	static const char *const kept[] = { "qosClass", "resourceClaimStatuses",
					    "extendedResourceClaimStatus",
					    "nodeAllocatableResourceClaimStatuses" };
	const struct json *old_status = json_getz(old, "status");
	struct json *status;

	if (!str_eq(w->subresource, STR("status")))
		return;
	tree_carry(w->arena, json_getz(object, "metadata"), json_getz(old, "metadata"),
		   "ownerReferences");
	tree_carry(w->arena, json_getz(object, "metadata"), json_getz(old, "metadata"),
		   "deletionTimestamp");
	status = json_need_object(w->arena, object, "status");
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		keep_when_absent(w, status, old_status, kept[i]);
	keep_observed_generations(w, status, old_status);
}
