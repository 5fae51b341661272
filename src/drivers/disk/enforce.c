/*
 * Requests come from the annotations of pods. Control groups show which pods run and use a disk.
 * Each round joins both by the pod's UID.
 */
#include "drivers/disk/enforce.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "drivers/disk/host.h"
#include "drivers/disk/throttle.h"
#include "drivers/drivers_limits.h"

struct disk_enforce {
	struct disk_enforce_opts opts;
	struct disk_limits limits;
	struct resource pods;
	struct informers *informers;
	struct informer *informer;
	struct informer_handler handler;
	bool weightless; /* it was logged that there are no weights */
};

/* --- requests -------------------------------------------------------------------------------- */

/* Same rule as the scheduler's plugin: an invalid quantity requests nothing. */
static int64_t read_rate(const struct cached *o, struct str key, struct arena *a)
{
	struct str text = cached_annotation(o, key, a);
	struct quantity q;

	if (!text.p || quantity_parse(text, &q, NULL) < 0)
		return 0;
	return MAX(quantity_value(q), (int64_t)0);
}

static bool is_over(const struct cached *o)
{
	struct str phase = cached_field(o, "status.phase", NULL);

	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

static void enforce_look_at(struct disk_enforce *e, const struct cached *o)
{
	struct disk_limits_pod p = { 0 };
	struct arena a;
	struct str device;

	arena_init(&a, SIZE_MAX);
	p.request[DISK_READ] = read_rate(o, STR(DISK_GROUP "/read-bps"), &a);
	p.request[DISK_WRITE] = read_rate(o, STR(DISK_GROUP "/write-bps"), &a);
	device = cached_annotation(o, STR(DISK_GROUP "/device"), &a);
	(void)snprintf(p.device, sizeof(p.device), "%.*s", STR_ARG(device));
	(void)snprintf(p.uid, sizeof(p.uid), "%.*s", STR_ARG(o->uid));
	(void)timestamp_parse(cached_field(o, "metadata.creationTimestamp", &a), &p.created, NULL);
	arena_release(&a);
	if ((p.request[DISK_READ] || p.request[DISK_WRITE]) && !is_over(o))
		disk_limits_put(&e->limits, &p);
	else
		disk_limits_remove(&e->limits, o->uid);
}

static struct disk_enforce *of_handler(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct disk_enforce, handler);
}

static void enforce_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	enforce_look_at(of_handler(h), o);
}

/* A pod of the same name may be a different one. */
static void enforce_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	if (!str_eq(old->uid, o->uid))
		disk_limits_remove(&of_handler(h)->limits, old->uid);
	enforce_look_at(of_handler(h), o);
}

static void enforce_on_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	disk_limits_remove(&of_handler(h)->limits, last->uid);
}

struct disk_enforce *disk_enforce_new(const struct disk_enforce_opts *opts)
{
	CLEANUP(buf_release) struct buf selector = BUF_INIT(4 * KIB);
	struct disk_enforce *e = XNEW(struct disk_enforce);
	struct informer_spec spec = { .resource = &e->pods, .slim = true };

	e->opts = *opts;
	e->pods = resource_builtin("", "v1", "pods");
	disk_limits_init(&e->limits);
	(void)buf_printf(&selector, "spec.nodeName=%s", opts->node);
	spec.field_selector = buf_str(&selector);
	e->informers = informers_new(opts->client, opts->metrics);
	e->informer = informers_get(e->informers, &spec);
	e->handler = (struct informer_handler){ .on_add = enforce_on_add,
						.on_update = enforce_on_update,
						.on_delete = enforce_on_delete };
	informer_add_handler(e->informer, &e->handler);
	informers_start(e->informers);
	return e;
}

void disk_enforce_free(struct disk_enforce *e)
{
	if (!e)
		return;
	informer_remove_handler(&e->handler);
	informers_free(e->informers);
	disk_limits_release(&e->limits);
	free(e);
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* The state of a walk over the pods' control groups, for one device. */
struct round {
	struct disk_enforce *enforce;
	const struct disk_stat *stat;
	struct disk_limits_device device;
	struct error *err;
	int r; /* the first error */
};

static void check_weights(struct disk_enforce *e, const char *path)
{
	if (e->weightless || disk_throttle_weighs(e->opts.host, path))
		return;
	e->weightless = true;
	log_info(e->opts.log, "the kernel has no io.weight here: pods have limits but no weights",
		 LOG_Z("group", path));
}

static void limit_pod(void *arg, const char *uid, const char *path)
{
	struct round *w = arg;
	struct disk_throttle t = { .major = w->stat->major, .minor = w->stat->minor };
	struct error err;

	t.weight = disk_limits_weight(&w->enforce->limits, &w->device, str_from(uid));
	if (t.weight > 0)
		check_weights(w->enforce, path);
	for (int x = 0; x < DISK_DIRECTIONS; x++)
		t.limit[x] = disk_limits_of(&w->enforce->limits, &w->device, str_from(uid),
					    (enum disk_direction)x);
	if (disk_throttle_set(w->enforce->opts.host, path, &t, &err) == 0 || w->r < 0)
		return;
	w->r = -(int)err.code;
	if (w->err)
		*w->err = err;
}

static void count_users(struct disk_limits_device *d, const struct disk_meter *m,
			const struct disk_device *device)
{
	struct disk_pod_walk walk = { 0 };
	const struct disk_pod *p;

	while ((p = disk_meter_next_pod(m, device, &walk))) {
		d->users[DISK_READ] += p->read >= (double)DISK_LIMIT_USE;
		d->users[DISK_WRITE] += p->write >= (double)DISK_LIMIT_USE;
	}
}

static void limit_device(struct round *w, const struct disk_status_input *in,
			 const struct disk_device *device)
{
	struct disk_capacity c = disk_status_capacity(in->spec, in->book, device->stat.name);

	w->stat = &device->stat;
	w->device = (struct disk_limits_device){ .name = device->stat.name,
						 .primary = device == disk_status_primary(in),
						 .capacity = { c.read, c.write } };
	count_users(&w->device, in->meter, device);
	disk_limits_grant(&w->enforce->limits, &w->device);
	disk_host_each_pod(w->enforce->opts.host, limit_pod, w);
}

int disk_enforce_round(struct disk_enforce *e, const struct disk_status_input *in,
		       struct error *err)
{
	struct round w = { .enforce = e, .err = err };
	const struct error *blind = informer_failure(e->informer);

	if (!informer_synced(e->informer)) {
		if (blind->code == ERR_OK)
			return 0;
		return error_set(err, blind->code, "the node's pods are not known: %s", blind->msg);
	}
	for (size_t i = 0; i < in->meter->devices.n; i++)
		limit_device(&w, in, &in->meter->devices.v[i]);
	return w.r;
}

void disk_enforce_clear(struct disk_enforce *e, const struct disk_status_input *in)
{
	struct round w = { .enforce = e };

	for (size_t i = 0; i < in->meter->devices.n; i++) {
		w.stat = &in->meter->devices.v[i].stat;
		disk_host_each_pod(e->opts.host, limit_pod, &w);
	}
}
