/*
 * Helpers of several plugins. Labels are short lists, so lookup is a linear search.
 */
#include "scheduler/framework/common.h"

#include "base/report/field_errors.h"
#include "client/events/recorder.h"
#include "client/informer/cached.h"
#include "scheduler/cache/podinfo.h"

enum { FAULTS_TEXT_MAX = 1 << 12 };

struct recorder_object pod_about(const struct podinfo *p)
{
	return (struct recorder_object){ .api_version = STR("v1"),
					 .kind = STR("Pod"),
					 .ns = p->ns,
					 .name = p->name,
					 .uid = p->uid,
					 .resource_version = p->object->resource_version };
}

bool pod_wants_node(const struct podinfo *p, const struct nodeobject *n)
{
	JSON_FOREACH (want, p->node_labels) {
		struct str have = labels_get(n->labels, json_key(want));

		if (!have.p || !str_eq(have, json_str(want)))
			return false;
	}
	return !p->required_nodes || node_selector_matches(p->required_nodes, n->name, n->labels);
}

bool pod_tolerates(const struct podinfo *p, struct str key, struct str value,
		   enum taint_effect effect)
{
	for (size_t i = 0; i < p->ntolerations; i++)
		if (toleration_tolerates(&p->tolerations[i], key, value, effect))
			return true;
	return false;
}

bool pod_tolerates_node(const struct podinfo *p, const struct nodeobject *n)
{
	for (size_t i = 0; i < n->ntaints; i++) {
		const struct node_taint *t = &n->taints[i];

		if (t->effect != TAINT_PREFER_NO_SCHEDULE &&
		    !pod_tolerates(p, t->key, t->value, t->effect))
			return false;
	}
	return true;
}

void scores_normalize(int64_t *scores, size_t n, bool reverse)
{
	int64_t highest = 0;

	for (size_t i = 0; i < n; i++)
		highest = MAX(highest, scores[i]);
	for (size_t i = 0; i < n; i++) {
		int64_t scaled = highest ? 100 * scores[i] / highest : 0;

		if (reverse)
			scores[i] = 100 - scaled;
		else if (highest)
			scores[i] = scaled;
	}
}

static bool common_is_among(struct str name, const char *const *names)
{
	for (; *names; names++)
		if (str_eqz(name, *names))
			return true;
	return false;
}

int plugin_args_fields(const struct json *object, const char *path, const char *const *fields,
		       struct error *err)
{
	if (object && !json_is(object, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "%s: must be an object", path);
	JSON_FOREACH (v, object)
		if (!common_is_among(json_key(v), fields))
			return error_set(err, ERR_INVALID, "unknown field \"%s%s%.*s\"", path,
					 *path ? "." : "", STR_ARG(json_key(v)));
	return 0;
}

int plugin_args_check(const struct json *args, const char *kind, const char *const *fields,
		      struct error *err)
{
	struct str said = json_text_at(args, "kind");

	if (args && !json_is(args, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "args must be an object");
	if (said.n > 0 && !str_eqz(said, kind))
		return error_set(err, ERR_INVALID, "want args to be of type %s, got %.*s", kind,
				 STR_ARG(said));
	JSON_FOREACH (v, args) {
		struct str key = json_key(v);

		if (!str_eqz(key, "kind") && !str_eqz(key, "apiVersion") &&
		    !common_is_among(key, fields))
			return error_set(err, ERR_INVALID, "unknown field \"%.*s\"", STR_ARG(key));
	}
	return 0;
}

int plugin_args_verdict(const struct field_errors *faults, struct error *err)
{
	struct buf text = BUF_INIT(FAULTS_TEXT_MAX);
	int r;

	if (!field_errors_any(faults))
		return 0;
	(void)field_errors_aggregate(faults, &text);
	r = error_set(err, ERR_INVALID, "%.*s", STR_ARG(buf_str(&text)));
	buf_release(&text);
	return r;
}
