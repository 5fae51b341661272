/*
 * One batch of creations and patches, then the aggregated roles. A patch has only what is
 * missing, so a start that finds everything in place writes nothing.
 */
#include "server/authz/policy.h"

#include "base/core/mem.h"
#include "server/authz/authorizers.h"
#include "server/authz/policy_table.h"
#include "server/authz/rbac_aggregate.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"

struct policy {
	struct server *server;
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

/* --- missing parts ------------------------------------------------------------------ */

/* The members of `wanted` that `there` lacks, as a patch; NULL if it has all. */
static struct json *lacking_members(struct arena *a, const struct json *there,
				    const struct json *wanted)
{
	struct json *patch = NULL;

	JSON_FOREACH (it, wanted) {
		if (json_get(there, json_key(it)))
			continue;
		if (!patch)
			patch = json_make_object(a);
		json_set(patch, json_key(it), json_make_str(a, json_str(it)));
	}
	return patch;
}

static struct json *policy_copy(struct arena *a, const struct json *v)
{
	struct json *c = NULL;

	(void)json_copy(a, v, &c, NULL);
	return c;
}

static bool has_element(const struct json *list, const struct json *wanted)
{
	JSON_FOREACH (it, list)
		if (json_equal(it, wanted))
			return true;
	return false;
}

/* The list, extended by the elements of `wanted` that it lacks; NULL if it has all. */
static struct json *extended(struct arena *a, const struct json *list, const struct json *wanted)
{
	struct json *all = NULL;

	JSON_FOREACH (it, wanted) {
		if (has_element(list, it))
			continue;
		if (!all)
			all = list ? policy_copy(a, list) : json_make_array(a);
		json_append(all, policy_copy(a, it));
	}
	return all;
}

/* Rules that others cover need not be present literally. */
static struct json *extended_rules(struct arena *a, const struct json *list,
				   const struct json *wanted)
{
	struct rbac_rules held = rbac_rules_parse(a, list);
	struct rbac_rules missing = rbac_missing(a, held, rbac_rules_parse(a, wanted));
	struct json *all;

	if (missing.n == 0)
		return NULL;
	all = json_is(list, JSON_ARRAY) ? policy_copy(a, list) : json_make_array(a);
	JSON_FOREACH_SAFE (it, rbac_rules_tree(a, missing))
		json_append(all, policy_copy(a, it));
	return all;
}

static void set_if(struct json **patch, struct arena *a, const char *key, struct json *value)
{
	if (!value)
		return;
	if (!*patch)
		*patch = json_make_object(a);
	json_setz(*patch, key, value);
}

static struct json *patch_meta(struct arena *a, const struct json *there, const struct json *wanted)
{
	struct json *patch = NULL;

	set_if(&patch, a, "labels",
	       lacking_members(a, json_getz(there, "labels"), json_getz(wanted, "labels")));
	set_if(&patch, a, "annotations",
	       lacking_members(a, json_getz(there, "annotations"),
			       json_getz(wanted, "annotations")));
	return patch;
}

static void patch_role(struct json **patch, struct arena *a, const struct json *there,
		       const struct json *wanted)
{
	const struct json *gathers = json_getz(there, "aggregationRule");
	const struct json *should = json_getz(wanted, "aggregationRule");
	struct json *selectors;

	if (!gathers || !should)
		set_if(patch, a, "rules",
		       extended_rules(a, json_getz(there, "rules"), json_getz(wanted, "rules")));
	if (gathers && !should)
		set_if(patch, a, "aggregationRule", json_make_null(a));
	selectors = extended(a, json_getz(gathers, "clusterRoleSelectors"),
			     json_getz(should, "clusterRoleSelectors"));
	if (selectors) {
		struct json *rule = json_make_object(a);

		json_setz(rule, "clusterRoleSelectors", selectors);
		set_if(patch, a, "aggregationRule", rule);
	}
}

static struct json *patch_of(struct arena *a, const struct json *there, const struct json *wanted)
{
	struct json *patch = NULL;

	set_if(&patch, a, "metadata",
	       patch_meta(a, json_getz(there, "metadata"), json_getz(wanted, "metadata")));
	if (!json_getz(wanted, "roleRef"))
		patch_role(&patch, a, there, wanted);
	else if (json_equal(json_getz(there, "roleRef"), json_getz(wanted, "roleRef")))
		set_if(&patch, a, "subjects",
		       extended(a, json_getz(there, "subjects"), json_getz(wanted, "subjects")));
	return patch;
}

/* --- steps -------------------------------------------------------------------------- */

static bool is_protected(const struct json *object)
{
	return str_eqz(json_text_at(json_getz(json_getz(object, "metadata"), "annotations"),
				    "rbac.authorization.kubernetes.io/autoupdate"),
		       "false");
}

static void ensure_one(struct ensure *e, struct json *wanted)
{
	const struct schema_kind *kind = schema_find_kind(json_text_at(wanted, "apiVersion"),
							  json_text_at(wanted, "kind"));
	const struct json *meta = json_getz(wanted, "metadata");
	struct json *there, *patch;

	there = ensure_tree(e, kind, json_text_at(meta, "namespace"), json_text_at(meta, "name"));
	if (!there) {
		ensure_create(e, kind, wanted, ENSURE_MANAGER);
		return;
	}
	patch = is_protected(there) ? NULL : patch_of(ensure_arena(e), there, wanted);
	if (patch)
		ensure_patch(e, kind, there, patch, ENSURE_MANAGER);
}

static void policy_finish(struct policy *p, const struct error *err)
{
	p->done(p->arg, err);
	free(p);
}

static void on_gathered(void *arg, const struct error *err)
{
	policy_finish(arg, err);
}

static void policy_on_written(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct policy *p = arg;
	struct server *s = p->server;

	if (err)
		policy_finish(p, err);
	else if (s->authz->aggregate)
		rbac_aggregate_again(s->authz->aggregate, on_gathered, p);
	else
		s->authz->aggregate = rbac_aggregate_new(s, on_gathered, p);
}

void policy_ensure(struct server *s, void (*done)(void *arg, const struct error *err), void *arg)
{
	struct policy *p = XNEW(struct policy);
	struct ensure *e = ensure_new(s, policy_on_written, p);
	struct json *objects = NULL;

	*p = (struct policy){ s, done, arg };
	(void)policy_table_parse(ensure_arena(e), str_from(policy_text), &objects, NULL);
	JSON_FOREACH_SAFE (it, objects)
		ensure_one(e, json_unlink(objects, it));
	ensure_end(e);
}
