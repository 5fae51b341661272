/*
 * The rights that each part of deploy/ needs, and those that a flag of it needs, as the variants of
 * the parts set them. The API server answers for the part's service account by SubjectAccessReview.
 * tests/e2e/doctor_cluster_test.mjs compares the tables with the manifests.
 */
#include "cli/connect/kube.h"
#include "cli/doctor/arguments.h"
#include "cli/doctor/doctor.h"
#include "base/json/json.h"

#define READ "get,list,watch"

/* Lists are separated by commas. `own`: in the part's namespace, for the object of its name. */
static const struct right {
	const char *part, *group, *resources, *verbs, *name;
	bool own;
} rights[] = {
	{ "", "authentication.k8s.io", "tokenreviews", "create", NULL, false },
	{ "", "authorization.k8s.io", "subjectaccessreviews", "create", NULL, false },

	{ "availability", "resource.k8s.io", "resourceslices,resourceclaims,devicetaintrules", READ,
	  NULL, false },
	{ "availability", "", "pods,nodes", "list,watch", NULL, false },
	{ "availability", "devplane.dev", "resourceslicestatuses,devicehistories",
	  READ ",create,update,delete", NULL, false },
	{ "availability", "coordination.k8s.io", "leases", "create", NULL, true },
	{ "availability", "coordination.k8s.io", "leases", "get,update", "devplane-availability",
	  true },

	{ "scheduler", "", "nodes,namespaces,services,replicationcontrollers", READ, NULL, false },
	{ "scheduler", "", "pods", READ ",delete", NULL, false },
	{ "scheduler", "", "pods/binding", "create", NULL, false },
	{ "scheduler", "", "pods/status", "patch,update", NULL, false },
	{ "scheduler", "", "pods/finalizers", "update", NULL, false },
	{ "scheduler", "", "persistentvolumes,persistentvolumeclaims", READ ",patch,update", NULL,
	  false },
	{ "scheduler", "", "events", "create,patch,update", NULL, false },
	{ "scheduler", "events.k8s.io", "events", "create,patch,update", NULL, false },
	{ "scheduler", "apps", "replicasets,statefulsets", READ, NULL, false },
	{ "scheduler", "policy", "poddisruptionbudgets", READ, NULL, false },
	{ "scheduler", "storage.k8s.io",
	  "storageclasses,csinodes,csidrivers,csistoragecapacities,volumeattachments", READ, NULL,
	  false },
	{ "scheduler", "resource.k8s.io", "resourceslices,deviceclasses,devicetaintrules", READ,
	  NULL, false },
	{ "scheduler", "resource.k8s.io", "resourceclaims", READ ",create,delete,patch,update",
	  NULL, false },
	{ "scheduler", "resource.k8s.io", "resourceclaims/status,resourceclaims/binding",
	  "patch,update", NULL, false },
	{ "scheduler", "coordination.k8s.io", "leases", "create", NULL, true },
	{ "scheduler", "coordination.k8s.io", "leases", "get,update", "devplane-scheduler", true },

	{ "attach", "", "pods,nodes", READ, NULL, false },
	{ "attach", "", "events", "create,patch", NULL, false },

	{ "nvidia", "", "nodes", "get", NULL, false },
	{ "nvidia", "resource.k8s.io", "resourceslices", READ ",create,update,patch,delete", NULL,
	  false },
	{ "nvidia", "resource.k8s.io", "resourceclaims", "get", NULL, false },
	{ "nvidia", "resource.k8s.io", "resourceclaims/status", "patch", NULL, false },
	{ "nvidia", "resource.k8s.io", "resourceclaims/driver", "associated-node:patch",
	  "gpu.nvidia.com", false },

	{ "sim", "", "nodes", "get", NULL, false },
	{ "sim", "resource.k8s.io", "resourceslices", READ ",create,update,patch,delete", NULL,
	  false },
	{ "sim", "resource.k8s.io", "resourceclaims", "get", NULL, false },
	{ "sim", "resource.k8s.io", "resourceclaims/status", "patch", NULL, false },
	{ "sim", "resource.k8s.io", "resourceclaims/driver", "associated-node:patch",
	  "gpu.sim.devplane.dev", false },
};

/* Rights that the part needs only with this flag. */
static const struct variant {
	const char *folder; /* below deploy/ */
	struct doctor_flag flag;
	struct right right;
} variants[] = {
	{ "attach-status",
	  { "--attach-pod-condition", NULL },
	  { "attach", "", "pods/status", "patch", NULL, false } },
	{ "attach-status",
	  { "--attach-node-annotation", NULL },
	  { "attach", "", "nodes/status", "patch", NULL, false } },
	{ "availability-taints",
	  { "--controllers", "device-health-taints" },
	  { "availability", "resource.k8s.io", "devicetaintrules", "create,delete", NULL, false } },
};

struct review {
	struct doctor *doctor;
	struct kube *kube;
	struct str part, ns, user;
	const char *folder; /* below deploy/ */
	size_t asked, missing;
	const char *first; /* the first that is missing, for people */
};

static void put_attributes(struct review *v, struct json *to, const struct right *r,
			   struct str resource, struct str verb)
{
	struct arena *a = v->doctor->arena;
	struct str rest = resource, name;

	(void)str_split(&rest, '/', &name);
	json_put_str(a, to, "group", str_from(r->group));
	json_put_str(a, to, "resource", name);
	if (rest.n > 0)
		json_put_str(a, to, "subresource", rest);
	json_put_str(a, to, "verb", verb);
	if (r->name)
		json_put_str(a, to, "name", str_from(r->name));
	if (r->own)
		json_put_str(a, to, "namespace", v->ns);
}

static bool review_sent(struct review *v, struct json *attributes, bool *ret_may)
{
	struct resource reviews = resource_builtin("authorization.k8s.io", "v1",
						   "subjectaccessreviews");
	struct arena *a = v->doctor->arena;
	struct json *review = json_make_object(a), *answer = NULL, *spec;
	struct error err;

	json_put_str(a, review, "apiVersion", STR("authorization.k8s.io/v1"));
	json_put_str(a, review, "kind", STR("SubjectAccessReview"));
	spec = json_need_object(a, review, "spec");
	json_put_str(a, spec, "user", v->user);
	json_setz(spec, "resourceAttributes", attributes);
	if (kube_create(v->kube, &(struct kube_target){ .resource = &reviews }, review, &answer,
			&err) < 0) {
		doctor_say(v->doctor, DOCTOR_WARN, "rights",
			   "run it as a user who may create subjectaccessreviews",
			   "not checked: %s", err.msg);
		v->doctor->no_reviews = true;
		return false;
	}
	*ret_may = json_true_at(json_getz(answer, "status"), "allowed");
	return true;
}

static void review_one(struct review *v, const struct right *r, struct str resource,
		       struct str verb)
{
	struct json *attributes = json_make_object(v->doctor->arena);
	bool may = false;

	put_attributes(v, attributes, r, resource, verb);
	if (!review_sent(v, attributes, &may))
		return;
	v->asked++;
	if (may)
		return;
	if (v->missing++ == 0)
		v->first = arena_printf(v->doctor->arena, "%.*s %.*s%s%s%s%s", STR_ARG(verb),
					STR_ARG(resource), r->group[0] ? "." : "", r->group,
					r->name ? " " : "", r->name ? r->name : "");
}

static void review_right(struct review *v, const struct right *r)
{
	struct str resources = str_from(r->resources), resource;

	while (!v->doctor->no_reviews && str_split(&resources, ',', &resource)) {
		struct str verbs = str_from(r->verbs), verb;

		while (!v->doctor->no_reviews && str_split(&verbs, ',', &verb))
			review_one(v, r, resource, verb);
	}
}

/* --- a part ----------------------------------------------------------------------------------- */

static void review_variants(struct review *v, const struct json *args)
{
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
		if (!str_eqz(v->part, variants[i].right.part) ||
		    !doctor_has_flag(args, &variants[i].flag))
			continue;
		v->folder = variants[i].folder;
		review_right(v, &variants[i].right);
	}
}

static void review_part(struct review *v, const struct json *args)
{
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (!rights[i].part[0] || str_eqz(v->part, rights[i].part))
			review_right(v, &rights[i]);
	review_variants(v, args);
}

void doctor_check_rights(struct doctor *d, struct kube *k, struct str part, struct str ns,
			 const struct json *pod)
{
	const struct json *args = json_getz(json_first(json_getz(pod, "containers")), "args");
	struct str account = json_text_at(pod, "serviceAccountName");
	const char *subject = arena_printf(d->arena, "%.*s rights", STR_ARG(part));
	struct review v = { .doctor = d, .kube = k, .part = part, .ns = ns };

	if (!account.n)
		account = STR("default");
	v.user = str_from(arena_printf(d->arena, "system:serviceaccount:%.*s:%.*s", STR_ARG(ns),
				       STR_ARG(account)));
	v.folder = arena_strdup(d->arena, part);
	review_part(&v, args);
	if (d->no_reviews)
		return;
	if (v.missing == 0)
		doctor_say(d, DOCTOR_OK, subject, NULL, "%.*s/%.*s has all %zu", STR_ARG(ns),
			   STR_ARG(account), v.asked);
	else
		doctor_say(d, DOCTOR_FAIL, subject,
			   arena_printf(d->arena, "apply deploy/%s again", v.folder),
			   "%.*s/%.*s lacks %zu of %zu, such as: %s", STR_ARG(ns), STR_ARG(account),
			   v.missing, v.asked, v.first);
}
