/*
 * Health: NVML's events come at once, but those from before the start are lost, and a GPU that is
 * well again sends none. So GPUs are polled as well. An event is followed by a poll, because only
 * the recovery action says whether the GPU still works.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/nvidia/condition.h"
#include "drivers/nvidia/driver_impl.h"

struct poll_result {
	int result;
	struct nvml_condition condition;
	struct nvml_sample sample;
	struct nvml_process *processes; /* NULL: not known */
	size_t nprocesses;
};

struct poll_job {
	struct nvml_job job;
	struct nvidia_driver *d;
	struct nvidia_snapshot *snapshot;
	struct poll_result *v; /* for each source of the snapshot */
	struct arena arena; /* of processes */
	bool measure;
};

struct gpu_health *nvidia_health_of(struct nvidia_driver *d, const struct gpu_source *s)
{
	return gpu_health_book_get(d->health, s->gpu.uuid);
}

static int64_t health_now(const struct nvidia_driver *d)
{
	return clock_wall(loop_clock(d->opts.loop));
}

static void health_changed(struct nvidia_driver *d)
{
	struct error err;

	nvidia_publish(d);
	if (gpu_health_book_save(d->health, d->health_path, d->boot_id, &err) < 0)
		nvidia_warn(d, "cannot save the health of GPUs", &err);
}

/* --- polls ----------------------------------------------------------------------------------- */

static int poll_run(struct nvml_job *job, struct nvml *n, struct error *err UNUSED)
{
	struct poll_job *j = CONTAINER_OF(job, struct poll_job, job);

	for (size_t i = 0; i < j->snapshot->n; i++) {
		const struct nvml_gpu *g = &j->snapshot->sources[i].gpu;

		j->v[i].result = nvml_poll(n, g, &j->v[i].condition, NULL);
		if (!j->measure || j->v[i].result < 0)
			continue;
		(void)nvml_measure(n, g, &j->v[i].sample, NULL);
		(void)nvml_processes(n, g, &j->arena, &j->v[i].processes, &j->v[i].nprocesses,
				     NULL);
	}
	return 0;
}

static bool poll_note(struct nvidia_driver *d, const struct gpu_source *s,
		      const struct poll_result *r)
{
	struct gpu_health *h = nvidia_health_of(d, s);

	return h &&
	       nvidia_condition_note(h, r->result, &r->condition, &d->health_opts, health_now(d));
}

static void poll_free(struct poll_job *j)
{
	nvidia_snapshot_unref(j->snapshot);
	arena_release(&j->arena);
	free(j->v);
	free(j);
}

uint32_t nvidia_poll_ms(const struct nvidia_driver *d)
{
	return d->opts.poll_ms ? d->opts.poll_ms : NVIDIA_POLL_MS;
}

uint32_t nvidia_deadline_ms(const struct nvidia_driver *d)
{
	return d->opts.deadline_ms ? d->opts.deadline_ms : NVIDIA_DEADLINE_MS;
}

static void poll_finish(struct nvidia_driver *d)
{
	d->poll = NULL;
	if (d->stopping)
		return;
	loop_timer_start(&d->poll_timer, nvidia_poll_ms(d));
	if (d->poll_again)
		nvidia_poll(d);
}

static void poll_measure(struct nvidia_driver *d, const struct nvml_gpu *g,
			 const struct poll_result *r)
{
	nvidia_measure_gpu(d->measure, g, &r->sample);
	for (size_t i = 0; r->processes && d->holders && i < d->holders->n; i++)
		if (str_eq(d->holders->v[i].gpu, g->uuid))
			nvidia_measure_partition(d->measure, &d->holders->v[i], r->processes,
						 r->nprocesses);
}

static void poll_done(struct nvml_job *job, int result, const struct error *err UNUSED)
{
	struct poll_job *j = CONTAINER_OF(job, struct poll_job, job);
	struct nvidia_driver *d = j->d;
	bool changed = false;

	/* nvidia_on_silent() has noted it, and poll_late() follows. */
	if (result == -ERR_TIMEOUT)
		return;
	for (size_t i = 0; i < j->snapshot->n && result == 0; i++) {
		const struct gpu_source *s = &j->snapshot->sources[i];

		if (poll_note(d, s, &j->v[i])) {
			changed = true;
			/* Lost GPUs are looked for until they are back. */
			if (j->v[i].result == -ERR_GONE)
				nvidia_scan_soon(d);
		}
		poll_measure(d, &s->gpu, &j->v[i]);
	}
	if (changed && !d->stopping)
		health_changed(d);
	poll_free(j);
	poll_finish(d);
}

static void poll_late(struct nvml_job *job, int result UNUSED, const struct error *err UNUSED)
{
	struct poll_job *j = CONTAINER_OF(job, struct poll_job, job);
	struct nvidia_driver *d = j->d;

	d->poll_again = true;
	poll_free(j);
	poll_finish(d);
}

void nvidia_poll(struct nvidia_driver *d)
{
	struct poll_job *j;

	if (!d->worker || !d->snapshot || d->stopping)
		return;
	d->poll_again = d->poll != NULL;
	if (d->poll)
		return;
	j = XNEW(struct poll_job);
	j->job = (struct nvml_job){ .run = poll_run, .done = poll_done, .late = poll_late };
	j->d = d;
	j->measure = d->measure != NULL;
	j->snapshot = nvidia_snapshot_ref(d->snapshot);
	j->v = xcalloc(j->snapshot->n + 1, sizeof(*j->v));
	arena_init(&j->arena, GPU_SNAPSHOT_MAX);
	d->poll = j;
	nvml_worker_run(d->worker, &j->job, 0);
}

void nvidia_on_silent(void *arg, bool silent)
{
	struct nvidia_driver *d = arg;
	uint32_t deadline = nvidia_deadline_ms(d);
	bool changed = false;

	if (!silent) {
		log_info(d->opts.log, "NVML answers again");
		nvidia_poll(d);
		return;
	}
	log_warn(d->opts.log, "NVML does not answer; devices are Unknown until it does");
	for (size_t i = 0; d->snapshot && i < d->snapshot->n; i++) {
		struct gpu_health *h = nvidia_health_of(d, &d->snapshot->sources[i]);

		changed = (h && gpu_health_note_silent(h, deadline, health_now(d))) || changed;
	}
	if (changed && !d->stopping)
		health_changed(d);
	nvidia_claims_on_silent(d);
}

/* --- events ---------------------------------------------------------------------------------- */

static bool holds(const struct gpu_holder *h, const struct gpu_source *s,
		  const struct nvml_event *e)
{
	if (!h->done || !str_eq(h->gpu, s->gpu.uuid))
		return false;
	return e->gi == NVML_WHOLE_GPU || !h->mig || (h->gi == e->gi && h->ci == e->ci);
}

/*
 * Only an application's Xid is a fault of the claim's program. If it names no instance, as those of
 * the kernel's log, the program may run on any partition.
 */
static bool blames(const struct gpu_holder *h, const struct nvml_event *e,
		   const struct xid_rule *rule)
{
	return rule->class == XID_APPLICATION && (!h->mig || e->gi != NVML_WHOLE_GPU);
}

static void set_program_failed(struct nvidia_driver *d, const struct gpu_holder *h, uint64_t xid,
			       const char *text)
{
	char reason[32], why[256];
	struct dp_condition c = { .size = sizeof(c),
				  .status = DP_TRUE,
				  .type = "ProgramFailed",
				  .reason = reason,
				  .message = text };
	struct dp_claim_id id = { .size = sizeof(id),
				  .ns = h->claim.ns.p,
				  .name = h->claim.name.p,
				  .uid = h->claim.uid.p };
	struct dp_device_status status = {
		.size = sizeof(status), .nconditions = 1, .device = h->device, .conditions = &c
	};

	(void)snprintf(reason, sizeof(reason), "Xid%" PRIu64, xid);
	if (dp_driver_set_status(d->driver, &id, &status, why, sizeof(why)) < 0)
		log_warn(d->opts.log, "cannot set the claim's status", LOG_Z("why", why));
}

/* Counts the Xid for each claim that has the device. A failed program's claim gets a condition. */
static void note_holders(struct nvidia_driver *d, const struct gpu_source *s,
			 const struct nvml_event *e, const struct xid_rule *rule, const char *text)
{
	for (size_t i = 0; d->holders && i < d->holders->n; i++) {
		const struct gpu_holder *h = &d->holders->v[i];

		if (!holds(h, s, e))
			continue;
		nvidia_measure_fault(d->measure, h, (uint32_t)e->data);
		if (blames(h, e, rule))
			set_program_failed(d, h, e->data, text);
	}
}

/* The kernel's line about the same Xid comes a few milliseconds before NVML's event. */
static const struct nvidia_kernel_xid *find_recent(const struct nvidia_driver *d,
						   const struct gpu_source *s, uint32_t xid)
{
	size_t n = MIN(d->nrecent, NVIDIA_RECENT);
	struct kmsg_pci pci;

	if (!kmsg_pci_read(s->gpu.pci, &pci))
		return NULL;
	for (size_t i = 1; i <= n; i++) {
		const struct nvidia_kernel_xid *x = &d->recent[(d->nrecent - i) % NVIDIA_RECENT];

		if (x->xid == xid && kmsg_pci_equal(&x->pci, &pci) &&
		    loop_now(d->opts.loop) - x->at_ms <= NVIDIA_RECENT_MS)
			return x;
	}
	return NULL;
}

static void note_xid(struct nvidia_driver *d, const struct gpu_source *s,
		     const struct nvml_event *e)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	const struct xid_rule *rule = xid_rules_find(d->rules, (uint32_t)e->data);
	const struct nvidia_kernel_xid *kernel = find_recent(d, s, (uint32_t)e->data);
	struct gpu_health *h = nvidia_health_of(d, s);
	struct gpu_xid x = { .xid = (uint32_t)e->data,
			     .gi = e->gi == NVML_WHOLE_GPU ? GPU_WHOLE : (int32_t)e->gi,
			     .ci = e->ci == NVML_WHOLE_GPU ? GPU_WHOLE : (int32_t)e->ci,
			     .at_ns = health_now(d) };

	if (kernel) {
		x.pid = kernel->pid;
		x.name = str_from(kernel->name);
	}
	nvidia_measure_xid(d->measure, &s->gpu, x.xid);
	gpu_xid_print(&x, rule, &text);
	log_warn(d->opts.log, "Xid", LOG_UINT("gpu", s->gpu.minor), LOG_UINT("xid", x.xid),
		 LOG_INT("gi", x.gi), LOG_Z("class", xid_class_name(rule->class)),
		 LOG_STR("what", buf_str(&text)));
	if (rule->class != XID_IGNORED)
		note_holders(d, s, e, rule, text.p);
	if (h && gpu_health_note_xid(h, &x, rule))
		health_changed(d);
}

void nvidia_on_event(void *arg, const struct nvml_event *e)
{
	struct nvidia_driver *d = arg;
	const struct gpu_source *s = nvidia_snapshot_by_handle(d->snapshot, e->gpu);

	if (d->stopping)
		return;
	if (e->type == NVML_EVENT_MIG_CHANGED)
		nvidia_scan_soon(d);
	else
		nvidia_poll(d);
	if (s && e->type == NVML_EVENT_XID)
		note_xid(d, s, e);
}

/* While NVML is silent there are no events of its own. */
void nvidia_on_kernel_xid(void *arg, const struct kmsg_xid *x)
{
	struct nvidia_driver *d = arg;
	struct nvidia_kernel_xid *to = &d->recent[d->nrecent++ % NVIDIA_RECENT];
	struct nvml_event e = {
		.type = NVML_EVENT_XID, .data = x->xid, .gi = NVML_WHOLE_GPU, .ci = NVML_WHOLE_GPU
	};
	struct str name = str_cut(x->name, sizeof(to->name) - 1);

	*to = (struct nvidia_kernel_xid){
		.pci = x->pci, .xid = x->xid, .pid = x->pid, .at_ms = loop_now(d->opts.loop)
	};
	if (str_is_utf8(name))
		str_put(to->name, name);
	if (!d->worker || !nvml_worker_silent(d->worker) || d->stopping)
		return;
	for (size_t i = 0; d->snapshot && i < d->snapshot->n; i++) {
		const struct gpu_source *s = &d->snapshot->sources[i];
		struct kmsg_pci pci;

		if (kmsg_pci_read(s->gpu.pci, &pci) && kmsg_pci_equal(&pci, &x->pci))
			note_xid(d, s, &e);
	}
}
