/*
 * The extension points from pre_enqueue to score. They combine the verdicts of several plugins as
 * upstream does. pre_filter continues after UNSCHEDULABLE, since preemption needs every plugin's
 * state, and stops at UNRESOLVABLE. filter stops at the first rejection. At extension points that
 * must not reject, a rejection becomes an error.
 */
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/text/print.h"
#include "scheduler/framework/profile_metrics.h"

struct verdict profile_failure(struct arena *a, const char *before, const struct plugin *p,
			       const char *after, const struct verdict *v)
{
	struct str why = verdict_message(v, a);
	struct verdict failure = verdict_print(a, VERDICT_ERROR, "%s \"%s\"%s: %.*s", before,
					       p->name, after, STR_ARG(why));

	failure.plugin = p;
	return failure;
}

struct verdict profile_pre_enqueue(struct profile *p, const struct podinfo *pod, struct arena *a)
{
	for (size_t i = 0; i < p->pre_enqueue.n; i++) {
		struct plugin *pl = &p->plugins[p->pre_enqueue.at[i]];
		struct verdict v = pl->kind->pre_enqueue(pl, pod, a);

		if (v.code != VERDICT_SUCCESS) {
			v.plugin = pl;
			return v;
		}
	}
	return VERDICT_OK;
}

/* --- pre_filter ---------------------------------------------------------------------------- */

/* Names in order, as Go prints a list: "[A B]"; a single one without brackets when `bare`. */
struct str profile_names(const struct profile *p, uint64_t plugins, bool bare, struct arena *a)
{
	struct str names[PLUGINS_MAX];
	size_t n = 0, size = 3, at = 0;
	char *text;

	for (size_t i = 0; i < p->n; i++) {
		if (plugins >> i & 1) {
			names[n++] = str_from(p->plugins[i].name);
			size += names[n - 1].n + 1;
		}
	}
	if (bare && n == 1)
		return names[0];
	qsort(names, n, sizeof(names[0]), str_order);
	text = arena_alloc(a, size);
	text[at++] = '[';
	for (size_t i = 0; i < n; i++) {
		if (i)
			text[at++] = ' ';
		str_put(text + at, names[i]);
		at += names[i].n;
	}
	text[at++] = ']';
	return str_of(text, at);
}

static struct verdict no_node_left(struct profile *p, struct cycle *c)
{
	uint64_t by = c->diagnosis.rejectors;
	bool one = (by & (by - 1)) == 0;
	struct str names = profile_names(p, by, true, &c->arena);

	return verdict_print(&c->arena, VERDICT_UNRESOLVABLE,
			     one ? "node(s) didn't satisfy plugin %.*s"
				 : "node(s) didn't satisfy plugin(s) %.*s simultaneously",
			     STR_ARG(names));
}

static struct verdict pre_filter_ask(struct profile *p, struct plugin *pl, struct cycle *c)
{
	int64_t since = c->sampled ? profile_now(p) : 0;
	struct verdict v = pl->kind->pre_filter(pl, c);

	profile_evaluated(p, pl->at, MEASURE_PRE_FILTER, 1);
	if (since)
		(void)profile_executed(p, pl->at, MEASURE_PRE_FILTER, v.code, since);
	v.plugin = pl;
	return v;
}

/* The answers put together; diagnosis.rejectors are the plugins that restricted the nodes. */
static struct verdict pre_filter_all(struct profile *p, struct cycle *c)
{
	struct verdict rejected = VERDICT_OK;

	for (size_t i = 0; i < p->pre_filter.n; i++) {
		struct plugin *pl = &p->plugins[p->pre_filter.at[i]];
		struct str *only = c->only;
		size_t nonly = c->nonly;
		bool restricted = c->restricted;
		struct verdict v = pre_filter_ask(p, pl, c);

		if (v.code != VERDICT_SUCCESS) {
			c->only = only;
			c->nonly = nonly;
			c->restricted = restricted;
		}
		if (v.code == VERDICT_UNRESOLVABLE) {
			c->diagnosis.rejectors = 0;
			return v;
		}
		if (v.code == VERDICT_SKIP)
			c->skip_filter |= UINT64_C(1) << pl->at;
		else if (v.code == VERDICT_UNSCHEDULABLE)
			rejected = v;
		else if (v.code != VERDICT_SUCCESS)
			return profile_failure(&c->arena, "running PreFilter plugin", pl, "", &v);
		if (c->only == only)
			continue;
		c->diagnosis.rejectors |= UINT64_C(1) << pl->at;
		if (c->nonly == 0)
			return no_node_left(p, c);
	}
	return rejected;
}

struct verdict profile_pre_filter(struct profile *p, struct cycle *c)
{
	int64_t since = profile_now(p);
	struct verdict v = pre_filter_all(p, c);

	if (verdict_rejects(&v) && v.plugin)
		c->diagnosis.rejectors |= UINT64_C(1) << v.plugin->at;
	profile_took(p, c, NULL, MEASURE_PRE_FILTER, v.code, since);
	return v;
}

void profile_add_pod(struct profile *p, struct cycle *c, const struct podinfo *other,
		     const struct nodeinfo *n)
{
	for (size_t i = 0; i < p->pre_filter.n; i++) {
		struct plugin *pl = &p->plugins[p->pre_filter.at[i]];

		if (pl->kind->add_pod && !(c->skip_filter >> pl->at & 1))
			pl->kind->add_pod(pl, c, other, n);
	}
}

void profile_remove_pod(struct profile *p, struct cycle *c, const struct podinfo *other,
			const struct nodeinfo *n)
{
	for (size_t i = 0; i < p->pre_filter.n; i++) {
		struct plugin *pl = &p->plugins[p->pre_filter.at[i]];

		if (pl->kind->remove_pod && !(c->skip_filter >> pl->at & 1))
			pl->kind->remove_pod(pl, c, other, n);
	}
}

/* --- filter and post_filter ---------------------------------------------------------------- */

static struct verdict filter_rejected(struct plugin *pl, struct cycle *c, struct verdict v)
{
	if (!verdict_rejects(&v))
		return profile_failure(&c->arena, "running", pl, " filter plugin", &v);
	v.plugin = pl;
	return v;
}

struct verdict profile_filter(struct profile *p, struct cycle *c, const struct nodeinfo *n)
{
	int64_t since = c->sampled ? profile_now(p) : 0;

	for (size_t i = 0; i < p->filter.n; i++) {
		unsigned at = p->filter.at[i];
		struct plugin *pl = &p->plugins[at];
		struct verdict v;

		if (c->skip_filter >> at & 1)
			continue;
		v = pl->kind->filter(pl, c, n);
		if (p->metrics)
			p->metrics->filtered[at]++;
		if (since)
			since = profile_executed(p, at, MEASURE_FILTER, v.code, since);
		if (v.code != VERDICT_SUCCESS)
			return filter_rejected(pl, c, v);
	}
	return VERDICT_OK;
}

static struct verdict post_filter_all(struct profile *p, struct cycle *c, struct str *ret_nominated)
{
	struct verdict all = { .code = VERDICT_UNSCHEDULABLE };

	*ret_nominated = STR_NULL;
	for (size_t i = 0; i < p->post_filter.n; i++) {
		struct plugin *pl = &p->plugins[p->post_filter.at[i]];
		int64_t since = profile_now(p);
		struct str node = STR_NULL;
		struct verdict v = pl->kind->post_filter(pl, c, &node);

		profile_took(p, c, pl, MEASURE_POST_FILTER, v.code, since);
		v.plugin = pl;
		if (v.code == VERDICT_SUCCESS || v.code == VERDICT_UNRESOLVABLE) {
			*ret_nominated = node;
			return v;
		}
		if (!verdict_rejects(&v)) {
			*ret_nominated = STR_NULL;
			v.code = VERDICT_ERROR;
			return v;
		}
		if (node.p)
			*ret_nominated = node;
		for (size_t k = 0; k < v.n; k++)
			verdict_add(&c->arena, &all, v.reasons[k]);
		if (!all.plugin)
			all.plugin = pl;
	}
	return all;
}

struct verdict profile_post_filter(struct profile *p, struct cycle *c, struct str *ret_nominated,
				   bool *ret_nominating)
{
	int64_t since = profile_now(p);
	struct verdict v = post_filter_all(p, c, ret_nominated);

	*ret_nominating = ret_nominated->p != NULL;
	profile_took(p, c, NULL, MEASURE_POST_FILTER, v.code, since);
	return v;
}

/* --- scores -------------------------------------------------------------------------------- */

static struct verdict pre_score_all(struct profile *p, struct cycle *c)
{
	for (size_t i = 0; i < p->pre_score.n; i++) {
		struct plugin *pl = &p->plugins[p->pre_score.at[i]];
		int64_t since = c->sampled ? profile_now(p) : 0;
		struct verdict v = pl->kind->pre_score(pl, c);

		profile_evaluated(p, pl->at, MEASURE_PRE_SCORE, 1);
		profile_took(p, c, pl, MEASURE_PRE_SCORE, v.code, since);
		if (v.code == VERDICT_SKIP)
			c->skip_score |= UINT64_C(1) << pl->at;
		else if (v.code != VERDICT_SUCCESS)
			return profile_failure(&c->arena, "running PreScore plugin", pl, "", &v);
	}
	return VERDICT_OK;
}

struct verdict profile_pre_score(struct profile *p, struct cycle *c)
{
	int64_t since = profile_now(p);
	struct verdict v = pre_score_all(p, c);

	profile_took(p, c, NULL, MEASURE_PRE_SCORE, v.code, since);
	return v;
}

static struct verdict score_raw(struct profile *p, struct plugin *pl, struct cycle *c,
				int64_t *scores)
{
	int64_t since = c->sampled ? profile_now(p) : 0;

	for (size_t i = 0; i < c->nfeasible; i++) {
		struct verdict v = pl->kind->score(pl, c, i, &scores[i]);

		if (since)
			since = profile_executed(p, pl->at, MEASURE_SCORE, v.code, since);
		if (v.code != VERDICT_SUCCESS)
			return profile_failure(&c->arena, "running Score plugins: plugin", pl,
					       " failed with", &v);
	}
	profile_evaluated(p, pl->at, MEASURE_SCORE, c->nfeasible);
	if (!pl->kind->normalize)
		return VERDICT_OK;
	pl->kind->normalize(pl, c, scores, c->nfeasible);
	if (since)
		(void)profile_executed(p, pl->at, MEASURE_NORMALIZE, VERDICT_SUCCESS, since);
	return VERDICT_OK;
}

static struct verdict score_add(struct plugin *pl, struct cycle *c, const int64_t *scores)
{
	for (size_t i = 0; i < c->nfeasible; i++) {
		if (scores[i] < 0 || scores[i] > SCORE_MAX)
			return verdict_print(&c->arena, VERDICT_ERROR,
					     "applying score defaultWeights on Score plugins: "
					     "plugin \"%s\" returns an invalid score %lld, it "
					     "should in the range of [0, %d] after normalizing",
					     pl->name, (long long)scores[i], SCORE_MAX);
		c->totals[i] += scores[i] * pl->weight;
	}
	return VERDICT_OK;
}

static int64_t *scratch_scores(struct profile *p, size_t n)
{
	struct profile_scratch *s = p->scratch;

	if (s->nscores < n) {
		s->scores = xrealloc(s->scores, n * sizeof(*s->scores));
		s->nscores = n;
	}
	return s->scores;
}

struct verdict profile_score(struct profile *p, struct cycle *c)
{
	int64_t since = profile_now(p), *scores = scratch_scores(p, c->nfeasible);
	struct verdict v = VERDICT_OK;

	memset(c->totals, 0, c->nfeasible * sizeof(*c->totals));
	for (size_t i = 0; v.code == VERDICT_SUCCESS && i < p->score.n; i++) {
		struct plugin *pl = &p->plugins[p->score.at[i]];

		if (c->skip_score >> pl->at & 1)
			continue;
		v = score_raw(p, pl, c, scores);
		if (v.code == VERDICT_SUCCESS)
			v = score_add(pl, c, scores);
	}
	profile_took(p, c, NULL, MEASURE_SCORE, v.code, since);
	return v;
}
