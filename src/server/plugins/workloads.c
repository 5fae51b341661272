/*
 * Which controller acts on an object, by upstream's names, and whether one of that name runs. The
 * clocks of controllers and server may differ by some seconds, and a controller may be late
 * once, so announcements count for three of its periods.
 */
#include "server/plugins/workloads.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "server/admission/request.h"
#include "server/core/parts.h"

enum { FRESH_S = 60 };

/* --- objects that need no controller, or another one ------------------------------------------ */

static struct str text_in(const struct json *object, const char *pointer)
{
	return json_str(json_pointer(object, str_from(pointer)));
}

/* As endpointslice-controller decides it. */
static bool has_endpoints(const struct admission_request *req UNUSED, const struct json *service)
{
	return json_count(json_pointer(service, STR("/spec/selector"))) > 0 &&
	       !str_eqz(text_in(service, "/spec/type"), "ExternalName");
}

static bool is_unmanaged(const struct admission_request *req UNUSED, const struct json *job)
{
	struct str by = text_in(job, "/spec/managedBy");

	return by.n == 0 || str_eqz(by, "kubernetes.io/job-controller");
}

/* A claim that was restored together with its volume is bound already. */
static bool is_unbound(const struct admission_request *req UNUSED, const struct json *claim)
{
	const struct json *annotations = json_pointer(claim, STR("/metadata/annotations"));

	return text_in(claim, "/spec/volumeName").n == 0 ||
	       !json_getz(annotations, "pv.kubernetes.io/bind-completed");
}

/* Others sign for signers of other names. */
static bool is_built_in_signer(const struct admission_request *req UNUSED, const struct json *csr)
{
	static const char *const built_in[] = {
		"kubernetes.io/kube-apiserver-client",
		"kubernetes.io/kube-apiserver-client-kubelet",
		"kubernetes.io/kubelet-serving",
		"kubernetes.io/legacy-unknown",
	};
	struct str name = text_in(csr, "/spec/signerName");

	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
		if (str_eqz(name, built_in[i]))
			return true;
	return false;
}

static const struct json *tip_of(const struct admission_request *req, const char *group,
				 const char *resource, struct str ns, struct str name)
{
	const struct resource *all = state_resource(
		req->state, schema_find_resource(str_from(group), STR("v1"), str_from(resource)));
	struct object *o = resource_tip(all, ns, name);
	struct json *tree = NULL;

	if (o)
		(void)object_tree(o, req->write->arena, &tree, NULL);
	return tree;
}

/* As endpointslice-mirroring-controller decides it; the service may be created later. */
static bool is_mirrored(const struct admission_request *req, const struct json *endpoints)
{
	const struct json *meta = json_getz(endpoints, "metadata");
	const struct json *service = tip_of(req, "", "services", req->ns,
					    json_text_at(meta, "name"));

	return !str_eqz(json_text_at(json_getz(meta, "labels"),
				     "endpointslice.kubernetes.io/skip-mirror"),
			"true") &&
	       !json_getz(json_getz(meta, "annotations"),
			  "control-plane.alpha.kubernetes.io/leader") &&
	       json_count(json_pointer(service, STR("/spec/selector"))) == 0;
}

/* --- kinds and their controllers -------------------------------------------------------------- */

static const struct workload {
	struct str group, resource;
	const char *controller;
	bool ours; /* devplane has this controller */
	/* Whether the controller acts on the object. NULL: on all objects. */
	bool (*acts)(const struct admission_request *req, const struct json *object);
} workloads[] = {
	{ STR("apps"), STR("deployments"), "deployment-controller", .ours = true },
	{ STR("apps"), STR("replicasets"), "replicaset-controller", .ours = true },
	{ STR("apps"), STR("daemonsets"), "daemonset-controller", .ours = true },
	{ STR("batch"), STR("jobs"), "job-controller", .ours = true, .acts = is_unmanaged },
	{ STR(""), STR("services"), "endpointslice-controller", .ours = true,
	  .acts = has_endpoints },
	{ STR("apps"), STR("statefulsets"), "statefulset-controller" },
	{ STR("batch"), STR("cronjobs"), "cronjob-controller" },
	{ STR(""), STR("replicationcontrollers"), "replicationcontroller-controller" },
	{ STR("autoscaling"), STR("horizontalpodautoscalers"),
	  "horizontal-pod-autoscaler-controller" },
	{ STR("policy"), STR("poddisruptionbudgets"), "disruption-controller" },
	{ STR(""), STR("persistentvolumeclaims"), "persistentvolume-binder-controller",
	  .acts = is_unbound },
	{ STR(""), STR("endpoints"), "endpointslice-mirroring-controller", .acts = is_mirrored },
	{ STR("certificates.k8s.io"), STR("certificatesigningrequests"),
	  "certificatesigningrequest-signing-controller", .acts = is_built_in_signer },
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

/* --- which controllers run -------------------------------------------------------------------- */

static const struct json *lease_of(const struct admission_request *req, struct str name)
{
	return tip_of(req, "coordination.k8s.io", "leases", STR("kube-system"), name);
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

	if (w->acts && !w->acts(req, object))
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
