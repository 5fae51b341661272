/*
 * NodeAffinity: nodeSelector and node affinity of the pod, and the profile's addedAffinity for
 * every pod. Required terms filter, preferred terms score by their weights.
 *
 * If every required term names nodes (matchFields on metadata.name, as in DaemonSet pods), only
 * these nodes are tried.
 */
#include "base/core/mem.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/plugins/plugins.h"

enum { ARGS_MEMORY_MAX = 1 << 20 };

static const struct str no_match[] = { REASON(
	"node(s) didn't match Pod's node affinity/selector") };
static const struct str not_enforced[] = { REASON(
	"node(s) didn't match scheduler-enforced node affinity") };
static const struct str conflict[] = { REASON("pod affinity terms conflict") };

struct affinity_args {
	struct arena arena;
	bool has_required;
	struct node_selector required;
	struct preferred_node *preferred;
	size_t npreferred;
};

/* --- arguments ------------------------------------------------------------------------------ */

static int read_preferred(struct affinity_args *s, const struct json *list, struct error *err)
{
	static const char where[] = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution";
	static const char *const fields[] = { "weight", "preference", NULL };

	s->preferred = ARENA_ARRAY(&s->arena, struct preferred_node, json_count(list));
	JSON_FOREACH (v, list) {
		struct json *terms = json_make_object(&s->arena), *copy;
		struct node_selector one;
		int r = plugin_args_fields(v, where, fields, err);

		if (r < 0)
			return r;
		r = json_copy(&s->arena, json_getz(v, "preference"), &copy, err);
		if (r < 0)
			return error_wrap(err, r, "%s", where);
		json_append(json_need_array(&s->arena, terms, "nodeSelectorTerms"), copy);
		r = node_selector_read(&s->arena, terms, &one, err);
		if (r < 0)
			return error_wrap(err, r, "parsing %s", where);
		s->preferred[s->npreferred++] = (struct preferred_node){
			.weight = (int32_t)json_i64_at(v, "weight", 0), .term = one.terms[0]
		};
	}
	return 0;
}

static int node_affinity_read_args(struct affinity_args *s, const struct json *args,
				   struct error *err)
{
	static const char *const fields[] = { "addedAffinity", NULL };
	static const char *const parts[] = { "requiredDuringSchedulingIgnoredDuringExecution",
					     "preferredDuringSchedulingIgnoredDuringExecution",
					     NULL };
	const struct json *added = json_getz(args, "addedAffinity"), *required;
	int r = plugin_args_check(args, "NodeAffinityArgs", fields, err);

	if (r == 0)
		r = plugin_args_fields(added, "addedAffinity", parts, err);
	if (r < 0)
		return r;
	required = json_getz(added, parts[0]);
	if (required) {
		s->has_required = true;
		r = node_selector_read(&s->arena, required, &s->required, err);
		if (r < 0)
			return error_wrap(err, r, "parsing addedAffinity.%s", parts[0]);
	}
	return read_preferred(s, json_getz(added, parts[1]), err);
}

static void node_affinity_release(struct plugin *p)
{
	struct affinity_args *s = p->state;

	if (!s)
		return;
	arena_release(&s->arena);
	free(s);
	p->state = NULL;
}

static int node_affinity_init(struct plugin *p, const struct json *args, struct error *err)
{
	struct affinity_args *s = XNEW(struct affinity_args);
	int r;

	arena_init(&s->arena, ARGS_MEMORY_MAX);
	p->state = s;
	r = node_affinity_read_args(s, args, err);
	if (r < 0)
		node_affinity_release(p);
	return r;
}

/* --- filter --------------------------------------------------------------------------------- */

static bool names_nodes(const struct selector_term *t)
{
	return (t->op == SELECTOR_IN || t->op == SELECTOR_EQUALS) &&
	       str_eqz(t->key, "metadata.name");
}

static bool has_name(const struct selector_term *t, struct str name)
{
	for (size_t i = 0; i < t->nvalues; i++)
		if (str_eq(t->values[i], name))
			return true;
	return false;
}

/* All requirements on the name allow it. */
static bool term_allows(const struct node_selector_term *t, struct str name)
{
	for (size_t i = 0; i < t->fields.n; i++)
		if (names_nodes(&t->fields.terms[i]) && !has_name(&t->fields.terms[i], name))
			return false;
	return true;
}

/* The first requirement that names nodes; NULL: the term leaves that open. */
static const struct selector_term *term_names(const struct node_selector_term *t)
{
	for (size_t i = 0; i < t->fields.n; i++)
		if (names_nodes(&t->fields.terms[i]))
			return &t->fields.terms[i];
	return NULL;
}

/* False: some term is not about names. Names may repeat. */
static bool only_names(struct cycle *c, const struct node_selector *s, struct str **ret_names,
		       size_t *ret_n)
{
	size_t room = 0, n = 0;
	struct str *names;

	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *t = term_names(&s->terms[i]);

		if (!t)
			return false;
		room += t->nvalues;
	}
	names = ARENA_ARRAY(&c->arena, struct str, room);
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *t = term_names(&s->terms[i]);

		for (size_t k = 0; k < t->nvalues; k++)
			if (term_allows(&s->terms[i], t->values[k]))
				names[n++] = t->values[k];
	}
	*ret_names = names;
	*ret_n = n;
	return true;
}

static struct verdict node_affinity_pre_filter(struct plugin *p, struct cycle *c)
{
	const struct affinity_args *s = p->state;
	const struct node_selector *required = c->pod->required_nodes;
	struct str *names;
	size_t n;

	if (!required && !c->pod->node_labels && !s->has_required)
		return (struct verdict){ .code = VERDICT_SKIP };
	if (!required || required->n == 0 || !only_names(c, required, &names, &n))
		return VERDICT_OK;
	if (n == 0)
		return VERDICT_STATIC(VERDICT_UNRESOLVABLE, conflict);
	cycle_only(c, names, n);
	return VERDICT_OK;
}

static bool is_enforced(const struct plugin *p, const struct nodeobject *n)
{
	const struct affinity_args *s = p->state;

	return !s->has_required || node_selector_matches(&s->required, n->name, n->labels);
}

static struct verdict node_affinity_filter(struct plugin *p, struct cycle *c,
					   const struct nodeinfo *n)
{
	if (!is_enforced(p, n->node))
		return VERDICT_STATIC(VERDICT_UNRESOLVABLE, not_enforced);
	if (!pod_wants_node(c->pod, n->node))
		return VERDICT_STATIC(VERDICT_UNRESOLVABLE, no_match);
	return VERDICT_OK;
}

/* --- score ---------------------------------------------------------------------------------- */

static struct verdict node_affinity_pre_score(struct plugin *p, struct cycle *c)
{
	const struct affinity_args *s = p->state;
	bool any = s->npreferred > 0 || c->pod->npreferred_nodes > 0;

	return (struct verdict){ .code = any ? VERDICT_SUCCESS : VERDICT_SKIP };
}

static int64_t sum_of_weights(const struct preferred_node *v, size_t count,
			      const struct nodeobject *n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		struct node_selector one = { &v[i].term, 1 };

		if (node_selector_matches(&one, n->name, n->labels))
			sum += v[i].weight;
	}
	return sum;
}

static struct verdict node_affinity_score(struct plugin *p, struct cycle *c, size_t at,
					  int64_t *ret_score)
{
	const struct affinity_args *s = p->state;
	const struct nodeobject *n = c->feasible[at]->node;

	*ret_score = sum_of_weights(s->preferred, s->npreferred, n) +
		     sum_of_weights(c->pod->preferred_nodes, c->pod->npreferred_nodes, n);
	return VERDICT_OK;
}

static void normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n)
{
	scores_normalize(scores, n, false);
}

/* --- hints ---------------------------------------------------------------------------------- */

static enum event_hint node_affinity_after_node(const struct plugin *p,
						const struct podinfo *waiting,
						const struct cluster_event *e)
{
	if (!is_enforced(p, e->node) || !pod_wants_node(waiting, e->node))
		return HINT_SKIP;
	return e->old_node && pod_wants_node(waiting, e->old_node) ? HINT_SKIP : HINT_QUEUE;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_NODE,
	  .actions = EVENT_ADD | EVENT_UPDATE_NODE_LABEL,
	  .hint = node_affinity_after_node },
	{ 0 },
};

const struct plugin_kind plugin_node_affinity = {
	.name = "NodeAffinity",
	.init = node_affinity_init,
	.release = node_affinity_release,
	.events = events,
	.pre_filter = node_affinity_pre_filter,
	.filter = node_affinity_filter,
	.pre_score = node_affinity_pre_score,
	.score = node_affinity_score,
	.normalize = normalize,
};
