/*
 * Deployments, ReplicaSets, StatefulSets and DaemonSets: the selector finds the pods that the
 * template makes, or their controller would make more of them for ever.
 */
#include "api/checks.h"

static bool matches_expression(const struct json *test, const struct json *labels)
{
	struct str word = json_text_at(test, "operator");
	const struct json *label = json_get(labels, json_text_at(test, "key"));
	bool among = label && json_has_text(json_getz(test, "values"), json_str(label));

	if (str_eqz(word, "In"))
		return among;
	if (str_eqz(word, "NotIn"))
		return !among;
	if (str_eqz(word, "Exists"))
		return label != NULL;
	return !label;
}

static bool matches(const struct json *selector, const struct json *labels)
{
	JSON_FOREACH (it, json_getz(selector, "matchLabels")) {
		const struct json *label = json_get(labels, json_key(it));

		if (!label || !str_eq(json_str(label), json_str(it)))
			return false;
	}
	JSON_FOREACH (it, json_getz(selector, "matchExpressions"))
		if (!matches_expression(it, labels))
			return false;
	return true;
}

/* Upstream's word in a fault; a ReplicaSet's is that of a Deployment. */
static const char *name_of(const struct validation *v)
{
	if (str_eqz(v->kind->kind, "StatefulSet"))
		return "statefulset";
	return str_eqz(v->kind->kind, "DaemonSet") ? "daemonset" : "deployment";
}

static void check_restarts(struct validation *v, const struct json *template,
			   const struct field_path *path)
{
	static const struct str always[] = { { "Always", 6 } };
	struct field_path spec_at = field_path_name(path, "spec");
	struct field_path at = field_path_name(&spec_at, "restartPolicy");
	struct str policy = json_text_at(json_getz(template, "spec"), "restartPolicy");

	if (policy.n && !str_eq(policy, always[0]))
		field_errors_not_supported(v->errs, &at, FIELD_STR(policy), always, 1);
}

void check_workload_spec(struct validation *v, const struct json *spec,
			 const struct field_path *path)
{
	const struct json *selector = json_getz(spec, "selector");
	const struct json *template = json_getz(spec, "template");
	const struct json *labels = json_getz(json_getz(template, "metadata"), "labels");
	struct field_path selector_at = field_path_name(path, "selector");
	struct field_path template_at = field_path_name(path, "template");
	struct field_path meta_at = field_path_name(&template_at, "metadata");
	struct field_path labels_at = field_path_name(&meta_at, "labels");

	check_restarts(v, template, &template_at);
	if (!json_is(selector, JSON_OBJECT))
		return;
	if (json_count(json_getz(selector, "matchLabels")) +
		    json_count(json_getz(selector, "matchExpressions")) ==
	    0)
		field_errors_addf(v->errs, FIELD_INVALID, &selector_at, validate_shown(v, selector),
				  "empty selector is invalid for %s", name_of(v));
	else if (!matches(selector, labels))
		field_errors_invalid(v->errs, &labels_at, validate_shown(v, labels),
				     "`selector` does not match template `labels`");
}
