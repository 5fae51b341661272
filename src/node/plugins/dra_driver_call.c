/*
 * Calls to DRA drivers, one batch per driver. The messages of both versions are the same, except
 * for share_id, which v1beta1 never has.
 */
#include "node/plugins/dra_driver.h"

#include "node/plugins/dra_driver_impl.h"
#include "node/plugins/health_stream.h"
#include "node/plugins/plugins_impl.h"

enum { CALL_MS = 45 * 1000 };

/* Returns the newest connected instance, else the newest. */
static struct dra_instance *choose_instance(const struct dra_drivers *d, struct str name)
{
	const struct dra_driver *driver = omap_get(&d->drivers, name);

	if (!driver)
		return NULL;
	for (struct list *it = driver->instances.prev; it != &driver->instances; it = it->prev) {
		struct dra_instance *i = LIST_ENTRY(it, struct dra_instance, link);

		if (grpc_channel_state(i->channel) == GRPC_CHANNEL_READY)
			return i;
	}
	return dra_driver_newest(driver);
}

bool plugins_has_driver(const struct plugins *p, struct str driver)
{
	return omap_get(&p->drivers->drivers, driver) != NULL;
}

/* --- requests ------------------------------------------------------------------------ */

static void copy_claims(struct plugin_request *q, const struct plugin_claim *v, size_t n)
{
	struct plugin_claim *to = ARENA_ARRAY(&q->arena, struct plugin_claim, n ? n : 1);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct plugin_claim){ .ns = arena_str(&q->arena, v[i].ns),
					       .uid = arena_str(&q->arena, v[i].uid),
					       .name = arena_str(&q->arena, v[i].name) };
	q->claims = to;
	q->nclaims = n;
}

/* arena_str() adds a NUL, so protobuf-c can read the text; it does not write to it. */
static Dra__Claim **pack_claims(struct plugin_request *q)
{
	Dra__Claim *v = ARENA_ARRAY(&q->arena, Dra__Claim, q->nclaims ? q->nclaims : 1);
	Dra__Claim **all = ARENA_ARRAY(&q->arena, Dra__Claim *, q->nclaims ? q->nclaims : 1);

	for (size_t i = 0; i < q->nclaims; i++) {
		v[i] = (Dra__Claim)DRA__CLAIM__INIT;
		v[i].namespace_ = (char *)(uintptr_t)q->claims[i].ns.p;
		v[i].uid = (char *)(uintptr_t)q->claims[i].uid.p;
		v[i].name = (char *)(uintptr_t)q->claims[i].name.p;
		all[i] = &v[i];
	}
	return all;
}

static void end_claims(struct plugin_request *q, const struct plugin_claim_result *v,
		       const struct error *err)
{
	q->done.claims(q->arg, err ? NULL : v, err ? 0 : q->nclaims, err);
}

static void end_prepare(struct plugin_request *q, const void *reply, const struct error *err)
{
	struct plugin_claim_result *v = NULL;
	struct error bad;

	if (!err &&
	    plugin_wire_prepared(reply, q->subject, q->claims, q->nclaims, &q->arena, &v, &bad) < 0)
		err = &bad;
	end_claims(q, v, err);
}

static void end_unprepare(struct plugin_request *q, const void *reply, const struct error *err)
{
	struct plugin_claim_result *v = NULL;
	struct error bad;

	if (!err && plugin_wire_unprepared(reply, q->claims, q->nclaims, &q->arena, &v, &bad) < 0)
		err = &bad;
	end_claims(q, v, err);
}

static void dra_driver_call_refuse(struct plugin_request *q)
{
	struct error err;

	(void)error_set(&err, ERR_UNAVAILABLE, "DRA driver %.*s is not registered",
			STR_ARG(q->subject));
	plugin_request_fail(q, &err);
}

void plugins_prepare(struct plugins *p, struct str driver, const struct plugin_claim *v, size_t n,
		     plugins_claims_done *done, void *arg)
{
	Dra__NodePrepareResourcesRequest m = DRA__NODE_PREPARE_RESOURCES_REQUEST__INIT;
	struct dra_instance *i = choose_instance(p->drivers, driver);
	struct plugin_request *q = plugin_request_new(p, i ? &i->service->prepare : NULL, driver,
						      end_prepare, arg);

	q->done.claims = done;
	copy_claims(q, v, n);
	if (!i) {
		dra_driver_call_refuse(q);
		return;
	}
	m.claims = pack_claims(q);
	m.n_claims = n;
	plugin_request_call(q, i->channel, &m.base, CALL_MS);
}

void plugins_unprepare(struct plugins *p, struct str driver, const struct plugin_claim *v, size_t n,
		       plugins_claims_done *done, void *arg)
{
	Dra__NodeUnprepareResourcesRequest m = DRA__NODE_UNPREPARE_RESOURCES_REQUEST__INIT;
	struct dra_instance *i = choose_instance(p->drivers, driver);
	struct plugin_request *q = plugin_request_new(p, i ? &i->service->unprepare : NULL, driver,
						      end_unprepare, arg);

	q->done.claims = done;
	copy_claims(q, v, n);
	if (!i) {
		dra_driver_call_refuse(q);
		return;
	}
	m.claims = pack_claims(q);
	m.n_claims = n;
	plugin_request_call(q, i->channel, &m.base, CALL_MS);
}

/* --- registered drivers -------------------------------------------------------------- */

bool plugins_next_driver(const struct plugins *p, struct str *at, struct plugins_driver *ret)
{
	const struct dra_instance *i;
	struct omap_cursor c;
	const char *health;

	if (!(at->n ? omap_seek_after(&p->drivers->drivers, &c, *at)
		    : omap_first(&p->drivers->drivers, &c)))
		return false;
	i = dra_driver_newest(omap_value(&c));
	health = i->health ? health_stream_service(i->health) : NULL;
	*at = omap_key(&c);
	*ret = (struct plugins_driver){
		.name = omap_key(&c),
		.endpoint = str_from(i->endpoint),
		.service = str_from(i->service->name),
		.health_service = str_from(health),
		.connected = grpc_channel_state(i->channel) == GRPC_CHANNEL_READY,
	};
	return true;
}
