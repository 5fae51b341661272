/*
 * Pods as the job needs them: digests by version for counting, and trees for ranking.
 */
#include "base/core/mem.h"
#include "controller/replica_set/replica_sets_impl.h"

/* --- digests --------------------------------------------------------------------------------- */

void replica_sets_unsee(struct replica_sets *c, struct str uid)
{
	free(map_remove(&c->seen, uid));
}

static struct replica_seen *seen_of(struct replica_sets *c, struct str uid)
{
	struct replica_seen *s = map_get(&c->seen, uid);

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s) + uid.n);
	(void)str_put(s->uid, uid);
	(void)map_put(&c->seen, str_of(s->uid, uid.n), s);
	return s;
}

static struct replica_pod read_pod(struct replica_job *j, const struct cached *pod)
{
	struct arena *scratch = &j->owner->scratch;
	struct cached_labels labels = { pod, scratch };
	struct replica_pod read = { 0 };
	struct json *tree;

	if (cached_tree(pod, scratch, &tree, NULL) == 0) {
		read = replica_pod_of(tree);
		read.labeled = selector_matches(&j->labels, cached_labels_get, &labels);
	}
	arena_clear(scratch);
	return read;
}

/*
 * A pod that has gone from the cache since the job began is not remembered: nothing would forget
 * it. A pod without a numeric version is read every time.
 */
struct replica_pod replica_sets_see(struct replica_job *j, const struct cached *pod)
{
	struct replica_sets *c = j->owner;
	const struct cached *now = cache_get(informer_cache(c->pods.informer), pod->key);
	int64_t generation = json_i64_at(json_getz(j->set, "metadata"), "generation", 0);
	struct replica_seen *s;

	if (!now || !str_eq(now->uid, pod->uid) || pod->revision == 0)
		return read_pod(j, pod);
	s = seen_of(c, pod->uid);
	if (s->revision != pod->revision || s->generation != generation) {
		s->pod = read_pod(j, pod);
		s->revision = pod->revision;
		s->generation = generation;
	}
	return s->pod;
}

/* --- trees ----------------------------------------------------------------------------------- */

struct replica_trees replica_job_trees(struct replica_job *j)
{
	struct replica_trees t = { ARENA_ARRAY(&j->work.arena, const struct json *,
					       j->claim.owned.n + 1),
				   j->claim.owned.n };
	struct json *tree;

	for (size_t i = 0; i < t.n; i++) {
		struct cached *pod = j->claim.owned.v[i];

		if (replica_sets_see(j, pod).active &&
		    cached_tree_held(pod, &j->work.arena, &tree, NULL) == 0)
			t.v[i] = tree;
	}
	return t;
}

/* Walks the pods of the ReplicaSets that a controller has: adds them to *t, or counts them. */
static size_t related_walk(struct replica_job *j, struct str uid, struct replica_trees *t)
{
	const struct cache *sets = informer_cache(j->owner->sets.informer);
	const struct cache *pods = informer_cache(j->owner->pods.informer);
	struct cache_walk by_set = { 0 };
	struct cached *set, *pod;
	struct json *tree;
	size_t n = 0;

	while ((set = cache_next_by(sets, OWNED_BY_CONTROLLER, uid, &by_set))) {
		struct cache_walk by_pod = { 0 };

		while ((pod = cache_next_by(pods, OWNED_BY_CONTROLLER, set->uid, &by_pod))) {
			n++;
			if (t && cached_tree_held(pod, &j->work.arena, &tree, NULL) == 0)
				t->v[t->n++] = tree;
		}
	}
	return n;
}

struct replica_trees replica_job_related(struct replica_job *j)
{
	struct str uid = owned_ref_of(j->object, &j->work.arena).uid;
	struct replica_trees t = { NULL, 0 };
	size_t room = uid.n > 0 ? related_walk(j, uid, NULL) : 0;

	t.v = ARENA_ARRAY(&j->work.arena, const struct json *, room + 1);
	if (room > 0)
		(void)related_walk(j, uid, &t);
	return t;
}
