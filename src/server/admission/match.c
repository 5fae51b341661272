/*
 * There are few rules with short lists, so all matching is linear. Other versions of a resource
 * are tried only if its own version did not match.
 */
#include "server/admission/match.h"

#include "api/crd/crd.h"

struct str admission_op_name(enum admission_op op)
{
	switch (op) {
	case ADMIT_CREATE:
		return STR("CREATE");
	case ADMIT_UPDATE:
		return STR("UPDATE");
	case ADMIT_DELETE:
		return STR("DELETE");
	default:
		return STR("CONNECT");
	}
}

/* --- compiling ---------------------------------------------------------------------- */

static struct admission_texts texts_of(struct arena *a, const struct json *list)
{
	struct str *v = ARENA_ARRAY(a, struct str, json_count(list) + 1);
	size_t n = 0;

	JSON_FOREACH (it, list)
		v[n++] = arena_str(a, json_str(it));
	return (struct admission_texts){ v, n };
}

static unsigned ops_of(const struct json *list)
{
	static const enum admission_op all[] = { ADMIT_CREATE, ADMIT_UPDATE, ADMIT_DELETE,
						 ADMIT_CONNECT };
	unsigned ops = 0;

	JSON_FOREACH (it, list) {
		struct str name = json_str(it);

		if (str_eqz(name, "*"))
			ops |= ~0U;
		for (size_t i = 0; i < ARRAY_SIZE(all); i++)
			if (str_eq(name, admission_op_name(all[i])))
				ops |= all[i];
	}
	return ops;
}

static const struct admission_rule *rules_of(struct arena *a, const struct json *list,
					     size_t *ret_n)
{
	struct admission_rule *rules = ARENA_ARRAY(a, struct admission_rule, json_count(list) + 1);
	size_t n = 0;

	JSON_FOREACH (it, list) {
		struct str scope = json_text_at(it, "scope");
		struct admission_rule *r = &rules[n++];

		r->ops = ops_of(json_getz(it, "operations"));
		r->groups = texts_of(a, json_getz(it, "apiGroups"));
		r->versions = texts_of(a, json_getz(it, "apiVersions"));
		r->resources = texts_of(a, json_getz(it, "resources"));
		r->names = texts_of(a, json_getz(it, "resourceNames"));
		if (str_eqz(scope, "Cluster"))
			r->scope = ADMIT_CLUSTER;
		else if (str_eqz(scope, "Namespaced"))
			r->scope = ADMIT_NAMESPACED;
	}
	*ret_n = n;
	return rules;
}

static struct admission_match common_of(struct arena *a, const struct json *tree)
{
	return (struct admission_match){
		.namespaces = selector_of_tree(a, json_getz(tree, "namespaceSelector")),
		.objects = selector_of_tree(a, json_getz(tree, "objectSelector")),
		.exact = str_eqz(json_text_at(tree, "matchPolicy"), "Exact"),
	};
}

struct admission_match admission_match_policy(struct arena *a, const struct json *resources)
{
	struct admission_match m = common_of(a, resources);

	m.rules = rules_of(a, json_getz(resources, "resourceRules"), &m.nrules);
	m.excluded = rules_of(a, json_getz(resources, "excludeResourceRules"), &m.nexcluded);
	m.without_rules = true;
	return m;
}

struct admission_match admission_match_webhook(struct arena *a, const struct json *webhook)
{
	struct admission_match m = common_of(a, webhook);

	m.rules = rules_of(a, json_getz(webhook, "rules"), &m.nrules);
	return m;
}

/* --- rules -------------------------------------------------------------------------- */

static bool match_has(struct admission_texts t, struct str text)
{
	for (size_t i = 0; i < t.n; i++)
		if (str_eqz(t.v[i], "*") || str_eq(t.v[i], text))
			return true;
	return false;
}

static bool is_namespaces(const struct schema_kind *k)
{
	return !k->group.n && str_eqz(k->resource, "namespaces");
}

static bool scope_matches(const struct admission_rule *r, const struct schema_kind *k,
			  const struct admission_attr *attr)
{
	bool cluster = is_namespaces(k) || !attr->ns.n;

	if (r->scope == ADMIT_ANY_SCOPE)
		return true;
	return (r->scope == ADMIT_CLUSTER) == cluster;
}

static bool resource_matches(const struct admission_rule *r, struct str resource, struct str sub)
{
	for (size_t i = 0; i < r->resources.n; i++) {
		struct str want = r->resources.v[i], want_sub = STR("");
		ptrdiff_t slash = str_chr(want, '/');

		if (slash >= 0) {
			want_sub = str_skip(want, (size_t)slash + 1);
			want.n = (size_t)slash;
		}
		if ((str_eqz(want, "*") || str_eq(want, resource)) &&
		    (str_eqz(want_sub, "*") || str_eq(want_sub, sub)))
			return true;
	}
	return false;
}

static bool name_matches(const struct admission_rule *r, struct str name)
{
	for (size_t i = 0; i < r->names.n; i++)
		if (str_eq(r->names.v[i], name))
			return true;
	return r->names.n == 0;
}

static bool rule_matches(const struct admission_rule *r, const struct schema_kind *k,
			 const struct admission_attr *attr)
{
	return (r->ops & attr->op) && scope_matches(r, k, attr) && match_has(r->groups, k->group) &&
	       match_has(r->versions, k->version) &&
	       resource_matches(r, k->resource, attr->subresource) && name_matches(r, attr->name);
}

/* The other version of the resource that the rule matches, or NULL. */
static const struct schema_kind *equivalent(const struct admission_rule *r,
					    const struct admission_attr *attr)
{
	const struct crd *crd = crd_of(attr->kind);
	size_t n;
	const struct schema_kind *const *kinds = crd ? crd_kinds(crd, &n) : schema_kinds(&n);

	for (size_t i = 0; i < n; i++) {
		const struct schema_kind *k = kinds[i];

		if (k == attr->kind || k->storage != attr->kind->storage ||
		    (crd && !crd_served(crd, i)) ||
		    (attr->subresource.n && !schema_subresource(k, attr->subresource)))
			continue;
		if (rule_matches(r, k, attr))
			return k;
	}
	return NULL;
}

static const struct schema_kind *rules_match(const struct admission_rule *rules, size_t n,
					     bool exact, const struct admission_attr *attr)
{
	const struct schema_kind *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (rule_matches(&rules[i], attr->kind, attr))
			return attr->kind;
	for (size_t i = 0; i < n && !exact && !found; i++)
		found = equivalent(&rules[i], attr);
	return found;
}

/* --- selectors ---------------------------------------------------------------------- */

static struct str label_of(const void *source, struct str key)
{
	return json_str(json_get(source, key));
}

/* Matches a label selector against a tree of labels (NULL: no labels). */
static bool admission_selects(const struct selector *s, const struct json *labels)
{
	return selector_matches(s, label_of, labels);
}

static bool object_selected(const struct selector *s, const struct json *object)
{
	return object && admission_selects(s, json_getz(json_getz(object, "metadata"), "labels"));
}

static bool namespace_selected(const struct selector *s, const struct admission_attr *attr)
{
	bool itself = is_namespaces(attr->kind);

	if (s->n == 0 || (!attr->ns.n && !itself))
		return true;
	/* The namespace's new labels count, not the old ones. */
	if (itself && !attr->subresource.n && attr->op & (ADMIT_CREATE | ADMIT_UPDATE))
		return object_selected(s, attr->object);
	return admission_selects(s, attr->namespace_labels);
}

bool admission_matches(const struct admission_match *m, const struct admission_attr *attr,
		       const struct schema_kind **ret_kind)
{
	const struct schema_kind *found = attr->kind;

	if (!namespace_selected(&m->namespaces, attr))
		return false;
	/* Options have no labels, so no selector matches them, not even one for missing labels. */
	if (m->objects.n && attr->op == ADMIT_CONNECT)
		return false;
	if (m->objects.n && !object_selected(&m->objects, attr->object) &&
	    !object_selected(&m->objects, attr->old))
		return false;
	if (m->nexcluded && rules_match(m->excluded, m->nexcluded, m->exact, attr))
		return false;
	if (m->nrules || !m->without_rules)
		found = rules_match(m->rules, m->nrules, m->exact, attr);
	if (found)
		*ret_kind = found;
	return found != NULL;
}

bool admission_is_exempt(const struct schema_kind *kind)
{
	static const char *const names[] = {
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
		"ValidatingAdmissionPolicy",      "ValidatingAdmissionPolicyBinding",
		"MutatingAdmissionPolicy",        "MutatingAdmissionPolicyBinding",
	};

	if (!str_eqz(kind->group, "admissionregistration.k8s.io"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eqz(kind->kind, names[i]))
			return true;
	return false;
}
