/*
 * Which names of a quota apply to which kind, how quotas are read, and which objects their scopes
 * cover.
 */
#include "api/quota/quota.h"

#include "api/quota/quota_impl.h"
#include "base/json/json.h"

#define CORE_COUNT STR("count/")

/* Kinds that are also counted by an older name. */
static const struct str aliases[] = {
	STR("configmaps"),
	STR("replicationcontrollers"),
	STR("resourcequotas"),
	STR("secrets"),
};

/* Resources that are not stored or, like events, never counted. */
static const struct {
	struct str group, resource;
} ignored[] = {
	{ STR(""), STR("bindings") },
	{ STR(""), STR("componentstatuses") },
	{ STR(""), STR("events") },
	{ STR("events.k8s.io"), STR("events") },
	{ STR("authentication.k8s.io"), STR("tokenreviews") },
	{ STR("authentication.k8s.io"), STR("selfsubjectreviews") },
	{ STR("authorization.k8s.io"), STR("subjectaccessreviews") },
	{ STR("authorization.k8s.io"), STR("selfsubjectaccessreviews") },
	{ STR("authorization.k8s.io"), STR("localsubjectaccessreviews") },
	{ STR("authorization.k8s.io"), STR("selfsubjectrulesreviews") },
};

static const struct {
	struct str group, resource;
	enum quota_sort sort;
} sorts[] = {
	{ STR(""), STR("pods"), QUOTA_PODS },
	{ STR(""), STR("services"), QUOTA_SERVICES },
	{ STR(""), STR("persistentvolumeclaims"), QUOTA_VOLUME_CLAIMS },
	{ STR("resource.k8s.io"), STR("resourceclaims"), QUOTA_DEVICE_CLAIMS },
};

/* --- kinds -------------------------------------------------------------------------------- */

bool quota_kind_of(struct str group, struct str resource, struct quota_kind *ret_kind)
{
	struct quota_kind k = { .group = group, .resource = resource, .alias = STR("") };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (str_eq(ignored[i].group, group) && str_eq(ignored[i].resource, resource))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++)
		if (str_eq(sorts[i].group, group) && str_eq(sorts[i].resource, resource))
			k.sort = sorts[i].sort;
	for (size_t i = 0; i < ARRAY_SIZE(aliases) && !group.n; i++)
		if (str_eq(aliases[i], resource))
			k.alias = aliases[i];
	*ret_kind = k;
	return true;
}

bool quota_kind_counted(struct str name, struct quota_kind *ret_kind)
{
	struct str rest = name, resource;

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (str_eq(aliases[i], name))
			return quota_kind_of(STR(""), name, ret_kind);
	if (!str_starts(name, CORE_COUNT))
		return false;
	rest = str_skip(name, CORE_COUNT.n);
	if (!rest.n || !str_split(&rest, '.', &resource))
		return false;
	return quota_kind_of(rest.p ? rest : STR(""), resource, ret_kind);
}

static bool is_count(const struct quota_kind *k, struct str name)
{
	struct str rest;

	if (!str_starts(name, CORE_COUNT))
		return false;
	rest = str_skip(name, CORE_COUNT.n);
	if (!str_starts(rest, k->resource))
		return false;
	rest = str_skip(rest, k->resource.n);
	if (!k->group.n)
		return !rest.n;
	return rest.n == k->group.n + 1 && rest.p[0] == '.' && str_ends(rest, k->group);
}

/* "requests.example.com/gpu", or the implicit resource of a device class. */
static bool is_extended_request(struct str name)
{
	bool native = str_chr(name, '/') < 0 || str_find(name, STR("kubernetes.io/")) >= 0;

	return str_starts(name, QUOTA_REQUESTS) &&
	       (!native || str_starts(name, QUOTA_IMPLICIT_DEVICES));
}

static bool quota_is_among(struct str name, const struct str *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(names[i], name))
			return true;
	return false;
}

static bool pods_have(struct str name)
{
	static const struct str names[] = {
		STR("cpu"),          STR("memory"),          STR("ephemeral-storage"),
		STR("requests.cpu"), STR("requests.memory"), STR("requests.ephemeral-storage"),
		STR("limits.cpu"),   STR("limits.memory"),   STR("limits.ephemeral-storage"),
		STR("pods"),
	};

	return quota_is_among(name, names, ARRAY_SIZE(names)) ||
	       str_starts(name, STR("hugepages-")) ||
	       str_starts(name, STR("requests.hugepages-")) || is_extended_request(name);
}

static bool services_have(struct str name)
{
	static const struct str names[] = {
		STR("services"),
		STR("services.loadbalancers"),
		STR("services.nodeports"),
	};

	return quota_is_among(name, names, ARRAY_SIZE(names));
}

static bool volume_claims_have(struct str name)
{
	static const struct str names[] = { STR("persistentvolumeclaims"),
					    STR("requests.storage") };

	return quota_is_among(name, names, ARRAY_SIZE(names)) ||
	       str_ends(name, STR(QUOTA_STORAGE_CLASS "persistentvolumeclaims")) ||
	       str_ends(name, STR(QUOTA_STORAGE_CLASS "requests.storage"));
}

static bool device_claims_have(const struct quota_context *ctx, struct str name)
{
	if (str_ends(name, QUOTA_DEVICES))
		return true;
	if (ctx->resource_of && str_starts(name, QUOTA_IMPLICIT_DEVICES) &&
	    ctx->resource_of(ctx, str_skip(name, QUOTA_IMPLICIT_DEVICES.n)).n)
		return true;
	return ctx->is_device && is_extended_request(name) &&
	       ctx->is_device(ctx, str_skip(name, QUOTA_REQUESTS.n));
}

bool quota_kind_has(const struct quota_kind *k, const struct quota_context *ctx, struct str name)
{
	if (is_count(k, name) || (k->alias.n && str_eq(k->alias, name)))
		return true;
	switch (k->sort) {
	case QUOTA_PODS:
		return pods_have(name);
	case QUOTA_SERVICES:
		return services_have(name);
	case QUOTA_VOLUME_CLAIMS:
		return volume_claims_have(name);
	case QUOTA_DEVICE_CLAIMS:
		return device_claims_have(ctx, name);
	default:
		return false;
	}
}

/* --- quotas ------------------------------------------------------------------------------- */

void quota_read(const struct json *object, struct arena *a, struct quota *ret_quota)
{
	const struct json *spec = json_getz(object, "spec"), *status = json_getz(object, "status");
	const struct json *scopes = json_getz(spec, "scopes");
	const struct json *terms = json_getz(json_getz(spec, "scopeSelector"), "matchExpressions");
	const struct json *meta = json_getz(object, "metadata");
	struct quota q = { .name = json_text_at(meta, "name"), .uid = json_text_at(meta, "uid") };

	q.wanted = amount_list_read(a, json_getz(spec, "hard"));
	q.hard = amount_list_read(a, json_getz(status, "hard"));
	q.used = amount_list_read(a, json_getz(status, "used"));
	q.scopes = ARENA_ARRAY(a, struct quota_scope, json_count(scopes) + json_count(terms) + 1);
	JSON_FOREACH (it, scopes)
		q.scopes[q.nscopes++] = (struct quota_scope){ json_str(it), STR("Exists"), NULL };
	JSON_FOREACH (it, terms)
		q.scopes[q.nscopes++] = (struct quota_scope){ json_text_at(it, "scopeName"),
							      json_text_at(it, "operator"),
							      json_getz(it, "values") };
	*ret_quota = q;
}

/* Matches a value (may be empty) with the scope's operator. */
static bool value_matches(const struct quota_scope *s, struct str value)
{
	if (str_eqz(s->op, "In"))
		return value.n && json_has_text(s->values, value);
	if (str_eqz(s->op, "NotIn"))
		return !value.n || !json_has_text(s->values, value);
	if (str_eqz(s->op, "Exists"))
		return value.n > 0;
	return str_eqz(s->op, "DoesNotExist") && !value.n;
}

static bool volume_claim_in(const struct quota_scope *s, const struct quota_item *item)
{
	bool any = false;

	if (!str_eqz(s->name, "VolumeAttributesClass"))
		return false;
	for (size_t i = 0; i < QUOTA_VOLUME_CLASSES; i++) {
		if (!item->volume_classes[i].n)
			continue;
		any = true;
		if (value_matches(s, item->volume_classes[i]))
			return true;
	}
	return !any && value_matches(s, STR(""));
}

static bool pod_in(const struct quota_scope *s, const struct quota_item *item)
{
	if (str_eqz(s->name, "Terminating"))
		return item->terminating;
	if (str_eqz(s->name, "NotTerminating"))
		return !item->terminating;
	if (str_eqz(s->name, "BestEffort"))
		return item->best_effort;
	if (str_eqz(s->name, "NotBestEffort"))
		return !item->best_effort;
	if (str_eqz(s->name, "CrossNamespacePodAffinity"))
		return item->crosses_namespaces;
	return str_eqz(s->name, "PriorityClass") && value_matches(s, item->priority_class);
}

bool quota_covers(const struct quota *q, const struct quota_item *item)
{
	for (size_t i = 0; i < q->nscopes; i++) {
		const struct quota_scope *s = &q->scopes[i];
		bool in = item->sort == QUOTA_PODS            ? pod_in(s, item)
			  : item->sort == QUOTA_VOLUME_CLAIMS ? volume_claim_in(s, item)
							      : false;

		if (!in)
			return false;
	}
	return true;
}
