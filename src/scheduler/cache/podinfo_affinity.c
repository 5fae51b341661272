/*
 * Reads affinity to nodes and pods, and topology spread constraints.
 *
 * matchLabelKeys and mismatchLabelKeys become requirements on the pod's own values. The API server
 * also does this on creation; doing it again only adds a duplicate requirement.
 */
#include "scheduler/cache/labels.h"
#include "scheduler/cache/podinfo_impl.h"

static int read_expression(struct podinfo *p, const struct json *v, struct selector_term *t,
			   struct error *err)
{
	struct str op = json_text_at(v, "operator");

	if (!labels_operator(op, &t->op))
		return error_set(err, ERR_INVALID,
				 "\"%.*s\" is not a valid label selector operator", STR_ARG(op));
	t->key = podinfo_keep(p, json_text_at(v, "key"));
	t->values = podinfo_keep_texts(p, json_getz(v, "values"), &t->nvalues);
	return 0;
}

static void one_value(struct podinfo *p, struct selector_term *t, enum selector_op op,
		      struct str key, struct str value)
{
	struct str *values = ARENA_NEW(&p->arena, struct str);

	*values = podinfo_keep(p, value);
	*t = (struct selector_term){ podinfo_keep(p, key), op, values, 1 };
}

/* Requirements on the pod's own values of the keys. */
static void add_keys(struct podinfo *p, const struct json *keys, enum selector_op op,
		     struct selector_term *terms, size_t *n)
{
	JSON_FOREACH (k, keys) {
		struct str value = podinfo_label(p, json_str(k));

		if (value.p)
			one_value(p, &terms[(*n)++], op, json_str(k), value);
	}
}

/* A LabelSelector and, unless NULL, keys from `keyed`. Without a selector: nothing. */
static int podinfo_affinity_read_selector(struct podinfo *p, const struct json *selector,
					  const struct json *keyed, struct selector *ret_selector,
					  bool *ret_nothing, struct error *err)
{
	const struct json *labels = json_getz(selector, "matchLabels");
	const struct json *expressions = json_getz(selector, "matchExpressions");
	const struct json *same = json_getz(keyed, "matchLabelKeys");
	const struct json *other = json_getz(keyed, "mismatchLabelKeys");
	size_t most = json_count(labels) + json_count(expressions) + json_count(same) +
		      json_count(other);
	struct selector_term *terms;
	size_t n = 0;
	int r;

	*ret_nothing = !json_is(selector, JSON_OBJECT);
	*ret_selector = (struct selector){ 0 };
	if (*ret_nothing || most == 0)
		return 0;
	terms = ARENA_ARRAY(&p->arena, struct selector_term, most);
	JSON_FOREACH (v, labels)
		one_value(p, &terms[n++], SELECTOR_IN, json_key(v), json_str(v));
	JSON_FOREACH (v, expressions) {
		r = read_expression(p, v, &terms[n++], err);
		if (r < 0)
			return r;
	}
	add_keys(p, same, SELECTOR_IN, terms, &n);
	add_keys(p, other, SELECTOR_NOT_IN, terms, &n);
	*ret_selector = (struct selector){ terms, n };
	return 0;
}

static int read_term(struct podinfo *p, const struct json *v, struct affinity_term *t,
		     struct error *err)
{
	const struct json *spaces = json_getz(v, "namespaceSelector");
	bool nothing;
	int r = podinfo_affinity_read_selector(p, json_getz(v, "labelSelector"), v, &t->pods,
					       &t->nothing, err);

	if (r == 0)
		r = podinfo_affinity_read_selector(p, spaces, NULL, &t->namespace_selector,
						   &nothing, err);
	if (r < 0)
		return r;
	t->has_namespace_selector = json_is(spaces, JSON_OBJECT);
	t->namespaces = podinfo_keep_texts(p, json_getz(v, "namespaces"), &t->nnamespaces);
	if (t->nnamespaces == 0 && !t->has_namespace_selector) {
		t->namespaces = &p->ns;
		t->nnamespaces = 1;
	}
	t->topology_key = podinfo_keep(p, json_text_at(v, "topologyKey"));
	return 0;
}

static int read_required(struct podinfo *p, const struct json *list, struct affinity_terms *ret,
			 struct error *err)
{
	struct affinity_term *terms;
	size_t n = 0;

	if (json_count(list) == 0)
		return 0;
	terms = ARENA_ARRAY(&p->arena, struct affinity_term, json_count(list));
	JSON_FOREACH (v, list) {
		int r = read_term(p, v, &terms[n++], err);

		if (r < 0)
			return r;
	}
	*ret = (struct affinity_terms){ terms, n };
	return 0;
}

static int read_preferred(struct podinfo *p, const struct json *list, struct affinity_terms *ret,
			  struct error *err)
{
	struct affinity_term *terms;
	size_t n = 0;

	if (json_count(list) == 0)
		return 0;
	terms = ARENA_ARRAY(&p->arena, struct affinity_term, json_count(list));
	JSON_FOREACH (v, list) {
		struct affinity_term *t = &terms[n++];
		int r = read_term(p, json_getz(v, "podAffinityTerm"), t, err);

		if (r < 0)
			return r;
		t->weight = (int32_t)json_i64_at(v, "weight", 0);
	}
	*ret = (struct affinity_terms){ terms, n };
	return 0;
}

/* A term alone is read as a selector of that term. */
static int read_node_term(struct podinfo *p, const struct json *v, struct node_selector_term *ret,
			  struct error *err)
{
	struct json term = *v, list, selector;
	struct node_selector s;
	int r;

	term.next = NULL;
	list = (struct json){ .type = JSON_ARRAY, .n = 1, .first = &term, .last = &term };
	list.key = "nodeSelectorTerms";
	list.key_n = sizeof("nodeSelectorTerms") - 1;
	selector = (struct json){ .type = JSON_OBJECT, .n = 1, .first = &list, .last = &list };
	r = node_selector_read(&p->arena, &selector, &s, err);
	if (r == 0)
		*ret = s.terms[0];
	return r;
}

static int read_preferred_nodes(struct podinfo *p, const struct json *list, struct error *err)
{
	struct preferred_node *nodes;

	if (json_count(list) == 0)
		return 0;
	nodes = ARENA_ARRAY(&p->arena, struct preferred_node, json_count(list));
	p->preferred_nodes = nodes;
	JSON_FOREACH (v, list) {
		struct preferred_node *n = &nodes[p->npreferred_nodes];
		const struct json *term = json_getz(v, "preference");
		int r = term ? read_node_term(p, term, &n->term, err) : 0;

		if (r < 0)
			return r;
		n->weight = (int32_t)json_i64_at(v, "weight", 0);
		p->npreferred_nodes++;
	}
	return 0;
}

static int read_node_affinity(struct podinfo *p, const struct json *v, struct error *err)
{
	const struct json *required = json_getz(v,
						"requiredDuringSchedulingIgnoredDuringExecution");
	struct node_selector *s;
	int r;

	if (json_is(required, JSON_OBJECT)) {
		s = ARENA_NEW(&p->arena, struct node_selector);
		r = node_selector_read(&p->arena, required, s, err);
		if (r < 0)
			return r;
		p->required_nodes = s;
	}
	return read_preferred_nodes(
		p, json_getz(v, "preferredDuringSchedulingIgnoredDuringExecution"), err);
}

static int read_pod_affinity(struct podinfo *p, const struct json *v,
			     struct affinity_terms *required, struct affinity_terms *preferred,
			     struct error *err)
{
	int r = read_required(p, json_getz(v, "requiredDuringSchedulingIgnoredDuringExecution"),
			      required, err);

	if (r < 0)
		return r;
	return read_preferred(p, json_getz(v, "preferredDuringSchedulingIgnoredDuringExecution"),
			      preferred, err);
}

int podinfo_read_affinity(struct podinfo_reader *reader, struct error *err)
{
	const struct json *v = json_getz(reader->spec, "affinity");
	struct podinfo *p = reader->pod;
	int r = 0;

	if (!json_is(v, JSON_OBJECT))
		return 0;
	if (!reader->bound)
		r = read_node_affinity(p, json_getz(v, "nodeAffinity"), err);
	if (r == 0)
		r = read_pod_affinity(p, json_getz(v, "podAffinity"), &p->affinity,
				      &p->preferred_affinity, err);
	if (r == 0)
		r = read_pod_affinity(p, json_getz(v, "podAntiAffinity"), &p->anti_affinity,
				      &p->preferred_anti_affinity, err);
	return r < 0 ? error_wrap(err, r, "spec.affinity") : 0;
}

static int read_constraint(struct podinfo *p, const struct json *v, struct spread_constraint *s,
			   struct error *err)
{
	struct str affinity = json_text_at(v, "nodeAffinityPolicy");

	s->max_skew = (int32_t)json_i64_at(v, "maxSkew", 1);
	s->min_domains = (int32_t)json_i64_at(v, "minDomains", 1);
	s->topology_key = podinfo_keep(p, json_text_at(v, "topologyKey"));
	s->schedule_anyway = str_eqz(json_text_at(v, "whenUnsatisfiable"), "ScheduleAnyway");
	s->honor_affinity = !str_eqz(affinity, "Ignore");
	s->honor_taints = str_eqz(json_text_at(v, "nodeTaintsPolicy"), "Honor");
	return podinfo_affinity_read_selector(p, json_getz(v, "labelSelector"), v, &s->pods,
					      &s->nothing, err);
}

int podinfo_read_spread(struct podinfo_reader *reader, struct error *err)
{
	const struct json *list = json_getz(reader->spec, "topologySpreadConstraints");
	struct podinfo *p = reader->pod;
	struct spread_constraint *spread;

	if (json_count(list) == 0)
		return 0;
	spread = ARENA_ARRAY(&p->arena, struct spread_constraint, json_count(list));
	p->spread = spread;
	JSON_FOREACH (v, list) {
		int r = read_constraint(p, v, &spread[p->nspread++], err);

		if (r < 0)
			return error_wrap(err, r, "spec.topologySpreadConstraints");
	}
	return 0;
}

static bool in_namespaces(const struct affinity_term *t, struct str ns)
{
	for (size_t i = 0; i < t->nnamespaces; i++)
		if (str_eq(t->namespaces[i], ns))
			return true;
	return false;
}

static struct str label_of(const void *source, struct str key)
{
	return json_str(json_get(source, key));
}

bool affinity_term_matches(const struct affinity_term *t, const struct podinfo *p,
			   const struct json *namespace_labels)
{
	if (t->nothing)
		return false;
	if (!in_namespaces(t, p->ns) &&
	    (!t->has_namespace_selector ||
	     !selector_matches(&t->namespace_selector, label_of, namespace_labels)))
		return false;
	return selector_matches(&t->pods, label_of, p->labels);
}
