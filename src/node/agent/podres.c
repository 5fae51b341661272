/*
 * PodResources is a view of the assignment log. Each change is applied to the book when the log
 * reports it, so the book has changes in the log's order, and a release comes before the reuse.
 */
#include "api/api_limits.h"
#include "node/agent/agent_impl.h"
#include "node/podresources/view.h"

/* From a change of health until watchers of allocatable, which has every device, get it. */
enum { OFFERS_MS = 500 };

static void follow_pod(struct agent *a, struct str pod_uid)
{
	CLEANUP(arena_release) struct arena scratch;
	const struct worker *w = agent_worker(a, pod_uid);
	Podresources__PodResources *state;

	arena_init(&scratch, REQUEST_WORK_MAX);
	state = podres_view_pod(a->host.assign, pod_uid, w ? worker_pod(w) : NULL, &scratch);
	if (state) {
		podres_view_health(state, a->host.assign, a->host.health, &scratch);
		(void)podres_set_pod(a->book, pod_uid, state,
				     podres_view_first_main(a->host.assign, pod_uid, state));
	} else {
		(void)podres_drop_pod(a->book, pod_uid);
	}
}

static void follow_allocatable(struct agent *a)
{
	CLEANUP(arena_release) struct arena scratch;
	Podresources__AllocatableResponse *state;

	arena_init(&scratch, REQUEST_WORK_MAX);
	state = podres_view_allocatable(a->host.assign, &scratch);
	podres_view_offers(state, a->host.assign, a->host.health, &scratch);
	(void)podres_set_allocatable(a->book, state);
}

static void podres_on_change(struct assign_watcher *w, const struct assign_change *c)
{
	struct agent *a = CONTAINER_OF(w, struct agent, podres_watcher);

	if (c->type == ASSIGN_POD)
		follow_pod(a, c->pod_uid);
	else if (c->type == ASSIGN_INVENTORY)
		follow_allocatable(a);
}

static void on_offers(struct loop_timer *t)
{
	follow_allocatable(CONTAINER_OF(t, struct agent, offers_timer));
}

static void on_refresh(void *arg)
{
	struct agent *a = arg;

	if (!loop_timer_running(&a->offers_timer))
		return;
	loop_timer_stop(&a->offers_timer);
	follow_allocatable(a);
}

void agent_podres_health(struct agent *a)
{
	if (a->book && !loop_timer_running(&a->offers_timer))
		loop_timer_start(&a->offers_timer, OFFERS_MS);
}

void agent_podres_refresh(struct agent *a, struct str pod_uid)
{
	follow_pod(a, pod_uid);
}

/* Adds pods that an earlier agent admitted, before the API has listed them. */
static void podres_fill(struct agent *a)
{
	struct str at = STR_NULL;
	bool ended;

	while (assign_next_pod(a->host.assign, &at, &ended))
		follow_pod(a, at);
	follow_allocatable(a);
}

int agent_podres_start(struct agent *a, struct error *err)
{
	struct podres_server_opts o = a->opts.podres;

	/*
	 * Microseconds: no earlier agent has made more changes than microseconds have passed since.
	 */
	a->book = podres_new(clock_wall(loop_clock(a->opts.loop)) / 1000);
	podres_fill(a);
	loop_timer_init(&a->offers_timer, a->opts.loop, on_offers);
	podres_on_refresh(a->book, on_refresh, a);
	a->podres_watcher.on_change = podres_on_change;
	assign_add_watcher(a->host.assign, &a->podres_watcher);
	o.loop = a->opts.loop;
	o.book = a->book;
	if (!o.path)
		o.path = arena_printf(&a->arena, "%s/pod-resources/kubelet.sock", a->opts.root_dir);
	o.watch = gates_on(&a->opts.gates, GATE_KubeletPodResourcesWatch);
	o.metrics = a->opts.metrics;
	o.log = a->opts.log;
	return podres_server_new(&o, &a->podres, err);
}

/*
 * Call it before the log is freed. The log cannot remove a watcher, and is freed without callbacks.
 */
void agent_podres_release(struct agent *a)
{
	podres_server_free(TAKE(a->podres));
	if (a->book)
		loop_timer_stop(&a->offers_timer);
	podres_free(TAKE(a->book));
}
