/*
 * Selectors are parsed once per template, taints are compared as they are: few nodes have any.
 */
#include "controller/daemon_set/rules.h"

#include "base/core/map.h"
#include "controller/pods/owned.h"
#include "controller/pods/pod_template.h"

/* --- tolerations ----------------------------------------------------------------------------- */

/* Those that every pod of a DaemonSet has; the last one only in the network of the node. */
static const struct {
	const char *key, *effect;
	bool host_network;
} added[] = {
	{ "node.kubernetes.io/not-ready", "NoExecute", false },
	{ "node.kubernetes.io/unreachable", "NoExecute", false },
	{ "node.kubernetes.io/disk-pressure", "NoSchedule", false },
	{ "node.kubernetes.io/memory-pressure", "NoSchedule", false },
	{ "node.kubernetes.io/pid-pressure", "NoSchedule", false },
	{ "node.kubernetes.io/unschedulable", "NoSchedule", false },
	{ "node.kubernetes.io/network-unavailable", "NoSchedule", true },
};

static struct json *rules_copy(struct arena *a, const struct json *v)
{
	struct json *to = json_make_null(a);

	(void)json_copy(a, v, &to, NULL);
	return to;
}

static bool same_toleration(const struct json *t, const char *key, const char *effect)
{
	return str_eqz(json_text_at(t, "key"), key) && str_eqz(json_text_at(t, "effect"), effect) &&
	       str_eqz(json_text_at(t, "operator"), "Exists") && json_text_at(t, "value").n == 0;
}

static void add_toleration(struct arena *a, struct json *list, const char *key, const char *effect)
{
	struct json *made;

	JSON_FOREACH (t, list) {
		if (same_toleration(t, key, effect)) {
			(void)json_remove(t, STR("tolerationSeconds"));
			return;
		}
	}
	made = json_make_object(a);
	json_put_str(a, made, "key", str_from(key));
	json_put_str(a, made, "operator", STR("Exists"));
	json_put_str(a, made, "effect", str_from(effect));
	json_append(list, made);
}

struct json *daemon_tolerations(struct arena *a, const struct json *template)
{
	const struct json *spec = json_getz(template, "spec");
	const struct json *own = json_getz(spec, "tolerations");
	struct json *list = json_is(own, JSON_ARRAY) ? rules_copy(a, own) : json_make_array(a);

	for (size_t i = 0; i < ARRAY_SIZE(added); i++) {
		if (!added[i].host_network || json_true_at(spec, "hostNetwork"))
			add_toleration(a, list, added[i].key, added[i].effect);
	}
	return list;
}

/* Lt and Gt compare integers (KEP-5471): the taint's value with the toleration's. */
static bool value_fits(const struct json *toleration, struct str op, struct str value)
{
	struct str own = json_text_at(toleration, "value");
	int64_t given, bound;

	if (op.n == 0 || str_eqz(op, "Equal"))
		return str_eq(own, value);
	if (str_eqz(op, "Exists"))
		return true;
	if (!str_to_i64(own, &bound) || !str_to_i64(value, &given))
		return false;
	return (str_eqz(op, "Lt") && given < bound) || (str_eqz(op, "Gt") && given > bound);
}

static bool rules_tolerates(const struct json *toleration, const struct json *taint)
{
	struct str effect = json_text_at(toleration, "effect");
	struct str key = json_text_at(toleration, "key");

	if (effect.n > 0 && !str_eq(effect, json_text_at(taint, "effect")))
		return false;
	if (key.n > 0 && !str_eq(key, json_text_at(taint, "key")))
		return false;
	return value_fits(toleration, json_text_at(toleration, "operator"),
			  json_text_at(taint, "value"));
}

static bool any_tolerates(const struct json *tolerations, const struct json *taint)
{
	JSON_FOREACH (t, tolerations) {
		if (rules_tolerates(t, taint))
			return true;
	}
	return false;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static const struct json *required_affinity(const struct json *spec)
{
	return json_getz(json_getz(json_getz(spec, "affinity"), "nodeAffinity"),
			 "requiredDuringSchedulingIgnoredDuringExecution");
}

void daemon_rules_read(struct arena *a, const struct json *template, struct daemon_rules *ret)
{
	const struct json *spec = json_getz(template, "spec");
	const struct json *affinity = required_affinity(spec);
	struct daemon_rules r = { .node_name = json_text_at(spec, "nodeName"),
				  .labels = json_getz(spec, "nodeSelector"),
				  .has_affinity = json_is(affinity, JSON_OBJECT),
				  .tolerations = daemon_tolerations(a, template) };

	if (r.has_affinity)
		r.broken = node_selector_read(a, affinity, &r.affinity, NULL) < 0;
	*ret = r;
}

static bool has_labels(const struct json *labels, const struct json *wanted)
{
	JSON_FOREACH (it, wanted) {
		struct str has = json_str(json_get(labels, json_key(it)));

		if (!has.p || !str_eq(has, json_str(it)))
			return false;
	}
	return true;
}

enum daemon_fit daemon_rules_fit(const struct daemon_rules *r, const struct daemon_node *node)
{
	enum daemon_fit fit = DAEMON_RUNS;

	if (r->broken || (r->node_name.n > 0 && !str_eq(r->node_name, node->name)) ||
	    !has_labels(node->labels, r->labels))
		return DAEMON_UNFIT;
	if (r->has_affinity && !node_selector_matches(&r->affinity, node->name, node->labels))
		return DAEMON_UNFIT;
	JSON_FOREACH (taint, node->taints) {
		struct str effect = json_text_at(taint, "effect");
		bool evicts = str_eqz(effect, "NoExecute");

		if ((!evicts && !str_eqz(effect, "NoSchedule")) ||
		    any_tolerates(r->tolerations, taint))
			continue;
		if (evicts)
			return DAEMON_UNFIT;
		fit = DAEMON_STAYS;
	}
	return fit;
}

/* --- pods ------------------------------------------------------------------------------------ */

/* {matchFields: [{key: metadata.name, operator: In, values: [node]}]} */
static struct json *node_term(struct arena *a, struct str node)
{
	struct selector_term t = {
		.key = STR("metadata.name"), .op = SELECTOR_IN, .values = &node, .nvalues = 1
	};
	struct json *term = json_make_object(a);

	json_append(json_need_array(a, term, "matchFields"), node_selector_requirement(a, &t));
	return term;
}

/* Replaces the template's required terms: the node fulfils them, and terms are alternatives. */
static void name_node(struct arena *a, struct json *spec, struct str node)
{
	struct json *affinity = json_need_object(a, spec, "affinity");
	struct json *of_node = json_need_object(a, affinity, "nodeAffinity");
	struct json *required = json_need_object(a, of_node,
						 "requiredDuringSchedulingIgnoredDuringExecution");
	struct json *terms = json_make_array(a);

	json_append(terms, node_term(a, node));
	json_setz(required, "nodeSelectorTerms", terms);
}

struct json *daemon_pod_make(struct arena *a, const struct json *template,
			     const struct owner *owner, struct str node, struct str revision)
{
	struct json *pod = pod_template_make(a, template, owner);
	struct json *spec = json_need_object(a, pod, "spec");
	struct json *meta = json_need_object(a, pod, "metadata");

	json_set(json_need_object(a, meta, "labels"), DAEMON_HASH_LABEL,
		 json_make_str(a, revision));
	json_setz(spec, "tolerations", daemon_tolerations(a, template));
	name_node(a, spec, node);
	return pod;
}

struct str daemon_pod_name(struct arena *a, const struct owner *owner, struct str node,
			   struct str revision, unsigned attempt)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	enum { LETTERS = sizeof(letters) - 1, SUFFIX = 10, BASE_MAX = 63 - 1 - SUFFIX };
	struct str base = str_cut(owner->name, BASE_MAX);
	char suffix[SUFFIX];
	uint64_t h = hash_bytes(str_from(arena_printf(a, "%.*s/%.*s/%.*s", STR_ARG(owner->uid),
						      STR_ARG(node), STR_ARG(revision))),
				attempt);

	while (base.n > 0 && base.p[base.n - 1] == '.')
		base.n--; /* no part of a name begins with '-' */
	for (size_t i = 0; i < SUFFIX; i++, h /= LETTERS)
		suffix[i] = letters[h % LETTERS];
	return str_from(arena_printf(a, "%.*s-%.*s", STR_ARG(base), SUFFIX, suffix));
}

struct str daemon_pod_node(const struct json *pod_spec)
{
	struct str bound = json_text_at(pod_spec, "nodeName");

	if (bound.n > 0)
		return bound;
	JSON_FOREACH (term, json_getz(required_affinity(pod_spec), "nodeSelectorTerms")) {
		JSON_FOREACH (r, json_getz(term, "matchFields")) {
			const struct json *values = json_getz(r, "values");

			if (str_eqz(json_text_at(r, "key"), "metadata.name") &&
			    str_eqz(json_text_at(r, "operator"), "In"))
				return json_count(values) == 1 ? json_str(json_first(values))
							       : STR_NULL;
		}
	}
	return STR_NULL;
}
