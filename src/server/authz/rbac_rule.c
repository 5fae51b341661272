/*
 * Rules. Matching is upstream's: `*` means all verbs, groups and resources, but not all names. A
 * resource with its subresource is "pods/log", and "*\/log" means that of all resources. A URL
 * that ends in `*` is a prefix. Most rules are rejected by their verb, so each well-known verb is
 * a bit.
 */
#include "base/core/mem.h"
#include "server/authz/rbac.h"

#define ALL         STR("*")
#define OTHER_VERBS (UINT32_C(1) << 31)

static const struct str known_verbs[] = {
	{ "get", 3 },    { "list", 4 },     { "watch", 5 },  { "create", 6 },
	{ "update", 6 }, { "patch", 5 },    { "delete", 6 }, { "deletecollection", 16 },
	{ "bind", 4 },   { "escalate", 8 },
};

static uint32_t known_verb(struct str verb)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_verbs); i++)
		if (str_eq(verb, known_verbs[i]))
			return UINT32_C(1) << i;
	return OTHER_VERBS;
}

bool rbac_texts_have(struct rbac_texts t, struct str text)
{
	for (size_t i = 0; i < t.n; i++)
		if (str_eq(t.v[i], text))
			return true;
	return false;
}

/* --- trees ------------------------------------------------------------------------ */

static struct rbac_texts parse_texts(struct arena *a, const struct json *list)
{
	size_t n = json_count(list), i = 0;
	struct str *v;

	if (n == 0)
		return (struct rbac_texts){ NULL, 0 };
	v = ARENA_ARRAY(a, struct str, n);
	JSON_FOREACH (it, list)
		v[i++] = arena_str(a, json_str(it));
	return (struct rbac_texts){ v, n };
}

static uint32_t known_of(struct rbac_texts verbs)
{
	uint32_t known = 0;

	for (size_t i = 0; i < verbs.n; i++)
		known |= str_eq(verbs.v[i], ALL) ? UINT32_MAX : known_verb(verbs.v[i]);
	return known;
}

struct rbac_rules rbac_rules_parse(struct arena *a, const struct json *rules)
{
	size_t n = json_count(rules), i = 0;
	struct rbac_rule *v;

	if (n == 0)
		return (struct rbac_rules){ NULL, 0 };
	v = ARENA_ARRAY(a, struct rbac_rule, n);
	JSON_FOREACH (it, rules) {
		struct rbac_rule *rule = &v[i++];

		rule->verbs = parse_texts(a, json_getz(it, "verbs"));
		rule->groups = parse_texts(a, json_getz(it, "apiGroups"));
		rule->resources = parse_texts(a, json_getz(it, "resources"));
		rule->names = parse_texts(a, json_getz(it, "resourceNames"));
		rule->urls = parse_texts(a, json_getz(it, "nonResourceURLs"));
		rule->known = known_of(rule->verbs);
	}
	return (struct rbac_rules){ v, n };
}

static void add_texts(struct arena *a, struct json *rule, const char *key, struct rbac_texts t)
{
	struct json *list;

	if (t.n == 0)
		return;
	list = json_make_array(a);
	for (size_t i = 0; i < t.n; i++)
		json_append(list, json_make_str(a, t.v[i]));
	json_setz(rule, key, list);
}

struct json *rbac_rules_tree(struct arena *a, struct rbac_rules rules)
{
	struct json *list = json_make_array(a);

	for (size_t i = 0; i < rules.n; i++) {
		struct json *rule = json_make_object(a);

		add_texts(a, rule, "apiGroups", rules.v[i].groups);
		add_texts(a, rule, "nonResourceURLs", rules.v[i].urls);
		add_texts(a, rule, "resourceNames", rules.v[i].names);
		add_texts(a, rule, "resources", rules.v[i].resources);
		add_texts(a, rule, "verbs", rules.v[i].verbs);
		json_append(list, rule);
	}
	return list;
}

/* --- matching --------------------------------------------------------------------- */

/* Whether `text` is RESOURCE or RESOURCE/SUB, without concatenating them. */
static bool is_combined(struct str text, struct str resource, struct str sub)
{
	if (sub.n == 0)
		return str_eq(text, resource);
	return text.n == resource.n + 1 + sub.n && str_starts(text, resource) &&
	       text.p[resource.n] == '/' && str_ends(text, sub);
}

static bool resource_matches(const struct rbac_rule *rule, const struct authz_query *q)
{
	for (size_t i = 0; i < rule->resources.n; i++) {
		struct str text = rule->resources.v[i];

		if (str_eq(text, ALL) || is_combined(text, q->resource, q->subresource))
			return true;
		if (q->subresource.n && is_combined(text, ALL, q->subresource))
			return true;
	}
	return false;
}

static bool url_matches(struct str pattern, struct str path)
{
	if (str_eq(pattern, path))
		return true;
	if (!str_ends(pattern, ALL))
		return false;
	while (pattern.n && pattern.p[pattern.n - 1] == '*')
		pattern.n--;
	return str_starts(path, pattern);
}

static bool urls_match(struct rbac_texts urls, struct str path)
{
	for (size_t i = 0; i < urls.n; i++)
		if (url_matches(urls.v[i], path))
			return true;
	return false;
}

bool rbac_opens_guarded(const struct rbac_rule *rule)
{
	return rbac_texts_have(rule->resources, STR("resourceslices/status")) ||
	       (rbac_texts_have(rule->resources, ALL) && rbac_texts_have(rule->groups, ALL) &&
		rbac_texts_have(rule->verbs, ALL));
}

static bool is_guarded(const struct authz_query *q)
{
	return !q->is_path && str_eq(q->resource, STR("resourceslices")) &&
	       str_eq(q->subresource, STR("status")) && str_eq(q->group, STR("resource.k8s.io")) &&
	       !str_eq(q->verb, STR("get")) && !str_eq(q->verb, STR("list")) &&
	       !str_eq(q->verb, STR("watch"));
}

struct rbac_query rbac_query(const struct authz_query *q)
{
	return (struct rbac_query){ .q = q,
				    .known = known_verb(q->verb),
				    .guarded = is_guarded(q) };
}

static bool verb_matches(const struct rbac_rule *rule, const struct rbac_query *rq)
{
	if (!(rule->known & rq->known))
		return false;
	return rq->known != OTHER_VERBS || rbac_texts_have(rule->verbs, ALL) ||
	       rbac_texts_have(rule->verbs, rq->q->verb);
}

bool rbac_rule_allows(const struct rbac_rule *rule, const struct rbac_query *rq)
{
	const struct authz_query *q = rq->q;

	if (!verb_matches(rule, rq))
		return false;
	if (q->is_path)
		return urls_match(rule->urls, q->path);
	if (!rbac_texts_have(rule->groups, q->group) && !rbac_texts_have(rule->groups, ALL))
		return false;
	if (!resource_matches(rule, q) || (rq->guarded && !rbac_opens_guarded(rule)))
		return false;
	return rule->names.n == 0 || rbac_texts_have(rule->names, q->name);
}

bool rbac_rules_allow(struct rbac_rules rules, const struct authz_query *q)
{
	struct rbac_query rq = rbac_query(q);

	for (size_t i = 0; i < rules.n; i++)
		if (rbac_rule_allows(&rules.v[i], &rq))
			return true;
	return false;
}
