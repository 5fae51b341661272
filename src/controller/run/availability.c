/*
 * Discovery comes first; everything else is created from its result. Devices or requests may be
 * served later, and a server may come back with or without a status of slices. So discovery is
 * checked again from time to time, and at once if a status suddenly cannot be written.
 */
#include "controller/run/availability.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/api/discovery.h"
#include "controller/device_history/device_history.h"
#include "controller/devices/claim_metrics.h"
#include "controller/devices/devices.h"
#include "controller/devices/waiting_metrics.h"
#include "controller/health_taints/health_taints.h"
#include "controller/pool_requests/pool_requests.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"
#include "controller/slice_status/slice_sink.h"
#include "controller/slice_status/slice_status.h"
#include "controller/taint_eviction/taint_eviction.h"
#include "net/loop/loop.h"

enum {
	RETRY_MS = 1000, /* after a failure, and if something is no longer served */
	LOOK_AGAIN_MS = 30 * 1000, /* for resources that are not served */
	CHECK_MS = 5 * 60 * 1000, /* whether they still are */
};

struct availability {
	struct context ctx;
	struct availability_opts opts;
	struct served_wait wait;
	struct loop_timer again;
	bool looked;
	struct devices *devices; /* NULL: not served yet */
	struct slice_status *slice_status;
	bool has_status; /* slices have a status, which is used */
	struct client_request leftovers; /* deletes objects that are no longer needed */
	struct pool_requests *pool_requests;
	struct taint_eviction *taint_eviction;
	struct health_taints *health_taints;
	struct device_history *device_history;
	bool history_of_slices; /* it follows the status of slices */
	struct claim_metrics *claim_metrics; /* NULL: no metrics */
	struct waiting_metrics *waiting_metrics;
};

static void on_refused(void *arg, const char *what, struct str key, const struct error *err)
{
	const struct availability *v = arg;

	log_warn(v->ctx.log, "cannot read an object", LOG_Z("kind", what), LOG_STR("name", key),
		 LOG_ERR(err));
}

static void on_unserved(void *arg)
{
	struct availability *v = arg;

	if (!v->wait.link.next)
		loop_timer_start(&v->again, RETRY_MS);
}

static void availability_on_removed(struct client_request *r, const struct client_answer *a UNUSED,
				    const struct error *err)
{
	const struct availability *v = r->arg;

	if (err)
		log_warn(v->ctx.log,
			 "cannot delete resourceslicestatuses.devplane.dev, which are "
			 "out of date now that slices have a status",
			 LOG_ERR(err));
}

/* Objects from a time when slices had no status would show outdated data for ever. */
static void remove_leftovers(struct availability *v, const struct discovery *d)
{
	const struct discovery_resource *objects = discovery_find(d, STR("devplane.dev"), STR(""),
								  STR("resourceslicestatuses"));

	if (!objects || client_busy(&v->leftovers))
		return;
	v->leftovers = (struct client_request){ .on_done = availability_on_removed, .arg = v };
	client_delete_collection(v->ctx.client, &v->leftovers, &objects->resource, STR_NULL, NULL);
}

static void make_slice_status(struct availability *v, bool has_status, const struct discovery *d)
{
	struct slice_status_opts opts = { .workers = v->opts.workers,
					  .unserved = on_unserved,
					  .arg = v };
	struct slice_sink *sink;

	v->has_status = has_status;
	if (has_status) {
		remove_leftovers(v, d);
		sink = slice_sink_status_new(&v->ctx, v->devices);
	} else {
		log_info(v->ctx.log, "this server's ResourceSlices have no status; writing it to "
				     "resourceslicestatuses.devplane.dev");
		sink = slice_sink_object_new(&v->ctx, v->devices);
	}
	v->slice_status = slice_status_new(&v->ctx, v->devices, sink, &opts);
}

/* Metrics of claims and pods; they belong to the controller that counts devices. */
static void make_metrics(struct availability *v)
{
	if (!v->opts.slice_status || v->claim_metrics)
		return;
	v->claim_metrics = claim_metrics_new(v->ctx.loop, devices_claims(v->devices),
					     v->ctx.metrics);
	v->waiting_metrics = waiting_metrics_new(v->ctx.loop, v->ctx.informers, v->ctx.metrics);
}

/* Starts the history of what is published: the status of slices, or objects of our own. */
static void make_device_history(struct availability *v, const struct devices_served *served,
				const struct discovery *d)
{
	const struct discovery_resource *objects = discovery_find(d, STR("devplane.dev"), STR(""),
								  STR("resourceslicestatuses"));

	if (v->device_history && v->history_of_slices != served->slice_status)
		device_history_free(TAKE(v->device_history));
	if (!v->opts.device_history || v->device_history || (!served->slice_status && !objects))
		return;
	v->history_of_slices = served->slice_status;
	v->device_history = device_history_new(&v->ctx, served->slice_status ? &served->slices
									     : &objects->resource);
}

/* Requests are answered only if that is enabled; otherwise devices are needed only for slices. */
static void make_parts(struct availability *v, const struct discovery *d)
{
	struct devices_served served = devices_find_served(d);
	const struct discovery_resource *requests = NULL;

	if (v->opts.pool_requests)
		requests = discovery_find(d, STR("resource.k8s.io"), STR(""),
					  STR("resourcepoolstatusrequests"));
	if (served.slices.resource.n > 0)
		make_device_history(v, &served, d);
	if (served.slices.resource.n == 0 || (!v->opts.slice_status && !v->opts.taint_eviction &&
					      !v->opts.health_taints && !requests))
		return;
	if (!v->devices)
		v->devices = devices_new(&(struct devices_opts){ .loop = v->ctx.loop,
								 .informers = v->ctx.informers,
								 .served = served,
								 .health = v->opts.slice_status ||
									   v->opts.health_taints,
								 .refused = on_refused,
								 .arg = v });
	make_metrics(v);
	if (v->slice_status && v->has_status != served.slice_status)
		slice_status_free(TAKE(v->slice_status));
	if (v->opts.slice_status && !v->slice_status)
		make_slice_status(v, served.slice_status, d);
	if (requests && !v->pool_requests)
		v->pool_requests = pool_requests_new(&v->ctx, v->devices, &requests->resource);
	if (v->opts.taint_eviction && !v->taint_eviction)
		v->taint_eviction = taint_eviction_new(
			&v->ctx, v->devices,
			&(struct taint_eviction_opts){ .workers = v->opts.evictions });
	if (v->opts.health_taints && !v->health_taints && devices_rules(v->devices))
		v->health_taints = health_taints_new(&v->ctx, v->devices, &v->opts.health_limits);
}

static bool is_complete(const struct availability *v)
{
	return (!v->opts.slice_status || v->slice_status) &&
	       (!v->opts.pool_requests || v->pool_requests) &&
	       (!v->opts.taint_eviction || v->taint_eviction) &&
	       (!v->opts.health_taints || v->health_taints) &&
	       (!v->opts.device_history || v->device_history);
}

static void on_served(struct served_wait *w, const struct error *err)
{
	struct availability *v = CONTAINER_OF(w, struct availability, wait);

	if (err) {
		loop_timer_start(&v->again, RETRY_MS);
		return;
	}
	make_parts(v, served_discovery(v->ctx.served));
	v->looked = true;
	loop_timer_start(&v->again, is_complete(v) ? CHECK_MS : LOOK_AGAIN_MS);
}

static void availability_on_again(struct loop_timer *t)
{
	struct availability *v = CONTAINER_OF(t, struct availability, again);

	served_look(v->ctx.served, &v->wait);
}

struct availability *availability_new(const struct context *ctx,
				      const struct availability_opts *opts)
{
	struct availability *v = XNEW(struct availability);

	v->ctx = *ctx;
	v->opts = *opts;
	v->wait.done = on_served;
	loop_timer_init(&v->again, ctx->loop, availability_on_again);
	served_look(ctx->served, &v->wait);
	return v;
}

bool availability_synced(const struct availability *v)
{
	return v->looked && (!v->devices || devices_synced(v->devices)) &&
	       (!v->pool_requests || pool_requests_synced(v->pool_requests)) &&
	       (!v->taint_eviction || taint_eviction_synced(v->taint_eviction));
}

void availability_free(struct availability *v)
{
	if (!v)
		return;
	served_cancel(&v->wait);
	loop_timer_stop(&v->again);
	client_cancel(&v->leftovers);
	device_history_free(v->device_history);
	health_taints_free(v->health_taints);
	taint_eviction_free(v->taint_eviction);
	pool_requests_free(v->pool_requests);
	slice_status_free(v->slice_status);
	waiting_metrics_free(v->waiting_metrics);
	claim_metrics_free(v->claim_metrics);
	devices_free(v->devices);
	free(v);
}
