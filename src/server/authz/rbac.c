/*
 * The index. A role is a node that its bindings point to. It exists, marked as missing, as long
 * as a binding names it, so that no decision has to look a role up. A subject holds grants:
 * pointers to the bindings that name it, in one list for the cluster and one per namespace.
 * Changing a binding removes its grants and adds the new ones. A binding may name a user twice,
 * directly and by a group. Where each binding must count once, as in a list of rules, it is
 * stamped with the number of the walk.
 */
#include "server/authz/rbac.h"

#include <stdlib.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/text/print.h"
#include "server/server_limits.h"

struct role {
	struct arena arena; /* for the rules' text */
	struct str key; /* "ns/name" or "name"; stored after the struct */
	struct rbac_rules rules;
	size_t refs; /* bindings that name it */
	bool there;
};

struct subject_ref {
	struct str kind, name, ns;
	bool granted; /* false for a repeated subject */
};

struct binding {
	struct arena arena;
	struct str key, ns, name; /* in the arena, as the rest */
	struct str role_kind, role_name;
	struct role *role; /* NULL: the kind is not a role */
	struct subject_ref *subjects;
	size_t nsubjects;
	uint64_t walk;
};

struct grant {
	struct binding *binding;
	const struct subject_ref *subject;
};

struct grants {
	VEC(struct grant) list;
	char *ns; /* the key, for grants of a namespace */
};

struct subject {
	struct grants cluster;
	struct map namespaces; /* name -> struct grants */
	struct str name; /* stored after the struct */
};

struct rbac {
	struct map cluster_roles, roles; /* by key */
	struct map cluster_bindings, bindings;
	struct map users, groups; /* name -> struct subject */
	uint64_t walk;
};

/* --- subjects ----------------------------------------------------------------------- */

static struct subject *subject_of(struct map *m, struct str name)
{
	struct subject *s = map_get(m, name);
	char *text;

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s) + name.n);
	text = (char *)(s + 1);
	str_put(text, name);
	s->name = str_of(text, name.n);
	vec_init(&s->cluster.list, SIZE_MAX);
	map_init(&s->namespaces);
	map_put(m, s->name, s);
	return s;
}

static struct grants *grants_of(struct subject *s, struct str ns)
{
	struct grants *g;

	if (ns.n == 0)
		return &s->cluster;
	g = map_get(&s->namespaces, ns);
	if (g)
		return g;
	g = XNEW(struct grants);
	vec_init(&g->list, SIZE_MAX);
	g->ns = str_dup(ns);
	map_put(&s->namespaces, str_from(g->ns), g);
	return g;
}

static void grants_free(struct grants *g)
{
	vec_release(&g->list);
	free(g->ns);
	free(g);
}

static void subject_free(struct subject *s)
{
	size_t at = 0;
	struct str key;
	void *g;

	while (map_next(&s->namespaces, &at, &key, &g))
		grants_free(g);
	map_release(&s->namespaces);
	vec_release(&s->cluster.list);
	free(s);
}

/* Removes lists and subjects without grants. */
static void subject_tidy(struct map *m, struct subject *s, struct str ns)
{
	struct grants *g = ns.n ? map_get(&s->namespaces, ns) : NULL;

	if (g && g->list.n == 0) {
		map_remove(&s->namespaces, ns);
		grants_free(g);
	}
	if (s->cluster.list.n == 0 && s->namespaces.n == 0) {
		map_remove(m, s->name);
		subject_free(s);
	}
}

/* The map and the name by which a subject of a binding is found; false if it is invalid. */
static bool subject_place(struct rbac *r, const struct binding *b, const struct subject_ref *ref,
			  struct buf *name, struct map **ret_map)
{
	struct str ns = ref->ns.n ? ref->ns : b->ns;

	buf_clear(name);
	*ret_map = &r->users;
	if (str_eq(ref->kind, STR("User"))) {
		(void)buf_add_str(name, ref->name);
	} else if (str_eq(ref->kind, STR("Group"))) {
		(void)buf_add_str(name, ref->name);
		*ret_map = &r->groups;
	} else if (str_eq(ref->kind, STR("ServiceAccount")) && ns.n) {
		(void)buf_printf(name, "system:serviceaccount:%.*s:%.*s", STR_ARG(ns),
				 STR_ARG(ref->name));
	} else {
		return false;
	}
	return name->n > 0;
}

static void binding_enter(struct rbac *r, struct binding *b)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(SIZE_MAX / 2);
	struct grants *g;
	struct map *m;

	for (size_t i = 0; i < b->nsubjects; i++) {
		struct subject_ref *ref = &b->subjects[i];

		if (!subject_place(r, b, ref, &name, &m))
			continue;
		g = grants_of(subject_of(m, buf_str(&name)), b->ns);
		/* While a binding is added, its own grant is the last of the list. */
		ref->granted = !g->list.n || g->list.v[g->list.n - 1].binding != b;
		if (ref->granted)
			(void)vec_push(&g->list, (struct grant){ b, ref });
	}
}

static void grants_remove(struct grants *g, const struct binding *b)
{
	for (size_t k = g->list.n; k-- > 0;) {
		if (g->list.v[k].binding != b)
			continue;
		vec_remove(&g->list, k);
		return;
	}
}

static void binding_leave(struct rbac *r, struct binding *b)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(SIZE_MAX / 2);
	struct map *m;

	for (size_t i = 0; i < b->nsubjects; i++) {
		struct subject *s;

		if (!b->subjects[i].granted || !subject_place(r, b, &b->subjects[i], &name, &m))
			continue;
		s = map_get(m, buf_str(&name));
		grants_remove(grants_of(s, b->ns), b);
		subject_tidy(m, s, b->ns);
	}
}

/* --- roles -------------------------------------------------------------------------- */

static struct str rbac_key_of(char *out, struct str ns, struct str name)
{
	size_t n = 0;

	if (ns.n) {
		str_put(out, ns);
		out[ns.n] = '/';
		n = ns.n + 1;
	}
	str_put(out + n, name);
	return str_of(out, n + name.n);
}

static struct map *roles_of(struct rbac *r, struct str ns)
{
	return ns.n ? &r->roles : &r->cluster_roles;
}

static struct role *role_get(const struct rbac *r, struct str ns, struct str name)
{
	CLEANUP(free) char *text = xmalloc(ns.n + name.n + 1);

	return map_get(roles_of((struct rbac *)r, ns), rbac_key_of(text, ns, name));
}

static struct role *role_make(struct rbac *r, struct str ns, struct str name)
{
	struct role *role = role_get(r, ns, name);

	if (role)
		return role;
	role = xcalloc(1, sizeof(*role) + ns.n + name.n + 1);
	role->key = rbac_key_of((char *)(role + 1), ns, name);
	arena_init(&role->arena, SIZE_MAX);
	map_put(roles_of(r, ns), role->key, role);
	return role;
}

static void role_free(struct role *role)
{
	arena_release(&role->arena);
	free(role);
}

static void role_tidy(struct map *m, struct role *role)
{
	if (role->there || role->refs > 0)
		return;
	map_remove(m, role->key);
	role_free(role);
}

void rbac_set_role(struct rbac *r, struct str ns, struct str name, const struct json *tree)
{
	struct role *role = tree ? role_make(r, ns, name) : role_get(r, ns, name);

	if (!role)
		return;
	arena_clear(&role->arena);
	role->there = tree != NULL;
	role->rules = rbac_rules_parse(&role->arena, json_getz(tree, "rules"));
	role_tidy(roles_of(r, ns), role);
}

const struct rbac_rules *rbac_role(const struct rbac *r, struct str ns, struct str name)
{
	const struct role *role = role_get(r, ns, name);

	return role && role->there ? &role->rules : NULL;
}

/* --- bindings ----------------------------------------------------------------------- */

static struct str text_at(struct arena *a, const struct json *object, const char *name)
{
	return arena_str(a, json_text_at(object, name));
}

/* The namespace of the role that a binding names. */
static struct str role_ns(const struct binding *b)
{
	return str_eq(b->role_kind, STR("Role")) ? b->ns : STR_NULL;
}

static void binding_read(struct rbac *r, struct binding *b, const struct json *tree)
{
	const struct json *subjects = json_getz(tree, "subjects"),
			  *ref = json_getz(tree, "roleRef");
	struct subject_ref *v = ARENA_ARRAY(&b->arena, struct subject_ref,
					    json_count(subjects) + 1);

	b->role_kind = text_at(&b->arena, ref, "kind");
	b->role_name = text_at(&b->arena, ref, "name");
	JSON_FOREACH (it, subjects)
		v[b->nsubjects++] = (struct subject_ref){ .kind = text_at(&b->arena, it, "kind"),
							  .name = text_at(&b->arena, it, "name"),
							  .ns = text_at(&b->arena, it,
									"namespace") };
	b->subjects = v;
	if (str_eq(b->role_kind, STR("ClusterRole")) ||
	    (str_eq(b->role_kind, STR("Role")) && b->ns.n)) {
		b->role = role_make(r, role_ns(b), b->role_name);
		b->role->refs++;
	}
}

static void binding_free(struct rbac *r, struct binding *b)
{
	binding_leave(r, b);
	if (b->role) {
		b->role->refs--;
		role_tidy(roles_of(r, role_ns(b)), b->role);
	}
	arena_release(&b->arena);
	free(b);
}

void rbac_set_binding(struct rbac *r, struct str ns, struct str name, const struct json *tree)
{
	struct map *m = ns.n ? &r->bindings : &r->cluster_bindings;
	CLEANUP(free) char *text = xmalloc(ns.n + name.n + 1);
	struct str key = rbac_key_of(text, ns, name);
	struct binding *b = map_remove(m, key);

	if (b)
		binding_free(r, b);
	if (!tree)
		return;
	b = XNEW(struct binding);
	arena_init(&b->arena, SIZE_MAX);
	b->key = arena_str(&b->arena, key);
	b->ns = str_of(b->key.p, ns.n);
	b->name = str_skip(b->key, ns.n ? ns.n + 1 : 0);
	binding_read(r, b, tree);
	binding_enter(r, b);
	map_put(m, b->key, b);
}

/* --- lifecycle ---------------------------------------------------------------------- */

struct rbac *rbac_new(void)
{
	struct rbac *r = XNEW(struct rbac);

	map_init(&r->cluster_roles);
	map_init(&r->roles);
	map_init(&r->cluster_bindings);
	map_init(&r->bindings);
	map_init(&r->users);
	map_init(&r->groups);
	return r;
}

void rbac_reset_bindings(struct rbac *r, bool cluster)
{
	struct map *m = cluster ? &r->cluster_bindings : &r->bindings;
	size_t at = 0;
	struct str key;
	void *b;

	while (map_next(m, &at, &key, &b))
		binding_free(r, b);
	map_clear(m);
}

/* Roles that bindings name stay, marked as missing. */
void rbac_reset_roles(struct rbac *r, bool cluster)
{
	struct map *m = cluster ? &r->cluster_roles : &r->roles, kept;
	size_t at = 0;
	struct str key;
	void *v;

	map_init(&kept);
	while (map_next(m, &at, &key, &v)) {
		struct role *role = v;

		if (role->refs == 0) {
			role_free(role);
			continue;
		}
		arena_clear(&role->arena);
		role->rules = (struct rbac_rules){ NULL, 0 };
		role->there = false;
		map_put(&kept, role->key, role);
	}
	map_release(m);
	*m = kept;
}

void rbac_free(struct rbac *r)
{
	if (!r)
		return;
	for (int cluster = 0; cluster < 2; cluster++) {
		rbac_reset_bindings(r, cluster);
		rbac_reset_roles(r, cluster);
	}
	map_release(&r->cluster_roles);
	map_release(&r->roles);
	map_release(&r->cluster_bindings);
	map_release(&r->bindings);
	map_release(&r->users);
	map_release(&r->groups);
	free(r);
}

/* --- decisions ---------------------------------------------------------------------- */

/* A grant whose role has a rule that matches, and that rule; both NULL if no rule matches. */
struct match {
	const struct grant *grant;
	const struct rbac_rule *rule;
};

static struct rbac_grant grant_shown(struct match m)
{
	const struct grant *g = m.grant;
	const struct binding *b = g->binding;

	return (struct rbac_grant){ .ns = b->ns,
				    .binding = b->name,
				    .role_kind = b->role_kind,
				    .role = b->role_name,
				    .subject_kind = g->subject->kind,
				    .subject = g->subject->name,
				    .subject_ns = g->subject->ns,
				    .named = m.rule->names.n > 0 };
}

static struct match grants_allow(const struct grants *gs, const struct rbac_query *q)
{
	for (size_t i = 0; gs && i < gs->list.n; i++) {
		const struct role *role = gs->list.v[i].binding->role;

		for (size_t k = 0; role && k < role->rules.n; k++)
			if (rbac_rule_allows(&role->rules.v[k], q))
				return (struct match){ &gs->list.v[i], &role->rules.v[k] };
	}
	return (struct match){ NULL, NULL };
}

static struct match subject_allows(const struct subject *s, const struct rbac_query *q)
{
	struct match m = { NULL, NULL };

	if (!s)
		return m;
	m = grants_allow(&s->cluster, q);
	if (!m.grant && q->q->ns.n && s->namespaces.n && !q->q->is_path)
		m = grants_allow(map_get(&s->namespaces, q->q->ns), q);
	return m;
}

bool rbac_allows(const struct rbac *r, const struct authz_query *q, struct rbac_grant *ret_grant)
{
	struct rbac_query rq = rbac_query(q);
	struct match m = subject_allows(map_get(&r->users, q->user->name), &rq);

	for (size_t i = 0; !m.grant && i < q->user->ngroups; i++)
		m = subject_allows(map_get(&r->groups, q->user->groups[i]), &rq);
	if (m.grant && ret_grant)
		*ret_grant = grant_shown(m);
	return m.grant != NULL;
}

static void print_scoped(struct buf *out, struct str name, struct str ns)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX / 2);

	(void)buf_printf(&text, "%.*s/%.*s", STR_ARG(name), STR_ARG(ns));
	(void)print_quoted(out, buf_str(&text));
}

void rbac_grant_print(struct buf *out, const struct rbac_grant *g)
{
	if (g->ns.n) {
		(void)buf_addz(out, "RoleBinding ");
		print_scoped(out, g->binding, g->ns);
	} else {
		(void)buf_addz(out, "ClusterRoleBinding ");
		(void)print_quoted(out, g->binding);
	}
	(void)buf_printf(out, " of %.*s ", STR_ARG(g->role_kind));
	(void)print_quoted(out, g->role);
	(void)buf_printf(out, " to %.*s ", STR_ARG(g->subject_kind));
	if (str_eq(g->subject_kind, STR("ServiceAccount")))
		print_scoped(out, g->subject, g->subject_ns.n ? g->subject_ns : g->ns);
	else
		(void)print_quoted(out, g->subject);
}

/* --- all rules of a user ------------------------------------------------------------ */

struct walk {
	struct rbac *rbac;
	VEC(struct rbac_rule) rules;
	VEC(const struct binding *) missing;
};

static void walk_missing(struct walk *w, const struct binding *b)
{
	for (size_t i = 0; i < w->missing.n; i++)
		if (str_eq(w->missing.v[i]->role_kind, b->role_kind) &&
		    str_eq(w->missing.v[i]->role_name, b->role_name))
			return;
	(void)vec_push(&w->missing, b); /* limited to those that are reported */
}

static void walk_grants(struct walk *w, const struct grants *gs)
{
	for (size_t i = 0; gs && i < gs->list.n; i++) {
		struct binding *b = gs->list.v[i].binding;

		if (b->walk == w->rbac->walk)
			continue;
		b->walk = w->rbac->walk;
		if (!b->role || !b->role->there)
			walk_missing(w, b);
		for (size_t k = 0; b->role && k < b->role->rules.n; k++)
			(void)vec_push(&w->rules, b->role->rules.v[k]);
	}
}

/* `ns` NULL: only cluster-wide bindings. */
static void walk_user(struct walk *w, const struct user *u, const struct str *ns)
{
	const struct subject *s = map_get(&w->rbac->users, u->name);

	if (s)
		walk_grants(w, ns ? map_get(&s->namespaces, *ns) : &s->cluster);
	for (size_t i = 0; i < u->ngroups; i++) {
		s = map_get(&w->rbac->groups, u->groups[i]);
		if (s)
			walk_grants(w, ns ? map_get(&s->namespaces, *ns) : &s->cluster);
	}
}

static void print_missing(const struct walk *w, struct buf *out)
{
	if (w->missing.n > 1)
		(void)buf_addc(out, '[');
	for (size_t i = 0; i < w->missing.n; i++) {
		const struct binding *b = w->missing.v[i];

		(void)buf_addz(out, i ? ", " : "");
		if (!b->role) {
			(void)buf_addz(out, "unsupported role reference kind: ");
			(void)print_quoted(out, b->role_kind);
			continue;
		}
		(void)buf_printf(out, "%s.%.*s ",
				 str_eq(b->role_kind, STR("Role")) ? "role" : "clusterrole",
				 STR_ARG(RBAC_GROUP));
		(void)print_quoted(out, b->role_name);
		(void)buf_addz(out, " not found");
	}
	if (w->missing.n > 1)
		(void)buf_addc(out, ']');
}

struct rbac_rules rbac_rules_of(struct rbac *r, const struct user *u, struct str ns,
				struct arena *a, struct buf *missing)
{
	struct walk w = { .rbac = r };
	struct rbac_rule *v;
	size_t n;

	vec_init(&w.rules, SIZE_MAX);
	vec_init(&w.missing, RBAC_MISSING_MAX);
	r->walk++;
	walk_user(&w, u, NULL);
	if (ns.n)
		walk_user(&w, u, &ns);
	if (missing)
		print_missing(&w, missing);
	n = w.rules.n;
	v = ARENA_ARRAY(a, struct rbac_rule, n + 1);
	if (n)
		memcpy(v, w.rules.v, n * sizeof(*v));
	vec_release(&w.rules);
	vec_release(&w.missing);
	return (struct rbac_rules){ v, n };
}
