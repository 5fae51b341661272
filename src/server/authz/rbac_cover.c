/*
 * Whether some rules cover others, in pieces. A piece has one verb, one group, one resource and
 * at most one name (or one verb and one URL), so either a single rule covers it or none does.
 * Usually one rule covers another as a whole, which is then not split. A rule with too many
 * pieces is reported as a whole.
 */
#include <stdlib.h>

#include "base/core/vec.h"
#include "base/text/print.h"
#include "server/authz/rbac.h"
#include "server/server_limits.h"

#define ALL STR("*")

/* Comparisons are counted: beyond a limit, nothing more counts as covered. */
struct cover {
	struct rbac_rules held;
	size_t work;
};

static bool counts(struct cover *c)
{
	return c->work < RBAC_COMPARISONS_MAX && ++c->work;
}

static bool rbac_cover_has(struct cover *c, struct rbac_texts t, struct str text)
{
	for (size_t i = 0; i < t.n && counts(c); i++)
		if (str_eq(t.v[i], text))
			return true;
	return false;
}

static bool have_all(struct cover *c, struct rbac_texts held, struct rbac_texts wanted)
{
	if (rbac_cover_has(c, held, ALL))
		return true;
	for (size_t i = 0; i < wanted.n; i++)
		if (!rbac_cover_has(c, held, wanted.v[i]))
			return false;
	return true;
}

/* Whether the rule has "*\/SUB" for the resource's subresource. */
static bool has_any_sub(struct cover *c, struct rbac_texts held, struct str resource)
{
	ptrdiff_t slash = str_chr(resource, '/');
	struct str sub;

	if (slash < 0)
		return false;
	sub = str_skip(resource, (size_t)slash);
	for (size_t i = 0; i < held.n && counts(c); i++)
		if (held.v[i].n == sub.n + 1 && held.v[i].p[0] == '*' && str_ends(held.v[i], sub))
			return true;
	return false;
}

static bool cover_resources(struct cover *c, struct rbac_texts held, struct rbac_texts wanted)
{
	if (rbac_cover_has(c, held, ALL))
		return true;
	for (size_t i = 0; i < wanted.n; i++)
		if (!rbac_cover_has(c, held, wanted.v[i]) && !has_any_sub(c, held, wanted.v[i]))
			return false;
	return true;
}

static bool covers_url(struct str held, struct str wanted)
{
	if (str_eq(held, wanted))
		return true;
	if (!str_ends(held, ALL))
		return false;
	while (held.n && held.p[held.n - 1] == '*')
		held.n--;
	return str_starts(wanted, held);
}

static bool cover_urls(struct cover *c, struct rbac_texts held, struct rbac_texts wanted)
{
	for (size_t i = 0; i < wanted.n; i++) {
		bool covered = false;

		for (size_t j = 0; j < held.n && !covered && counts(c); j++)
			covered = covers_url(held.v[j], wanted.v[i]);
		if (!covered)
			return false;
	}
	return true;
}

static bool cover_names(struct cover *c, struct rbac_texts held, struct rbac_texts wanted)
{
	if (held.n == 0)
		return true;
	for (size_t i = 0; i < wanted.n; i++)
		if (!rbac_cover_has(c, held, wanted.v[i]))
			return false;
	return wanted.n > 0;
}

/* A rule does not grant guarded access that it does not allow (see rbac_query.guarded). */
static bool covers_guarded(const struct rbac_rule *held, const struct rbac_rule *wanted)
{
	struct authz_query q = { .group = STR("resource.k8s.io"),
				 .resource = STR("resourceslices"),
				 .subresource = STR("status") };
	struct rbac_query rq;

	if (!rbac_texts_have(wanted->resources, STR("resourceslices/status")))
		return true;
	for (size_t i = 0; i < wanted->verbs.n; i++) {
		q.verb = wanted->verbs.v[i];
		rq = rbac_query(&q);
		if (rq.guarded)
			return rbac_opens_guarded(held);
	}
	return true;
}

static bool covers(struct cover *c, const struct rbac_rule *held, const struct rbac_rule *wanted)
{
	return counts(c) && have_all(c, held->verbs, wanted->verbs) &&
	       have_all(c, held->groups, wanted->groups) &&
	       cover_resources(c, held->resources, wanted->resources) &&
	       cover_names(c, held->names, wanted->names) &&
	       cover_urls(c, held->urls, wanted->urls) && covers_guarded(held, wanted);
}

static bool is_covered(struct cover *c, const struct rbac_rule *wanted)
{
	for (size_t i = 0; i < c->held.n; i++)
		if (covers(c, &c->held.v[i], wanted))
			return true;
	return false;
}

/* --- pieces ------------------------------------------------------------------------- */

struct gather {
	struct arena *arena;
	struct cover cover;
	VEC(struct rbac_rule) missing;
};

static struct rbac_texts one(const struct str *text)
{
	return (struct rbac_texts){ text, text ? 1 : 0 };
}

static bool same_subject(const struct rbac_rule *a, const struct rbac_rule *b)
{
	return a->urls.n == 0 && b->urls.n == 0 && a->names.n == b->names.n && a->groups.n == 1 &&
	       a->resources.n == 1 && str_eq(a->groups.v[0], b->groups.v[0]) &&
	       str_eq(a->resources.v[0], b->resources.v[0]) &&
	       (a->names.n == 0 || str_eq(a->names.v[0], b->names.v[0]));
}

/* The capacity doubles; a list of one is the piece's own and must not be written to. */
static void add_verb(struct arena *a, struct rbac_texts *verbs, struct str verb)
{
	struct str *v = (struct str *)verbs->v;

	if ((verbs->n & (verbs->n - 1)) == 0) {
		v = ARENA_ARRAY(a, struct str, verbs->n * 2);
		memcpy(v, verbs->v, verbs->n * sizeof(*v));
	}
	v[verbs->n] = verb;
	*verbs = (struct rbac_texts){ v, verbs->n + 1 };
}

/* Adds a missing piece: as one more verb of an existing rule, or as a rule of its own. */
static void add_missing(struct gather *g, const struct rbac_rule *piece)
{
	for (size_t i = 0; i < g->missing.n; i++) {
		struct rbac_rule *m = &g->missing.v[i];

		if (!same_subject(m, piece))
			continue;
		add_verb(g->arena, &m->verbs, piece->verbs.v[0]);
		return;
	}
	(void)vec_push(&g->missing, *piece);
}

static void try_piece(struct gather *g, struct rbac_rule piece)
{
	if (!is_covered(&g->cover, &piece))
		add_missing(g, &piece);
}

static void try_names(struct gather *g, const struct rbac_rule *rule, struct rbac_rule piece)
{
	if (rule->names.n == 0)
		try_piece(g, piece);
	for (size_t i = 0; i < rule->names.n; i++) {
		piece.names = one(&rule->names.v[i]);
		try_piece(g, piece);
	}
}

static void try_resources(struct gather *g, const struct rbac_rule *rule, size_t group)
{
	struct rbac_rule piece = { .groups = one(&rule->groups.v[group]) };

	for (size_t r = 0; r < rule->resources.n; r++) {
		for (size_t v = 0; v < rule->verbs.n; v++) {
			piece.resources = one(&rule->resources.v[r]);
			piece.verbs = one(&rule->verbs.v[v]);
			try_names(g, rule, piece);
		}
	}
}

static void try_urls(struct gather *g, const struct rbac_rule *rule)
{
	for (size_t u = 0; u < rule->urls.n; u++)
		for (size_t v = 0; v < rule->verbs.n; v++)
			try_piece(g, (struct rbac_rule){ .urls = one(&rule->urls.v[u]),
							 .verbs = one(&rule->verbs.v[v]) });
}

/* The number of pieces; a double, because the product may be huge. */
static double pieces_of(const struct rbac_rule *r)
{
	double names = r->names.n ? (double)r->names.n : 1;

	return (double)r->verbs.n *
	       ((double)r->groups.n * (double)r->resources.n * names + (double)r->urls.n);
}

struct rbac_rules rbac_missing(struct arena *a, struct rbac_rules held, struct rbac_rules wanted)
{
	struct gather g = { .arena = a, .cover = { .held = held } };
	double budget = RBAC_PIECES_MAX;
	struct rbac_rule *v;

	vec_init(&g.missing, RBAC_PIECES_MAX);
	for (size_t i = 0; i < wanted.n; i++) {
		const struct rbac_rule *rule = &wanted.v[i];

		if (pieces_of(rule) == 0 || is_covered(&g.cover, rule))
			continue;
		budget -= pieces_of(rule);
		if (budget < 0) {
			(void)vec_push(&g.missing, *rule);
			break;
		}
		for (size_t k = 0; k < rule->groups.n; k++)
			try_resources(&g, rule, k);
		try_urls(&g, rule);
	}
	v = ARENA_ARRAY(a, struct rbac_rule, g.missing.n + 1);
	if (g.missing.n)
		memcpy(v, g.missing.v, g.missing.n * sizeof(*v));
	held = (struct rbac_rules){ v, g.missing.n };
	vec_release(&g.missing);
	return held;
}

/* --- text --------------------------------------------------------------------------- */

static void print_texts(struct buf *out, const char *name, struct rbac_texts t, bool *first)
{
	if (t.n == 0)
		return;
	(void)buf_printf(out, "%s%s:[", *first ? "" : ", ", name);
	*first = false;
	for (size_t i = 0; i < t.n; i++) {
		if (i > 0)
			(void)buf_addc(out, ' ');
		(void)print_quoted(out, t.v[i]);
	}
	(void)buf_addc(out, ']');
}

void rbac_rule_print(struct buf *out, const struct rbac_rule *rule)
{
	bool first = true;

	(void)buf_addc(out, '{');
	print_texts(out, "APIGroups", rule->groups, &first);
	print_texts(out, "Resources", rule->resources, &first);
	print_texts(out, "NonResourceURLs", rule->urls, &first);
	print_texts(out, "ResourceNames", rule->names, &first);
	print_texts(out, "Verbs", rule->verbs, &first);
	(void)buf_addc(out, '}');
}
