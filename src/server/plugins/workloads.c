/*
 * The clocks of controllers and server may differ by some seconds, and a controller may be late
 * once, so announcements count for three of its periods.
 */
#include "server/plugins/workloads.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "server/admission/request.h"
#include "server/core/parts.h"

enum { FRESH_S = 60 };

static const struct workload {
	struct str group, resource;
	const char *controller;
	bool ours; /* devplane has this controller */
	bool selects; /* it acts only on objects with spec.selector */
} workloads[] = {
	{ STR("apps"), STR("deployments"), "deployment-controller", .ours = true },
	{ STR("apps"), STR("replicasets"), "replicaset-controller", .ours = true },
	{ STR("apps"), STR("daemonsets"), "daemonset-controller", .ours = true },
	{ STR("batch"), STR("jobs"), "job-controller", .ours = true },
	{ STR(""), STR("services"), "endpointslice-controller", .ours = true, .selects = true },
	{ STR("apps"), STR("statefulsets"), "statefulset-controller" },
	{ STR("batch"), STR("cronjobs"), "cronjob-controller" },
	{ STR(""), STR("replicationcontrollers"), "replicationcontroller-controller" },
	{ STR("autoscaling"), STR("horizontalpodautoscalers"),
	  "horizontal-pod-autoscaler-controller" },
	{ STR("policy"), STR("poddisruptionbudgets"), "disruption-controller" },
};

static const struct workload *workload_of(const struct schema_kind *k)
{
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++) {
		if (str_eq(k->group, workloads[i].group) &&
		    str_eq(k->resource, workloads[i].resource))
			return &workloads[i];
	}
	return NULL;
}

bool admit_workloads_concerns(const struct admission_request *req)
{
	return !req->foreign && req->request->subresource.n == 0 && workload_of(req->write->kind);
}

static const struct json *lease_of(const struct admission_request *req, struct str name)
{
	const struct resource *leases = state_resource(
		req->state,
		schema_find_resource(STR("coordination.k8s.io"), STR("v1"), STR("leases")));
	struct object *o = resource_tip(leases, STR("kube-system"), name);
	struct json *tree = NULL;

	if (o)
		(void)object_tree(o, req->write->arena, &tree, NULL);
	return tree;
}

static bool is_fresh(struct str time, int64_t now_ns)
{
	int64_t ns;

	return timestamp_parse(time, &ns, NULL) == 0 && now_ns - ns < FRESH_S * CLOCK_SEC;
}

/* An announcement is a time and the names of controllers, "2026-11-19T01:02:03Z a,b". */
static bool announces(struct str text, struct str controller, int64_t now_ns)
{
	struct str time, name;

	if (!str_split(&text, ' ', &time) || !is_fresh(time, now_ns))
		return false;
	while (str_split(&text, ',', &name))
		if (str_eq(name, controller))
			return true;
	return false;
}

static bool is_announced(const struct admission_request *req, struct str controller, int64_t now_ns)
{
	const struct json *lease = lease_of(req, STR("devplane-controllers"));

	JSON_FOREACH (it, json_getz(json_getz(lease, "metadata"), "annotations")) {
		if (str_starts(json_key(it), STR("controllers.devplane.dev/")) &&
		    announces(json_str(it), controller, now_ns))
			return true;
	}
	return false;
}

static bool upstream_runs(const struct admission_request *req, int64_t now_ns)
{
	const struct json *spec = json_getz(lease_of(req, STR("kube-controller-manager")), "spec");

	return json_text_at(spec, "holderIdentity").n > 0 &&
	       is_fresh(json_text_at(spec, "renewTime"), now_ns);
}

int admit_workloads(struct admission_request *req, const struct json *old UNUSED,
		    struct json *object, struct error *err UNUSED)
{
	const struct workload *w = workload_of(req->write->kind);
	int64_t now_ns = clock_wall(req->server->clock);

	if (w->selects && json_count(json_getz(json_getz(object, "spec"), "selector")) == 0)
		return 0;
	if (is_announced(req, str_from(w->controller), now_ns) || upstream_runs(req, now_ns))
		return 0;
	if (w->ours)
		write_warn(req->write,
			   "nothing acts on %.*s: no %s runs; start `devplane controller`, or "
			   "kube-controller-manager",
			   STR_ARG(w->resource), w->controller);
	else
		write_warn(req->write,
			   "nothing acts on %.*s: no %s runs, and devplane has none; start "
			   "kube-controller-manager",
			   STR_ARG(w->resource), w->controller);
	return 0;
}
