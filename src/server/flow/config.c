/*
 * Parsing and matching. Rules are parsed once into arrays of texts; most requests are decided by
 * a group that the first or the last schemas name.
 */
#include "server/flow/config.h"

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "server/flow/defaults.h"

struct texts {
	const struct str *v;
	size_t n;
	bool all; /* "*" */
};

struct subject {
	enum { SUBJECT_NOBODY, SUBJECT_USER, SUBJECT_GROUP, SUBJECT_ACCOUNT } kind;
	struct str ns, name;
};

struct resource_rule {
	struct texts verbs, groups, resources, namespaces;
	bool cluster;
};

struct path_rule {
	struct texts verbs, paths;
};

struct flow_rule {
	const struct subject *subjects;
	size_t nsubjects;
	const struct resource_rule *resources;
	size_t nresources;
	const struct path_rule *paths;
	size_t npaths;
};

/* --- reading ---------------------------------------------------------------------- */

static struct texts read_texts(struct arena *a, const struct json *list)
{
	struct texts t = { 0 };
	struct str *v = ARENA_ARRAY(a, struct str, json_count(list) + 1);

	JSON_FOREACH (it, list) {
		t.all = t.all || str_eqz(json_str(it), "*");
		v[t.n++] = arena_str(a, json_str(it));
	}
	t.v = v;
	return t;
}

static struct subject read_subject(struct arena *a, const struct json *tree)
{
	struct str kind = json_text_at(tree, "kind");
	const struct json *account = json_getz(tree, "serviceAccount");
	const struct json *user = json_getz(tree, "user"), *group = json_getz(tree, "group");
	struct subject s = { 0 };

	if (str_eqz(kind, "User") && user) {
		s = (struct subject){ SUBJECT_USER, STR_NULL, json_text_at(user, "name") };
	} else if (str_eqz(kind, "Group") && group) {
		s = (struct subject){ SUBJECT_GROUP, STR_NULL, json_text_at(group, "name") };
	} else if (str_eqz(kind, "ServiceAccount") && account) {
		s = (struct subject){ SUBJECT_ACCOUNT, json_text_at(account, "namespace"),
				      json_text_at(account, "name") };
	}
	s.ns = arena_str(a, s.ns);
	s.name = arena_str(a, s.name);
	return s;
}

static void read_resource_rules(struct arena *a, const struct json *list, struct flow_rule *rule)
{
	struct resource_rule *v = ARENA_ARRAY(a, struct resource_rule, json_count(list) + 1);

	JSON_FOREACH (it, list)
		v[rule->nresources++] = (struct resource_rule){
			.verbs = read_texts(a, json_getz(it, "verbs")),
			.groups = read_texts(a, json_getz(it, "apiGroups")),
			.resources = read_texts(a, json_getz(it, "resources")),
			.namespaces = read_texts(a, json_getz(it, "namespaces")),
			.cluster = json_true_at(it, "clusterScope"),
		};
	rule->resources = v;
}

static void read_rule(struct arena *a, const struct json *tree, struct flow_rule *rule)
{
	const struct json *subjects = json_getz(tree, "subjects");
	const struct json *paths = json_getz(tree, "nonResourceRules");
	struct subject *s = ARENA_ARRAY(a, struct subject, json_count(subjects) + 1);
	struct path_rule *p = ARENA_ARRAY(a, struct path_rule, json_count(paths) + 1);

	JSON_FOREACH (it, subjects)
		s[rule->nsubjects++] = read_subject(a, it);
	JSON_FOREACH (it, paths)
		p[rule->npaths++] = (struct path_rule){
			read_texts(a, json_getz(it, "verbs")),
			read_texts(a, json_getz(it, "nonResourceURLs"))
		};
	read_resource_rules(a, json_getz(tree, "resourceRules"), rule);
	rule->subjects = s;
	rule->paths = p;
}

static enum flow_by read_by(const struct json *spec)
{
	struct str type = json_text_at(json_getz(spec, "distinguisherMethod"), "type");

	if (str_eqz(type, "ByUser"))
		return FLOW_BY_USER;
	return str_eqz(type, "ByNamespace") ? FLOW_BY_NAMESPACE : FLOW_BY_NOTHING;
}

static struct str config_name_of(const struct json *tree)
{
	return json_text_at(json_getz(tree, "metadata"), "name");
}

static struct str uid_of(struct arena *a, const struct json *tree)
{
	return arena_str(a, json_text_at(json_getz(tree, "metadata"), "uid"));
}

static const struct flow_level *find_level(const struct flow_config *c, struct str name)
{
	for (size_t i = 0; i < c->nlevels; i++)
		if (str_eq(c->levels[i].name, name))
			return &c->levels[i];
	return NULL;
}

static void add_schema(struct flow_config *c, const struct json *tree)
{
	const struct json *spec = json_getz(tree, "spec"), *rules = json_getz(spec, "rules");
	struct flow_schema *s = &c->schemas[c->nschemas];
	struct flow_rule *v = ARENA_ARRAY(&c->arena, struct flow_rule, json_count(rules) + 1);

	s->level = find_level(c,
			      json_text_at(json_getz(spec, "priorityLevelConfiguration"), "name"));
	if (!s->level)
		return;
	s->name = arena_str(&c->arena, config_name_of(tree));
	s->uid = uid_of(&c->arena, tree);
	s->precedence = json_i64_at(spec, "matchingPrecedence", 1000);
	s->by = read_by(spec);
	JSON_FOREACH (it, rules)
		read_rule(&c->arena, it, &v[s->nrules++]);
	s->rules = v;
	c->nschemas++;
}

static void add_level(struct flow_config *c, const struct json *tree)
{
	const struct json *spec = json_getz(tree, "spec"), *limited = json_getz(spec, "limited");
	const struct json *response = json_getz(limited, "limitResponse");
	const struct json *queuing = json_getz(response, "queuing");
	int64_t length = json_i64_at(queuing, "queueLengthLimit", 50);
	struct flow_level *l = &c->levels[c->nlevels++];

	l->name = arena_str(&c->arena, config_name_of(tree));
	l->uid = uid_of(&c->arena, tree);
	l->exempt = str_eqz(json_text_at(spec, "type"), "Exempt");
	l->queues = str_eqz(json_text_at(response, "type"), "Queue");
	l->shares = l->exempt ? 0 : json_i64_at(limited, "nominalConcurrencyShares", 30);
	l->borrowing = json_i64_at(limited, "borrowingLimitPercent", -1);
	/*
	 * In upstream, flows share queues at random; here a flow may fill as much as its hand of
	 * queues.
	 */
	l->flow_max = json_i64_at(queuing, "handSize", 8) * length;
	l->all_max = json_i64_at(queuing, "queues", 64) * length;
}

/* Each level's share of all seats, rounded up; and how many it may borrow. */
static void share(struct flow_config *c, int64_t total)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->nlevels; i++)
		sum += c->levels[i].shares;
	for (size_t i = 0; i < c->nlevels; i++) {
		struct flow_level *l = &c->levels[i];

		l->nominal = sum ? (total * l->shares + sum - 1) / sum : 0;
		l->borrowed = l->borrowing < 0 ? total : (l->nominal * l->borrowing + 50) / 100;
	}
}

/* Upstream's order: by precedence, then by name. */
static int compare_schemas(const void *a, const void *b)
{
	const struct flow_schema *x = a, *y = b;

	if (x->precedence != y->precedence)
		return x->precedence < y->precedence ? -1 : 1;
	return str_cmp(x->name, y->name);
}

static const struct flow_default *find_mandatory(enum flow_kind kind, struct str name)
{
	size_t n;
	const struct flow_default *v = flow_defaults(kind, &n);

	for (size_t i = 0; i < n; i++)
		if (v[i].mandatory && str_eqz(name, v[i].name))
			return &v[i];
	return NULL;
}

typedef void (*add_fn)(struct flow_config *c, const struct json *tree);

/* For a mandatory name, only the uid of a stored object is used. */
static void add_mandatory(struct flow_config *c, struct arena *a, enum flow_kind kind,
			  const struct json *const *trees, size_t n, add_fn add)
{
	size_t nv;
	const struct flow_default *v = flow_defaults(kind, &nv);

	for (size_t i = 0; i < nv; i++) {
		struct json *tree = v[i].mandatory ? flow_default_tree(a, kind, &v[i]) : NULL;

		for (size_t k = 0; tree && k < n; k++)
			if (str_eqz(config_name_of(trees[k]), v[i].name))
				json_put_str(a, json_getz(tree, "metadata"), "uid",
					     json_text_at(json_getz(trees[k], "metadata"), "uid"));
		if (tree)
			add(c, tree);
	}
}

static void config_add_all(struct flow_config *c, const struct json *const *trees, size_t n,
			   enum flow_kind kind, add_fn add)
{
	CLEANUP(arena_release) struct arena scratch;

	arena_init(&scratch, MIB);
	add_mandatory(c, &scratch, kind, trees, n, add);
	for (size_t i = 0; i < n; i++)
		if (!find_mandatory(kind, config_name_of(trees[i])))
			add(c, trees[i]);
}

struct flow_config *flow_config_new(const struct json *const *schemas, size_t nschemas,
				    const struct json *const *levels, size_t nlevels, int64_t total)
{
	struct flow_config *c = XNEW(struct flow_config);

	atomic_init(&c->refs, 1);
	arena_init(&c->arena, 16 * MIB);
	c->levels = ARENA_ARRAY(&c->arena, struct flow_level, nlevels + FLOW_MANDATORY);
	c->schemas = ARENA_ARRAY(&c->arena, struct flow_schema, nschemas + FLOW_MANDATORY);
	config_add_all(c, levels, nlevels, FLOW_LEVEL, add_level);
	share(c, total);
	config_add_all(c, schemas, nschemas, FLOW_SCHEMA, add_schema);
	qsort(c->schemas, c->nschemas, sizeof(*c->schemas), compare_schemas);
	return c;
}

struct flow_config *flow_config_ref(struct flow_config *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void flow_config_unref(struct flow_config *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	arena_release(&c->arena);
	free(c);
}

/* --- matching --------------------------------------------------------------------- */

static bool has_text(const struct texts *t, struct str text)
{
	if (t->all)
		return true;
	for (size_t i = 0; i < t->n; i++)
		if (str_eq(t->v[i], text))
			return true;
	return false;
}

static bool is_account(const struct subject *s, const struct user *u)
{
	struct str ns, name;

	return user_service_account(u, &ns, &name) && str_eq(ns, s->ns) &&
	       (str_eqz(s->name, "*") || str_eq(name, s->name));
}

static bool is_subject(const struct subject *s, const struct user *u)
{
	switch (s->kind) {
	case SUBJECT_USER:
		return str_eqz(s->name, "*") || str_eq(s->name, u->name);
	case SUBJECT_GROUP:
		return str_eqz(s->name, "*") || user_in_group(u, s->name);
	case SUBJECT_ACCOUNT:
		return is_account(s, u);
	default:
		return false;
	}
}

static bool has_subject(const struct flow_rule *r, const struct user *u)
{
	for (size_t i = 0; i < r->nsubjects; i++)
		if (is_subject(&r->subjects[i], u))
			return true;
	return false;
}

/* "pods", or "pods/status" with a subresource. */
static bool has_resource(const struct texts *t, const struct flow_query *q)
{
	if (t->all)
		return true;
	for (size_t i = 0; i < t->n; i++) {
		struct str rest = t->v[i];

		if (!str_starts(rest, q->resource))
			continue;
		rest = str_skip(rest, q->resource.n);
		if (q->subresource.n ? rest.n == q->subresource.n + 1 && rest.p[0] == '/' &&
					       str_ends(rest, q->subresource)
				     : rest.n == 0)
			return true;
	}
	return false;
}

static bool matches_resource(const struct resource_rule *r, const struct flow_query *q)
{
	if (!has_text(&r->verbs, q->verb) || !has_resource(&r->resources, q) ||
	    !has_text(&r->groups, q->group))
		return false;
	return q->ns.n ? has_text(&r->namespaces, q->ns) : r->cluster;
}

/* A path, or all paths below it. */
static bool has_path(const struct texts *t, struct str path)
{
	if (t->all)
		return true;
	for (size_t i = 0; i < t->n; i++) {
		struct str p = t->v[i];

		if (str_eq(p, path))
			return true;
		if (p.n && p.p[p.n - 1] == '*')
			p.n--;
		if (p.n && p.p[p.n - 1] == '/')
			p.n--;
		if (path.n > p.n && path.p[p.n] == '/' && str_starts(path, p))
			return true;
	}
	return false;
}

static bool matches(const struct flow_rule *r, const struct flow_query *q)
{
	if (!has_subject(r, q->user))
		return false;
	for (size_t i = 0; q->path.p && i < r->npaths; i++)
		if (has_text(&r->paths[i].verbs, q->verb) && has_path(&r->paths[i].paths, q->path))
			return true;
	for (size_t i = 0; !q->path.p && i < r->nresources; i++)
		if (matches_resource(&r->resources[i], q))
			return true;
	return false;
}

const struct flow_schema *flow_config_match(const struct flow_config *c, const struct flow_query *q)
{
	for (size_t i = 0; i < c->nschemas; i++)
		for (size_t k = 0; k < c->schemas[i].nrules; k++)
			if (matches(&c->schemas[i].rules[k], q))
				return &c->schemas[i];
	return &c->schemas[c->nschemas - 1];
}
