/*
 * The book decides which pods and rules a change affects. This file reports changes to it, once
 * per turn, and queues the results. A changed rule gets its status before its pods are evicted,
 * because their keys are queued later.
 */
#include "controller/taint_eviction/taint_eviction.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/taint_eviction/taint_eviction_impl.h"

enum { WORKERS = 8 }; /* as upstream's controller */

static void taint_eviction_add_key(struct taint_eviction *t, const char *prefix, struct str name,
				   int64_t after_ms)
{
	char key[600];
	int n = snprintf(key, sizeof(key), "%s%.*s", prefix, STR_ARG(name));

	if (n <= 0 || (size_t)n >= sizeof(key))
		return;
	if (after_ms > 0)
		workqueue_add_after(t->queue, str_of(key, (size_t)n), after_ms);
	else
		workqueue_add(t->queue, str_of(key, (size_t)n));
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void taint_job_release(struct work *w)
{
	struct taint_job *j = CONTAINER_OF(w, struct taint_job, work);

	pod_removal_cancel(&j->removal);
	free(j->eviction);
}

void taint_job_wait(struct taint_job *j, int64_t ms)
{
	workqueue_add_after(j->owner->queue, j->work.key, ms);
	work_end(&j->work, false);
}

static void taint_eviction_handle(void *arg, struct str key)
{
	struct taint_eviction *t = arg;
	struct taint_job *j = work_new(&t->jobs, sizeof(*j), key);
	bool pod = str_starts(key, STR(TAINT_POD_KEY));

	j->owner = t;
	j->name = str_skip(key, pod ? STR(TAINT_POD_KEY).n : STR(TAINT_RULE_KEY).n);
	if (pod)
		taint_pod_begin(j);
	else
		taint_rule_begin(j);
}

/* --- results of the book --------------------------------------------------------------------- */

void taint_eviction_event(struct taint_eviction *t, struct str key, struct str uid,
			  const char *message)
{
	struct recorder_object about = {
		.api_version = STR("v1"), .kind = STR("Pod"), .name = key, .uid = uid
	};

	(void)str_split(&about.name, '/', &about.ns);
	recorder_event(t->ctx.recorder, &about, RECORDER_NORMAL, "DeviceTaintManagerEviction",
		       str_from(message));
}

void taint_rules_concerned(struct taint_eviction *t, const struct eviction *e, bool evicted)
{
	for (size_t i = 0; i < e->n && str_starts(e->sources[i], STR(EVICTION_RULE)); i++) {
		struct str name = str_skip(e->sources[i], STR(EVICTION_RULE).n);
		struct taint_rule *rule = map_get(&t->rule_states, name);

		if (!rule)
			continue;
		if (evicted)
			rule->evicted++;
		taint_eviction_add_key(t, TAINT_RULE_KEY, name, TAINT_STATUS_MS);
	}
}

static void on_told(void *arg, const struct taint_pod *pod, enum taint_change change)
{
	struct taint_eviction *t = arg;

	if (pod->eviction)
		taint_rules_concerned(t, pod->eviction, false);
	if (change == TAINT_POD_DUE) {
		devices_names_add(&t->due, pod->key);
	} else if (change == TAINT_POD_SPARED) {
		log_debug(t->ctx.log, "a pod is no longer to be evicted", LOG_STR("pod", pod->key));
		taint_eviction_event(t, pod->key, pod->uid, "Cancelling deletion");
	}
}

static const struct json *find_in(struct informer *i, struct str key, struct arena *a)
{
	struct cached *o = cache_get(informer_cache(i), key);
	struct json *tree;

	return o && cached_tree_held(o, a, &tree, NULL) == 0 ? tree : NULL;
}

static const struct json *find_claim(void *arg, struct str key, struct arena *a)
{
	return find_in(((struct taint_eviction *)arg)->claims, key, a);
}

static const struct json *find_pod(void *arg, struct str key, struct arena *a)
{
	return find_in(((struct taint_eviction *)arg)->pods, key, a);
}

/* --- a turn ---------------------------------------------------------------------------------- */

/* The initial state: the watcher has reported the slices, which lead to claims and pods. */
static void taint_eviction_begin(struct taint_eviction *t)
{
	struct str name;
	size_t at = 0;
	void *rule;

	t->working = true;
	while (map_next(&t->rule_states, &at, &name, &rule))
		taint_book_rule(t->book, name);
	workqueue_hold(t->queue, false);
}

static void taint_eviction_on_turn(struct loop_task *task)
{
	struct taint_eviction *t = CONTAINER_OF(task, struct taint_eviction, task);

	if (!taint_eviction_synced(t))
		return;
	(void)devices_inventory(t->devices); /* updates the inventory */
	if (!t->working)
		taint_eviction_begin(t);
	for (size_t i = 0; i < t->changed_rules.v.n; i++)
		taint_book_rule(t->book, t->changed_rules.v.v[i]);
	taint_book_settle(t->book);
	for (size_t i = 0; i < t->changed_rules.v.n; i++)
		taint_eviction_add_key(t, TAINT_RULE_KEY, t->changed_rules.v.v[i], 0);
	for (size_t i = 0; i < t->due.v.n; i++)
		taint_eviction_add_key(t, TAINT_POD_KEY, t->due.v.v[i], 0);
	devices_names_clear(&t->changed_rules);
	devices_names_clear(&t->due);
}

static void taint_eviction_plan(struct taint_eviction *t)
{
	loop_defer(t->ctx.loop, &t->task);
}

/* --- events ---------------------------------------------------------------------------------- */

static void taint_eviction_on_slice(struct devices_watcher *w, struct str slice)
{
	struct taint_eviction *t = CONTAINER_OF(w, struct taint_eviction, watcher);

	taint_book_slice(t->book, slice);
	taint_eviction_plan(t);
}

static void on_devices_synced(struct devices_watcher *w)
{
	taint_eviction_plan(CONTAINER_OF(w, struct taint_eviction, watcher));
}

static void note_claim(struct taint_eviction *t, const struct cached *o)
{
	if (!t->working)
		return;
	taint_book_claim(t->book, o->key);
	taint_eviction_plan(t);
}

static void taint_eviction_on_claim(struct informer_handler *h, struct cached *o,
				    bool initial UNUSED)
{
	note_claim(CONTAINER_OF(h, struct taint_eviction, claim_handler), o);
}

/* Compares only the relevant parts: drivers' entries in the status change far more often. */
static void taint_eviction_on_claim_update(struct informer_handler *h, struct cached *old,
					   struct cached *o)
{
	if (!str_eq(old->uid, o->uid) || !cached_same_field(old, o, "status.allocation") ||
	    !cached_same_field(old, o, "status.reservedFor"))
		taint_eviction_on_claim(h, o, false);
}

static void taint_eviction_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct taint_eviction *t = CONTAINER_OF(h, struct taint_eviction, pod_handler);

	if (!t->working || (cached_field(o, "spec.resourceClaims", NULL).n <= 2 &&
			    cached_field(o, "status.extendedResourceClaimStatus", NULL).n <= 2))
		return;
	taint_book_pod(t->book, o->key);
	taint_eviction_plan(t);
}

static void taint_eviction_on_pod_update(struct informer_handler *h, struct cached *old UNUSED,
					 struct cached *o)
{
	taint_eviction_on_pod(h, o, false);
}

static void forget_rule(struct taint_eviction *t, struct str name)
{
	free(map_remove(&t->rule_states, name));
}

static void remember_rule(struct taint_eviction *t, const struct cached *o, int64_t generation)
{
	struct taint_rule *r = xcalloc(1, sizeof(*r) + o->key.n + o->uid.n);

	str_put(r->text, o->key);
	str_put(r->text + o->key.n, o->uid);
	r->name = str_of(r->text, o->key.n);
	r->uid = str_of(r->text + o->key.n, o->uid.n);
	r->generation = generation;
	(void)map_put(&t->rule_states, r->name, r);
}

static void on_rule(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct taint_eviction *t = CONTAINER_OF(h, struct taint_eviction, rule_handler);
	struct taint_rule *known = map_get(&t->rule_states, o->key);
	int64_t generation = 0;

	(void)str_to_i64(cached_field(o, "metadata.generation", NULL), &generation);
	if (known && str_eq(known->uid, o->uid)) {
		if (generation > 0 && generation == known->generation)
			return;
		known->generation = generation;
	} else {
		forget_rule(t, o->key);
		remember_rule(t, o, generation);
	}
	devices_names_add(&t->changed_rules, o->key);
	taint_eviction_plan(t);
}

static void on_rule_update(struct informer_handler *h, struct cached *old UNUSED, struct cached *o)
{
	on_rule(h, o, false);
}

static void on_rule_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct taint_eviction *t = CONTAINER_OF(h, struct taint_eviction, rule_handler);

	forget_rule(t, last->key);
	devices_names_add(&t->changed_rules, last->key);
	taint_eviction_plan(t);
}

static void taint_eviction_on_pod_delete(struct informer_handler *h, struct cached *last,
					 bool unknown UNUSED)
{
	taint_eviction_on_pod(h, last, false);
}

static void on_claim_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	taint_eviction_on_claim(h, last, false);
}

static void on_pods_synced(struct informer_handler *h)
{
	taint_eviction_plan(CONTAINER_OF(h, struct taint_eviction, pod_handler));
}

static void on_claims_synced(struct informer_handler *h)
{
	taint_eviction_plan(CONTAINER_OF(h, struct taint_eviction, claim_handler));
}

static void on_rules_synced(struct informer_handler *h)
{
	taint_eviction_plan(CONTAINER_OF(h, struct taint_eviction, rule_handler));
}

/* --- life ------------------------------------------------------------------------------------ */

static void init_metrics(struct taint_eviction *t, struct metrics *m)
{
	static const double bounds[] = {
		0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240
	};
	struct metrics_spec latency = {
		.name = "device_taint_eviction_controller_pod_deletion_duration_seconds",
		.help = "Time from when a taint took effect for a pod until the pod was deleted.",
		.type = METRICS_HISTOGRAM,
		.bounds = bounds,
		.bounds_n = ARRAY_SIZE(bounds),
	};
	struct metrics_family *f;

	t->deletions = metrics_counter_alone(m,
					     "device_taint_eviction_controller_pod_deletions_total",
					     "Pods deleted because of device taints.");
	if (m && metrics_register(m, &latency, &f, NULL) == 0)
		t->latency = metrics_histogram_of(f, NULL, 0);
}

static void taint_eviction_follow(struct taint_eviction *t)
{
	t->pods_resource = resource_builtin("", "v1", "pods");
	t->pods = informers_get(
		t->ctx.informers,
		&(struct informer_spec){ .resource = &t->pods_resource, .slim = true });
	t->claims = devices_claims(t->devices);
	t->rules = devices_rules(t->devices);
	t->pod_handler = (struct informer_handler){ .on_add = taint_eviction_on_pod,
						    .on_update = taint_eviction_on_pod_update,
						    .on_delete = taint_eviction_on_pod_delete,
						    .on_synced = on_pods_synced };
	t->claim_handler = (struct informer_handler){ .on_add = taint_eviction_on_claim,
						      .on_update = taint_eviction_on_claim_update,
						      .on_delete = on_claim_delete,
						      .on_synced = on_claims_synced };
	t->rule_handler = (struct informer_handler){ .on_add = on_rule,
						     .on_update = on_rule_update,
						     .on_delete = on_rule_delete,
						     .on_synced = on_rules_synced };
	informer_add_handler(t->pods, &t->pod_handler);
	informer_add_handler(t->claims, &t->claim_handler);
	if (t->rules)
		informer_add_handler(t->rules, &t->rule_handler);
	t->watcher = (struct devices_watcher){ .on_slice = taint_eviction_on_slice,
					       .on_synced = on_devices_synced };
	devices_watch(t->devices, &t->watcher);
}

struct taint_eviction *taint_eviction_new(const struct context *ctx, struct devices *devices,
					  const struct taint_eviction_opts *opts)
{
	struct taint_eviction *t = XNEW(struct taint_eviction);

	t->ctx = *ctx;
	t->devices = devices;
	map_init(&t->rule_states);
	devices_names_init(&t->changed_rules);
	devices_names_init(&t->due);
	loop_task_init(&t->task, taint_eviction_on_turn);
	init_metrics(t, ctx->metrics);
	t->book = taint_book_new(&(struct taint_book_opts){ .inventory = devices_inventory(devices),
							    .claim = find_claim,
							    .pod = find_pod,
							    .told = on_told,
							    .arg = t });
	t->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = TAINT_CONTROLLER,
					  .workers = opts->workers ? opts->workers : WORKERS,
					  .handle = taint_eviction_handle,
					  .arg = t,
					  .metrics = ctx->metrics });
	works_init(&t->jobs, t->queue, ctx->log, "key", taint_job_release);
	workqueue_hold(t->queue, true);
	taint_eviction_follow(t);
	return t;
}

bool taint_eviction_synced(const struct taint_eviction *t)
{
	return t->watcher.synced && t->pod_handler.synced && t->claim_handler.synced &&
	       (!t->rules || t->rule_handler.synced);
}

void taint_eviction_free(struct taint_eviction *t)
{
	if (!t)
		return;
	devices_unwatch(&t->watcher);
	informer_remove_handler(&t->pod_handler);
	informer_remove_handler(&t->claim_handler);
	informer_remove_handler(&t->rule_handler);
	loop_task_cancel(&t->task);
	works_release(&t->jobs);
	workqueue_free(t->queue);
	taint_book_free(t->book);
	map_free_values(&t->rule_states);
	devices_names_release(&t->changed_rules);
	devices_names_release(&t->due);
	free(t);
}
