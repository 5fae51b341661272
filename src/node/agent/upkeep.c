/*
 * A look at pressure reads a few files, decides, and may begin a chain of calls to the runtime:
 * statistics, then an eviction; or images, pods, removals, and then statistics. One chain runs at a
 * time (`busy`).
 *
 * The usage of folders (logs, volumes) is counted on the loop, but only when a pod must be evicted
 * for the disk's sake, and for a limited number of files.
 */
#include "node/agent/upkeep.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "node/agent/agent_impl.h"
#include "node/agent/upkeep_impl.h"
#include "node/registration/object.h"

/* --- images ------------------------------------------------------------------------- */

static void upkeep_images_end(struct agent_upkeep *u)
{
	struct upkeep_removal *r = &u->removal;
	bool all = r->all;

	upkeep_report_images(u);
	arena_release(&r->arena);
	u->busy = u->removing = false;
	if (all)
		upkeep_images_removed(u);
}

static void upkeep_remove_next(struct agent_upkeep *u);

static void upkeep_on_removed(void *arg, const struct error *err)
{
	struct agent_upkeep *u = arg;
	struct upkeep_removal *r = &u->removal;
	const struct image_choice *c = &r->v[r->next++];

	if (err && err->code != ERR_NOT_FOUND) {
		r->failed++;
		r->failure = *err;
	} else {
		r->freed += c->aged ? 0 : c->size;
		if (u->removed)
			metrics_counter_add(
				metrics_counter(u->removed, c->aged ? STR("age") : STR("space")),
				1);
	}
	upkeep_remove_next(u);
}

static void upkeep_remove_next(struct agent_upkeep *u)
{
	struct upkeep_removal *r = &u->removal;
	struct runtime *rt = u->agent->host.runtime;

	while (r->next < r->n && !r->v[r->next].aged && !r->all && r->freed >= r->wanted)
		r->next++;
	if (r->next >= r->n) {
		upkeep_images_end(u);
		return;
	}
	log_info(u->agent->opts.log, "removing an unused image", LOG_STR("image", r->v[r->next].id),
		 LOG_INT("bytes", r->v[r->next].size));
	rt->ops->remove_image(rt, r->v[r->next].id, upkeep_on_removed, u);
}

/* The pods are listed after the images, so that an image that was just used is not chosen. */
static void upkeep_on_pods(void *arg, const struct runtime_pods *pods, const struct error *err)
{
	struct agent_upkeep *u = arg;
	struct upkeep_removal *r = &u->removal;
	int64_t now = loop_now(u->agent->opts.loop);

	if (err) {
		r->failed++;
		r->failure = *err;
		upkeep_images_end(u);
		return;
	}
	image_book_look(u->book, r->images, r->nimages, pods, now);
	r->n = image_book_choose(u->book, &u->agent->opts.images, u->began_ms, now, &r->arena,
				 &r->v);
	upkeep_remove_next(u);
}

static void upkeep_copy_images(struct upkeep_removal *r, const struct runtime_image_info *v,
			       size_t n)
{
	r->images = ARENA_ARRAY(&r->arena, struct runtime_image_info, n);
	r->nimages = n;
	for (size_t i = 0; i < n; i++) {
		r->images[i] = v[i];
		r->images[i].id = arena_str(&r->arena, v[i].id);
		r->images[i].names = arena_strs(&r->arena, v[i].names, v[i].nnames);
	}
}

static void upkeep_on_images(void *arg, const struct runtime_image_info *v, size_t n,
			     const struct error *err)
{
	struct agent_upkeep *u = arg;
	struct runtime *rt = u->agent->host.runtime;

	if (err) {
		u->removal.failed++;
		u->removal.failure = *err;
		upkeep_images_end(u);
		return;
	}
	upkeep_copy_images(&u->removal, v, n);
	rt->ops->list(rt, upkeep_on_pods, u);
}

static void upkeep_on_fs(void *arg, struct str path, const struct error *err)
{
	struct agent_upkeep *u = arg;
	struct runtime *rt = u->agent->host.runtime;

	if (!err && path.n > 0) {
		free(u->imagefs);
		u->imagefs = str_dup(path);
	}
	upkeep_figures(u);
	u->removal.wanted = image_book_excess(
		&u->agent->opts.images, u->figures[EVICTION_IMAGEFS].capacity,
		u->figures[EVICTION_IMAGEFS].available, &u->removal.percent);
	rt->ops->images(rt, upkeep_on_images, u);
}

/* `all`: every unused image, because the disk is short. */
static void upkeep_images_begin(struct agent_upkeep *u, bool all)
{
	struct runtime *rt = u->agent->host.runtime;

	u->busy = u->removing = true;
	u->removal = (struct upkeep_removal){ .all = all };
	arena_init(&u->removal.arena, REQUEST_WORK_MAX);
	rt->ops->image_fs(rt, upkeep_on_fs, u);
}

static void upkeep_on_images_timer(struct loop_timer *t)
{
	struct agent_upkeep *u = CONTAINER_OF(t, struct agent_upkeep, images_timer);

	loop_timer_start(t, u->busy ? UPKEEP_SOON_MS : UPKEEP_IMAGES_MS);
	if (!u->busy && u->agent->runtime_ready)
		upkeep_images_begin(u, false);
}

/* --- eviction ----------------------------------------------------------------------- */

static void upkeep_count(const struct agent_upkeep *u, enum eviction_signal signal)
{
	if (u->evictions)
		metrics_counter_add(
			metrics_counter(u->evictions, str_from(eviction_signal_name(signal))), 1);
}

static void upkeep_evict(struct agent_upkeep *u, const struct eviction_pod *p)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(UPKEEP_MESSAGE_MAX);
	const struct eviction_threshold *t = &u->acting;
	const struct eviction_config *c = &u->agent->opts.eviction;
	struct worker *w = p->owner;
	int64_t grace_s = t->soft ? MAX(1, MIN(c->max_pod_grace_s, worker_pod(w)->grace_s)) : 1;

	eviction_message(p, t, &u->figures[t->signal], &text);
	log_warn(u->agent->opts.log, "evicting a pod", LOG_STR("pod", worker_pod(w)->name),
		 LOG_STR("namespace", worker_pod(w)->ns), LOG_STR("message", buf_str(&text)));
	free(u->evicted);
	u->evicted = str_dup(worker_uid(w));
	u->evicted_ms = loop_now(u->agent->opts.loop);
	upkeep_count(u, t->signal);
	worker_evict(w, buf_str(&text), grace_s);
}

static void upkeep_on_stats(void *arg, const struct runtime_usage *v, size_t n,
			    const struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct agent_upkeep *u = arg;
	const struct eviction_pod *p;
	struct eviction_pod *pods;
	size_t npods;

	u->busy = false;
	arena_init(&a, REQUEST_WORK_MAX);
	if (err)
		log_warn(u->agent->opts.log, "cannot get the usage of containers", LOG_ERR(err));
	npods = upkeep_pods(u, v, err ? 0 : n, &a, &pods);
	eviction_rank(pods, npods, u->acting.signal);
	p = eviction_pick(pods, npods);
	if (p)
		upkeep_evict(u, p);
	else
		log_warn(u->agent->opts.log, "no pod can be evicted",
			 LOG_Z("resource", eviction_resource(u->acting.signal)));
}

static void upkeep_evict_begin(struct agent_upkeep *u)
{
	struct runtime *rt = u->agent->host.runtime;

	u->busy = true;
	rt->ops->stats(rt, upkeep_on_stats, u);
}

void upkeep_images_removed(struct agent_upkeep *u)
{
	upkeep_figures(u);
	if (!eviction_relieved(&u->agent->opts.eviction, u->figures))
		upkeep_evict_begin(u);
}

/* An evicted pod still ends: its resources are not free yet. */
static bool upkeep_waits(const struct agent_upkeep *u)
{
	const struct worker *w = u->evicted ? agent_worker(u->agent, str_from(u->evicted)) : NULL;

	return w && worker_active(w) &&
	       loop_now(u->agent->opts.loop) - u->evicted_ms < UPKEEP_EVICTED_MS;
}

static void upkeep_act(struct agent_upkeep *u, const struct eviction_threshold *t)
{
	char text[96];

	u->acting = *t;
	(void)snprintf(text, sizeof(text), "Attempting to reclaim %s",
		       eviction_resource(t->signal));
	node_object_warn(u->agent->host.node, "EvictionThresholdMet", text);
	if (t->signal == EVICTION_MEMORY)
		upkeep_evict_begin(u);
	else
		upkeep_images_begin(u, true);
}

static void upkeep_look(struct agent_upkeep *u)
{
	struct agent *a = u->agent;
	struct eviction_state before = u->state;
	const struct eviction_threshold *t;

	upkeep_figures(u);
	t = eviction_look(&u->state, &a->opts.eviction, u->figures, loop_now(a->opts.loop));
	if (before.memory != u->state.memory || before.disk != u->state.disk)
		log_warn(a->opts.log, "pressure has changed", LOG_BOOL("memory", u->state.memory),
			 LOG_BOOL("disk", u->state.disk));
	node_object_set_pressure(a->host.node, u->state.memory, u->state.disk);
	if (t && a->runtime_ready && !u->busy && !upkeep_waits(u) && !a->stopping)
		upkeep_act(u, t);
}

static void upkeep_on_look(struct loop_timer *t)
{
	struct agent_upkeep *u = CONTAINER_OF(t, struct agent_upkeep, look_timer);

	loop_timer_start(t, UPKEEP_LOOK_MS);
	upkeep_look(u);
}

bool agent_upkeep_admits(const struct agent_upkeep *u, const struct pod *pod,
			 char ret_message[static 128])
{
	bool best_effort = str_eqz(json_text_at(pod->status, "qosClass"), "BestEffort");

	return eviction_admits(u->state.memory, u->state.disk, pod_is_critical(pod), best_effort,
			       upkeep_tolerates(pod), ret_message);
}

/* --- life --------------------------------------------------------------------------- */

static void upkeep_make_metrics(struct agent_upkeep *u)
{
	static const char *const reason[] = { "reason" }, *const signal[] = { "eviction_signal" };
	struct metrics *m = u->agent->opts.metrics;

	if (!m)
		return;
	(void)metrics_register(
		m,
		&(struct metrics_spec){ .name = "kubelet_image_garbage_collected_total",
					.help = "Unused images that the agent removed, by reason.",
					.type = METRICS_COUNTER,
					.labels = reason,
					.labels_n = 1 },
		&u->removed, NULL);
	(void)metrics_register(
		m,
		&(struct metrics_spec){ .name = "kubelet_evictions",
					.help = "Pods that the agent evicted, by eviction signal.",
					.type = METRICS_COUNTER,
					.labels = signal,
					.labels_n = 1 },
		&u->evictions, NULL);
}

struct agent_upkeep *agent_upkeep_new(struct agent *a)
{
	struct agent_upkeep *u = XNEW(struct agent_upkeep);
	const struct agent_opts *o = &a->opts;
	bool hollow = !o->runtime_endpoint;

	u->agent = a;
	u->book = image_book_new();
	u->began_ms = loop_now(o->loop);
	u->machine.procfs = o->procfs || hollow ? o->procfs : "/proc";
	u->machine.nodefs = hollow ? NULL : o->root_dir;
	upkeep_make_metrics(u);
	loop_timer_init(&u->look_timer, o->loop, upkeep_on_look);
	loop_timer_init(&u->images_timer, o->loop, upkeep_on_images_timer);
	if (u->machine.procfs || u->machine.nodefs)
		loop_timer_start(&u->look_timer, 0);
	if (!hollow)
		loop_timer_start(&u->images_timer, UPKEEP_SOON_MS);
	return u;
}

void agent_upkeep_free(struct agent_upkeep *u)
{
	if (!u)
		return;
	loop_timer_stop(&u->look_timer);
	loop_timer_stop(&u->images_timer);
	if (u->removing)
		arena_release(&u->removal.arena);
	image_book_free(u->book);
	free(u->imagefs);
	free(u->evicted);
	free(u);
}
