/*
 * The table of plugins. The stored object is parsed only if a plugin needs it.
 */
#include "server/plugins/table.h"

#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/custom/custom.h"
#include "server/engine/looks.h"
#include "server/plugins/account.h"
#include "server/plugins/authz.h"
#include "server/plugins/defaults.h"
#include "server/fence/devices.h"
#include "server/plugins/event_limits.h"
#include "server/plugins/limits.h"
#include "server/plugins/priority.h"
#include "server/plugins/pull.h"
#include "server/plugins/quota.h"
#include "server/plugins/workloads.h"
#include "server/policies/admit.h"
#include "server/policies/mutate.h"
#include "server/security/admit.h"
#include "server/services/admit.h"
#include "server/webhooks/webhooks.h"

typedef int (*admission_fn)(struct admission_request *req, const struct json *old,
			    struct json *object, struct error *err);

/*
 * What a plugin means for a draft: a write that is decided on its connection's loop
 * (verbs/draft.h). `validate` runs on the state's loop for drafts too; see also `judge`.
 */
enum plugin_draft {
	/* Writes that it applies to are not drafted. `concerns` reads only the request. */
	DRAFT_NEVER,
	/*
	 * They run on any loop: `concerns` reads only the request; `mutate` the request, and other
	 * objects only by admission_object() and admission_objects().
	 */
	DRAFT_RUNS,
	/*
	 * The state asks `concerns`, and then `matches`. If `mutate` applies, the state decides the
	 * write itself.
	 */
	DRAFT_ASKS,
};

/* In the order in which they run. */
static const struct plugin {
	const char *name;
	struct str group; /* p NULL: any group */
	struct str resource; /* empty: all of the group */
	unsigned ops;
	/*
	 * Whether the plugin applies to a write. Avoids parsing the stored object for other
	 * writes. NULL: it applies to all.
	 */
	bool (*concerns)(const struct admission_request *req);
	admission_fn mutate, validate; /* or NULL */
	bool own; /* upstream does this elsewhere, and has no plugin of this name */
	/* Off by default, as upstream; or because only other controllers undo its effect. */
	bool off;
	bool blind; /* validate does not use the stored object */
	enum plugin_draft draft;
	/* Whether `mutate` could change the object or reject the write. NULL: it could. */
	bool (*matches)(struct admission_request *req, const struct json *old, struct json *object);
	/* Part of admission_judge_draft(); or NULL. `concerns` was not asked. */
	void (*judge)(struct admission_request *req, const struct object *ns,
		      const struct json *old, struct json *object);
} plugins[] = {
	{ "LimitRanger", STR(""), STR("pods"), ADMIT_CREATE | ADMIT_UPDATE, admit_limits_fills,
	  admit_limits_fill, NULL, .draft = DRAFT_RUNS },
	{ "LimitRanger", STR(""), STR(""), ADMIT_CREATE | ADMIT_UPDATE, admit_limits_concerns, NULL,
	  admit_limits_check, .draft = DRAFT_ASKS },
	{ "ServiceAccount", STR(""), STR("pods"), ADMIT_CREATE | ADMIT_UPDATE,
	  admit_account_concerns, admit_account, NULL, .draft = DRAFT_RUNS },
	{ "NodeRestriction", STR_NULL, STR(""), ADMIT_WRITES, admit_node_concerns, NULL, admit_node,
	  .draft = DRAFT_ASKS },
	{ "AlwaysPullImages", STR(""), STR("pods"), ADMIT_CREATE | ADMIT_UPDATE,
	  admit_defaults_concerns, admit_pull, admit_pull_check, .off = true, .draft = DRAFT_RUNS },
	{ "PodSecurity", STR_NULL, STR(""), ADMIT_CREATE | ADMIT_UPDATE, admit_security_concerns,
	  NULL, admit_security, .blind = true, .draft = DRAFT_ASKS, .judge = admit_security_draft },
	{ "TaintNodesByCondition", STR(""), STR("nodes"), ADMIT_CREATE, admit_defaults_concerns,
	  admit_not_ready_taint, NULL, .draft = DRAFT_RUNS },
	{ "Priority", STR(""), STR("pods"), ADMIT_CREATE | ADMIT_UPDATE, admit_priority_concerns,
	  admit_priority, NULL, .draft = DRAFT_RUNS },
	{ "Priority", STR("scheduling.k8s.io"), STR("priorityclasses"), ADMIT_CREATE | ADMIT_UPDATE,
	  admit_priority_concerns, NULL, admit_priority_class, .draft = DRAFT_ASKS },
	{ "DefaultTolerationSeconds", STR(""), STR("pods"), ADMIT_CREATE | ADMIT_UPDATE,
	  admit_defaults_concerns, admit_toleration_seconds, NULL, .draft = DRAFT_RUNS },
	{ "EventRateLimit", STR(""), STR("events"), ADMIT_CREATE | ADMIT_UPDATE,
	  admit_events_concerns, NULL, admit_events, .off = true, .blind = true,
	  .draft = DRAFT_ASKS },
	{ "DefaultStorageClass", STR(""), STR("persistentvolumeclaims"), ADMIT_CREATE,
	  admit_defaults_concerns, admit_storage_class, NULL, .draft = DRAFT_RUNS },
	{ "StorageObjectInUseProtection", STR(""), STR("persistentvolumeclaims"), ADMIT_CREATE,
	  admit_defaults_concerns, admit_volume_finalizer, NULL, .off = true, .draft = DRAFT_RUNS },
	{ "StorageObjectInUseProtection", STR(""), STR("persistentvolumes"), ADMIT_CREATE,
	  admit_defaults_concerns, admit_volume_finalizer, NULL, .off = true, .draft = DRAFT_RUNS },
	{ "OwnerReferencesPermissionEnforcement", STR_NULL, STR(""), ADMIT_CREATE | ADMIT_UPDATE,
	  admit_owners_concerns, NULL, admit_owners, .off = true, .draft = DRAFT_ASKS },
	{ "RuntimeClass", STR(""), STR("pods"), ADMIT_CREATE, admit_defaults_concerns,
	  admit_runtime_class, admit_overhead, .draft = DRAFT_RUNS },
	{ "DefaultIngressClass", STR("networking.k8s.io"), STR("ingresses"), ADMIT_CREATE,
	  admit_defaults_concerns, admit_ingress_class, NULL, .draft = DRAFT_RUNS },
	{ "CustomResourceDefinition", STR("apiextensions.k8s.io"), STR(""), ADMIT_WRITES, NULL,
	  NULL, custom_admit, .own = true },
	{ "Certificates", STR("certificates.k8s.io"), STR(""), ADMIT_WRITES, NULL, NULL,
	  admit_certificate, .own = true },
	{ "RBACEscalation", STR("rbac.authorization.k8s.io"), STR(""), ADMIT_WRITES, NULL, NULL,
	  admit_rbac, .own = true, .draft = DRAFT_ASKS },
	{ "MutatingAdmissionPolicy", STR_NULL, STR(""), ADMIT_CREATE | ADMIT_UPDATE | ADMIT_CONNECT,
	  admit_mutation_concerns, admit_mutation, NULL, .draft = DRAFT_ASKS,
	  .matches = admit_mutation_match },
	{ "MutatingAdmissionWebhook", STR_NULL, STR(""), ADMIT_ALL, webhooks_mutate_concerns,
	  webhooks_mutate, webhooks_mutate_deletion, .draft = DRAFT_ASKS,
	  .matches = webhooks_mutate_match },
	{ "ValidatingAdmissionPolicy", STR_NULL, STR(""), ADMIT_ALL, admit_policy_concerns, NULL,
	  admit_policy, .draft = DRAFT_ASKS, .judge = admit_policy_draft },
	{ "ValidatingAdmissionWebhook", STR_NULL, STR(""), ADMIT_ALL, webhooks_validate_concerns,
	  NULL, webhooks_validate, .draft = DRAFT_ASKS },
	/* The last plugin that mutates. */
	{ "ServiceAllocation", STR(""), STR("services"), ADMIT_CREATE | ADMIT_UPDATE,
	  admit_service_concerns, admit_service, admit_service_lock, .own = true },
	/* After webhooks, which may change the claim. Only the first row reads the stored claim. */
	{ "DeviceAllocationFence", STR("resource.k8s.io"), STR("resourceclaims"), ADMIT_UPDATE,
	  admit_devices_concerns, admit_devices_note, NULL, .draft = DRAFT_RUNS },
	{ "DeviceAllocationFence", STR("resource.k8s.io"), STR("resourceclaims"), ADMIT_UPDATE,
	  admit_devices_allocates, NULL, admit_devices, .blind = true, .draft = DRAFT_ASKS },
	{ "WorkloadControllers", STR_NULL, STR(""), ADMIT_CREATE, admit_workloads_concerns, NULL,
	  admit_workloads, .own = true, .blind = true, .draft = DRAFT_ASKS },
	/* The last plugin, so that nothing is charged for a write that another one rejects. */
	{ "ResourceQuota", STR_NULL, STR(""), ADMIT_CREATE | ADMIT_UPDATE, admit_quota_concerns,
	  NULL, admit_quota, .draft = DRAFT_ASKS },
};

static enum admission_op op_of(const struct admission_request *req, bool is_new)
{
	switch (req->request->verb) {
	case REQUEST_CREATE:
		return ADMIT_CREATE;
	case REQUEST_DELETE:
	case REQUEST_DELETE_COLLECTION:
		return ADMIT_DELETE;
	default:
		return is_new ? ADMIT_CREATE : ADMIT_UPDATE;
	}
}

_Static_assert(ARRAY_SIZE(plugins) <= ADMISSION_PLUGINS_MAX, "too many plugins for a server");

static bool is_on(const struct plugin *p, const struct admission_request *req)
{
	int8_t said = req->server->admission->said[p - plugins];

	return said ? said > 0 : !p->off;
}

static bool is_in_row(const struct plugin *p, const struct admission_request *req)
{
	const struct schema_kind *k = req->write->kind;

	return is_on(p, req) && (p->ops & req->op) && (!p->group.p || str_eq(p->group, k->group)) &&
	       (!p->resource.n || str_eq(p->resource, k->resource));
}

static bool is_asked(const struct plugin *p, const struct admission_request *req)
{
	return is_in_row(p, req) && (!p->concerns || p->concerns(req));
}

/* `foreign`: only plugins for all kinds. */
static int mutate_once(struct admission_request *req, const struct json *old, struct json *object,
		       bool foreign, struct error *err)
{
	int r = 0;

	for (const struct plugin *p = plugins; p < plugins + ARRAY_SIZE(plugins) && r == 0; p++)
		if (p->mutate && !(foreign && p->group.p) && is_asked(p, req))
			r = p->mutate(req, old, object, err);
	return r;
}

/* --- drafts ----------------------------------------------------------------------- */

bool admission_may_draft(struct admission_request *req, bool is_new)
{
	req->op = op_of(req, is_new);
	for (const struct plugin *p = plugins; p < plugins + ARRAY_SIZE(plugins); p++)
		if (p->draft == DRAFT_NEVER && is_asked(p, req))
			return false;
	return true;
}

int admission_mutate_draft(struct write *w, const struct json *old, struct json *object,
			   struct error *err)
{
	struct admission_request *req = w->mutate_arg;
	int r = 0;

	req->op = op_of(req, !old);
	for (const struct plugin *p = plugins; p < plugins + ARRAY_SIZE(plugins) && r == 0; p++)
		if (p->mutate && p->draft == DRAFT_RUNS && is_asked(p, req))
			r = p->mutate(req, old, object, err);
	if (r == 0 && req->looks->failed)
		r = error_set(err, ERR_UNAVAILABLE, "a draft cannot read all that it needs");
	return r;
}

void admission_judge_draft(struct admission_request *req, const struct object *ns,
			   const struct json *old, struct json *object)
{
	req->op = op_of(req, !old);
	for (const struct plugin *p = plugins; p < plugins + ARRAY_SIZE(plugins); p++)
		if (p->judge && is_in_row(p, req))
			p->judge(req, ns, old, object);
}

bool admission_draft_stands(struct admission_request *req, const struct json *old,
			    struct json *object)
{
	req->op = op_of(req, !old);
	for (const struct plugin *p = plugins; p < plugins + ARRAY_SIZE(plugins); p++)
		if (p->mutate && p->draft == DRAFT_ASKS && is_asked(p, req) &&
		    (!p->matches || p->matches(req, old, object)))
			return false;
	return true;
}

/* --- phase one -------------------------------------------------------------------- */

/* After a webhook or a policy changed the object, all plugins run once more, as upstream. */
static int mutate(struct admission_request *req, const struct json *old, struct json *object,
		  bool foreign, struct error *err)
{
	int r;

	req->reinvoke = req->reinvoking = false;
	r = mutate_once(req, old, object, foreign, err);
	if (r < 0 || !req->reinvoke)
		return r;
	req->reinvoking = true;
	r = mutate_once(req, old, object, foreign, err);
	req->reinvoking = false;
	return r;
}

bool admission_switch(struct admission *a, struct str name, bool on)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(plugins); i++) {
		if (plugins[i].own || !str_eqz(name, plugins[i].name))
			continue;
		a->said[i] = on ? 1 : -1;
		found = true;
	}
	return found;
}

bool admission_is_on(const struct admission *a, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(plugins); i++)
		if (strcmp(plugins[i].name, name) == 0)
			return a->said[i] ? a->said[i] > 0 : !plugins[i].off;
	return false;
}

const char *admission_plugin(size_t i)
{
	if (i >= ARRAY_SIZE(plugins))
		return "";
	return plugins[i].own ? NULL : plugins[i].name;
}

int admission_mutate(struct write *w, const struct json *old, struct json *object,
		     struct error *err)
{
	struct admission_request *req = w->mutate_arg;

	req->op = op_of(req, !old);
	return mutate(req, old, object, false, err);
}

int admission_mutate_foreign(struct admission_request *req, struct json *object, struct error *err)
{
	req->op = ADMIT_CREATE;
	return mutate(req, NULL, object, true, err);
}

static int table_validate(struct admission_request *req, const struct json *old,
			  struct json *object, struct error *err)
{
	int r = 0;

	for (const struct plugin *p = plugins; p < plugins + ARRAY_SIZE(plugins) && r == 0; p++)
		if (p->validate && is_asked(p, req))
			r = p->validate(req, old, object, err);
	return r;
}

int admission_connect(struct admission_request *req, struct json *options, struct error *err)
{
	int r;

	req->op = ADMIT_CONNECT;
	r = mutate(req, NULL, options, true, err);
	return r < 0 ? r : table_validate(req, NULL, options, err);
}

int admission_check_tree(struct admission_request *req, const struct json *old, struct json *object,
			 struct error *err)
{
	req->op = op_of(req, !old);
	return table_validate(req, old, object, err);
}

/* Whether any plugin that applies uses the stored object. */
static bool any_looks(const struct admission_request *req)
{
	for (const struct plugin *p = plugins; p < plugins + ARRAY_SIZE(plugins); p++)
		if (p->validate && !p->blind && is_asked(p, req))
			return true;
	return false;
}

int admission_check(struct admission_request *req, struct object *base, struct json *object,
		    struct error *err)
{
	struct json *old = NULL;
	int r = 0;

	req->op = op_of(req, !base);
	if (base && any_looks(req))
		r = object_tree(base, req->write->arena, &old, err);
	return r < 0 ? r : table_validate(req, old, object, err);
}
