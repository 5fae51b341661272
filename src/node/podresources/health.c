/*
 * Adds health (KEP-4680) to the things that PodResources lists. Health is not part of a thing's
 * name: a change of health is an event with the pod's new state, in which nothing was released or
 * gained.
 */
#include "node/health/health.h"
#include "node/podresources/make.h"
#include "node/podresources/view.h"

struct healths {
	const struct assign *log;
	const struct health *health;
	struct arena *a;
};

static const Podresources__DeviceHealth words[] = {
	[ASSIGN_HEALTHY] = PODRESOURCES__DEVICE_HEALTH__HEALTHY,
	[ASSIGN_UNHEALTHY] = PODRESOURCES__DEVICE_HEALTH__UNHEALTHY,
	[ASSIGN_UNKNOWN] = PODRESOURCES__DEVICE_HEALTH__UNKNOWN,
};

static void put_message(const struct healths *h, struct str message, char **field)
{
	if (message.n > 0)
		*field = arena_strdup(h->a, message);
}

static void health_put_devices(const struct healths *h, Podresources__ContainerDevices **v,
			       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum assign_health health;
		struct str message;

		if (v[i]->n_device_ids == 0 ||
		    !assign_device_health(h->log, str_from(v[i]->resource_name),
					  str_from(v[i]->device_ids[0]), &health, &message))
			continue;
		v[i]->health = words[health];
		put_message(h, message, &v[i]->health_message);
	}
}

static void put_claims(const struct healths *h, Podresources__DynamicResource **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < v[i]->n_claim_resources; j++) {
			Podresources__ClaimResource *r = v[i]->claim_resources[j];
			struct health_device d;

			if (!health_get(h->health, str_from(r->driver_name), str_from(r->pool_name),
					str_from(r->device_name), &d))
				continue;
			r->health = words[d.health];
			put_message(h, d.message, &r->health_message);
		}
	}
}

void podres_view_health(Podresources__PodResources *pod, const struct assign *s,
			const struct health *health, struct arena *a)
{
	const struct healths h = { .log = s, .health = health, .a = a };

	for (size_t i = 0; i < pod->n_containers; i++) {
		Podresources__ContainerResources *c = pod->containers[i];

		health_put_devices(&h, c->devices, c->n_devices);
		put_claims(&h, c->dynamic_resources, c->n_dynamic_resources);
	}
	put_claims(&h, pod->dynamic_resources, pod->n_dynamic_resources);
}

/* The kubelet's own entries about devices whose health is not known here; makes room for more. */
static void keep_offers(const struct healths *h, Podresources__AllocatableResponse *m, size_t more)
{
	Podresources__ClaimResource **kept = ARENA_ARRAY(h->a, Podresources__ClaimResource *,
							 m->n_claim_resources + more);
	size_t n = 0;

	for (size_t i = 0; i < m->n_claim_resources; i++) {
		Podresources__ClaimResource *r = m->claim_resources[i];
		struct health_device d;

		if (!health_get(h->health, str_from(r->driver_name), str_from(r->pool_name),
				str_from(r->device_name), &d))
			kept[n++] = r;
	}
	m->claim_resources = kept;
	m->n_claim_resources = n;
}

void podres_view_offers(Podresources__AllocatableResponse *m, const struct assign *s,
			const struct health *health, struct arena *a)
{
	const struct healths h = { .log = s, .health = health, .a = a };
	struct health_device at = { 0 };

	health_put_devices(&h, m->devices, m->n_devices);
	keep_offers(&h, m, health_count(health));
	while (health_next(health, &at)) {
		const struct assign_claim_device d = { .driver = at.driver,
						       .pool = at.pool,
						       .device = at.device };
		Podresources__ClaimResource *r;

		if (at.health == ASSIGN_UNHEALTHY)
			continue;
		r = podres_make_claim_resource(&d, a);
		r->health = words[at.health];
		put_message(&h, at.message, &r->health_message);
		m->claim_resources[m->n_claim_resources++] = r;
	}
}
