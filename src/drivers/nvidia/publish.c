/*
 * Devices with the health and the taints of their GPU. The SDK compares them with what it published
 * before, so this can be called after every change.
 */
#include "drivers/drivers_limits.h"
#include "drivers/nvidia/driver_impl.h"

/* The inventory's own taint, and one for each finding. */
static void put_taints(struct arena *a, const struct gpu_health_view *view, struct dp_device *to)
{
	struct dp_taint *v = ARENA_ARRAY(a, struct dp_taint, to->ntaints + view->ntaints);
	uint32_t n = 0;

	for (; n < to->ntaints; n++)
		v[n] = to->taints[n];
	for (size_t i = 0; i < view->ntaints; i++)
		v[n++] = (struct dp_taint){
			.size = sizeof(*v),
			.key = view->taints[i].key,
			.value = view->taints[i].value[0]
					 ? arena_strdup(a, str_from(view->taints[i].value))
					 : NULL,
			.effect = view->taints[i].effect,
		};
	to->taints = v;
	to->ntaints = n;
}

static void put_health(struct nvidia_driver *d, struct arena *a, const struct gpu_device *g,
		       struct dp_device *to)
{
	struct gpu_health *h = nvidia_health_of(d, g->source);
	struct gpu_health_view view = { .health = DP_UNKNOWN };

	if (h)
		gpu_health_view(h, &d->health_opts, &view);
	to->health = view.health;
	if (view.message[0])
		to->message = arena_strdup(a, str_from(view.message));
	else if (g->blocked)
		to->message = g->blocked;
	if (!d->opts.no_taint)
		put_taints(a, &view, to);
}

void nvidia_publish(struct nvidia_driver *d)
{
	CLEANUP(arena_release) struct arena a;
	struct dp_device *devices;
	struct dp_inventory inventory;
	char message[512];

	arena_init(&a, GPU_SNAPSHOT_MAX);
	if (!d->snapshot || d->stopping)
		return;
	inventory = d->snapshot->inventory.sdk;
	devices = ARENA_ARRAY(&a, struct dp_device, inventory.ndevices + 1);
	for (size_t i = 0; i < inventory.ndevices; i++) {
		devices[i] = inventory.devices[i];
		put_health(d, &a, &d->snapshot->inventory.devices[i], &devices[i]);
	}
	inventory.devices = devices;
	if (dp_driver_set_inventory(d->driver, &inventory, message, sizeof(message)) < 0)
		log_error(d->opts.log, "cannot publish the devices", LOG_Z("why", message));
}
