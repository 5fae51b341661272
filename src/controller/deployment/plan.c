/*
 * The order of decisions is upstream's: a deleted, paused, rolled back or scaled Deployment first,
 * then the strategy. Where upstream writes the status several times in one pass, this plan writes
 * it once, at the end. Changes of one ReplicaSet are one write, at the place of the first.
 */
#include "controller/deployment/plan.h"

#include "api/selector/label_selector.h"
#include "base/core/mem.h"
#include "controller/pods/owned.h"
#include "controller/pods/pod_template.h"

/* --- results --------------------------------------------------------------------------------- */

static struct deployment_write *add_write(struct deployment_plan *p, enum deployment_verb verb,
					  struct json *tree)
{
	struct deployment_write *w = ARENA_NEW(p->arena, struct deployment_write);

	*w = (struct deployment_write){ .verb = verb, .tree = tree };
	*p->last = w;
	p->last = &w->next;
	return w;
}

/* The write of a ReplicaSet: each has at most one. */
static struct deployment_write *set_write(struct deployment_plan *p, struct deployment_set *s)
{
	if (!s->write) {
		s->write = add_write(p, DEPLOYMENT_UPDATE_SET, s->tree);
		s->write->from = s->replicas;
	}
	return s->write;
}

static void warn(struct deployment_plan *p, const char *reason, const char *message)
{
	struct deployment_event **last = &p->warnings;

	while (*last)
		last = &(*last)->next;
	*last = ARENA_NEW(p->arena, struct deployment_event);
	**last = (struct deployment_event){ .reason = reason, .message = str_from(message) };
}

static struct json *plan_status(struct deployment_plan *p)
{
	return json_need_object(p->arena, p->tree, "status");
}

static void set_progressing(struct deployment_plan *p, const char *status, const char *reason,
			    const char *message)
{
	struct deployment_condition c = { DEPLOYMENT_PROGRESSING, status, reason,
					  str_from(message) };

	deployment_set_condition(p->arena, plan_status(p), &c, p->now_ns);
}

static bool plan_equal(const struct json *a, const struct json *b)
{
	if (json_count(a) == 0 || json_count(b) == 0)
		return json_count(a) == json_count(b);
	return json_equal(a, b);
}

/* Ends the plan: writes the status if it or an annotation changed. */
static void finish_with(struct deployment_plan *p, struct json *status)
{
	const struct json *meta = json_getz(p->tree, "metadata");

	json_setz(p->tree, "status", status);
	if (!plan_equal(status, p->status_before) ||
	    !plan_equal(json_getz(meta, "annotations"), p->annotations_before))
		(void)add_write(p, DEPLOYMENT_UPDATE_STATUS, p->tree);
}

/* --- scaling --------------------------------------------------------------------------------- */

/*
 * Writes the size that was decided, with the sizes of the Deployment as annotations. If the size is
 * the same, only `force` writes annotations.
 */
static void apply_size(struct deployment_plan *p, struct deployment_set *s, bool force)
{
	int64_t before = deployment_bounded(json_getz(s->tree, "spec"), "replicas", 1);
	int64_t after = s->size.replicas;
	struct deployment_write *w;
	bool changed;

	if (before == after && !force)
		return;
	changed = deployment_set_annotate_sizes(p->arena, s->tree, &p->limits);
	if (before == after && !changed)
		return;
	w = set_write(p, s);
	if (before == after)
		return;
	json_put_i64(p->arena, json_need_object(p->arena, s->tree, "spec"), "replicas", after);
	w->reason = "ScalingReplicaSet";
	w->message = str_from(arena_printf(p->arena, "Scaled %s replica set %.*s from %lld to %lld",
					   w->from < after ? "up" : "down", STR_ARG(s->name),
					   (long long)w->from, (long long)after));
}

static void scale_to(struct deployment_plan *p, struct deployment_set *s, int64_t replicas)
{
	s->size.replicas = replicas;
	apply_size(p, s, false);
}

/* Whether the change of any size is more than the write of annotations. */
static bool plan_scaled(const struct deployment_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->sets[i]->size.replicas != p->sets[i]->replicas)
			return true;
	}
	return false;
}

/* --- finding --------------------------------------------------------------------------------- */

static void find_sets(struct deployment_plan *p)
{
	const struct json *template = json_getz(json_getz(p->tree, "spec"), "template");

	p->old = ARENA_ARRAY(p->arena, struct deployment_set *, p->n + 1);
	p->now = deployment_set_find_new(template, p->sets, p->n);
	for (size_t i = 0; i < p->n; i++) {
		if (p->sets[i] != p->now)
			p->old[p->nold++] = p->sets[i];
	}
	if (p->nold > 1)
		qsort(p->old, p->nold, sizeof(*p->old), deployment_set_by_age);
}

static int64_t next_revision(const struct deployment_plan *p)
{
	int64_t max = 0;

	for (size_t i = 0; i < p->nold; i++)
		max = MAX(max, p->old[i]->revision);
	return max < INT64_MAX ? max + 1 : max;
}

/* Brings the new ReplicaSet's annotations up to date, and the Deployment's revision. */
static void sync_new(struct deployment_plan *p)
{
	struct deployment_set *s = p->now;
	int64_t ready = deployment_bounded(json_getz(p->tree, "spec"), "minReadySeconds", 0);
	bool changed = deployment_set_annotate(p->arena, s->tree, p->tree, next_revision(p));

	if (deployment_bounded(json_getz(s->tree, "spec"), "minReadySeconds", 0) != ready) {
		json_put_i64(p->arena, json_need_object(p->arena, s->tree, "spec"),
			     "minReadySeconds", ready);
		changed = true;
	}
	if (changed)
		(void)set_write(p, s);
	(void)deployment_annotate(p->arena, p->tree, DEPLOYMENT_REVISION,
				  deployment_annotation(s->tree, DEPLOYMENT_REVISION));
	if (deployment_deadline_s(p->tree) >= 0 &&
	    !deployment_find_condition(json_getz(p->tree, "status"), DEPLOYMENT_PROGRESSING))
		set_progressing(
			p, "True", DEPLOYMENT_SET_FOUND,
			arena_printf(p->arena, "Found new replica set \"%.*s\"", STR_ARG(s->name)));
}

/* --- creating -------------------------------------------------------------------------------- */

static int64_t sum_replicas(const struct deployment_plan *p)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->n; i++)
		sum += p->sets[i]->size.replicas;
	return sum;
}

static void add_set(struct deployment_plan *p, struct deployment_set *s)
{
	struct deployment_set **sets = ARENA_ARRAY(p->arena, struct deployment_set *, p->n + 1);

	for (size_t i = 0; i < p->n; i++)
		sets[i] = p->sets[i];
	sets[p->n++] = s;
	p->sets = sets;
	p->now = s;
}

static void create_new(struct deployment_plan *p)
{
	struct deployment_set *s = ARENA_NEW(p->arena, struct deployment_set);
	int64_t collisions, size = deployment_new_size(&p->limits, sum_replicas(p), 0);
	bool collided = json_i64(json_getz(json_getz(p->tree, "status"), "collisionCount"),
				 &collisions);

	s->tree = deployment_set_make(p->arena, p->tree, p->owner, collided ? &collisions : NULL);
	json_put_i64(p->arena, json_getz(s->tree, "spec"), "replicas", size);
	(void)deployment_set_annotate(p->arena, s->tree, p->tree, next_revision(p));
	(void)deployment_set_annotate_sizes(p->arena, s->tree, &p->limits);
	deployment_set_read(s);
	s->write = add_write(p, DEPLOYMENT_CREATE_SET, s->tree);
	if (size > 0) {
		s->write->reason = "ScalingReplicaSet";
		s->write->message = str_from(
			arena_printf(p->arena, "Scaled up replica set %.*s from 0 to %lld",
				     STR_ARG(s->name), (long long)size));
	}
	(void)deployment_annotate(p->arena, p->tree, DEPLOYMENT_REVISION,
				  deployment_annotation(s->tree, DEPLOYMENT_REVISION));
	if (deployment_deadline_s(p->tree) >= 0)
		set_progressing(p, "True", DEPLOYMENT_SET_CREATED,
				arena_printf(p->arena, "Created new replica set \"%.*s\"",
					     STR_ARG(s->name)));
	add_set(p, s);
}

/* --- status and history ---------------------------------------------------------------------- */

static struct deployment_world plan_world(const struct deployment_plan *p)
{
	return (struct deployment_world){ .tree = p->tree,
					  .limits = &p->limits,
					  .now = p->now,
					  .sets = p->sets,
					  .n = p->n,
					  .now_ns = p->now_ns };
}

static void finish_counts(struct deployment_plan *p)
{
	struct deployment_world w = plan_world(p);

	finish_with(p, deployment_counts(p->arena, &w));
}

static void finish_rollout(struct deployment_plan *p)
{
	struct deployment_world w = plan_world(p);
	struct json *status = deployment_rollout_status(p->arena, &w);

	p->check_after_ns = deployment_check_after(&w, status);
	finish_with(p, status);
}

static bool may_delete(const struct deployment_set *s)
{
	return deployment_set_status(s, "replicas") == 0 && s->size.replicas == 0 &&
	       json_i64_at(json_getz(s->tree, "metadata"), "generation", 0) <=
		       json_i64_at(json_getz(s->tree, "status"), "observedGeneration", 0);
}

/* Deletes the oldest revisions beyond the limit, if they have no pods. */
static void clean_up(struct deployment_plan *p)
{
	const struct json *spec = json_getz(p->tree, "spec");
	int64_t keep = deployment_bounded(spec, "revisionHistoryLimit", INT32_MAX);
	struct deployment_set **v = ARENA_ARRAY(p->arena, struct deployment_set *, p->nold + 1);
	size_t n = 0;

	for (size_t i = 0; i < p->nold; i++) {
		if (!p->old[i]->deleting)
			v[n++] = p->old[i];
	}
	if (keep == INT32_MAX || n <= (size_t)keep)
		return;
	if (n > 1)
		qsort(v, n, sizeof(struct deployment_set *), deployment_set_by_revision);
	for (size_t i = 0; i < n - (size_t)keep; i++) {
		if (may_delete(v[i]))
			(void)add_write(p, DEPLOYMENT_DELETE_SET, v[i]->tree);
	}
}

static bool was_complete(const struct deployment_plan *p)
{
	struct deployment_world w = plan_world(p);

	return deployment_complete(&w, p->status_before);
}

/* --- scaling events and pauses --------------------------------------------------------------- */

/* The active ReplicaSets: those that have or shall have pods. */
static size_t find_active(const struct deployment_plan *p, struct deployment_set ***ret_active)
{
	struct deployment_set **v = ARENA_ARRAY(p->arena, struct deployment_set *, p->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->sets[i]->size.replicas > 0)
			v[n++] = p->sets[i];
	}
	*ret_active = v;
	return n;
}

/* Whether spec.replicas changed since an active ReplicaSet was scaled. */
static bool is_scaling_event(const struct deployment_plan *p)
{
	struct deployment_set **active;
	size_t n = find_active(p, &active);

	for (size_t i = 0; i < n; i++) {
		int64_t desired = deployment_replicas_annotation(active[i]->tree,
								 DEPLOYMENT_DESIRED);

		if (desired >= 0 && desired != p->limits.replicas)
			return true;
	}
	return false;
}

/* The new ReplicaSet has all replicas of the Deployment, and all are available. */
static bool is_saturated(const struct deployment_plan *p)
{
	const struct deployment_set *s = p->now;

	return s && s->size.replicas == p->limits.replicas &&
	       s->size.available == p->limits.replicas &&
	       deployment_replicas_annotation(s->tree, DEPLOYMENT_DESIRED) == p->limits.replicas;
}

static void scale_in_proportion(struct deployment_plan *p, struct deployment_set **active, size_t n)
{
	struct deployment_size **sizes = ARENA_ARRAY(p->arena, struct deployment_size *, n + 1);
	int64_t all = sum_replicas(p);
	int64_t allowed = p->limits.replicas > 0 ? p->limits.replicas + p->limits.surge : 0;

	if (all != allowed)
		qsort(active, n, sizeof(struct deployment_set *),
		      allowed > all ? deployment_set_by_size_newer : deployment_set_by_size_older);
	for (size_t i = 0; i < n; i++)
		sizes[i] = &active[i]->size;
	deployment_scale_proportionally(
		&p->limits, sizes, n,
		deployment_bounded(json_getz(p->tree, "status"), "replicas", 0));
	for (size_t i = 0; i < n; i++)
		apply_size(p, active[i], true);
}

static void scale(struct deployment_plan *p)
{
	struct deployment_set **active;
	size_t n = find_active(p, &active);

	if (n == 1) {
		scale_to(p, active[0], p->limits.replicas);
	} else if (n == 0) {
		/* The newest of the old ones is last. */
		if (p->now || p->nold > 0)
			scale_to(p, p->now ? p->now : p->old[p->nold - 1], p->limits.replicas);
	} else if (is_saturated(p)) {
		for (size_t i = 0; i < p->nold; i++)
			scale_to(p, p->old[i], 0);
	} else if (p->limits.rolling) {
		scale_in_proportion(p, active, n);
	}
}

/* --- strategies ------------------------------------------------------------------------------ */

static void roll(struct deployment_plan *p)
{
	struct deployment_size **old = ARENA_ARRAY(p->arena, struct deployment_size *, p->nold + 1);

	if (!p->now)
		create_new(p);
	else
		scale_to(p, p->now,
			 deployment_new_size(&p->limits, sum_replicas(p), p->now->size.replicas));
	if (plan_scaled(p)) {
		finish_rollout(p);
		return;
	}
	for (size_t i = 0; i < p->nold; i++)
		old[i] = &p->old[i]->size;
	if (deployment_shrink_old(&p->limits, &p->now->size, old, p->nold) > 0) {
		for (size_t i = 0; i < p->nold; i++)
			apply_size(p, p->old[i], false);
	} else if (was_complete(p)) {
		clean_up(p);
	}
	finish_rollout(p);
}

/* Whether the ReplicaSet's controller may still create pods for an earlier size. */
static bool is_behind(const struct deployment_set *s)
{
	return deployment_set_status(s, "observedGeneration") <
	       json_i64_at(json_getz(s->tree, "metadata"), "generation", 0);
}

/* Whether pods of old ReplicaSets may still run. */
static bool old_run(const struct deployment_plan *p)
{
	for (size_t i = 0; i < p->nold; i++) {
		const struct deployment_set *s = p->old[i];

		if (s->runs || is_behind(s) || deployment_set_status(s, "replicas") > 0)
			return true;
	}
	return false;
}

static void recreate(struct deployment_plan *p)
{
	for (size_t i = 0; i < p->nold; i++)
		scale_to(p, p->old[i], 0);
	if (!plan_scaled(p) && !old_run(p)) {
		if (!p->now)
			create_new(p);
		else
			scale_to(p, p->now, p->limits.replicas);
		if (was_complete(p))
			clean_up(p);
	}
	finish_rollout(p);
}

/* --- rollback -------------------------------------------------------------------------------- */

/* The deprecated annotation that asks for a rollback; false if it is absent. */
static bool wants_rollback(const struct deployment_plan *p, int64_t *ret_revision)
{
	return str_to_i64(deployment_annotation(p->tree, DEPLOYMENT_ROLLBACK_TO), ret_revision);
}

/* The second highest revision. */
static int64_t last_revision(const struct deployment_plan *p)
{
	int64_t max = 0, second = 0;

	for (size_t i = 0; i < p->n; i++) {
		int64_t v = p->sets[i]->revision;

		if (v >= max) {
			second = max;
			max = v;
		} else {
			second = MAX(second, v);
		}
	}
	return second;
}

static struct deployment_set *find_revision(const struct deployment_plan *p, int64_t revision)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->sets[i]->revision == revision)
			return p->sets[i];
	}
	return NULL;
}

static void take_template(struct deployment_plan *p, const struct deployment_set *s)
{
	struct json *template, *labels;

	if (json_copy(p->arena, json_getz(json_getz(s->tree, "spec"), "template"), &template,
		      NULL) < 0)
		return;
	labels = json_getz(json_getz(template, "metadata"), "labels");
	if (json_is(labels, JSON_OBJECT))
		(void)json_remove(labels, STR(DEPLOYMENT_HASH_LABEL));
	json_setz(json_need_object(p->arena, p->tree, "spec"), "template", template);
	deployment_take_annotations(p->arena, p->tree, s->tree);
}

static void roll_back(struct deployment_plan *p, int64_t revision)
{
	struct json *annotations = json_getz(json_getz(p->tree, "metadata"), "annotations");
	struct deployment_write *w = add_write(p, DEPLOYMENT_UPDATE, p->tree);
	struct deployment_set *s;
	bool last = revision == 0;

	if (last)
		revision = last_revision(p);
	s = revision > 0 ? find_revision(p, revision) : NULL;
	(void)json_remove(annotations, STR(DEPLOYMENT_ROLLBACK_TO));
	if (!s) {
		warn(p, "DeploymentRollbackRevisionNotFound",
		     last && revision == 0 ? "Unable to find last revision."
					   : "Unable to find the revision to rollback to.");
	} else if (s == p->now) {
		warn(p, "DeploymentRollbackTemplateUnchanged",
		     arena_printf(p->arena,
				  "The rollback revision contains the same template as current "
				  "deployment \"%.*s\"",
				  STR_ARG(p->owner->name)));
	} else {
		take_template(p, s);
		w->reason = "DeploymentRollback";
		w->message = str_from(
			arena_printf(p->arena, "Rolled back deployment \"%.*s\" to revision %lld",
				     STR_ARG(p->owner->name), (long long)revision));
	}
}

/* --- the whole ------------------------------------------------------------------------------- */

/* A pause must not count as lack of progress. A deadline that was exceeded stays reported. */
static void note_pause(struct deployment_plan *p)
{
	bool paused = json_true_at(json_getz(p->tree, "spec"), "paused");
	const struct json *c = deployment_find_condition(json_getz(p->tree, "status"),
							 DEPLOYMENT_PROGRESSING);
	struct str reason = json_text_at(c, "reason");
	bool noted = str_eqz(reason, DEPLOYMENT_PAUSED);

	if (deployment_deadline_s(p->tree) < 0 || str_eqz(reason, DEPLOYMENT_TIMED_OUT))
		return;
	if (paused && !noted)
		set_progressing(p, "Unknown", DEPLOYMENT_PAUSED, "Deployment is paused");
	else if (!paused && noted)
		set_progressing(p, "Unknown", DEPLOYMENT_RESUMED, "Deployment is resumed");
}

static void select_nothing(struct deployment_plan *p)
{
	int64_t generation = json_i64_at(json_getz(p->tree, "metadata"), "generation", 0);
	struct json *status = plan_status(p);

	warn(p, "SelectingAll",
	     "This deployment is selecting all pods. A non-empty selector is required.");
	if (json_i64_at(status, "observedGeneration", 0) < generation)
		json_put_i64(p->arena, status, "observedGeneration", generation);
	finish_with(p, status);
}

/* Copies of what decides whether the status is written. */
static void remember(struct deployment_plan *p)
{
	const struct json *meta = json_getz(p->tree, "metadata");

	p->status_before = p->annotations_before = NULL;
	if (json_getz(p->tree, "status"))
		(void)json_copy(p->arena, json_getz(p->tree, "status"), &p->status_before, NULL);
	if (json_getz(meta, "annotations"))
		(void)json_copy(p->arena, json_getz(meta, "annotations"), &p->annotations_before,
				NULL);
}

void deployment_plan(struct deployment_plan *p)
{
	const struct json *spec = json_getz(p->tree, "spec");
	int64_t revision;

	p->last = &p->writes;
	p->check_after_ns = -1;
	p->limits = deployment_limits(spec);
	remember(p);
	if (label_selector_is_empty(json_getz(spec, "selector"))) {
		select_nothing(p);
		return;
	}
	find_sets(p);
	if (p->now)
		sync_new(p);
	if (p->owner->deleting) {
		finish_counts(p);
		return;
	}
	note_pause(p);
	if (json_true_at(spec, "paused")) {
		scale(p);
		if (!wants_rollback(p, &revision))
			clean_up(p);
		finish_counts(p);
	} else if (wants_rollback(p, &revision)) {
		roll_back(p, revision);
	} else if (is_scaling_event(p)) {
		scale(p);
		finish_counts(p);
	} else if (p->limits.rolling) {
		roll(p);
	} else {
		recreate(p);
	}
}

bool deployment_report_failure(struct arena *a, struct json *tree, struct str message,
			       int64_t now_ns)
{
	struct json *status = json_need_object(a, tree, "status");
	const struct json *old = deployment_find_condition(status, DEPLOYMENT_PROGRESSING);
	struct deployment_condition c = { DEPLOYMENT_PROGRESSING, "False", DEPLOYMENT_SET_ERROR,
					  message };

	if (deployment_deadline_s(tree) < 0 || (str_eqz(json_text_at(old, "status"), c.status) &&
						str_eqz(json_text_at(old, "reason"), c.reason)))
		return false;
	deployment_set_condition(a, status, &c, now_ns);
	return true;
}

void deployment_report_collision(struct arena *a, struct json *tree)
{
	struct json *status = json_need_object(a, tree, "status");

	json_put_i64(a, status, "collisionCount",
		     deployment_bounded(status, "collisionCount", 0) + 1);
}
