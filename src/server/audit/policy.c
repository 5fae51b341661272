/*
 * The rules of matching and the faults are upstream's (apiserver/pkg/audit/policy and
 * apis/audit/validation), with one difference: upstream only logs unknown fields and goes on
 * without them.
 */
#include "server/audit/policy.h"

#include "base/core/mem.h"
#include "base/text/names.h"
#include "base/yaml/yaml.h"
#include "server/admission/config_file.h"
#include "server/core/user.h"
#include "server/server_limits.h"

/* A list of texts. */
struct texts {
	const struct str *v;
	size_t n;
};

struct group_resources {
	struct str group; /* empty: the core group */
	struct texts resources, names;
};

struct rule {
	struct audit_decision decision;
	struct texts users, groups, verbs, namespaces, paths;
	struct group_resources *resources;
	size_t nresources;
};

struct audit_policy {
	struct arena arena;
	struct audit_decision initial; /* if no rule matches */
	struct rule *rules;
	size_t n;
};

static const struct str levels[AUDIT_LEVELS] = {
	[AUDIT_NONE] = STR("None"),
	[AUDIT_METADATA] = STR("Metadata"),
	[AUDIT_REQUEST] = STR("Request"),
	[AUDIT_REQUEST_RESPONSE] = STR("RequestResponse"),
};

static const struct str stages[AUDIT_STAGES] = {
	[AUDIT_RECEIVED] = STR("RequestReceived"),
	[AUDIT_STARTED] = STR("ResponseStarted"),
	[AUDIT_COMPLETE] = STR("ResponseComplete"),
	[AUDIT_PANIC] = STR("Panic"),
};

const char *audit_level_name(enum audit_level level)
{
	return levels[level].p;
}

const char *audit_stage_name(enum audit_stage stage)
{
	return stages[stage].p;
}

/* --- reading ---------------------------------------------------------------------- */

/* A policy while it is read. */
struct reading {
	struct audit_policy *policy;
	struct field_errors errs;
};

/* As in upstream, null is the same as absent. */
static const struct json *member(const struct json *object, const char *name)
{
	const struct json *v = json_getz(object, name);

	return json_is(v, JSON_NULL) ? NULL : v;
}

/* The index of a text in a table; -1 and a fault if it is not there. */
static int find(struct reading *r, const struct field_path *at, struct str text,
		const struct str *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(text, table[i]))
			return (int)i;
	field_errors_not_supported(&r->errs, at, FIELD_STR(text), table, n);
	return -1;
}

static struct texts read_texts(struct reading *r, const struct field_path *parent,
			       const struct json *object, const char *name)
{
	struct field_path at = field_path_name(parent, name);
	const struct json *list = admission_config_list(&r->errs, &at, member(object, name));
	struct str *v = ARENA_ARRAY(&r->policy->arena, struct str, json_count(list) + 1);
	size_t n = 0;

	JSON_FOREACH (it, list) {
		struct field_path item = field_path_index(&at, n);

		v[n++] = arena_str(&r->policy->arena, admission_config_text(&r->errs, &item, it));
	}
	return (struct texts){ v, n };
}

static uint8_t read_stages(struct reading *r, const struct field_path *parent,
			   const struct json *object)
{
	struct texts t = read_texts(r, parent, object, "omitStages");
	struct field_path at = field_path_name(parent, "omitStages");
	uint8_t omit = 0;

	for (size_t i = 0; i < t.n; i++) {
		struct field_path item = field_path_index(&at, i);
		int stage = find(r, &item, t.v[i], stages, AUDIT_STAGES);

		if (stage >= 0)
			omit |= (uint8_t)(1u << stage);
	}
	return omit;
}

/* Absent: `otherwise`. */
static bool read_managed(struct reading *r, const struct field_path *parent,
			 const struct json *object, bool otherwise)
{
	const struct json *v = member(object, "omitManagedFields");
	struct field_path at = field_path_name(parent, "omitManagedFields");
	bool omit = otherwise;

	if (v && !json_bool(v, &omit))
		field_errors_add(&r->errs, FIELD_TYPE_INVALID, &at, FIELD_OMITTED,
				 STR("must be a boolean"));
	return omit;
}

static void check_group(struct reading *r, const struct field_path *parent, struct str group)
{
	struct field_path at = field_path_name(parent, "group");
	struct names_faults faults = { 0 };

	if (group.n)
		names_subdomain_faults(group, &faults);
	for (size_t i = 0; i < faults.n; i++)
		field_errors_invalid(&r->errs, &at, FIELD_STR(group), faults.text[i]);
}

static struct group_resources read_group(struct reading *r, const struct field_path *at,
					 const struct json *object)
{
	static const char *const known[] = { "group", "resources", "resourceNames" };
	struct field_path group_at = field_path_name(at, "group");
	struct field_path names_at = field_path_name(at, "resourceNames");
	struct group_resources g;

	admission_config_object(&r->errs, at, object, known, ARRAY_SIZE(known));
	g.group = arena_str(&r->policy->arena,
			    admission_config_text(&r->errs, &group_at, member(object, "group")));
	check_group(r, at, g.group);
	g.resources = read_texts(r, at, object, "resources");
	g.names = read_texts(r, at, object, "resourceNames");
	if (g.names.n && !g.resources.n)
		field_errors_invalid(&r->errs, &names_at, FIELD_OMITTED,
				     "using resourceNames requires at least one resource");
	return g;
}

static void read_resources(struct reading *r, const struct field_path *parent,
			   const struct json *object, struct rule *rule)
{
	struct field_path at = field_path_name(parent, "resources");
	const struct json *list = admission_config_list(&r->errs, &at, member(object, "resources"));

	rule->resources = ARENA_ARRAY(&r->policy->arena, struct group_resources,
				      json_count(list) + 1);
	JSON_FOREACH (it, list) {
		struct field_path item = field_path_index(&at, rule->nresources);

		rule->resources[rule->nresources++] = read_group(r, &item, it);
	}
}

static void check_paths(struct reading *r, const struct field_path *parent, const struct rule *rule)
{
	struct field_path at = field_path_name(parent, "nonResourceURLs");

	for (size_t i = 0; i < rule->paths.n; i++) {
		struct field_path item = field_path_index(&at, i);
		struct str path = rule->paths.v[i];
		ptrdiff_t star = str_chr(path, '*');

		if (str_eqz(path, "*"))
			continue;
		if (!str_starts(path, STR("/")))
			field_errors_invalid(
				&r->errs, &item, FIELD_STR(path),
				"non-resource URL rules must begin with a '/' character");
		if (star >= 0 && (size_t)star + 1 < path.n)
			field_errors_invalid(&r->errs, &item, FIELD_STR(path),
					     "non-resource URL wildcards '*' must be the final "
					     "character of the rule");
	}
	if (rule->paths.n && (rule->nresources || rule->namespaces.n))
		field_errors_invalid(
			&r->errs, &at, FIELD_OMITTED,
			"rules cannot apply to both regular resources and non-resource URLs");
}

static void read_level(struct reading *r, const struct field_path *parent,
		       const struct json *object, struct rule *rule)
{
	struct field_path at = field_path_name(parent, "level");
	struct str text = admission_config_text(&r->errs, &at, member(object, "level"));
	int level;

	if (!text.n) {
		field_errors_required(&r->errs, &at, NULL);
		return;
	}
	level = find(r, &at, text, levels, AUDIT_LEVELS);
	rule->decision.level = (uint8_t)MAX(level, 0);
}

static void read_rule(struct reading *r, const struct field_path *at, const struct json *object,
		      struct rule *rule)
{
	static const char *const known[] = { "level",      "users",           "userGroups",
					     "verbs",      "resources",       "namespaces",
					     "omitStages", "nonResourceURLs", "omitManagedFields" };
	const struct audit_decision *all = &r->policy->initial;

	admission_config_object(&r->errs, at, object, known, ARRAY_SIZE(known));
	read_level(r, at, object, rule);
	rule->decision.omit = all->omit | read_stages(r, at, object);
	rule->decision.omit_managed = read_managed(r, at, object, all->omit_managed);
	rule->users = read_texts(r, at, object, "users");
	rule->groups = read_texts(r, at, object, "userGroups");
	rule->verbs = read_texts(r, at, object, "verbs");
	rule->namespaces = read_texts(r, at, object, "namespaces");
	rule->paths = read_texts(r, at, object, "nonResourceURLs");
	read_resources(r, at, object, rule);
	check_paths(r, at, rule);
}

static int read_tree(struct reading *r, const struct json *tree, struct error *err)
{
	static const char *const known[] = { "apiVersion", "kind",  "metadata",
					     "omitStages", "rules", "omitManagedFields" };
	struct field_path at = field_path_name(NULL, "rules");
	struct audit_policy *p = r->policy;
	const struct json *list;

	if (!str_eqz(json_text_at(tree, "kind"), "Policy") ||
	    !str_eqz(json_text_at(tree, "apiVersion"), "audit.k8s.io/v1"))
		return error_set(err, ERR_INVALID, "expected a Policy of audit.k8s.io/v1");
	admission_config_object(&r->errs, NULL, tree, known, ARRAY_SIZE(known));
	p->initial.omit = read_stages(r, NULL, tree);
	p->initial.omit_managed = read_managed(r, NULL, tree, false);
	list = admission_config_list(&r->errs, &at, member(tree, "rules"));
	p->rules = ARENA_ARRAY(&p->arena, struct rule, json_count(list) + 1);
	JSON_FOREACH (it, list) {
		struct field_path item = field_path_index(&at, p->n);

		read_rule(r, &item, it, &p->rules[p->n++]);
	}
	if (!field_errors_any(&r->errs) && !p->n)
		field_errors_required(&r->errs, &at, "a policy needs at least one rule");
	return admission_config_verdict(&r->errs, err);
}

int audit_policy_read(struct str text, struct audit_policy **ret_policy, struct error *err)
{
	CLEANUP(arena_release) struct arena scratch;
	CLEANUP(audit_policy_free) struct audit_policy *p = XNEW(struct audit_policy);
	struct yaml_options options = { .size_max = AUDIT_POLICY_MAX };
	struct reading r = { .policy = p };
	struct json *tree;
	int ret;

	arena_init(&scratch, AUDIT_POLICY_MEMORY_MAX);
	arena_init(&p->arena, SIZE_MAX); /* less than the tree takes */
	field_errors_init(&r.errs, &scratch);
	ret = yaml_parse(&scratch, text, &options, &tree, err);
	if (ret == 0)
		ret = read_tree(&r, tree, err);
	if (ret < 0) {
		if (err && (err->code == ERR_BAD_REQUEST || err->code == ERR_TOO_LARGE))
			err->code = ERR_INVALID;
		return -ERR_INVALID;
	}
	*ret_policy = TAKE(p);
	return 0;
}

void audit_policy_free(struct audit_policy *p)
{
	if (!p)
		return;
	arena_release(&p->arena);
	free(p);
}

size_t audit_policy_rules(const struct audit_policy *p)
{
	return p->n;
}

/* --- deciding --------------------------------------------------------------------- */

static bool has(const struct texts *t, struct str text)
{
	for (size_t i = 0; i < t->n; i++)
		if (str_eq(t->v[i], text))
			return true;
	return false;
}

/* Whether one list has an element of the other. */
static bool meets(const struct texts *t, const struct user *u)
{
	for (size_t i = 0; u && i < u->ngroups; i++)
		if (has(t, u->groups[i]))
			return true;
	return false;
}

/* `given` is "*", "pods", "pods/log", or has "*" on one side of the slash. */
static bool names_resource(struct str given, const struct audit_question *q)
{
	ptrdiff_t slash = str_chr(given, '/');
	struct str head, tail;

	if (slash < 0)
		return str_eqz(given, "*") || (!q->subresource.n && str_eq(given, q->resource));
	head = str_of(given.p, (size_t)slash);
	tail = str_skip(given, (size_t)slash + 1);
	if (str_eqz(tail, "*"))
		return str_eq(head, q->resource);
	return q->subresource.n && str_eq(tail, q->subresource) &&
	       (str_eqz(head, "*") || str_eq(head, q->resource));
}

static bool matches_group(const struct group_resources *g, const struct audit_question *q)
{
	if (!str_eq(g->group, q->group))
		return false;
	if (!g->resources.n)
		return true;
	if (g->names.n && !has(&g->names, q->name))
		return false;
	for (size_t i = 0; i < g->resources.n; i++)
		if (names_resource(g->resources.v[i], q))
			return true;
	return false;
}

static bool matches_resource(const struct rule *r, const struct audit_question *q)
{
	if (q->is_path || (r->namespaces.n && !has(&r->namespaces, q->ns)))
		return false;
	for (size_t i = 0; i < r->nresources; i++)
		if (matches_group(&r->resources[i], q))
			return true;
	return r->nresources == 0;
}

static bool matches_path(const struct rule *r, const struct audit_question *q)
{
	for (size_t i = 0; q->is_path && i < r->paths.n; i++) {
		struct str path = r->paths.v[i];
		bool star = path.n && path.p[path.n - 1] == '*';

		if (star ? str_starts(q->path, str_of(path.p, path.n - 1)) : str_eq(q->path, path))
			return true;
	}
	return false;
}

static bool rule_matches(const struct rule *r, const struct audit_question *q)
{
	if (r->users.n && !(q->user && has(&r->users, q->user->name)))
		return false;
	if (r->groups.n && !meets(&r->groups, q->user))
		return false;
	if (r->verbs.n && !has(&r->verbs, q->verb))
		return false;
	if (r->namespaces.n || r->nresources)
		return matches_resource(r, q);
	return !r->paths.n || matches_path(r, q);
}

struct audit_decision audit_policy_decide(const struct audit_policy *p,
					  const struct audit_question *q)
{
	for (size_t i = 0; i < p->n; i++)
		if (rule_matches(&p->rules[i], q))
			return p->rules[i].decision;
	return p->initial;
}
