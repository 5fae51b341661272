/*
 * Reading, ordering, annotating and making ReplicaSets.
 */
#include "controller/deployment/sets.h"

#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "controller/pods/owned.h"
#include "controller/pods/pod_template.h"

enum { NAME_MAX_BYTES = 253 };

/* --- reading --------------------------------------------------------------------------------- */

struct str deployment_annotation(const struct json *object, const char *name)
{
	return json_text_at(json_getz(json_getz(object, "metadata"), "annotations"), name);
}

int64_t deployment_replicas_annotation(const struct json *set, const char *name)
{
	struct str text = deployment_annotation(set, name);
	int64_t v;

	if (!str_to_i64(text, &v) || v < 0 || v > INT32_MAX)
		return -1;
	return v;
}

static int64_t revision_of(const struct json *object)
{
	struct str text = deployment_annotation(object, DEPLOYMENT_REVISION);
	int64_t v;

	if (!text.p)
		return 0;
	return str_to_i64(text, &v) && v >= 0 ? v : -1;
}

void deployment_set_read(struct deployment_set *s)
{
	const struct json *meta = json_getz(s->tree, "metadata");
	struct str created = json_text_at(meta, "creationTimestamp");
	int64_t max = deployment_replicas_annotation(s->tree, DEPLOYMENT_MAX);

	s->name = json_text_at(meta, "name");
	s->replicas = deployment_bounded(json_getz(s->tree, "spec"), "replicas", 1);
	s->size = (struct deployment_size){
		.replicas = s->replicas,
		.available = deployment_set_status(s, "availableReplicas"),
		.lagging = json_i64_at(meta, "generation", 0) >
			   json_i64_at(json_getz(s->tree, "status"), "observedGeneration", 0),
		.max = MAX(max, (int64_t)0),
	};
	s->created_ns = 0;
	if (created.n > 0)
		(void)timestamp_parse(created, &s->created_ns, NULL);
	s->revision = revision_of(s->tree);
	s->deleting = json_text_at(meta, "deletionTimestamp").n > 0;
}

int64_t deployment_set_status(const struct deployment_set *s, const char *key)
{
	return deployment_bounded(json_getz(s->tree, "status"), key, 0);
}

/* --- order ----------------------------------------------------------------------------------- */

static const struct deployment_set *set_at(const void *p)
{
	return *(struct deployment_set *const *)p;
}

int deployment_set_by_age(const void *a, const void *b)
{
	const struct deployment_set *x = set_at(a), *y = set_at(b);

	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? -1 : 1;
	return str_cmp(x->name, y->name);
}

int deployment_set_by_revision(const void *a, const void *b)
{
	int64_t x = set_at(a)->revision, y = set_at(b)->revision;

	if (x < 0 || y < 0 || x == y)
		return deployment_set_by_age(a, b);
	return x < y ? -1 : 1;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = set_at(a)->size.replicas, y = set_at(b)->size.replicas;

	return (x < y) - (x > y);
}

int deployment_set_by_size_newer(const void *a, const void *b)
{
	int r = by_size(a, b);

	return r ? r : deployment_set_by_age(b, a);
}

int deployment_set_by_size_older(const void *a, const void *b)
{
	int r = by_size(a, b);

	return r ? r : deployment_set_by_age(a, b);
}

struct deployment_set *deployment_set_find_new(const struct json *template,
					       struct deployment_set **sets, size_t n)
{
	struct deployment_set *oldest = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct json *theirs = json_getz(json_getz(sets[i]->tree, "spec"), "template");

		if (pod_template_equal(theirs, template) &&
		    (!oldest || deployment_set_by_age(&sets[i], &oldest) < 0))
			oldest = sets[i];
	}
	return oldest;
}

/* --- annotations ----------------------------------------------------------------------------- */

static struct json *annotations_of(struct arena *a, struct json *object)
{
	return json_need_object(a, json_need_object(a, object, "metadata"), "annotations");
}

bool deployment_annotate(struct arena *a, struct json *object, const char *name, struct str value)
{
	struct str old = deployment_annotation(object, name);

	if (old.p && str_eq(old, value))
		return false;
	json_put_str(a, annotations_of(a, object), name, value);
	return true;
}

static bool annotate_number(struct arena *a, struct json *object, const char *name, int64_t v)
{
	return deployment_annotate(a, object, name,
				   str_from(arena_printf(a, "%lld", (long long)v)));
}

bool deployment_set_annotate_sizes(struct arena *a, struct json *set,
				   const struct deployment_limits *l)
{
	int64_t max = MIN(l->replicas + l->surge, (int64_t)INT32_MAX);
	bool changed = annotate_number(a, set, DEPLOYMENT_DESIRED, l->replicas);

	return annotate_number(a, set, DEPLOYMENT_MAX, max) || changed;
}

/* Those that describe one object and not what it is for. */
static bool is_own(struct str name)
{
	static const char *const names[] = {
		"kubectl.kubernetes.io/last-applied-configuration",
		DEPLOYMENT_REVISION,
		DEPLOYMENT_REVISION_HISTORY,
		DEPLOYMENT_DESIRED,
		DEPLOYMENT_MAX,
		DEPLOYMENT_ROLLBACK_TO,
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_eqz(name, names[i]))
			return true;
	}
	return false;
}

static bool copy_annotations(struct arena *a, struct json *to, const struct json *from)
{
	bool changed = false;

	JSON_FOREACH (it, json_getz(json_getz(from, "metadata"), "annotations")) {
		struct json *have = json_get(annotations_of(a, to), json_key(it));

		if (is_own(json_key(it)) || !json_is(it, JSON_STRING) ||
		    (have && json_equal(have, it)))
			continue;
		json_set(annotations_of(a, to), json_key(it), json_alias(a, it));
		changed = true;
	}
	return changed;
}

/* "1,3" and 4 make "1,3,4"; the oldest go if it becomes too long. */
static struct str history_with(struct arena *a, struct str history, struct str revision)
{
	struct str piece;

	if (history.n == 0)
		return revision;
	while (history.p && history.n + 1 + revision.n > DEPLOYMENT_HISTORY_MAX)
		(void)str_split(&history, ',', &piece);
	if (!history.p)
		return revision;
	return str_from(arena_printf(a, "%.*s,%.*s", STR_ARG(history), STR_ARG(revision)));
}

bool deployment_set_annotate(struct arena *a, struct json *set, const struct json *deployment,
			     int64_t revision)
{
	struct str old = deployment_annotation(set, DEPLOYMENT_REVISION);
	int64_t was = revision_of(set);
	bool changed = copy_annotations(a, set, deployment);

	if (was < 0 || was >= revision)
		return changed;
	if (old.n > 0)
		(void)deployment_annotate(
			a, set, DEPLOYMENT_REVISION_HISTORY,
			history_with(a, deployment_annotation(set, DEPLOYMENT_REVISION_HISTORY),
				     old));
	(void)annotate_number(a, set, DEPLOYMENT_REVISION, revision);
	return true;
}

void deployment_take_annotations(struct arena *a, struct json *deployment, const struct json *set)
{
	struct json *own = annotations_of(a, deployment);

	JSON_FOREACH_SAFE (it, own) {
		if (!is_own(json_key(it)))
			(void)json_unlink(own, it);
	}
	(void)copy_annotations(a, deployment, set);
}

/* --- making ---------------------------------------------------------------------------------- */

/* A copy, or an empty object. */
static struct json *copy_of(struct arena *a, const struct json *v)
{
	struct json *copy;

	if (!json_is(v, JSON_OBJECT) || json_copy(a, v, &copy, NULL) < 0)
		return json_make_object(a);
	return copy;
}

static struct str name_with(struct arena *a, struct str name, struct str hash)
{
	name = str_cut(name, NAME_MAX_BYTES - 1 - hash.n);
	return str_from(arena_printf(a, "%.*s-%.*s", STR_ARG(name), STR_ARG(hash)));
}

struct json *deployment_set_make(struct arena *a, const struct json *deployment,
				 const struct owner *owner, const int64_t *collisions)
{
	const struct json *from = json_getz(deployment, "spec");
	struct str hash = pod_template_hash(a, json_getz(from, "template"), collisions);
	struct json *set = json_make_object(a), *meta = json_need_object(a, set, "metadata");
	struct json *spec = json_need_object(a, set, "spec"), *template, *selector, *labels;

	template = copy_of(a, json_getz(from, "template"));
	labels = json_need_object(a, json_need_object(a, template, "metadata"), "labels");
	json_put_str(a, labels, DEPLOYMENT_HASH_LABEL, hash);
	selector = copy_of(a, json_getz(from, "selector"));
	json_put_str(a, json_need_object(a, selector, "matchLabels"), DEPLOYMENT_HASH_LABEL, hash);
	json_put_str(a, set, "apiVersion", STR("apps/v1"));
	json_put_str(a, set, "kind", STR("ReplicaSet"));
	json_put_str(a, meta, "name", name_with(a, owner->name, hash));
	json_put_str(a, meta, "namespace", owner->ns);
	json_setz(meta, "labels", copy_of(a, labels));
	json_append(json_need_array(a, meta, "ownerReferences"),
		    pod_template_controller_ref(a, owner));
	json_put_i64(a, spec, "minReadySeconds", deployment_bounded(from, "minReadySeconds", 0));
	json_setz(spec, "selector", selector);
	json_setz(spec, "template", template);
	return set;
}
