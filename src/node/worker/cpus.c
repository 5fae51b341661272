/*
 * Containers without exclusive CPUs run on those that no container has exclusively. When that set
 * changes (a pod takes or releases exclusive CPUs, CPUs appear or vanish), running containers are
 * moved. The CPUs last set are remembered per container id. A container that an earlier agent
 * started is set once, because its CPUs are unknown.
 *
 * Only containers that a fresh listing shows as running are updated, so a container that starts
 * meanwhile is compared when it is first listed. A failed update is retried after a while, with the
 * next listing.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "node/worker/worker_impl.h"

static void bound_free(struct worker_bound *b)
{
	list_remove(&b->link);
	free(b->id);
	free(b->cpus);
	free(b->asked);
	free(b);
}

static struct worker_bound *bound_of(const struct worker *w, struct str id)
{
	LIST_FOREACH (it, &w->bound) {
		struct worker_bound *b = LIST_ENTRY(it, struct worker_bound, link);

		if (str_eqz(id, b->id))
			return b;
	}
	return NULL;
}

static struct worker_bound *bound_add(struct worker *w, struct str id)
{
	struct worker_bound *b = XNEW(struct worker_bound);

	b->worker = w;
	b->id = str_dup(id);
	list_push_back(&w->bound, &b->link);
	return b;
}

static bool runs(const struct worker *w, const char *id)
{
	for (size_t i = 0; w->seen && i < w->seen->ncontainers; i++) {
		const struct runtime_container *c = &w->seen->containers[i];

		if (str_eqz(c->id, id))
			return c->state == RUNTIME_RUNNING;
	}
	return false;
}

static void forget_ended(struct worker *w)
{
	LIST_FOREACH_SAFE (it, &w->bound) {
		struct worker_bound *b = LIST_ENTRY(it, struct worker_bound, link);

		if (!b->asked && !runs(w, b->id))
			bound_free(b);
	}
}

/*
 * The set may have changed again meanwhile, and a worker that is to be freed waits for this reply.
 */
static void on_updated(void *arg, const struct error *err)
{
	struct worker_bound *b = arg;
	struct worker *w = b->worker;
	struct prng *g = loop_prng(w->host->loop);

	w->calls--;
	if (err) {
		if (err->code != ERR_NOT_FOUND)
			log_warn(w->host->log, "cannot move a container to other CPUs",
				 LOG_STR("pod", w->pod->name), LOG_Z("container", b->id),
				 LOG_Z("cpus", b->asked), LOG_ERR(err));
		free(TAKE(b->asked));
		if (!loop_timer_running(&w->cpus_timer))
			loop_timer_start(&w->cpus_timer, backoff_next(&w->cpus_backoff, g));
	} else {
		free(b->cpus);
		b->cpus = TAKE(b->asked);
		backoff_reset(&w->cpus_backoff);
		worker_cpus_follow(w);
	}
	if (w->gone)
		worker_look(w);
}

static void bind_container(struct worker *w, const struct runtime_container *c, struct arena *a)
{
	struct runtime *r = w->host->runtime;
	struct runtime_limits limits = { .cpus = assign_cpus(w->host->assign, w->pod->uid, c->name,
							     a) };
	struct worker_bound *b;

	if (limits.cpus.n == 0)
		return;
	b = bound_of(w, c->id);
	if (!b)
		b = bound_add(w, c->id);
	if (b->asked || (b->cpus && str_eqz(limits.cpus, b->cpus)))
		return;
	b->asked = str_dup(limits.cpus);
	w->calls++;
	r->ops->update(r, c->id, &limits, on_updated, b);
}

void worker_cpus_follow(struct worker *w)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!worker_sees(w) || loop_timer_running(&w->cpus_timer))
		return;
	forget_ended(w);
	if (!assign_is_admitted(w->host->assign, w->pod->uid))
		return;
	for (size_t i = 0; w->seen && i < w->seen->ncontainers; i++) {
		if (w->seen->containers[i].state == RUNTIME_RUNNING)
			bind_container(w, &w->seen->containers[i], &a);
	}
}

void worker_cpus_started(struct worker *w, struct str id, struct str cpus)
{
	if (cpus.n > 0)
		bound_add(w, id)->cpus = str_dup(cpus);
}

static void cpus_on_timer(struct loop_timer *t)
{
	worker_cpus_follow(CONTAINER_OF(t, struct worker, cpus_timer));
}

void worker_cpus_init(struct worker *w)
{
	list_init(&w->bound);
	loop_timer_init(&w->cpus_timer, w->host->loop, cpus_on_timer);
	w->cpus_backoff = (struct backoff){
		.initial_ms = 500, .max_ms = 10000, .factor = 2, .jitter = 0.1
	};
}

void worker_cpus_release(struct worker *w)
{
	LIST_FOREACH_SAFE (it, &w->bound)
		bound_free(LIST_ENTRY(it, struct worker_bound, link));
	loop_timer_stop(&w->cpus_timer);
}
